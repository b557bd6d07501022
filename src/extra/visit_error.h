/* ======== Visit errors ================================== >>extra/visit_error
   where in a value an error came from */

#pragma once

#include "../head/config.h"
#include "../head/atomic.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/word.h"
#include "../interface/map_layout.h"
#include "../interface/function.h"
#include "../platform/memory.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/type_table.h"
#include "../containers/sequence.h"
#include "../graph/find_device.h"
#include "../reflection/field.h"
#include "../reflection/enum.h"
#include "../reflection/access_path.h"
#include "../reflection/convert.h"

#if !TVMFFI_NO_EXTRA
/* What is searched, and how it is reached from the frame below. */
typedef struct tvmffi_i_find_frame {
  TVMFFIAny value;    /* owned */
  TVMFFIAny key;      /* owned: the item's, of a field opaque its description */
  TVMFFIObject *path; /* owned, made when it is needed */
  struct tvmffi_i_find_frame *above;
  tvmffi_i_field_walk walk;
  uint64_t at;
  int64_t found_before;
  int kind, is_container, matches;
} tvmffi_i_find_frame;

typedef struct {
  const TVMFFIObject **pattern; /* from the innermost outwards; borrowed */
  size_t length, matched;
  TVMFFIObject *found; /* list */
  tvmffi_i_stack frames;
  tvmffi_i_find_frame *root;
  int prefixes;
} tvmffi_i_finder;

/* Gives the path (borrowed) of the top frame. */
static TVMFFIObject *tvmffi_i_find_path(const tvmffi_i_finder *s) {
  tvmffi_i_find_frame *f = s->root;
  const tvmffi_i_find_frame *top =
      TVMFFI_I_TOP(tvmffi_i_find_frame, &s->frames);
  TVMFFIObject *path = NULL;
  for (;; f = f->above) {
    const TVMFFIFieldInfo *field = (const TVMFFIFieldInfo *)f->key.v_ptr;
    TVMFFIAny key;
    if (!f->path) {
      if (f == s->root) {
        f->path = tvmffi_i_new_path(NULL, NULL);
      } else if (f->kind == TVMFFI_I_STEP_ATTR) {
        if (TVMFFIStringFromByteArray(&field->name, &key)) return NULL;
        f->path = tvmffi_i_step_to(path, f->kind, key);
      } else {
        f->path = tvmffi_i_step_to(path, f->kind, tvmffi_i_copy_owned(&f->key));
      }
    }
    path = f->path;
    if (!path || f == top) return path;
  }
}

static int tvmffi_i_add_found(tvmffi_i_finder *s) {
  TVMFFIObject *path = tvmffi_i_find_path(s);
  TVMFFIAny item;
  if (!path) return -1;
  item = tvmffi_obj(path);
  return tvmffi_i_list_append(s->found, &item);
}

static void tvmffi_i_pop_found(tvmffi_i_finder *s) {
  tvmffi_i_find_frame f = *TVMFFI_I_TOP(tvmffi_i_find_frame, &s->frames);
  TVMFFI_I_POP(tvmffi_i_find_frame, &s->frames);
  if (f.matches) --s->matched;
  tvmffi_any_release(&f.value);
  tvmffi_any_release(&f.key);
  tvmffi_release(f.path);
}

/* Looks at a value (taken) that one step leads to; `key` is taken, too. The
   root is looked at as an object even if it is a container. */
static int tvmffi_i_push_found(tvmffi_i_finder *s, TVMFFIAny value, int kind,
                               TVMFFIAny key) {
  const TVMFFITypeInfo *type = NULL;
  tvmffi_i_find_frame *f = NULL, *below = NULL;
  int is_container = s->frames.depth && tvmffi_i_is_container(value.type_index);
  int code = 0;
  if (value.type_index >= kTVMFFIStaticObjectBegin && value.v_obj)
    type = TVMFFIGetTypeInfo(value.type_index);
  if (type && (is_container || TVMFFI_I_LOAD(&type->metadata))) {
    if (s->frames.depth) below = TVMFFI_I_TOP(tvmffi_i_find_frame, &s->frames);
    f = TVMFFI_I_PUSH(tvmffi_i_find_frame, &s->frames, "FindAccessPaths");
    if (!f) code = -1;
  }
  if (!f) {
    tvmffi_any_release(&value);
    tvmffi_any_release(&key);
    return code;
  }
  if (below)
    below->above = f;
  else
    s->root = f;
  f->value = value;
  f->key = key;
  f->path = NULL;
  f->walk = tvmffi_i_walk_fields(type);
  f->at = value.type_index == kTVMFFIMap || value.type_index == kTVMFFIDict
              ? tvmffi_i_map_begin(value.v_obj)
              : 0;
  f->kind = kind;
  f->is_container = is_container;
  f->found_before = TVMFFI_I_CELL(TVMFFISeqCell, s->found)->size;
  f->matches = !is_container && s->matched < s->length &&
               s->pattern[s->length - 1 - s->matched] == value.v_obj;
  if (!f->matches || ++s->matched < s->length) return 0;
  code = tvmffi_i_add_found(s);
  tvmffi_i_pop_found(s);
  return code;
}

/* Looks at what the next step from the top frame leads to, or ends it. */
static int tvmffi_i_find_next(tvmffi_i_finder *s) {
  tvmffi_i_find_frame *f = TVMFFI_I_TOP(tvmffi_i_find_frame, &s->frames);
  const TVMFFIFieldInfo *field;
  TVMFFIObject *o = f->value.v_obj;
  TVMFFIAny child = tvmffi_none();
  const tvmffi_i_pair *pair;
  int code = 0;
  if (!f->is_container) {
    field = tvmffi_i_next_field(&f->walk);
    if (field) {
      if (field->getter(tvmffi_i_at(o, field), &child)) return -1;
      return tvmffi_i_push_found(s, child, TVMFFI_I_STEP_ATTR,
                                 tvmffi_ptr((void *)(uintptr_t)field));
    }
    if (s->prefixes && s->matched && s->frames.depth > 1 &&
        f->found_before == TVMFFI_I_CELL(TVMFFISeqCell, s->found)->size)
      code = tvmffi_i_add_found(s);
  } else if (o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict) {
    pair = tvmffi_i_map_pair(o, f->at);
    if (pair) {
      f->at = tvmffi_i_map_after(o, f->at);
      if (pair->key.type_index == kTVMFFINone) return 0;
      child = tvmffi_i_copy_owned(&pair->key);
      return tvmffi_i_push_found(s, tvmffi_i_copy_owned(&pair->value),
                                 TVMFFI_I_STEP_MAP_ITEM, child);
    }
  } else if (f->at < (uint64_t)TVMFFI_I_CELL(TVMFFISeqCell, o)->size) {
    child = ((const TVMFFIAny *)TVMFFI_I_CELL(TVMFFISeqCell, o)->data)[f->at++];
    return tvmffi_i_push_found(s, tvmffi_i_copy_owned(&child),
                               TVMFFI_I_STEP_ARRAY_ITEM,
                               tvmffi_int((int64_t)f->at - 1));
  }
  tvmffi_i_pop_found(s);
  return code;
}

/* Reads the pattern, without what is none and what stands there twice. */
static int tvmffi_i_read_pattern(tvmffi_i_finder *s, const TVMFFIObject *list) {
  const TVMFFISeqCell *cell;
  const TVMFFIObject *o;
  int64_t i;
  if (!list) return 0;
  cell = TVMFFI_I_CELL(TVMFFISeqCell, list);
  s->pattern = (const TVMFFIObject **)tvmffi_i_alloc(((size_t)cell->size + 1) *
                                                     sizeof(*s->pattern));
  if (!s->pattern) return tvmffi_i_no_memory();
  for (i = 0; i < cell->size; ++i) {
    const TVMFFIAny *item = (const TVMFFIAny *)cell->data + i;
    o = item->type_index >= kTVMFFIStaticObjectBegin ? item->v_obj : NULL;
    if (o && (!s->length || s->pattern[s->length - 1] != o))
      s->pattern[s->length++] = o;
  }
  return 0;
}

TVMFFI_I_OBJECT_TYPE(i_error_context, "ffi.VisitErrorContext",
                     "ffi.VisitErrorContext", TVMFFI_I_VISIT_ERROR_CONTEXT)
TVMFFI_I_OBJECT_TYPE(i_paths, "Array<ffi.reflection.AccessPath>",
                     "{\"type\":\"ffi.Array\",\"args\":[{\"type\":\"ffi."
                     "reflection.AccessPath\"}]}",
                     kTVMFFIArray)

TVMFFI_FUNC(i_find_access_paths, i_paths, (object, root),
            (i_error_context, context), (bool, prefixes)) {
  tvmffi_i_finder s = TVMFFI_I_ZERO;
  TVMFFIAny paths = tvmffi_none(), value = tvmffi_obj(root);
  int code;
  s.prefixes = prefixes;
  tvmffi_i_stack_open(&s.frames, NULL, 0);
  s.found = tvmffi_i_new_list(0);
  if (!s.found) return -1;
  code = tvmffi_i_read_pattern(
      &s, ((const tvmffi_i_error_context *)(void *)context)->pattern);
  if (!code)
    code =
        tvmffi_i_push_found(&s, tvmffi_i_copy_owned(&value), 0, tvmffi_none());
  while (!code && s.frames.depth) code = tvmffi_i_find_next(&s);
  while (s.frames.depth) tvmffi_i_pop_found(&s);
  if (!code)
    code = tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, s.found),
                                kTVMFFIArray, &paths);
  tvmffi_release(s.found);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_free((void *)s.pattern);
  if (code) return code;
  TVMFFI_RETURN(paths.v_obj);
}
#endif
