"""Programs in TVMScript that tvm_client.py prints, compiles and runs."""

from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def matmul(a: T.handle, b: T.handle, c: T.handle):
    n = T.int64()
    A = T.match_buffer(a, (n, 8), "float32")
    B = T.match_buffer(b, (8, 4), "float32")
    C = T.match_buffer(c, (n, 4), "float32")
    for i, j, k in T.grid(n, 4, 8):
        with T.sblock("C"):
            vi, vj, vk = T.axis.remap("SSR", [i, j, k])
            with T.init():
                C[vi, vj] = T.float32(0)
            C[vi, vj] = C[vi, vj] + A[vi, vk] * B[vk, vj]


@T.prim_func(s_tir=True)
def clamp(A: T.Buffer((16,), "int32"), B: T.Buffer((16,), "int32"),
          low: T.int32, high: T.int32):
    for i in range(16):
        if A[i] < low:
            B[i] = low
        else:
            B[i] = T.if_then_else(A[i] > high, high, A[i])


@T.prim_func(s_tir=True)
def branches(A: T.Buffer((8, 8), "float64"), B: T.Buffer((8,), "float64")):
    T.func_attr({"tirx.noalias": True})
    for i in T.parallel(8):
        B[i] = T.float64(0)
        for j in T.unroll(8):
            B[i] = B[i] + T.exp(A[i, j]) * T.Cast("float64", (i + j) % 3)


@I.ir_module
class Model:
    @T.prim_func(s_tir=True, private=True)
    def scale(x: T.Buffer((T.int64(4), T.int64(3)), "float32"),
              y: T.Buffer((T.int64(4), T.int64(3)), "float32")):
        for i, j in T.grid(T.int64(4), T.int64(3)):
            with T.sblock("scale"):
                vi, vj = T.axis.remap("SS", [i, j])
                y[vi, vj] = x[vi, vj] * T.float32(0.5) + T.float32(1)

    @R.function
    def main(x: R.Tensor((4, 8), "float32"), w: R.Tensor((8, 3), "float32")):
        cls = Model
        with R.dataflow():
            y = R.nn.relu(R.matmul(x, w))
            z = R.call_tir(cls.scale, (y,), R.Tensor((4, 3), "float32"))
            total = R.sum(z, axis=[0])
            R.output(z, total)
        return (z, total)

    @R.function
    def choose(p: R.Tensor((), "bool"), x: R.Tensor(("n",), "float32")):
        if p:
            y = R.add(x, R.const(1, "float32"))
        else:
            y = R.multiply(x, x)
        return y


@I.ir_module
class Dynamic:
    @R.function
    def main(x: R.Tensor(("n", "m"), "float32"),
             y: R.Tensor(("n", "m"), "float32")):
        n = T.int64()
        m = T.int64()
        with R.dataflow():
            a = R.concat((x, y), axis=0)
            b = R.reshape(a, (m, 2 * n))
            c = R.nn.softmax(R.astype(b, "float64"), axis=-1)
            R.output(c)
        return c
