// z = a * x + y: a handler by XLA's C++ headers, with the same checks.
#include <xla/ffi/api/ffi.h>

namespace ffi = xla::ffi;

static ffi::Error axpy(ffi::BufferR1<ffi::F32> x, ffi::BufferR1<ffi::F32> y,
                       ffi::Result<ffi::BufferR1<ffi::F32>> z, double a) {
  const int64_t n = x.dimensions()[0];
  if (y.dimensions()[0] != n || z->dimensions()[0] != n)
    return ffi::Error::InvalidArgument("the lengths differ");
  const float *px = x.typed_data(), *py = y.typed_data();
  float *pz = z->typed_data();
  for (int64_t i = 0; i < n; ++i) pz[i] = static_cast<float>(a) * px[i] + py[i];
  return ffi::Error::Success();
}

XLA_FFI_DEFINE_HANDLER_SYMBOL(cxx_axpy, axpy,
                              ffi::Ffi::Bind()
                                  .Arg<ffi::BufferR1<ffi::F32>>()
                                  .Arg<ffi::BufferR1<ffi::F32>>()
                                  .Ret<ffi::BufferR1<ffi::F32>>()
                                  .Attr<double>("a"));
