"""The calls that the scripts of hosts with tensors of their own make."""


def show(name, values):
    print(f"{name}:", *(f"{value:g}" for value in values))


def call_kernels(kernels, tensor, values):
    """Calls the kernels, which are attributes of `kernels`. `tensor` makes a
    tensor of the host from a list of floats, nested by rows, and `values` lists
    the elements of a vector."""
    x = tensor([0.0, 1, 2])
    y, z = tensor([1.0, 1, 1]), tensor([0.0, 0, 0])
    show("row_sums", values(kernels.row_sums(tensor([[0.0, 1, 2], [3, 4, 5]]))))
    kernels.axpy(2.0, x, y)
    show("axpy", values(y))
    kernels.scale(x, None, z)
    show("scale", values(z))
    kernels.scale(x, y, z, 3.0)
    show("scale with bias", values(z))
