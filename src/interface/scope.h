/* ======== Scopes ========================================== >>interface/scope
   objects released at the end of a scope */
/* C interface: a scope releases at its end, newest first, what was handed out
   inside it: containers, function objects, tensors, objects of tvmffi_new,
   results of calls into a TVMFFIObject ** or TVMFFIAny *. Outside any scope
   these are the caller's. An error that is taken is always the caller's. Scopes
   nest; the innermost one gets them. A scope is of one thread and of one file:
   code of other files never sees it, and a function that is called by
   tvmffi_call begins outside of all scopes, also where it stands in the same
   file. So only plain C functions of the file share the scope of their caller.
   A file that begins no scope has none of this in its machine code. */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "value.h"
#include "error.h"
#include "knot.h"

/* So many objects stand in the scope itself; for more it takes memory. */
#define TVMFFI_I_SCOPE_FIRST 12

typedef struct tvmffi_scope {
  struct tvmffi_scope *parent;
  TVMFFIObject **items;     /* owned, in order; NULL for one that was taken */
  uint32_t count, capacity; /* of items: `first`, or memory of their own */
  uint32_t away;            /* calls in progress that were made inside it */
  TVMFFIObject *first[TVMFFI_I_SCOPE_FIRST];
} tvmffi_scope;

/* The innermost open scope. */
#if defined(TVMFFI_I_THREAD)
TVMFFI_I_UNUSED static TVMFFI_I_THREAD tvmffi_scope *tvmffi_i_scope;
#else
#define tvmffi_i_scope (*TVMFFI_I_OF_THREAD(tvmffi_scope *, TVMFFI_I_KEY_SCOPE))
#endif

/* Memory of scopes is the file's own affair: TVMFFI_MALLOC if it has that, else
   malloc. Without both a scope holds TVMFFI_I_SCOPE_FIRST objects. */
#if defined(TVMFFI_MALLOC)
#define TVMFFI_I_SCOPE_MALLOC(size) TVMFFI_MALLOC(size)
#define TVMFFI_I_SCOPE_FREE(pointer) TVMFFI_FREE(pointer)
#elif defined(TVMFFI_ARENA_SIZE) && defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_I_SCOPE_MALLOC(size) tvmffi_i_arena_alloc(size)
#define TVMFFI_I_SCOPE_FREE(pointer) tvmffi_i_arena_free(pointer)
#elif TVMFFI_FREESTANDING || (defined(__STDC_HOSTED__) && !__STDC_HOSTED__)
#define TVMFFI_I_SCOPE_MALLOC(size) ((void)(size), (void *)0)
#define TVMFFI_I_SCOPE_FREE(pointer) ((void)(pointer))
#else
#include <stdlib.h>
#define TVMFFI_I_SCOPE_MALLOC(size) malloc(size)
#define TVMFFI_I_SCOPE_FREE(pointer) free(pointer)
#endif

/* Where in the file the C interface is being used, for the leak report. */
#if TVMFFI_DEBUG
#define TVMFFI_I_QUOTE_(x) #x
#define TVMFFI_I_QUOTE(x) TVMFFI_I_QUOTE_(x)
#define TVMFFI_I_PLACE __FILE__ ":" TVMFFI_I_QUOTE(__LINE__)
#define TVMFFI_I_HERE (void)(tvmffi_i_here = TVMFFI_I_PLACE),
#if defined(TVMFFI_I_THREAD)
static TVMFFI_I_THREAD const char *tvmffi_i_here;
#else
#define tvmffi_i_here (*TVMFFI_I_OF_THREAD(const char *, TVMFFI_I_KEY_HERE))
#endif

/* Tells the runtime, if it wants to know. */
TVMFFI_I_COLD void tvmffi_i_note(const void *obj, int released,
                                 const char *place) {
  TVMFFIByteArray name = tvmffi_view("tvmffi.DebugNote");
  TVMFFIObjectHandle note = NULL;
  TVMFFIAny args[3], result = tvmffi_none();
  if (!place || TVMFFIFunctionGetGlobal(&name, &note) || !note) return;
  args[0] = tvmffi_ptr(obj);
  args[1] = tvmffi_bool(released);
  args[2] = tvmffi_str(place);
  (void)TVMFFIFunctionCall(note, args, 3, &result);
  tvmffi_release(note);
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
#define TVMFFI_I_HERE
#define tvmffi_i_drop(obj, place) tvmffi_release(obj)
#endif

/* The scope that gets what is handed out now, or NULL. */
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_here(void) {
  return tvmffi_i_scope && !tvmffi_i_scope->away ? tvmffi_i_scope : NULL;
}

/* The scope around `scope`, or NULL if a call stands between them. */
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_around(const tvmffi_scope *scope) {
  return scope->parent && !scope->parent->away ? scope->parent : NULL;
}

TVMFFI_I_COLD TVMFFIObject *tvmffi_i_scope_error(const char *message) {
  (void)TVMFFI_RAISE("RuntimeError", "%s", message);
  return NULL;
}

TVMFFI_I_COLD int tvmffi_i_scope_grow(tvmffi_scope *scope) {
  uint32_t capacity = 2 * scope->capacity, i;
  TVMFFIObject **items = NULL;
  if (scope->capacity < UINT32_MAX / 2 / sizeof(*items))
    items = (TVMFFIObject **)TVMFFI_I_SCOPE_MALLOC(capacity * sizeof(*items));
  if (!items)
    return TVMFFI_RAISE("MemoryError",
                        "out of memory for the %u objects of a scope",
                        (unsigned)capacity);
  for (i = 0; i < scope->count; ++i) items[i] = scope->items[i];
  if (scope->items != scope->first) TVMFFI_I_SCOPE_FREE((void *)scope->items);
  scope->items = items;
  scope->capacity = capacity;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_i_scope_add(tvmffi_scope *scope, TVMFFIObject *obj) {
  if (TVMFFI_I_UNLIKELY(scope->count == scope->capacity))
    TVMFFI_TRY(tvmffi_i_scope_grow(scope));
  scope->items[scope->count++] = obj;
  return 0;
}

/* Takes the newest reference to `obj` out of `scope`; 0 if it has none. */
TVMFFI_I_INLINE int tvmffi_i_scope_remove(tvmffi_scope *scope,
                                          const TVMFFIObject *obj) {
  uint32_t i = scope->count;
  while (i && scope->items[i - 1] != obj) --i;
  if (!i) return 0;
  scope->items[i - 1] = NULL;
  while (scope->count && !scope->items[scope->count - 1]) --scope->count;
  return 1;
}

/* Gives a reference that is handed out (taken; NULL is ignored) to the
   innermost scope, if there is one. Without memory for that it is released,
   and -1 is returned with a MemoryError. */
TVMFFI_I_INLINE int tvmffi_i_keep(TVMFFIObject *obj) {
  tvmffi_scope *scope = tvmffi_i_scope_here();
#if TVMFFI_DEBUG
  if (obj) tvmffi_i_note(obj, 0, tvmffi_i_here);
#endif
  if (!scope || !obj || !tvmffi_i_scope_add(scope, obj)) return 0;
  tvmffi_release(obj);
  return -1;
}

/* The same for what an owned Any holds; a refused one becomes None. */
TVMFFI_I_INLINE int tvmffi_i_keep_any(TVMFFIAny *any) {
  if (any->type_index < kTVMFFIStaticObjectBegin) return 0;
  if (!tvmffi_i_keep(any->v_obj)) return 0;
  *any = tvmffi_none();
  return -1;
}

/* Opens a scope. `scope` need not be initialised, and must exist until the
   scope is ended: who leaves the function has to end it. It cannot fail. */
TVMFFI_I_INLINE void tvmffi_scope_begin(tvmffi_scope *scope) {
  scope->parent = tvmffi_i_scope;
  scope->items = scope->first;
  scope->count = scope->away = 0;
  scope->capacity = TVMFFI_I_SCOPE_FIRST;
  tvmffi_i_scope = scope;
}

/* Releases what the innermost scope has, and closes it. A destructor may use
   the scope meanwhile: what it attaches is released, too. */
TVMFFI_I_INLINE void tvmffi_i_scope_close(void) {
  tvmffi_scope *scope = tvmffi_i_scope;
  while (scope->count) {
    TVMFFIObject *item = scope->items[--scope->count];
    tvmffi_i_drop(item, "the end of its scope");
  }
  if (scope->items != scope->first) TVMFFI_I_SCOPE_FREE((void *)scope->items);
  tvmffi_i_scope = scope->parent;
}

TVMFFI_I_INLINE int tvmffi_i_scope_is_open(const tvmffi_scope *scope) {
  const tvmffi_scope *open = tvmffi_i_scope_here();
  while (open && open != scope) open = tvmffi_i_scope_around(open);
  return open != NULL;
}

/* Ends a scope, and before it those that were begun inside it and not ended.
   A RuntimeError if it is not open, or was begun by another thread, by another
   file or before the call that is in progress. The error of the thread, if
   any, stays. */
TVMFFI_I_INLINE int tvmffi_scope_end(tvmffi_scope *scope) {
  if (!tvmffi_i_scope_is_open(scope)) {
    (void)tvmffi_i_scope_error("tvmffi_scope_end: the scope is not open here");
    return -1;
  }
  while (tvmffi_i_scope != scope) tvmffi_i_scope_close();
  tvmffi_i_scope_close();
  return 0;
}

/* Gives a reference of the caller's (taken in any case) to the innermost scope
   and returns the object, then borrowed; NULL with a RuntimeError where no
   scope is open, or a MemoryError. NULL gives NULL and no other error, so that
   it may be put around what can fail. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_scope_attach(TVMFFIObjectHandle obj) {
  if (!obj) return NULL;
  if (!tvmffi_i_scope_here()) {
    tvmffi_release(obj);
    return tvmffi_i_scope_error("tvmffi_scope_attach: no scope is open here");
  }
  return tvmffi_i_keep((TVMFFIObject *)obj) ? NULL : (TVMFFIObject *)obj;
}

/* Takes an object out of the scope that has it, the innermost one if several
   have: from then on it is the caller's, so it can be returned:
       TVMFFI_RETURN(tvmffi_scope_detach(list));
   NULL with a RuntimeError if no open scope has it. NULL gives NULL. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_scope_detach(TVMFFIObjectHandle obj) {
  tvmffi_scope *scope = obj ? tvmffi_i_scope_here() : NULL;
  for (; scope; scope = tvmffi_i_scope_around(scope))
    if (tvmffi_i_scope_remove(scope, (TVMFFIObject *)obj))
      return (TVMFFIObject *)obj;
  if (!obj) return NULL;
  return tvmffi_i_scope_error(
      "tvmffi_scope_detach: the object is in no open scope");
}

/* Moves an object from the innermost scope to the one around it and returns
   it, still borrowed. NULL with a RuntimeError if the innermost scope does not
   have it or is the outermost one, or with a MemoryError; then it stays where
   it is. NULL gives NULL. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_scope_to_parent(TVMFFIObjectHandle obj) {
  tvmffi_scope *scope = tvmffi_i_scope_here(), *parent;
  TVMFFIObject *o = (TVMFFIObject *)obj;
  if (!o) return o;
  parent = scope ? tvmffi_i_scope_around(scope) : NULL;
  if (!parent)
    return tvmffi_i_scope_error(
        "tvmffi_scope_to_parent: there is no parent scope");
  if (!tvmffi_i_scope_remove(scope, o))
    return tvmffi_i_scope_error(
        "tvmffi_scope_to_parent: the object is not in the innermost scope");
  if (!tvmffi_i_scope_add(parent, o)) return o;
  scope->items[scope->count++] = o; /* where there was room a moment ago */
  return NULL;
}

/* Tells how many references the open scopes of this thread and file hold to
   objects of exactly the type; kTVMFFIAny: of all types. It works on every
   runtime, and sees what scopes of this file have; tvmffi_live_count sees all
   objects of a runtime built with TVMFFI_DEBUG. */
TVMFFI_I_INLINE int64_t tvmffi_scope_count(int32_t type_index) {
  const tvmffi_scope *scope = tvmffi_i_scope;
  int64_t n = 0;
  uint32_t i;
  for (; scope; scope = scope->parent)
    for (i = 0; i < scope->count; ++i)
      n += scope->items[i] && (type_index == kTVMFFIAny ||
                               scope->items[i]->type_index == type_index);
  return n;
}

/* TVMFFI_SCOPE { ... } is a scope around a block. It ends however the block is
   left: at its end, by return, TVMFFI_TRY, goto, break or continue (these two
   leave the block, not a loop around it), in C++ also by an exception. A value
   that is returned is computed before. This takes the cleanup attribute of GCC
   and clang, or C++; with another compiler there is no TVMFFI_SCOPE, and every
   way out of a function ends its scope by tvmffi_scope_end. */
#if defined(__cplusplus)
extern "C++" {
namespace { /* each file has its own scopes, so its own functions of them */
struct tvmffi_i_scope_block {
  tvmffi_scope scope;
  bool tvmffi_entered;
  tvmffi_i_scope_block() : tvmffi_entered(true) { tvmffi_scope_begin(&scope); }
  tvmffi_i_scope_block(const tvmffi_i_scope_block &) = delete;
  tvmffi_i_scope_block &operator=(const tvmffi_i_scope_block &) = delete;
  ~tvmffi_i_scope_block() {
    if (tvmffi_i_scope_is_open(&scope)) (void)tvmffi_scope_end(&scope);
  }
};
} /* namespace */
} /* extern "C++" */
#define TVMFFI_SCOPE                                               \
  for (tvmffi_i_scope_block TVMFFI_I_CAT(tvmffi_scope_, __LINE__); \
       TVMFFI_I_CAT(tvmffi_scope_, __LINE__).tvmffi_entered;       \
       TVMFFI_I_CAT(tvmffi_scope_, __LINE__).tvmffi_entered = false)
#elif TVMFFI_I_GNU
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_enter(tvmffi_scope *scope) {
  tvmffi_scope_begin(scope);
  return scope;
}
TVMFFI_I_INLINE void tvmffi_i_scope_leave(tvmffi_scope *scope) {
  if (tvmffi_i_scope_is_open(scope)) (void)tvmffi_scope_end(scope);
}
#define TVMFFI_SCOPE                                                     \
  for (tvmffi_scope TVMFFI_I_CAT(tvmffi_scope_, __LINE__)                \
           __attribute__((__cleanup__(tvmffi_i_scope_leave))),           \
       *TVMFFI_I_CAT(tvmffi_entered_, __LINE__) =                        \
           tvmffi_i_scope_enter(&TVMFFI_I_CAT(tvmffi_scope_, __LINE__)); \
       TVMFFI_I_CAT(tvmffi_entered_, __LINE__);                          \
       TVMFFI_I_CAT(tvmffi_entered_, __LINE__) = NULL)
#endif

/* The main function of a program: what follows is its body, which returns 0, or
   an error's code. It runs inside a scope. An error that it returns is printed
   (the caller includes <stdio.h>), and the program ends with 1:
       TVMFFI_MAIN() { return read() || compute(); } */
#define TVMFFI_MAIN()                            \
  static int tvmffi_main(void);                  \
  int main(void) {                               \
    tvmffi_scope tvmffi_outermost;               \
    int tvmffi_code;                             \
    tvmffi_scope_begin(&tvmffi_outermost);       \
    tvmffi_code = tvmffi_main();                 \
    (void)tvmffi_scope_end(&tvmffi_outermost);   \
    if (tvmffi_code) tvmffi_error_print(stderr); \
    return tvmffi_code != 0;                     \
  }                                              \
  static int tvmffi_main(void)

/* A function of this file is not in the scope of its caller, as it returns
   what it makes: meanwhile that scope is away. */
TVMFFI_I_INLINE int tvmffi_i_call_away(TVMFFIObjectHandle function,
                                       TVMFFIAny *args, int32_t n,
                                       TVMFFIAny *result) {
  tvmffi_scope *scope = tvmffi_i_scope;
#if TVMFFI_DEBUG
  const char *place = tvmffi_i_here;
#endif
  int code;
  if (scope) ++scope->away;
  code = TVMFFIFunctionCall(function, args, n, result);
  if (scope) --scope->away;
#if TVMFFI_DEBUG
  tvmffi_i_here = place;
#endif
  return code;
}
