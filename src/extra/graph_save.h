/* ======== Graph writer =================================== >>extra/graph_save
   values to the nodes of a graph */

/* A graph is a value and everything it contains, saved in JSON as a list of
   nodes. A node is a map with the type and the data of one value. The data
   names children by node index, so shared objects stay shared, as in upstream's
   serialization.cc. Children come before their parents. A value that contains
   itself can be neither saved nor loaded.

   A stack replaces recursion. The values on the stack are owned, because hooks
   (__data_to_json__ and __data_from_json__) may run any code. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"
#include "json_write.h"
#include "base64.h"

#if !TVMFFI_NO_EXTRA
/* A value whose node is written, or will be written after its children. */
typedef struct {
  TVMFFIAny value; /* owned */
  int64_t index;   /* the node's index; -1 until the node is added */
} tvmffi_i_saved;

/* A stack frame: a container or object whose children are being saved. */
typedef struct {
  tvmffi_i_children c;
  size_t saved; /* index of the frame's value in `saved` */
  size_t base;  /* index of the value's first child in `parts` */
} tvmffi_i_saving;

/* The state of a graph writer, which writes nodes as JSON text or as a list of
   maps.

   The hash table `slot_array` finds a value in `saved`, so equal values share a
   node. The upper half of a slot has 32 bits of the value's hash. The lower
   half is the value's index + 1, or 0 if the slot is empty. */
typedef struct {
  int as_text;
  tvmffi_i_json_writer writer;
  TVMFFIObject *nodes; /* owned list of maps; NULL if as_text */
  tvmffi_i_saved *saved;
  size_t num_saved, room_saved;
  uint64_t *slot_array;
  size_t num_slots;
  int64_t num_nodes;
  /* A stack of the children that have been saved, for all frames. A child of a
     container takes one item, the node index. A field of an object takes two: a
     pointer to the name, then the data. */
  TVMFFIAny *parts;
  size_t num_parts, room_parts;
  tvmffi_i_stack frames;
} tvmffi_i_saver;

static tvmffi_i_known_column tvmffi_i_to_json_column = {"__data_to_json__",
                                                        NULL};
static tvmffi_i_known_column tvmffi_i_from_json_column = {"__data_from_json__",
                                                          NULL};

/* Adds the entry (`name`, `value`) to *map. Takes ownership of `value`, also on
   failure. */
static int tvmffi_i_set_named(TVMFFIObject **map, TVMFFIByteArray name,
                              TVMFFIAny value) {
  TVMFFIAny key = tvmffi_none();
  int code = TVMFFIStringFromByteArray(&name, &key);
  if (!code) code = tvmffi_i_map_set(map, &key, &value);
  tvmffi_i_any_release(&key);
  tvmffi_i_any_release(&value);
  return code;
}

/* Sets *out to a new array (owned) of n integers. */
static int tvmffi_i_numbers(const int64_t *numbers, size_t n, TVMFFIAny *out) {
  TVMFFIAny *items = NULL;
  TVMFFIObject *array = tvmffi_i_new_array((int64_t)n, &items);
  size_t i;
  if (!array) return -1;
  for (i = 0; i < n; ++i) items[i] = tvmffi_int(numbers[i]);
  *out = tvmffi_obj(array);
  return 0;
}

/* Grows `saved` and the hash table, so that one more value fits. */
static int tvmffi_i_grow_saved(tvmffi_i_saver *s) {
  size_t num = s->num_slots ? s->num_slots * 2 : 64, i, at;
  uint64_t *slot_array;
  TVMFFI_I_PUSH_ROOM(tvmffi_i_saved, s->saved, s->num_saved, s->room_saved);
  if (s->num_saved * 2 < s->num_slots) return 0;
  if (num > UINT32_MAX || num > PTRDIFF_MAX / sizeof(*slot_array))
    return tvmffi_i_no_memory();
  slot_array = (uint64_t *)tvmffi_i_alloc(num * sizeof(*slot_array));
  if (!slot_array) return tvmffi_i_no_memory();
  memset(slot_array, 0, num * sizeof(*slot_array));
  for (i = 0; i < s->num_slots; ++i) {
    if (!s->slot_array[i]) continue;
    at = (size_t)(s->slot_array[i] >> 32) & (num - 1);
    while (slot_array[at]) at = (at + 1) & (num - 1);
    slot_array[at] = s->slot_array[i];
  }
  tvmffi_i_free(s->slot_array);
  s->slot_array = slot_array;
  s->num_slots = num;
  return 0;
}

/* Looks up a value and sets *found to its index in `saved`. Returns 1 if the
   value was there, 0 if it has been added, or an error code. If `owned`, takes
   ownership of the value, also on failure. */
static int tvmffi_i_find_saved(tvmffi_i_saver *s, TVMFFIAny value, int owned,
                               size_t *found) {
  uint64_t hash;
  size_t at;
  int code = tvmffi_i_grow_saved(s);
  if (!code) code = tvmffi_i_any_hash(&value, &hash);
  if (code) goto done;
  hash = hash * 0x9E3779B97F4A7C15u >> 32;
  at = (size_t)hash & (s->num_slots - 1);
  for (; s->slot_array[at]; at = (at + 1) & (s->num_slots - 1)) {
    if (s->slot_array[at] >> 32 != hash) continue;
    *found = (uint32_t)s->slot_array[at] - 1;
    code = tvmffi_i_any_equal(&s->saved[*found].value, &value);
    if (code) goto done;
  }
  *found = s->num_saved++;
  s->slot_array[at] = hash << 32 | s->num_saved;
  s->saved[*found].value = owned ? value : tvmffi_i_copy_owned(&value);
  s->saved[*found].index = -1;
  return 0;
done:
  if (owned) tvmffi_i_any_release(&value);
  return code;
}

/* -------- Nodes -------- */

/* Writes the text of a node up to its data. The most frequent types have
   constant text, which is faster (benchmark "write graph"). */
static void tvmffi_i_begin_node(tvmffi_i_saver *s, int32_t index) {
#define TVMFFI_I_NODE(i, key) \
  case i: tvmffi_i_text_str(b, "{\"type\":\"" key "\",\"data\":"); break;
  tvmffi_i_text_buffer *b = &s->writer.text;
  if (s->num_nodes) tvmffi_i_text_char(b, ',');
  switch (index) {
    TVMFFI_I_NODE(kTVMFFIBool, "bool")
    TVMFFI_I_NODE(kTVMFFIInt, "int")
    TVMFFI_I_NODE(kTVMFFIFloat, "float")
    TVMFFI_I_NODE(kTVMFFIStr, "ffi.String")
    TVMFFI_I_NODE(kTVMFFIArray, "ffi.Array")
    TVMFFI_I_NODE(kTVMFFIMap, "ffi.Map")
    default:
      tvmffi_i_text_str(b, "{\"type\":");
      tvmffi_i_json_put_string(b, TVMFFIGetTypeInfo(index)->type_key);
      if (index != kTVMFFINone) tvmffi_i_text_str(b, ",\"data\":");
  }
#undef TVMFFI_I_NODE
}

/* Sets *data to the data (owned) of the node for frame `f`: an array of node
   indices, or a map of fields. */
static int tvmffi_i_parts_data(const tvmffi_i_saver *s,
                               const tvmffi_i_saving *f, TVMFFIAny *data) {
  const TVMFFIAny *parts = s->num_parts ? s->parts + f->base : NULL;
  size_t n = s->num_parts - f->base, i;
  TVMFFIAny *items = NULL;
  TVMFFIObject *made;
  int code = 0;
  if (tvmffi_i_is_container(f->c.object->type_index)) {
    made = tvmffi_i_new_array((int64_t)n, &items);
    if (!made) return -1;
    if (n) memcpy((void *)items, parts, n * sizeof(*items));
    *data = tvmffi_obj(made);
    return 0;
  }
  made = tvmffi_i_new_map(kTVMFFIMap, 0);
  if (!made) return -1;
  for (i = 0; i < n && !code; i += 2)
    code = tvmffi_i_set_named(&made, *(const TVMFFIByteArray *)parts[i].v_ptr,
                              tvmffi_i_copy_owned(&parts[i + 1]));
  *data = tvmffi_obj(made);
  if (code) tvmffi_i_release(made);
  return code;
}

/* Writes the data of the node for frame `f` as text: an array of node indices,
   or an object of fields. */
static int tvmffi_i_write_parts(tvmffi_i_saver *s, const tvmffi_i_saving *f) {
  tvmffi_i_text_buffer *b = &s->writer.text;
  int is_container = tvmffi_i_is_container(f->c.object->type_index);
  size_t i;
  tvmffi_i_text_char(b, is_container ? '[' : '{');
  for (i = f->base; i < s->num_parts; ++i) {
    if (i != f->base) tvmffi_i_text_char(b, ',');
    if (is_container) {
      tvmffi_i_text_int(b, s->parts[i].v_int64);
      continue;
    }
    tvmffi_i_json_put_string(b, *(const TVMFFIByteArray *)s->parts[i].v_ptr);
    tvmffi_i_text_char(b, ':');
    TVMFFI_TRY(tvmffi_i_json_write(&s->writer, &s->parts[++i]));
  }
  tvmffi_i_text_char(b, is_container ? ']' : '}');
  return 0;
}

/* Appends a node, as a map, to s->nodes. The node's data is `data`, or the
   children of frame `f`. If both are NULL, the node has no data. */
TVMFFI_I_NOINLINE int tvmffi_i_append_node(tvmffi_i_saver *s, int32_t index,
                                           const TVMFFIAny *data,
                                           const tvmffi_i_saving *f) {
  TVMFFIObject *node = tvmffi_i_new_map(kTVMFFIMap, 2);
  const TVMFFIByteArray *key = &TVMFFIGetTypeInfo(index)->type_key;
  TVMFFIAny any = tvmffi_none();
  int code;
  if (!node) return -1;
  /* As in upstream, the key of a type that is not built in becomes an object
     even if it is short: Python code sees the difference. */
  code = index < kTVMFFIDynObjectBegin
             ? TVMFFIStringFromByteArray(key, &any)
             : tvmffi_i_make_large(key->data, key->size, kTVMFFIStr, &any);
  if (!code) code = tvmffi_i_set_named(&node, tvmffi_byte_array("type"), any);
  if (!code && f) code = tvmffi_i_parts_data(s, f, &any);
  if (!code && data) any = tvmffi_i_copy_owned(data);
  if (!code && (data || f))
    code = tvmffi_i_set_named(&node, tvmffi_byte_array("data"), any);
  any = tvmffi_obj(node);
  if (!code) code = tvmffi_i_list_append(s->nodes, &any);
  tvmffi_i_release(node);
  return code;
}

/* Adds the node of the value s->saved[saved]. The node's data is `data`
   (borrowed), or the children of frame `f`. If both are NULL, it has none. */
static int tvmffi_i_add_node(tvmffi_i_saver *s, size_t saved,
                             const TVMFFIAny *data, const tvmffi_i_saving *f) {
  int32_t index = s->saved[saved].value.type_index;
  if (index == kTVMFFISmallStr) index = kTVMFFIStr;
  if (index == kTVMFFISmallBytes) index = kTVMFFIBytes;
  if (!s->as_text) {
    TVMFFI_TRY(tvmffi_i_append_node(s, index, data, f));
  } else {
    tvmffi_i_begin_node(s, index);
    if (data) TVMFFI_TRY(tvmffi_i_json_write(&s->writer, data));
    if (f) TVMFFI_TRY(tvmffi_i_write_parts(s, f));
    tvmffi_i_text_char(&s->writer.text, '}');
    if (s->writer.text.failed) return tvmffi_i_no_memory();
  }
  s->saved[saved].index = s->num_nodes++;
  return 0;
}

/* Raises ValueError for a value that contains itself. As in upstream, the
   message names the outermost list or dict of the cycle. */
TVMFFI_I_SLOW int tvmffi_i_saving_cycle(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIObject *object = s->saved[saved].value.v_obj;
  size_t left;
  do {
    const tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
    int32_t index = f->c.object->type_index;
    if (index == kTVMFFIList || index == kTVMFFIDict) object = f->c.object;
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

static int tvmffi_i_enter_saving(tvmffi_i_saver *s, size_t saved) {
  TVMFFIObject *object = s->saved[saved].value.v_obj;
  tvmffi_i_saving *f = TVMFFI_I_PUSH(tvmffi_i_saving, &s->frames, NULL);
  if (!f) return -1;
  tvmffi_i_children_open(&f->c, object, TVMFFIGetTypeInfo(object->type_index));
  f->saved = saved;
  f->base = s->num_parts;
  return 0;
}

/* Adds the node of an object. If the object is saved field by field, pushes a
   frame instead. */
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
    return tvmffi_i_add_node(s, saved, &data, NULL);
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_to_json_column, index);
  if (hook) {
    TVMFFI_TRY(tvmffi_i_call_attr_value(hook, &value, 1, kTVMFFIAny, &data));
    code = tvmffi_i_add_node(s, saved, &data, NULL);
    tvmffi_i_any_release(&data);
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
  return tvmffi_i_enter_saving(s, saved);
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

/* Adds the node of a value without children. Pushes a frame for a value with
   children. */
static int tvmffi_i_save_value(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIAny *value = &s->saved[saved].value;
  TVMFFIAny data = tvmffi_none();
  TVMFFIShapeCell *shape;
  int64_t device[2];
  int code;
  switch (value->type_index) {
    case kTVMFFINone: return tvmffi_i_add_node(s, saved, NULL, NULL);
    case kTVMFFIBool:
    case kTVMFFIInt:
    case kTVMFFIFloat:
    case kTVMFFISmallStr:
    case kTVMFFIStr: return tvmffi_i_add_node(s, saved, value, NULL);
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
    case kTVMFFIDict: return tvmffi_i_enter_saving(s, saved);
    default:
      if (value->type_index >= kTVMFFIStaticObjectBegin && value->v_obj)
        return tvmffi_i_save_object(s, saved);
      return tvmffi_i_fail("RuntimeError", "Cannot serialize type `%s`",
                           tvmffi_i_type_key(value->type_index));
  }
  if (!code) code = tvmffi_i_add_node(s, saved, &data, NULL);
  tvmffi_i_any_release(&data);
  return code;
}

/* -------- Children -------- */

/* Pushes a child of the top frame onto s->parts. In a container, `part` is the
   child's node index. In an object, `part` is the data (owned) of the current
   field. A field replaces an earlier field of the same name. */
static int tvmffi_i_add_part(tvmffi_i_saver *s, TVMFFIAny part) {
  const tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  const TVMFFIByteArray *name = NULL, *other;
  size_t i;
  if (f->c.field) {
    name = &f->c.field->name;
    for (i = f->base; i < s->num_parts; i += 2) {
      other = (const TVMFFIByteArray *)s->parts[i].v_ptr;
      if (!tvmffi_i_same_text(*other, *name)) continue;
      tvmffi_i_any_release(&s->parts[i + 1]);
      s->parts[i + 1] = part;
      return 0;
    }
  }
  if (TVMFFI_I_UNLIKELY(s->room_parts - s->num_parts < 2)) {
    TVMFFIAny *parts = (TVMFFIAny *)tvmffi_i_larger(s->parts, &s->room_parts,
                                                    sizeof(*parts));
    if (!parts) return tvmffi_i_any_release(&part), -1;
    s->parts = parts;
  }
  if (f->c.field)
    s->parts[s->num_parts++] = tvmffi_ptr((void *)(uintptr_t)name);
  s->parts[s->num_parts++] = part;
  return 0;
}

/* Finds the next field whose value needs a node. Returns 1 with the value
   (owned) in *part, 0 after the last field, or an error code. Pushes bool, int,
   float and dtype fields onto s->parts without a node. */
static int tvmffi_i_save_fields(tvmffi_i_saver *s, TVMFFIAny *part) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  for (;;) {
    TVMFFIAny value = tvmffi_none();
    int code = tvmffi_i_read_next(&f->c, 0, &value);
    if (code) return tvmffi_i_need_error(code, "A field getter");
    if (!f->c.field) return 0;
    switch (f->c.field->field_static_type_index) {
      case kTVMFFINone: tvmffi_i_any_release(&value); break;
      case kTVMFFIBool:
      case kTVMFFIInt:
      case kTVMFFIFloat: break;
      case kTVMFFIDataType:
        TVMFFI_TRY(tvmffi_i_dtype_text(&value.v_dtype, &value));
        break;
      default: *part = value; return 1;
    }
    TVMFFI_TRY(tvmffi_i_add_part(s, value));
  }
}

/* Sets *part to the next child of the top frame, and *owned to whether the
   caller owns the child. Returns 1 if there is a child, 0 at the end, or an
   error code. Arrays and maps cannot change, so their children are borrowed. */
static int tvmffi_i_next_part(tvmffi_i_saver *s, TVMFFIAny *part, int *owned) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  int32_t index = f->c.object->type_index;
  const TVMFFIAny *child;
  *owned = index != kTVMFFIArray && index != kTVMFFIMap;
  if (!tvmffi_i_is_container(index)) return tvmffi_i_save_fields(s, part);
  child = tvmffi_i_next_in_container(&f->c);
  if (!child) return 0;
  *part = *owned ? tvmffi_i_copy_owned(child) : *child;
  return 1;
}

/* Adds the node of the top frame's value, whose children have nodes, and pops
   the frame. */
static int tvmffi_i_leave_saving(tvmffi_i_saver *s) {
  const tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  TVMFFI_TRY(tvmffi_i_add_node(s, f->saved, NULL, f));
  while (s->num_parts > f->base)
    tvmffi_i_any_release(&s->parts[--s->num_parts]);
  TVMFFI_I_POP(tvmffi_i_saving, &s->frames);
  return 0;
}

/* Adds the nodes of a value (borrowed) and everything it contains. Sets *index
   to the node index of the value. */
static int tvmffi_i_save(tvmffi_i_saver *s, const TVMFFIAny *root,
                         int64_t *index) {
  TVMFFIAny part = *root;
  size_t saved = 0;
  int code = 1, owned = 0;
  for (;;) {
    if (code) {
      size_t depth = s->frames.depth;
      code = tvmffi_i_find_saved(s, part, owned, &saved);
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
    code = tvmffi_i_next_part(s, &part, &owned);
    if (code < 0) return code;
  }
}

static const char tvmffi_i_graph_head[] = "{\"root_index\":";

/* Completes the JSON text. Inserts the root's node index after the start of the
   text, tvmffi_i_graph_head. */
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

/* Sets *out to the graph as a map (owned) of root index, nodes and metadata. */
static int tvmffi_i_graph_map(tvmffi_i_saver *s, int64_t index,
                              const TVMFFIAny *metadata, TVMFFIAny *out) {
  TVMFFIObject *graph = tvmffi_i_new_map(kTVMFFIMap, 0);
  TVMFFIAny list = tvmffi_obj(s->nodes), nodes = tvmffi_none();
  int code;
  if (!graph) return -1;
  code = tvmffi_i_set_named(&graph, tvmffi_byte_array("root_index"),
                            tvmffi_int(index));
  if (!code) code = tvmffi_i_cast_to(kTVMFFIArray, &list, &nodes);
  if (!code)
    code = tvmffi_i_set_named(&graph, tvmffi_byte_array("nodes"), nodes);
  if (!code && metadata->type_index != kTVMFFINone)
    code = tvmffi_i_set_named(&graph, tvmffi_byte_array("metadata"),
                              tvmffi_i_copy_owned(metadata));
  *out = tvmffi_obj(graph);
  if (code) tvmffi_i_any_release(out);
  return code;
}

/* Saves a value as a graph: as JSON text if `as_text`, otherwise as a map. The
   caller owns `value`, `metadata` and *out. */
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
  if (!code)
    code = (as_text ? tvmffi_i_graph_text : tvmffi_i_graph_map)(&s, index,
                                                                metadata, out);
  while (s.num_parts) tvmffi_i_any_release(&s.parts[--s.num_parts]);
  while (s.num_saved) tvmffi_i_any_release(&s.saved[--s.num_saved].value);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_free(s.parts);
  tvmffi_i_free(s.saved);
  tvmffi_i_free(s.slot_array);
  tvmffi_i_text_release(&s.writer.text);
  tvmffi_i_free(s.writer.levels);
  tvmffi_i_release(s.nodes);
  return code;
}

static int tvmffi_i_call_to_graph(const TVMFFIAny *value,
                                  const TVMFFIAny *metadata, int as_text,
                                  TVMFFIAny *out) {
  TVMFFIAny owned = tvmffi_none(), about = tvmffi_none();
  int code = tvmffi_i_own(value, &owned);
  if (!code) code = tvmffi_i_own(metadata, &about);
  if (!code) code = tvmffi_i_to_graph(&owned, &about, as_text, out);
  tvmffi_i_any_release(&owned);
  tvmffi_i_any_release(&about);
  return code;
}
#endif
