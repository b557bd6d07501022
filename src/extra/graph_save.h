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
#include "base64.h"

#if !TVMFFI_NO_EXTRA
/* A value whose node is written, or will be written after its children. */
typedef struct {
  TVMFFIAny value; /* owned */
  int64_t index;   /* the node's index; -1 until the node is added */
  size_t next;     /* the next value with the same hash, as for `first` */
} tvmffi_i_saved;

/* A record: the values with one hash. */
typedef struct {
  uintptr_t hash; /* not 0 */
  size_t first;   /* stored as index in `saved` + 1, 0 means none */
} tvmffi_i_saved_hash;

/* A stack frame: a container or object whose children are being saved. */
typedef struct {
  tvmffi_i_children c;
  size_t saved; /* index of the frame's value in `saved` */
  size_t base;  /* container: index of its first child in `parts` */
  /* Owned: for an object, the map from its fields' names to their saved values
     or node indices. NULL for a container. */
  TVMFFIObject *fields;
} tvmffi_i_saving;

/* The state of a graph writer. Equal values share a node. `hashes` finds a
   value in `saved`. */
typedef struct {
  TVMFFIObject *nodes; /* owned list of maps */
  tvmffi_i_saved *saved;
  size_t num_saved, room_saved;
  tvmffi_i_records hashes;
  int64_t num_nodes;
  int64_t *parts; /* node indices of the children of all open containers */
  size_t num_parts, room_parts;
  tvmffi_i_stack frames;
} tvmffi_i_saver;

static tvmffi_i_known_column tvmffi_i_to_json_column = {"__data_to_json__",
                                                        NULL};
static tvmffi_i_known_column tvmffi_i_from_json_column = {"__data_from_json__",
                                                          NULL};

/* Adds the entry (`name`, `value`) to `map`. */
static int tvmffi_i_set_named(TVMFFIObject *map, TVMFFIByteArray name,
                              const TVMFFIAny *value) {
  TVMFFIAny key = tvmffi_none();
  int code = TVMFFIStringFromByteArray(&name, &key);
  TVMFFI_ASSERT(map && map->type_index == kTVMFFIMap);
  if (!code) code = tvmffi_i_map_set(map, &key, value);
  tvmffi_i_any_release(&key);
  return code;
}

/* Sets *out to a new array (owned) of n integers. */
static int tvmffi_i_numbers(const int64_t *numbers, size_t n, TVMFFIAny *out) {
  TVMFFIAny *items = NULL;
  TVMFFIObject *array = tvmffi_i_new_array(n, &items);
  size_t i;
  if (!array) return -1;
  TVMFFI_ASSERT(numbers || !n);
  for (i = 0; i < n; ++i) items[i] = tvmffi_int(numbers[i]);
  return tvmffi_i_give_new(out, array);
}

/* Looks up the value (owned) that is right behind the last of `saved`, and sets
   *found to its index. Returns 1 if an equal value was there before, 0 if the
   value has been added, or an error code. Releases the value unless added. */
static int tvmffi_i_find_saved(tvmffi_i_saver *s, size_t *found) {
  tvmffi_i_saved *last = &s->saved[s->num_saved];
  tvmffi_i_saved_hash *record = NULL;
  size_t *next = NULL;
  uint64_t hash;
  int code = tvmffi_i_any_hash(&last->value, &hash);
  TVMFFI_ASSERT(s->num_saved < s->room_saved);
  if (!code) {
    /* On a big-endian machine with 32 bits, only the upper half of the hash
       depends on an object's address. */
    hash ^= hash >> 32;
    record = (tvmffi_i_saved_hash *)tvmffi_i_add_record(
        &s->hashes, sizeof(*record), 1, (uintptr_t)(hash << 1 | 1), 0);
    if (!record) code = tvmffi_i_no_memory();
  }
  if (!code) {
    for (next = &record->first; !code && *next; next = &s->saved[*found].next) {
      *found = *next - 1;
      TVMFFI_ASSERT(*found < s->num_saved);
      code = tvmffi_i_any_equal(&s->saved[*found].value, &last->value);
    }
  }
  if (code) {
    tvmffi_i_any_release(&last->value);
    return code;
  }
  last->index = -1;
  last->next = 0;
  *found = s->num_saved++;
  *next = s->num_saved;
  return 0;
}

/* -------- Nodes -------- */

/* Adds the node of the value s->saved[saved]. `data` (borrowed) is NULL for
   None. */
static int tvmffi_i_add_node(tvmffi_i_saver *s, size_t saved,
                             const TVMFFIAny *data) {
  int32_t index = s->saved[saved].value.type_index;
  const int32_t text = tvmffi_i_text_type(index);
  TVMFFIObject *node = tvmffi_i_new_map(kTVMFFIMap, 2);
  TVMFFIAny any = tvmffi_none();
  TVMFFIByteArray key;
  int code;
  TVMFFI_ASSERT(saved < s->num_saved && s->saved[saved].index < 0);
  if (!node) return -1;
  if (text) index = text;
  key = TVMFFIGetTypeInfo(index)->type_key;
  /* As in upstream, the key of a type that is not built in becomes an object
     even if it is short: Python code sees the difference. */
  code = index < kTVMFFIDynObjectBegin
             ? TVMFFIStringFromByteArray(&key, &any)
             : tvmffi_i_make_large(key.data, key.size, kTVMFFIStr, &any);
  if (!code) code = tvmffi_i_set_named(node, tvmffi_byte_array("type"), &any);
  if (!code && data)
    code = tvmffi_i_set_named(node, tvmffi_byte_array("data"), data);
  tvmffi_i_any_release(&any);
  any = tvmffi_obj(node);
  if (!code) code = tvmffi_i_list_append(s->nodes, &any);
  tvmffi_i_release(node);
  if (code) return code;
  s->saved[saved].index = s->num_nodes++;
  TVMFFI_ASSERT((size_t)s->num_nodes <= s->num_saved);
  return 0;
}

/* Same as tvmffi_i_add_node, but takes ownership of `data`, also on failure. */
static int tvmffi_i_add_made(tvmffi_i_saver *s, size_t saved, TVMFFIAny data) {
  int code = tvmffi_i_add_node(s, saved, &data);
  tvmffi_i_any_release(&data);
  return code;
}

/* Raises ValueError for a value that contains itself. As in upstream, the
   message names the outermost list or dict of the cycle. */
TVMFFI_I_SLOW int tvmffi_i_saving_cycle(tvmffi_i_saver *s, size_t saved) {
  const TVMFFIObject *object = s->saved[saved].value.v_obj;
  size_t left;
  do {
    const tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
    int32_t index = f->c.object->type_index;
    TVMFFI_ASSERT(s->frames.depth > 0 && f->saved >= saved);
    if (index == kTVMFFIList || index == kTVMFFIDict) object = f->c.object;
    left = f->saved;
    tvmffi_i_release(f->fields);
    TVMFFI_I_POP(tvmffi_i_saving, &s->frames);
  } while (left != saved);
  return tvmffi_i_value_error(
      "Cycle detected during serialization: a %s contains itself",
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
  TVMFFI_ASSERT(s->saved[saved].index < 0);
  f->fields = NULL;
  if (tvmffi_i_is_container(object->type_index)) return 0;
  f->fields = tvmffi_i_new_map(kTVMFFIMap, 0);
  return f->fields ? 0 : -1;
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
  if (!type) return -1;
  TVMFFI_ASSERT(index >= kTVMFFIStaticObjectBegin && value.v_ptr);
  if (tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE)) {
    data = tvmffi_is_instance(index, TVMFFI_I_INT_ENUM)
               ? tvmffi_int(e->int_index)
               : e->str_index;
    return tvmffi_i_add_node(s, saved, &data);
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_to_json_column, index);
  if (hook) {
    TVMFFI_TRY(tvmffi_i_call_attr_value(hook, &value, 1, kTVMFFIAny, &data));
    return tvmffi_i_add_made(s, saved, data);
  }
  hook = tvmffi_i_type_attr(&tvmffi_i_new_column, index);
  metadata = TVMFFI_I_LOAD(&type->metadata);
  if ((!metadata || !metadata->creator) &&
      (!hook || hook->type_index != kTVMFFIFunction))
    return tvmffi_i_type_error(
        "Type `%s` does not support ToJSONGraph (no native creator or "
        "__ffi_new__ type attr)",
        type->type_key.data);
  return tvmffi_i_enter_saving(s, saved);
}

static int tvmffi_i_cannot_save(const TVMFFIAny *value) {
  return tvmffi_i_runtime_error("Cannot serialize type `%s`",
                                tvmffi_i_type_key(value->type_index));
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
  const TVMFFIShapeCell *shape;
  int64_t device[2];
  TVMFFI_ASSERT(saved + 1 == s->num_saved);
  if (tvmffi_i_is_container(value->type_index))
    return tvmffi_i_enter_saving(s, saved);
  switch (value->type_index) {
    case kTVMFFINone: return tvmffi_i_add_node(s, saved, NULL);
    case kTVMFFIBool:
    case kTVMFFIInt:
    case kTVMFFIFloat:
    case kTVMFFISmallStr:
    case kTVMFFIStr: return tvmffi_i_add_node(s, saved, value);
    case kTVMFFIDataType:
      TVMFFI_TRY(tvmffi_i_dtype_text(&value->v_dtype, &data));
      break;
    case kTVMFFIDevice:
      device[0] = (int64_t)value->v_device.device_type;
      device[1] = value->v_device.device_id;
      TVMFFI_TRY(tvmffi_i_numbers(device, 2, &data));
      break;
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      TVMFFI_TRY(tvmffi_i_base64(tvmffi_any_str(value), &data));
      break;
    case kTVMFFIShape:
      shape = TVMFFI_I_CELL(TVMFFIShapeCell, value->v_obj);
      TVMFFI_TRY(tvmffi_i_numbers(shape->data, shape->size, &data));
      break;
    default:
      return value->type_index < kTVMFFIStaticObjectBegin
                 ? tvmffi_i_cannot_save(value)
                 : tvmffi_i_save_object(s, saved);
  }
  return tvmffi_i_add_made(s, saved, data);
}

/* -------- Children -------- */

/* Finds the next field whose value needs a node. Returns 1 with the value
   (owned) in *part, 0 after the last field, or an error code. Saves bool, int,
   float and dtype fields without a node. */
static int tvmffi_i_save_fields(tvmffi_i_saving *f, TVMFFIAny *part) {
  TVMFFI_ASSERT(f->fields && !tvmffi_i_is_container(f->c.object->type_index));
  for (;;) {
    TVMFFIAny value = tvmffi_none();
    int code;
    TVMFFI_TRY(tvmffi_i_read_next(&f->c, 0, &value));
    if (!f->c.field) return 0;
    switch (f->c.field->field_static_type_index) {
      case kTVMFFINone: tvmffi_i_any_release(&value); break;
      case kTVMFFIBool:
      case kTVMFFIInt:
      case kTVMFFIFloat: break;
      case kTVMFFIDataType:
        if (value.type_index != kTVMFFIDataType) {
          (void)tvmffi_i_bad_cast(&value, "DataType");
          tvmffi_i_any_release(&value);
          return -1;
        }
        TVMFFI_TRY(tvmffi_i_dtype_text(&value.v_dtype, &value));
        break;
      default:
        *part = value;
        return value.type_index < kTVMFFIStaticObjectBegin || value.v_obj
                   ? 1
                   : tvmffi_i_cannot_save(&value);
    }
    code = tvmffi_i_set_named(f->fields, f->c.field->name, &value);
    tvmffi_i_any_release(&value);
    if (code) return code;
  }
}

/* Sets *part to the next child (owned) of the top frame. Returns 1 if there is
   a child, 0 at the end, or an error code. */
static int tvmffi_i_next_part(tvmffi_i_saver *s, TVMFFIAny *part) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  const TVMFFIAny *child;
  TVMFFI_ASSERT(s->frames.depth > 0 && f->saved < s->num_saved);
  if (f->fields) return tvmffi_i_save_fields(f, part);
  child = tvmffi_i_next_in_container(&f->c);
  if (!child) return 0;
  TVMFFI_TRY(tvmffi_i_own(child, part));
  return 1;
}

/* Stores the node index of the top frame's current child. */
static int tvmffi_i_add_part(tvmffi_i_saver *s, int64_t index) {
  tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  const TVMFFIAny number = tvmffi_int(index);
  TVMFFI_ASSERT(index >= 0 && index < s->num_nodes);
  if (f->fields)
    return tvmffi_i_set_named(f->fields, f->c.field->name, &number);
  TVMFFI_I_PUSH_ROOM(int64_t, s->parts, s->num_parts, s->room_parts);
  TVMFFI_ASSERT(s->num_parts >= f->base && s->num_parts < s->room_parts);
  s->parts[s->num_parts++] = index;
  return 0;
}

/* Adds the node of the top frame's value, whose children have nodes, and pops
   the frame. */
static int tvmffi_i_leave_saving(tvmffi_i_saver *s) {
  const tvmffi_i_saving *f = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames);
  size_t saved = f->saved;
  TVMFFIAny data = tvmffi_obj(f->fields);
  TVMFFI_ASSERT(f->base <= s->num_parts);
  TVMFFI_ASSERT(!f->fields || f->base == s->num_parts);
  if (!f->fields)
    TVMFFI_TRY(tvmffi_i_numbers(s->num_parts ? s->parts + f->base : NULL,
                                s->num_parts - f->base, &data));
  s->num_parts = f->base;
  TVMFFI_I_POP(tvmffi_i_saving, &s->frames);
  return tvmffi_i_add_made(s, saved, data);
}

/* Adds the nodes of a value (borrowed) and everything it contains. Sets *index
   to the node index of the value. */
static int tvmffi_i_save(tvmffi_i_saver *s, const TVMFFIAny *root,
                         int64_t *index) {
  size_t saved = 0, depth;
  int code = 1;
  for (;;) {
    TVMFFI_I_PUSH_ROOM(tvmffi_i_saved, s->saved, s->num_saved, s->room_saved);
    depth = s->frames.depth;
    TVMFFI_ASSERT(depth || !s->num_saved);
    if (depth)
      code = tvmffi_i_next_part(s, &s->saved[s->num_saved].value);
    else
      tvmffi_i_copy_owned(root, &s->saved[0].value);
    if (code < 0) return code;
    TVMFFI_ASSERT(code <= 1);
    if (code) {
      code = tvmffi_i_find_saved(s, &saved);
      if (code < 0) return code;
      if (code && s->saved[saved].index < 0)
        return tvmffi_i_saving_cycle(s, saved);
      if (!code) TVMFFI_TRY(tvmffi_i_save_value(s, saved));
      TVMFFI_ASSERT(s->frames.depth == depth || s->saved[saved].index < 0);
      if (s->frames.depth > depth) continue;
    } else {
      saved = TVMFFI_I_TOP(tvmffi_i_saving, &s->frames)->saved;
      TVMFFI_TRY(tvmffi_i_leave_saving(s));
    }
    *index = s->saved[saved].index;
    TVMFFI_ASSERT(s->frames.depth || *index == s->num_nodes - 1);
    if (!s->frames.depth) return 0;
    TVMFFI_TRY(tvmffi_i_add_part(s, *index));
  }
}

/* Sets *out to the graph as a map (owned) of root index, nodes and metadata. */
static int tvmffi_i_graph_map(tvmffi_i_saver *s, int64_t index,
                              const TVMFFIAny *metadata, TVMFFIAny *out) {
  TVMFFIObject *graph = tvmffi_i_new_map(kTVMFFIMap, 0);
  const TVMFFIAny number = tvmffi_int(index), list = tvmffi_obj(s->nodes);
  TVMFFIAny nodes = tvmffi_none();
  int code;
  if (!graph) return -1;
  TVMFFI_ASSERT(index < s->num_nodes);
  code = tvmffi_i_set_named(graph, tvmffi_byte_array("root_index"), &number);
  if (!code) code = tvmffi_i_cast_to(kTVMFFIArray, &list, &nodes);
  if (!code)
    code = tvmffi_i_set_named(graph, tvmffi_byte_array("nodes"), &nodes);
  if (!code && metadata->type_index != kTVMFFINone)
    code = tvmffi_i_set_named(graph, tvmffi_byte_array("metadata"), metadata);
  tvmffi_i_any_release(&nodes);
  return tvmffi_i_give_filled(out, graph, code);
}

/* Saves a value as a graph, a map. The caller owns `value`, `metadata` and
   *out. */
static int tvmffi_i_to_graph(const TVMFFIAny *value, const TVMFFIAny *metadata,
                             TVMFFIAny *out) {
  tvmffi_i_saver s;
  int64_t index = 0;
  int code;
  memset((void *)&s, 0, sizeof(s));
  tvmffi_i_stack_open(&s.frames, NULL, 0);
  s.nodes = tvmffi_i_new_list(0);
  if (!s.nodes) return -1;
  code = tvmffi_i_save(&s, value, &index);
  if (!code) code = tvmffi_i_graph_map(&s, index, metadata, out);
  TVMFFI_ASSERT(code || (!s.frames.depth && !s.num_parts));
  for (; s.frames.depth; TVMFFI_I_POP(tvmffi_i_saving, &s.frames))
    tvmffi_i_release(TVMFFI_I_TOP(tvmffi_i_saving, &s.frames)->fields);
  while (s.num_saved) tvmffi_i_any_release(&s.saved[--s.num_saved].value);
  tvmffi_i_stack_close(&s.frames);
  tvmffi_i_free(s.parts);
  tvmffi_i_free(s.saved);
  tvmffi_i_free_slots(s.hashes.table);
  tvmffi_i_release(s.nodes);
  return code;
}
#endif
