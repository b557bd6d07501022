/* ======== Graph reader: nodes of a graph to values ==== >>extra/graph_load */

#pragma once

#include "../head/config.h"
#include "../head/dlpack.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/mismatch.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/stack.h"
#include "../platform/decimal.h"
#include "../core/raise.h"
#include "../core/type_table.h"
#include "../containers/equal.h"
#include "../containers/sequence.h"
#include "../containers/map_lookup.h"
#include "../containers/map_memory.h"
#include "../containers/map.h"
#include "../reflection/field.h"
#include "../reflection/access.h"
#include "../reflection/construct.h"
#include "../reflection/enum.h"
#include "../reflection/convert.h"
#include "json_read.h"
#include "base64.h"
#include "bigint_json.h"
#include "graph_save.h"

#if !TVMFFI_NO_EXTRA
/* A value that is being made of its parts. */
typedef struct {
  int64_t node;
  int32_t type_index;
  int on_key;         /* a map: its key is next, the value is in `value` */
  TVMFFIObject *data; /* owned: an array of indices, or a map of fields */
  TVMFFIObject *made; /* owned */
  TVMFFIAny value;    /* owned */
  int64_t at;
  const TVMFFIFieldInfo *field;
  tvmffi_i_field_walk walk;
} tvmffi_i_loading;

/* What is known of a node: nothing yet, its type and data, or its value. */
enum {
  TVMFFI_I_UNKNOWN,
  TVMFFI_I_NODE_READ,
  TVMFFI_I_IN_PROGRESS,
  TVMFFI_I_KNOWN
};
typedef struct {
  TVMFFIAny value; /* owned: the value, or the data of a node that is read */
  int32_t type_index;
  int state;
} tvmffi_i_loaded;

typedef struct {
  const TVMFFIAny *nodes; /* borrowed; NULL of a text, where all are read */
  tvmffi_i_loaded *loaded;
  size_t num_nodes, room_nodes;
  tvmffi_i_stack frames;
} tvmffi_i_loader;

static int tvmffi_i_cast_int(const TVMFFIAny *value, int64_t *out) {
  *out = value->v_int64;
  return TVMFFI_I_IS_INT(value) ? 0 : tvmffi_i_bad_cast(value, "int");
}

static int tvmffi_i_cast_str(const TVMFFIAny *value, TVMFFIByteArray *out) {
  return tvmffi_i_get_str(value, out) ? tvmffi_i_bad_cast(value, "str") : 0;
}

/* Gives a map (owned) of a map or dict. */
static int tvmffi_i_cast_map(const TVMFFIAny *value, TVMFFIObject **out) {
  if (value->type_index != kTVMFFIMap && value->type_index != kTVMFFIDict)
    return tvmffi_i_bad_cast(value, "Map<Any, Any>");
  if (value->type_index == kTVMFFIDict)
    *out = tvmffi_i_map_copy(value->v_obj, kTVMFFIMap);
  else
    tvmffi_retain(*out = value->v_obj);
  return *out ? 0 : -1;
}

/* Gives an array (owned) of an array or list. */
static int tvmffi_i_cast_array(const TVMFFIAny *value, TVMFFIObject **out) {
  TVMFFIAny made = tvmffi_none();
  if (value->type_index != kTVMFFIArray && value->type_index != kTVMFFIList)
    return tvmffi_i_bad_cast(value, "Array<Any>");
  if (value->type_index == kTVMFFIArray)
    made = tvmffi_i_copy_owned(value);
  else
    TVMFFI_TRY(tvmffi_i_convert_seq(TVMFFI_I_CELL(TVMFFISeqCell, value->v_obj),
                                    kTVMFFIArray, &made));
  *out = made.v_obj;
  return 0;
}

/* The items of an array or list of integers (borrowed). */
static int tvmffi_i_cast_ints(const TVMFFIAny *value,
                              const TVMFFISeqCell **out) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *items;
  int64_t i;
  if (value->type_index != kTVMFFIArray && value->type_index != kTVMFFIList)
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

/* Gives the value (borrowed) of a name that a map must have. */
static int tvmffi_i_get_named(TVMFFIObject *map, const char *name,
                              const TVMFFIAny **out) {
  TVMFFIAny key = tvmffi_str(name);
  *out = tvmffi_i_map_lookup(map, &key);
  if (*out == &tvmffi_i_map_failed) return -1;
  return *out ? 0 : tvmffi_i_fail("KeyError", "key is not in Map");
}

/* Makes a value of one of the plain types, as a field or a node has it. */
static int tvmffi_i_load_plain(int32_t type_index, const TVMFFIAny *data,
                               TVMFFIAny *out) {
  TVMFFIByteArray text;
  int64_t number;
  switch (type_index) {
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
      *out = data->type_index == kTVMFFIFloat
                 ? *data
                 : tvmffi_i_double_of(tvmffi_i_int_to_double(data->v_int64));
      return 0;
    case kTVMFFIDataType:
      TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
      *out = tvmffi_none();
      TVMFFI_TRY(TVMFFIDataTypeFromString(&text, &out->v_dtype));
      out->type_index = kTVMFFIDataType;
      return 0;
    default: *out = tvmffi_none(); return 0;
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

/* Finds the object (owned then) of an enumeration by its index. */
static int tvmffi_i_load_enum(int32_t type_index, const TVMFFIAny *data,
                              TVMFFIAny *out) {
  static tvmffi_i_known_column column = {"__ffi_enum__", NULL};
  const TVMFFIAny *state, *found = NULL;
  const char *key = tvmffi_i_type_key(type_index);
  int is_int = tvmffi_is_instance(type_index, TVMFFI_I_INT_ENUM);
  TVMFFIByteArray text = {"", 0};
  int64_t number = 0;
  TVMFFIAny index;
  if (is_int)
    TVMFFI_TRY(tvmffi_i_cast_int(data, &number));
  else
    TVMFFI_TRY(tvmffi_i_cast_str(data, &text));
  index = is_int ? tvmffi_int(number) : *data;
  state = tvmffi_i_type_attr(&column, type_index);
  if (state && state->type_index != TVMFFI_I_ENUM_STATE)
    return tvmffi_i_not_as(state, "ffi.EnumState");
  if (state)
    found = tvmffi_i_map_lookup(
        ((const tvmffi_i_enum_state *)state->v_ptr)->indexes, &index);
  if (found == &tvmffi_i_map_failed) return -1;
  if (found && (found->type_index < kTVMFFIStaticObjectBegin ||
                !tvmffi_is_instance(found->type_index, TVMFFI_I_ENUM_BASE)))
    return tvmffi_i_not_as(found, "ffi.Enum");
  if (found) {
    *out = tvmffi_i_copy_owned(found);
    return 0;
  }
  if (is_int)
    return tvmffi_i_fail("ValueError",
                         "Enum `%s` has no instance with index %lld", key,
                         (long long)number);
  return tvmffi_i_fail("ValueError",
                       "Enum `%s` has no instance with index %.*s", key,
                       TVMFFI_I_TEXT(text));
}

/* Begins a value that has parts. */
static int tvmffi_i_enter_loading(tvmffi_i_loader *l, int64_t node,
                                  int32_t type_index, const TVMFFIAny *data) {
  tvmffi_i_loading *f = TVMFFI_I_PUSH(tvmffi_i_loading, &l->frames, NULL);
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(type_index);
  TVMFFISeqCell *cell;
  TVMFFIAny *items = NULL;
  int code;
  if (!f) return -1;
  memset((void *)f, 0, sizeof(*f));
  f->node = node;
  f->type_index = type_index;
  switch (type_index) {
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      TVMFFI_TRY(tvmffi_i_cast_array(data, &f->data));
      cell = TVMFFI_I_CELL(TVMFFISeqCell, f->data);
      code = 0;
      if (type_index == kTVMFFIArray)
        f->made = tvmffi_i_new_array(cell->size, &items);
      else if (type_index == kTVMFFIList)
        f->made = tvmffi_i_new_list(cell->size);
      else if (cell->size % 2 == 0)
        f->made = tvmffi_i_new_map(type_index, 0);
      else
        code = tvmffi_i_fail("ValueError",
                             "Invalid JSON Object Graph: Map/Dict data must "
                             "contain an even number of [key, value] entries, "
                             "got %lld",
                             (long long)cell->size);
      if (!f->made) code = -1;
      break;
    default:
      code = tvmffi_i_make_empty(type, &f->made);
      if (!code) code = tvmffi_i_cast_map(data, &f->data);
      f->walk = tvmffi_i_walk_fields(type);
  }
  l->loaded[node].state = TVMFFI_I_IN_PROGRESS;
  return code;
}

/* Gives the type of a node, and its data, which are borrowed from it. */
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

/* Makes the value of a node of its data, or begins one that has parts. */
static int tvmffi_i_load_data(tvmffi_i_loader *l, int64_t node, int32_t index,
                              const TVMFFIAny *data, TVMFFIAny *value) {
  const TVMFFISeqCell *cell = NULL;
  const TVMFFIAny *hook;
  TVMFFIByteArray text = {NULL, 0};
  switch (index) {
    case kTVMFFINone:
    case kTVMFFIBool:
    case kTVMFFIInt:
    case kTVMFFIFloat:
    case kTVMFFIDataType: return tvmffi_i_load_plain(index, data, value);
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
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict: return tvmffi_i_enter_loading(l, node, index, data);
    default: break;
  }
  if (tvmffi_is_instance(index, TVMFFI_I_ENUM_BASE))
    return tvmffi_i_load_enum(index, data, value);
  hook = tvmffi_i_type_attr(&tvmffi_i_from_json_column, index);
  if (hook) return tvmffi_i_call_attr_value(hook, data, 1, kTVMFFIAny, value);
  return tvmffi_i_enter_loading(l, node, index, data);
}

/* Makes the value of a node, or begins one that has parts. */
static int tvmffi_i_load_node(tvmffi_i_loader *l, int64_t node) {
  tvmffi_i_loaded *loaded = &l->loaded[node];
  TVMFFIAny value = tvmffi_none(), held = tvmffi_none();
  TVMFFIObject *map = NULL;
  const TVMFFIAny *data = &held;
  size_t depth = l->frames.depth;
  int code = 0;
  if (loaded->state == TVMFFI_I_NODE_READ) {
    held = loaded->value;
    loaded->value = tvmffi_none();
  } else {
    code = tvmffi_i_cast_map(&l->nodes[node], &map);
    if (!code) code = tvmffi_i_look_at_node(map, &loaded->type_index, &data);
  }
  if (!code)
    code = tvmffi_i_load_data(l, node, loaded->type_index, data, &value);
  tvmffi_any_release(&held);
  tvmffi_release(map);
  if (code || l->frames.depth > depth) return code;
  loaded->value = value;
  loaded->state = TVMFFI_I_KNOWN;
  return 0;
}

/* Sets fields up to the next one whose value is a node: 1 with its index, 0 if
   there is none left, or an error's code. */
static int tvmffi_i_load_fields(tvmffi_i_loading *f, int64_t *index) {
  while ((f->field = tvmffi_i_next_field(&f->walk))) {
    const TVMFFIFieldInfo *field = f->field;
    TVMFFIAny name = tvmffi_none(), value = tvmffi_none();
    const TVMFFIAny *data;
    int32_t type_index = field->field_static_type_index;
    int code;
    TVMFFI_TRY(TVMFFIStringFromByteArray(&field->name, &name));
    data = tvmffi_i_map_lookup(f->data, &name);
    tvmffi_any_release(&name);
    if (data == &tvmffi_i_map_failed) return -1;
    if (!data) {
      if (!(field->flags & kTVMFFIFieldFlagBitMaskHasDefault))
        return tvmffi_i_fail(
            "TypeError", "Required field `%.*s` not set in type `%s`",
            TVMFFI_I_TEXT(field->name), tvmffi_i_type_key(f->type_index));
      TVMFFI_TRY(tvmffi_i_make_default(field, &value));
    } else if (type_index == kTVMFFINone || type_index == kTVMFFIBool ||
               type_index == kTVMFFIInt || type_index == kTVMFFIFloat ||
               type_index == kTVMFFIDataType) {
      TVMFFI_TRY(tvmffi_i_load_plain(type_index, data, &value));
    } else {
      TVMFFI_TRY(tvmffi_i_cast_int(data, index));
      return 1;
    }
    code = tvmffi_i_set_field(field, f->made, &value);
    tvmffi_any_release(&value);
    if (code) return code;
  }
  return 0;
}

/* Gives the index of the next part: 1, 0 if there is none left, or an error's
   code. Of each pair upstream makes the value first. */
static int tvmffi_i_next_node_index(tvmffi_i_loading *f, int64_t *index) {
  const TVMFFISeqCell *cell;
  const TVMFFIAny *items;
  int64_t key;
  if (f->type_index != kTVMFFIArray && f->type_index != kTVMFFIList &&
      f->type_index != kTVMFFIMap && f->type_index != kTVMFFIDict)
    return tvmffi_i_load_fields(f, index);
  cell = TVMFFI_I_CELL(TVMFFISeqCell, f->data);
  items = (const TVMFFIAny *)cell->data;
  if (f->at >= cell->size) return 0;
  if (f->type_index == kTVMFFIMap || f->type_index == kTVMFFIDict) {
    TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at], &key));
    if (!f->on_key) TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at + 1], &key));
    *index = key;
    return 1;
  }
  TVMFFI_TRY(tvmffi_i_cast_int(&items[f->at], index));
  return 1;
}

/* Takes the next part (borrowed) in. */
static int tvmffi_i_feed_loading(tvmffi_i_loading *f, const TVMFFIAny *part) {
  TVMFFIAny value = f->value;
  int code;
  switch (f->type_index) {
    case kTVMFFIArray:
      TVMFFI_I_ITEMS((tvmffi_i_seq *)(void *)f->made)
      [f->at++] = tvmffi_i_copy_owned(part);
      return 0;
    case kTVMFFIList: ++f->at; return tvmffi_i_list_append(f->made, part);
    case kTVMFFIMap:
    case kTVMFFIDict:
      f->on_key = !f->on_key;
      if (f->on_key) {
        f->value = tvmffi_i_copy_owned(part);
        return 0;
      }
      f->at += 2;
      f->value = tvmffi_none();
      code = tvmffi_i_map_set(&f->made, part, &value);
      tvmffi_any_release(&value);
      return code;
    default: break;
  }
  return tvmffi_i_set_field(f->field, f->made, part);
}

/* Makes the value of a node and of all that it names, on l->loaded. */
static int tvmffi_i_load(tvmffi_i_loader *l, int64_t root) {
  int64_t node = root;
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
      f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
      node = f->node;
      l->loaded[node].value = tvmffi_obj(f->made);
      l->loaded[node].state = TVMFFI_I_KNOWN;
      tvmffi_release(f->data);
      TVMFFI_I_POP(tvmffi_i_loading, &l->frames);
    }
    if (!l->frames.depth) return 0;
    f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
    if (l->loaded[node].state == TVMFFI_I_KNOWN)
      TVMFFI_TRY(tvmffi_i_feed_loading(f, &l->loaded[node].value));
    code = tvmffi_i_next_node_index(f, &node);
  } while (code >= 0);
  return code;
}

static void tvmffi_i_end_loading(tvmffi_i_loader *l) {
  for (; l->frames.depth; TVMFFI_I_POP(tvmffi_i_loading, &l->frames)) {
    tvmffi_i_loading *f = TVMFFI_I_TOP(tvmffi_i_loading, &l->frames);
    tvmffi_release(f->made);
    tvmffi_release(f->data);
    tvmffi_any_release(&f->value);
  }
  while (l->num_nodes) tvmffi_any_release(&l->loaded[--l->num_nodes].value);
  tvmffi_i_free(l->loaded);
  tvmffi_i_stack_close(&l->frames);
}

static int tvmffi_i_load_graph(const TVMFFIAny *graph, TVMFFIAny *out) {
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
  memset((void *)&l, 0, sizeof(l));
  tvmffi_i_stack_open(&l.frames, NULL, 0);
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
