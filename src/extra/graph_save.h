/* ======== Graph writer =================================== >>extra/graph_save
   values to the nodes of a graph */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/map_layout.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/stack.h"
#include "../platform/text.h"
#include "../core/raise.h"
#include "../core/string.h"
#include "../core/type_table.h"
#include "../containers/equal.h"
#include "../containers/sequence.h"
#include "../containers/map_memory.h"
#include "../containers/map.h"
#include "../modules/environment.h"
#include "../reflection/field.h"
#include "../reflection/construct.h"
#include "../reflection/enum.h"
#include "json_read.h"
#include "json_write.h"
#include "base64.h"

#if !TVMFFI_NO_EXTRA
/* A value that has a node, or is being given one. */
typedef struct {
  TVMFFIAny value; /* owned */
  int64_t index;   /* of the node; -1 until there is one */
} tvmffi_i_saved;

/* A value whose parts are being given their nodes. */
typedef struct {
  TVMFFIObject *object; /* borrowed from what is saved */
  size_t saved;         /* what it is there */
  uint64_t at;          /* where in a container */
  size_t base;          /* of its parts on the stack */
  int on_value;         /* a map: the value of the key at `at` is next */
  int with_fields;
  const TVMFFIFieldInfo *field; /* whose index is waited for */
  tvmffi_i_field_walk walk;
} tvmffi_i_saving;

/* Nodes are put into an array of maps, or written at once. A place of the table
   has half of a value's hash above the number of what is saved, from 1 on. */
typedef struct {
  int as_text;
  tvmffi_i_json_writer writer;
  TVMFFIObject *nodes; /* a list: owned; NULL of a text */
  tvmffi_i_saved *saved;
  size_t num_saved, room_saved;
  uint64_t *places;
  size_t num_places;
  int64_t num_nodes;
  TVMFFIAny *parts; /* a stack: indices of parts, or the data of fields */
  size_t num_parts, room_parts;
  tvmffi_i_stack frames;
} tvmffi_i_saver;

static tvmffi_i_known_column tvmffi_i_to_json_column = {"__data_to_json__",
                                                        NULL};
static tvmffi_i_known_column tvmffi_i_from_json_column = {"__data_from_json__",
                                                          NULL};

/* Sets the value, which it takes, of a name of a map. */
static int tvmffi_i_set_named(TVMFFIObject **map, TVMFFIByteArray name,
                              TVMFFIAny value) {
  TVMFFIAny key = tvmffi_none();
  int code = TVMFFIStringFromByteArray(&name, &key);
  if (!code) code = tvmffi_i_map_set(map, &key, &value);
  tvmffi_any_release(&key);
  tvmffi_any_release(&value);
  return code;
}

/* An array of numbers, owned by the caller. */
static int tvmffi_i_numbers(const int64_t *numbers, size_t n, TVMFFIAny *out) {
  TVMFFIAny *items = NULL;
  TVMFFIObject *array = tvmffi_i_new_array((int64_t)n, &items);
  size_t i;
  if (!array) return -1;
  for (i = 0; i < n; ++i) items[i] = tvmffi_int(numbers[i]);
  *out = tvmffi_obj(array);
  return 0;
}

/* Makes room for one more value in the table. */
static int tvmffi_i_grow_saved(tvmffi_i_saver *s) {
  size_t num = s->num_places ? s->num_places * 2 : 64, i, at;
  uint64_t *places;
  if (s->num_saved * 2 < s->num_places) return 0;
  if (num > UINT32_MAX || num > PTRDIFF_MAX / sizeof(*places))
    return tvmffi_i_no_memory();
  places = (uint64_t *)tvmffi_i_alloc(num * sizeof(*places));
  if (!places) return tvmffi_i_no_memory();
  memset(places, 0, num * sizeof(*places));
  for (i = 0; i < s->num_places; ++i) {
    if (!s->places[i]) continue;
    at = (size_t)(s->places[i] >> 32) & (num - 1);
    while (places[at]) at = (at + 1) & (num - 1);
    places[at] = s->places[i];
  }
  tvmffi_i_free(s->places);
  s->places = places;
  s->num_places = num;
  return 0;
}

/* Finds what is saved of a value: 1. What is new is put there and 0 given, or
   an error's code. `holds`: the value is owned, and taken in any case. */
static int tvmffi_i_find_saved(tvmffi_i_saver *s, TVMFFIAny value, int holds,
                               size_t *found) {
  uint64_t hash;
  size_t at;
  int code = tvmffi_i_grow_saved(s);
  if (!code) code = tvmffi_i_any_hash(&value, &hash);
  if (code) goto done;
  hash = hash * 0x9E3779B97F4A7C15u >> 32;
  at = (size_t)hash & (s->num_places - 1);
  for (; s->places[at]; at = (at + 1) & (s->num_places - 1)) {
    if (s->places[at] >> 32 != hash) continue;
    *found = (uint32_t)s->places[at] - 1;
    code = tvmffi_i_any_equal(&s->saved[*found].value, &value);
    if (code) goto done;
  }
  if (TVMFFI_I_UNLIKELY(s->num_saved == s->room_saved)) {
    void *moved = s->saved;
    code = tvmffi_i_grow_stack(&moved, s->num_saved, &s->room_saved,
                               sizeof(*s->saved));
    if (code) goto done;
    s->saved = (tvmffi_i_saved *)moved;
  }
  *found = s->num_saved++;
  s->places[at] = hash << 32 | s->num_saved;
  s->saved[*found].value = value;
  s->saved[*found].index = -1;
  if (!holds && value.type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_retain(value.v_obj);
  return 0;
done:
  if (holds) tvmffi_any_release(&value);
  return code;
}

/* Begins a node. The usual keys are known not to need escapes. */
static void tvmffi_i_begin_node(tvmffi_i_saver *s, int32_t index) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  if (s->num_nodes) tvmffi_i_text_char(b, ',');
  switch (index) {
    case kTVMFFIBool: tvmffi_i_text_str(b, "{\"type\":\"bool\""); break;
    case kTVMFFIInt: tvmffi_i_text_str(b, "{\"type\":\"int\""); break;
    case kTVMFFIFloat: tvmffi_i_text_str(b, "{\"type\":\"float\""); break;
    case kTVMFFIStr: tvmffi_i_text_str(b, "{\"type\":\"ffi.String\""); break;
    case kTVMFFIArray: tvmffi_i_text_str(b, "{\"type\":\"ffi.Array\""); break;
    case kTVMFFIMap: tvmffi_i_text_str(b, "{\"type\":\"ffi.Map\""); break;
    default:
      tvmffi_i_text_str(b, "{\"type\":");
      tvmffi_i_json_put_string(b, TVMFFIGetTypeInfo(index)->type_key);
  }
}

static int tvmffi_i_end_node(tvmffi_i_saver *s) {
  tvmffi_i_text_char(&s->writer.text, '}');
  return s->writer.text.failed ? tvmffi_i_no_memory() : 0;
}

static int tvmffi_i_append_node(tvmffi_i_saver *s, int32_t index,
                                const TVMFFIAny *data) {
  TVMFFIObject *node = tvmffi_i_new_map(kTVMFFIMap, 2);
  TVMFFIAny any = tvmffi_none();
  int code;
  if (!node) return -1;
  code = TVMFFIStringFromByteArray(&TVMFFIGetTypeInfo(index)->type_key, &any);
  if (!code) code = tvmffi_i_set_named(&node, tvmffi_view("type"), any);
  if (!code && data)
    code = tvmffi_i_set_named(&node, tvmffi_view("data"),
                              tvmffi_i_copy_owned(data));
  any = tvmffi_obj(node);
  if (!code) code = tvmffi_i_list_append(s->nodes, &any);
  tvmffi_release(node);
  return code;
}

/* Makes the node of what is saved; `data` (borrowed) is NULL for None. */
static int tvmffi_i_add_node(tvmffi_i_saver *s, size_t saved,
                             const TVMFFIAny *data) {
  int32_t index = s->saved[saved].value.type_index;
  if (index == kTVMFFISmallStr) index = kTVMFFIStr;
  if (index == kTVMFFISmallBytes) index = kTVMFFIBytes;
  if (!s->as_text) {
    TVMFFI_TRY(tvmffi_i_append_node(s, index, data));
  } else {
    tvmffi_i_begin_node(s, index);
    if (data) tvmffi_i_text_str(&s->writer.text, ",\"data\":");
    if (data) TVMFFI_TRY(tvmffi_i_json_write(&s->writer, data));
    TVMFFI_TRY(tvmffi_i_end_node(s));
  }
  s->saved[saved].index = s->num_nodes++;
  return 0;
}

/* Raises for an object that is among its own parts. Going on, the first list or
   dict would be the first to be met again; so upstream tells. */
TVMFFI_I_SLOW int tvmffi_i_saving_cycle(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIObject *object = s->saved[saved].value.v_obj;
  size_t left;
  do {
    const tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
    int32_t index = f->object->type_index;
    if (index == kTVMFFIList || index == kTVMFFIDict) object = f->object;
    left = f->saved;
    TVMFFI_I_POP(tvmffi_i_saving, &s->frames);
  } while (left != saved);
  return tvmffi_i_fail(
      "ValueError", "Cycle detected during serialization: a %s contains itself",
      object->type_index == kTVMFFIList ? "List"
      : object->type_index == kTVMFFIDict
          ? "Dict"
          : tvmffi_i_type_key(object->type_index));
}

static int tvmffi_i_enter_saving(tvmffi_i_saver *s, size_t saved,
                                 int with_fields) {
  TVMFFIObject *object = s->saved[saved].value.v_obj;
  tvmffi_i_saving *f = TVMFFI_I_PUSH(tvmffi_i_saving, &s->frames, NULL);
  if (!f) return -1;
  f->object = object;
  f->saved = saved;
  f->at = 0;
  if (object->type_index == kTVMFFIMap || object->type_index == kTVMFFIDict)
    f->at = tvmffi_i_map_begin(object);
  f->base = s->num_parts;
  f->on_value = 0;
  f->with_fields = with_fields;
  f->field = NULL;
  if (with_fields)
    f->walk = tvmffi_i_walk_fields(TVMFFIGetTypeInfo(object->type_index));
  return 0;
}

/* An object of a type that is none of the containers. */
static int tvmffi_i_save_object(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIAny value = s->saved[saved].value;
  int32_t index = value.type_index;
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(index);
  const tvmffi_i_enum *e = (const tvmffi_i_enum *)value.v_ptr;
  const TVMFFITypeMetadata *metadata;
  const TVMFFIAny *hook;
  TVMFFIAny data = tvmffi_none();
  int code;
  if (!type) return -1;
  if (tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE)) {
    data = tvmffi_is_instance(index, TVMFFI_I_INT_ENUM)
               ? tvmffi_int(e->int_index)
               : e->str_index;
    return tvmffi_i_add_node(s, saved, &data);
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_to_json_column, index);
  if (hook) {
    TVMFFI_TRY(tvmffi_i_call_attr_value(hook, &value, 1, kTVMFFIAny, &data));
    code = tvmffi_i_add_node(s, saved, &data);
    tvmffi_any_release(&data);
    return code;
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_new_column, index);
  metadata = TVMFFI_I_LOAD(&type->metadata);
  if ((!metadata || !metadata->creator) &&
      (!hook || hook->type_index != kTVMFFIFunction))
    return tvmffi_i_fail("TypeError",
                         "Type `%s` does not support ToJSONGraph (no native "
                         "creator or __ffi_new__ type attr)",
                         type->type_key.data);
  return tvmffi_i_enter_saving(s, saved, 1);
}

static int tvmffi_i_dtype_text(const DLDataType *dtype, TVMFFIAny *out) {
  TVMFFIByteArray text;
  TVMFFIAny made = tvmffi_none();
  TVMFFI_TRY(TVMFFIDataTypeToString(dtype, &made));
  *out = made;
  if (made.type_index != kTVMFFISmallStr) return 0;
  text = tvmffi_any_str(&made);
  return tvmffi_i_make_large(text.data, text.size, kTVMFFIStr, out);
}

/* Makes the node of a value that has no parts, or begins one that has. */
static int tvmffi_i_save_value(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIAny *value = &s->saved[saved].value;
  TVMFFIAny data = tvmffi_none();
  TVMFFIShapeCell *shape;
  int64_t device[2];
  int code;
  switch (value->type_index) {
    case kTVMFFINone: return tvmffi_i_add_node(s, saved, NULL);
    case kTVMFFIBool:
    case kTVMFFIInt:
    case kTVMFFIFloat:
    case kTVMFFISmallStr:
    case kTVMFFIStr: return tvmffi_i_add_node(s, saved, value);
    case kTVMFFIDataType:
      code = tvmffi_i_dtype_text(&value->v_dtype, &data);
      break;
    case kTVMFFIDevice:
      device[0] = (int64_t)value->v_device.device_type;
      device[1] = value->v_device.device_id;
      code = tvmffi_i_numbers(device, 2, &data);
      break;
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      code = tvmffi_i_base64(tvmffi_any_str(value), &data);
      break;
    case kTVMFFIShape:
      shape = TVMFFI_I_CELL(TVMFFIShapeCell, value->v_obj);
      code = tvmffi_i_numbers(shape->data, shape->size, &data);
      break;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict: return tvmffi_i_enter_saving(s, saved, 0);
    default:
      if (value->type_index >= kTVMFFIStaticObjectBegin && value->v_obj)
        return tvmffi_i_save_object(s, saved);
      return tvmffi_i_fail("RuntimeError", "Cannot serialize type `%s`",
                           tvmffi_i_type_key(value->type_index));
  }
  if (!code) code = tvmffi_i_add_node(s, saved, &data);
  tvmffi_any_release(&data);
  return code;
}

/* Puts what tells of a part (taken) onto the stack. */
static int tvmffi_i_add_part(tvmffi_i_saver *s, TVMFFIAny part) {
  if (TVMFFI_I_UNLIKELY(s->num_parts == s->room_parts)) {
    void *moved = s->parts;
    if (tvmffi_i_grow_stack(&moved, s->num_parts, &s->room_parts,
                            sizeof(*s->parts))) {
      tvmffi_any_release(&part);
      return -1;
    }
    s->parts = (TVMFFIAny *)moved;
  }
  s->parts[s->num_parts++] = part;
  return 0;
}

/* The next field whose value has a node of its own: gives that, owned. Those
   whose type is known stand in the data as they are. */
static int tvmffi_i_save_fields(tvmffi_i_saver *s, TVMFFIAny *part) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  while ((f->field = tvmffi_i_next_field(&f->walk))) {
    TVMFFIAny value = tvmffi_none();
    int code = f->field->getter(tvmffi_i_at(f->object, f->field), &value);
    if (code) return tvmffi_i_need_error(code, "A field getter");
    *part = value;
    switch (f->field->field_static_type_index) {
      case kTVMFFINone:
        tvmffi_any_release(part);
        value = tvmffi_none();
        break;
      case kTVMFFIBool:
      case kTVMFFIInt:
      case kTVMFFIFloat: break;
      case kTVMFFIDataType:
        TVMFFI_TRY(tvmffi_i_dtype_text(&part->v_dtype, &value));
        break;
      default: return 1;
    }
    TVMFFI_TRY(tvmffi_i_add_part(s, value));
  }
  return 0;
}

/* Gives the next part of the innermost value: 1, 0 if there is none left, or an
   error's code. It is owned if the value may change or has made it. */
static int tvmffi_i_next_part(tvmffi_i_saver *s, TVMFFIAny *part, int *holds) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  const tvmffi_i_seq *seq = (const tvmffi_i_seq *)(void *)f->object;
  int32_t index = f->object->type_index;
  const tvmffi_i_pair *pair;
  *holds = 1;
  if (f->with_fields) return tvmffi_i_save_fields(s, part);
  *holds = index == kTVMFFIList || index == kTVMFFIDict;
  if (index == kTVMFFIArray || index == kTVMFFIList) {
    if (f->at >= (uint64_t)seq->cell.size) return 0;
    *part = TVMFFI_I_ITEMS(seq)[f->at++];
  } else {
    pair = tvmffi_i_map_pair(f->object, f->at);
    if (!pair) return 0;
    *part = f->on_value ? pair->value : pair->key;
    if (f->on_value) f->at = tvmffi_i_map_after(f->object, f->at);
    f->on_value = !f->on_value;
  }
  if (*holds) *part = tvmffi_i_copy_owned(part);
  return 1;
}

/* Makes the data (owned) of a value: indices, or a map of what the
   fields have. */
static int tvmffi_i_parts_data(const tvmffi_i_saver *s,
                               const tvmffi_i_saving *f, TVMFFIAny *data) {
  tvmffi_i_field_walk w;
  size_t n = s->num_parts - f->base, i;
  const TVMFFIAny *parts = n ? s->parts + f->base : NULL;
  TVMFFIAny *items = NULL;
  TVMFFIObject *made;
  const TVMFFIFieldInfo *field;
  int code = 0;
  if (!f->with_fields) {
    made = tvmffi_i_new_array((int64_t)n, &items);
    if (!made) return -1;
    if (n) memcpy((void *)items, parts, n * sizeof(*items));
    *data = tvmffi_obj(made);
    return 0;
  }
  made = tvmffi_i_new_map(kTVMFFIMap, 0);
  if (!made) return -1;
  w = tvmffi_i_walk_fields(f->walk.type);
  for (i = 0; i < n && !code && (field = tvmffi_i_next_field(&w)); ++i)
    code =
        tvmffi_i_set_named(&made, field->name, tvmffi_i_copy_owned(&parts[i]));
  *data = tvmffi_obj(made);
  if (code) tvmffi_release(made);
  return code;
}

/* Which of an object's `n` data has the name of field `i`: the last, and -1 if
   a field before that has it, too, as in a map that they are put into. */
static int64_t tvmffi_i_named_data(const TVMFFITypeInfo *type, int64_t n,
                                   int64_t i, TVMFFIByteArray name) {
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(type);
  const TVMFFIFieldInfo *field;
  int64_t k, last = i;
  for (k = 0; k < n && (field = tvmffi_i_next_field(&w)) != NULL; ++k) {
    if (k == i || field->name.size != name.size ||
        memcmp(field->name.data, name.data, name.size) != 0)
      continue;
    if (k < i) return -1;
    last = k;
  }
  return last;
}

static int tvmffi_i_write_fields(tvmffi_i_saver *s, const tvmffi_i_saving *f) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  tvmffi_i_field_walk w = tvmffi_i_walk_fields(f->walk.type);
  const TVMFFIFieldInfo *field;
  int64_t i, k, n = (int64_t)(s->num_parts - f->base);
  int any = 0;
  tvmffi_i_text_char(b, '{');
  for (i = 0; i < n && (field = tvmffi_i_next_field(&w)) != NULL; ++i) {
    k = tvmffi_i_named_data(f->walk.type, n, i, field->name);
    if (k < 0) continue;
    if (any) tvmffi_i_text_char(b, ',');
    any = 1;
    tvmffi_i_json_put_string(b, field->name);
    tvmffi_i_text_char(b, ':');
    TVMFFI_TRY(tvmffi_i_json_write(&s->writer, &s->parts[f->base + (size_t)k]));
  }
  tvmffi_i_text_char(b, '}');
  return 0;
}

static void tvmffi_i_write_indices(tvmffi_i_saver *s, size_t base) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  size_t i;
  tvmffi_i_text_char(b, '[');
  for (i = base; i < s->num_parts; ++i) {
    if (i != base) tvmffi_i_text_char(b, ',');
    tvmffi_i_text_int(b, s->parts[i].v_int64);
  }
  tvmffi_i_text_char(b, ']');
}

/* Ends the innermost value, all parts of which have nodes. */
static int tvmffi_i_leave_saving(tvmffi_i_saver *s) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  TVMFFIAny data = tvmffi_none();
  int code = 0;
  if (!s->as_text) {
    TVMFFI_TRY(tvmffi_i_parts_data(s, f, &data));
    code = tvmffi_i_append_node(s, f->object->type_index, &data);
    tvmffi_any_release(&data);
  } else {
    tvmffi_i_begin_node(s, f->object->type_index);
    tvmffi_i_text_str(&s->writer.text, ",\"data\":");
    if (f->with_fields)
      code = tvmffi_i_write_fields(s, f);
    else
      tvmffi_i_write_indices(s, f->base);
    if (!code) code = tvmffi_i_end_node(s);
  }
  if (code) return code;
  s->saved[f->saved].index = s->num_nodes++;
  if (f->with_fields)
    while (s->num_parts > f->base)
      tvmffi_any_release(&s->parts[--s->num_parts]);
  s->num_parts = f->base;
  TVMFFI_I_POP(tvmffi_i_saving, &s->frames);
  return 0;
}

/* Makes the nodes of a value (borrowed) and its parts; gives its index. */
static int tvmffi_i_save(tvmffi_i_saver *s, const TVMFFIAny *root,
                         int64_t *index) {
  TVMFFIAny part = *root;
  size_t saved = 0;
  int code = 1, holds = 0;
  for (;;) {
    if (code) {
      size_t depth = s->frames.depth;
      code = tvmffi_i_find_saved(s, part, holds, &saved);
      if (code < 0) return code;
      if (code && s->saved[saved].index < 0)
        return tvmffi_i_saving_cycle(s, saved);
      if (!code) TVMFFI_TRY(tvmffi_i_save_value(s, saved));
      if (s->frames.depth > depth) goto next;
    } else {
      saved = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames)->saved;
      TVMFFI_TRY(tvmffi_i_leave_saving(s));
    }
    *index = s->saved[saved].index;
    if (!s->frames.depth) return 0;
    TVMFFI_TRY(tvmffi_i_add_part(s, tvmffi_int(*index)));
  next:
    code = tvmffi_i_next_part(s, &part, &holds);
    if (code < 0) return code;
  }
}

static const char tvmffi_i_graph_head[] = "{\"root_index\":";

/* Ends the text, and puts the root's index into its place at the front. */
static int tvmffi_i_graph_text(tvmffi_i_saver *s, int64_t index,
                               const TVMFFIAny *metadata, TVMFFIAny *out) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  const size_t at = sizeof(tvmffi_i_graph_head) - 1;
  size_t end, size;
  char number[24];
  tvmffi_i_text_char(b, ']');
  if (metadata->type_index != kTVMFFINone) {
    tvmffi_i_text_str(b, ",\"metadata\":");
    TVMFFI_TRY(tvmffi_i_json_write(&s->writer, metadata));
  }
  tvmffi_i_text_char(b, '}');
  end = b->size;
  tvmffi_i_text_int(b, index);
  if (b->failed) return tvmffi_i_no_memory();
  size = b->size - end;
  memcpy(number, b->data + end, size);
  memmove(b->data + at + size, b->data + at, end - at);
  memcpy(b->data + at, number, size);
  return tvmffi_i_text_take(b, out);
}

static int tvmffi_i_finish_saving(tvmffi_i_saver *s, int64_t index,
                                  const TVMFFIAny *metadata, TVMFFIAny *out) {
  tvmffi_i_seq *list = (tvmffi_i_seq *)(void *)s->nodes;
  TVMFFIObject *graph, *nodes;
  TVMFFIAny *items = NULL;
  int code;
  if (s->as_text) return tvmffi_i_graph_text(s, index, metadata, out);
  nodes = tvmffi_i_new_array(list->cell.size, &items);
  graph = nodes ? tvmffi_i_new_map(kTVMFFIMap, 0) : NULL;
  if (!graph) {
    tvmffi_release(nodes);
    return -1;
  }
  memcpy((void *)items, list->cell.data,
         (size_t)list->cell.size * sizeof(*items));
  list->cell.size = 0;
  code =
      tvmffi_i_set_named(&graph, tvmffi_view("root_index"), tvmffi_int(index));
  *out = tvmffi_obj(nodes);
  if (code)
    tvmffi_release(nodes);
  else
    code = tvmffi_i_set_named(&graph, tvmffi_view("nodes"), *out);
  if (!code && metadata->type_index != kTVMFFINone)
    code = tvmffi_i_set_named(&graph, tvmffi_view("metadata"),
                              tvmffi_i_copy_owned(metadata));
  *out = tvmffi_obj(graph);
  if (code) tvmffi_any_release(out);
  return code;
}

/* Both arguments are owned by the caller and left alone. */
static int tvmffi_i_to_graph(const TVMFFIAny *value, const TVMFFIAny *metadata,
                             int as_text, TVMFFIAny *out) {
  tvmffi_i_saver s;
  int64_t index = 0;
  int code = 0;
  memset((void *)&s, 0, sizeof(s));
  tvmffi_i_stack_open(&s.frames, NULL, 0);
  s.as_text = as_text;
  if (as_text) {
    tvmffi_i_text_str(&s.writer.text, tvmffi_i_graph_head);
    tvmffi_i_text_str(&s.writer.text, ",\"nodes\":[");
  } else {
    s.nodes = tvmffi_i_new_list(0);
    if (!s.nodes) return -1;
  }
  code = tvmffi_i_save(&s, value, &index);
  if (!code) code = tvmffi_i_finish_saving(&s, index, metadata, out);
  while (s.num_parts) tvmffi_any_release(&s.parts[--s.num_parts]);
  while (s.num_saved) tvmffi_any_release(&s.saved[--s.num_saved].value);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_free(s.parts);
  tvmffi_i_free(s.saved);
  tvmffi_i_free(s.places);
  tvmffi_i_text_release(&s.writer.text);
  tvmffi_i_free(s.writer.levels);
  tvmffi_release(s.nodes);
  return code;
}

static int tvmffi_i_call_to_graph(const TVMFFIAny *value,
                                  const TVMFFIAny *metadata, int as_text,
                                  TVMFFIAny *out) {
  TVMFFIAny owned = tvmffi_none(), about = tvmffi_none();
  int code = tvmffi_i_own(value, &owned);
  if (!code) code = tvmffi_i_own(metadata, &about);
  if (!code) code = tvmffi_i_to_graph(&owned, &about, as_text, out);
  tvmffi_any_release(&owned);
  tvmffi_any_release(&about);
  return code;
}
#endif
