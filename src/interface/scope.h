/* ======== Scopes ========================================== >>interface/scope
   objects released at the end of a block */
/* A scope is a block of source text that owns the objects that the block
   receives: containers, functions, tensors, objects of tvmffi_new, and results
   of calls into a TVMFFIObject ** or TVMFFIAny *. The end of the block releases
   them, newest first. Scopes nest, and the innermost scope owns new objects.
   Outside all scopes, the calling code owns new objects. A called function is
   outside the caller's scopes and owns the objects that it receives. Whoever
   takes an error owns the error.

   tvmffi_here, a local variable, points to the innermost scope. Each macro that
   returns an object passes tvmffi_here to a function. A scope belongs to one
   thread: open a scope in each parallel region of OpenMP. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../base/reference.h"
#include "../base/value.h"
#include "../base/scope_here.h"
#include "../base/error.h"
#include "../base/named_call.h"

/* Number of objects stored in the scope itself. More objects need an
   allocation. */
#define TVMFFI_I_SCOPE_FIRST 12

struct tvmffi_scope {
  tvmffi_scope *parent;     /* the enclosing scope, or NULL */
  TVMFFIObject **items;     /* `first` or allocated; owned, NULL if removed */
  uint32_t count, capacity; /* of `items`, which is oldest first */
#if TVMFFI_DEBUG && defined(TVMFFI_I_THREAD)
  const char *thread; /* the thread's &tvmffi_i_this_thread */
#endif
  TVMFFIObject *first[TVMFFI_I_SCOPE_FIRST];
};

/* Memory for a scope's objects beyond TVMFFI_I_SCOPE_FIRST. Comes from
   TVMFFI_MALLOC if defined, else from the arena, else from malloc. Without
   these, a freestanding file has no such memory. */
#if defined(TVMFFI_MALLOC)
#define TVMFFI_I_SCOPE_MALLOC(size) TVMFFI_MALLOC(size)
#define TVMFFI_I_SCOPE_FREE(pointer) TVMFFI_FREE(pointer)
#elif defined(TVMFFI_ARENA_SIZE) && defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_SCOPE_MALLOC(size) tvmffi_i_arena_alloc(size)
#define TVMFFI_I_SCOPE_FREE(pointer) tvmffi_i_arena_free(pointer)
#elif TVMFFI_FREESTANDING || (defined(__STDC_HOSTED__) && !__STDC_HOSTED__)
#define TVMFFI_I_SCOPE_MALLOC(size) ((void)(size), (void *)0)
#define TVMFFI_I_SCOPE_FREE(pointer) ((void)(pointer))
#elif TVMFFI_I_GNU
/* Built-in functions need no <stdlib.h>, which would slow down compilation. */
#define TVMFFI_I_SCOPE_MALLOC(size) __builtin_malloc(size)
#define TVMFFI_I_SCOPE_FREE(pointer) __builtin_free(pointer)
#else
#include <stdlib.h>
#define TVMFFI_I_SCOPE_MALLOC(size) malloc(size)
#define TVMFFI_I_SCOPE_FREE(pointer) free(pointer)
#endif

/* The owner of a new object: the scope `scope`, or the calling code if `scope`
   is NULL. With TVMFFI_DEBUG the owner includes the source line, for the leak
   report. */
#if TVMFFI_DEBUG
typedef struct {
  tvmffi_scope *scope;
  const char *place;
} tvmffi_i_owner;
TVMFFI_I_INLINE tvmffi_i_owner tvmffi_i_make_owner(tvmffi_scope *scope,
                                                   const char *place) {
  tvmffi_i_owner owner;
  owner.scope = scope;
  owner.place = place;
  return owner;
}
#define TVMFFI_I_PLACE __FILE__ ":" TVMFFI_I_QUOTE(__LINE__)
#define TVMFFI_I_OWNER tvmffi_i_make_owner(tvmffi_here, TVMFFI_I_PLACE)

#if TVMFFI_DEBUG && defined(TVMFFI_I_THREAD)
/* The address of this variable identifies the thread. */
TVMFFI_I_UNUSED static TVMFFI_I_THREAD char tvmffi_i_this_thread;
#endif

/* Records the source line that received or released an object, if the runtime
   tracks leaks. */
TVMFFI_I_COLD void tvmffi_i_note(const void *obj, int released,
                                 const char *place) {
  TVMFFIAny args[3], result = tvmffi_none();
  if (!place) return;
  args[0] = tvmffi_ptr(obj);
  args[1] = tvmffi_bool(released);
  args[2] = tvmffi_str(place);
  (void)tvmffi_i_call_if_defined("tvmffi.DebugNote", args, 3, &result);
}

TVMFFI_I_INLINE void tvmffi_i_drop(TVMFFIObjectHandle obj, const char *place) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  if (o && (uint32_t)tvmffi_i_load64(&o->combined_ref_count) == 1)
    tvmffi_i_note(o, 1, place);
  tvmffi_release(o);
}

TVMFFI_I_INLINE void tvmffi_i_any_drop(TVMFFIAny *any, const char *place) {
  if (any->type_index >= kTVMFFIStaticObjectBegin) {
    tvmffi_i_drop(any->v_obj, place);
    any->type_index = kTVMFFINone;
  }
  tvmffi_any_release(any);
}
#else
typedef tvmffi_scope *tvmffi_i_owner;
#define TVMFFI_I_OWNER tvmffi_here
#define tvmffi_i_drop(obj, place) tvmffi_release(obj)
#endif

TVMFFI_I_COLD TVMFFIObject *tvmffi_i_scope_error(const char *message) {
  (void)tvmffi_i_raise("RuntimeError", "%s", message);
  return NULL;
}

TVMFFI_I_COLD int tvmffi_i_scope_grow(tvmffi_scope *scope) {
  uint32_t capacity = 2 * scope->capacity, i;
  TVMFFIObject **items = NULL;
  if (scope->capacity < UINT32_MAX / 2 / sizeof(*items))
    items = (TVMFFIObject **)TVMFFI_I_SCOPE_MALLOC(capacity * sizeof(*items));
  if (!items)
    return tvmffi_i_raise("MemoryError",
                          "out of memory for the %u objects of a scope",
                          (unsigned)capacity);
  for (i = 0; i < scope->count; ++i) items[i] = scope->items[i];
  if (scope->items != scope->first) TVMFFI_I_SCOPE_FREE((void *)scope->items);
  scope->items = items;
  scope->capacity = capacity;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_scope_add(tvmffi_scope *scope, TVMFFIObject *obj) {
#if TVMFFI_DEBUG && defined(TVMFFI_I_THREAD)
  if (scope->thread != &tvmffi_i_this_thread)
    return tvmffi_i_raise("RuntimeError",
                          "this scope belongs to another thread: open a scope "
                          "in the parallel region");
#endif
  if (TVMFFI_I_UNLIKELY(scope->count == scope->capacity))
    TVMFFI_TRY(tvmffi_i_scope_grow(scope));
  scope->items[scope->count++] = obj;
  return 0;
}

/* Removes the newest reference to `obj` from `scope`. Returns 1, or 0 if the
   scope does not own `obj`. */
TVMFFI_I_INLINE int tvmffi_i_scope_remove(tvmffi_scope *scope,
                                          const TVMFFIObject *obj) {
  uint32_t i = scope->count;
  while (i && scope->items[i - 1] != obj) --i;
  if (!i) return 0;
  scope->items[i - 1] = NULL;
  while (scope->count && !scope->items[scope->count - 1]) --scope->count;
  return 1;
}

/* Passes a reference to `obj` to the new owner `to`. On failure releases the
   reference and returns -1 with an error. Ignores NULL. */
TVMFFI_I_INLINE int tvmffi_i_hand(tvmffi_i_owner to, TVMFFIObject *obj) {
#if TVMFFI_DEBUG
  tvmffi_scope *scope = to.scope;
  if (obj) tvmffi_i_note(obj, 0, to.place);
#else
  tvmffi_scope *scope = to;
#endif
  if (!scope || !obj || !tvmffi_i_scope_add(scope, obj)) return 0;
  tvmffi_release(obj);
  return -1;
}

/* Passes an object to the new owner `to` and stores the object in *out. On
   failure stores NULL. */
TVMFFI_I_INLINE int tvmffi_i_hand_out(tvmffi_i_owner to, TVMFFIObjectHandle obj,
                                      TVMFFIObject **out) {
  int code = tvmffi_i_hand(to, (TVMFFIObject *)obj);
  *out = code ? NULL : (TVMFFIObject *)obj;
  return code;
}

/* Passes the object of an owned Any to the new owner `to`. On failure sets *any
   to None. */
TVMFFI_I_INLINE int tvmffi_i_hand_any(tvmffi_i_owner to, TVMFFIAny *any) {
  if (any->type_index < kTVMFFIStaticObjectBegin) return 0;
  if (!tvmffi_i_hand(to, any->v_obj)) return 0;
  *any = tvmffi_none();
  return -1;
}

TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_open(tvmffi_scope *scope,
                                                  tvmffi_scope *parent) {
  scope->parent = parent;
  scope->items = scope->first;
  scope->count = 0;
  scope->capacity = TVMFFI_I_SCOPE_FIRST;
#if TVMFFI_DEBUG && defined(TVMFFI_I_THREAD)
  scope->thread = &tvmffi_i_this_thread;
#endif
  return scope;
}

/* Releases a scope's objects, newest first, and frees the scope's memory.
   Leaves an empty scope, which can receive objects and be closed again. */
TVMFFI_I_INLINE void tvmffi_i_scope_close(tvmffi_scope *scope) {
  while (scope->count) {
    TVMFFIObject *item = scope->items[--scope->count];
    tvmffi_i_drop(item, "the end of its scope");
  }
  if (scope->items != scope->first) TVMFFI_I_SCOPE_FREE((void *)scope->items);
  scope->items = scope->first;
  scope->capacity = TVMFFI_I_SCOPE_FIRST;
}

/* Removes one reference to `obj` from the innermost scope that owns `obj`,
   searching outwards from `scope`. Returns 1, or 0 if no scope owns `obj`. */
TVMFFI_I_INLINE int tvmffi_i_scope_take(tvmffi_scope *scope,
                                        const TVMFFIObject *obj) {
  while (scope && !tvmffi_i_scope_remove(scope, obj)) scope = scope->parent;
  return scope != NULL;
}

/* Implements TVMFFI_RETURN. If `code` is 0, removes the result's object from
   the scope that owns the object, because the caller becomes the owner. */
TVMFFI_I_INLINE int tvmffi_i_scope_return(tvmffi_scope *scope,
                                          const TVMFFIAny *result, int code) {
  if (scope && !code && result->type_index >= kTVMFFIStaticObjectBegin)
    (void)tvmffi_i_scope_take(scope, result->v_obj);
#if !TVMFFI_I_CLEANUP
  tvmffi_i_scope_leave(scope);
#endif
  return code;
}

#if !TVMFFI_I_CLEANUP
TVMFFI_I_INLINE void tvmffi_i_scope_leave(tvmffi_scope *scope) {
  for (; scope; scope = scope->parent) tvmffi_i_scope_close(scope);
}
#endif

/* Makes the innermost enclosing scope the owner of a reference. On failure
   releases the reference. Returns the object, now borrowed. Returns NULL with a
   RuntimeError outside all scopes, or with a MemoryError. If `obj` is NULL,
   returns NULL and raises nothing, so `obj` may be a call that fails. */
#define tvmffi_scope_attach(obj) \
  tvmffi_i_scope_attach(tvmffi_here, TVMFFI_I_OWNER, obj)

TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_scope_attach(tvmffi_scope *scope,
                                                    tvmffi_i_owner to,
                                                    TVMFFIObjectHandle obj) {
  if (!obj) return NULL;
  if (!scope) {
    tvmffi_release(obj);
    return tvmffi_i_scope_error("tvmffi_scope_attach: there is no scope here");
  }
  return tvmffi_i_hand(to, (TVMFFIObject *)obj) ? NULL : (TVMFFIObject *)obj;
}

/* Takes one reference to an object out of the innermost enclosing scope that
   owns the object. Returns the object, now owned by the calling code. A plain
   function can return the object; TVMFFI_RETURN needs no tvmffi_scope_detach.
   Returns NULL with a RuntimeError if no enclosing scope owns the object. If
   `obj` is NULL, returns NULL. */
#define tvmffi_scope_detach(obj) tvmffi_i_scope_detach(tvmffi_here, obj)

TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_scope_detach(tvmffi_scope *scope,
                                                    TVMFFIObjectHandle obj) {
  if (!obj || tvmffi_i_scope_take(scope, (TVMFFIObject *)obj))
    return (TVMFFIObject *)obj;
  return tvmffi_i_scope_error(
      "tvmffi_scope_detach: no scope here owns the object");
}

/* Moves an object from the innermost scope to the scope that encloses it.
   Returns the object, still borrowed. On failure returns NULL and moves
   nothing: RuntimeError if the innermost scope does not own the object or is
   the only scope, or MemoryError. If `obj` is NULL, returns NULL. */
#define tvmffi_scope_to_parent(obj) tvmffi_i_scope_to_parent(tvmffi_here, obj)

TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_scope_to_parent(tvmffi_scope *scope,
                                                       TVMFFIObjectHandle obj) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  if (!o) return o;
  if (!scope || !scope->parent)
    return tvmffi_i_scope_error(
        "tvmffi_scope_to_parent: there is no scope around this one");
  if (!tvmffi_i_scope_remove(scope, o))
    return tvmffi_i_scope_error(
        "tvmffi_scope_to_parent: the object is not in the innermost scope");
  if (!tvmffi_i_scope_add(scope->parent, o)) return o;
  scope->items[scope->count++] = o; /* the slot that was just freed */
  return NULL;
}

/* Returns the number of references to objects of exactly this type that the
   enclosing scopes own; kTVMFFIAny counts all types. Works on every runtime,
   unlike tvmffi_live_count. */
#define tvmffi_scope_count(type_index) \
  tvmffi_i_scope_count(tvmffi_here, type_index)

TVMFFI_I_INLINE int64_t tvmffi_i_scope_count(const tvmffi_scope *scope,
                                             int32_t type_index) {
  int64_t n = 0;
  uint32_t i;
  for (; scope; scope = scope->parent)
    for (i = 0; i < scope->count; ++i)
      n += scope->items[i] && (type_index == kTVMFFIAny ||
                               scope->items[i]->type_index == type_index);
  return n;
}

/* On purpose, a scope's tvmffi_here hides the enclosing scope's.
   TVMFFI_I_HIDE_BEGIN turns off the compiler's warning. */
#if TVMFFI_I_GNU && defined(__clang__)
#define TVMFFI_I_HIDE_BEGIN        \
  _Pragma("clang diagnostic push") \
      _Pragma("clang diagnostic ignored \"-Wshadow-all\"")
#define TVMFFI_I_HIDE_END _Pragma("clang diagnostic pop")
#elif TVMFFI_I_GNU && __GNUC__ >= 7
#define TVMFFI_I_HIDE_BEGIN                          \
  _Pragma("GCC diagnostic push")                     \
      _Pragma("GCC diagnostic ignored \"-Wshadow\"") \
          _Pragma("GCC diagnostic ignored \"-Wshadow=local\"")
#define TVMFFI_I_HIDE_END _Pragma("GCC diagnostic pop")
#else
#define TVMFFI_I_HIDE_BEGIN
#define TVMFFI_I_HIDE_END
#endif

#if defined(__cplusplus)
extern "C++" {
namespace { /* each file has its own scopes and functions */
struct tvmffi_i_scope_block : tvmffi_scope {
  explicit tvmffi_i_scope_block(tvmffi_scope *around) {
    (void)tvmffi_i_scope_open(this, around);
  }
  tvmffi_i_scope_block(const tvmffi_i_scope_block &) = delete;
  tvmffi_i_scope_block &operator=(const tvmffi_i_scope_block &) = delete;
  ~tvmffi_i_scope_block() { tvmffi_i_scope_close(this); }
};
} /* namespace */
} /* extern "C++" */
#define TVMFFI_I_SCOPE(n)                                           \
  tvmffi_i_scope_block TVMFFI_I_CAT(tvmffi_scope_, n)(tvmffi_here), \
      *const tvmffi_here TVMFFI_I_UNUSED = &TVMFFI_I_CAT(tvmffi_scope_, n)
#else
#if TVMFFI_I_CLEANUP
#define TVMFFI_I_AT_END(function) __attribute__((__cleanup__(function)))
#else
#define TVMFFI_I_AT_END(function)
#endif
/* Declares a scope. tvmffi_opened_<n> is initialised from the enclosing scope's
   tvmffi_here, before a new tvmffi_here hides it. */
#define TVMFFI_I_SCOPE(n)                                                    \
  tvmffi_scope TVMFFI_I_CAT(tvmffi_scope_, n)                                \
      TVMFFI_I_AT_END(tvmffi_i_scope_close),                                 \
      *TVMFFI_I_CAT(tvmffi_opened_, n) =                                     \
          tvmffi_i_scope_open(&TVMFFI_I_CAT(tvmffi_scope_, n), tvmffi_here), \
                                    *const tvmffi_here TVMFFI_I_UNUSED =     \
                                        TVMFFI_I_CAT(tvmffi_opened_, n)
#endif

/* Opens a scope in the rest of the enclosing block: `TVMFFI_SCOPE_REST;`. The
   enclosing block must not be the block of a TVMFFI_SCOPE. The scope ends as a
   TVMFFI_SCOPE does, but break and continue refer to the loop around the block.
   No goto and no case label may jump past TVMFFI_SCOPE_REST into the block: GCC
   would end a scope that was never opened (-Wjump-misses-init warns). */
#define TVMFFI_SCOPE_REST TVMFFI_I_SCOPE_REST(__LINE__)
#define TVMFFI_I_SCOPE_REST(n)           \
  TVMFFI_I_HIDE_BEGIN TVMFFI_I_SCOPE(n); \
  TVMFFI_I_HIDE_END(void) 0

/* Puts the rest of the enclosing block outside all scopes:
   `TVMFFI_SCOPE_NONE;`. Ends no scope. Write TVMFFI_SCOPE_NONE first in a C++
   lambda inside a scope. Otherwise a lambda that captures nothing does not
   compile, and a lambda with [&] or [=] uses the scope even after the scope's
   end. */
#define TVMFFI_SCOPE_NONE                                                     \
  TVMFFI_I_HIDE_BEGIN tvmffi_scope *const tvmffi_here TVMFFI_I_UNUSED = NULL; \
  TVMFFI_I_HIDE_END(void) 0

/* Opens a scope around a block: `TVMFFI_SCOPE { ... }`. The scope ends when the
   block is left: at the end, by return, TVMFFI_TRY, goto, break, continue or a
   C++ exception. break and continue leave the block, not a loop around the
   block. A return value is computed before the scope ends. In C without the
   cleanup attribute of GCC and clang (TVMFFI_I_CLEANUP is 0), a scope ends only
   at the end of a TVMFFI_SCOPE block, and by TVMFFI_RETURN, TVMFFI_TRY and
   TVMFFI_LEAVE(). */
#define TVMFFI_SCOPE \
  TVMFFI_I_HIDE_BEGIN TVMFFI_I_SCOPE_BLOCK(__LINE__) TVMFFI_I_HIDE_END

/* A `for` loop that runs the user's block once. The third clause leaves the
   loop, so a compiler does not warn of a missing return after a block that
   returns. In clang, a break there would refer to the loop, so clang uses a
   goto. The `switch` keeps a user's `else` from binding to the macro's `if`. */
/* clang-format off */
#if !TVMFFI_I_CLEANUP
#define TVMFFI_I_SCOPE_BLOCK(n)                               \
  for (TVMFFI_I_SCOPE(n); TVMFFI_I_CAT(tvmffi_opened_, n);    \
       tvmffi_i_scope_close(TVMFFI_I_CAT(tvmffi_opened_, n)), \
       TVMFFI_I_CAT(tvmffi_opened_, n) = NULL)
#elif defined(__clang__)
#define TVMFFI_I_SCOPE_BLOCK(n)         \
  switch (0) default:                   \
  if (0) TVMFFI_I_CAT(tvmffi_end_, n):; \
  else for (TVMFFI_I_SCOPE(n);;         \
            __extension__({ goto TVMFFI_I_CAT(tvmffi_end_, n); }))
#else
#define TVMFFI_I_SCOPE_BLOCK(n) \
  switch (0) default: for (TVMFFI_I_SCOPE(n);; __extension__({ break; }))
#endif
/* clang-format on */

/* Begins the main function of a program. The body that follows returns 0 or an
   error's code. On an error, main prints the error to stderr (include
   <stdio.h>) and returns 1:
       TVMFFI_MAIN() { return read() || compute(); } */
#define TVMFFI_MAIN()             \
  static int tvmffi_main(void);   \
  int main(void) {                \
    if (!tvmffi_main()) return 0; \
    tvmffi_error_print(stderr);   \
    return 1;                     \
  }                               \
  static int tvmffi_main(void)
