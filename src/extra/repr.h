/* ======== Repr: values as text ============================== >>extra/repr */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"
#include "number_text.h"
#include "bigint_text.h"
#include "recursive.h"

#if !TVMFFI_NO_EXTRA
typedef struct {
  tvmffi_i_walk_frame base;
  size_t begin; /* offset of the text in its buffer */
  uint32_t to;  /* index of the buffer that the text goes to */
  int has_child;
} tvmffi_i_repr_frame;

typedef struct {
  tvmffi_i_recursive base; /* must be first: callbacks get its address */
  int with_address, has_root_frame;
  uint32_t to;
  tvmffi_i_text_buffer *text; /* text[0] is the result */
  size_t num_texts;
} tvmffi_i_printer;

TVMFFI_I_HOOK(repr, "__ffi_repr__", 0,
              "(0: ffi.Object, 1: (0: AnyView) -> str) -> str",
              TVMFFI_I_ENDED_RECURSIVE, 1, &tvmffi_i_word_str, TVMFFI_I_VIEW)

/* Directs text to buffer `to`, and creates the buffer at the first use. Buffer
   0 has the result. Text of a callback or hidden field goes to another buffer,
   because parts of this text may be copied later. */
static int tvmffi_i_repr_to(tvmffi_i_printer *g, uint32_t to) {
  size_t had = g->num_texts;
  tvmffi_i_text_buffer *larger;
  TVMFFI_ASSERT(to <= had);
  g->to = to;
  if (to < had) return 0;
  larger = (tvmffi_i_text_buffer *)tvmffi_i_larger(g->text, &g->num_texts,
                                                   sizeof(*larger));
  if (!larger) return -1;
  memset((void *)(larger + had), 0, (g->num_texts - had) * sizeof(*larger));
  g->text = larger;
  TVMFFI_ASSERT(to < g->num_texts);
  return 0;
}

static void tvmffi_i_repr_address(tvmffi_i_printer *g, const TVMFFIObject *o) {
  if (g->with_address)
    tvmffi_i_text_hex(&g->text[g->to], "@0x", (uint64_t)(uintptr_t)o, 1);
}

/* Appends the text of an object that was written before. */
static void tvmffi_i_repr_copy(tvmffi_i_printer *g, const tvmffi_i_seen *s) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  char *at = tvmffi_i_text_reserve(b, s->size);
  TVMFFI_ASSERT(s->state == TVMFFI_I_DONE && s->to < g->num_texts);
  TVMFFI_ASSERT(s->value + s->size <= g->text[s->to].size);
  if (!at) return;
  memcpy(at, g->text[s->to].data + s->value, s->size);
  b->size += s->size;
}

/* Marks an object as done. Its text extends from `begin` to the end of the
   current buffer. */
static void tvmffi_i_repr_done(tvmffi_i_printer *g, tvmffi_i_seen *s,
                               size_t begin) {
  TVMFFI_ASSERT(s->state == TVMFFI_I_UNSEEN && begin <= g->text[g->to].size);
  s->state = TVMFFI_I_DONE;
  s->to = g->to;
  s->value = begin;
  s->size = g->text[g->to].size - begin;
}

static int tvmffi_i_repr_hook(tvmffi_i_printer *g, const TVMFFIAny *hook,
                              TVMFFIObject *o) {
  tvmffi_i_text_buffer *b;
  TVMFFIAny result;
  TVMFFIByteArray text;
  size_t begin;
  TVMFFI_TRY(
      tvmffi_i_run_hook(&g->base, &tvmffi_i_repr_kind, hook, o, NULL, &result));
  if (tvmffi_i_get_str(&result, &text))
    return tvmffi_i_bad_hook(&result, &tvmffi_i_word_str);
  TVMFFI_ASSERT(g->to < g->num_texts);
  b = &g->text[g->to]; /* the hook may have moved g->text */
  begin = b->size;
  tvmffi_i_text_put(b, text.data, text.size);
  tvmffi_i_any_release(&result);
  if (tvmffi_i_is_container(o->type_index)) tvmffi_i_repr_address(g, o);
  tvmffi_i_repr_done(g, tvmffi_i_seen_of(&g->base, o, NULL), begin);
  return 0;
}

/* Writes an object that needs no stack frame. Returns 1 if written, 0 if the
   object needs a stack frame, or an error code. */
static int tvmffi_i_repr_object(tvmffi_i_printer *g, TVMFFIObject *o) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  const tvmffi_i_seen *s = tvmffi_i_find_seen(&g->base, o, NULL);
  const TVMFFIAny any = tvmffi_obj(o), *hook;
  const DLTensor *t;
  const TVMFFIShapeCell *shape;
  TVMFFIByteArray name;
  if (s && s->state == TVMFFI_I_OPEN) {
    tvmffi_i_text_str(b, "...");
    tvmffi_i_repr_address(g, o);
    return 1;
  }
  if (s) {
    tvmffi_i_repr_copy(g, s);
    return b->failed ? tvmffi_i_no_memory() : 1;
  }
  if (o == &tvmffi_i_invalid_object || o == &tvmffi_i_kwargs_object) {
    tvmffi_i_text_str(b,
                      o == &tvmffi_i_kwargs_object ? "<KWARGS>" : "<MISSING>");
    return 1;
  }
  switch (o->type_index) {
    case kTVMFFIBigInt:
      tvmffi_i_text_bigint(b, TVMFFIBigIntGetContentByteArray(&any));
      return 1;
    case kTVMFFITensor:
      t = TVMFFI_I_CELL(DLTensor, o);
      TVMFFI_TRY(tvmffi_i_repr_dtype(b, t->dtype));
      tvmffi_i_text_char(b, '[');
      tvmffi_i_repr_numbers(b, t->shape, (size_t)(t->ndim > 0 ? t->ndim : 0));
      tvmffi_i_text_str(b, "]@");
      tvmffi_i_repr_device(b, t->device);
      tvmffi_i_repr_address(g, o);
      return 1;
    case kTVMFFIShape:
      shape = TVMFFI_I_CELL(TVMFFIShapeCell, o);
      tvmffi_i_text_str(b, "Shape(");
      tvmffi_i_repr_numbers(b, shape->data, shape->size);
      tvmffi_i_text_char(b, ')');
      return 1;
    default: break;
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_repr_hooks, o->type_index);
  if (hook) {
    TVMFFI_TRY(tvmffi_i_repr_hook(g, hook, o));
    return 1;
  }
  if (!tvmffi_is_instance(o->type_index, TVMFFI_I_ENUM_BASE)) return 0;
  name = tvmffi_any_str(&((tvmffi_i_enum *)(void *)o)->str_index);
  tvmffi_i_text_str(b, tvmffi_i_type_key(o->type_index));
  tvmffi_i_text_char(b, '.');
  tvmffi_i_text_put(b, name.data, name.size);
  tvmffi_i_repr_address(g, o);
  return 1;
}

/* Writes a value that needs no stack frame. Returns 1 if written, 0 if the
   value needs a stack frame, or an error code. */
static int tvmffi_i_repr_leaf(tvmffi_i_printer *g, const TVMFFIAny *value) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  switch (value->type_index) {
    case kTVMFFINone: tvmffi_i_text_str(b, "None"); return 1;
    case kTVMFFIBool:
      tvmffi_i_text_str(b, value->v_int64 ? "True" : "False");
      return 1;
    case kTVMFFIInt: tvmffi_i_text_int(b, value->v_int64); return 1;
    case kTVMFFIFloat: tvmffi_i_text_double(b, value->v_uint64, 6); return 1;
    case kTVMFFIDataType:
      TVMFFI_TRY(tvmffi_i_repr_dtype(b, value->v_dtype));
      return 1;
    case kTVMFFIDevice: tvmffi_i_repr_device(b, value->v_device); return 1;
    case kTVMFFISmallStr:
    case kTVMFFIStr: tvmffi_i_repr_str(b, tvmffi_any_str(value)); return 1;
    case kTVMFFISmallBytes:
    case kTVMFFIBytes: tvmffi_i_repr_bytes(b, tvmffi_any_str(value)); return 1;
    default: break;
  }
  if (value->type_index < kTVMFFIStaticObjectBegin) {
    tvmffi_i_text_str(b, tvmffi_i_type_key(value->type_index));
    return 1;
  }
  if (value->v_obj) return tvmffi_i_repr_object(g, value->v_obj);
  tvmffi_i_text_str(b, "None");
  return 1;
}

/* Pushes a frame for an object, and writes the text before its children. */
static int tvmffi_i_repr_push(tvmffi_i_printer *g, TVMFFIObject *o,
                              uint32_t own) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  size_t begin = b->size;
  tvmffi_i_repr_frame *f =
      (tvmffi_i_repr_frame *)tvmffi_i_push_recursive(&g->base, o, NULL, own);
  if (!f) return -1;
  TVMFFI_ASSERT(g->to < g->num_texts && begin == b->size);
  f->begin = begin;
  f->to = g->to;
  f->has_child = 0;
  switch (o->type_index) {
    case kTVMFFIArray: tvmffi_i_text_char(b, '('); break;
    case kTVMFFIList: tvmffi_i_text_char(b, '['); break;
    case kTVMFFIMap:
    case kTVMFFIDict: tvmffi_i_text_char(b, '{'); break;
    default:
      tvmffi_i_text_str(b, tvmffi_i_type_key(o->type_index));
      tvmffi_i_repr_address(g, o);
  }
  return 0;
}

/* Writes the text after the children of the top frame, and pops the frame. */
static int tvmffi_i_repr_pop(tvmffi_i_printer *g) {
  const tvmffi_i_repr_frame *f = TVMFFI_I_FRAME(tvmffi_i_repr_frame, g);
  const tvmffi_i_children *c = &f->base.c;
  tvmffi_i_text_buffer *b = &g->text[g->to];
  size_t begin = f->begin;
  tvmffi_i_seen *s;
  TVMFFI_ASSERT(g->to == f->to && begin <= b->size && f->has_child <= 1);
  switch (c->object->type_index) {
    case kTVMFFIArray:
      if (c->at == 1) tvmffi_i_text_char(b, ',');
      tvmffi_i_text_char(b, ')');
      break;
    case kTVMFFIList: tvmffi_i_text_char(b, ']'); break;
    case kTVMFFIMap:
    case kTVMFFIDict: tvmffi_i_text_char(b, '}'); break;
    default:
      if (f->has_child) tvmffi_i_text_char(b, ')');
  }
  if (tvmffi_i_is_container(c->object->type_index))
    tvmffi_i_repr_address(g, c->object);
  s = tvmffi_i_pop_seen(&g->base);
  if (s) tvmffi_i_repr_done(g, s, begin);
  return b->failed ? tvmffi_i_no_memory() : 0;
}

/* Tells whether an earlier field has the same name as the current field. Only
   the first of these fields is shown. */
static int tvmffi_i_is_hidden(const tvmffi_i_printer *g,
                              const tvmffi_i_children *c) {
  tvmffi_i_field_cursor w = tvmffi_i_begin_fields(c->fields.type);
  const TVMFFIFieldInfo *before;
  TVMFFI_ASSERT(c->field && !(c->field->flags & g->base.skip));
  while ((before = tvmffi_i_next_before(&w, c->field)))
    if (!(before->flags & g->base.skip) &&
        tvmffi_i_same_text(before->name, c->field->name))
      return 1;
  return 0;
}

/* Writes the text before a child, such as a comma or a field's name. Directs
   the text of a hidden field to another buffer. */
static int tvmffi_i_repr_before(tvmffi_i_printer *g, tvmffi_i_repr_frame *f) {
  tvmffi_i_text_buffer *b = &g->text[g->to];
  const tvmffi_i_children *c = &f->base.c;
  int32_t index = c->object->type_index;
  TVMFFI_ASSERT(g->to == f->to);
  if (tvmffi_i_is_container(index)) {
    TVMFFI_ASSERT(f->has_child || !tvmffi_i_is_map_type(index) || c->on_value);
    if (tvmffi_i_is_map_type(index) && !c->on_value)
      tvmffi_i_text_str(b, ": ");
    else if (f->has_child)
      tvmffi_i_text_str(b, ", ");
    f->has_child = 1;
    return 0;
  }
  if (tvmffi_i_is_hidden(g, c)) return tvmffi_i_repr_to(g, f->to + 1);
  tvmffi_i_text_put(b, f->has_child ? ", " : "(", f->has_child ? 2 : 1);
  f->has_child = 1;
  tvmffi_i_text_put(b, c->field->name.data, c->field->name.size);
  tvmffi_i_text_char(b, '=');
  return 0;
}

/* Writes a value and everything it contains. */
static int tvmffi_i_repr_all(tvmffi_i_printer *g, const TVMFFIAny *value,
                             uint32_t own) {
  size_t depth = tvmffi_i_depth(g);
  int code = tvmffi_i_repr_leaf(g, value);
  TVMFFI_ASSERT(code <= 1);
  if (code) return code < 0 ? code : 0;
  g->has_root_frame |= !g->base.base.nested;
  TVMFFI_TRY(tvmffi_i_repr_push(g, value->v_obj, own));
  while (tvmffi_i_depth(g) > depth) {
    tvmffi_i_repr_frame *f = TVMFFI_I_FRAME(tvmffi_i_repr_frame, g);
    const TVMFFIAny *child;
    TVMFFI_ASSERT(f->to < g->num_texts);
    g->to = f->to;
    TVMFFI_TRY(
        tvmffi_i_next_child(&f->base.c, g->base.skip, &f->base.held, &child));
    if (!child) {
      TVMFFI_TRY(tvmffi_i_repr_pop(g));
      continue;
    }
    TVMFFI_TRY(tvmffi_i_repr_before(g, f));
    code = tvmffi_i_repr_leaf(g, child);
    TVMFFI_ASSERT(code <= 1);
    if (code < 0) return code;
    if (!code)
      TVMFFI_TRY(tvmffi_i_repr_push(g, child->v_obj,
                                    tvmffi_i_own_count(&f->base, child)));
  }
  return 0;
}

static int tvmffi_i_repr_again(void *walk, const TVMFFIAny *values,
                               const TVMFFIAny *args, TVMFFIAny *result) {
  tvmffi_i_printer *g = (tvmffi_i_printer *)walk;
  const tvmffi_i_text_buffer *b;
  TVMFFIByteArray text;
  const uint32_t to = g->to;
  size_t begin = 0;
  int code = tvmffi_i_repr_to(g, to + 1);
  (void)args;
  TVMFFI_ASSERT(g->base.base.nested > 0);
  if (!code) {
    begin = g->text[to + 1].size;
    code = tvmffi_i_repr_all(g, &values[0], 0);
  }
  g->to = to;
  if (code) return code;
  b = &g->text[to + 1];
  if (b->failed) return tvmffi_i_no_memory();
  TVMFFI_ASSERT(begin <= b->size);
  text.data = b->data + begin;
  text.size = b->size - begin;
  return TVMFFIStringFromByteArray(&text, result);
}

#endif
