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
#include "compound.h"
#include "convert.h"

/* -------- Making -------- */

/* Refuses items of which no container can be made. */
TVMFFI_I_ONCE(int, tvmffi_i_bad_items,
              (int which, const TVMFFIAny *items, int64_t n)) {
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
TVMFFI_I_SMALL_ONCE(TVMFFIObject *, tvmffi_i_make,
                    (tvmffi_i_owner to, int which, const TVMFFIAny *items,
                     int64_t n)) {
  const int is_odd =
      (which == TVMFFI_I_NEW_MAP || which == TVMFFI_I_NEW_DICT) && n % 2;
  TVMFFIAny result = tvmffi_none();
  int code = tvmffi_i_is_marked(to);
  if (!code && (n < 0 || n > INT32_MAX || (n && !items) || is_odd))
    code = tvmffi_i_bad_items(which, items, n);
  if (!code)
    (void)tvmffi_i_global_values(which, items, (int32_t)n, &result);
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
  static_assert(!(sizeof...(tvmffi_rest) > 32),
                "at_most_32_values_are_possible");
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
#define TVMFFI_I_PLAIN_ITEMS_N(n, ...)                      \
  ,                                                         \
      (const TVMFFIAny[TVMFFI_I_ARRAY_SIZE((n)-1)]){        \
          TVMFFI_I_EACH(n)(TVMFFI_I_ITEM, ~, __VA_ARGS__)}, \
      (n)-1
#endif
/* Expands to `, items, n`, the last arguments of a call. The owner of the new
   container is an argument before them, so that without a scope the compiler's
   error, which names the owner, does not show the items. */
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

TVMFFI_I_ONCE(int, tvmffi_i_bad_container,
              (const char *function, const char *want, const TVMFFIAny *got)) {
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

TVMFFI_I_SMALL_ONCE(int64_t, tvmffi_i_size, (TVMFFIAny any)) {
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
TVMFFI_I_ONCE(int, tvmffi_i_not_there,
              (const TVMFFIAny *any, const TVMFFIAny *key)) {
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
TVMFFI_I_ONCE(int, tvmffi_i_bad_item, (const TVMFFIAny *key, int code)) {
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
    tvmffi_i_any_retain(value);
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

TVMFFI_I_SMALL_ONCE(int TVMFFI_I_MUST_CHECK, tvmffi_i_get_or,
                    (tvmffi_i_owner to, TVMFFIAny any, TVMFFIAny key,
                     tvmffi_out out, int has_default, TVMFFIAny otherwise)) {
  TVMFFIAny value = tvmffi_none();
  int code = tvmffi_i_is_marked(to);
  if (!code) code = tvmffi_i_find_value(&any, &key, &value);
  if (code == 1) {
    if (!has_default)
      return tvmffi_i_failed_at(to, tvmffi_i_not_there(&any, &key), 1);
    if (otherwise.type_index == kTVMFFINone && out.target && out.word &&
        out.word->kind >= TVMFFI_I_OBJECT) {
      *(tvmffi_i_object_slot *)out.target = NULL;
      return 0;
    }
    code = tvmffi_i_own_value(&otherwise, &value);
  }
  if (code) return tvmffi_i_failed_at(to, code, 1);
  code = tvmffi_i_deliver(to, &out, &value);
  return TVMFFI_I_UNLIKELY(code) ? tvmffi_i_bad_item(&key, code) : 0;
}

/* Gets an item of an array, list or shape, borrowed while it stays in the
   container. Returns 0. On failure, sets *item to None and returns -1 with an
   IndexError or a TypeError. */
#define tvmffi_at(container, i, item) \
  tvmffi_i_item_at(TVMFFI_ANY(container), i, item)

TVMFFI_I_SMALL_ONCE(int, tvmffi_i_item_at,
                    (TVMFFIAny any, int64_t i, TVMFFIAny *item)) {
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

TVMFFI_I_SMALL_ONCE(int, tvmffi_i_has, (TVMFFIAny any, TVMFFIAny value)) {
  TVMFFIAny args[2] = {any, value}, result = tvmffi_none();
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
  TVMFFI_TRY(tvmffi_i_global_values(which, args, 2, &result));
  return result.v_int64 != 0;
}

/* -------- Changing -------- */

/* Appends a value (borrowed) to a list. The list retains objects and copies
   strings. Returns 0, or -1 with an error. */
#define tvmffi_append(list, value) \
  tvmffi_i_append_item(TVMFFI_ANY(list), TVMFFI_ANY(value))

TVMFFI_I_SMALL_ONCE(int TVMFFI_I_MUST_CHECK, tvmffi_i_append_item,
                    (TVMFFIAny list, TVMFFIAny value)) {
  const TVMFFIAny args[2] = {list, value};
  if (list.type_index != kTVMFFIList)
    return tvmffi_i_bad_container("tvmffi_append", "a list", &list);
  return tvmffi_i_call_cached_void(TVMFFI_I_LIST_APPEND, args, 2);
}

/* Sets an existing item of a list, or the value of a key in a dict. An absent
   key is added. The container retains objects and copies strings. Returns 0, or
   -1 with an error: an IndexError for a list item that does not exist. */
#define tvmffi_set(container, key, value) \
  tvmffi_i_set(TVMFFI_ANY(container), TVMFFI_ANY(key), TVMFFI_ANY(value))

TVMFFI_I_SMALL_ONCE(int TVMFFI_I_MUST_CHECK, tvmffi_i_set,
                    (TVMFFIAny any, TVMFFIAny key, TVMFFIAny value)) {
  const TVMFFIAny args[3] = {any, key, value};
  if (any.type_index == kTVMFFIList)
    return tvmffi_i_call_cached_void(TVMFFI_I_LIST_SET, args, 3);
  if (any.type_index == kTVMFFIDict)
    return tvmffi_i_call_cached_void(TVMFFI_I_DICT_SET, args, 3);
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

TVMFFI_I_SMALL_ONCE(int TVMFFI_I_MUST_CHECK, tvmffi_i_erase_item,
                    (TVMFFIAny any, TVMFFIAny key)) {
  const TVMFFIAny args[2] = {any, key};
  int has;
  if (any.type_index == kTVMFFIList)
    return tvmffi_i_call_cached_void(TVMFFI_I_LIST_ERASE, args, 2);
  if (any.type_index != kTVMFFIDict)
    return tvmffi_i_bad_container("tvmffi_erase", "a list or dict", &any);
  has = tvmffi_i_has(any, key);
  if (has != 1) return has ? has : tvmffi_i_not_there(&any, &key);
  return tvmffi_i_call_cached_void(TVMFFI_I_DICT_ERASE, args, 2);
}

TVMFFI_I_SMALL_ONCE(int TVMFFI_I_MUST_CHECK, tvmffi_i_pop_item,
                    (tvmffi_i_owner to, TVMFFIAny any, TVMFFIAny key,
                     tvmffi_out out)) {
  if (any.type_index != kTVMFFIList && any.type_index != kTVMFFIDict)
    return tvmffi_i_bad_container("tvmffi_pop", "a list or dict", &any);
  TVMFFI_TRY(tvmffi_i_get_or(to, any, key, out, 0, tvmffi_none()));
  return tvmffi_i_erase_item(any, key);
}

/* -------- Iteration -------- */

/* Iterates over an array, list or shape, or over a map or dict in order of
   insertion. Types are those of parameters, such as int64, any or a struct:
       TVMFFI_FOREACH(int64, n, list) sum += n;
       TVMFFI_FOREACH_ITEM(str, name, any, value, map) { ... }
   A value that does not convert raises an error that names the value's index or
   key (a TypeError for a value of another type), marks the scope and ends the
   loop. So a loop needs a scope, unless its types are any. A container of
   another type, such as NULL, has no items. The container is borrowed. Until
   the next step, the item is owned by the loop, as are the key and the value,
   so the body may change the container; the bytes of a str live as long. In C
   without the cleanup attribute (MSVC, tcc) they are borrowed. You may leave by
   break, continue or return. Step n yields the item that is n-th at that time,
   so erasing the current item skips the next one. But if a step changes a dict
   more than once, such as by erasing an entry and setting another, the loop may
   skip entries or yield one again. */
#define TVMFFI_FOREACH(type, name, container) \
  TVMFFI_I_LOOP(sequence_loop, container)     \
  TVMFFI_I_LOOP_VALUE(sequence_loop, tvmffi_item, type, name)
#define TVMFFI_FOREACH_ITEM(key_type, key, type, value, container) \
  TVMFFI_I_LOOP(map_loop, container)                               \
  TVMFFI_I_LOOP_VALUE(map_loop, tvmffi_key, key_type, key)         \
  TVMFFI_I_LOOP_VALUE(map_loop, tvmffi_item, type, value)

#if defined(__cplusplus)
extern "C++" {
namespace { /* each file has its own: they call functions of the file */
#endif
/* A value of the current step: `given` is the view that was read, and `held`
   owns what the converted value points to. `is_in_body` is 1 while the body
   runs. It stays 1 if the body is left by break, which ends the outer loop,
   too. */
typedef struct tvmffi_i_loop_value {
  TVMFFIAny given, held;
  int is_in_body;
#if defined(__cplusplus)
  ~tvmffi_i_loop_value() { tvmffi_i_any_release(&held); }
#endif
} tvmffi_i_loop_value;

/* A loop over a sequence. */
typedef struct {
  TVMFFIAny container; /* None: no items */
  size_t next;         /* index of the next item */
  tvmffi_i_loop_value tvmffi_item;
} tvmffi_i_sequence_loop;

/* A loop over a map. If `data`, `size` and `tail` of the table are those of the
   last step, the next step goes on after `slot`. Otherwise it counts `next`
   entries from the oldest. One change of a table is always seen: a new or an
   erased entry changes the size, and setting an old key makes its slot the
   tail. Two changes may undo that. */
typedef struct {
  TVMFFIAny container; /* None: no items */
  size_t next;         /* index of the next entry */
  tvmffi_i_loop_value tvmffi_item, tvmffi_key;
  size_t slot;         /* of the entry that was read last */
  size_t size, tail;   /* entries; slot of the newest */
  const void *data;
} tvmffi_i_map_loop;
#if defined(__cplusplus)
} /* namespace */
} /* extern "C++" */
#endif

/* A view of the container of a loop. A pointer to a struct of TVMFFI_TYPE does
   not compile, because the loop would have no items: the compiler's error shows
   a name that says what to write. */
#if defined(__cplusplus)
extern "C++" {
template <typename tvmffi_type>
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_container(const tvmffi_type &x) {
  return TVMFFI_ANY(x);
}
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_container(TVMFFIObject *x) {
  return tvmffi_obj(x);
}
template <typename tvmffi_type>
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_container(tvmffi_type *) {
  static_assert(!sizeof(tvmffi_type),
                "this_struct_is_no_container__write_its_member");
  return tvmffi_none();
}
}
#define TVMFFI_I_CONTAINER(x) tvmffi_i_container(x)
#elif TVMFFI_I_GENERIC
#define TVMFFI_I_NO_CONTAINER \
  tvmffi_i_this_struct_is_no_container__write_its_member
typedef struct {
  char tvmffi_unused;
} tvmffi_i_no_container__write_a_member_of_the_struct;
TVMFFIAny TVMFFI_I_NO_CONTAINER(
    tvmffi_i_no_container__write_a_member_of_the_struct); /* never defined */
#define TVMFFI_I_CONTAINER(x)                          \
  _Generic((x), TVMFFIAny                              \
           : tvmffi_i_any, TVMFFIObject *              \
           : tvmffi_i_const_obj, const TVMFFIObject *  \
           : tvmffi_i_const_obj, void *                \
           : tvmffi_ptr, default                       \
           : TVMFFI_I_NO_CONTAINER)(x)
#else
#define TVMFFI_I_CONTAINER(x) TVMFFI_ANY(x)
#endif

/* clang-format off */
#if TVMFFI_I_CLEANUP && !defined(__cplusplus)
#define TVMFFI_I_ENDS(function) __attribute__((__cleanup__(function)))
#else
#define TVMFFI_I_ENDS(function)
#endif
#define TVMFFI_I_LOOP(kind, from) \
  for (tvmffi_i_##kind TVMFFI_I_CAT(tvmffi_at_, __LINE__) \
           TVMFFI_I_ENDS(tvmffi_i_end_##kind) = \
               tvmffi_i_begin_##kind(TVMFFI_I_CONTAINER(from)); \
       tvmffi_i_next_of_##kind(&TVMFFI_I_CAT(tvmffi_at_, __LINE__));)
/* A loop around the body, which runs once and declares a value of the step. */
#define TVMFFI_I_LOOP_VALUE(kind, member, type, name) \
  for (TVMFFI_I_CAT(tvmffi_type_, type) name = TVMFFI_I_ZERO; \
       tvmffi_i_loop_take(&TVMFFI_I_CAT(tvmffi_at_, __LINE__).member, \
                          tvmffi_i_key_of_##kind( \
                              &TVMFFI_I_CAT(tvmffi_at_, __LINE__)), \
                          &TVMFFI_I_CAT(tvmffi_i_word_, type), \
                          TVMFFI_I_NO_TENSOR_TEXT(type) \
                          TVMFFI_I_SECOND(TVMFFI_I_CAT(TVMFFI_I_LOOP_IN_, \
                                                       type), \
                                          tvmffi_here, ~), &name);)
/* A conversion that fails marks the scope. Every value converts to any, so such
   a loop also works outside all scopes. */
#define TVMFFI_I_LOOP_IN_any ~, tvmffi_i_outer,
/* clang-format on */

/* Raises the error of a value that does not convert, unless one is pending. A
   loop returns no code, so the scopes around an inner scope are marked, too. */
TVMFFI_I_ONCE(void, tvmffi_i_bad_loop_value,
              (const tvmffi_i_word *word, TVMFFIAny given, TVMFFIAny key,
               tvmffi_scope *scope, int code)) {
  const tvmffi_out out = tvmffi_i_make_out(word, NULL, NULL);
  if (code > 0 && !tvmffi_i_pending())
    code = tvmffi_i_bad_result(&out, &given, code);
  if (code < 0) (void)tvmffi_i_bad_item(&key, code);
  for (; scope; scope = scope->parent) scope->marked = 1;
}

/* Returns 1 if a converted value may point to what the Any owns. */
TVMFFI_I_INLINE int tvmffi_i_loop_holds(const tvmffi_i_word *word) {
  if (!TVMFFI_I_CLEANUP) return 0;
  return word->kind < TVMFFI_I_INT || word->kind > TVMFFI_I_FLOAT;
}

/* Before the body, converts the value and returns 1. After the body, or if the
   value does not convert, returns 0. Passes no address of *step to a function
   that is not inlined, so compilers keep a loop over numbers in registers. */
TVMFFI_I_FOLDED int tvmffi_i_loop_take(tvmffi_i_loop_value *step, TVMFFIAny key,
                                       const tvmffi_i_word *word,
                                       tvmffi_scope *scope, void *value) {
  TVMFFIAny given = step->given, old;
  int code;
  if (step->is_in_body) {
    step->is_in_body = 0;
    return 0;
  }
  step->is_in_body = 1;
  if (tvmffi_i_loop_holds(word)) {
    old = step->held;
    if (given.type_index >= kTVMFFIStaticObjectBegin && given.v_obj)
      tvmffi_i_retain(given.v_obj);
    step->held = given;
    if (old.type_index >= kTVMFFIStaticObjectBegin) tvmffi_i_release(old.v_obj);
    code = tvmffi_i_load_in(word, scope, &step->held, value);
  } else {
    code = tvmffi_i_load_in(word, scope, &given, value);
  }
  if (TVMFFI_I_LIKELY(!code)) return 1;
  tvmffi_i_bad_loop_value(word, given, key, scope, code);
  return 0;
}

TVMFFI_I_SMALL_ONCE(tvmffi_i_sequence_loop, tvmffi_i_begin_sequence_loop,
                    (TVMFFIAny container)) {
  tvmffi_i_sequence_loop it;
  it.container = tvmffi_i_is_sequence(&container) ? container : tvmffi_none();
  it.next = 0;
  it.tvmffi_item.held = tvmffi_none();
  it.tvmffi_item.is_in_body = 0;
  return it;
}

TVMFFI_I_INLINE tvmffi_i_map_loop tvmffi_i_begin_map_loop(TVMFFIAny container) {
  tvmffi_i_map_loop it;
  it.container = tvmffi_i_is_map(&container) ? container : tvmffi_none();
  it.next = it.slot = it.size = it.tail = 0;
  it.data = NULL;
  it.tvmffi_item.held = it.tvmffi_key.held = tvmffi_none();
  it.tvmffi_item.is_in_body = it.tvmffi_key.is_in_body = 0;
  return it;
}

#if !defined(__cplusplus)
TVMFFI_I_INLINE void tvmffi_i_end_sequence_loop(tvmffi_i_sequence_loop *it) {
  tvmffi_i_any_release(&it->tvmffi_item.held);
}
TVMFFI_I_INLINE void tvmffi_i_end_map_loop(tvmffi_i_map_loop *it) {
  tvmffi_i_any_release(&it->tvmffi_item.held);
  tvmffi_i_any_release(&it->tvmffi_key.held);
}
#endif

/* Return the key of the current step, which error messages name. */
TVMFFI_I_INLINE TVMFFIAny
tvmffi_i_key_of_sequence_loop(const tvmffi_i_sequence_loop *it) {
  return tvmffi_int((int64_t)it->next - 1);
}
TVMFFI_I_INLINE TVMFFIAny
tvmffi_i_key_of_map_loop(const tvmffi_i_map_loop *it) {
  return it->tvmffi_key.given;
}

/* Reads the next item of a sequence and returns 1, or returns 0 at the end. */
TVMFFI_I_SMALL_ONCE(int, tvmffi_i_next_of_sequence_loop,
                    (tvmffi_i_sequence_loop *it)) {
  const int64_t i = (int64_t)it->next;
  if (it->tvmffi_item.is_in_body || !it->container.v_obj ||
      i >= tvmffi_i_length(&it->container))
    return 0;
  ++it->next;
  it->tvmffi_item.given = tvmffi_i_item(&it->container, i);
  return 1;
}

/* Reads the next entry of a map and returns 1, or returns 0 at the end. If the
   table has changed since the last step, counts it->next entries from the
   oldest. */
TVMFFI_I_SMALL_ONCE(int, tvmffi_i_next_of_map_loop, (tvmffi_i_map_loop *it)) {
  const tvmffi_i_map_object *m = tvmffi_i_map_of(it->container.v_obj);
  const tvmffi_i_pair *pair = NULL;
  size_t i;
  if (it->tvmffi_item.is_in_body || it->tvmffi_key.is_in_body ||
      !it->container.v_obj || it->next >= (size_t)m->size)
    return 0;
  if (tvmffi_i_map_is_row(m)) {
    pair = tvmffi_i_map_pair(&m->base, it->next);
  } else {
    if (it->next && it->data == m->data && it->size == (size_t)m->size &&
        it->tail == (size_t)m->tail) {
      it->slot = tvmffi_i_map_after(&m->base, it->slot);
      pair = tvmffi_i_map_pair(&m->base, it->slot);
    }
    if (TVMFFI_I_UNLIKELY(!pair)) {
      it->slot = (size_t)m->head;
      for (i = 0; i < it->next; ++i)
        it->slot = tvmffi_i_map_after(&m->base, it->slot);
      pair = tvmffi_i_map_pair(&m->base, it->slot);
    }
    it->data = m->data;
    it->size = (size_t)m->size;
    it->tail = (size_t)m->tail;
  }
  ++it->next;
  if (!pair) return 0;
  it->tvmffi_key.given = pair->key;
  it->tvmffi_item.given = pair->value;
  return 1;
}
