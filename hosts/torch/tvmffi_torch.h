/* tvmffi_torch.h: typed functions as PyTorch operators.

   Include it instead of tvmffi.h, write TVMFFI_EXPORT functions, and add one
   line. TVMFFI_IMPLEMENTATION and TVMFFI_DYNAMIC give the library a runtime for
   a process that has none:

       #define TVMFFI_IMPLEMENTATION
       #define TVMFFI_DYNAMIC 1
       #include "tvmffi_torch.h"

       TVMFFI_EXPORT(axpy, none, (tensor("float32[n] inout"), y),
                     (tensor("float32[n]"), x), (float64, a, 1.0)) {
         ...
       }
       TVMFFI_TORCH_LIBRARY(demo)

       cc -shared -fPIC -O2 -I. kernels.c -o kernels.so

   In Python, torch.ops.load_library("./kernels.so") defines
   torch.ops.demo.axpy. tvmffi.torch.load("./kernels.so") does that, and also
   gives torch.compile and torch.export the shapes of the results.

   The library is linked with nothing of PyTorch: it finds the C functions of
   PyTorch's stable ABI when it is loaded. One file runs on PyTorch 2.9 and on
   all later versions.

   Needs an ELF system and a GNU compiler. Documentation: docs/hosts/torch.md.
   License: Apache-2.0 OR MIT, as tvmffi.h. */

#ifndef TVMFFI_TORCH_H_
#define TVMFFI_TORCH_H_

#include "tvmffi.h"

#if TVMFFI_NO_METADATA
#error "tvmffi_torch.h: TVMFFI_NO_METADATA removes the parameters' names"
#endif

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TVMFFI_I_TORCH_COLD TVMFFI_I_SLOW TVMFFI_I_UNUSED

/* ---- PyTorch's functions ---- */

/* A StableIValue: an int, the bits of a double, a handle, or for an optional
   type a pointer to a StableIValue, or 0 for None. */
typedef uint64_t tvmffi_i_torch_value;
typedef void tvmffi_i_torch_kernel(tvmffi_i_torch_value *stack,
                                   uint64_t num_args, uint64_t num_results);

/* Lists the functions: name, result, parameters. All but TORCH_LATER's are in
   PyTorch 2.9. They are declared here, because PyTorch's headers are C++. A
   function that returns int returns 0, or an error whose text PyTorch has
   printed. */
#define TVMFFI_I_TORCH_FIRST(F)                                               \
  F(aoti_torch_abi_version, uint64_t, (void))                                 \
  F(aoti_torch_warn, void,                                                    \
    (const char *function, const char *file, uint32_t line,                   \
     const char *message))                                                    \
  F(aoti_torch_library_init_fragment, int32_t,                                \
    (const char *name, const char *file, uint32_t line, void **out))          \
  F(aoti_torch_library_init_impl, int32_t,                                    \
    (const char *name, const char *key, const char *file, uint32_t line,      \
     void **out))                                                             \
  F(aoti_torch_library_def, int32_t, (void *library, const char *schema))     \
  F(aoti_torch_library_impl, int32_t,                                         \
    (void *library, const char *name, tvmffi_i_torch_kernel *kernel))         \
  F(aoti_torch_delete_library_object, int32_t, (void *library))               \
  F(aoti_torch_device_type_cpu, int32_t, (void))                              \
  F(aoti_torch_device_type_cuda, int32_t, (void))                             \
  F(aoti_torch_delete_tensor_object, int32_t, (void *tensor))                 \
  F(aoti_torch_new_tensor_handle, int32_t, (void *tensor, void **out))        \
  F(aoti_torch_get_data_ptr, int32_t, (void *tensor, void **out))             \
  F(aoti_torch_get_dim, int32_t, (void *tensor, int64_t *out))                \
  F(aoti_torch_get_sizes, int32_t, (void *tensor, int64_t **out))             \
  F(aoti_torch_get_strides, int32_t, (void *tensor, int64_t **out))           \
  F(aoti_torch_get_dtype, int32_t, (void *tensor, int32_t *out))              \
  F(aoti_torch_get_device_type, int32_t, (void *tensor, int32_t *out))        \
  F(aoti_torch_get_device_index, int32_t, (void *tensor, int32_t *out))       \
  F(aoti_torch_empty_strided, int32_t,                                        \
    (int64_t ndim, const int64_t *sizes, const int64_t *strides,              \
     int32_t dtype, int32_t device_type, int32_t device_index, void **out))
#define TVMFFI_I_TORCH_LATER(F)                                                \
  /* libtorch_cuda.so, if PyTorch has CUDA */                                  \
  F(aoti_torch_get_current_cuda_stream, int32_t,                               \
    (int32_t device_index, void **out))                                        \
  /* 2.10 */                                                                   \
  F(torch_string_c_str, int32_t, (void *string, const char **out))             \
  F(torch_delete_string, int32_t, (void *string))                              \
  /* 2.11 */                                                                   \
  F(torch_from_blob, int32_t,                                                  \
    (void *data, int64_t ndim, const int64_t *sizes, const int64_t *strides,   \
     int64_t offset, int32_t dtype, int32_t device_type, int32_t device_index, \
     void **out, int32_t layout, const uint8_t *metadata, int64_t size,        \
     void (*deleter)(void *data, void *context), void *context))               \
  /* 2.13 */                                                                   \
  F(torch_delete_stable_ivalue, int32_t, (tvmffi_i_torch_value * value))       \
  F(torch_exception_get_what_without_backtrace, const char *, (void))

#define TVMFFI_I_TORCH_MEMBER(name, result, params) result(*name) params;

enum { TVMFFI_I_TORCH_DTYPES = 64, TVMFFI_I_TORCH_SCHEMA = 4096 };

/* State of the library; written once, by the registration. */
static TVMFFI_I_UNUSED struct {
  int32_t cpu, cuda;                        /* PyTorch's numbers */
  DLDataType dtypes[TVMFFI_I_TORCH_DTYPES]; /* by PyTorch's number; 0 bits for
                                               a dtype that DLPack lacks */
  TVMFFI_I_TORCH_FIRST(TVMFFI_I_TORCH_MEMBER)
  TVMFFI_I_TORCH_LATER(TVMFFI_I_TORCH_MEMBER)
  void (*free_value)(void *value); /* the operator delete of C++ */
  int32_t version;                 /* 209 is 2.9 */
  int is_registered;
  char error[TVMFFI_I_TORCH_SCHEMA]; /* "Kind: message", or "" */
} tvmffi_i_torch;

TVMFFI_I_TORCH_COLD void tvmffi_i_torch_add_dtypes(void *library) {
  static const struct {
    const char *name;
    uint8_t code, bits;
  } known[] = {{"uint8", kDLUInt, 8},
               {"uint16", kDLUInt, 16},
               {"uint32", kDLUInt, 32},
               {"uint64", kDLUInt, 64},
               {"int8", kDLInt, 8},
               {"int16", kDLInt, 16},
               {"int32", kDLInt, 32},
               {"int64", kDLInt, 64},
               {"bool", kDLBool, 8},
               {"float16", kDLFloat, 16},
               {"bfloat16", kDLBfloat, 16},
               {"float32", kDLFloat, 32},
               {"float64", kDLFloat, 64},
               {"complex32", kDLComplex, 32},
               {"complex64", kDLComplex, 64},
               {"complex128", kDLComplex, 128},
               {"float8_e5m2", kDLFloat8_e5m2, 8},
               {"float8_e4m3fn", kDLFloat8_e4m3fn, 8},
               {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8},
               {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8}};
  size_t i;
  for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i) {
    char name[64];
    int32_t (*number)(void);
    snprintf(name, sizeof(name), "aoti_torch_dtype_%s", known[i].name);
    number = (int32_t(*)(void))(uintptr_t)dlsym(library, name);
    if (number && (uint32_t)number() < TVMFFI_I_TORCH_DTYPES)
      tvmffi_i_torch.dtypes[number()] =
          tvmffi_dtype_of(known[i].code, known[i].bits);
  }
}

/* ---- Errors ---- */

/* A kernel's C signature has no way to return an error, in no version of
   PyTorch. It has to throw a C++ exception. The class of the exception decides
   the class in Python, and the classes that PyTorch maps differ by version,
   except one: pybind11::builtin_exception, whose virtual set_error() raises the
   Python exception itself. So the C code below lays out, by the Itanium C++
   ABI, an object of a class that is derived from it. libstdc++ allocates,
   constructs and throws the object. The bases are compared by their names. A
   PyTorch that does not know the base catches std::runtime_error, and its
   RuntimeError has the kind in its text. */
typedef struct {
  const void *const *table;
  const char *name;
  const void *base;
} tvmffi_i_torch_class;

/* The functions of libstdc++, and the classes; written by the registration. */
static TVMFFI_I_UNUSED struct {
  void *(*allocate)(size_t size);
  void (*construct)(void *object, const char *text);
  void (*do_throw)(void *object, void *type, void *destroy);
  const char *(*what)(const void *object);
  void *destroy;
  tvmffi_i_torch_class base, own;
  const void *table[6]; /* the virtual table, behind offset and class */
} tvmffi_i_torch_cxx;

/* Raises the Python exception of "Kind: message". The caller has the GIL. */
TVMFFI_I_TORCH_COLD void tvmffi_i_torch_set_error(void *self) {
  void (*set)(void *, const char *) = (void (*)(void *, const char *))(
      uintptr_t)dlsym(RTLD_DEFAULT, "PyErr_SetString");
  const char *text = tvmffi_i_torch_cxx.what(self);
  const char *colon = strstr(text, ": ");
  char name[64];
  void **kind = NULL;
  if (colon && colon - text < 40) {
    snprintf(name, sizeof(name), "PyExc_%.*s", (int)(colon - text), text);
    kind = (void **)dlsym(RTLD_DEFAULT, name);
  }
  if (kind) text = colon + 2;
  else kind = (void **)dlsym(RTLD_DEFAULT, "PyExc_RuntimeError");
  set(*kind, text);
}

/* Lays out the class of the exceptions. Returns 0, or -1 if libstdc++ lacks a
   function. */
TVMFFI_I_TORCH_COLD int tvmffi_i_torch_make_class(void *cxx) {
  void *class_table = dlsym(cxx, "_ZTVN10__cxxabiv120__si_class_type_infoE");
  void *what = dlsym(cxx, "_ZNKSt13runtime_error4whatEv");
  tvmffi_i_torch_cxx.allocate =
      (void *(*)(size_t))(uintptr_t)dlsym(cxx, "__cxa_allocate_exception");
  tvmffi_i_torch_cxx.construct = (void (*)(void *, const char *))(
      uintptr_t)dlsym(cxx, "_ZNSt13runtime_errorC1EPKc");
  tvmffi_i_torch_cxx.do_throw =
      (void (*)(void *, void *, void *))(uintptr_t)dlsym(cxx, "__cxa_throw");
  tvmffi_i_torch_cxx.what = (const char *(*)(const void *))(uintptr_t)what;
  tvmffi_i_torch_cxx.destroy = dlsym(cxx, "_ZNSt13runtime_errorD1Ev");
  tvmffi_i_torch_cxx.base.name = "N8pybind1117builtin_exceptionE";
  tvmffi_i_torch_cxx.base.base = dlsym(cxx, "_ZTISt13runtime_error");
  if (!class_table || !what || !tvmffi_i_torch_cxx.allocate ||
      !tvmffi_i_torch_cxx.construct || !tvmffi_i_torch_cxx.do_throw ||
      !tvmffi_i_torch_cxx.destroy || !tvmffi_i_torch_cxx.base.base)
    return -1;
  tvmffi_i_torch_cxx.base.table = (const void *const *)class_table + 2;
  tvmffi_i_torch_cxx.own.table = tvmffi_i_torch_cxx.base.table;
  tvmffi_i_torch_cxx.own.name = "18tvmffi_torch_error";
  tvmffi_i_torch_cxx.own.base = &tvmffi_i_torch_cxx.base;
  tvmffi_i_torch_cxx.table[1] = &tvmffi_i_torch_cxx.own;
  tvmffi_i_torch_cxx.table[2] = tvmffi_i_torch_cxx.destroy;
  tvmffi_i_torch_cxx.table[3] = tvmffi_i_torch_cxx.destroy;
  tvmffi_i_torch_cxx.table[4] = what;
  tvmffi_i_torch_cxx.table[5] =
      (const void *)(uintptr_t)tvmffi_i_torch_set_error;
  return 0;
}

/* Throws "Kind: message". All that the kernel owned must be released before.
   Does not return. */
TVMFFI_I_TORCH_COLD void tvmffi_i_torch_throw(const char *text) {
  const void **object =
      (const void **)tvmffi_i_torch_cxx.allocate(2 * sizeof(void *));
  tvmffi_i_torch_cxx.construct(object, text);
  object[0] = tvmffi_i_torch_cxx.table + 2;
  tvmffi_i_torch_cxx.do_throw(object, &tvmffi_i_torch_cxx.own,
                              tvmffi_i_torch_cxx.destroy);
}

/* ---- The search for PyTorch's functions ---- */

/* Finds PyTorch's functions. Returns NULL, or the error. */
TVMFFI_I_TORCH_COLD const char *tvmffi_i_torch_find(void) {
  const char *missing = NULL;
  void *library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
  void *cuda = dlopen("libtorch_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
  void *cxx = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);
  if (!library) return "ImportError: PyTorch is not loaded: import torch first";
#define TVMFFI_I_TORCH_FIND(name, result, params)                        \
  tvmffi_i_torch.name =                                                  \
      (result(*) params)(uintptr_t)dlsym(library, #name);                \
  if (!tvmffi_i_torch.name && cuda)                                      \
    tvmffi_i_torch.name = (result(*) params)(uintptr_t)dlsym(cuda, #name);
#define TVMFFI_I_TORCH_NEED(name, result, params) \
  TVMFFI_I_TORCH_FIND(name, result, params)       \
  if (!tvmffi_i_torch.name) missing = #name;
  TVMFFI_I_TORCH_FIRST(TVMFFI_I_TORCH_NEED)
  TVMFFI_I_TORCH_LATER(TVMFFI_I_TORCH_FIND)
#undef TVMFFI_I_TORCH_FIND
#undef TVMFFI_I_TORCH_NEED
  tvmffi_i_torch.free_value =
      cxx ? (void (*)(void *))(uintptr_t)dlsym(cxx, "_ZdlPv") : NULL;
  if (missing || !tvmffi_i_torch.free_value)
    return "ImportError: PyTorch is older than 2.9";
  if (tvmffi_i_torch_make_class(cxx))
    return "ImportError: this libstdc++ lacks a function to throw errors";
  tvmffi_i_torch_add_dtypes(library);
  tvmffi_i_torch.cpu = tvmffi_i_torch.aoti_torch_device_type_cpu();
  tvmffi_i_torch.cuda = tvmffi_i_torch.aoti_torch_device_type_cuda();
  tvmffi_i_torch.version =
      (int32_t)(tvmffi_i_torch.aoti_torch_abi_version() >> 56) * 100 +
      (int32_t)(tvmffi_i_torch.aoti_torch_abi_version() >> 48 & 0xFF);
  return NULL;
}

/* Returns PyTorch's number of a dtype, or -1. */
TVMFFI_I_TORCH_COLD int32_t tvmffi_i_torch_dtype(DLDataType dtype) {
  int32_t i;
  for (i = 0; i < TVMFFI_I_TORCH_DTYPES; ++i)
    if (tvmffi_i_torch.dtypes[i].bits &&
        tvmffi_i_dtype_equal(tvmffi_i_torch.dtypes[i], dtype))
      return i;
  return -1;
}

/* Takes the pending error and writes "Kind: message". */
TVMFFI_I_TORCH_COLD void tvmffi_i_torch_take_error(char *buffer, size_t size) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  if (error) {
    const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
    snprintf(buffer, size, "%.*s: %.*s", (int)cell->kind.size, cell->kind.data,
             (int)cell->message.size, cell->message.data);
    tvmffi_i_release(error);
  } else {
    snprintf(buffer, size, "RuntimeError: the kernel failed without an error");
  }
}

/* ---- Tensors that a kernel makes ---- */

/* A tensor that PyTorch allocated during a call. Its owners are the call, which
   may return it, and the runtime's tensor. The last of the two frees it; the
   runtime's tensor may outlive the call, and end in another thread. */
typedef struct tvmffi_i_torch_made {
  DLManagedTensorVersioned base;
  void *handle;
  struct tvmffi_i_torch_made *next; /* of the call */
  int owners;
} tvmffi_i_torch_made;

/* The tensors of this thread's innermost call. The address comes from a
   function, because compilers look a thread's variable up at each use. */
static TVMFFI_I_UNUSED __thread tvmffi_i_torch_made **tvmffi_i_torch_calls;
static TVMFFI_I_UNUSED __attribute__((__noinline__)) tvmffi_i_torch_made ***
tvmffi_i_torch_innermost(void) {
  return &tvmffi_i_torch_calls;
}

/* Ends the ownership of one owner. */
static TVMFFI_I_UNUSED void tvmffi_i_torch_free(
    DLManagedTensorVersioned *self) {
  tvmffi_i_torch_made *made = (tvmffi_i_torch_made *)(void *)self;
  if (__atomic_sub_fetch(&made->owners, 1, __ATOMIC_ACQ_REL)) return;
  if (made->handle)
    tvmffi_i_torch.aoti_torch_delete_tensor_object(made->handle);
  free(made);
}

/* Describes a tensor of PyTorch; shape and strides are borrowed from it.
   Returns NULL, or the error. */
TVMFFI_I_INLINE const char *tvmffi_i_torch_view(void *handle, DLTensor *t) {
  int64_t ndim;
  int32_t dtype, type, index = 0;
  int failed = tvmffi_i_torch.aoti_torch_get_data_ptr(handle, &t->data) |
               tvmffi_i_torch.aoti_torch_get_dim(handle, &ndim) |
               tvmffi_i_torch.aoti_torch_get_sizes(handle, &t->shape) |
               tvmffi_i_torch.aoti_torch_get_strides(handle, &t->strides) |
               tvmffi_i_torch.aoti_torch_get_dtype(handle, &dtype) |
               tvmffi_i_torch.aoti_torch_get_device_type(handle, &type);
  if (TVMFFI_I_LIKELY(!failed) && type != tvmffi_i_torch.cpu)
    failed = tvmffi_i_torch.aoti_torch_get_device_index(handle, &index);
  if (TVMFFI_I_UNLIKELY(failed))
    return "TypeError: a tensor without strides or data";
  if (TVMFFI_I_UNLIKELY((uint32_t)dtype >= TVMFFI_I_TORCH_DTYPES ||
                        !tvmffi_i_torch.dtypes[dtype].bits))
    return "TypeError: a tensor of a dtype that DLPack does not have";
  t->dtype = tvmffi_i_torch.dtypes[dtype];
  t->device.device_type = type == tvmffi_i_torch.cuda ? kDLCUDA : kDLCPU;
  t->device.device_id = index < 0 ? 0 : index;
  t->ndim = (int32_t)ndim;
  t->byte_offset = 0;
  return NULL;
}

/* The tensor allocator of the environment during a call. */
static TVMFFI_I_UNUSED int tvmffi_i_torch_allocate(
    DLTensor *like, DLManagedTensorVersioned **out, void *context,
    void (*fail)(void *context, const char *kind, const char *message)) {
  const DLManagedTensorVersioned zero = TVMFFI_I_ZERO;
  const int is_cuda = like->device.device_type == kDLCUDA;
  const int32_t dtype = tvmffi_i_torch_dtype(like->dtype);
  int64_t strides[64], step = 1;
  int32_t i;
  tvmffi_i_torch_made *made;
  DLTensor *t;
  const char *wrong = NULL;
  if (dtype < 0) return fail(context, "TypeError", "no dtype of PyTorch"), -1;
  if (like->ndim > 64)
    return fail(context, "ValueError", "more than 64 dimensions"), -1;
  if (!is_cuda && like->device.device_type != kDLCPU)
    return fail(context, "ValueError", "neither a CPU nor CUDA"), -1;
  for (i = like->ndim - 1; i >= 0; --i) {
    strides[i] = step;
    step *= like->shape[i] > 1 ? like->shape[i] : 1;
  }
  made = (tvmffi_i_torch_made *)malloc(sizeof(*made));
  if (!made)
    return fail(context, "MemoryError", "out of memory for a tensor"), -1;
  made->base = zero;
  made->handle = NULL;
  made->owners = 1;
  t = &made->base.dl_tensor;
  t->device = like->device;
  t->dtype = like->dtype;
  t->ndim = like->ndim;
  if (tvmffi_i_torch.aoti_torch_empty_strided(
          like->ndim, like->shape, strides, dtype,
          is_cuda ? tvmffi_i_torch.cuda : tvmffi_i_torch.cpu,
          is_cuda ? like->device.device_id : 0, &made->handle))
    wrong = "PyTorch cannot allocate the tensor";
  else if (tvmffi_i_torch.aoti_torch_get_data_ptr(made->handle, &t->data) |
           tvmffi_i_torch.aoti_torch_get_sizes(made->handle, &t->shape) |
           tvmffi_i_torch.aoti_torch_get_strides(made->handle, &t->strides))
    wrong = "PyTorch cannot describe the tensor";
  if (wrong) {
    tvmffi_i_torch_free(&made->base);
    return fail(context, "MemoryError", wrong), -1;
  }
  made->base.version.major = DLPACK_MAJOR_VERSION;
  made->base.version.minor = DLPACK_MINOR_VERSION;
  made->base.deleter = tvmffi_i_torch_free;
  made->owners = 2;
  made->next = *tvmffi_i_torch_calls;
  *tvmffi_i_torch_calls = made;
  *out = &made->base;
  return 0;
}

static TVMFFI_I_UNUSED void tvmffi_i_torch_drop(void *data, void *object) {
  (void)data;
  tvmffi_i_release((TVMFFIObject *)object);
}

/* Stores a handle of a tensor that the kernel returned, and takes the kernel's
   reference to it. A tensor object always has strides. Returns NULL, or the
   error. */
TVMFFI_I_INLINE const char *tvmffi_i_torch_give(tvmffi_i_torch_made *made,
                                                TVMFFIObject *object,
                                                tvmffi_i_torch_value *out) {
  const DLTensor *t = TVMFFITensorGetDLTensorPtr(object), *own;
  const size_t size = (size_t)t->ndim * sizeof(int64_t);
  void *handle = NULL;
  int code = -1;
  for (; made; made = made->next) {
    own = &made->base.dl_tensor;
    if (own->data != TVMFFI_DATA(t, void) || own->ndim != t->ndim ||
        !tvmffi_i_dtype_equal(own->dtype, t->dtype) ||
        (t->ndim && (memcmp(own->shape, t->shape, size) ||
                     memcmp(own->strides, t->strides, size))))
      continue;
    tvmffi_i_release(object);
    if (__atomic_load_n(&made->owners, __ATOMIC_ACQUIRE) == 1) {
      handle = made->handle;
      made->handle = NULL;
    } else if (tvmffi_i_torch.aoti_torch_new_tensor_handle(made->handle,
                                                           &handle)) {
      return "MemoryError: PyTorch cannot share the tensor";
    }
    *out = (uintptr_t)handle;
    return NULL;
  }
  if (!tvmffi_i_torch.torch_from_blob) {
    tvmffi_i_release(object);
    return "NotImplementedError: a result that PyTorch did not allocate in "
           "this call needs PyTorch 2.11";
  }
  if (tvmffi_i_torch_dtype(t->dtype) >= 0 &&
      (t->device.device_type == kDLCUDA || t->device.device_type == kDLCPU))
    code = tvmffi_i_torch.torch_from_blob(
        TVMFFI_DATA(t, void), t->ndim, t->shape, t->strides, 0,
        tvmffi_i_torch_dtype(t->dtype),
        t->device.device_type == kDLCUDA ? tvmffi_i_torch.cuda
                                         : tvmffi_i_torch.cpu,
        t->device.device_type == kDLCUDA ? t->device.device_id : -1, &handle, 0,
        NULL, 0, tvmffi_i_torch_drop, object);
  *out = (uintptr_t)handle;
  if (!code) return NULL;
  tvmffi_i_release(object);
  return "TypeError: PyTorch cannot take the result";
}

/* ---- Calls ---- */

/* An operator. The registration writes the members behind `kernel`, so that a
   call reads the description of its parameters from one cache line. */
enum { TVMFFI_I_TORCH_OPTIONAL = 0x80 };
typedef struct {
  const tvmffi_func *func;
  tvmffi_i_torch_kernel *kernel;
  TVMFFISafeCallType call; /* func's */
  int32_t num_args;        /* func's */
  int has_tensor;          /* as a parameter */
  /* The kinds of the parameters' words. An optional parameter has the kind of
     its value and TVMFFI_I_TORCH_OPTIONAL. */
  uint8_t kinds[TVMFFI_I_MAX_PARAMS];
} tvmffi_i_torch_op;

/* The blocks that a call owns, beside the tensors that it made. */
typedef struct {
  int32_t num_tensors, num_strings;
  int32_t cuda; /* the device whose stream is set, or -1 */
  void *old_stream;
  void *tensors[TVMFFI_I_MAX_PARAMS], *strings[TVMFFI_I_MAX_PARAMS];
  TVMFFIAny args[TVMFFI_I_MAX_PARAMS];
  DLTensor views[TVMFFI_I_MAX_PARAMS];
} tvmffi_i_torch_call;

/* Frees the pointed-to value of an optional argument. */
TVMFFI_I_TORCH_COLD void tvmffi_i_torch_free_value(
    tvmffi_i_torch_value *value) {
  if (tvmffi_i_torch.torch_delete_stable_ivalue)
    tvmffi_i_torch.torch_delete_stable_ivalue(value);
  else
    tvmffi_i_torch.free_value(value);
}

/* Uses PyTorch's current stream of the first CUDA tensor's device. */
TVMFFI_I_TORCH_COLD const char *tvmffi_i_torch_use_stream(
    tvmffi_i_torch_call *c, int32_t device) {
  void *stream = NULL;
  if (!tvmffi_i_torch.aoti_torch_get_current_cuda_stream ||
      tvmffi_i_torch.aoti_torch_get_current_cuda_stream(device, &stream))
    return "RuntimeError: no CUDA stream";
  if (TVMFFIEnvSetStream(kDLCUDA, device, stream, &c->old_stream))
    return "RuntimeError: the stream cannot be set";
  c->cuda = device;
  return NULL;
}

/* Converts an argument that is neither a tensor nor a number; the call then
   owns it. Returns NULL, or the error. */
TVMFFI_I_TORCH_COLD const char *tvmffi_i_torch_load(tvmffi_i_torch_call *c,
                                                    int kind,
                                                    tvmffi_i_torch_value value,
                                                    TVMFFIAny *arg) {
  const char *text = NULL;
  if (kind == TVMFFI_I_DTYPE) {
    if ((uint32_t)value >= TVMFFI_I_TORCH_DTYPES ||
        !tvmffi_i_torch.dtypes[(uint32_t)value].bits)
      return "TypeError: a dtype that DLPack does not have";
    *arg = tvmffi_dtype(tvmffi_i_torch.dtypes[(uint32_t)value]);
  } else if (kind == TVMFFI_I_DEVICE) {
    const int32_t type = (int32_t)(value >> 32), index = (int32_t)value;
    DLDevice device;
    device.device_type = type == tvmffi_i_torch.cuda ? kDLCUDA : kDLCPU;
    device.device_id = index < 0 ? 0 : index;
    *arg = tvmffi_device(device);
    if (type != tvmffi_i_torch.cuda && type != tvmffi_i_torch.cpu)
      return "ValueError: a device that is neither cpu nor cuda";
  } else { /* TVMFFI_I_STR */
    c->strings[c->num_strings++] = (void *)(uintptr_t)value;
    if (tvmffi_i_torch.torch_string_c_str((void *)(uintptr_t)value, &text))
      return "RuntimeError: PyTorch cannot read a string";
    *arg = tvmffi_str(text);
  }
  return NULL;
}

/* Takes the arguments from the stack. Takes all of them, also after an
   error. */
TVMFFI_I_INLINE const char *tvmffi_i_torch_take(tvmffi_i_torch_call *c,
                                                const tvmffi_i_torch_op *op,
                                                tvmffi_i_torch_value *stack) {
  const char *wrong = NULL, *one;
  double real;
  int32_t i;
  c->num_tensors = c->num_strings = 0;
  c->cuda = -1;
  for (i = 0; i < op->num_args; ++i) {
    int kind = op->kinds[i];
    tvmffi_i_torch_value value = stack[i];
    if (kind & TVMFFI_I_TORCH_OPTIONAL) {
      kind -= TVMFFI_I_TORCH_OPTIONAL;
      c->args[i] = tvmffi_none();
      if (!value) continue;
      value = *(tvmffi_i_torch_value *)(uintptr_t)value;
      tvmffi_i_torch_free_value((tvmffi_i_torch_value *)(uintptr_t)stack[i]);
    }
    if (kind == TVMFFI_I_TENSOR) {
      void *const handle = (void *)(uintptr_t)value;
      DLTensor *view = &c->views[c->num_tensors];
      c->tensors[c->num_tensors++] = handle;
      one = tvmffi_i_torch_view(handle, view);
      c->args[i] = tvmffi_tensor(view);
      if (TVMFFI_I_UNLIKELY(!one && view->device.device_type == kDLCUDA &&
                            c->cuda < 0))
        one = tvmffi_i_torch_use_stream(c, view->device.device_id);
    } else if (kind == TVMFFI_I_FLOAT) {
      memcpy(&real, &value, sizeof(real));
      c->args[i] = tvmffi_float(real);
      continue;
    } else if (kind == TVMFFI_I_INT) {
      c->args[i] = tvmffi_int((int64_t)value);
      continue;
    } else if (kind == TVMFFI_I_BOOL) {
      c->args[i] = tvmffi_bool((value & 0xFF) != 0);
      continue;
    } else {
      one = tvmffi_i_torch_load(c, kind, value, &c->args[i]);
    }
    if (TVMFFI_I_UNLIKELY(one && !wrong)) wrong = one;
  }
  return wrong;
}

TVMFFI_I_INLINE const char *tvmffi_i_torch_return(TVMFFIAny *result,
                                                  tvmffi_i_torch_made *made,
                                                  tvmffi_i_torch_value *out) {
  *out = 0;
  switch (result->type_index) {
    case kTVMFFIInt:
    case kTVMFFIBool: *out = (uint64_t)result->v_int64; return NULL;
    case kTVMFFIFloat: memcpy(out, &result->v_float64, 8); return NULL;
    case kTVMFFITensor:
      return tvmffi_i_torch_give(made, result->v_obj, out);
    default:
      tvmffi_i_any_release(result);
      return "TypeError: the kernel returned no result";
  }
}

/* Throws the pending error if `code` is not 0, else the error `wrong`. */
TVMFFI_I_TORCH_COLD void tvmffi_i_torch_fail(const tvmffi_i_torch_op *op,
                                             int code, const char *wrong) {
  char error[1024];
  if (code)
    tvmffi_i_torch_take_error(error, sizeof(error));
  else
    snprintf(error, sizeof(error), "%.*s: %s: %s", (int)strcspn(wrong, ":"),
             wrong, op->func->name, wrong + strcspn(wrong, ":") + 2);
  tvmffi_i_torch_throw(error);
}

/* Calls an operator. `op` is the library's description of it. */
static TVMFFI_I_UNUSED void tvmffi_i_torch_run(const tvmffi_i_torch_op *op,
                                               tvmffi_i_torch_value *stack,
                                               uint64_t num_results) {
  tvmffi_i_torch_call c;
  tvmffi_i_torch_made *made = NULL;
  tvmffi_i_torch_made ***const innermost = tvmffi_i_torch_innermost();
  tvmffi_i_torch_made **const outer = *innermost;
  DLPackManagedTensorAllocator before = NULL;
  TVMFFIAny result = tvmffi_none();
  const char *wrong = tvmffi_i_torch_take(&c, op, stack);
  int32_t i, code = 0;
  if (TVMFFI_I_LIKELY(!wrong)) {
    *innermost = &made;
    code = TVMFFIEnvSetDLPackManagedTensorAllocator(tvmffi_i_torch_allocate, 0,
                                                    &before);
    if (!code) {
      code = op->call(NULL, c.args, op->num_args, &result);
      TVMFFIEnvSetDLPackManagedTensorAllocator(before, 0, NULL);
    }
    *innermost = outer;
    if (!code && num_results)
      wrong = tvmffi_i_torch_return(&result, made, stack);
  }
  if (c.cuda >= 0) TVMFFIEnvSetStream(kDLCUDA, c.cuda, c.old_stream, NULL);
  for (i = 0; i < c.num_tensors; ++i)
    tvmffi_i_torch.aoti_torch_delete_tensor_object(c.tensors[i]);
  for (i = 0; i < c.num_strings; ++i)
    tvmffi_i_torch.torch_delete_string(c.strings[i]);
  while (made) {
    tvmffi_i_torch_made *next = made->next;
    tvmffi_i_torch_free(&made->base);
    made = next;
  }
  if (TVMFFI_I_UNLIKELY(code || wrong)) tvmffi_i_torch_fail(op, code, wrong);
}

/* ---- Registration ---- */

/* The words that an operator's schema can have, and the first version of
   PyTorch whose C ABI has them. */
TVMFFI_I_TORCH_COLD const char *tvmffi_i_torch_type(const tvmffi_i_word *word,
                                                    int is_result,
                                                    int32_t *version) {
  *version = 209;
  switch (word->kind) {
    case TVMFFI_I_NONE: return is_result ? "()" : NULL;
    case TVMFFI_I_INT: return "int";
    case TVMFFI_I_BOOL: return "bool";
    case TVMFFI_I_FLOAT: return "float";
    case TVMFFI_I_DTYPE: return is_result ? NULL : "ScalarType";
    case TVMFFI_I_DEVICE: *version = 210; return is_result ? NULL : "Device";
    case TVMFFI_I_STR: *version = 210; return is_result ? NULL : "str";
    case TVMFFI_I_TENSOR: return is_result ? NULL : "Tensor";
    default:
      return is_result && word->index == kTVMFFITensor ? "Tensor" : NULL;
  }
}

/* Writes the library's error. Returns -1. */
TVMFFI_I_TORCH_COLD int tvmffi_i_torch_refuse(const char *kind,
                                              const char *library,
                                              const tvmffi_func *f,
                                              const char *what,
                                              const char *name,
                                              const char *why,
                                              const char *type) {
  snprintf(tvmffi_i_torch.error, sizeof(tvmffi_i_torch.error),
           "%s: %s::%s: %s%s%s%s", kind, library, f->name, what, name, why,
           type);
  return -1;
}

TVMFFI_I_TORCH_COLD int tvmffi_i_torch_add_default(tvmffi_i_text *t,
                                                   const TVMFFIAny *value) {
  char buffer[64];
  switch (value->type_index) {
    case kTVMFFINone: tvmffi_i_append(t, "None"); return 0;
    case kTVMFFIBool:
      tvmffi_i_append(t, value->v_int64 ? "True" : "False");
      return 0;
    case kTVMFFIInt: tvmffi_i_append_int(t, value->v_int64); return 0;
    case kTVMFFIFloat:
      snprintf(buffer, sizeof(buffer), "%.17g", value->v_float64);
      if (strpbrk(buffer, "ni")) return -1; /* nan, inf */
      tvmffi_i_append(t, buffer);
      if (!strpbrk(buffer, ".e")) tvmffi_i_append(t, ".0");
      return 0;
    case kTVMFFIOpaquePtr:
      if (value->v_ptr) return -1;
      tvmffi_i_append(t, "None");
      return 0;
    case kTVMFFIRawStr:
    case kTVMFFISmallStr:
      tvmffi_i_append(t, "\"");
      tvmffi_i_append_escaped(t, tvmffi_any_str(value).data);
      tvmffi_i_append(t, "\"");
      return 0;
    default: return -1;
  }
}

/* Writes the schema of an operator, and fills `op`. Returns 0, or -1 with the
   library's error. */
TVMFFI_I_TORCH_COLD int tvmffi_i_torch_schema(const char *library,
                                              tvmffi_i_torch_op *op,
                                              tvmffi_i_text *t) {
  const tvmffi_func *f = op->func;
  tvmffi_i_plan plans[TVMFFI_I_EXPECTED + 1];
  TVMFFIAny defaults[TVMFFI_I_MAX_PARAMS];
  const char *name = f->params, *type;
  char alias[] = "(a!)";
  int32_t i, least = f->least, version;
  if ((f->contract && tvmffi_i_plan_all(f->contract, plans, f->name)) ||
      (f->defaults && f->defaults(defaults))) {
    tvmffi_i_torch_take_error(tvmffi_i_torch.error,
                              sizeof(tvmffi_i_torch.error));
    return -1;
  }
  op->call = f->call;
  op->num_args = f->num_args;
  op->has_tensor = 0;
  tvmffi_i_append(t, f->name);
  tvmffi_i_append(t, "(");
  for (i = 0; i < f->num_args; ++i) {
    const tvmffi_i_word *word = f->types[i + 1];
    const char *text = tvmffi_i_contract_text(f->contract, name);
    const int is_optional = word->kind == TVMFFI_I_OPTIONAL;
    if (is_optional) word = word->of[0];
    type = tvmffi_i_torch_type(word, 0, &version);
    if (!type)
      return tvmffi_i_torch_refuse("TypeError", library, f, "parameter ", name,
                                   ": no operator has the type ", word->name);
    if (version > tvmffi_i_torch.version)
      return tvmffi_i_torch_refuse("NotImplementedError", library, f,
                                   "parameter ", name,
                                   ": PyTorch 2.10 is needed for the type ",
                                   word->name);
    if (word->kind == TVMFFI_I_TENSOR) op->has_tensor = 1;
    op->kinds[i] =
        (uint8_t)(word->kind | (is_optional ? TVMFFI_I_TORCH_OPTIONAL : 0));
    if (i) tvmffi_i_append(t, ", ");
    tvmffi_i_append(t, type);
    if (text && (tvmffi_i_text_has(text, "out") ||
                 tvmffi_i_text_has(text, "inout"))) {
      tvmffi_i_append(t, alias);
      ++alias[1];
    }
    tvmffi_i_append(t, is_optional ? "? " : " ");
    tvmffi_i_append(t, name);
    if (i >= least) {
      tvmffi_i_append(t, "=");
      if (tvmffi_i_torch_add_default(t, &defaults[i]))
        return tvmffi_i_torch_refuse("ValueError", library, f, "parameter ",
                                     name, ": a schema has no such default",
                                     "");
    }
    name += strlen(name) + 1;
  }
  tvmffi_i_append(t, ") -> ");
  type = tvmffi_i_torch_type(f->types[0], 1, &version);
  if (!type)
    return tvmffi_i_torch_refuse("TypeError", library, f, "the result", "",
                                 ": no operator has the type ",
                                 f->types[0]->name);
  tvmffi_i_append(t, type);
  if (t->size < t->capacity) return 0;
  return tvmffi_i_torch_refuse("ValueError", library, f, "the schema", "",
                               " is too long", "");
}

/* Returns NULL, or the error. Writes all schemas before PyTorch receives the
   first, so a refused function leaves no operator of the library. */
TVMFFI_I_TORCH_COLD const char *tvmffi_i_torch_register(
    const char *library, tvmffi_i_torch_op *const *begin,
    tvmffi_i_torch_op *const *end) {
  /* Without a tensor argument, PyTorch finds only a kernel of the last. */
  static const char *const keys[3] = {"CPU", "CUDA",
                                      "CompositeExplicitAutograd"};
  char schema[TVMFFI_I_TORCH_SCHEMA];
  tvmffi_i_torch_op *const *at;
  void *defined = NULL, *kernels[3] = {NULL, NULL, NULL};
  const char *wrong;
  int code = 0, pass, key;
  if (tvmffi_i_torch.is_registered) return NULL;
  tvmffi_i_torch.error[0] = 0;
  wrong = tvmffi_i_torch_find();
  if (!wrong && begin == end)
    wrong = "ValueError: no TVMFFI_EXPORT is behind tvmffi_torch.h";
  if (wrong) {
    snprintf(tvmffi_i_torch.error, sizeof(tvmffi_i_torch.error), "%s", wrong);
    return tvmffi_i_torch.error;
  }
  for (pass = 0; pass < 2 && !code; ++pass) {
    if (pass)
      code = tvmffi_i_torch.aoti_torch_library_init_fragment(
          library, __FILE__, __LINE__, &defined);
    for (at = begin; at < end && !code; ++at) {
      tvmffi_i_text t = {schema, 0, sizeof(schema)};
      code = tvmffi_i_torch_schema(library, *at, &t);
      if (code || !pass) continue;
      code = tvmffi_i_torch.aoti_torch_library_def(defined, schema);
      if (!code) continue;
      wrong = tvmffi_i_torch.torch_exception_get_what_without_backtrace
                  ? tvmffi_i_torch.torch_exception_get_what_without_backtrace()
                  : "it is defined already, or its name is not valid; PyTorch "
                    "has printed the reason";
      (void)tvmffi_i_torch_refuse("RuntimeError", library, (*at)->func,
                                  "PyTorch refused the operator: ", wrong, "",
                                  "");
    }
  }
  for (key = 0; key < 3 && !code; ++key) {
    code = tvmffi_i_torch.aoti_torch_library_init_impl(
        library, keys[key], __FILE__, __LINE__, &kernels[key]);
    for (at = begin; at < end && !code; ++at)
      if ((*at)->has_tensor == (key < 2))
        code = tvmffi_i_torch.aoti_torch_library_impl(
            kernels[key], (*at)->func->name, (*at)->kernel);
  }
  tvmffi_i_torch.is_registered = !code;
  if (!code) return NULL;
  for (key = 0; key < 3; ++key)
    if (kernels[key])
      tvmffi_i_torch.aoti_torch_delete_library_object(kernels[key]);
  if (defined) tvmffi_i_torch.aoti_torch_delete_library_object(defined);
  if (!tvmffi_i_torch.error[0])
    snprintf(tvmffi_i_torch.error, sizeof(tvmffi_i_torch.error),
             "RuntimeError: PyTorch refused the library %s", library);
  return tvmffi_i_torch.error;
}

/* At the load of a library. If PyTorch is not loaded yet, nothing happens, and
   tvmffi.torch.load registers later. A constructor cannot fail, so an error is
   a warning here and an exception in tvmffi.torch.load. */
TVMFFI_I_TORCH_COLD void tvmffi_i_torch_start(const char *library,
                                              tvmffi_i_torch_op *const *begin,
                                              tvmffi_i_torch_op *const *end) {
  const char *wrong = tvmffi_i_torch_register(library, begin, end);
  if (wrong && tvmffi_i_torch.aoti_torch_warn)
    tvmffi_i_torch.aoti_torch_warn("tvmffi_torch", __FILE__, __LINE__, wrong);
}

/* Appends the operators as JSON. */
TVMFFI_I_TORCH_COLD void tvmffi_i_torch_append(tvmffi_i_text *t,
                                               const char *library,
                                               tvmffi_i_torch_op *const *begin,
                                               tvmffi_i_torch_op *const *end) {
  tvmffi_i_torch_op *const *at;
  int32_t i;
  tvmffi_i_append(t, "{\"namespace\":\"");
  tvmffi_i_append(t, library);
  tvmffi_i_append(t, "\",\"operators\":[");
  for (at = begin; at < end; ++at) {
    const tvmffi_func *f = (*at)->func;
    const char *name = f->params;
    tvmffi_i_append(t, at == begin ? "{\"name\":\"" : ",{\"name\":\"");
    tvmffi_i_append(t, f->name);
    tvmffi_i_append(t, "\",\"params\":[");
    for (i = 0; i < f->num_args; ++i, name += strlen(name) + 1) {
      tvmffi_i_append(t, i ? ",\"" : "\"");
      tvmffi_i_append(t, name);
      tvmffi_i_append(t, "\"");
    }
    tvmffi_i_append(t, "],\"result\":\"");
    tvmffi_i_append(t, f->types[0]->index == kTVMFFITensor
                           ? "Tensor"
                           : f->types[0]->name);
    tvmffi_i_append(t, "\"");
    tvmffi_i_append_contract(t, f->contract);
    tvmffi_i_append(t, "}");
  }
  tvmffi_i_append(t, "]}");
}

/* Returns the operators as JSON, for Python, or NULL if there is no memory. The
   text is kept. */
TVMFFI_I_TORCH_COLD const char *tvmffi_i_torch_describe(
    const char *library, tvmffi_i_torch_op *const *begin,
    tvmffi_i_torch_op *const *end) {
  static char *made;
  char none[1];
  tvmffi_i_text t = {none, 0, 1};
  if (made) return made;
  tvmffi_i_torch_append(&t, library, begin, end);
  t.capacity = t.size + 1;
  t.size = 0;
  t.data = (char *)malloc(t.capacity);
  if (t.data) tvmffi_i_torch_append(&t, library, begin, end);
  return made = t.data;
}

/* A kernel in PyTorch's form has no context, so each function has its own. The
   pointers to the functions are in one section of the library. */
#define TVMFFI_I_TORCH_EXPORT(name)                                         \
  static tvmffi_i_torch_kernel tvmffi_i_torch_kernel_##name;                \
  static tvmffi_i_torch_op tvmffi_i_torch_op_##name = {                     \
      &tvmffi_func_##name, tvmffi_i_torch_kernel_##name, NULL, 0, 0, {0}};  \
  static tvmffi_i_torch_op *tvmffi_i_torch_at_##name                        \
      __attribute__((__section__("tvmffi_torch"), __used__)) =              \
          &tvmffi_i_torch_op_##name;                                        \
  static void tvmffi_i_torch_kernel_##name(tvmffi_i_torch_value *stack,     \
                                           uint64_t num_args,               \
                                           uint64_t num_results) {          \
    (void)num_args;                                                         \
    tvmffi_i_torch_run(&tvmffi_i_torch_op_##name, stack, num_results);      \
  }
#undef TVMFFI_I_ON_EXPORT
#if defined(TVMFFI_PYTHON_H_)
#define TVMFFI_I_ON_EXPORT(name)                           \
  TVMFFI_PY_ENTRY(export, name, &tvmffi_func_##name, NULL) \
  TVMFFI_I_TORCH_EXPORT(name)
#else
#define TVMFFI_I_ON_EXPORT(name) TVMFFI_I_TORCH_EXPORT(name)
#endif

/* Makes each TVMFFI_EXPORT function of the library an operator torch.ops.name.
   Write it once in a library, at file scope. When the library is loaded, the
   operators are registered for CPU and CUDA. The library must stay loaded. */
#define TVMFFI_TORCH_LIBRARY(name)                                          \
  TVMFFI_I_TORCH_BEGIN                                                      \
  extern TVMFFI_I_HIDDEN __attribute__((__weak__))                          \
  tvmffi_i_torch_op *const __start_tvmffi_torch[],                          \
      *const __stop_tvmffi_torch[];                                         \
  static __attribute__((__constructor__)) void tvmffi_i_torch_load_##name(  \
      void) {                                                               \
    tvmffi_i_torch_start(#name, __start_tvmffi_torch, __stop_tvmffi_torch); \
  }                                                                         \
  TVM_FFI_DLL_EXPORT const char *tvmffi_torch_register(void);               \
  TVM_FFI_DLL_EXPORT const char *tvmffi_torch_register(void) {              \
    return tvmffi_i_torch_register(#name, __start_tvmffi_torch,             \
                                   __stop_tvmffi_torch);                    \
  }                                                                         \
  TVM_FFI_DLL_EXPORT const char *tvmffi_torch_describe(void);               \
  TVM_FFI_DLL_EXPORT const char *tvmffi_torch_describe(void) {              \
    return tvmffi_i_torch_describe(#name, __start_tvmffi_torch,             \
                                   __stop_tvmffi_torch);                    \
  }                                                                         \
  TVMFFI_I_TORCH_END

#ifdef __cplusplus
}
#define TVMFFI_I_TORCH_BEGIN extern "C" {
#define TVMFFI_I_TORCH_END }
#else
#define TVMFFI_I_TORCH_BEGIN
#define TVMFFI_I_TORCH_END
#endif

#endif /* TVMFFI_TORCH_H_ */
