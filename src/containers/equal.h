/* ======== Equality ======================================= >>containers/equal
   equality and hash of any two values */
/* Equality and hash of any two values, bit for bit those of upstream's any.h
   (AnyEqual, AnyHash), since C++ clients probe maps with their own. A text in
   the Any equals the same text in an object; other objects are equal when they
   are the same one, unless their type has a value in the columns __any_equal__
   and __any_hash__. Takes no lock. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../core/raise.h"
#include "../core/type_member.h"

#if !TVMFFI_NO_CONTAINERS

/* The hash of upstream's base_detail.h (StableHashBytes): it crosses process
   borders, so it is the same on every machine: words of eight bytes, the lowest
   first, each multiplied in modulo 2^64 and the sum reduced modulo 2^31 - 1.
   That modulus needs no division: its power of two is 1. */
TVMFFI_I_INLINE uint64_t tvmffi_i_stable_reduce(uint64_t x) {
  const uint64_t modulus = 2147483647u;
  x = (x & modulus) + (x >> 31);
  x = (x & modulus) + (x >> 31);
  return x >= modulus ? x - modulus : x;
}

/* The first `size` bytes, 8 at most, as they stand in such a word. */
TVMFFI_I_INLINE uint64_t tvmffi_i_little_word(const char *data, size_t size) {
  uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  if (size == 8) return memcpy(&word, data, 8), word;
  if (size >= 4) {
    uint32_t first, last;
    memcpy(&first, data, 4);
    memcpy(&last, data + size - 4, 4);
    return (uint64_t)first | (uint64_t)last << (8 * (size - 4));
  }
#endif
  while (size--) word = word << 8 | (unsigned char)data[size];
  return word;
}

static uint64_t tvmffi_i_stable_hash(const char *data, size_t size) {
  const uint64_t factor = 1099511628211u;
  uint64_t h = 0;
  for (; size >= 8; size -= 8, data += 8)
    h = tvmffi_i_stable_reduce(h * factor + tvmffi_i_little_word(data, 8));
  if (size)
    h = tvmffi_i_stable_reduce(h * factor + tvmffi_i_little_word(data, size));
  return h;
}

/* A column that is read often; it never goes once it is there. */
typedef struct {
  const char *name;
  const TVMFFITypeAttrColumn *column;
} tvmffi_i_known_column;

/* The value of a type in a column (borrowed), or NULL if it has none. */
static const TVMFFIAny *tvmffi_i_type_attr(tvmffi_i_known_column *known,
                                           int32_t index) {
  const TVMFFITypeAttrColumn *c = TVMFFI_I_LOAD(&known->column);
  const TVMFFIAny *value;
  if (TVMFFI_I_UNLIKELY(!c)) {
    TVMFFIByteArray name = tvmffi_view(known->name);
    c = TVMFFIGetTypeAttrColumn(&name);
    if (!c) return NULL;
    TVMFFI_I_STORE(&known->column, c);
  }
  index -= c->begin_index;
  if (index < 0 || index >= TVMFFI_I_LOAD(&c->size)) return NULL;
  value = &TVMFFI_I_LOAD(&c->data)[index];
  return TVMFFI_I_LOAD(&value->type_index) == kTVMFFINone ? NULL : value;
}

/* Turns what a C function in a column returned into a result that owns it.
   Before version 0.1.15 such a function gave a plain int64_t or bool, and
   modules of that time still do (Apache TVM 0.27): the word it returns is then
   the first of the two that the Any comes in. */
TVMFFI_I_INLINE void tvmffi_i_take_plain(int32_t type_index,
                                         TVMFFIAny *result) {
#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__AARCH64EL__)
  uint64_t word;
  memcpy(&word, (const void *)result, sizeof(word));
  if (word == kTVMFFIError) return;
  if (type_index == kTVMFFIInt && word != kTVMFFIInt)
    *result = tvmffi_int((int64_t)word);
  else if (type_index == kTVMFFIBool && (word & 0xFF) < kTVMFFIBool)
    *result = tvmffi_bool((int)(word & 0xFF));
#else
  (void)type_index, (void)result;
#endif
}

/* Calls the value of an attribute: a function object, or the address of a C
   function that gives its result or an error. As that function may be of the
   time before 0.1.15, no sanitizer checks its type. */
#if defined(__clang__)
__attribute__((__no_sanitize__("function")))
#endif
static int
tvmffi_i_call_attr_value(const TVMFFIAny *callee, const TVMFFIAny *args,
                         int32_t num_args, int32_t type_index,
                         TVMFFIAny *result) {
  typedef TVMFFIAny (*unary)(const TVMFFIAny *);
  typedef TVMFFIAny (*binary)(const TVMFFIAny *, const TVMFFIAny *);
  if (callee->type_index == kTVMFFIFunction && callee->v_obj)
    return TVMFFIFunctionCall(callee->v_obj, (TVMFFIAny *)(uintptr_t)args,
                              num_args, result);
  if (callee->type_index != kTVMFFIOpaquePtr || !callee->v_ptr)
    return tvmffi_i_fail("InternalError",
                         "a type attribute is expected to be a function but "
                         "is %s",
                         tvmffi_i_type_key(callee->type_index));
  *result = num_args == 1
                ? ((unary)(uintptr_t)callee->v_ptr)(&args[0])
                : ((binary)(uintptr_t)callee->v_ptr)(&args[0], &args[1]);
  tvmffi_i_take_plain(type_index, result);
  if (result->type_index != kTVMFFIError || !result->v_obj) return 0;
  TVMFFIErrorSetRaised(result->v_obj);
  tvmffi_any_release(result);
  return -1;
}

/* The same, with the result's type checked, and objects as arguments that are
   kept meanwhile: the callee may change the container that holds them. */
TVMFFI_I_SLOW int tvmffi_i_call_attr(const TVMFFIAny *callee,
                                     const TVMFFIAny *args, int32_t num_args,
                                     int32_t type_index, TVMFFIAny *result) {
  int code;
  int32_t i;
  *result = tvmffi_none();
  for (i = 0; i < num_args; ++i) tvmffi_retain(args[i].v_obj);
  code = tvmffi_i_call_attr_value(callee, args, num_args, type_index, result);
  for (i = 0; i < num_args; ++i) tvmffi_release(args[i].v_obj);
  if (code || result->type_index == type_index) return code;
  code = tvmffi_i_fail(
      "InternalError", "a type attribute is expected to give %s but gave %s",
      tvmffi_i_type_key(type_index), tvmffi_i_type_key(result->type_index));
  tvmffi_any_release(result);
  return code;
}

static tvmffi_i_known_column tvmffi_i_equal_column = {"__any_equal__", NULL};
static tvmffi_i_known_column tvmffi_i_hash_column = {"__any_hash__", NULL};

/* The rest of tvmffi_i_any_equal: values whose bits differ. */
TVMFFI_I_NOINLINE int tvmffi_i_differ_equal(const TVMFFIAny *a,
                                            const TVMFFIAny *b) {
  const TVMFFIAny *custom;
  TVMFFIAny args[2], result;
  int32_t index = a->type_index;
  switch (index) {
    case kTVMFFISmallStr:
      if (b->type_index != kTVMFFIStr) return 0;
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    case kTVMFFISmallBytes:
      if (b->type_index != kTVMFFIBytes) return 0;
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    case kTVMFFIStr:
      if (b->type_index != kTVMFFIStr && b->type_index != kTVMFFISmallStr)
        return 0;
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    case kTVMFFIBytes:
      if (b->type_index != kTVMFFIBytes && b->type_index != kTVMFFISmallBytes)
        return 0;
      return tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
    default: break;
  }
  if (index != b->type_index || index < kTVMFFIStaticObjectBegin) return 0;
  if (index == kTVMFFIBigInt)
    return tvmffi_i_same_text(TVMFFIBigIntGetContentByteArray(a),
                              TVMFFIBigIntGetContentByteArray(b));
  custom = tvmffi_i_type_attr(&tvmffi_i_equal_column, index);
  if (!custom) return 0;
  args[0] = *a;
  args[1] = *b;
  TVMFFI_TRY(tvmffi_i_call_attr(custom, args, 2, kTVMFFIBool, &result));
  return result.v_int64 != 0;
}

/* Tells whether two owned values are equal: 1 or 0, or the negative code of an
   error that the type's own equality raised. Same bits are equal, so a NaN is
   equal to itself and 0.0 is not to -0.0; 1 is not True, and not 1.0. */
TVMFFI_I_INLINE int tvmffi_i_any_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  if (tvmffi_i_same_any(a, b)) return 1;
  /* Most keys are integers or short texts, equal only if the bits are. */
  if (a->type_index == b->type_index &&
      a->type_index < kTVMFFIStaticObjectBegin)
    return 0;
  return tvmffi_i_differ_equal(a, b);
}

/* Puts a value into a hash (StableHashCombine). */
TVMFFI_I_INLINE uint64_t tvmffi_i_hash_combine(uint64_t key, uint64_t value) {
  return key ^ (value + 0x9e3779b9u + (key << 6) + (key >> 2));
}

TVMFFI_I_NOINLINE int tvmffi_i_hash_object(const TVMFFIAny *any,
                                           uint64_t *hash) {
  int32_t index = any->type_index;
  const TVMFFIAny *custom;
  TVMFFIAny result;
  TVMFFIByteArray text;
  uint64_t value = any->v_uint64;
  if (index == kTVMFFIStr || index == kTVMFFIBytes) {
    text = tvmffi_any_str(any);
    value = tvmffi_i_stable_hash(text.data, text.size);
  } else if (index == kTVMFFIBigInt) {
    text = TVMFFIBigIntGetContentByteArray(any);
    value = tvmffi_i_stable_hash(text.data, text.size);
  } else {
    custom = tvmffi_i_type_attr(&tvmffi_i_hash_column, index);
    if (custom) {
      TVMFFIAny copy = *any;
      TVMFFI_TRY(tvmffi_i_call_attr(custom, &copy, 1, kTVMFFIInt, &result));
      value = result.v_uint64;
    }
  }
  *hash = tvmffi_i_hash_combine((uint64_t)(int64_t)index, value);
  return 0;
}

/* Gives the hash of an owned value; fails as the type's own hash does. Where
   bytes stand the other way round, a short text counts by its length alone,
   since StableHashSmallStrBytes of upstream's base_detail.h takes the first
   half of the Any there. */
TVMFFI_I_INLINE int tvmffi_i_any_hash(const TVMFFIAny *any, uint64_t *hash) {
  uint64_t key = (uint64_t)(int64_t)any->type_index, value = any->v_uint64;
  if (any->type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_i_hash_object(any, hash);
  if (any->type_index == kTVMFFISmallStr ||
      any->type_index == kTVMFFISmallBytes) {
    key = any->type_index == kTVMFFISmallStr ? kTVMFFIStr : kTVMFFIBytes;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    value = tvmffi_i_stable_hash((const char *)(const void *)any, 8);
#else
    value = tvmffi_i_stable_reduce(value);
#endif
  }
  *hash = tvmffi_i_hash_combine(key, value);
  return 0;
}
#endif /* !TVMFFI_NO_CONTAINERS */
