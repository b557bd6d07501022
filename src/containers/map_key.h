/* ======== Map keys ===================================== >>containers/map_key
   hash, equality and hooks of keys */
/* Map and Dict have upstream's layout (container/map_base.h), because C++
   clients access them inline. Up to four entries are in a map row, an array in
   insertion order. More entries are in a hash table. One metadata byte per slot
   links the bucket chains. Links between entries keep the insertion order.

   A Map is copy-on-write when shared; a Dict is changed in place. Reading takes
   no lock and writes nothing; a writer of a Dict needs exclusive access.
   Objects are released when the table is consistent, because their deleters may
   use the Dict. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "equal.h"

#if !TVMFFI_NO_CONTAINERS
/* A slot's metadata byte stores the number of the distance to the next slot of
   its bucket chain. The first 16 distances are their numbers, the others are
   triangular numbers n(n + 1)/2: those for n from 6 to 72, then, from number
   TVMFFI_I_MAP_FIRST_FAR on, selected larger ones. The index of a slot is taken
   modulo the size of the table, so of a distance above SIZE_MAX only the lower
   bits are stored. */
/* clang-format off */
#define TVMFFI_I_FAR(x) (size_t)(x##u)
static const size_t
tvmffi_i_map_far[TVMFFI_I_MAP_NUM_JUMPS - TVMFFI_I_MAP_FIRST_FAR] = {
    8515, 19110, 42778, 96141, 216153, 486591, 1092981, 2458653, 5532801,
    12442566, 27993903, 62983476, 141717030, 318844378, 717352503,
    1614057336, 3631522476u, TVMFFI_I_FAR(8170957530),
    TVMFFI_I_FAR(18384510628),
    TVMFFI_I_FAR(41364789378), TVMFFI_I_FAR(93070452520),
    TVMFFI_I_FAR(209408356380), TVMFFI_I_FAR(471168559170),
    TVMFFI_I_FAR(1060128894105), TVMFFI_I_FAR(2385289465695),
    TVMFFI_I_FAR(5366898840628), TVMFFI_I_FAR(12075518705635),
    TVMFFI_I_FAR(27169915244790), TVMFFI_I_FAR(61132312065111),
    TVMFFI_I_FAR(137547689707000), TVMFFI_I_FAR(309482283181501),
    TVMFFI_I_FAR(696335127828753), TVMFFI_I_FAR(1566753995631385),
    TVMFFI_I_FAR(3525196511162271), TVMFFI_I_FAR(7931691992677701),
    TVMFFI_I_FAR(17846306936293605), TVMFFI_I_FAR(40154190677507445),
    TVMFFI_I_FAR(90346928918121501), TVMFFI_I_FAR(203280589587557251),
    TVMFFI_I_FAR(457381325854679626), TVMFFI_I_FAR(1029107982097042876),
    TVMFFI_I_FAR(2315492959180353330), TVMFFI_I_FAR(5209859154120846435)};
/* clang-format on */

TVMFFI_I_INLINE size_t tvmffi_i_map_jump(size_t number) {
  TVMFFI_ASSERT(number < TVMFFI_I_MAP_NUM_JUMPS);
  if (TVMFFI_I_LIKELY(number < 16)) return number;
  return number < TVMFFI_I_MAP_FIRST_FAR
             ? (number - 10) * (number - 9) / 2
             : tvmffi_i_map_far[number - TVMFFI_I_MAP_FIRST_FAR];
}

/* Returns the home slot of a hash by Fibonacci hashing: multiplies by 2^64 /
   phi and keeps the highest bits. */
TVMFFI_I_SMALL_NOINLINE size_t
tvmffi_i_map_home(const tvmffi_i_map_object *m, uint64_t hash) {
  TVMFFI_ASSERT(UINT64_MAX >> (m->fib_shift & 63) == m->num_slots - 1);
  return (size_t)((hash * 0x9E3779B97F4A7C15u) >> (m->fib_shift & 63));
}

/* Returns the slot that follows slot `i` in its bucket chain. `meta` is the
   metadata byte of slot `i`. */
TVMFFI_I_INLINE size_t tvmffi_i_map_next(const tvmffi_i_map_object *m, size_t i,
                                         uint8_t meta) {
  TVMFFI_ASSERT(i < m->num_slots);
  return (i + tvmffi_i_map_jump(meta & TVMFFI_I_MAP_JUMP)) &
         ((size_t)m->num_slots - 1);
}

/* -------- Keys -------- */

/* A key prepared for a lookup. `bits` of a string of up to 7 bytes are a small
   string, even if the caller's string is an object. A longer string is compared
   by `text`. */
typedef struct {
  tvmffi_i_bits bits;
  TVMFFIByteArray text; /* a text of 8 bytes or more, else {NULL, 0} */
  int32_t index;        /* type index in `bits` */
  int32_t other;        /* type of keys that may be equal with other bits */
} tvmffi_i_map_key;

TVMFFI_I_INLINE tvmffi_i_map_key tvmffi_i_map_text_key(TVMFFIByteArray text,
                                                       const void *object,
                                                       int32_t in_any,
                                                       int32_t large) {
  tvmffi_i_map_key key;
  TVMFFI_ASSERT(text.data || !text.size);
  key.other = large;
  if (text.size >= 8) {
    key.index = large;
    key.text = text;
    key.bits = tvmffi_i_make_bits(large, 0, (uint64_t)(uintptr_t)object);
    return key;
  }
  key.index = in_any;
  key.text.data = NULL;
  key.text.size = 0;
  key.bits = tvmffi_i_make_bits(in_any, (uint32_t)text.size,
                                tvmffi_i_small_text(text.data, text.size));
  return key;
}

/* Prepares a key that may contain a pointer. The object of an rvalue reference
   is read, but not moved. */
TVMFFI_I_NOINLINE int tvmffi_i_map_read_pointed(const TVMFFIAny *view,
                                                tvmffi_i_map_key *key) {
  int32_t index = view->type_index;
  TVMFFIAny moved;
  TVMFFI_ASSERT(index >= kTVMFFIRawStr && index != kTVMFFISmallStr);
  key->bits = tvmffi_i_load_bits(view);
  key->text.data = NULL;
  key->text.size = 0;
  key->index = index;
  key->other = -1;
  if (index == kTVMFFIObjectRValueRef) {
    TVMFFIObject **from = (TVMFFIObject **)view->v_ptr;
    if (!from || !*from)
      return tvmffi_i_internal_error("RValueRef already moved");
    moved = tvmffi_obj(*from);
    return tvmffi_i_map_read_pointed(&moved, key);
  }
  if (index == kTVMFFISmallBytes) {
    key->other = kTVMFFIBytes;
  } else if (index == kTVMFFIUnchanged) {
    return 0;
  } else if (!view->v_ptr) {
    return tvmffi_i_null(__func__, "the key");
  } else if (index == kTVMFFIRawStr || index == kTVMFFIStr) {
    *key = tvmffi_i_map_text_key(tvmffi_any_str(view), view->v_ptr,
                                 kTVMFFISmallStr, kTVMFFIStr);
  } else if (index == kTVMFFIByteArrayPtr || index == kTVMFFIBytes) {
    TVMFFIByteArray text = tvmffi_any_str(view);
    TVMFFI_I_CHECK_BYTES(&text);
    *key = tvmffi_i_map_text_key(text, view->v_ptr, kTVMFFISmallBytes,
                                 kTVMFFIBytes);
  } else {
    key->other = index;
  }
  return 0;
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_read_key(const TVMFFIAny *view,
                                                 tvmffi_i_map_key *key) {
  int32_t index = view->type_index;
  key->text.data = NULL;
  key->text.size = 0;
  key->index = index;
  if (index < kTVMFFIRawStr) {
    key->bits = tvmffi_i_make_bits(index, 0, view->v_uint64);
    key->other = -1;
  } else if (index == kTVMFFISmallStr) {
    key->bits = tvmffi_i_load_bits(view);
    key->other = kTVMFFIStr;
  } else if (index == kTVMFFIStr && view->v_obj) {
    *key = tvmffi_i_map_text_key(((tvmffi_i_string *)view->v_ptr)->bytes,
                                 view->v_ptr, kTVMFFISmallStr, kTVMFFIStr);
  } else {
    tvmffi_i_map_key pointed;
    TVMFFI_TRY(tvmffi_i_map_read_pointed(view, &pointed));
    *key = pointed;
  }
  return 0;
}

/* Number of guards of maps. A thread cannot change a map while it runs the hash
   or equality of a key's type for it: see core/guard.h. A change of a map
   checks the guards only if this number is not 0. */
static uint64_t tvmffi_i_map_guards;

TVMFFI_I_INLINE int tvmffi_i_map_enter(const tvmffi_i_map_object *m,
                                       uintptr_t frame) {
  return tvmffi_i_guard_enter(m, &tvmffi_i_map_guards, frame);
}

TVMFFI_I_SLOW int tvmffi_i_map_check_guards(const tvmffi_i_map_object *m) {
  return tvmffi_i_is_guarded(m) ? tvmffi_i_runtime_error(
                                      "A map cannot be changed by the hash or "
                                      "the equality of its own keys")
                                : 0;
}

TVMFFI_I_INLINE int tvmffi_i_map_may_change(const tvmffi_i_map_object *m) {
  return TVMFFI_I_LIKELY(!tvmffi_i_load64(&tvmffi_i_map_guards))
             ? 0
             : tvmffi_i_map_check_guards(m);
}

/* Run the hash and the equality of a key's type, which may throw. */
TVMFFI_I_UNWOUND(tvmffi_i_map_run_hash, (const TVMFFIAny *key, uint64_t *hash),
                 tvmffi_i_any_hash(key, hash), tvmffi_i_guard_leave_one)
TVMFFI_I_UNWOUND(tvmffi_i_map_run_equal,
                 (const TVMFFIAny *a, const TVMFFIAny *b),
                 tvmffi_i_differ_equal(a, b), tvmffi_i_guard_leave_one)

/* Computes a key's hash. Marks `m` while the key type's own hash runs. */
TVMFFI_I_NOINLINE int tvmffi_i_map_hash_object(const tvmffi_i_map_object *m,
                                               const TVMFFIAny *key,
                                               uint64_t *hash) {
  const uintptr_t frame = tvmffi_i_stack_address();
  int code;
  if (!tvmffi_i_type_attr(&tvmffi_i_hash_column, key->type_index))
    return tvmffi_i_any_hash(key, hash);
  TVMFFI_TRY(tvmffi_i_map_enter(m, frame));
  code = tvmffi_i_map_run_hash(key, hash);
  tvmffi_i_guard_leave(frame);
  return code;
}

TVMFFI_I_INLINE int tvmffi_i_map_hash_stored(const tvmffi_i_map_object *m,
                                             const TVMFFIAny *key,
                                             uint64_t *hash) {
  TVMFFI_ASSERT(m->size > 0);
  if (key->type_index > kTVMFFIBytes)
    return tvmffi_i_map_hash_object(m, key, hash);
  return tvmffi_i_any_hash(key, hash);
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_hash(const tvmffi_i_map_object *m,
                                             const tvmffi_i_map_key *key,
                                             uint64_t *hash) {
  TVMFFIAny any;
  uint64_t slow;
  TVMFFI_ASSERT(!key->text.data || key->text.size >= 8);
  if (key->index < kTVMFFIRawStr) {
    *hash =
        tvmffi_i_hash_combine((uint64_t)(int64_t)key->index, key->bits.word);
    return 0;
  }
  if (key->text.data) {
    *hash = tvmffi_i_hash_combine(
        (uint64_t)key->index,
        tvmffi_i_stable_hash(key->text.data, key->text.size));
    return 0;
  }
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (key->index == kTVMFFISmallStr) {
    *hash = tvmffi_i_hash_combine(kTVMFFIStr,
                                  tvmffi_i_stable_reduce(key->bits.word));
    return 0;
  }
#endif
  tvmffi_i_store_bits(&any, key->bits);
  TVMFFI_TRY(tvmffi_i_map_hash_object(m, &any, &slow));
  *hash = slow;
  return 0;
}

/* Compares a key, given by its bits, with `held`, a stored key with other bits.
   Returns 1 if equal, 0 if not, or an error code. Like upstream, passes the
   stored key first in a small map, but second in a hash table. */
TVMFFI_I_NOINLINE int tvmffi_i_map_differ_equal(const tvmffi_i_map_object *m,
                                                tvmffi_i_bits bits,
                                                const TVMFFIAny *held,
                                                int held_first) {
  const uintptr_t frame = tvmffi_i_stack_address();
  TVMFFIAny key;
  int code;
  TVMFFI_ASSERT(m->size > 0 && held_first == tvmffi_i_map_is_row(m));
  tvmffi_i_store_bits(&key, bits);
  if (held->type_index <= kTVMFFIBytes ||
      !tvmffi_i_type_attr(&tvmffi_i_equal_column, held->type_index))
    return tvmffi_i_differ_equal(&key, held);
  TVMFFI_TRY(tvmffi_i_map_enter(m, frame));
  code = held_first ? tvmffi_i_map_run_equal(held, &key)
                    : tvmffi_i_map_run_equal(&key, held);
  tvmffi_i_guard_leave(frame);
  return code;
}

/* Returns whether a key's text of 8 bytes or more equals another text. */
TVMFFI_I_INLINE int tvmffi_i_map_same_text(TVMFFIByteArray a,
                                           TVMFFIByteArray b) {
  TVMFFI_ASSERT(a.size >= 8);
  if (a.size != b.size) return 0;
  if (a.size > 64) return memcmp(a.data, b.data, a.size) == 0;
  return tvmffi_i_same_words(a.data, b.data, a.size);
}

TVMFFI_I_ALWAYS_INLINE int tvmffi_i_map_equal(const tvmffi_i_map_object *m,
                                              const tvmffi_i_map_key *key,
                                              const TVMFFIAny *held,
                                              int held_first) {
  uint64_t head;
  /* A stored key is owned, not a view. */
  TVMFFI_ASSERT(held->type_index < kTVMFFIRawStr ||
                held->type_index > kTVMFFIObjectRValueRef);
  TVMFFI_ASSERT(key->text.data ? key->text.size >= 8 : !key->text.size);
  memcpy(&head, (const void *)held, 8);
  if (head == key->bits.head && held->v_uint64 == key->bits.word) return 1;
  if (held->type_index != key->other) return 0;
  if (key->text.data)
    return tvmffi_i_map_same_text(key->text,
                                  ((tvmffi_i_string *)held->v_ptr)->bytes);
  return tvmffi_i_map_differ_equal(m, key->bits, held, held_first);
}
#endif
