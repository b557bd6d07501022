/* What the programs of this folder share: the 50 functions of the C ABI,
 * bound by dlopen from the library named on the command line, and small
 * builders. Nothing here calls the library behind a test's back. */
#ifndef ROBUST_H_
#define ROBUST_H_

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#ifdef ROBUST_UPSTREAM_HEADER
#include <tvm/ffi/extra/c_env_api.h>
#else
#include "tvmffi.h"
#endif

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../tools/functions.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* F.ObjectIncRef is TVMFFIObjectIncRef of the library under test. */
static struct {
#define X(name) __typeof__(&TVMFFI##name) name;
  TVMFFI_FUNCTIONS(X)
#undef X
} F;

static void robust_open(const char *path) {
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (lib == NULL) {
    fprintf(stderr, "Bail out! %s\n", dlerror());
    exit(99);
  }
#define X(name)                                           \
  *(void **)(void *)&F.name = dlsym(lib, "TVMFFI" #name); \
  if (F.name == NULL) {                                   \
    fprintf(stderr, "Bail out! no TVMFFI" #name "\n");    \
    exit(99);                                             \
  }
  TVMFFI_FUNCTIONS(X)
#undef X
}

typedef TVMFFIObject *Obj;

static inline TVMFFIByteArray bytes_of(const char *data, size_t size) {
  TVMFFIByteArray a;
  a.data = data;
  a.size = size;
  return a;
}
static inline TVMFFIByteArray text_of(const char *s) {
  return bytes_of(s, strlen(s));
}
/* A pointer that lives until the end of the enclosing block. */
#define BA(data, size) ((TVMFFIByteArray[1]){{(data), (size)}})
#define STR(s) BA((s), strlen(s))

static inline TVMFFIAny any_none(void) {
  TVMFFIAny a;
  memset(&a, 0, sizeof a);
  return a;
}
static inline TVMFFIAny any_of(int32_t type_index, void *ptr) {
  TVMFFIAny a = any_none();
  a.type_index = type_index;
  a.v_int64 = (int64_t)(intptr_t)ptr;
  return a;
}
static inline TVMFFIAny any_int(int64_t v) {
  TVMFFIAny a = any_none();
  a.type_index = kTVMFFIInt;
  a.v_int64 = v;
  return a;
}
static inline TVMFFIAny any_obj(void *obj) {
  return any_of(((TVMFFIObject *)obj)->type_index, obj);
}
static inline void any_drop(TVMFFIAny *a) {
  if (a->type_index >= kTVMFFIStaticObjectBegin) F.ObjectDecRef(a->v_obj);
  *a = any_none();
}
static inline TVMFFIByteArray any_text(const TVMFFIAny *a) {
  if (a->type_index == kTVMFFISmallStr || a->type_index == kTVMFFISmallBytes) {
    return bytes_of(a->v_bytes, a->small_str_len);
  }
  if (a->type_index == kTVMFFIStr || a->type_index == kTVMFFIBytes) {
    return *(TVMFFIByteArray *)(void *)(a->v_obj + 1);
  }
  return bytes_of("", 0);
}

/* The cells that stand behind an object's header. */
static inline TVMFFIErrorCell *error_cell(void *obj) {
  return (TVMFFIErrorCell *)(void *)((Obj)obj + 1);
}
static inline TVMFFIFunctionCell *function_cell(void *obj) {
  return (TVMFFIFunctionCell *)(void *)((Obj)obj + 1);
}
static inline DLTensor *tensor_cell(void *obj) {
  return (DLTensor *)(void *)((Obj)obj + 1);
}
static inline TVMFFIShapeCell *shape_cell(void *obj) {
  return (TVMFFIShapeCell *)(void *)((Obj)obj + 1);
}

/* Takes the thread's error; NULL when there is none. */
static inline Obj error_take(void) {
  TVMFFIObjectHandle e = NULL;
  F.ErrorMoveFromRaised(&e);
  return (Obj)e;
}

static inline int error_is(Obj e, const char *kind) {
  TVMFFIByteArray k = error_cell(e)->kind;
  return k.size == strlen(kind) && memcmp(k.data, kind, k.size) == 0;
}

/* Objects to hand over; each exits when the library cannot make one. */
static inline void *need(int rc, void *obj) {
  if (rc != 0 || obj == NULL) {
    fprintf(stderr, "cannot make a test object\n");
    _exit(98);
  }
  return obj;
}

static inline Obj make_str(void) {
  TVMFFIAny out = any_none();
  int rc = F.StringFromByteArray(STR("a string that is not small"), &out);
  return (Obj)need(rc, out.v_obj);
}

static inline Obj make_bytes(void) {
  TVMFFIAny out = any_none();
  int rc = F.BytesFromByteArray(STR("bytes that are not small"), &out);
  return (Obj)need(rc, out.v_obj);
}

static inline Obj make_error(const char *kind, const char *message) {
  TVMFFIObjectHandle out = NULL;
  int rc = F.ErrorCreate(STR(kind), STR(message), STR(""), &out);
  return (Obj)need(rc, out);
}

static inline int safe_answer(void *self, const TVMFFIAny *args, int32_t n,
                              TVMFFIAny *result) {
  (void)args;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = 42 + n + (int64_t)(intptr_t)self;
  return 0;
}

static inline Obj make_function(void) {
  TVMFFIObjectHandle out = NULL;
  int rc = F.FunctionCreate(NULL, safe_answer, NULL, &out);
  return (Obj)need(rc, out);
}

static inline Obj make_opaque(void *handle, void (*deleter)(void *)) {
  TVMFFIObjectHandle out = NULL;
  int rc = F.ObjectCreateOpaque(handle, kTVMFFIOpaquePyObject, deleter, &out);
  return (Obj)need(rc, out);
}

/* A float32[2][3] on the CPU whose parts the tests then spoil. */
struct sample {
  float data[6];
  int64_t shape[4], strides[4];
  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;
};

static int sample_deleted;
static inline void sample_delete_legacy(DLManagedTensor *t) {
  (void)t;
  ++sample_deleted;
}
static inline void sample_delete(DLManagedTensorVersioned *t) {
  (void)t;
  ++sample_deleted;
}

static inline DLTensor sample_tensor(struct sample *s) {
  DLTensor t;
  memset(&t, 0, sizeof t);
  s->shape[0] = 2;
  s->shape[1] = 3;
  s->strides[0] = 3;
  s->strides[1] = 1;
  t.data = s->data;
  t.device.device_type = kDLCPU;
  t.ndim = 2;
  t.dtype.code = kDLFloat;
  t.dtype.bits = 32;
  t.dtype.lanes = 1;
  t.shape = s->shape;
  t.strides = s->strides;
  return t;
}

static inline struct sample *sample_new(void) {
  struct sample *s = (struct sample *)calloc(1, sizeof *s);
  if (s == NULL) _exit(98);
  s->legacy.dl_tensor = sample_tensor(s);
  s->legacy.deleter = sample_delete_legacy;
  s->versioned.version.major = 1;
  s->versioned.version.minor = 0;
  s->versioned.dl_tensor = s->legacy.dl_tensor;
  s->versioned.deleter = sample_delete;
  return s;
}

static inline Obj make_tensor(void) {
  TVMFFIObjectHandle out = NULL;
  int rc = F.TensorFromDLPack(&sample_new()->legacy, 0, 0, &out);
  return (Obj)need(rc, out);
}

/* A child of ffi.Object, made once under each key. */
static inline int32_t make_type(const char *key) {
  return F.TypeGetOrAllocIndex(STR(key), -1, 1, 0, 1, kTVMFFIObject);
}

#endif /* ROBUST_H_ */
