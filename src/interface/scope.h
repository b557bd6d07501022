/* ======== Scopes ========================================== >>interface/scope
   objects released at the end of a block */
/* A scope owns the objects that the code in it receives: containers, functions,
   tensors, objects of TVMFFI_NEW, and results of calls into a TVMFFIObject **
   or TVMFFIAny *. The scope's end releases them, newest first. The body of a
   typed function is a scope, and TVMFFI_RETURN gives the caller a reference of
   its own. TVMFFI_SCOPE opens a scope in a block, and TVMFFI_HERE passes a
   scope to a function. tvmffi_keep takes a reference that outlives the scope.
   Scopes nest, and the innermost scope owns new objects and errors that are
   taken. Outside all scopes, an object cannot be made.

   A maker returns a new object, such as tvmffi_list, TVMFFI_NEW or your own
   function with TVMFFI_HERE. A maker of this header that fails returns NULL and
   marks its scope. In a marked scope, makers and calls do nothing: they fail
   and leave the first error pending. So a tree is made in one expression, and
   its root is checked. The body of a typed function or of TVMFFI_MAIN fails if
   its scope is marked at its end. A mark lasts until the scope is closed or the
   error is handled (tvmffi_error_take, tvmffi_error_clear, tvmffi_error_catch).
   A scope in a marked scope begins marked, but does not mark the scope around
   it.

   An argument that is NULL while an error is pending comes from a maker that
   failed: the error stays, and the function is not called. So code that runs
   although an error is pending, such as a clean-up, takes the error first.

   Each macro that returns an object passes tvmffi_here, the innermost scope, to
   a function. A scope belongs to one thread: open a scope in each parallel
   region of OpenMP. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "list.h"

/* Number of objects stored in the scope itself. More objects need an
   allocation. */
#define TVMFFI_I_SCOPE_FIRST 12

struct tvmffi_scope {
  tvmffi_scope *parent;     /* the enclosing scope, or NULL */
  uint32_t count, capacity; /* of `items`; 0 before the first object */
  int32_t marked;       /* nonzero if a maker failed; its error may be gone */
  TVMFFIObject **items; /* `first` or allocated; owned or NULL, oldest first */
#if TVMFFI_DEBUG
  const char *end;    /* "the end of the scope at file:line" */
  const char *thread; /* the thread's &tvmffi_i_this_thread; NULL once left */
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

/* The scope that owns a new object. With TVMFFI_DEBUG the owner includes the
   source line, for the leak report and the traces of errors. */
#if TVMFFI_DEBUG
typedef struct {
  tvmffi_scope *scope;
  const char *place;            /* "file:line" */
  const char *frame, *function; /* of a trace's line, or NULL */
} tvmffi_i_owner;
TVMFFI_I_INLINE tvmffi_i_owner tvmffi_i_owned_by(tvmffi_scope *scope,
                                                 const char *place,
                                                 const char *frame,
                                                 const char *function) {
  const tvmffi_i_owner owner = {scope, place, frame, function};
  return owner;
}
#define TVMFFI_I_PLACE __FILE__ ":" TVMFFI_I_QUOTE(__LINE__)
#define TVMFFI_I_LINE_HERE                                               \
  TVMFFI_I_PLACE,                                                        \
      "  File \"" __FILE__ "\", line " TVMFFI_I_QUOTE(__LINE__) ", in ", \
      __func__
#define TVMFFI_I_SCOPE_END "the end of the scope at " TVMFFI_I_PLACE

/* The address of this variable identifies the thread. With the hook
   TVMFFI_THREAD_LOCAL, all threads have the same. */
#if defined(TVMFFI_I_THREAD)
TVMFFI_I_UNUSED static TVMFFI_I_THREAD char tvmffi_i_this_thread;
#else
TVMFFI_I_UNUSED static char tvmffi_i_this_thread;
#endif
/* A scope with more objects is reported: a loop needs a scope of its own. */
#define TVMFFI_I_SCOPE_LARGE 10000

/* Records the source line that received or released an object, if the runtime
   tracks leaks. */
TVMFFI_I_ONCE(void, tvmffi_i_note,
              (const void *obj, int released, const char *place)) {
  TVMFFIAny args[3] = {tvmffi_ptr(obj), tvmffi_bool(released),
                       tvmffi_str(place)};
  TVMFFIAny result = tvmffi_none();
  if (place)
    (void)tvmffi_i_call_if_defined("tvmffi.DebugNote", args, 3, &result);
}

/* Returns the length of the trace's first line if that is a frame of this
   function without its source line, 0 if it is one of another function or there
   is none, and -1 if it has a source line. In C++ the frame has the function's
   parameters, too. */
TVMFFI_I_ONCE(int, tvmffi_i_bare_frame,
              (TVMFFIByteArray trace, const char *function)) {
  const TVMFFIByteArray mark = tvmffi_byte_array(", line 0, in ");
  TVMFFIByteArray at = mark, name = tvmffi_byte_array(function);
  size_t begin = 0, end = 0, i = 0;
  for (; i < trace.size && trace.data[i] != '\n'; ++i) {
    at.data = trace.data + i;
    if (!begin && i + mark.size < trace.size && tvmffi_i_same(at, mark.data))
      begin = i + mark.size;
    if (!end && begin && i >= begin && trace.data[i] == '(') end = i;
  }
  if (!begin) return trace.size ? -1 : 0;
  if (!end) end = i;
  if (end - begin < name.size) return 0;
  name.data = trace.data + end - name.size;
  return tvmffi_i_same(name, function) ? (int)(i + (i < trace.size)) : 0;
}

/* Puts the source line of a call or maker that failed into the trace of the
   raised error. `is_direct`: no other function was called, so the line comes
   first, unless another one does. Else only the frame of the same function, if
   it is the first one, gets the line. Without memory, leaves the trace. Returns
   `code`. */
TVMFFI_I_ONCE(int, tvmffi_i_failed_at,
              (tvmffi_i_owner at, int code, int is_direct)) {
  TVMFFIObject *error, *text;
  const TVMFFIErrorCell *cell;
  const char *parts[4];
  int n;
  if (!code || !at.frame || !(error = tvmffi_i_error_remove())) return code;
  cell = TVMFFIErrorGetCellPtr(error);
  parts[0] = at.frame;
  parts[1] = tvmffi_i_function_name(at.function);
  parts[2] = "\n";
  n = tvmffi_i_bare_frame(cell->backtrace, parts[1]);
  parts[3] = cell->backtrace.size ? cell->backtrace.data + n : "";
  if (n > 0 || (!n && (is_direct || !cell->backtrace.size))) {
    TVMFFIErrorSetRaisedFromCStrParts("", parts, 4); /* joins the parts */
    text = tvmffi_i_error_remove();
    if (text && !TVMFFIErrorGetCellPtr(text)->kind.size)
      cell->update_backtrace(error, &TVMFFIErrorGetCellPtr(text)->message,
                             kTVMFFIBacktraceUpdateModeReplace);
    tvmffi_i_release(text);
  }
  TVMFFIErrorSetRaised(error);
  tvmffi_i_release(error);
  return code;
}

TVMFFI_I_INLINE void tvmffi_i_drop(TVMFFIObjectHandle obj, const char *place) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  if (o && (uint32_t)tvmffi_i_load64(&o->combined_ref_count) == 1)
    tvmffi_i_note(o, 1, place);
  tvmffi_i_release(o);
}

TVMFFI_I_INLINE void tvmffi_i_any_drop(TVMFFIAny *any, const char *place) {
  if (any->type_index >= kTVMFFIStaticObjectBegin) {
    tvmffi_i_drop(any->v_obj, place);
    any->type_index = kTVMFFINone;
  }
  tvmffi_i_any_release(any);
}
#else
typedef tvmffi_scope *tvmffi_i_owner;
TVMFFI_I_INLINE tvmffi_i_owner tvmffi_i_owned_by(tvmffi_scope *scope,
                                                 const char *place,
                                                 const char *frame,
                                                 const char *function) {
  (void)place, (void)frame, (void)function;
  return scope;
}
#define TVMFFI_I_PLACE NULL
#define TVMFFI_I_LINE_HERE NULL, NULL, NULL
#define tvmffi_i_failed_at(owner, code, is_direct) (code)
#define TVMFFI_I_SCOPE_END NULL
#define tvmffi_i_drop(obj, place) tvmffi_i_release(obj)
#define tvmffi_i_any_drop(any, place) tvmffi_i_any_release(any)
#endif

TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_in(tvmffi_i_owner owner) {
#if TVMFFI_DEBUG
  return owner.scope;
#else
  return owner;
#endif
}

/* Returns -1 if the owner's scope is marked and the error is still pending, so
   that makers and calls must do nothing. Else returns 0 and removes the mark.
   Without a scope, returns 0. */
TVMFFI_I_INLINE int tvmffi_i_is_marked(tvmffi_i_owner owner) {
  tvmffi_scope *scope = tvmffi_i_scope_in(owner);
  if (TVMFFI_I_LIKELY(!scope || !scope->marked)) return 0;
  scope->marked = tvmffi_i_pending();
  return scope->marked;
}

/* Called when a function that makes an object fails: marks the owner's scope,
   so that later ones do nothing. Returns NULL, which the function returns. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_mark(tvmffi_i_owner owner) {
  tvmffi_scope *scope = tvmffi_i_scope_in(owner);
  if (scope) scope->marked = 1;
  (void)tvmffi_i_failed_at(owner, -1, 1);
  return NULL;
}

/* The owner of a new object. */
#define TVMFFI_I_OWNER tvmffi_i_owned_by(tvmffi_here, TVMFFI_I_LINE_HERE)

/* The owner of a result that is stored at `out`. Only an object or an Any needs
   an owner, so other results compile outside all scopes. A tvmffi_out does not
   show its type to the compiler, so the call checks that there is a scope. */
#if defined(__cplusplus)
extern "C++" {
template <typename tvmffi_type>
struct tvmffi_i_out_type {};
template <typename tvmffi_type>
tvmffi_i_out_type<tvmffi_type> tvmffi_i_out_type_of(const tvmffi_type &);
template <typename tvmffi_type>
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_for(
    tvmffi_scope *here, tvmffi_i_out_type<tvmffi_type>) {
  return here;
}
template <typename tvmffi_type>
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_for(
    tvmffi_i_no_scope *, tvmffi_i_out_type<tvmffi_type>) {
  return nullptr;
}
template <typename tvmffi_type>
TVMFFI_I_INLINE tvmffi_i_no_scope *tvmffi_i_scope_for(
    tvmffi_i_no_scope *here, tvmffi_i_out_type<tvmffi_type **>) {
  return here;
}
TVMFFI_I_INLINE tvmffi_scope *tvmffi_i_scope_for(tvmffi_i_no_scope *,
                                                 tvmffi_i_out_type<void **>) {
  return nullptr;
}
TVMFFI_I_INLINE tvmffi_i_no_scope *tvmffi_i_scope_for(
    tvmffi_i_no_scope *here, tvmffi_i_out_type<TVMFFIAny *>) {
  return here;
}
template <typename tvmffi_type>
tvmffi_i_owner tvmffi_i_owned_by(tvmffi_type *, const char *, const char *,
                                 const char *) {
  static_assert(!sizeof(tvmffi_type *),
                "no scope here: add the parameter TVMFFI_HERE or write "
                "TVMFFI_SCOPE");
  return tvmffi_i_owner();
}
}
#define TVMFFI_I_OWNER_OF(out)                                                 \
  tvmffi_i_owned_by(tvmffi_i_scope_for(tvmffi_i_here,                          \
                                       decltype(tvmffi_i_out_type_of(out))()), \
                    TVMFFI_I_LINE_HERE)
#elif TVMFFI_I_GENERIC
/* clang-format off */
#define TVMFFI_I_OWNER_OF(out) \
  tvmffi_i_owned_by( \
      _Generic(_Generic((out), TVMFFIObject **: tvmffi_i_here, \
                        TVMFFIAny *: tvmffi_i_here, default: tvmffi_i_outer), \
          tvmffi_scope *: _Generic((out), TVMFFIObject **: tvmffi_i_here, \
                        TVMFFIAny *: tvmffi_i_here, default: tvmffi_i_outer)), \
      TVMFFI_I_LINE_HERE)
/* clang-format on */
#else
#define TVMFFI_I_OWNER_OF(out) \
  tvmffi_i_owned_by(tvmffi_i_outer, TVMFFI_I_LINE_HERE)
#endif

TVMFFI_I_ONCE(TVMFFIObject *, tvmffi_i_scope_error, (const char *message)) {
  (void)tvmffi_i_raise("RuntimeError", "%s", message);
  return NULL;
}

TVMFFI_I_ONCE(int, tvmffi_i_scope_grow, (tvmffi_scope *scope)) {
  uint32_t capacity = 2 * scope->capacity, i;
  TVMFFIObject **items = NULL;
  if (scope->capacity < UINT32_MAX / 2 / sizeof(*items))
    items = (TVMFFIObject **)TVMFFI_I_SCOPE_MALLOC(capacity * sizeof(*items));
  if (!items)
    return tvmffi_i_raise("MemoryError",
                          "out of memory for the %u objects of a scope",
                          (unsigned)capacity);
  for (i = 0; i < scope->count; ++i) items[i] = scope->items[i];
  if (scope->capacity > TVMFFI_I_SCOPE_FIRST)
    TVMFFI_I_SCOPE_FREE((void *)scope->items);
  scope->items = items;
  scope->capacity = capacity;
  return 0;
}

#if TVMFFI_DEBUG
/* Checks that a scope may receive an object here. Reports a large scope. */
TVMFFI_I_ONCE(int, tvmffi_i_scope_check, (const tvmffi_scope *scope)) {
  if (!scope->thread)
    return tvmffi_i_raise("RuntimeError",
                          "this scope has ended: a function that is called "
                          "later opens its own by TVMFFI_SCOPE");
  if (scope->thread != &tvmffi_i_this_thread)
    return tvmffi_i_raise("RuntimeError",
                          "this scope belongs to another thread: open a scope "
                          "in the parallel region");
  if (scope->count == TVMFFI_I_SCOPE_LARGE) {
    TVMFFIAny arg = tvmffi_str(scope->end), result = tvmffi_none();
    (void)tvmffi_i_call_if_defined("tvmffi.DebugLargeScope", &arg, 1, &result);
  }
  return 0;
}
#endif

TVMFFI_I_INLINE int tvmffi_i_scope_add(tvmffi_scope *scope, TVMFFIObject *obj) {
  if (TVMFFI_I_UNLIKELY(!scope))
    return tvmffi_i_raise("RuntimeError",
                          "there is no scope here: add the parameter "
                          "TVMFFI_HERE, or call tvmffi_scope_open");
#if TVMFFI_DEBUG
  TVMFFI_TRY(tvmffi_i_scope_check(scope));
#endif
  if (!scope->capacity) {
    scope->items = scope->first;
    scope->capacity = TVMFFI_I_SCOPE_FIRST;
  } else if (TVMFFI_I_UNLIKELY(scope->count == scope->capacity)) {
    TVMFFI_TRY(tvmffi_i_scope_grow(scope));
  }
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
TVMFFI_I_SMALL_ONCE(int, tvmffi_i_hand,
                    (tvmffi_i_owner to, TVMFFIObject *obj)) {
#if TVMFFI_DEBUG
  if (obj) tvmffi_i_note(obj, 0, to.place);
#endif
  if (!obj || !tvmffi_i_scope_add(tvmffi_i_scope_in(to), obj)) return 0;
  tvmffi_i_release(obj);
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
                                                  tvmffi_scope *parent,
                                                  const char *end) {
  (void)end;
  scope->parent = parent;
  scope->items = NULL;
  scope->count = 0;
  scope->capacity = 0;
  scope->marked = parent ? parent->marked : 0;
#if TVMFFI_DEBUG
  scope->end = end;
  scope->thread = &tvmffi_i_this_thread;
#endif
  return scope;
}

#if TVMFFI_DEBUG
#define TVMFFI_I_END_OF(scope) ((scope)->end)
#else
#define TVMFFI_I_END_OF(scope) NULL
#endif

/* Releases the objects of a scope, newest first, and frees its memory. */
TVMFFI_I_ONCE(void, tvmffi_i_scope_clear,
              (TVMFFIObject **items, uint32_t count, uint32_t capacity,
               const char *end)) {
  (void)end;
  while (count) {
    TVMFFIObject *item = items[--count];
    tvmffi_i_drop(item, end);
  }
  if (capacity > TVMFFI_I_SCOPE_FIRST) TVMFFI_I_SCOPE_FREE((void *)items);
}

/* Closes a scope for the last time. Mostly the scope owns nothing. Only inline
   functions get the address of the scope, so if the body makes nothing, the
   compiler removes the scope, also if it compiles for size. With TVMFFI_DEBUG,
   clears `thread`, after which the scope takes no more objects. */
TVMFFI_I_FOLDED void tvmffi_i_scope_end(tvmffi_scope *scope) {
  if (TVMFFI_I_UNLIKELY(scope->capacity))
    tvmffi_i_scope_clear(scope->items, scope->count, scope->capacity,
                         TVMFFI_I_END_OF(scope));
#if TVMFFI_DEBUG
  *(const char *volatile *)&scope->thread = NULL;
#endif
}

/* Opens a scope with compilers that lack TVMFFI_SCOPE (MSVC's C, tcc). Cannot
   fail, and returns the scope: the caller owns it and ends it by
   tvmffi_scope_close. The scope has no parent. Code between the two calls must
   not leave by return, goto or TVMFFI_TRY:
       tvmffi_scope scope;
       TVMFFI_HERE = tvmffi_scope_open(&scope);
       code = run(tvmffi_here);
       tvmffi_scope_close(&scope); */
#define tvmffi_scope_open(scope) \
  tvmffi_i_scope_open(scope, NULL, TVMFFI_I_SCOPE_END)

/* Closes a scope of tvmffi_scope_open: releases its objects, newest first.
   Returns nothing. Leaves an empty scope without a mark, which can receive
   objects and be closed again. */
TVMFFI_I_INLINE void tvmffi_scope_close(tvmffi_scope *scope) {
  /* Takes an object off before it releases it, because a destructor may attach
     others to this scope or, in C++, throw. */
  while (scope->count)
    tvmffi_i_drop(scope->items[--scope->count], TVMFFI_I_END_OF(scope));
  if (TVMFFI_I_UNLIKELY(scope->capacity))
    tvmffi_i_scope_clear(scope->items, 0, scope->capacity, NULL);
  scope->capacity = 0;
  scope->marked = 0;
}

/* Closes the scope of a block that is left. */
TVMFFI_I_INLINE void tvmffi_i_scope_leave(tvmffi_scope *scope) {
  tvmffi_scope_close(scope);
  tvmffi_i_scope_end(scope);
}

/* Returns nonzero if the scope is marked. A function, because its callers are
   macros that expand in the user's source, where `marked` may be a macro. */
TVMFFI_I_INLINE int tvmffi_i_scope_marked(const tvmffi_scope *scope) {
  return scope->marked;
}

TVMFFI_I_INLINE void tvmffi_i_scope_give(tvmffi_scope *scope,
                                         TVMFFIObject *obj) {
  if (scope->count && scope->items[scope->count - 1] == obj)
    --scope->count;
  else
    tvmffi_i_retain(obj);
}

/* Takes ownership of a reference, such as a handle from a function of the ABI,
   for the innermost scope. Returns the object, now owned by the scope. On
   failure releases the reference and returns NULL with a MemoryError. If `obj`
   is NULL, returns NULL and raises nothing, so `obj` may be a call that fails.
   In both cases marks the scope. */
#define tvmffi_scope_attach(obj) \
  tvmffi_i_scope_attach(TVMFFI_I_OWNER, TVMFFI_I_HANDLE(obj))

TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_scope_attach(tvmffi_i_owner to,
                                                    TVMFFIObjectHandle obj) {
  tvmffi_i_check_alive(obj);
  return !obj || tvmffi_i_hand(to, (TVMFFIObject *)obj) ? tvmffi_i_mark(to)
                                                        : (TVMFFIObject *)obj;
}

/* Takes the thread's pending error: removes it from the thread's slot, and
   returns the error, which is owned by the scope, or NULL if no error is
   pending. Ends the scope's mark. Without memory for the scope, drops the error
   and returns NULL with a MemoryError. */
#define tvmffi_error_take() tvmffi_i_scope_error_take(TVMFFI_I_OWNER)

TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_scope_error_take(tvmffi_i_owner to) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  return tvmffi_i_hand(to, error) ? NULL : error;
}

/* Moves an object from the innermost scope to the scope that encloses it.
   Returns the object, now owned by the enclosing scope. On failure returns NULL
   with an error and moves nothing: a RuntimeError if the innermost scope does
   not own the object or is the only scope, else a MemoryError. If `obj` is
   NULL, returns NULL. */
#define tvmffi_scope_to_parent(obj) \
  tvmffi_i_scope_to_parent(tvmffi_here, TVMFFI_I_HANDLE(obj))

TVMFFI_I_INLINE TVMFFIObject *tvmffi_i_scope_to_parent(tvmffi_scope *scope,
                                                       TVMFFIObjectHandle obj) {
  TVMFFIObject *o = (TVMFFIObject *)obj;
  if (!o) return o;
  if (!scope->parent)
    return tvmffi_i_scope_error(
        "tvmffi_scope_to_parent: there is no scope around this one");
  if (tvmffi_i_scope_add(scope->parent, o)) return NULL;
  if (tvmffi_i_scope_remove(scope, o)) return o;
  --scope->parent->count;
  return tvmffi_i_scope_error(
      "tvmffi_scope_to_parent: the object is not in the innermost scope");
}

/* Returns the number of references to objects of exactly this type that the
   enclosing scopes own; kTVMFFIAny counts all types. Cannot fail. Works on
   every runtime, unlike tvmffi_live_count. */
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

/* On purpose, a scope's tvmffi_i_here hides the enclosing scope's.
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
/* A scope that its destructor closes by tvmffi_end. This is
   tvmffi_i_scope_leave for a block, and tvmffi_i_scope_end for a function's
   body, because compilers can remove the latter if the body makes nothing. */
template <void (*tvmffi_end)(tvmffi_scope *)>
struct tvmffi_i_scope_block : tvmffi_scope {
  tvmffi_i_scope_block(tvmffi_scope *around, const char *end_place) {
    (void)tvmffi_i_scope_open(this, around, end_place);
  }
  tvmffi_i_scope_block(const tvmffi_i_scope_block &) = delete;
  tvmffi_i_scope_block &operator=(const tvmffi_i_scope_block &) = delete;
  ~tvmffi_i_scope_block() { tvmffi_end(this); }
};
} /* namespace */
} /* extern "C++" */
#define TVMFFI_I_SCOPE(n)                                                    \
  tvmffi_i_scope_block<tvmffi_i_scope_leave> TVMFFI_I_CAT(tvmffi_scope_, n)( \
      tvmffi_i_outer, TVMFFI_I_SCOPE_END);                                   \
  tvmffi_scope *const tvmffi_i_here TVMFFI_I_UNUSED =                        \
      &TVMFFI_I_CAT(tvmffi_scope_, n)
#else
/* Declares a scope. tvmffi_opened_<n> is initialised first, from the enclosing
   scope's tvmffi_i_here, before the new tvmffi_i_here hides it. */
#define TVMFFI_I_SCOPE(n)                                                      \
  tvmffi_scope TVMFFI_I_CAT(tvmffi_scope_, n)                                  \
      __attribute__((__cleanup__(tvmffi_i_scope_leave))),                      \
      *TVMFFI_I_CAT(tvmffi_opened_, n) =                                       \
          tvmffi_i_scope_open(&TVMFFI_I_CAT(tvmffi_scope_, n), tvmffi_i_outer, \
                              TVMFFI_I_SCOPE_END),                             \
                                    *const tvmffi_i_here TVMFFI_I_UNUSED =     \
                                        TVMFFI_I_CAT(tvmffi_opened_, n)
#endif

/* Opens a scope in the rest of the enclosing block: `TVMFFI_SCOPE;`. The scope
   owns the objects that the rest of the block makes and receives. However the
   block is left, by return, TVMFFI_TRY, goto, break, continue or a C++
   exception, the scope ends. A return value is computed before the scope ends.
   No goto and no case label may jump past TVMFFI_SCOPE into the block: clang
   refuses it, GCC would end a scope that was never opened (-Wjump-misses-init
   warns). In C it needs the cleanup attribute of GCC and clang; elsewhere it
   does not compile, and tvmffi_scope_open takes its place. */
#if TVMFFI_I_CLEANUP
#define TVMFFI_SCOPE TVMFFI_I_SCOPE_FROM_HERE(__LINE__)
#define TVMFFI_I_SCOPE_FROM_HERE(n)      \
  TVMFFI_I_HIDE_BEGIN TVMFFI_I_SCOPE(n); \
  TVMFFI_I_HIDE_END(void) 0
#else
#define TVMFFI_SCOPE    \
  TVMFFI_STATIC_ASSERT( \
      0, TVMFFI_SCOPE_needs_the_cleanup_attribute__call_tvmffi_scope_open)
#endif

/* Declares the parameter of a function that hands out objects: they are owned
   by the scope of its caller.
       static TVMFFIObject *pair(TVMFFI_HERE, int64_t a) {
         return tvmffi_array(a, a + 1);
       }
   The caller passes its own scope: pair(tvmffi_here, 3). */
#define TVMFFI_HERE TVMFFI_I_UNUSED tvmffi_scope *const tvmffi_i_here

/* -------- References -------- */

typedef struct {
  TVMFFIObject base;
} tvmffi_i_example_object;
extern const tvmffi_i_example_object tvmffi_i_example; /* never defined */

/* An object is a handle of the ABI (void *), a TVMFFIObject * or a pointer to a
   struct that begins with one. For a pointer to another struct, such as a
   DLTensor, the compiler's error names the member `base` that is missing.
   TVMFFI_I_HANDLE(x) is the pointer x, checked. */
#if defined(__cplusplus)
extern "C++" {
/* `value` is true if tvmffi_type is tvmffi_wanted, or a struct whose member
   `base` has such a type. */
template <typename tvmffi_wanted, typename tvmffi_type>
struct tvmffi_i_is_a {
  template <typename tvmffi_any>
  static char (&test(int))
      [tvmffi_i_is_a<tvmffi_wanted, decltype(tvmffi_any::base)>::value ? 1 : 2];
  template <typename tvmffi_any>
  static char (&test(long))[2];
  static constexpr bool value = sizeof(test<tvmffi_type>(0)) == 1;
};
template <typename tvmffi_wanted>
struct tvmffi_i_is_a<tvmffi_wanted, tvmffi_wanted> {
  static constexpr bool value = true;
};
TVMFFI_I_INLINE TVMFFIObjectHandle tvmffi_i_handle(TVMFFIObjectHandle x) {
  return x; /* NULL, too */
}
template <typename tvmffi_type>
static inline TVMFFIObjectHandle tvmffi_i_handle(tvmffi_type *x) {
  static_assert(tvmffi_i_is_a<TVMFFIObject, tvmffi_type>::value,
                "no_object__its_first_member_is_not_base");
  return x;
}
/* The result of an assignment, which a second value may not follow. */
struct tvmffi_i_one_value_only {};
template <typename tvmffi_type>
static inline void operator,(tvmffi_i_one_value_only, const tvmffi_type &) {
  static_assert(!sizeof(tvmffi_type), "one_value_only__without_a_comma");
}
/* The type to which TVMFFI_I_ASSIGN casts the variable on its left side: a
   struct of this variable. For a pointer, its operator= accepts a pointer to
   the same or a derived struct and no other. */
template <typename tvmffi_type>
struct tvmffi_i_assigned;
template <typename tvmffi_type>
struct tvmffi_i_assigned<tvmffi_type &> {
  struct tvmffi_place {
    tvmffi_type to;
    tvmffi_i_one_value_only operator=(tvmffi_type x) {
      to = x;
      return tvmffi_i_one_value_only();
    }
  };
};
template <>
struct tvmffi_i_assigned<TVMFFIByteArray &> {
  struct tvmffi_place {
    TVMFFIByteArray to;
    tvmffi_i_one_value_only operator=(TVMFFIByteArray x) {
      to = x;
      return tvmffi_i_one_value_only();
    }
    template <typename tvmffi_type>
    tvmffi_i_one_value_only operator=(tvmffi_type *) {
      static_assert(!sizeof(tvmffi_type *),
                    "a_text_needs_its_size__write_tvmffi_byte_array");
      return tvmffi_i_one_value_only();
    }
    /* Accepts std::string, std::string_view and other texts. */
    template <typename tvmffi_type>
    auto operator=(const tvmffi_type &x)
        -> decltype(TVMFFIByteArray{x.data(), x.size()},
                    tvmffi_i_one_value_only()) {
      to.data = x.size() ? x.data() : "";
      to.size = x.size();
      return tvmffi_i_one_value_only();
    }
  };
};
template <typename tvmffi_wanted>
struct tvmffi_i_assigned<tvmffi_wanted *&> {
  struct tvmffi_place {
    tvmffi_wanted *to;
    template <typename tvmffi_type>
    tvmffi_i_one_value_only operator=(tvmffi_type *x) {
      static_assert(tvmffi_i_is_a<tvmffi_wanted, tvmffi_type>::value ||
                        !tvmffi_i_is_a<DLTensor, tvmffi_type>::value,
                    "a_tensor_is_not_an_object__write_tensor_object");
      static_assert(tvmffi_i_is_a<tvmffi_wanted, tvmffi_type>::value ||
                        tvmffi_i_is_a<DLTensor, tvmffi_type>::value,
                    "not_derived_from_the_wanted_type__cast_it");
      to = static_cast<tvmffi_wanted *>(static_cast<void *>(x));
      return tvmffi_i_one_value_only();
    }
    tvmffi_i_one_value_only operator=(decltype(nullptr)) {
      to = nullptr;
      return tvmffi_i_one_value_only();
    }
  };
};
template <>
struct tvmffi_i_assigned<void *&> {
  struct tvmffi_place {
    void *to;
    tvmffi_i_one_value_only operator=(void *x) {
      to = x;
      return tvmffi_i_one_value_only();
    }
  };
};
}
#define TVMFFI_I_HANDLE(x) tvmffi_i_handle(x)
#elif TVMFFI_I_GENERIC
#define TVMFFI_I_HANDLE(x) \
  ((void)sizeof(char[sizeof(_Generic((x), void *: &tvmffi_i_example, \
      TVMFFIObject *: &tvmffi_i_example, default: (x))->base) < \
      sizeof(TVMFFIObject) ? -1 : 1]), (x))
#else
#define TVMFFI_I_HANDLE(x) (x)
#endif

/* TVMFFI_I_ASSIGN(to, x) assigns x to the variable `to`. If `to` is a pointer
   to an object, x may also be a pointer to a struct that is derived from the
   object. Another struct is a compile error. C compares with the first six
   ancestors of a struct. */
#if defined(__cplusplus)
#define TVMFFI_I_ASSIGN(to, ...)                                          \
  (reinterpret_cast<tvmffi_i_assigned<decltype((to))>::tvmffi_place &>(to) = \
       __VA_ARGS__)
#elif TVMFFI_I_SELECTS && TVMFFI_I_GNU && !defined(__TINYC__) && \
    !defined(__CHECKER__) /* sparse */
#define TVMFFI_I_IS_POINTER(x)        \
  (__builtin_classify_type(x) == 5 && \
   !__builtin_types_compatible_p(__typeof__(x), void *))
/* The type of the member `base` of T. For the root, TVMFFIObject, it is
   TVMFFIObject. For int it is int: compilers take int for the type of a member
   that is missing, so a struct without `base` causes one error only. */
#define TVMFFI_I_PARENT(T)                                  \
  __typeof__(_Generic(*(T *)0, TVMFFIObject                 \
                      : tvmffi_i_example, int               \
                      : *(struct { int base; } *)0, default \
                      : *(T *)0)                            \
                 .base)
#define TVMFFI_I_IS_WANTED(T) __builtin_types_compatible_p(tvmffi_wanted, T)
/* The type tvmffi_0 is the struct that x points to; tvmffi_1 and so on are its
   ancestors. They are compared only if `to` and x are pointers of different
   types and x is not a void pointer. So x may point to an incomplete struct if
   `to` has the same type. The comma makes a value of a bit-field, which has no
   __typeof__. */
#define TVMFFI_I_ASSIGN(to, ...)                                             \
  __extension__({                                                            \
    typedef __typeof__(((void)0, (__VA_ARGS__))) tvmffi_x;                   \
    typedef __typeof__((tvmffi_x[]){__VA_ARGS__}) tvmffi_values;             \
    typedef __typeof__(*__builtin_choose_expr(                               \
        TVMFFI_I_IS_POINTER(to), to, (TVMFFIObject *)0)) tvmffi_wanted;      \
    enum {                                                                   \
      tvmffi_is_compared =                                                   \
          TVMFFI_I_IS_POINTER(to) && TVMFFI_I_IS_POINTER(*(tvmffi_x *)0) &&  \
          !__builtin_types_compatible_p(tvmffi_x, __typeof__(to)),           \
      tvmffi_is_view =                                                       \
          tvmffi_is_compared &&                                              \
          (__builtin_types_compatible_p(tvmffi_x, DLTensor *) ||             \
           __builtin_types_compatible_p(tvmffi_x, const DLTensor *)),        \
      tvmffi_is_text =                                                       \
          __builtin_types_compatible_p(__typeof__(to), TVMFFIByteArray) &&   \
          TVMFFI_I_IS_POINTER(*(tvmffi_x *)0),                               \
      tvmffi_is_one = sizeof(tvmffi_values) == sizeof(tvmffi_x)              \
    };                                                                       \
    typedef __typeof__(*__builtin_choose_expr(                               \
        tvmffi_is_compared && !tvmffi_is_view, *(tvmffi_x *)0,               \
        (TVMFFIObject *)0)) tvmffi_0;                                        \
    typedef TVMFFI_I_PARENT(tvmffi_0) tvmffi_1;                              \
    typedef TVMFFI_I_PARENT(tvmffi_1) tvmffi_2;                              \
    typedef TVMFFI_I_PARENT(tvmffi_2) tvmffi_3;                              \
    typedef TVMFFI_I_PARENT(tvmffi_3) tvmffi_4;                              \
    typedef TVMFFI_I_PARENT(tvmffi_4) tvmffi_5;                              \
    typedef TVMFFI_I_PARENT(tvmffi_5) tvmffi_6;                              \
    enum {                                                                   \
      tvmffi_is_derived =                                                    \
          !tvmffi_is_compared || tvmffi_is_view ||                           \
          TVMFFI_I_IS_WANTED(tvmffi_0) || TVMFFI_I_IS_WANTED(tvmffi_1) ||    \
          TVMFFI_I_IS_WANTED(tvmffi_2) || TVMFFI_I_IS_WANTED(tvmffi_3) ||    \
          TVMFFI_I_IS_WANTED(tvmffi_4) || TVMFFI_I_IS_WANTED(tvmffi_5) ||    \
          TVMFFI_I_IS_WANTED(tvmffi_6)                                       \
    };                                                                       \
    _Static_assert(!tvmffi_is_view,                                          \
                   "a_tensor_is_not_an_object__write_tensor_object");        \
    _Static_assert(tvmffi_is_derived,                                        \
                   "not_derived_from_the_wanted_type__cast_it");             \
    _Static_assert(!tvmffi_is_text,                                          \
                   "a_text_needs_its_size__write_tvmffi_byte_array");        \
    _Static_assert(tvmffi_is_one, "one_value_only__without_a_comma");        \
    __typeof__(__builtin_choose_expr(TVMFFI_I_IS_POINTER(*(tvmffi_x *)0),    \
                                     (void *)0, to)) tvmffi_v = __VA_ARGS__; \
    (to) = __builtin_choose_expr(tvmffi_is_text, to, tvmffi_v);              \
  })
#else
#define TVMFFI_I_ASSIGN(to, ...) ((to) = __VA_ARGS__)
#endif

/* Adds a strong reference, which the caller owns, to a live object. Returns
   nothing. */
#define tvmffi_retain(object) tvmffi_i_retain(TVMFFI_I_HANDLE(object))

/* Drops the caller's strong reference. Dropping the last strong reference
   destroys the object. Ignores NULL. Without arguments, the name means a
   function, which can be the deleter of a state that is an object. */
TVMFFI_I_INLINE void tvmffi_release(TVMFFIObjectHandle object) {
  tvmffi_i_release(object);
}
#define tvmffi_release(object) \
  tvmffi_i_drop(TVMFFI_I_HANDLE(object), TVMFFI_I_PLACE)

/* Releases an owned Any and sets it to None. Returns nothing. */
#define tvmffi_any_release(any) tvmffi_i_any_drop(any, TVMFFI_I_PLACE)

/* Keeps an object beyond its scope: puts a reference to `object` (borrowed)
   into the variable or member at `slot`, a pointer to a pointer of the object's
   type or of one that the object is derived from, and releases the object that
   the slot held before. The slot owns the reference. It must be NULL or hold a
   reference before; end with tvmffi_release(*slot). Returns nothing.
   Thread-safe if no other thread uses the slot. */
#if defined(__cplusplus)
extern "C++" {
template <typename tvmffi_wanted, typename tvmffi_type>
static inline void tvmffi_keep(tvmffi_wanted **slot, tvmffi_type *object) {
  static_assert(tvmffi_i_is_a<tvmffi_wanted, tvmffi_type>::value,
                "not_derived_from_the_wanted_type__cast_it");
  tvmffi_i_keep(slot, object);
}
template <typename tvmffi_wanted>
static inline void tvmffi_keep(tvmffi_wanted **slot, decltype(nullptr)) {
  tvmffi_i_keep(slot, nullptr);
}
}
#elif defined(TVMFFI_I_IS_WANTED)
#define tvmffi_keep(slot, object)         \
  __extension__({                         \
    __typeof__(*(slot)) tvmffi_kept;      \
    TVMFFI_I_ASSIGN(tvmffi_kept, object); \
    tvmffi_i_keep((slot), tvmffi_kept);   \
  })
#else
#define tvmffi_keep(slot, object) \
  ((void)sizeof(*(slot) - (object)), tvmffi_i_keep((slot), (object)))
#endif

/* TVMFFI_I_CATCH(code, name, call) calls the body of the function `name` and
   stores its code in `code`. In C++ it catches what the body throws, because no
   exception may pass through the ABI. An int becomes the code, std::bad_alloc a
   MemoryError, and another std::exception a RuntimeError. Other types pass,
   because glibc ends a thread by one. */
#if defined(__cplusplus) && defined(__cpp_exceptions) && !TVMFFI_FREESTANDING
extern "C++" {
#include <new> /* has std::exception, and compiles faster than <exception> */
}
TVMFFI_I_COLD int tvmffi_i_caught(const char *file, int line,
                                  const char *function) {
  const char *name = tvmffi_i_function_name(function);
  try {
    throw;
  } catch (int code) {
    return code;
  } catch (const std::bad_alloc &e) {
    return tvmffi_raise(TVMFFIBacktrace(file, line, name, 0), "MemoryError",
                        "%s", e.what());
  } catch (const std::exception &e) {
    return tvmffi_raise(TVMFFIBacktrace(file, line, name, 0), "RuntimeError",
                        "%s", e.what());
  }
}
#define TVMFFI_I_CATCH(code, name, ...)                \
  try {                                                \
    code = __VA_ARGS__;                                \
  } catch (...) {                                      \
    code = tvmffi_i_caught(__FILE__, __LINE__, name);  \
  }
#else
#define TVMFFI_I_CATCH(code, name, ...) code = __VA_ARGS__;
#endif

/* Begins the main function of a program. The body that follows is a scope, and
   returns 0 or an error's code. On an error, also if the body returned 0 but
   its scope is marked, main prints the error to stderr (include <stdio.h>) and
   returns 1:
       TVMFFI_MAIN() { return read() || compute(); }
   The parameters of main may be named:
       TVMFFI_MAIN(int argc, char **argv) { return compile(argv[argc - 1]); } */
#define TVMFFI_MAIN(...)                                      \
  TVMFFI_I_CAT(TVMFFI_I_MAIN_, TVMFFI_I_IS_EMPTY(__VA_ARGS__)) \
  (__VA_ARGS__)
#define TVMFFI_I_MAIN_0(...)                                \
  TVMFFI_I_MAIN((int tvmffi_argc, char **tvmffi_argv),      \
                (tvmffi_scope_open(&tvmffi_of_main),        \
                 tvmffi_argc, tvmffi_argv),                 \
                (TVMFFI_HERE, __VA_ARGS__))
#define TVMFFI_I_MAIN_1(...) \
  TVMFFI_I_MAIN((void), (tvmffi_scope_open(&tvmffi_of_main)), (TVMFFI_HERE))
#define TVMFFI_I_MAIN(parameters, arguments, parameters_of_body) \
  static int tvmffi_main parameters_of_body;                     \
  int main parameters {                                          \
    tvmffi_scope tvmffi_of_main;                                 \
    int tvmffi_code;                                             \
    TVMFFI_I_CATCH(tvmffi_code, "main", tvmffi_main arguments)   \
    if (!tvmffi_code && tvmffi_i_scope_marked(&tvmffi_of_main))  \
      tvmffi_code = tvmffi_i_pending();                          \
    tvmffi_scope_close(&tvmffi_of_main);                         \
    if (!tvmffi_code) return 0;                                  \
    tvmffi_error_print(stderr);                                  \
    return 1;                                                    \
  }                                                              \
  static int tvmffi_main parameters_of_body
