/* ======== Containers ================================== >>interface/container
   arrays, lists, maps, dicts from C */
/* C interface: containers of plain C values, read and changed without casts.
   An array and a shape never change, nor does a map; a list and a dict do. To
   make and to change them the runtime's own functions are called, which a file
   looks up once and keeps; iteration, size and access by index read the ABI's
   layout in place. A container argument may be a TVMFFIObject * or any value
   that holds one; in C99 write tvmffi_obj(list), and constructors for all other
   values: tvmffi_map(tvmffi_str("a"), tvmffi_int(1)). As everywhere: reading
   may go on in several threads, who changes a container must be alone.
   Errors: TypeError for a value that is no such container; if it is NULL or
   None and the thread has an error, that one stays, as it may be why. */

#pragma once

#include "../head/compiler.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "scope.h"
#include "word.h"
#include "map_layout.h"
#include "global_cache.h"
#include "mismatch.h"
#include "function.h"
#include "call.h"

/* -------- Making -------- */

/* Makes a container of `n` views; NULL with the error raised. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_make(int which, const TVMFFIAny *items,
                                            int64_t n) {
  TVMFFIAny result = tvmffi_none();
  if (n < 0 || n > INT32_MAX || (n && !items)) {
    (void)TVMFFI_RAISE("ValueError", "%s cannot be made of %lld items at %p",
                       tvmffi_i_known_name(which), (long long)n,
                       (const void *)items);
    return NULL;
  }
  if ((which == TVMFFI_I_NEW_MAP || which == TVMFFI_I_NEW_DICT) && n % 2) {
    (void)TVMFFI_RAISE("ValueError",
                       "%s needs a value for each key, but got %lld in all",
                       tvmffi_i_known_name(which), (long long)n);
    return NULL;
  }
  if (tvmffi_i_check_args(items, (int32_t)n) ||
      tvmffi_i_ask(which, (TVMFFIAny *)(uintptr_t)items, (int32_t)n, &result) ||
      tvmffi_i_keep_any(&result))
    return NULL;
  return result.v_obj;
}

/* Makes a container of up to 16 plain values; of a map or a dict they are key,
   value, key, value and so on:
       tvmffi_list(1, 2.5, "three")      tvmffi_map("a", 1, "b", 2)
   Owned by the caller or by the innermost scope; NULL with the error raised. A
   key that comes twice has its last value. The items of a shape are ints.
   From any number of views: tvmffi_list_from(items, n), and so on. */
#define tvmffi_array_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_ARRAY, items, n))
#define tvmffi_list_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_LIST, items, n))
#define tvmffi_map_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_MAP, items, n))
#define tvmffi_dict_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_DICT, items, n))
#define tvmffi_shape_from(items, n) \
  (TVMFFI_I_HERE tvmffi_i_make(TVMFFI_I_NEW_SHAPE, items, n))

#if defined(__cplusplus)
extern "C++" {
#define TVMFFI_I_MAKER(name, which)                               \
  template <typename... Args>                                     \
  static inline TVMFFIObject *name(Args... args) {                \
    TVMFFIAny items[] = {TVMFFI_ANY(args)..., tvmffi_none()};     \
    return tvmffi_i_make(which, items, (int64_t)sizeof...(Args)); \
  }
TVMFFI_I_MAKER(tvmffi_array, TVMFFI_I_NEW_ARRAY)
TVMFFI_I_MAKER(tvmffi_list, TVMFFI_I_NEW_LIST)
TVMFFI_I_MAKER(tvmffi_map, TVMFFI_I_NEW_MAP)
TVMFFI_I_MAKER(tvmffi_dict, TVMFFI_I_NEW_DICT)
TVMFFI_I_MAKER(tvmffi_shape, TVMFFI_I_NEW_SHAPE)
} /* extern "C++" */
#define TVMFFI_I_OUT(x) tvmffi_i_out(x)
#else
#define tvmffi_array(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_ARRAY, __VA_ARGS__)
#define tvmffi_list(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_LIST, __VA_ARGS__)
#define tvmffi_map(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_MAP, __VA_ARGS__)
#define tvmffi_dict(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_DICT, __VA_ARGS__)
#define tvmffi_shape(...) TVMFFI_I_MAKE(TVMFFI_I_NEW_SHAPE, __VA_ARGS__)
#define TVMFFI_I_MAKE(which, ...)                                     \
  TVMFFI_I_CAT(TVMFFI_I_MAKE_, TVMFFI_I_IS_EMPTY(__VA_ARGS__))(which, \
                                                               __VA_ARGS__)
#define TVMFFI_I_MAKE_1(which, ...) \
  (TVMFFI_I_HERE tvmffi_i_make(which, NULL, 0))
#define TVMFFI_I_MAKE_0(which, ...) \
  TVMFFI_I_MAKE_N(which, TVMFFI_I_COUNT(~, __VA_ARGS__), ~, __VA_ARGS__)
#define TVMFFI_I_MAKE_N(which, n, ...) TVMFFI_I_MAKE_N_(which, n, __VA_ARGS__)
#define TVMFFI_I_MAKE_N_(which, n, ...)                                     \
  (TVMFFI_I_HERE tvmffi_i_make(which,                                       \
                               (const TVMFFIAny[(n) - 1]){TVMFFI_I_REST(n)( \
                                   TVMFFI_I_ITEM, __VA_ARGS__)},            \
                               (n) - 1))
#endif

/* -------- Reading -------- */

TVMFFI_I_INLINE int tvmffi_i_is_map(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFIMap || any->type_index == kTVMFFIDict) &&
         any->v_obj;
}

/* Arrays, lists and shapes. */
TVMFFI_I_INLINE int tvmffi_i_is_sequence(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFIArray || any->type_index == kTVMFFIList ||
          any->type_index == kTVMFFIShape) &&
         any->v_obj;
}

TVMFFI_I_COLD int tvmffi_i_bad_container(const char *function, const char *want,
                                         const TVMFFIAny *got) {
  if (got->type_index == kTVMFFINone && tvmffi_i_pending()) return -1;
  return TVMFFI_RAISE("TypeError", "%s: expected %s, but got `%s`", function,
                      want, tvmffi_i_type_key(got->type_index));
}

/* The number of items of a sequence. */
TVMFFI_I_INLINE int64_t tvmffi_i_length(const TVMFFIAny *any) {
  return any->type_index == kTVMFFIShape
             ? (int64_t)TVMFFIShapeGetCellPtr(any->v_obj)->size
             : TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj)->size;
}

/* An item that exists, borrowed. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_item(const TVMFFIAny *any, int64_t i) {
  return any->type_index == kTVMFFIShape
             ? tvmffi_int(TVMFFIShapeGetCellPtr(any->v_obj)->data[i])
             : ((const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj)
                    ->data)[i];
}

/* Gives the number of items or entries of a container; -1 with a TypeError. */
#define tvmffi_size(container) tvmffi_i_size(TVMFFI_ANY(container))

TVMFFI_I_INLINE int64_t tvmffi_i_size(TVMFFIAny any) {
  if (tvmffi_i_is_sequence(&any)) return tvmffi_i_length(&any);
  if (tvmffi_i_is_map(&any)) return tvmffi_i_map_size(any.v_obj);
  return tvmffi_i_bad_container("tvmffi_size", "a container", &any);
}

/* Gets an index out of `key`: 0, 1 if the container does not have it, -1 with a
   TypeError. */
TVMFFI_I_INLINE int tvmffi_i_index(const TVMFFIAny *any, const TVMFFIAny *key,
                                   int64_t *i) {
  if (!TVMFFI_I_IS_INT(key)) {
    TVMFFI_TRY(tvmffi_i_check_value(*key));
    return TVMFFI_RAISE(
        "TypeError", "expected an index into `%s`, but got `%s`",
        tvmffi_i_type_key(any->type_index), tvmffi_i_type_key(key->type_index));
  }
  *i = key->v_int64;
  return (uint64_t)*i >= (uint64_t)tvmffi_i_length(any);
}

/* Raises for an index or a key that is not there, as upstream's functions do,
   and says the key if it is a text or a number. */
TVMFFI_I_COLD int tvmffi_i_not_there(const TVMFFIAny *any,
                                     const TVMFFIAny *key) {
  TVMFFIByteArray text;
  if (tvmffi_i_is_sequence(any))
    return TVMFFI_RAISE("IndexError", "Index %lld out of bounds %lld",
                        (long long)key->v_int64,
                        (long long)tvmffi_i_length(any));
  if (!tvmffi_i_get_str(key, &text))
    return TVMFFI_RAISE("KeyError", "key is not in Map: %s", text.data);
  if (TVMFFI_I_IS_INT(key))
    return TVMFFI_RAISE("KeyError", "key is not in Map: %lld",
                        (long long)key->v_int64);
  return TVMFFI_RAISE("KeyError", "key is not in Map");
}

/* Gets a copy, owned: 0, 1 if there is none, or -1 with the error raised. */
TVMFFI_I_INLINE int tvmffi_i_find_value(const TVMFFIAny *any,
                                        const TVMFFIAny *key,
                                        TVMFFIAny *value) {
  TVMFFIAny args[2], missing = tvmffi_none();
  int64_t i = 0;
  int code, is_dict = any->type_index == kTVMFFIDict;
  if (tvmffi_i_is_sequence(any)) {
    code = tvmffi_i_index(any, key, &i);
    if (code) return code;
    *value = tvmffi_i_item(any, i);
    if (value->type_index >= kTVMFFIStaticObjectBegin)
      tvmffi_retain(value->v_obj);
    return 0;
  }
  if (!tvmffi_i_is_map(any))
    return tvmffi_i_bad_container("tvmffi_get", "a container", any);
  TVMFFI_TRY(tvmffi_i_check_value(*key));
  args[0] = *any;
  args[1] = *key;
  TVMFFI_TRY(tvmffi_i_ask(is_dict ? TVMFFI_I_DICT_GET : TVMFFI_I_MAP_GET, args,
                          2, value));
  if (value->type_index != kTVMFFIObject) return 0;
  code = tvmffi_i_ask(TVMFFI_I_MISSING, NULL, 0, &missing);
  i = value->v_obj == missing.v_obj;
  tvmffi_any_release(&missing);
  if (code || i) tvmffi_any_release(value);
  return code ? code : (int)i;
}

/* Gets the value of a key, or of an index into an array, a list or a shape,
   converted to what the pointer `out` says, as tvmffi_call does:
       tvmffi_get(map, "key", &number)        KeyError, or IndexError, if absent
       tvmffi_get(map, "key", &number, 7)     then 7
   Returns 0, or -1 with the error raised: so a TypeError for a value of another
   type, also where there is a default. An object or Any is owned by the caller
   or by the innermost scope. */
#define tvmffi_get(container, key, ...)          \
  (TVMFFI_I_HERE tvmffi_i_get_or(                \
      TVMFFI_ANY(container), TVMFFI_ANY(key),    \
      TVMFFI_I_OUT(TVMFFI_I_FIRST(__VA_ARGS__)), \
      TVMFFI_I_DEFAULT(TVMFFI_I_COUNT(__VA_ARGS__), __VA_ARGS__)))
#define TVMFFI_I_DEFAULT(n, ...) TVMFFI_I_DEFAULT_(n, __VA_ARGS__)
#define TVMFFI_I_DEFAULT_(n, ...) TVMFFI_I_DEFAULT_##n(__VA_ARGS__)
#define TVMFFI_I_DEFAULT_1(out) 0, tvmffi_none()
#define TVMFFI_I_DEFAULT_2(out, x) 1, TVMFFI_ANY(x)

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_get_or(TVMFFIAny any,
                                                        TVMFFIAny key,
                                                        tvmffi_out out,
                                                        int has_default,
                                                        TVMFFIAny otherwise) {
  TVMFFIAny value = tvmffi_none();
  int code = tvmffi_i_find_value(&any, &key, &value);
  if (code == 1)
    code = has_default ? tvmffi_i_own_value(&otherwise, &value)
                       : tvmffi_i_not_there(&any, &key);
  return code ? code : tvmffi_i_deliver(out, &value);
}

/* Gives an item of an array, a list or a shape, borrowed: valid as long as it
   stays in there. Returns 0, or -1 with an IndexError or a TypeError, and then
   *item is None. */
#define tvmffi_at(container, i, item) \
  tvmffi_i_item_at(TVMFFI_ANY(container), i, item)

TVMFFI_I_INLINE int tvmffi_i_item_at(TVMFFIAny any, int64_t i,
                                     TVMFFIAny *item) {
  TVMFFIAny key = tvmffi_int(i);
  *item = tvmffi_none();
  if (!tvmffi_i_is_sequence(&any))
    return tvmffi_i_bad_container("tvmffi_at", "an array, list or shape", &any);
  if ((uint64_t)i >= (uint64_t)tvmffi_i_length(&any))
    return tvmffi_i_not_there(&any, &key);
  *item = tvmffi_i_item(&any, i);
  return 0;
}

/* Tells whether a map or dict has the key, or an array or list an equal item:
   1 or 0, or -1 with the error raised. */
#define tvmffi_contains(container, value) \
  tvmffi_i_has(TVMFFI_ANY(container), TVMFFI_ANY(value))

TVMFFI_I_INLINE int tvmffi_i_has(TVMFFIAny any, TVMFFIAny value) {
  TVMFFIAny args[2], result = tvmffi_none();
  int which;
  switch (any.v_obj ? any.type_index : kTVMFFINone) {
    case kTVMFFIArray: which = TVMFFI_I_ARRAY_CONTAINS; break;
    case kTVMFFIList: which = TVMFFI_I_LIST_CONTAINS; break;
    case kTVMFFIMap: which = TVMFFI_I_MAP_COUNT; break;
    case kTVMFFIDict: which = TVMFFI_I_DICT_COUNT; break;
    default:
      return tvmffi_i_bad_container("tvmffi_contains",
                                    "an array, list, map or dict", &any);
  }
  TVMFFI_TRY(tvmffi_i_check_value(value));
  args[0] = any;
  args[1] = value;
  TVMFFI_TRY(tvmffi_i_ask(which, args, 2, &result));
  return result.v_int64 != 0;
}

/* -------- Changing -------- */

/* Appends a value to a list. All of these return 0, or -1 with the error
   raised; the list or dict holds what it is given, and strings are copied. */
#define tvmffi_append(list, value) \
  tvmffi_i_append_item(TVMFFI_ANY(list), TVMFFI_ANY(value))

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_append_item(TVMFFIAny list,
                                                             TVMFFIAny value) {
  if (list.type_index != kTVMFFIList)
    return tvmffi_i_bad_container("tvmffi_append", "a list", &list);
  TVMFFI_TRY(tvmffi_i_check_value(value));
  return tvmffi_i_tell(TVMFFI_I_LIST_APPEND, list, value, tvmffi_none(), 2);
}

/* Sets an item of a list that exists (else an IndexError), or the value of a
   key of a dict, which gets it if it did not have it. */
#define tvmffi_set(container, key, value) \
  tvmffi_i_set(TVMFFI_ANY(container), TVMFFI_ANY(key), TVMFFI_ANY(value))

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_set(TVMFFIAny any,
                                                     TVMFFIAny key,
                                                     TVMFFIAny value) {
  TVMFFI_TRY(tvmffi_i_check_value(key));
  TVMFFI_TRY(tvmffi_i_check_value(value));
  if (any.type_index == kTVMFFIList)
    return tvmffi_i_tell(TVMFFI_I_LIST_SET, any, key, value, 3);
  if (any.type_index == kTVMFFIDict)
    return tvmffi_i_tell(TVMFFI_I_DICT_SET, any, key, value, 3);
  return tvmffi_i_bad_container("tvmffi_set", "a list or dict", &any);
}

/* Erases an item of a list or an entry of a dict, which must be there: else an
   IndexError or a KeyError. tvmffi_pop gives it, too, as tvmffi_get does; it
   stays if its type is not that of `out`. */
#define tvmffi_erase(container, key) \
  tvmffi_i_erase_item(TVMFFI_ANY(container), TVMFFI_ANY(key))
#define tvmffi_pop(container, key, out)                                    \
  (TVMFFI_I_HERE tvmffi_i_pop_item(TVMFFI_ANY(container), TVMFFI_ANY(key), \
                                   TVMFFI_I_OUT(out)))

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_erase_item(TVMFFIAny any,
                                                            TVMFFIAny key) {
  int has;
  TVMFFI_TRY(tvmffi_i_check_value(key));
  if (any.type_index == kTVMFFIList)
    return tvmffi_i_tell(TVMFFI_I_LIST_ERASE, any, key, tvmffi_none(), 2);
  if (any.type_index != kTVMFFIDict)
    return tvmffi_i_bad_container("tvmffi_erase", "a list or dict", &any);
  has = tvmffi_i_has(any, key);
  if (has != 1) return has ? has : tvmffi_i_not_there(&any, &key);
  return tvmffi_i_tell(TVMFFI_I_DICT_ERASE, any, key, tvmffi_none(), 2);
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_pop_item(TVMFFIAny any,
                                                          TVMFFIAny key,
                                                          tvmffi_out out) {
  if (any.type_index != kTVMFFIList && any.type_index != kTVMFFIDict)
    return tvmffi_i_bad_container("tvmffi_pop", "a list or dict", &any);
  TVMFFI_TRY(tvmffi_i_get_or(any, key, out, 0, tvmffi_none()));
  return tvmffi_i_erase_item(any, key);
}

/* -------- Iteration -------- */

/* Goes through an array, a list or a shape:
       TVMFFI_FOREACH (TVMFFIAny, item, list) { ... }
   and through a map or a dict in order of insertion:
       TVMFFI_FOREACH_ITEM (key, value, map) { ... }
   Items, keys and values are TVMFFIAny, borrowed from the container, which the
   caller keeps alive. Nothing is allocated or held: break, continue and return
   leave nothing behind. The container may change meanwhile: the n-th step gives
   what is the n-th item then, so who erases the present one misses the next;
   what has been erased must not be used any more. Anything else than such a
   container, NULL say, has no items. */
#define TVMFFI_FOREACH(type, name, container)                              \
  for (type name = tvmffi_none(),                                          \
            TVMFFI_I_CAT(tvmffi_at_, __LINE__)[2] =                        \
                {tvmffi_i_sequence(TVMFFI_ANY(container)), tvmffi_int(0)}; \
       tvmffi_i_next(TVMFFI_I_CAT(tvmffi_at_, __LINE__), &name);)
#define TVMFFI_FOREACH_ITEM(key, value, container)                          \
  for (TVMFFIAny key = tvmffi_none(), value = tvmffi_none(),                \
                 TVMFFI_I_CAT(tvmffi_at_,                                   \
                              __LINE__)[6] = {TVMFFI_ANY(container),        \
                                              tvmffi_int(0), tvmffi_int(0), \
                                              tvmffi_int(0), tvmffi_int(0), \
                                              tvmffi_int(0)};               \
       tvmffi_i_foreach_next(TVMFFI_I_CAT(tvmffi_at_, __LINE__), &key,      \
                             &value);)

/* What is no sequence becomes none, once for all steps. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_sequence(TVMFFIAny any) {
  return tvmffi_i_is_sequence(&any) ? any : tvmffi_none();
}

/* at: a sequence or none, the index of the next item. */
TVMFFI_I_INLINE int tvmffi_i_next(TVMFFIAny *at, TVMFFIAny *item) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *items;
  int64_t i = at[1].v_int64++;
  if (!at->v_obj) return 0;
  if (TVMFFI_I_UNLIKELY(at->type_index == kTVMFFIShape)) {
    if (i >= tvmffi_i_length(at)) return 0;
    *item = tvmffi_i_item(at, i);
    return 1;
  }
  cell = TVMFFI_I_CELL(TVMFFISeqCell, at->v_obj);
  items = (const TVMFFIAny *)cell->data;
  if (i >= cell->size) return 0;
  *item = items[i];
  return 1;
}

/* at: the container, the index of the next entry, the slot of the present one,
   and of what table that is: its memory, its size, its newest entry. In another
   table the entry is counted off from the oldest. */
TVMFFI_I_INLINE int tvmffi_i_foreach_next(TVMFFIAny *at, TVMFFIAny *key,
                                          TVMFFIAny *value) {
  const tvmffi_i_map_object *m = (tvmffi_i_map_object *)(void *)at->v_obj;
  const tvmffi_i_pair *pair = NULL;
  uint64_t n = at[1].v_uint64, slot = at[2].v_uint64, i;
  if (!tvmffi_i_is_map(at) || n >= m->size) return 0;
  if (tvmffi_i_map_is_row(m)) {
    pair = tvmffi_i_map_pair(&m->base, n);
  } else {
    if (n && at[3].v_ptr == m->data && at[4].v_uint64 == m->size &&
        at[5].v_uint64 == m->tail) {
      slot = tvmffi_i_map_after(&m->base, slot);
      pair = tvmffi_i_map_pair(&m->base, slot);
    }
    if (TVMFFI_I_UNLIKELY(!pair)) {
      slot = m->head;
      for (i = 0; i < n; ++i) slot = tvmffi_i_map_after(&m->base, slot);
      pair = tvmffi_i_map_pair(&m->base, slot);
    }
    at[2].v_uint64 = slot;
    at[3].v_ptr = m->data;
    at[4].v_uint64 = m->size;
    at[5].v_uint64 = m->tail;
  }
  at[1].v_uint64 = n + 1;
  if (!pair) return 0;
  *key = pair->key;
  *value = pair->value;
  return 1;
}
