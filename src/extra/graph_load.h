/* ======== Graph reader: nodes of a graph to values ==== >>extra/graph_load */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"
#include "base64.h"
#include "graph_save.h"

#if !TVMFFI_NO_EXTRA
/* A stack frame: a container or object whose children are being loaded. A
   container is created after all of its children, an object before its fields
   are set. */
typedef struct {
  size_t node;
  int32_t type_index;
  /* Owned: for a container the array of its children's node indices, for an
     object the map of its fields. */
  TVMFFIObject *data;
  TVMFFIObject *made;           /* owned: the object; NULL for a container */
  size_t at;                    /* container: index of the next `data` item */
  const TVMFFIFieldInfo *field; /* the field whose node is being loaded */
  tvmffi_i_field_cursor cursor;
} tvmffi_i_loading;

typedef enum {
  TVMFFI_I_UNREAD,      /* must be 0, because new nodes are zero */
  TVMFFI_I_IN_PROGRESS, /* the value's children are being loaded */
  TVMFFI_I_KNOWN        /* the value is complete */
} tvmffi_i_loaded_state;

typedef struct {
  TVMFFIAny value; /* owned */
  tvmffi_i_loaded_state state;
} tvmffi_i_loaded;

typedef struct {
  const TVMFFIAny *nodes; /* borrowed maps */
  tvmffi_i_loaded *loaded;
  size_t num_nodes;
  tvmffi_i_stack frames;
} tvmffi_i_loader;

static void tvmffi_i_end_loading(tvmffi_i_loader *l) {
  for (; l->frames.depth; TVMFFI_I_POP(tvmffi_i_loading, &l->frames)) {
    tvmffi_i_loading *f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
    TVMFFI_ASSERT(l->loaded[f->node].state == TVMFFI_I_IN_PROGRESS);
    tvmffi_i_release(f->made);
    tvmffi_i_release(f->data);
  }
  while (l->num_nodes) tvmffi_i_any_release(&l->loaded[--l->num_nodes].value);
  tvmffi_i_free(l->loaded);
  tvmffi_i_stack_close(&l->frames);
}

/* -------- Values without children -------- */

static int tvmffi_i_cast_int(const TVMFFIAny *value, int64_t *out) {
  *out = value->v_int64;
  return TVMFFI_I_IS_INT(value) ? 0 : tvmffi_i_bad_cast(value, "int");
}

static int tvmffi_i_cast_str(const TVMFFIAny *value, TVMFFIByteArray *out) {
  return tvmffi_i_get_str(value, out) ? tvmffi_i_bad_cast(value, "str") : 0;
}

/* Sets *out to the TVMFFISeqCell (borrowed) of an array or list. Raises
   TypeError if an item is not an integer. */
static int tvmffi_i_cast_ints(const TVMFFIAny *value,
                              const TVMFFISeqCell **out) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *items;
  size_t i;
  if (!tvmffi_i_is_sequence_type(value->type_index))
    return tvmffi_i_bad_cast(value, "Array<int>");
  *out = cell = TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj);
  items = (const TVMFFIAny *)cell->data;
  for (i = 0; i < (size_t)cell->size; ++i)
    if (!TVMFFI_I_IS_INT(&items[i]))
      return tvmffi_i_type_error(
          "Cannot convert from type `Array[index %lld: %s]` to `Array<int>`",
          (long long)i, tvmffi_i_type_key(items[i].type_index));
  return 0;
}

/* Converts `data` to a value of type None, bool, int, float or dtype. Returns 0
   if converted, 1 for any other type, or an error code. */
static int tvmffi_i_load_plain(int32_t type_index, const TVMFFIAny *data,
                               TVMFFIAny *out) {
  TVMFFIByteArray text;
  int64_t number;
  switch (type_index) {
    case kTVMFFINone: *out = tvmffi_none(); return 0;
    case kTVMFFIBool:
      if (!TVMFFI_I_IS_INT(data)) return tvmffi_i_bad_cast(data, "bool");
      *out = tvmffi_bool(data->v_int64 != 0);
      return 0;
    case kTVMFFIInt:
      TVMFFI_TRY(tvmffi_i_cast_int(data, &number));
      *out = tvmffi_int(number);
      return 0;
    case kTVMFFIFloat:
      if (data->type_index == kTVMFFIFloat) return *out = *data, 0;
      if (!TVMFFI_I_IS_INT(data)) return tvmffi_i_bad_cast(data, "float");
      *out = tvmffi_int((int64_t)tvmffi_i_int_to_double(data->v_int64));
      out->type_index = kTVMFFIFloat;
      return 0;
    case kTVMFFIDataType:
      TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
      *out = tvmffi_none();
      TVMFFI_TRY(TVMFFIDataTypeFromString(&text, &out->v_dtype));
      out->type_index = kTVMFFIDataType;
      return 0;
    default: return 1;
  }
}

static int tvmffi_i_load_device(const TVMFFIAny *data, TVMFFIAny *out) {
  const TVMFFISeqCell *cell = NULL;
  const TVMFFIAny *items;
  DLDevice device;
  TVMFFI_TRY(tvmffi_i_cast_ints(data, &cell));
  if (cell->size != 2)
    return tvmffi_i_value_error(
        "Invalid JSON Object Graph: Device data must be an array of "
        "[device_type, device_id], got %lld element(s)",
        (long long)cell->size);
  items = (const TVMFFIAny *)cell->data;
  device.device_type = (DLDeviceType)(int32_t)items[0].v_int64;
  device.device_id = (int32_t)items[1].v_int64;
  *out = tvmffi_device(device);
  return 0;
}

/* Sets *out to the enum instance (owned) whose index is `data`, an integer or a
   string. */
static int tvmffi_i_load_enum(int32_t type_index, const TVMFFIAny *data,
                              TVMFFIAny *out) {
  static tvmffi_i_known_column column = {"__ffi_enum__", NULL};
  const TVMFFIAny *state, *found = NULL;
  char number[TVMFFI_I_DECIMAL];
  TVMFFIByteArray text;
  TVMFFIAny index = *data;
  TVMFFI_ASSERT(tvmffi_is_instance(type_index, TVMFFI_I_ENUM_BASE));
  if (tvmffi_is_instance(type_index, TVMFFI_I_INT_ENUM)) {
    TVMFFI_TRY(tvmffi_i_cast_int(data, &index.v_int64));
    index = tvmffi_int(index.v_int64);
    text = tvmffi_byte_array(tvmffi_i_decimal(number, index.v_int64));
  } else {
    TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
  }
  state = tvmffi_i_type_attr(&column, type_index);
  if (state && state->type_index != TVMFFI_I_ENUM_STATE)
    return tvmffi_i_cannot_treat(state->type_index, "ffi.EnumState");
  if (state)
    found = tvmffi_i_map_lookup(
        ((const tvmffi_i_enum_state *)state->v_ptr)->indexes, &index);
  TVMFFI_ASSERT(found != &tvmffi_i_map_failed); /* the key is plain */
  if (!found)
    return tvmffi_i_value_error("Enum `%s` has no instance with index %.*s",
                                tvmffi_i_type_key(type_index),
                                TVMFFI_I_TEXT(text));
  if (!tvmffi_is_instance(found->type_index, TVMFFI_I_ENUM_BASE))
    return tvmffi_i_cannot_treat(found->type_index, "ffi.Enum");
  tvmffi_i_copy_owned(found, out);
  return 0;
}

/* -------- Nodes -------- */

/* Pushes a stack frame for a container or object. Creates the object, with
   empty fields. */
static int tvmffi_i_enter_loading(tvmffi_i_loader *l, size_t node,
                                  int32_t type_index, const TVMFFIAny *data) {
  tvmffi_i_loading *f = TVMFFI_I_PUSH(tvmffi_i_loading, &l->frames, NULL);
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(type_index);
  int is_container = tvmffi_i_is_container(type_index);
  TVMFFIAny held = tvmffi_none();
  long long size;
  if (!f) return -1;
  TVMFFI_ASSERT(l->loaded[node].state == TVMFFI_I_UNREAD);
  memset((void *)f, 0, sizeof(*f));
  f->node = node;
  f->type_index = type_index;
  l->loaded[node].state = TVMFFI_I_IN_PROGRESS;
  if (!is_container) {
    TVMFFI_TRY(tvmffi_i_make_empty(type, &f->made));
    f->cursor = tvmffi_i_begin_fields(type);
  }
  TVMFFI_TRY(
      tvmffi_i_cast_to(is_container ? kTVMFFIArray : kTVMFFIMap, data, &held));
  f->data = held.v_obj;
  TVMFFI_ASSERT(f->data && is_container == !f->made);
  if (!tvmffi_i_is_map_type(type_index)) return 0;
  size = (long long)TVMFFI_I_CELL(TVMFFISeqCell, f->data)->size;
  if (size % 2 == 0) return 0;
  return tvmffi_i_value_error(
      "Invalid JSON Object Graph: Map/Dict data must contain an even number of "
      "[key, value] entries, got %lld",
      size);
}

/* Looks up the key `name`. Returns the value (borrowed), NULL if the key is
   missing, or &tvmffi_i_map_failed with an error. */
static const TVMFFIAny *tvmffi_i_get_named(TVMFFIObject *map,
                                           TVMFFIByteArray name) {
  const TVMFFIAny *found;
  TVMFFIAny key = tvmffi_none();
  TVMFFI_ASSERT(map->type_index == kTVMFFIMap);
  if (TVMFFIStringFromByteArray(&name, &key)) return &tvmffi_i_map_failed;
  found = tvmffi_i_map_lookup(map, &key);
  tvmffi_i_any_release(&key);
  return found;
}

/* Sets *part to the type or the data (borrowed) of a node. */
static int tvmffi_i_get_part(TVMFFIObject *node, const char *name,
                             const TVMFFIAny **part) {
  const TVMFFIAny key = tvmffi_str(name);
  *part = tvmffi_i_map_lookup(node, &key);
  TVMFFI_ASSERT(*part != &tvmffi_i_map_failed); /* the key is plain */
  return *part ? 0 : tvmffi_i_fail("KeyError", "key is not in Map");
}

/* Reads the type and the data (borrowed) of a node. A node of type None has no
   data. */
static int tvmffi_i_look_at_node(TVMFFIObject *node, int32_t *type_index,
                                 const TVMFFIAny **data) {
  const TVMFFIAny *type = NULL;
  TVMFFIByteArray text = {NULL, 0};
  TVMFFI_TRY(tvmffi_i_get_part(node, "type", &type));
  TVMFFI_TRY(tvmffi_i_cast_str(type, &text));
  TVMFFI_TRY(TVMFFITypeKeyToIndex(&text, type_index));
  if (*type_index == kTVMFFINone) return 0;
  return tvmffi_i_get_part(node, "data", data);
}

/* Makes a node's value (owned) from the node's data. If the value has children,
   pushes a frame instead. */
static int tvmffi_i_load_data(tvmffi_i_loader *l, size_t node, int32_t index,
                              const TVMFFIAny *data, TVMFFIAny *value) {
  const TVMFFISeqCell *cell = NULL;
  const TVMFFIAny *hook;
  TVMFFIByteArray text = {NULL, 0};
  int code = tvmffi_i_load_plain(index, data, value);
  TVMFFI_ASSERT(code < 2 && l->loaded[node].state == TVMFFI_I_UNREAD);
  if (code != 1) return code;
  switch (index) {
    case kTVMFFIDevice: return tvmffi_i_load_device(data, value);
    case kTVMFFIStr:
      TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
      tvmffi_i_copy_owned(data, value);
      return 0;
    case kTVMFFIBytes:
      TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
      return tvmffi_i_from_base64(text, value);
    case kTVMFFIShape:
      TVMFFI_TRY(tvmffi_i_cast_ints(data, &cell));
      return tvmffi_i_convert_shape(cell, value);
    default: break;
  }
  if (tvmffi_i_is_container(index))
    return tvmffi_i_enter_loading(l, node, index, data);
  if (tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE))
    return tvmffi_i_load_enum(index, data, value);
  hook = tvmffi_i_type_attr(&tvmffi_i_from_json_column, index);
  if (hook) return tvmffi_i_call_attr_value(hook, data, 1, kTVMFFIAny, value);
  return tvmffi_i_enter_loading(l, node, index, data);
}

/* Loads the value of a node. If the value has children, pushes a stack frame
   instead. */
static int tvmffi_i_load_node(tvmffi_i_loader *l, size_t node) {
  tvmffi_i_loaded *loaded = &l->loaded[node];
  TVMFFIAny value = tvmffi_none(), map = tvmffi_none();
  const TVMFFIAny *data = &value;
  size_t depth = l->frames.depth;
  int32_t type_index = kTVMFFINone;
  int code = tvmffi_i_cast_to(kTVMFFIMap, &l->nodes[node], &map);
  if (!code) code = tvmffi_i_look_at_node(map.v_obj, &type_index, &data);
  if (!code) code = tvmffi_i_load_data(l, node, type_index, data, &value);
  tvmffi_i_any_release(&map);
  if (code || l->frames.depth > depth) return code;
  TVMFFI_ASSERT(loaded->state == TVMFFI_I_UNREAD);
  loaded->value = value;
  loaded->state = TVMFFI_I_KNOWN;
  return 0;
}

/* Sets the fields of an object up to the next field whose value is another
   node. Returns 1 with that node in *index, 0 after the last field, or an error
   code. */
static int tvmffi_i_load_fields(tvmffi_i_loading *f, int64_t *index) {
  TVMFFI_ASSERT(f->made && f->data);
  while ((f->field = tvmffi_i_next_field(&f->cursor))) {
    const TVMFFIFieldInfo *field = f->field;
    const TVMFFIAny *data = tvmffi_i_get_named(f->data, field->name);
    TVMFFIAny value = tvmffi_none();
    int code;
    if (data == &tvmffi_i_map_failed) return -1;
    if (data) {
      code = tvmffi_i_load_plain(field->field_static_type_index, data, &value);
      if (code == 1) code = tvmffi_i_cast_int(data, index) ? -1 : 1;
    } else if (field->flags & kTVMFFIFieldFlagBitMaskHasDefault) {
      code = tvmffi_i_make_default(field, &value);
    } else {
      code = tvmffi_i_type_error("Required field `%.*s` not set in type `%s`",
                                 TVMFFI_I_TEXT(field->name),
                                 f->cursor.type->type_key.data);
    }
    if (code) return code;
    code = tvmffi_i_set_field(field, f->made, &value);
    tvmffi_i_any_release(&value);
    if (code) return code;
  }
  return 0;
}

/* Finds the next child that is not loaded. Returns 1 with the child's node in
   *index, 0 if all children are loaded, or an error code. In a map, each value
   comes before its key: this is upstream's order, and hooks see it. */
static int tvmffi_i_load_items(tvmffi_i_loader *l, tvmffi_i_loading *f,
                               int64_t *index) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->data);
  const TVMFFIAny *items = (const TVMFFIAny *)cell->data;
  const size_t is_map = (size_t)tvmffi_i_is_map_type(f->type_index);
  TVMFFI_ASSERT(f->data->type_index == kTVMFFIArray);
  TVMFFI_ASSERT(!is_map || cell->size % 2 == 0);
  for (; f->at < (size_t)cell->size; ++f->at) {
    if (is_map) TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at & ~is_map], index));
    TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at ^ is_map], index));
    if ((uint64_t)*index >= l->num_nodes ||
        l->loaded[*index].state != TVMFFI_I_KNOWN)
      return 1;
  }
  return 0;
}

/* Creates the container of frame `f`, whose children are loaded. */
static int tvmffi_i_join_items(const tvmffi_i_loader *l,
                               const tvmffi_i_loading *f, TVMFFIAny *out) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->data);
  const TVMFFIAny *indices = (const TVMFFIAny *)cell->data;
  const size_t size = (size_t)cell->size;
  int is_map = tvmffi_i_is_map_type(f->type_index), code;
  TVMFFIAny *items = NULL;
  TVMFFIObject *map, *made = tvmffi_i_new_items(
                         is_map ? kTVMFFIArray : f->type_index, size, &items);
  size_t i;
  TVMFFI_ASSERT(f->at == size);
  if (!made) return -1;
  for (i = 0; i < size; ++i) {
    const tvmffi_i_loaded *loaded = &l->loaded[(size_t)indices[i].v_int64];
    TVMFFI_ASSERT(loaded->state == TVMFFI_I_KNOWN);
    tvmffi_i_copy_owned(&loaded->value, &items[i]);
    if (items[i].type_index < kTVMFFIRawStr) items[i].zero_padding = 0;
  }
  if (!is_map) return tvmffi_i_give_new(out, made);
  map = tvmffi_i_new_map(f->type_index, size / 2);
  code =
      map ? tvmffi_i_map_take(tvmffi_i_map_of(map), items, size) : -1;
  tvmffi_i_release(made);
  return tvmffi_i_give_filled(out, map, code);
}

/* Completes the value of the top frame, whose children are loaded. Pops the
   frame. */
static int tvmffi_i_leave_loading(tvmffi_i_loader *l) {
  tvmffi_i_loading *f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
  tvmffi_i_loaded *node = &l->loaded[f->node];
  TVMFFI_ASSERT(node->state == TVMFFI_I_IN_PROGRESS);
  if (f->made)
    node->value = tvmffi_obj(f->made);
  else
    TVMFFI_TRY(tvmffi_i_join_items(l, f, &node->value));
  node->state = TVMFFI_I_KNOWN;
  tvmffi_i_release(f->data);
  TVMFFI_I_POP(tvmffi_i_loading, &l->frames);
  return 0;
}

/* Loads the value of a node and of all nodes that the value contains. */
static int tvmffi_i_load(tvmffi_i_loader *l, int64_t index) {
  tvmffi_i_loading *f;
  size_t node;
  int code = 1;
  do {
    if (code) {
      node = (size_t)index;
      if ((uint64_t)index >= l->num_nodes)
        return tvmffi_i_value_error(
            "Invalid JSON Object Graph: invalid node index %lld",
            (long long)index);
      if (l->loaded[node].state == TVMFFI_I_IN_PROGRESS)
        return tvmffi_i_value_error(
            "Invalid JSON Object Graph: node %lld refers to itself",
            (long long)index);
      if (l->loaded[node].state != TVMFFI_I_KNOWN)
        TVMFFI_TRY(tvmffi_i_load_node(l, node));
    } else {
      node = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames)->node;
      TVMFFI_TRY(tvmffi_i_leave_loading(l));
    }
    if (!l->frames.depth) return 0;
    f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
    TVMFFI_ASSERT(!f->field || l->loaded[node].state == TVMFFI_I_KNOWN);
    TVMFFI_ASSERT(!f->field || f->made);
    if (f->field)
      TVMFFI_TRY(tvmffi_i_set_field(f->field, f->made, &l->loaded[node].value));
    code = f->made ? tvmffi_i_load_fields(f, &index)
                   : tvmffi_i_load_items(l, f, &index);
    TVMFFI_ASSERT(code <= 1);
  } while (code >= 0);
  return code;
}

/* Restores a value (owned) from a graph in the form that
   tvmffi_i_to_graph returns. */
static int tvmffi_i_load_graph(const TVMFFIAny *graph, TVMFFIAny *out) {
  TVMFFIAny key = tvmffi_str("root_index");
  const TVMFFIAny *root, *nodes;
  tvmffi_i_loader l;
  size_t n;
  int code;
  if (graph->type_index != kTVMFFIMap)
    return tvmffi_i_value_error(
        "Invalid JSON Object Graph, expected an object");
  root = tvmffi_i_map_lookup(graph->v_obj, &key);
  if (!root || root->type_index != kTVMFFIInt)
    return tvmffi_i_value_error(
        "Invalid JSON Object Graph, expected `root_index` integer field");
  key = tvmffi_str("nodes");
  nodes = tvmffi_i_map_lookup(graph->v_obj, &key);
  if (!nodes || nodes->type_index != kTVMFFIArray)
    return tvmffi_i_value_error(
        "Invalid JSON Object Graph, expected `nodes` array field");
  tvmffi_i_stack_open(&l.frames, NULL, 0);
  l.nodes = TVMFFI_I_ITEMS((const tvmffi_i_seq *)nodes->v_ptr);
  n = (size_t)((const tvmffi_i_seq *)nodes->v_ptr)->cell.size;
  TVMFFI_ASSERT(n < SIZE_MAX / sizeof(*l.loaded));
  l.loaded = (tvmffi_i_loaded *)tvmffi_i_alloc((n + 1) * sizeof(*l.loaded));
  if (!l.loaded) return tvmffi_i_no_memory();
  memset((void *)l.loaded, 0, (n + 1) * sizeof(*l.loaded));
  l.num_nodes = n;
  code = tvmffi_i_load(&l, root->v_int64);
  TVMFFI_ASSERT(code || !l.frames.depth);
  TVMFFI_ASSERT(code || l.loaded[root->v_int64].state == TVMFFI_I_KNOWN);
  if (!code) tvmffi_i_copy_owned(&l.loaded[root->v_int64].value, out);
  tvmffi_i_end_loading(&l);
  return code;
}
#endif
