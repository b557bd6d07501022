/* ======== Graph text ================================== >>functions/graph_text
   graphs from text; functions of graphs */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../extra.h"
#include "../interface.h"
#include "map_function.h"

#if !TVMFFI_NO_EXTRA
/* Fast path for text as ffi.ToJSONGraphString writes it. Does not build
   the map that represents a node. Builds a container immediately if its
   children are already loaded. Loads a value that may fail or run a hook only
   when another value needs it.

   The functions of the fast path return 1 to continue. After 0 or an error
   code, tvmffi_i_load_text starts again with the general JSON parser. */

/* Skips the string literal `word` and returns 1. Returns 0 if the text does not
   continue with `word`. */
#define TVMFFI_I_READ_WORD(r, word)                         \
  ((size_t)((r)->end - (r)->at) >= sizeof("" word) - 1 &&   \
   memcmp((r)->at, "" word "", sizeof("" word) - 1) == 0 && \
   ((r)->at += sizeof("" word) - 1) != NULL)

/* Returns the end of the JSON value at p, which must be the last value of its
   object: the first closing bracket without an opening bracket after p, or
   `end`. Ignores brackets in strings. */
static const char *tvmffi_i_json_extent(const char *p, const char *end) {
  size_t depth = 0;
  for (; p != end; ++p) {
    if (*p == '"') {
      for (++p; p != end && *p != '"'; ++p)
        if (*p == '\\' && ++p == end) return p;
      if (p == end) return p;
    } else if (*p == '{' || *p == '[') {
      ++depth;
    } else if (*p == '}' || *p == ']') {
      if (!depth--) return p;
    }
  }
  return p;
}

static int tvmffi_i_read_any(tvmffi_i_json_reader *r, TVMFFIAny *out) {
  TVMFFIByteArray text;
  text.data = r->at;
  r->at = tvmffi_i_json_extent(r->at, r->end);
  text.size = (size_t)(r->at - text.data);
  TVMFFI_TRY(tvmffi_i_json_parse(text, out));
  return 1;
}

/* Reads a node index of 1 to 18 digits. Returns the end of the digits, or NULL.
   The loop always stops, because the text ends with a brace. */
TVMFFI_I_INLINE const char *tvmffi_i_read_index(const char *start,
                                                int64_t *out) {
  const char *p = start;
  uint64_t x = 0;
  unsigned digit;
  for (; (digit = (unsigned)*p - '0') < 10; ++p) x = x * 10 + digit;
  *out = (int64_t)x;
  return p != start && p - start <= 18 ? p : NULL;
}

/* Reads a container's array of node indices. Builds the container if all
   children are known, otherwise stores the indices as the node's data. */
static int tvmffi_i_read_parts(tvmffi_i_loader *l, tvmffi_i_loaded *node) {
  const char *p = l->r.at + 1;
  TVMFFIAny *items = NULL;
  TVMFFIObject *data;
  size_t n = 0, i;
  for (; *p != ']'; p += *p == ',') {
    TVMFFI_I_PUSH_ROOM(int64_t, l->parts, n, l->room_parts);
    p = tvmffi_i_read_index(p, &l->parts[n++]);
    if (!p || (*p != ']' && (*p != ',' || p[1] == ']'))) return 0;
  }
  l->r.at = p + 1;
  for (i = 0; i < n && tvmffi_i_is_part_known(l, l->parts[i]);) ++i;
  if (i == n && (n % 2 == 0 || !tvmffi_i_is_map_type(node->type_index))) {
    TVMFFI_TRY(tvmffi_i_join_parts(l, node->type_index, n, &node->value));
    node->state = TVMFFI_I_KNOWN;
    return 1;
  }
  data = tvmffi_i_new_array((int64_t)n, &items);
  if (!data) return -1;
  for (i = 0; i < n; ++i) items[i] = tvmffi_int(l->parts[i]);
  node->value = tvmffi_obj(data);
  return 1;
}

/* Reads the data of a node. The type of the node has been read. */
static int tvmffi_i_read_data(tvmffi_i_loader *l, tvmffi_i_loaded *node) {
  tvmffi_i_json_reader *r = &l->r;
  const char *end;
  int c = tvmffi_i_json_peek(r), index = node->type_index;
  if (tvmffi_i_is_container(index))
    return c == '[' ? tvmffi_i_read_parts(l, node) : 0;
  if (index == kTVMFFIStr && c == '"')
    end = tvmffi_i_json_string(r, r->at, r->end, &node->value);
  else if ((index == kTVMFFIInt || index == kTVMFFIFloat) && c <= '9')
    end = tvmffi_i_json_number(r, r->at, r->end, &node->value);
  else if (index == kTVMFFIBool && c > '9')
    end = tvmffi_i_json_scalar(r, r->at, r->end, &node->value);
  else
    return tvmffi_i_read_any(r, &node->value);
  if (!end) return -1;
  r->at = end;
  node->state = TVMFFI_I_KNOWN;
  return node->value.type_index == index ||
         (index == kTVMFFIStr && node->value.type_index == kTVMFFISmallStr);
}

/* Reads the rest of a node's type key, and sets *index to the type index. Also
   skips the JSON key "data". Only a None node has no "data". */
static int tvmffi_i_read_type(tvmffi_i_json_reader *r, int32_t *index) {
#define TVMFFI_I_READ_TYPE(key, i) \
  if (TVMFFI_I_READ_WORD(r, key "\",\"data\":")) return *index = (i), 1;
  const char *p;
  TVMFFIByteArray key;
  const tvmffi_i_type *type;
  TVMFFI_I_READ_TYPE("int", kTVMFFIInt)
  TVMFFI_I_READ_TYPE("ffi.String", kTVMFFIStr)
  TVMFFI_I_READ_TYPE("float", kTVMFFIFloat)
  TVMFFI_I_READ_TYPE("ffi.Array", kTVMFFIArray)
  TVMFFI_I_READ_TYPE("ffi.Map", kTVMFFIMap)
#undef TVMFFI_I_READ_TYPE
  for (p = r->at; p != r->end && *p != '"' && *p != '\\';) ++p;
  key.data = r->at;
  key.size = (size_t)(p - key.data);
  r->at = p;
  if (!TVMFFI_I_READ_WORD(r, "\"")) return 0;
  type = tvmffi_i_type_by_key(&key);
  if (!type) return 0;
  *index = type->info.type_index;
  return *index == kTVMFFINone || TVMFFI_I_READ_WORD(r, ",\"data\":");
}

static int tvmffi_i_read_node(tvmffi_i_loader *l) {
  tvmffi_i_loaded *node;
  int code;
  if (!TVMFFI_I_READ_WORD(&l->r, "{\"type\":\"")) return 0;
  TVMFFI_I_PUSH_ROOM(tvmffi_i_loaded, l->loaded, l->num_nodes, l->room_nodes);
  node = &l->loaded[l->num_nodes++];
  node->value = tvmffi_none();
  node->state = TVMFFI_I_NODE_READ;
  if (!tvmffi_i_read_type(&l->r, &node->type_index)) return 0;
  if (node->type_index != kTVMFFINone) {
    code = tvmffi_i_read_data(l, node);
    if (code != 1) return code;
  } else {
    node->state = TVMFFI_I_KNOWN;
  }
  return TVMFFI_I_READ_WORD(&l->r, "}");
}

TVMFFI_I_NOINLINE int tvmffi_i_read_graph(tvmffi_i_loader *l, int64_t *root) {
  tvmffi_i_json_reader *r = &l->r;
  TVMFFIAny metadata;
  int code;
  if (r->at == r->end || r->end[-1] != '}') return 0;
  l->room_nodes = (size_t)(r->end - r->at) / 32 + 1;
  l->loaded =
      (tvmffi_i_loaded *)tvmffi_i_alloc(l->room_nodes * sizeof(*l->loaded));
  if (!l->loaded) return tvmffi_i_no_memory();
  if (!tvmffi_i_json_match(r, tvmffi_i_graph_head)) return 0;
  r->at = tvmffi_i_read_index(r->at, root);
  if (!r->at || !TVMFFI_I_READ_WORD(r, ",\"nodes\":[")) return 0;
  do {
    code = tvmffi_i_read_node(l);
    if (code != 1) return code;
  } while (TVMFFI_I_READ_WORD(r, ","));
  if (!TVMFFI_I_READ_WORD(r, "]")) return 0;
  if (TVMFFI_I_READ_WORD(r, ",\"metadata\":")) {
    code = tvmffi_i_read_any(r, &metadata);
    if (code != 1) return code;
    tvmffi_i_any_release(&metadata);
  }
  return TVMFFI_I_READ_WORD(r, "}") && r->at == r->end;
}

static int tvmffi_i_load_text(TVMFFIByteArray text, TVMFFIAny *out) {
  tvmffi_i_loader l;
  TVMFFIAny graph;
  int64_t root = 0;
  int code, is_read;
  tvmffi_i_begin_loading(&l, text);
  tvmffi_i_start_types();
  code = tvmffi_i_read_graph(&l, &root);
  is_read = code == 1;
  if (is_read) {
    code = tvmffi_i_load(&l, root);
    if (!code) *out = tvmffi_i_copy_owned(&l.loaded[root].value);
  } else if (code) {
    graph = tvmffi_i_take_error();
    tvmffi_i_any_release(&graph);
  }
  tvmffi_i_end_loading(&l);
  if (is_read) return code;
  TVMFFI_TRY(tvmffi_i_json_parse(text, &graph));
  code = tvmffi_i_load_graph(&graph, out);
  tvmffi_i_any_release(&graph);
  return code;
}

/* Returns a value and everything it contains as a graph: a map that
   ffi.json.Stringify can write. A shared object is saved once. If `metadata` is
   not None, the map contains `metadata`. Raises ValueError if the value
   contains itself. Raises TypeError for an object whose type has no creator, no
   attribute __ffi_new__ and no attribute __data_to_json__. */
TVMFFI_I_BUILTIN_FUNC(i_to_json_graph, any, (i_view, value),
                      (i_view, metadata)) {
  return tvmffi_i_call_to_graph(value, metadata, 0, tvmffi_result);
}

/* Same as ffi.ToJSONGraph, but returns the graph as JSON text. */
TVMFFI_I_BUILTIN_FUNC(i_to_json_graph_string, str, (i_view, value),
                      (i_view, metadata)) {
  return tvmffi_i_call_to_graph(value, metadata, 1, tvmffi_result);
}

/* Restores a value from the map that ffi.ToJSONGraph returned. */
TVMFFI_I_BUILTIN_FUNC(i_from_json_graph, any, (i_view, value)) {
  TVMFFIAny graph = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_own(value, &graph));
  code = tvmffi_i_load_graph(&graph, tvmffi_result);
  tvmffi_i_any_release(&graph);
  return code;
}

/* Restores a value from the text that ffi.ToJSONGraphString returned. */
TVMFFI_I_BUILTIN_FUNC(i_from_json_graph_string, any, (str, text)) {
  return tvmffi_i_load_text(text, tvmffi_result);
}
#endif
