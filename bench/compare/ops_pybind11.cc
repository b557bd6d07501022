// The functions of ops.c, by pybind11.
#include <pybind11/functional.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <numeric>
#include <string>
#include <vector>

#include "plain.h"

namespace py = pybind11;
using Matrix = py::array_t<float, py::array::c_style>;

static void ExpectMatrix(const Matrix &x, const char *name) {
  if (x.ndim() != 2)
    throw py::value_error(std::string(name) + ": expected 2 dimensions, got " +
                          std::to_string(x.ndim()));
}

static void ExpectDim(const char *name, py::ssize_t have, py::ssize_t want) {
  if (have != want)
    throw py::value_error(std::string(name) + ": expected " +
                          std::to_string(want) + ", got " +
                          std::to_string(have));
}

static void Softmax(Matrix x, Matrix y) {
  ExpectMatrix(x, "x");
  ExpectMatrix(y, "y");
  ExpectDim("rows of y", y.shape(0), x.shape(0));
  ExpectDim("columns of y", y.shape(1), x.shape(1));
  plain_softmax(x.data(), y.mutable_data(), x.shape(0), x.shape(1));
}

static void Matmul(Matrix a, Matrix b, Matrix c) {
  ExpectMatrix(a, "a");
  ExpectMatrix(b, "b");
  ExpectMatrix(c, "c");
  ExpectDim("rows of b", b.shape(0), a.shape(1));
  ExpectDim("rows of c", c.shape(0), a.shape(0));
  ExpectDim("columns of c", c.shape(1), b.shape(1));
  plain_matmul(a.data(), b.data(), c.mutable_data(), a.shape(0), a.shape(1),
               b.shape(1));
}

PYBIND11_MODULE(ops_pybind11, m) {
  m.def("nop", [] {});
  m.def("add", [](int64_t a, int64_t b) { return a + b; });
  m.def("fma3", [](double a, double b, double c) { return a * b + c; });
  m.def("length", [](const std::string &text) { return text.size(); });
  m.def("call_back", [](const std::function<int64_t(int64_t)> &f, int64_t n) {
    return f(n);
  });
  m.def("total", [](const std::vector<int64_t> &values) {
    return std::accumulate(values.begin(), values.end(), int64_t{0});
  });
  m.def("softmax", Softmax, py::arg("x").noconvert(),
        py::arg("y").noconvert());
  m.def("matmul", Matmul, py::arg("a").noconvert(), py::arg("b").noconvert(),
        py::arg("c").noconvert());
}
