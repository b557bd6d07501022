/* ======== Structural ===================================== >>extra/structural
   what structural equality and hash share */
/* Structural equality, the path to the first difference, and the structural
   hash. Equal values have equal hashes. The metadata of a type and the flags of
   its fields select what is compared, as in upstream's
   extra/structural_equal.cc and structural_hash.cc. Takes no lock.

   A stack of frames, one for each open object, replaces recursion. Only hooks
   (__s_equal__, __s_hash__) and ffi.StructuralKey keys of maps nest on the
   thread's stack, up to a limit. A frame retains its objects if a hook could
   release them. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"

#if !TVMFFI_NO_EXTRA
enum {
  /* Results of comparing or hashing one value. Error codes are negative. */
  TVMFFI_I_DIFFERENT = 0,
  TVMFFI_I_SAME = 1,
  TVMFFI_I_PUSHED = 2 /* a frame was pushed for the children */
};

/* A record for an object. `value` is the object's hash, or the address of the
   object's counterpart in the other value. */
typedef struct {
  TVMFFIObject *object; /* owned */
  uint64_t value;
} tvmffi_i_memo;

typedef struct {
  TVMFFIObject *object, *other; /* owned */
} tvmffi_i_equal_pair;

static int tvmffi_i_set_memo(tvmffi_i_ptr_table *t, TVMFFIObject *object,
                             uint64_t value) {
  tvmffi_i_memo *memo = TVMFFI_I_ADD(tvmffi_i_memo, t, object);
  if (!memo) return -1;
  memo->value = value;
  return 0;
}

/* The counts in tvmffi_i_results when the computation of a result began. */
typedef struct {
  size_t entries, num_loose;
} tvmffi_i_progress;

/* Results that are stored for shared objects: equal pairs, or hashes of
   containers. Without them, an object is visited once for each path to it.

   A firm result never changes. A loose result depends on a map key whose
   counterpart in the other value, or whose hash, is not known yet. A loose
   result is valid until the next counterpart or hash is known. */
typedef struct {
  tvmffi_i_ptr_table firm, loose; /* tvmffi_i_memo or tvmffi_i_equal_pair */
  /* `loose` is valid while this many counterparts or hashes are known. */
  size_t entries;
  /* Counts uses of `loose`, and of map keys whose counterpart or hash is not
     known. */
  size_t num_loose;
  tvmffi_i_progress *begun; /* stack of the results being computed */
  size_t num_begun, max_begun;
} tvmffi_i_results;

TVMFFI_I_NOINLINE int tvmffi_i_begin_result(tvmffi_i_results *r,
                                            size_t entries) {
  TVMFFI_I_PUSH_ROOM(tvmffi_i_progress, r->begun, r->num_begun, r->max_begun);
  r->begun[r->num_begun].entries = entries;
  r->begun[r->num_begun++].num_loose = r->num_loose;
  return 0;
}

static void tvmffi_i_clear_results(tvmffi_i_ptr_table *t, int is_pairs) {
  tvmffi_i_ptr_clear(
      t, is_pairs ? sizeof(tvmffi_i_equal_pair) : sizeof(tvmffi_i_memo),
      is_pairs ? 2 : 1);
}

/* Returns the table for the result on top of r->begun, or NULL if the result is
   loose and no longer valid. The caller pops r->begun. */
TVMFFI_I_NOINLINE tvmffi_i_ptr_table *tvmffi_i_result_table(tvmffi_i_results *r,
                                                            size_t entries,
                                                            int is_pairs) {
  const tvmffi_i_progress *begun = &r->begun[r->num_begun - 1];
  if (r->num_loose == begun->num_loose) return &r->firm;
  if (begun->entries != entries) return NULL;
  if (r->entries != entries) tvmffi_i_clear_results(&r->loose, is_pairs);
  r->entries = entries;
  return &r->loose;
}

static void tvmffi_i_drop_results(tvmffi_i_results *r, int is_pairs) {
  tvmffi_i_clear_results(&r->firm, is_pairs);
  tvmffi_i_clear_results(&r->loose, is_pairs);
  tvmffi_i_free(r->begun);
}

/* State of a comparison or hash. `region`, the current TVMFFIDefRegionKind,
   tells whether variables are defined here. `callback` is the function that
   hooks receive. */
typedef struct {
  int32_t region, skips_tensors;
  tvmffi_i_callback callback;
} tvmffi_i_structural;

/* Returns the state of the comparison or hash that a callback belongs to.
   Raises an error and returns NULL if the hook has ended or runs in another
   thread, or if the number or a type of the arguments is wrong. */
static void *tvmffi_i_callback_state(void *self, const tvmffi_func *f,
                                     const TVMFFIAny *args, int32_t num_args,
                                     const TVMFFIAny *result) {
  tvmffi_i_callback_self *c = (tvmffi_i_callback_self *)self;
  int32_t i;
  if (num_args != f->num_args ||
      result->type_index >= kTVMFFIStaticObjectBegin) {
    (void)tvmffi_i_bad_call(f, num_args, result);
    return NULL;
  }
  for (i = num_args; i-- > 0;) {
    if (f->types[i + 1] != &tvmffi_i_word_int64 || TVMFFI_I_IS_INT(&args[i]))
      continue;
    (void)tvmffi_i_bad_arg(f, i, args, TVMFFI_I_MISMATCH);
    return NULL;
  }
  if (tvmffi_i_is_guarded(c)) return c->traversal;
  (void)tvmffi_i_fail("RuntimeError",
                      "The callback of a structural hook was called after "
                      "its end");
  return NULL;
}

/* Calls a hook with the object `o`, the argument `second` and the callback.
   Sets *out to the result. A TypeError names `expected`, the result's type. */
static int tvmffi_i_call_structural_hook(tvmffi_i_structural *s,
                                         TVMFFIObject *hook, TVMFFIObject *o,
                                         TVMFFIAny second,
                                         TVMFFISafeCallType call,
                                         const char *expected, int64_t *out) {
  TVMFFIAny args[3], result = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_callback_open(&s->callback, s, call));
  args[0] = tvmffi_obj(o);
  args[1] = second;
  args[2] = tvmffi_obj(s->callback.function);
  code = tvmffi_i_call_guarded(&s->callback, hook, args, 3, &result);
  if (code) return code;
  *out = result.v_int64;
  if (TVMFFI_I_IS_INT(&result)) return 0;
  code = tvmffi_i_bad_cast(&result, expected);
  tvmffi_i_any_release(&result);
  return code;
}

/* Returns the TVMFFIDefRegionKind of a child. `outer` is the kind around the
   parent, `inner` the kind of the child's field. Everything inside a Pattern
   field is Pattern. */
TVMFFI_I_INLINE int32_t tvmffi_i_region_in(int32_t outer, int32_t inner) {
  return outer == kTVMFFIDefRegionKindPattern ||
                 inner == kTVMFFIDefRegionKindNone
             ? outer
             : inner;
}

TVMFFI_I_INLINE int32_t tvmffi_i_field_region(const TVMFFIFieldInfo *field,
                                              int32_t outer) {
  int64_t flags = field->flags;
  if (flags & kTVMFFIFieldFlagBitMaskSEqHashDefSimple)
    return tvmffi_i_region_in(outer, kTVMFFIDefRegionKindSimple);
  if (flags & kTVMFFIFieldFlagBitMaskSEqHashDefPattern)
    return kTVMFFIDefRegionKindPattern;
  return outer;
}

/* Returns the next field that comparison and hash do not ignore, or NULL at the
   end. */
TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_next_counted(
    tvmffi_i_field_cursor *w) {
  const TVMFFIFieldInfo *field;
  do {
    field = tvmffi_i_next_field(w);
  } while (field && field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore);
  return field;
}

/* Reads a field. If the getter is the runtime's own and the field is an Any or
   a reference, *value is borrowed. Otherwise *value is owned, and *is_own
   becomes 1. */
TVMFFI_I_INLINE int tvmffi_i_read_field(const TVMFFIFieldInfo *field,
                                        const TVMFFIObject *object,
                                        TVMFFIAny *value, int *is_own) {
  void *at = tvmffi_i_at(object, field);
  int code;
  *is_own = 0;
  if (field->getter == tvmffi_i_get_any_field) {
    *value = *(const TVMFFIAny *)at;
    return 0;
  }
  if (field->getter == tvmffi_i_get_reference) {
    *value = tvmffi_obj(*(TVMFFIObject **)at);
    return 0;
  }
  *is_own = 1;
  *value = tvmffi_none();
  code = field->getter(at, value);
  return code ? tvmffi_i_need_error(code, "A field getter") : 0;
}

/* Returns a type that supports structural comparison. Returns NULL with
   TypeError raised for any other type. */
static const TVMFFITypeInfo *tvmffi_i_structural_type(int32_t index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(index);
  const TVMFFITypeMetadata *metadata;
  if (!type) {
    (void)tvmffi_i_fail("TypeError", "Type index %d is not registered", index);
    return NULL;
  }
  metadata = TVMFFI_I_LOAD(&type->metadata);
  if (metadata &&
      metadata->structural_eq_hash_kind != kTVMFFISEqHashKindUnsupported)
    return type;
  (void)tvmffi_i_fail("TypeError",
                      "%s is not set for type `%s`, so StructuralHash is not "
                      "supported for this type",
                      metadata ? "_type_s_eq_hash_kind" : "Type metadata",
                      type->type_key.data);
  return NULL;
}

/* Sets *hook to the hook of a type (borrowed), or to NULL if the type has no
   hook. Raises TypeError if the hook is not a function. */
static int tvmffi_i_find_hook(tvmffi_i_known_column *column, int32_t index,
                              const char *signature, TVMFFIObject **hook) {
  const TVMFFIAny *value = tvmffi_i_type_attr(column, index);
  *hook = NULL;
  if (!value) return 0;
  TVMFFI_TRY(tvmffi_i_check_hook(value, signature));
  *hook = value->v_obj;
  return 0;
}

/* Sets *size to the size of a tensor's data in bytes. Raises an error unless
   the data is contiguous and on a CPU. */
static int tvmffi_i_tensor_bytes(const DLTensor *t, const char *verb,
                                 size_t *size) {
  if (t->device.device_type != kDLCPU)
    return tvmffi_i_fail("InternalError", "can only %s CPU tensor", verb);
  if (!tvmffi_tensor_is_contiguous(t))
    return tvmffi_i_fail("InternalError", "Can only %s contiguous tensor",
                         verb);
  *size = tvmffi_tensor_bytes(t);
  if (*size == SIZE_MAX || (*size && !t->data))
    return tvmffi_i_fail(
        "ValueError", "Cannot %s a tensor %s", verb,
        t->data ? "of more bytes than memory has" : "without data");
  return 0;
}
#endif
