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
#include "../graph.h"
#include "../reflection.h"

#if !TVMFFI_NO_EXTRA
enum {
  /* Results of comparing or hashing one value. Error codes are negative. */
  TVMFFI_I_DIFFERENT = 0,
  TVMFFI_I_SAME = 1,
  TVMFFI_I_PUSHED = 2 /* a frame was pushed for the children */
};

/* A record of two compared objects, one of the left and one of the right value:
   all pairs in a table have the same result. Or the record of an object and its
   hash, and `other` is NULL. */
typedef struct {
  TVMFFIObject *object, *other; /* owned */
  uint64_t hash;
} tvmffi_i_met_pair;

static void tvmffi_i_clear_pairs(tvmffi_i_ptr_table *t) {
  tvmffi_i_ptr_clear(t, sizeof(tvmffi_i_met_pair), 2);
}

/* A stack frame. `other` is the object of the right value, or NULL in a hash.
   If `is_shared` is 1, the frame's result may be stored, so `begun` of
   tvmffi_i_structural has an entry for it. */
typedef struct {
  tvmffi_i_walk_frame base;
  int32_t outer;  /* TVMFFIDefRegionKind around the objects */
  int32_t region; /* TVMFFIDefRegionKind inside the objects */
  int kind;       /* TVMFFISEqHashKind of an object with fields */
} tvmffi_i_structural_frame;

/* The values of known[0].count and num_loose in tvmffi_i_structural when the
   computation of a result began. If num_loose differs at the end, the result is
   loose. If the count differs, too, the loose result is no longer valid. */
typedef struct {
  size_t num_known, num_loose;
} tvmffi_i_progress;

/* State of a comparison or hash. `region`, the current TVMFFIDefRegionKind,
   tells whether variables are defined here.

   Results are stored for shared objects: equal pairs, or hashes of containers.
   Without them, an object is visited once for each path to it. A firm result
   never changes. A loose result depends on a map key whose counterpart in the
   other value, or whose hash, is not known yet. A loose result is valid until
   the next counterpart or hash is known. */
typedef struct {
  tvmffi_i_hooked base;
  int32_t region, skips_tensors;
  /* known[0] maps an object of the left value to its counterpart (borrowed) in
     the right value, and known[1] maps back. In a hash, known[0] maps an object
     with fields to its hash, and known[1] is empty. */
  tvmffi_i_ptr_table known[2];    /* tvmffi_i_memo */
  tvmffi_i_ptr_table firm, loose; /* tvmffi_i_met_pair: the results */
  size_t valid_at; /* known[0].count with which the results in `loose` hold */
  /* Counts uses of `loose`, and of map keys whose counterpart or hash is not
     known: a result during which it grows is loose. */
  size_t num_loose;
  tvmffi_i_progress *begun; /* stack of the results being computed */
  size_t num_begun, max_begun;
} tvmffi_i_structural;

static void tvmffi_i_structural_close(tvmffi_i_structural *s) {
  tvmffi_i_hooked_close(&s->base);
  TVMFFI_ASSERT(!s->base.nested && !s->num_begun);
  tvmffi_i_clear_memos(&s->known[0]);
  tvmffi_i_clear_memos(&s->known[1]);
  tvmffi_i_clear_pairs(&s->firm);
  tvmffi_i_clear_pairs(&s->loose);
  tvmffi_i_free(s->begun);
}

TVMFFI_I_NOINLINE int tvmffi_i_begin_result(tvmffi_i_structural *s) {
  TVMFFI_ASSERT(s->valid_at <= s->known[0].count);
  TVMFFI_I_PUSH_ROOM(tvmffi_i_progress, s->begun, s->num_begun, s->max_begun);
  s->begun[s->num_begun].num_known = s->known[0].count;
  s->begun[s->num_begun++].num_loose = s->num_loose;
  return 0;
}

/* Returns 1 if the two objects are recorded as equal, else 0. If `other` is
   NULL, returns 1 and sets *hash if the hash of `object` is stored, else 0. */
TVMFFI_I_NOINLINE int tvmffi_i_find_result(tvmffi_i_structural *s,
                                           const TVMFFIObject *object,
                                           const TVMFFIObject *other,
                                           uint64_t *hash) {
  const tvmffi_i_met_pair *met =
      TVMFFI_I_FIND_PAIR(tvmffi_i_met_pair, &s->firm, object, other);
  TVMFFI_ASSERT(s->valid_at <= s->known[0].count && !other == (hash != NULL));
  if (!met && s->valid_at == s->known[0].count) {
    met = TVMFFI_I_FIND_PAIR(tvmffi_i_met_pair, &s->loose, object, other);
    s->num_loose += met != NULL;
  }
  if (met && hash) *hash = met->hash;
  return met != NULL;
}

/* Stores a result, which began with the top entry of s->begun; the caller pops
   this entry. If the result is loose and known[0] has changed since then,
   stores nothing. */
TVMFFI_I_NOINLINE int tvmffi_i_set_result(tvmffi_i_structural *s,
                                          TVMFFIObject *object,
                                          TVMFFIObject *other, uint64_t hash) {
  const tvmffi_i_progress *begun = &s->begun[s->num_begun - 1];
  tvmffi_i_ptr_table *t = &s->firm;
  tvmffi_i_met_pair *met;
  TVMFFI_ASSERT(s->num_begun > 0 && begun->num_loose <= s->num_loose);
  TVMFFI_ASSERT(begun->num_known <= s->known[0].count);
  if (s->num_loose != begun->num_loose) {
    if (begun->num_known != s->known[0].count) return 0;
    t = &s->loose;
    if (s->valid_at != s->known[0].count) tvmffi_i_clear_pairs(t);
    s->valid_at = s->known[0].count;
  }
  met = TVMFFI_I_ADD_PAIR(tvmffi_i_met_pair, t, object, other);
  if (!met) return -1;
  met->hash = hash;
  return 0;
}

/* Pushes a frame for an object, or for two objects that are compared. The
   caller accounts for `own` references to each: objects with more may be met
   again. Returns TVMFFI_I_PUSHED, or TVMFFI_I_SAME with *hash set if a result
   is stored, or -1 on error. */
TVMFFI_I_INLINE int tvmffi_i_push_structural(tvmffi_i_structural *s,
                                             TVMFFIObject *object,
                                             TVMFFIObject *other,
                                             const TVMFFITypeInfo *type,
                                             uint32_t own, uint64_t *hash) {
  const int is_shared = tvmffi_i_are_shared(object, other, own);
  tvmffi_i_structural_frame *f;
  TVMFFI_ASSERT(s->base.walk.frame_size > sizeof(*f));
  TVMFFI_ASSERT(type || tvmffi_i_is_container(object->type_index));
  if (is_shared) {
    if (tvmffi_i_find_result(s, object, other, hash)) return TVMFFI_I_SAME;
    TVMFFI_TRY(tvmffi_i_begin_result(s));
  }
  f = (tvmffi_i_structural_frame *)tvmffi_i_push_frame(&s->base.walk, object,
                                                       other, type, 0);
  if (!f) {
    s->num_begun -= (size_t)is_shared;
    return -1;
  }
  f->base.is_shared = (unsigned char)is_shared;
  f->outer = f->region = s->region;
  return TVMFFI_I_PUSHED;
}

/* Makes the top frame own its objects, which a hook could release otherwise. If
   `is_own`, takes the caller's references. Returns TVMFFI_I_PUSHED. */
TVMFFI_I_INLINE int tvmffi_i_keep_pushed(tvmffi_i_structural *s, int is_own) {
  tvmffi_i_walk_frame *f = tvmffi_i_top(s);
  TVMFFI_ASSERT(!(f->owns & (TVMFFI_I_OWNS_OBJECT | TVMFFI_I_OWNS_OTHER)));
  f->owns |= TVMFFI_I_OWNS_OBJECT | TVMFFI_I_OWNS_OTHER;
  if (!is_own) tvmffi_i_retain(f->c.object);
  if (!is_own && f->other) tvmffi_i_retain(f->other);
  return TVMFFI_I_PUSHED;
}

static void tvmffi_i_pop_structural(tvmffi_i_walk *walk) {
  tvmffi_i_structural *s = (tvmffi_i_structural *)(void *)walk;
  TVMFFI_ASSERT(s->num_begun >= tvmffi_i_top(walk)->is_shared);
  s->num_begun -= tvmffi_i_top(walk)->is_shared;
  tvmffi_i_pop_frame(walk);
}

#define TVMFFI_I_ENDED_STRUCTURAL \
  "The callback of a structural hook was called after its end"

/* Calls a hook while s->region is `region`. Sets *out to the result. As in
   upstream, does not restore s->region after an error: this counts if a hook
   handles its callback's error and calls the callback again. */
static int tvmffi_i_call_structural_hook(tvmffi_i_structural *s,
                                         const tvmffi_i_hook_kind *kind,
                                         const TVMFFIAny *hook, TVMFFIAny *args,
                                         int32_t region, int64_t *out) {
  const size_t num_begun = s->num_begun;
  const int32_t outer = s->region;
  TVMFFIAny result;
  int code;
  TVMFFI_ASSERT(TVMFFI_I_IS_FREE);
  s->region = region;
  code = tvmffi_i_call_hook(&s->base, kind, hook, args, 2, &result);
  TVMFFI_ASSERT(s->num_begun >= num_begun);
  s->num_begun = num_begun; /* an exception may have left other hooks */
  if (!code) code = tvmffi_i_hook_number(&result, kind, out);
  if (!code) s->region = outer;
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
  TVMFFI_ASSERT(!(field->flags & kTVMFFIFieldFlagBitMaskSEqHashIgnore));
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
  return tvmffi_i_get_field(field, object, value);
}

/* Returns the TVMFFIDefRegionKind inside an object: s->region, but None inside
   a free variable if s->region is Simple, which defines the variable without
   those in its own fields. */
TVMFFI_I_INLINE int32_t tvmffi_i_inner_region(const tvmffi_i_structural *s,
                                              int kind) {
  TVMFFI_ASSERT(kind != kTVMFFISEqHashKindUnsupported);
  return kind == kTVMFFISEqHashKindFreeVar &&
                 s->region == kTVMFFIDefRegionKindSimple
             ? (int32_t)kTVMFFIDefRegionKindNone
             : s->region;
}

/* Returns a type that supports structural comparison. Returns NULL with
   TypeError raised for any other type. */
static const TVMFFITypeInfo *tvmffi_i_structural_type(int32_t index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(index);
  const TVMFFITypeMetadata *metadata;
  if (!type) {
    (void)tvmffi_i_type_error("Type index %d is not registered", (int)index);
    return NULL;
  }
  metadata = TVMFFI_I_LOAD(&type->metadata);
  if (metadata &&
      metadata->structural_eq_hash_kind != kTVMFFISEqHashKindUnsupported)
    return type;
  (void)tvmffi_i_type_error(
      "%s is not set for type `%s`, so StructuralHash is not supported for "
      "this type",
      metadata ? "_type_s_eq_hash_kind" : "Type metadata", type->type_key.data);
  return NULL;
}

/* Sets *size to the size of a tensor's data in bytes. Raises an error unless
   the data is contiguous and on a CPU. */
static int tvmffi_i_tensor_bytes(const DLTensor *t, const char *verb,
                                 size_t *size) {
  if (t->device.device_type != kDLCPU)
    return tvmffi_i_internal_error("can only %s CPU tensor", verb);
  if (!tvmffi_tensor_is_contiguous(t))
    return tvmffi_i_internal_error("Can only %s contiguous tensor", verb);
  *size = tvmffi_tensor_bytes(t);
  if (*size == SIZE_MAX || (*size && !t->data))
    return tvmffi_i_value_error(
        "Cannot %s a tensor %s", verb,
        t->data ? "of more bytes than memory has" : "without data");
  return 0;
}
#endif
