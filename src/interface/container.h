/* ======== Containers ================================== >>interface/container
   arrays, lists, maps, dicts from C */
/* C interface: containers of plain C values, read and changed without casts.
   Arrays, shapes and maps are immutable; lists and dicts are mutable. Creation
   and changes call the runtime's global functions, which each file looks up
   once. Iteration, size and access by index read the ABI's memory layout
   directly.

   A container argument is a TVMFFIObject * or any value that refers to a
   container. In C99 write tvmffi_obj(list), and constructors for other values:
   tvmffi_map(tvmffi_str("a"), tvmffi_int(1)). Several threads may read a
   container concurrently; a writer must be alone. An argument of another type
   is a TypeError. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"
#include "scope.h"
#include "argument.h"
#include "global_cache.h"
#include "call.h"

/* -------- Making -------- */

/* Refuses items of which no container can be made. */
TVMFFI_I_COLD int tvmffi_i_bad_items(int which, const TVMFFIAny *items,
                                     int64_t n) {
  return n > 0 && n <= INT32_MAX && items
             ? tvmffi_i_raise(
                   "ValueError",
                   "%s needs a value for each key, but got %lld in all",
                   tvmffi_i_global_name(which), (long long)n)
             : tvmffi_i_raise("ValueError",
                              "%s cannot be made of %lld items at %p",
                              tvmffi_i_global_name(which), (long long)n,
                              (const void *)items);
}

/* Returns a new container, or NULL with an error. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_make(tvmffi_i_owner to, int which,
                                            const TVMFFIAny *items, int64_t n) {
  const int is_odd =
      (which == TVMFFI_I_NEW_MAP || which == TVMFFI_I_NEW_DICT) && n % 2;
  TVMFFIAny result = tvmffi_none();
  int code = tvmffi_i_is_marked(to);
  if (!code && (n < 0 || n > INT32_MAX || (n && !items) || is_odd))
    code = tvmffi_i_bad_items(which, items, n);
  if (!code) code = tvmffi_i_global_values(which, items, (int32_t)n, &result);
  return tvmffi_i_scope_attach(to, result.v_obj);
}

/* Makes a container from `n` views (borrowed). For a map or dict, keys and
   values alternate. The container is owned by the scope. Returns NULL with an
   error on failure. */
#define tvmffi_array_from(items, n) \
  tvmffi_i_make(TVMFFI_I_OWNER, TVMFFI_I_NEW_ARRAY, items, n)
#define tvmffi_list_from(items, n) \
  tvmffi_i_make(TVMFFI_I_OWNER, TVMFFI_I_NEW_LIST, items, n)
#define tvmffi_map_from(items, n) \
  tvmffi_i_make(TVMFFI_I_OWNER, TVMFFI_I_NEW_MAP, items, n)
#define tvmffi_dict_from(items, n) \
  tvmffi_i_make(TVMFFI_I_OWNER, TVMFFI_I_NEW_DICT, items, n)
#define tvmffi_shape_from(items, n) \
  tvmffi_i_make(TVMFFI_I_OWNER, TVMFFI_I_NEW_SHAPE, items, n)

#if defined(__cplusplus)
extern "C++" {
template <typename... tvmffi_rest>
static inline TVMFFIObject *tvmffi_i_make_plain(tvmffi_i_owner to, int which,
                                                tvmffi_rest... args) {
  TVMFFI_I_AT_MOST_32(tvmffi_rest);
  TVMFFIAny items[] = {TVMFFI_ANY(args)..., tvmffi_none()};
  return tvmffi_i_make(to, which, items, (int64_t)sizeof...(tvmffi_rest));
}
} /* extern "C++" */
#define TVMFFI_I_PLAIN_ITEMS_1(...)
#define TVMFFI_I_PLAIN_ITEMS_0(...) , __VA_ARGS__
#else
#define tvmffi_i_make_plain tvmffi_i_make
#define TVMFFI_I_PLAIN_ITEMS_1(...) , NULL, 0
#define TVMFFI_I_PLAIN_ITEMS_0(...) \
  TVMFFI_I_PLAIN_ITEMS_N(TVMFFI_I_COUNT(__VA_ARGS__, ~), __VA_ARGS__, ~)
#define TVMFFI_I_PLAIN_ITEMS_N(n, ...)                                         \
  , (const TVMFFIAny[(n)-1]){TVMFFI_I_EACH(n)(TVMFFI_I_ITEM, ~, __VA_ARGS__)}, \
      (n)-1
#endif
/* Expands to the items as arguments, each behind a comma. It does not contain
   the owner: so the compiler's error is short if there is no scope. */
#define TVMFFI_I_PLAIN_ITEMS(...)                                     \
  TVMFFI_I_CAT(TVMFFI_I_PLAIN_ITEMS_, TVMFFI_I_IS_EMPTY(__VA_ARGS__)) \
  (__VA_ARGS__)

/* Makes a container from up to 32 plain values. For a map or dict, keys and
   values alternate:
       tvmffi_list(1, 2.5, "three")      tvmffi_map("a", 1, "b", 2)
   The container is owned by the scope. Returns NULL with an error on
   failure, and marks the scope. If a key occurs twice, the last value is
   kept. A shape takes only ints. For any number of views, use
   tvmffi_list_from(items, n) and so on. */
#define tvmffi_array(...)             \
  tvmffi_i_make_plain(TVMFFI_I_OWNER, \
                      TVMFFI_I_NEW_ARRAY TVMFFI_I_PLAIN_ITEMS(__VA_ARGS__))
#define tvmffi_list(...)              \
  tvmffi_i_make_plain(TVMFFI_I_OWNER, \
                      TVMFFI_I_NEW_LIST TVMFFI_I_PLAIN_ITEMS(__VA_ARGS__))
#define tvmffi_map(...)               \
  tvmffi_i_make_plain(TVMFFI_I_OWNER, \
                      TVMFFI_I_NEW_MAP TVMFFI_I_PLAIN_ITEMS(__VA_ARGS__))
#define tvmffi_dict(...)              \
  tvmffi_i_make_plain(TVMFFI_I_OWNER, \
                      TVMFFI_I_NEW_DICT TVMFFI_I_PLAIN_ITEMS(__VA_ARGS__))
#define tvmffi_shape(...)             \
  tvmffi_i_make_plain(TVMFFI_I_OWNER, \
                      TVMFFI_I_NEW_SHAPE TVMFFI_I_PLAIN_ITEMS(__VA_ARGS__))

/* -------- Reading -------- */

TVMFFI_I_INLINE int tvmffi_i_is_map(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFIMap || any->type_index == kTVMFFIDict) &&
         any->v_obj;
}

TVMFFI_I_INLINE int tvmffi_i_is_sequence(const TVMFFIAny *any) {
  return (any->type_index == kTVMFFIArray || any->type_index == kTVMFFIList ||
          any->type_index == kTVMFFIShape) &&
         any->v_obj;
}

TVMFFI_I_COLD int tvmffi_i_bad_container(const char *function, const char *want,
                                         const TVMFFIAny *got) {
  TVMFFI_TRY(tvmffi_i_check_made(got, 1));
  return tvmffi_i_raise("TypeError", "%s: expected %s, but got `%s`", function,
                        want, tvmffi_i_type_key(got->type_index));
}

TVMFFI_I_INLINE int64_t tvmffi_i_length(const TVMFFIAny *any) {
  return any->type_index == kTVMFFIShape
             ? (int64_t)TVMFFIShapeGetCellPtr(any->v_obj)->size
             : TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj)->size;
}

/* Returns item `i` of a sequence, borrowed. The item must exist. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_item(const TVMFFIAny *any, int64_t i) {
  return any->type_index == kTVMFFIShape
             ? tvmffi_int(TVMFFIShapeGetCellPtr(any->v_obj)->data[i])
             : ((const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, any->v_obj)
                    ->data)[i];
}

/* Returns the number of items or entries, or -1 with a TypeError. */
#define tvmffi_size(container) tvmffi_i_size(TVMFFI_ANY(container))

TVMFFI_I_INLINE int64_t tvmffi_i_size(TVMFFIAny any) {
  if (tvmffi_i_is_sequence(&any)) return tvmffi_i_length(&any);
  if (tvmffi_i_is_map(&any)) return tvmffi_i_map_size(any.v_obj);
  return tvmffi_i_bad_container("tvmffi_size", "a container", &any);
}

/* Sets *i to the index `key`. Returns 0, or 1 if the index is out of bounds, or
   -1 with an error. */
TVMFFI_I_INLINE int tvmffi_i_index(const TVMFFIAny *any, const TVMFFIAny *key,
                                   int64_t *i) {
  if (!TVMFFI_I_IS_INT(key)) {
    if (key->type_index == kTVMFFIAny)
      return tvmffi_i_too_large((uint64_t)key->v_int64);
    TVMFFI_TRY(tvmffi_i_check_made(key, 1));
    return tvmffi_i_raise(
        "TypeError", "expected an index into `%s`, but got `%s`",
        tvmffi_i_type_key(any->type_index), tvmffi_i_type_key(key->type_index));
  }
  *i = key->v_int64;
  return (uint64_t)*i >= (uint64_t)tvmffi_i_length(any);
}

/* Raises an IndexError or KeyError for an absent item, like upstream's
   functions. The message includes a string or integer key. */
TVMFFI_I_COLD int tvmffi_i_not_there(const TVMFFIAny *any,
                                     const TVMFFIAny *key) {
  TVMFFIByteArray text;
  if (tvmffi_i_is_sequence(any))
    return tvmffi_i_raise("IndexError", "Index %lld out of bounds %lld",
                          (long long)key->v_int64,
                          (long long)tvmffi_i_length(any));
  if (!tvmffi_i_get_str(key, &text))
    return tvmffi_i_raise("KeyError", "key is not in Map: %.*s", (int)text.size,
                          text.data);
  if (TVMFFI_I_IS_INT(key))
    return tvmffi_i_raise("KeyError", "key is not in Map: %lld",
                          (long long)key->v_int64);
  return tvmffi_i_raise("KeyError", "key is not in Map");
}

/* Prefixes the error's message with the key, such as ["name"] or [3]. */
TVMFFI_I_COLD int tvmffi_i_bad_item(const TVMFFIAny *key, int code) {
  TVMFFIByteArray text;
  if (!tvmffi_i_get_str(key, &text))
    return tvmffi_error_context(code, "[\"%.*s\"]", (int)text.size, text.data);
  return TVMFFI_I_IS_INT(key)
             ? tvmffi_error_context(code, "[%lld]", (long long)key->v_int64)
             : code;
}

/* Stores an owned copy of the value for `key` in *value. Returns 0 if found, 1
   if absent, or an error code. */
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
      tvmffi_i_retain(value->v_obj);
    return 0;
  }
  if (!tvmffi_i_is_map(any))
    return tvmffi_i_bad_container("tvmffi_get", "a container", any);
  args[0] = *any;
  args[1] = *key;
  TVMFFI_TRY(tvmffi_i_global_values(
      is_dict ? TVMFFI_I_DICT_GET : TVMFFI_I_MAP_GET, args, 2, value));
  if (value->type_index != kTVMFFIObject) return 0;
  code = tvmffi_i_call_cached(TVMFFI_I_MISSING, NULL, 0, &missing);
  i = value->v_obj == missing.v_obj;
  tvmffi_i_any_release(&missing);
  if (code || i) tvmffi_i_any_release(value);
  return code ? code : (int)i;
}

/* Gets the value of a key in a map or dict, or of an index in an array, list or
   shape. Converts it to the type that `out` points to, as tvmffi_call does:
       tvmffi_get(map, "key", &number)        KeyError or IndexError if absent
       tvmffi_get(map, "key", &number, 7)     7 if absent
       tvmffi_get(map, "key", &object, NULL)  NULL if absent; C++: nullptr
   Returns 0, or -1 with an error. A value of another type is a TypeError that
   names the key, even with a default. The scope owns an object or Any. */
#define tvmffi_get(container, key, ...)                              \
  tvmffi_i_get_or(TVMFFI_I_OWNER_OF(TVMFFI_I_FIRST(__VA_ARGS__, ~)), \
                  TVMFFI_ANY(container), TVMFFI_ANY(key),            \
                  TVMFFI_I_CAT(TVMFFI_I_DEFAULT_,                    \
                               TVMFFI_I_COUNT(__VA_ARGS__))(__VA_ARGS__))
#define TVMFFI_I_DEFAULT_1(out) TVMFFI_I_OUT(out), 0, tvmffi_none()
#define TVMFFI_I_DEFAULT_2(out, x) TVMFFI_I_OUT(out), 1, TVMFFI_ANY(x)

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_get_or(
    tvmffi_i_owner to, TVMFFIAny any, TVMFFIAny key, tvmffi_out out,
    int has_default, TVMFFIAny otherwise) {
  TVMFFIAny value = tvmffi_none();
  int code = tvmffi_i_is_marked(to);
  if (!code) code = tvmffi_i_find_value(&any, &key, &value);
  if (code == 1) {
    if (!has_default) return tvmffi_i_not_there(&any, &key);
    if (otherwise.type_index == kTVMFFINone && out.target && out.word &&
        out.word->kind == TVMFFI_I_OBJECT) {
      *(TVMFFIObject **)out.target = NULL;
      return 0;
    }
    code = tvmffi_i_own_value(&otherwise, &value);
  }
  if (code) return code;
  code = tvmffi_i_deliver(to, &out, &value);
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_i_bad_item(&key, code) : 0;
}

/* Gets an item of an array, list or shape, borrowed while it stays in the
   container. Returns 0. On failure, sets *item to None and returns -1 with an
   IndexError or a TypeError. */
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

/* Returns 1 if a map or dict has the key, or if an array or list has an equal
   item. Returns 0 if not, or -1 with an error. */
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
  args[0] = any;
  args[1] = value;
  TVMFFI_TRY(tvmffi_i_global_values(which, args, 2, &result));
  return result.v_int64 != 0;
}

/* -------- Changing -------- */

/* Appends a value (borrowed) to a list. The list retains objects and copies
   strings. Returns 0, or -1 with an error. */
#define tvmffi_append(list, value) \
  tvmffi_i_append_item(TVMFFI_ANY(list), TVMFFI_ANY(value))

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_append_item(TVMFFIAny list,
                                                             TVMFFIAny value) {
  if (list.type_index != kTVMFFIList)
    return tvmffi_i_bad_container("tvmffi_append", "a list", &list);
  return tvmffi_i_call_cached_void(TVMFFI_I_LIST_APPEND, list, value,
                                   tvmffi_none(), 2);
}

/* Sets an existing item of a list, or the value of a key in a dict. An absent
   key is added. The container retains objects and copies strings. Returns 0, or
   -1 with an error: an IndexError for a list item that does not exist. */
#define tvmffi_set(container, key, value) \
  tvmffi_i_set(TVMFFI_ANY(container), TVMFFI_ANY(key), TVMFFI_ANY(value))

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_set(TVMFFIAny any,
                                                     TVMFFIAny key,
                                                     TVMFFIAny value) {
  if (any.type_index == kTVMFFIList)
    return tvmffi_i_call_cached_void(TVMFFI_I_LIST_SET, any, key, value, 3);
  if (any.type_index == kTVMFFIDict)
    return tvmffi_i_call_cached_void(TVMFFI_I_DICT_SET, any, key, value, 3);
  return tvmffi_i_bad_container("tvmffi_set", "a list or dict", &any);
}

/* Erases an item of a list or an entry of a dict. Returns 0, or -1 with an
   error: an IndexError or a KeyError if absent. */
#define tvmffi_erase(container, key) \
  tvmffi_i_erase_item(TVMFFI_ANY(container), TVMFFI_ANY(key))

/* Erases an item or entry like tvmffi_erase, but first stores its value in *out
   as tvmffi_get does. The scope owns an object or Any. If the conversion fails,
   nothing is erased. */
#define tvmffi_pop(container, key, out)                            \
  tvmffi_i_pop_item(TVMFFI_I_OWNER_OF(out), TVMFFI_ANY(container), \
                    TVMFFI_ANY(key), TVMFFI_I_OUT(out))

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_erase_item(TVMFFIAny any,
                                                            TVMFFIAny key) {
  int has;
  if (any.type_index == kTVMFFIList)
    return tvmffi_i_call_cached_void(TVMFFI_I_LIST_ERASE, any, key,
                                     tvmffi_none(), 2);
  if (any.type_index != kTVMFFIDict)
    return tvmffi_i_bad_container("tvmffi_erase", "a list or dict", &any);
  has = tvmffi_i_has(any, key);
  if (has != 1) return has ? has : tvmffi_i_not_there(&any, &key);
  return tvmffi_i_call_cached_void(TVMFFI_I_DICT_ERASE, any, key, tvmffi_none(),
                                   2);
}

TVMFFI_I_MUST_CHECK TVMFFI_I_INLINE int tvmffi_i_pop_item(tvmffi_i_owner to,
                                                          TVMFFIAny any,
                                                          TVMFFIAny key,
                                                          tvmffi_out out) {
  if (any.type_index != kTVMFFIList && any.type_index != kTVMFFIDict)
    return tvmffi_i_bad_container("tvmffi_pop", "a list or dict", &any);
  TVMFFI_TRY(tvmffi_i_get_or(to, any, key, out, 0, tvmffi_none()));
  return tvmffi_i_erase_item(any, key);
}

/* -------- Iteration -------- */

/* Iterates over an array, list or shape:
       TVMFFI_FOREACH (TVMFFIAny, item, list) { ... }
   or over a map or dict in order of insertion:
       TVMFFI_FOREACH_ITEM (key, value, map) { ... }
   Items, keys and values are TVMFFIAny, borrowed from the container, which you
   keep alive. Nothing is allocated: you may leave by break, continue or return.
   The container may change during the loop: step n yields the item that is n-th
   at that time. So erasing the current item skips the next item. An erased item
   must not be used. The loop cannot fail: a value of another type, such as
   NULL, has no items. */
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

/* Returns `any` if `any` is a sequence, else None. TVMFFI_FOREACH calls this
   once, so that no step needs the check. */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_sequence(TVMFFIAny any) {
  return tvmffi_i_is_sequence(&any) ? any : tvmffi_none();
}

/* Reads the next item in TVMFFI_FOREACH and returns 1, or returns 0 at the end.
   at[0] is a sequence or None, at[1] the next index. */
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

/* Reads the next entry of a map and returns 1, or returns 0 at the end.
     at[0]: the map or dict
     at[1]: the index of the next entry
     at[2]: the hash-table slot of the entry that was read last
     at[3], at[4], at[5]: the table's memory, size and newest slot at that time
   If the table has changed since, counts at[1] entries from the oldest. */
TVMFFI_I_INLINE int tvmffi_i_foreach_next(TVMFFIAny *at, TVMFFIAny *key,
                                          TVMFFIAny *value) {
  const tvmffi_i_map_object *m = tvmffi_i_map_of(at->v_obj);
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
