/* ======== Graph reader: nodes of a graph to values ==== >>extra/graph_load */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../reflection.h"
#include "json_read.h"
#include "base64.h"
#include "graph_save.h"

#if !TVMFFI_NO_EXTRA
/* A stack frame: a container or object whose children are being loaded. A
   container is created after all of its children, an object before its fields
   are set. */
typedef struct {
  int64_t node;
  /* Owned: for a container the array of its children's node indices, for an
     object the map of its fields. */
  TVMFFIObject *data;
  TVMFFIObject *made;           /* owned: the object; NULL for a container */
  int64_t at;                   /* container: index of the next `data` item */
  const TVMFFIFieldInfo *field; /* the field whose node is being loaded */
  tvmffi_i_field_cursor cursor;
} tvmffi_i_loading;

/* The state of a node that is being loaded. */
enum {
  TVMFFI_I_UNKNOWN,     /* the node was not read */
  TVMFFI_I_NODE_READ,   /* the type and the data were read */
  TVMFFI_I_IN_PROGRESS, /* the value's children are being loaded */
  TVMFFI_I_KNOWN        /* the value is complete */
};
typedef struct {
  TVMFFIAny value; /* owned: the data if NODE_READ, the value if KNOWN */
  int32_t type_index;
  int state;
} tvmffi_i_loaded;

typedef struct {
  const TVMFFIAny *nodes; /* borrowed maps; NULL if the input is text */
  tvmffi_i_loaded *loaded;
  size_t num_nodes, room_nodes;
  tvmffi_i_stack frames;
  tvmffi_i_json_reader r; /* reads text, and makes maps with string keys */
  int64_t *parts;         /* child node indices of the container being built */
  size_t room_parts;
} tvmffi_i_loader;

static void tvmffi_i_begin_loading(tvmffi_i_loader *l, TVMFFIByteArray text) {
  memset((void *)l, 0, sizeof(*l));
  tvmffi_i_stack_open(&l->frames, NULL, 0);
  tvmffi_i_json_begin_reader(&l->r, text);
}

static void tvmffi_i_end_loading(tvmffi_i_loader *l) {
  for (; l->frames.depth; TVMFFI_I_POP(tvmffi_i_loading, &l->frames)) {
    tvmffi_i_loading *f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
    tvmffi_i_release(f->made);
    tvmffi_i_release(f->data);
  }
  while (l->num_nodes) tvmffi_i_any_release(&l->loaded[--l->num_nodes].value);
  tvmffi_i_free(l->loaded);
  tvmffi_i_free(l->parts);
  tvmffi_i_stack_close(&l->frames);
  tvmffi_i_json_end_reader(&l->r);
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
  int64_t i;
  if (!tvmffi_i_is_sequence_type(value->type_index))
    return tvmffi_i_bad_cast(value, "Array<int>");
  *out = cell = TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj);
  items = (const TVMFFIAny *)cell->data;
  for (i = 0; i < cell->size; ++i)
    if (!TVMFFI_I_IS_INT(&items[i]))
      return tvmffi_i_fail("TypeError",
                           "Cannot convert from type `Array[index %lld: %s]` "
                           "to `Array<int>`",
                           (long long)i,
                           tvmffi_i_type_key(items[i].type_index));
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
      if (data->type_index != kTVMFFIFloat && !TVMFFI_I_IS_INT(data))
        return tvmffi_i_bad_cast(data, "float");
      *out = *data;
      out->type_index = kTVMFFIFloat;
      if (data->type_index != kTVMFFIFloat)
        out->v_uint64 = tvmffi_i_int_to_double(data->v_int64);
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
    return tvmffi_i_fail("ValueError",
                         "Invalid JSON Object Graph: Device data must be an "
                         "array of [device_type, device_id], got %lld "
                         "element(s)",
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
  if (found == &tvmffi_i_map_failed) return -1;
  if (!found)
    return tvmffi_i_fail("ValueError",
                         "Enum `%s` has no instance with index %.*s",
                         tvmffi_i_type_key(type_index), TVMFFI_I_TEXT(text));
  if (found->type_index < kTVMFFIStaticObjectBegin ||
      !tvmffi_is_instance(found->type_index, TVMFFI_I_ENUM_BASE))
    return tvmffi_i_cannot_treat(found->type_index, "ffi.Enum");
  *out = tvmffi_i_copy_owned(found);
  return 0;
}

/* -------- Containers -------- */

/* Returns child i of the container that is being built. */
TVMFFI_I_INLINE const TVMFFIAny *tvmffi_i_part(const tvmffi_i_loader *l,
                                               size_t i) {
  return &l->loaded[l->parts[i]].value;
}

TVMFFI_I_INLINE int tvmffi_i_is_part_known(const tvmffi_i_loader *l,
                                           int64_t index) {
  return (uint64_t)index < l->num_nodes &&
         l->loaded[index].state == TVMFFI_I_KNOWN;
}

/* Builds a map with a hash table by the JSON reader's code, which may copy the
   layout of an earlier map if all keys are strings. */
static tvmffi_i_map_object *tvmffi_i_join_table(tvmffi_i_loader *l,
                                                int32_t index, size_t n) {
  tvmffi_i_json_reader *r = &l->r;
  tvmffi_i_map_object *m;
  int is_text = 1;
  size_t i;
  while (r->room_values < n) {
    TVMFFIAny *values = (TVMFFIAny *)tvmffi_i_larger(
        r->values, &r->room_values, sizeof(*values));
    if (!values) return NULL;
    r->values = values;
  }
  for (i = 0; i < n; ++i) {
    TVMFFIAny *value = &r->values[i];
    *value = tvmffi_i_copy_owned(tvmffi_i_part(l, i));
    if (value->type_index < kTVMFFIRawStr) value->zero_padding = 0;
    if (i % 2 == 0)
      is_text &= tvmffi_i_text_type(value->type_index) == kTVMFFIStr;
  }
  m = is_text ? tvmffi_i_json_object(r, r->values, n)
              : tvmffi_i_json_table(r->values, n);
  if (m)
    m->base.type_index = index;
  else
    for (i = 0; i < n; ++i) tvmffi_i_any_release(&r->values[i]);
  return m;
}

static int tvmffi_i_load_map(tvmffi_i_loader *l, int32_t index, size_t n,
                             TVMFFIAny *out) {
  int is_table = n / 2 > TVMFFI_I_MAP_ROW_MAX, code = 0;
  tvmffi_i_map_object *m;
  size_t i;
  m = is_table ? tvmffi_i_join_table(l, index, n)
               : (tvmffi_i_map_object *)(void *)tvmffi_i_new_map(
                     index, (int64_t)(n / 2));
  if (!m) return -1;
  for (i = 0; !is_table && i < n && !code; i += 2)
    code = tvmffi_i_map_set_in(m, tvmffi_i_part(l, i), tvmffi_i_part(l, i + 1));
  *out = tvmffi_obj(m);
  if (code) tvmffi_i_any_release(out);
  return code;
}

/* Builds a container from the values of the n nodes in l->parts. All of these
   nodes must be loaded already. */
static int tvmffi_i_join_parts(tvmffi_i_loader *l, int32_t index, size_t n,
                               TVMFFIAny *out) {
  TVMFFIAny *items = NULL;
  TVMFFIObject *made;
  size_t i;
  if (tvmffi_i_is_map_type(index)) return tvmffi_i_load_map(l, index, n, out);
  made = tvmffi_i_new_items(index, (int64_t)n, &items);
  if (!made) return -1;
  for (i = 0; i < n; ++i) items[i] = tvmffi_i_copy_owned(tvmffi_i_part(l, i));
  *out = tvmffi_obj(made);
  return 0;
}

/* -------- Nodes -------- */

/* Pushes a stack frame for a container or object. Creates the object, with
   empty fields. */
static int tvmffi_i_enter_loading(tvmffi_i_loader *l, int64_t node,
                                  int32_t type_index, const TVMFFIAny *data) {
  tvmffi_i_loading *f = TVMFFI_I_PUSH(tvmffi_i_loading, &l->frames, NULL);
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(type_index);
  int is_container = tvmffi_i_is_container(type_index);
  TVMFFIAny held = tvmffi_none();
  long long size;
  if (!f) return -1;
  memset((void *)f, 0, sizeof(*f));
  f->node = node;
  l->loaded[node].state = TVMFFI_I_IN_PROGRESS;
  if (!is_container) {
    TVMFFI_TRY(tvmffi_i_make_empty(type, &f->made));
    f->cursor = tvmffi_i_begin_fields(type);
  }
  TVMFFI_TRY(
      tvmffi_i_cast_to(is_container ? kTVMFFIArray : kTVMFFIMap, data, &held));
  f->data = held.v_obj;
  if (!tvmffi_i_is_map_type(type_index)) return 0;
  size = (long long)TVMFFI_I_CELL(TVMFFISeqCell, f->data)->size;
  if (size % 2 == 0) return 0;
  return tvmffi_i_fail("ValueError",
                       "Invalid JSON Object Graph: Map/Dict data must "
                       "contain an even number of [key, value] entries, "
                       "got %lld",
                       size);
}

/* Sets *out to the value (borrowed) of key `name` in a map. Raises KeyError if
   the map has no such key. */
static int tvmffi_i_get_named(TVMFFIObject *map, const char *name,
                              const TVMFFIAny **out) {
  TVMFFIAny key = tvmffi_str(name);
  *out = tvmffi_i_map_lookup(map, &key);
  if (*out == &tvmffi_i_map_failed) return -1;
  return *out ? 0 : tvmffi_i_fail("KeyError", "key is not in Map");
}

/* Reads the type and the data (borrowed) of a node. A node of type None has no
   data. */
static int tvmffi_i_look_at_node(TVMFFIObject *node, int32_t *type_index,
                                 const TVMFFIAny **data) {
  const TVMFFIAny *type = NULL;
  TVMFFIByteArray text = {NULL, 0};
  TVMFFI_TRY(tvmffi_i_get_named(node, "type", &type));
  TVMFFI_TRY(tvmffi_i_cast_str(type, &text));
  TVMFFI_TRY(TVMFFITypeKeyToIndex(&text, type_index));
  if (*type_index == kTVMFFINone) return 0;
  return tvmffi_i_get_named(node, "data", data);
}

/* Makes a node's value (owned) from the node's data. If the value has children,
   pushes a frame instead. */
static int tvmffi_i_load_data(tvmffi_i_loader *l, int64_t node, int32_t index,
                              const TVMFFIAny *data, TVMFFIAny *value) {
  const TVMFFISeqCell *cell = NULL;
  const TVMFFIAny *hook;
  TVMFFIByteArray text = {NULL, 0};
  int code = tvmffi_i_load_plain(index, data, value);
  if (code != 1) return code;
  switch (index) {
    case kTVMFFIDevice: return tvmffi_i_load_device(data, value);
    case kTVMFFIStr:
      TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
      *value = tvmffi_i_copy_owned(data);
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
static int tvmffi_i_load_node(tvmffi_i_loader *l, int64_t node) {
  tvmffi_i_loaded *loaded = &l->loaded[node];
  TVMFFIAny value = tvmffi_none(), held = tvmffi_none(), map = tvmffi_none();
  const TVMFFIAny *data = &held;
  size_t depth = l->frames.depth;
  int code = 0;
  if (loaded->state == TVMFFI_I_NODE_READ) {
    held = loaded->value;
    loaded->value = tvmffi_none();
  } else {
    code = tvmffi_i_cast_to(kTVMFFIMap, &l->nodes[node], &map);
    if (!code)
      code = tvmffi_i_look_at_node(map.v_obj, &loaded->type_index, &data);
  }
  if (!code)
    code = tvmffi_i_load_data(l, node, loaded->type_index, data, &value);
  tvmffi_i_any_release(&held);
  tvmffi_i_any_release(&map);
  if (code || l->frames.depth > depth) return code;
  loaded->value = value;
  loaded->state = TVMFFI_I_KNOWN;
  return 0;
}

/* Sets the fields of an object up to the next field whose value is another
   node. Returns 1 with that node in *index, 0 after the last field, or an error
   code. */
static int tvmffi_i_load_fields(tvmffi_i_loading *f, int64_t *index) {
  while ((f->field = tvmffi_i_next_field(&f->cursor))) {
    const TVMFFIFieldInfo *field = f->field;
    TVMFFIAny name = tvmffi_none(), value = tvmffi_none();
    const TVMFFIAny *data;
    int code;
    TVMFFI_TRY(TVMFFIStringFromByteArray(&field->name, &name));
    data = tvmffi_i_map_lookup(f->data, &name);
    tvmffi_i_any_release(&name);
    if (data == &tvmffi_i_map_failed) return -1;
    if (data) {
      code = tvmffi_i_load_plain(field->field_static_type_index, data, &value);
      if (code == 1) code = tvmffi_i_cast_int(data, index) ? -1 : 1;
    } else if (field->flags & kTVMFFIFieldFlagBitMaskHasDefault) {
      code = tvmffi_i_make_default(field, &value);
    } else {
      code = tvmffi_i_fail(
          "TypeError", "Required field `%.*s` not set in type `%s`",
          TVMFFI_I_TEXT(field->name), f->cursor.type->type_key.data);
    }
    if (code) return code;
    code = tvmffi_i_set_field(field, f->made, &value);
    tvmffi_i_any_release(&value);
    if (code) return code;
  }
  return 0;
}

/* Finds the next child that is not loaded. Returns 1 with the child's node in
   *index, 0 if all children are loaded, or an error code. In a map, each
   value comes before its key, as in upstream. */
static int tvmffi_i_load_items(tvmffi_i_loader *l, tvmffi_i_loading *f,
                               int64_t *index) {
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->data);
  const TVMFFIAny *items = (const TVMFFIAny *)cell->data;
  int64_t is_map = tvmffi_i_is_map_type(l->loaded[f->node].type_index);
  for (; f->at < cell->size; ++f->at) {
    if (is_map) TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at & ~is_map], index));
    TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at ^ is_map], index));
    if (!tvmffi_i_is_part_known(l, *index)) return 1;
  }
  return 0;
}

/* Completes the value of the top frame, whose children are loaded. Pops the
   frame. */
static int tvmffi_i_leave_loading(tvmffi_i_loader *l) {
  tvmffi_i_loading *f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
  tvmffi_i_loaded *node = &l->loaded[f->node];
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, f->data);
  size_t i, n = f->made ? 0 : (size_t)cell->size;
  for (i = 0; i < n; ++i) {
    TVMFFI_I_PUSH_ROOM(int64_t, l->parts, i, l->room_parts);
    l->parts[i] = ((const TVMFFIAny *)cell->data)[i].v_int64;
  }
  if (f->made)
    node->value = tvmffi_obj(f->made);
  else
    TVMFFI_TRY(tvmffi_i_join_parts(l, node->type_index, n, &node->value));
  node->state = TVMFFI_I_KNOWN;
  tvmffi_i_release(f->data);
  TVMFFI_I_POP(tvmffi_i_loading, &l->frames);
  return 0;
}

/* Loads the value of a node and of all nodes that the value contains. */
static int tvmffi_i_load(tvmffi_i_loader *l, int64_t node) {
  tvmffi_i_loading *f;
  int code = 1;
  do {
    if (code) {
      if (node < 0 || (uint64_t)node >= l->num_nodes)
        return tvmffi_i_fail("ValueError",
                             "Invalid JSON Object Graph: invalid node index "
                             "%lld",
                             (long long)node);
      if (l->loaded[node].state == TVMFFI_I_IN_PROGRESS)
        return tvmffi_i_fail("ValueError",
                             "Invalid JSON Object Graph: node %lld refers to "
                             "itself",
                             (long long)node);
      if (l->loaded[node].state != TVMFFI_I_KNOWN)
        TVMFFI_TRY(tvmffi_i_load_node(l, node));
    } else {
      node = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames)->node;
      TVMFFI_TRY(tvmffi_i_leave_loading(l));
    }
    if (!l->frames.depth) return 0;
    f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
    if (f->field && l->loaded[node].state == TVMFFI_I_KNOWN)
      TVMFFI_TRY(tvmffi_i_set_field(f->field, f->made, &l->loaded[node].value));
    code = f->made ? tvmffi_i_load_fields(f, &node)
                   : tvmffi_i_load_items(l, f, &node);
  } while (code >= 0);
  return code;
}

static int tvmffi_i_load_graph(const TVMFFIAny *graph, TVMFFIAny *out) {
  TVMFFIByteArray no_text = {"", 0};
  TVMFFIAny key = tvmffi_str("root_index");
  const TVMFFIAny *root, *nodes;
  tvmffi_i_loader l;
  size_t n;
  int code;
  if (graph->type_index != kTVMFFIMap)
    return tvmffi_i_fail("ValueError",
                         "Invalid JSON Object Graph, expected an object");
  root = tvmffi_i_map_lookup(graph->v_obj, &key);
  if (!root || root->type_index != kTVMFFIInt)
    return tvmffi_i_fail("ValueError",
                         "Invalid JSON Object Graph, expected `root_index` "
                         "integer field");
  key = tvmffi_str("nodes");
  nodes = tvmffi_i_map_lookup(graph->v_obj, &key);
  if (!nodes || nodes->type_index != kTVMFFIArray)
    return tvmffi_i_fail("ValueError",
                         "Invalid JSON Object Graph, expected `nodes` array "
                         "field");
  tvmffi_i_begin_loading(&l, no_text);
  l.nodes = TVMFFI_I_ITEMS((const tvmffi_i_seq *)nodes->v_ptr);
  n = (size_t)((const tvmffi_i_seq *)nodes->v_ptr)->cell.size;
  if (n > PTRDIFF_MAX / sizeof(*l.loaded) - 1) return tvmffi_i_no_memory();
  l.loaded = (tvmffi_i_loaded *)tvmffi_i_alloc((n + 1) * sizeof(*l.loaded));
  if (!l.loaded) return tvmffi_i_no_memory();
  memset((void *)l.loaded, 0, (n + 1) * sizeof(*l.loaded));
  l.num_nodes = n;
  code = tvmffi_i_load(&l, root->v_int64);
  if (!code) *out = tvmffi_i_copy_owned(&l.loaded[root->v_int64].value);
  tvmffi_i_end_loading(&l);
  return code;
}
#endif
