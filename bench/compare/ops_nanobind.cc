// The functions of ops.c, by nanobind.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/function.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <numeric>
#include <string>
#include <vector>

#include "plain.h"

namespace nb = nanobind;
using Matrix =
    nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;

static void ExpectDim(const char *name, size_t have, size_t want) {
  if (have != want) {
    std::string text = std::string(name) + ": expected " +
                       std::to_string(want) + ", got " + std::to_string(have);
    throw nb::value_error(text.c_str());
  }
}

static void Softmax(const Matrix &x, const Matrix &y) {
  ExpectDim("rows of y", y.shape(0), x.shape(0));
  ExpectDim("columns of y", y.shape(1), x.shape(1));
  plain_softmax(x.data(), y.data(), static_cast<int64_t>(x.shape(0)),
                static_cast<int64_t>(x.shape(1)));
}

static void Matmul(const Matrix &a, const Matrix &b, const Matrix &c) {
  ExpectDim("rows of b", b.shape(0), a.shape(1));
  ExpectDim("rows of c", c.shape(0), a.shape(0));
  ExpectDim("columns of c", c.shape(1), b.shape(1));
  plain_matmul(a.data(), b.data(), c.data(), static_cast<int64_t>(a.shape(0)),
               static_cast<int64_t>(a.shape(1)),
               static_cast<int64_t>(b.shape(1)));
}

#ifndef GIL_RELEASED  // it makes objects of Python
using Vector =
    nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Returns two new arrays of NumPy.
static auto TopK(const Vector &x, int64_t k) {
  if (k < 0 || k > static_cast<int64_t>(x.shape(0)))
    throw nb::value_error(("k is " + std::to_string(k)).c_str());
  auto size = static_cast<size_t>(k);
  auto *values = new float[size];
  nb::capsule of_values(values, [](void *p) noexcept {
    delete[] static_cast<float *>(p);
  });
  auto *indices = new int64_t[size];
  nb::capsule of_indices(indices, [](void *p) noexcept {
    delete[] static_cast<int64_t *>(p);
  });
  plain_top_k(x.data(), values, indices, static_cast<int64_t>(x.shape(0)), k);
  return std::make_pair(
      nb::ndarray<nb::numpy, float>(values, {size}, of_values),
      nb::ndarray<nb::numpy, int64_t>(indices, {size}, of_indices));
}
#endif

NB_MODULE(ops_nanobind, m) {
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
  m.def("softmax", Softmax, nb::arg("x").noconvert(),
        nb::arg("y").noconvert());
  m.def("matmul", Matmul, nb::arg("a").noconvert(), nb::arg("b").noconvert(),
        nb::arg("c").noconvert());
#ifndef GIL_RELEASED
  m.def("top_k", TopK, nb::arg("x").noconvert(), nb::arg("k"));
#endif
}
