// The module of ops_nanobind.cc, whose calls release the GIL.
#include <nanobind/nanobind.h>

#include <utility>

#define GIL_RELEASED 1

struct Releasing {
  nanobind::module_ &m;
  template <typename... Args>
  void def(Args &&...args) {
    m.def(std::forward<Args>(args)...,
          nanobind::call_guard<nanobind::gil_scoped_release>());
  }
};

static void Define(Releasing m);
NB_MODULE(ops_gil_released, m) { Define({m}); }

#undef NB_MODULE
#define NB_MODULE(name, m) static void Define(Releasing m)
#include "ops_nanobind.cc"
