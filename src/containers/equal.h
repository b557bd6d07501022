/* ======== Equality ======================================= >>containers/equal
   equality and hash of any two values */
/* Equality and hash of values, exactly as in upstream's any.h (AnyEqual,
   AnyHash). C++ clients compile any.h themselves, and must find the same keys.
   Strings, bytes and big integers are equal if their bytes are equal. Other
   objects are equal only to themselves, unless their type has the attributes
   __any_equal__ and __any_hash__. Lock-free. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"

#if !TVMFFI_NO_CONTAINERS

/* Returns x modulo 2^31 - 1. Since 2^31 equals 1 modulo 2^31 - 1, adding the
   high bits to the low 31 bits replaces a division. */
TVMFFI_I_INLINE uint64_t tvmffi_i_stable_reduce(uint64_t x) {
  const uint64_t modulus = 2147483647u;
  x = (x & modulus) + (x >> 31);
  x = (x & modulus) + (x >> 31);
  TVMFFI_ASSERT(x < 2 * modulus);
  return x >= modulus ? x - modulus : x;
}

/* Returns the first `size` bytes as a little-endian integer. */
TVMFFI_I_INLINE uint64_t tvmffi_i_little_word(const char *data, size_t size) {
  uint64_t word = 0;
  TVMFFI_ASSERT(size <= 8);
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

/* Computes upstream's StableHashBytes (base_detail.h). Processes exchange
   hashes, so a hash must be the same on all machines. */
static uint64_t tvmffi_i_stable_hash(const char *data, size_t size) {
  const uint64_t factor = 1099511628211u;
  uint64_t h = 0;
  TVMFFI_ASSERT(data || !size);
  for (; size >= 8; size -= 8, data += 8)
    h = tvmffi_i_stable_reduce(h * factor + tvmffi_i_little_word(data, 8));
  if (size)
    h = tvmffi_i_stable_reduce(h * factor + tvmffi_i_little_word(data, size));
  return h;
}

/* An attribute column, cached at first use. Columns are never freed. */
typedef struct {
  const char *name;
  const TVMFFITypeAttrColumn *column;
} tvmffi_i_known_column;

#if TVMFFI_NO_REFLECTION
/* Returns the column, or NULL if no type has a value. Does not register the
   static types, which have no attributes. */
static const TVMFFITypeAttrColumn *tvmffi_i_attr_column(const char *name) {
  tvmffi_i_node *node = tvmffi_i_find(&tvmffi_i_columns, name, strlen(name));
  return node ? &((tvmffi_i_column *)(void *)node)->column : NULL;
}
static const TVMFFIAny *tvmffi_i_unread_attr(void) { return NULL; }
TVMFFI_I_UNUSED static int tvmffi_i_is_unread(const TVMFFIAny *attr) {
  return (void)attr, 0;
}
#else
static const TVMFFITypeAttrColumn *tvmffi_i_attr_column(const char *name) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  return TVMFFIGetTypeAttrColumn(&text);
}

#if defined(__cplusplus)
extern "C" {
#endif
static int tvmffi_i_call_unread(void *self, const TVMFFIAny *args,
                                int32_t num_args, TVMFFIAny *result) {
  (void)self, (void)args, (void)num_args, (void)result;
  return tvmffi_i_no_memory();
}
#if defined(__cplusplus)
}
#endif

/* Returns the value of an attribute whose column needs memory that there is
   not: a function object that raises a MemoryError. So no caller mistakes the
   attribute for one that is not set. Removes the error that the search for the
   column has raised, because the next search may succeed. */
TVMFFI_I_COLD const TVMFFIAny *tvmffi_i_unread_attr(void) {
  static tvmffi_i_function_object function;
  static TVMFFIAny value;
  tvmffi_error_clear();
  tvmffi_i_lock();
  if (value.type_index == kTVMFFINone) {
    function.base.combined_ref_count = TVMFFI_I_PINNED | TVMFFI_I_WEAK_ONE;
    function.base.type_index = kTVMFFIFunction;
    function.cell.safe_call = tvmffi_i_call_unread;
    value = tvmffi_obj(&function.base);
  }
  tvmffi_i_unlock();
  return &value;
}

/* Returns 1 if an attribute is the value that tvmffi_i_unread_attr returns. */
TVMFFI_I_UNUSED static int tvmffi_i_is_unread(const TVMFFIAny *attr) {
  return attr->type_index == kTVMFFIFunction &&
         TVMFFI_I_CELL(TVMFFIFunctionCell, attr->v_obj)->safe_call ==
             tvmffi_i_call_unread;
}
#endif

/* Returns the value (borrowed) of a type's attribute, or NULL if the attribute
   is not set. */
static const TVMFFIAny *tvmffi_i_type_attr(tvmffi_i_known_column *known,
                                           int32_t index) {
  const TVMFFITypeAttrColumn *c = TVMFFI_I_LOAD(&known->column);
  const TVMFFIAny *value;
  TVMFFI_ASSERT(!c || c->begin_index >= 0);
  if (TVMFFI_I_UNLIKELY(!c)) {
    c = tvmffi_i_attr_column(known->name);
    if (!c) return tvmffi_i_unread_attr();
    TVMFFI_I_STORE(&known->column, c);
  }
  index -= c->begin_index;
  if ((uint32_t)index >= (uint32_t)TVMFFI_I_LOAD(&c->size)) return NULL;
  value = &TVMFFI_I_LOAD(&c->data)[index];
  return TVMFFI_I_LOAD(&value->type_index) == kTVMFFINone ? NULL : value;
}

/* 1 if a function returns an Any in two registers, and a plain int64_t or bool
   in the first of these. */
#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__AARCH64EL__)
#define TVMFFI_I_PLAIN_RESULTS 1
#else
#define TVMFFI_I_PLAIN_RESULTS 0
#endif

/* Corrects the result of a C attribute function compiled before upstream
   0.1.15. Such a function returns a plain int64_t or bool, which arrives in the
   first 8 bytes of the Any. A plain hash of 67 or 1 looks like the type index
   of an error or an int. The other 8 bytes are then what the register held,
   which is 0 at the call: so 67 is an error only with the address of an object,
   and 1 is read as the int 0. */
TVMFFI_I_INLINE void tvmffi_i_take_plain(int32_t type_index,
                                         TVMFFIAny *result) {
#if TVMFFI_I_PLAIN_RESULTS
  uint64_t word;
  TVMFFI_ASSERT(type_index == kTVMFFIInt || type_index == kTVMFFIBool);
  memcpy(&word, (const void *)result, sizeof(word));
  if (word == kTVMFFIError && result->v_uint64 >= 4096 &&
      result->v_uint64 >> 56 == 0 && result->v_uint64 % sizeof(void *) == 0)
    return;
  if (type_index == kTVMFFIInt && word != kTVMFFIInt)
    *result = tvmffi_int((int64_t)word);
  else if (type_index == kTVMFFIBool && (word & 0xFF) < kTVMFFIBool)
    *result = tvmffi_bool((int)(word & 0xFF));
#else
  (void)type_index, (void)result;
#endif
}

/* Calls an attribute's value, which is a function object or the address of a C
   function. Clang's function type check is off, because a C function compiled
   before upstream 0.1.15 has another return type. */
#if defined(__clang__)
__attribute__((__no_sanitize__("function")))
#endif
static int
tvmffi_i_call_attr_value(const TVMFFIAny *callee, const TVMFFIAny *args,
                         int32_t num_args, int32_t type_index,
                         TVMFFIAny *result) {
#if TVMFFI_I_PLAIN_RESULTS
  /* The last two arguments clear the register of the result's second half. */
  typedef TVMFFIAny (*unary)(const TVMFFIAny *, void *, void *);
#define TVMFFI_I_CLEARED , NULL, NULL
#else
  typedef TVMFFIAny (*unary)(const TVMFFIAny *);
#define TVMFFI_I_CLEARED
#endif
  typedef TVMFFIAny (*binary)(const TVMFFIAny *, const TVMFFIAny *);
  TVMFFI_ASSERT(num_args == 1 || num_args == 2);
  if (callee->type_index == kTVMFFIFunction)
    return tvmffi_i_call_nested(callee->v_obj, args, num_args, result);
  if (callee->type_index != kTVMFFIOpaquePtr || !callee->v_ptr)
    return tvmffi_i_internal_error(
        "a type attribute is expected to be a function but is %s",
        tvmffi_i_type_key(callee->type_index));
  TVMFFI_TRY(tvmffi_i_nest());
  *result = num_args == 1
                ? ((unary)(uintptr_t)callee->v_ptr)(&args[0] TVMFFI_I_CLEARED)
                : ((binary)(uintptr_t)callee->v_ptr)(&args[0], &args[1]);
  tvmffi_i_unnest();
  tvmffi_i_take_plain(type_index, result);
  if (result->type_index != kTVMFFIError || !result->v_obj) return 0;
  TVMFFIErrorSetRaised(result->v_obj);
  tvmffi_i_any_release(result);
  return -1;
}

/* Calls an attribute's value and checks the result's type. Retains the
   arguments (objects) during the call, because the function may change a
   container that owns them. */
TVMFFI_I_SLOW int tvmffi_i_call_attr(const TVMFFIAny *callee,
                                     const TVMFFIAny *args, int32_t num_args,
                                     int32_t type_index, TVMFFIAny *result) {
  int code;
  int32_t i;
  *result = tvmffi_none();
  for (i = 0; i < num_args; ++i) {
    TVMFFI_ASSERT(args[i].type_index >= kTVMFFIStaticObjectBegin);
    tvmffi_i_retain(args[i].v_obj);
  }
  code = tvmffi_i_call_attr_value(callee, args, num_args, type_index, result);
  for (i = 0; i < num_args; ++i) tvmffi_i_release(args[i].v_obj);
  if (code || result->type_index == type_index) return code;
  code = tvmffi_i_internal_error(
      "a type attribute is expected to give %s but gave %s",
      tvmffi_i_type_key(type_index), tvmffi_i_type_key(result->type_index));
  tvmffi_i_any_release(result);
  return code;
}

static tvmffi_i_known_column tvmffi_i_equal_column = {"__any_equal__", NULL};
static tvmffi_i_known_column tvmffi_i_hash_column = {"__any_hash__", NULL};

/* Returns kTVMFFIStr for any string, kTVMFFIBytes for any bytes, else 0. */
TVMFFI_I_INLINE int32_t tvmffi_i_text_type(int32_t index) {
  if (index == kTVMFFISmallStr || index == kTVMFFIStr) return kTVMFFIStr;
  if (index == kTVMFFISmallBytes || index == kTVMFFIBytes) return kTVMFFIBytes;
  return 0;
}

/* Returns the bytes of a string, bytes or ffi.BigInt, borrowed from `any`. */
TVMFFI_I_INLINE TVMFFIByteArray tvmffi_i_content_of(const TVMFFIAny *any) {
  return any->type_index == kTVMFFIBigInt ? TVMFFIBigIntGetContentByteArray(any)
                                          : tvmffi_any_str(any);
}

/* Compares two values whose Anys differ bitwise. Returns 1 if the values are
   equal, 0 if not, or an error code. */
TVMFFI_I_NOINLINE int tvmffi_i_differ_equal(const TVMFFIAny *a,
                                            const TVMFFIAny *b) {
  const TVMFFIAny *custom;
  TVMFFIAny args[2], result;
  int32_t index = a->type_index;
  TVMFFI_ASSERT(!tvmffi_i_same_any(a, b));
  if (tvmffi_i_text_type(index)) /* small strings: only by bits */
    return (index >= kTVMFFIStaticObjectBegin ||
            b->type_index >= kTVMFFIStaticObjectBegin) &&
           tvmffi_i_text_type(index) == tvmffi_i_text_type(b->type_index) &&
           tvmffi_i_same_text(tvmffi_any_str(a), tvmffi_any_str(b));
  if (index != b->type_index) return 0;
  TVMFFI_ASSERT(index >= kTVMFFIStaticObjectBegin);
  if (index == kTVMFFIBigInt)
    return tvmffi_i_same_text(TVMFFIBigIntGetContentByteArray(a),
                              TVMFFIBigIntGetContentByteArray(b));
  custom = tvmffi_i_type_attr(&tvmffi_i_equal_column, index);
  if (!custom) return 0;
  TVMFFI_ASSERT(a->v_obj && b->v_obj);
  args[0] = *a;
  args[1] = *b;
  TVMFFI_TRY(tvmffi_i_call_attr(custom, args, 2, kTVMFFIBool, &result));
  return result.v_int64 != 0;
}

/* Compares two owned values. Returns 1 if the values are equal, 0 if not, or an
   error code. Values with equal bits are equal, so a NaN equals itself. 0.0 and
   -0.0 differ, and so do 1, 1.0 and True. */
TVMFFI_I_INLINE int tvmffi_i_any_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  if (tvmffi_i_same_any(a, b)) return 1;
  /* Integers and small strings are equal only if they are bitwise equal. */
  if (a->type_index == b->type_index &&
      a->type_index < kTVMFFIStaticObjectBegin)
    return 0;
  return tvmffi_i_differ_equal(a, b);
}

/* Mixes a value into a hash, as upstream's StableHashCombine does. */
TVMFFI_I_SMALL_NOINLINE uint64_t tvmffi_i_hash_combine(uint64_t key,
                                                       uint64_t value) {
  return key ^ (value + 0x9e3779b9u + (key << 6) + (key >> 2));
}

TVMFFI_I_NOINLINE int tvmffi_i_hash_object(const TVMFFIAny *any,
                                           uint64_t *hash) {
  int32_t index = any->type_index;
  const TVMFFIAny *custom;
  TVMFFIAny result;
  TVMFFIByteArray text;
  uint64_t value = any->v_uint64;
  TVMFFI_ASSERT(index >= kTVMFFIStaticObjectBegin && any->v_obj);
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

/* Computes the hash of an owned value. Fails if the hash function of the
   value's type fails. */
TVMFFI_I_INLINE int tvmffi_i_any_hash(const TVMFFIAny *any, uint64_t *hash) {
  uint64_t key = (uint64_t)(int64_t)any->type_index, value = any->v_uint64;
  TVMFFI_ASSERT(any->type_index != kTVMFFIRawStr);
  if (any->type_index >= kTVMFFIStaticObjectBegin)
    return tvmffi_i_hash_object(any, hash);
  if (any->type_index == kTVMFFISmallStr ||
      any->type_index == kTVMFFISmallBytes) {
    key = any->type_index == kTVMFFISmallStr ? kTVMFFIStr : kTVMFFIBytes;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    /* As in upstream's StableHashSmallStrBytes (base_detail.h), the hash covers
       the first 8 bytes of the Any: the length, but not the characters. */
    value = tvmffi_i_stable_hash((const char *)(const void *)any, 8);
#else
    value = tvmffi_i_stable_reduce(value);
#endif
  }
  *hash = tvmffi_i_hash_combine(key, value);
  return 0;
}
#endif /* !TVMFFI_NO_CONTAINERS */
