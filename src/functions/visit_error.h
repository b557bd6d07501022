/* ======== Visit errors =============================== >>functions/visit_error
   where in a value an error came from */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"
#include "../interface.h"

#if !TVMFFI_NO_EXTRA
/* A stack frame: a value on the path from the root, and the step from its
   parent to the value. base.held is the key of the step, base.other the path to
   the value, NULL until needed. */
typedef struct tvmffi_i_find_frame {
  tvmffi_i_walk_frame base;
  struct tvmffi_i_find_frame *above;
  int64_t found_before;  /* number of paths found before this frame */
  size_t matched_before; /* objects of the pattern above this frame */
  int kind, is_container;
  int matches; /* 1: the value is the next object of the pattern */
} tvmffi_i_find_frame;

typedef struct {
  tvmffi_i_walk walk;           /* must be first */
  const TVMFFIObject **pattern; /* the innermost object first; borrowed */
  size_t length;  /* of the pattern */
  size_t matched; /* objects of the pattern in the current path, in order */
  /* For each value of `matched` up to `length`, a table of tvmffi_i_memo: the
     values below which the search has found no path. The search skips such a
     value when it meets it again with the same number of objects matched.
     Otherwise it would take all 2^n ways through a graph of n values that each
     have the next one twice. */
  tvmffi_i_ptr_table *barren;
  TVMFFIObject *found; /* owned: a list of paths */
  tvmffi_i_find_frame *root;
  /* If 1, a path may end before the last object of `pattern`. */
  int prefixes;
} tvmffi_i_finder;

/* Appends the path of the top frame to s->found. First makes the paths of the
   frames below. */
static int tvmffi_i_add_found(tvmffi_i_finder *s) {
  const tvmffi_i_find_frame *top = TVMFFI_I_FRAME(tvmffi_i_find_frame, s);
  tvmffi_i_find_frame *f = s->root;
  TVMFFIAny path = tvmffi_none();
  TVMFFI_ASSERT(tvmffi_i_depth(s) && (s->prefixes || s->matched == s->length));
  for (;; f = f->above) {
    TVMFFIObject **made = &f->base.other;
    if (!*made)
      *made = f == s->root
                  ? tvmffi_i_new_path(NULL, NULL)
                  : tvmffi_i_step_to(path.v_obj, f->kind, &f->base.held);
    if (!*made) return -1;
    path = tvmffi_obj(*made);
    if (f == top) return tvmffi_i_list_append(s->found, &path);
  }
}

/* Called when a frame ends. If the search has found no path below its value,
   records the value, so that it is not searched again. A value that only its
   parent references needs no record: the search meets it again only through
   that parent. */
static int tvmffi_i_add_barren(tvmffi_i_finder *s,
                               const tvmffi_i_find_frame *f) {
  if (f->found_before != TVMFFI_I_CELL(TVMFFISeqCell, s->found)->size ||
      !tvmffi_i_is_shared(f->base.c.object, 2))
    return 0;
  TVMFFI_ASSERT(f->matched_before <= s->length);
  return tvmffi_i_set_memo(&s->barren[f->matched_before], f->base.c.object, 0);
}

static void tvmffi_i_pop_found(tvmffi_i_walk *w) {
  tvmffi_i_finder *s = (tvmffi_i_finder *)(void *)w;
  if (TVMFFI_I_FRAME(tvmffi_i_find_frame, w)->matches) {
    TVMFFI_ASSERT(s->matched > 0);
    --s->matched;
  }
  tvmffi_i_pop_frame(w);
}

/* Pushes a stack frame for `value`, unless it cannot have children or is known
   to have no path below it. If `value` completes the pattern, appends its path
   to s->found instead. `key` is the key of the step from the parent. Takes
   ownership of `value` and `key`, also on failure. The root counts as an object
   even if it is a container. */
static int tvmffi_i_push_found(tvmffi_i_finder *s, TVMFFIAny *value, int kind,
                               TVMFFIAny *key) {
  const TVMFFITypeInfo *type = NULL;
  tvmffi_i_find_frame *f = NULL, *below = NULL;
  int is_container =
      tvmffi_i_depth(s) && tvmffi_i_is_container(value->type_index);
  int code = 0;
  if (value->type_index >= kTVMFFIStaticObjectBegin && value->v_obj)
    type = TVMFFIGetTypeInfo(value->type_index);
  if (type && (is_container || TVMFFI_I_LOAD(&type->metadata)) &&
      !tvmffi_i_find_memo(&s->barren[s->matched], value->v_obj)) {
    if (tvmffi_i_depth(s)) below = TVMFFI_I_FRAME(tvmffi_i_find_frame, s);
    f = (tvmffi_i_find_frame *)tvmffi_i_push_frame(
        &s->walk, value->v_obj, NULL, is_container ? NULL : type,
        TVMFFI_I_OWNS_OBJECT | TVMFFI_I_OWNS_OTHER | TVMFFI_I_OWNS_HELD);
    if (!f) code = -1;
  }
  if (!f) {
    tvmffi_i_any_release(value);
    tvmffi_i_any_release(key);
    return code;
  }
  if (below)
    below->above = f;
  else
    s->root = f;
  f->base.held = *key;
  f->kind = kind;
  f->is_container = is_container;
  f->found_before = TVMFFI_I_CELL(TVMFFISeqCell, s->found)->size;
  f->matched_before = s->matched;
  f->matches = !is_container && s->matched < s->length &&
               s->pattern[s->length - 1 - s->matched] == value->v_obj;
  if (!f->matches || ++s->matched < s->length) return 0;
  code = tvmffi_i_add_found(s);
  tvmffi_i_pop_found(&s->walk);
  return code;
}

/* Pushes a frame for the next child of the top frame, or pops the top frame. */
static int tvmffi_i_find_next(tvmffi_i_finder *s) {
  tvmffi_i_find_frame *f = TVMFFI_I_FRAME(tvmffi_i_find_frame, s);
  tvmffi_i_children *c = &f->base.c;
  TVMFFIAny value = tvmffi_none(), key = tvmffi_none();
  const TVMFFIAny *child;
  int code = 0;
  if (!f->is_container) {
    TVMFFI_TRY(tvmffi_i_read_next(c, 0, &value));
    if (c->field) {
      code = TVMFFIStringFromByteArray(&c->field->name, &key);
      if (!code)
        return tvmffi_i_push_found(s, &value, TVMFFI_I_STEP_ATTR, &key);
      tvmffi_i_any_release(&value);
      return code;
    }
    if (s->prefixes && s->matched && tvmffi_i_depth(s) > 1 &&
        f->found_before == TVMFFI_I_CELL(TVMFFISeqCell, s->found)->size)
      code = tvmffi_i_add_found(s);
  } else if ((child = tvmffi_i_next_in_container(c)) != NULL) {
    const int kind =
        c->on_value ? TVMFFI_I_STEP_MAP_ITEM : TVMFFI_I_STEP_ARRAY_ITEM;
    if (c->on_value) {
      code = tvmffi_i_own(child, &key);
      child = tvmffi_i_next_in_container(c);
      /* Upstream's visit_error_context.cc skips an entry whose key is None. */
      if (!code && key.type_index == kTVMFFINone) return 0;
    } else {
      key = tvmffi_int((int64_t)c->at - 1);
    }
    if (!code) code = tvmffi_i_own(child, &value);
    if (!code) return tvmffi_i_push_found(s, &value, kind, &key);
    tvmffi_i_any_release(&key);
    return code;
  }
  if (!code) code = tvmffi_i_add_barren(s, f);
  tvmffi_i_pop_found(&s->walk);
  return code;
}

/* Copies the objects in `list`, which may be NULL, to s->pattern, and makes the
   empty tables s->barren. Leaves out other values, and an object that repeats
   the previous one. */
static int tvmffi_i_read_pattern(tvmffi_i_finder *s, const TVMFFIObject *list) {
  const TVMFFISeqCell *cell = list ? TVMFFI_I_CELL(TVMFFISeqCell, list) : NULL;
  const size_t count = (cell ? (size_t)cell->size : 0) + 1;
  const TVMFFIObject *o;
  size_t i;
  s->pattern =
      (const TVMFFIObject **)tvmffi_i_alloc(count * sizeof(*s->pattern));
  s->barren = (tvmffi_i_ptr_table *)tvmffi_i_alloc(count * sizeof(*s->barren));
  if (s->barren) memset(s->barren, 0, count * sizeof(*s->barren));
  if (!s->pattern || !s->barren) return tvmffi_i_no_memory();
  for (i = 0; i + 1 < count; ++i) {
    const TVMFFIAny *item = (const TVMFFIAny *)cell->data + i;
    o = item->type_index >= kTVMFFIStaticObjectBegin ? item->v_obj : NULL;
    if (o && (!s->length || s->pattern[s->length - 1] != o))
      s->pattern[s->length++] = o;
  }
  return 0;
}

/* Frees what the finder owns, except the list of paths. */
static void tvmffi_i_finder_close(tvmffi_i_finder *s) {
  size_t i;
  tvmffi_i_walk_close(&s->walk);
  for (i = 0; s->barren && i <= s->length; ++i)
    tvmffi_i_clear_memos(&s->barren[i]);
  tvmffi_i_free(s->barren);
  tvmffi_i_free((void *)s->pattern);
}

TVMFFI_I_OBJECT_TYPE(i_error_context, "ffi.VisitErrorContext",
                     "ffi.VisitErrorContext", TVMFFI_I_VISIT_ERROR_CONTEXT)
TVMFFI_I_OBJECT_TYPE(i_paths, "Array<ffi.reflection.AccessPath>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "reflection.AccessPath\"}]}",
                     kTVMFFIArray)

/* Returns the access paths from `root` to the value at which a visit failed. A
   path leads through all objects that the error's context lists, the outermost
   object first. With `prefixes`, also returns paths that lead through the first
   of these objects, but not through all. */
TVMFFI_I_BUILTIN_NAMED(i_VisitErrorContext_FindAccessPaths,
                       "ffi.VisitErrorContext.FindAccessPaths", i_paths,
                       (object, root), (i_error_context, context),
                       (bool, prefixes)) {
  tvmffi_i_find_frame room[2];
  tvmffi_i_finder s = TVMFFI_I_ZERO;
  TVMFFIAny paths = tvmffi_none(), value = tvmffi_obj(root);
  TVMFFIAny key = tvmffi_none();
  int code;
  s.prefixes = prefixes;
  TVMFFI_I_WALK_OPEN(&s, "FindAccessPaths", tvmffi_i_pop_found, room);
  s.found = tvmffi_i_new_list(0);
  if (!s.found) return -1;
  code = tvmffi_i_read_pattern(
      &s, ((const tvmffi_i_error_context *)(void *)context)->pattern);
  if (!code) {
    tvmffi_i_retain(root);
    code = tvmffi_i_push_found(&s, &value, 0, &key);
  }
  while (!code && tvmffi_i_depth(&s)) code = tvmffi_i_find_next(&s);
  if (!code)
    code = tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, s.found),
                                kTVMFFIArray, &paths);
  tvmffi_i_release(s.found);
  tvmffi_i_finder_close(&s);
  if (code) return code;
  TVMFFI_I_GIVE(paths.v_obj);
}
#endif
