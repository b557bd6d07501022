/* ======== Graph text ===================================== >>extra/graph_text
   graphs read from text without nodes */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/map_layout.h"
#include "../interface/function.h"
#include "../platform/libc.h"
#include "../platform/memory.h"
#include "../platform/stack.h"
#include "../core/raise.h"
#include "../core/error.h"
#include "../core/type_table.h"
#include "../containers/sequence.h"
#include "../containers/map_memory.h"
#include "../containers/map.h"
#include "../containers/map_function.h"
#include "json_read.h"
#include "graph_save.h"
#include "graph_load.h"

#if !TVMFFI_NO_EXTRA
/* A text that is word for word what ToJSONGraphString writes is read node by
   node, without the maps that any JSON would become. Values of built-in types
   whose parts are before them are made at once; what might run other code, or
   fail, is left until it is asked for. Any other text, and any error, is left
   to the parser of all JSON: here, functions give 1 if they go on, else 0 or
   an error's code. */
typedef struct {
  tvmffi_i_json_reader r;
  tvmffi_i_loader l;
  int64_t *parts; /* the indices of one node */
  size_t num_parts, room_parts;
} tvmffi_i_graph_reader;

/* Whether two texts of the same length, 8 to 24, are the same: two comparisons
   or three. */
TVMFFI_I_ALWAYS_INLINE int tvmffi_i_is_word(const char *p, const char *word,
                                            size_t n) {
  uint64_t x, y, differ;
  memcpy(&x, p, 8);
  memcpy(&y, word, 8);
  differ = x ^ y;
  memcpy(&x, p + n - 8, 8);
  memcpy(&y, word + n - 8, 8);
  differ |= x ^ y;
  if (n <= 16) return !differ;
  n = n > 16 ? 8 : 0; /* compilers look at code that is never reached, too */
  memcpy(&x, p + n, 8);
  memcpy(&y, word + n, 8);
  return !(differ | (x ^ y));
}

/* Goes past a literal, if it stands here. */
#define TVMFFI_I_READ_WORD(r, word)                                      \
  ((size_t)((r)->end - (r)->at) >= sizeof("" word) - 1 &&                \
   (sizeof("" word) - 1 < 8 || sizeof("" word) - 1 > 24                  \
        ? memcmp((r)->at, "" word "", sizeof("" word) - 1) == 0          \
        : tvmffi_i_is_word((r)->at, "" word "", sizeof("" word) - 1)) && \
   ((r)->at += sizeof("" word) - 1) != NULL)

/* Where a value ends that stands in an object; it is not looked at. */
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

static int tvmffi_i_read_any(tvmffi_i_graph_reader *g, TVMFFIAny *out) {
  TVMFFIByteArray text;
  text.data = g->r.at;
  g->r.at = tvmffi_i_json_extent(g->r.at, g->r.end);
  text.size = (size_t)(g->r.at - text.data);
  TVMFFI_TRY(tvmffi_i_json_parse(text, out));
  return 1;
}

/* Reads an index; gives what follows it, or NULL if there is none. No digit
   ends the text, so all digits come to an end. */
TVMFFI_I_INLINE const char *tvmffi_i_read_index(const char *start,
                                                int64_t *out) {
  const char *p = start;
  uint64_t x = 0;
  unsigned digit;
  for (; (digit = (unsigned)*p - '0') < 10; ++p) x = x * 10 + digit;
  *out = (int64_t)x;
  return p != start && p - start <= 18 ? p : NULL;
}

/* Reads indices onto g->parts. */
static int tvmffi_i_read_indices(tvmffi_i_graph_reader *g) {
  const char *p = g->r.at + 1;
  size_t n = 0;
  for (; *p != ']'; p += *p == ',') {
    TVMFFI_I_PUSH_ROOM(int64_t, g->parts, n, g->room_parts);
    p = tvmffi_i_read_index(p, &g->parts[n++]);
    if (!p || (*p != ']' && (*p != ',' || p[1] == ']'))) return 0;
  }
  g->num_parts = n;
  g->r.at = p + 1;
  return 1;
}

/* Makes the table of parts that are known, as the reader of JSON does, which
   knows tables with the same keys. */
static tvmffi_i_map_object *tvmffi_i_join_table(tvmffi_i_graph_reader *g,
                                                int32_t index) {
  tvmffi_i_json_reader *r = &g->r;
  tvmffi_i_map_object *m;
  size_t i;
  if (r->room_values < g->num_parts) {
    tvmffi_i_free(r->values);
    r->room_values = 0;
    r->values = (TVMFFIAny *)tvmffi_i_alloc(g->room_parts * sizeof(*r->values));
    if (!r->values) {
      (void)tvmffi_i_no_memory();
      return NULL;
    }
    r->room_values = g->room_parts;
  }
  for (i = 0; i < g->num_parts; ++i)
    r->values[i] = tvmffi_i_copy_owned(&g->l.loaded[g->parts[i]].value);
  m = tvmffi_i_json_object(r, r->values, g->num_parts);
  if (m)
    m->base.type_index = index;
  else
    for (i = 0; i < g->num_parts; ++i) tvmffi_any_release(&r->values[i]);
  return m;
}

/* Makes a map of parts that are known; one with a key twice is not made. */
static int tvmffi_i_join_map(tvmffi_i_graph_reader *g, int32_t index,
                             TVMFFIAny *out) {
  size_t n = g->num_parts, i;
  int is_table = n / 2 > TVMFFI_I_MAP_ROW_MAX, code = 0;
  tvmffi_i_map_object *m;
  if (n % 2) return 0;
  for (i = 0; is_table && i < n; i += 2) {
    int32_t key = g->l.loaded[g->parts[i]].value.type_index;
    is_table = key == kTVMFFISmallStr || key == kTVMFFIStr;
  }
  m = is_table ? tvmffi_i_join_table(g, index)
               : (tvmffi_i_map_object *)(void *)tvmffi_i_new_map(
                     index, (int64_t)(n / 2));
  *out = tvmffi_obj(m);
  if (!m) return -1;
  for (i = 0; !is_table && i < n && !code; i += 2)
    code = tvmffi_i_map_set_in(m, &g->l.loaded[g->parts[i]].value,
                               &g->l.loaded[g->parts[i + 1]].value);
  if (!code && tvmffi_i_map_size(&m->base) == (int64_t)(n / 2)) return 1;
  tvmffi_any_release(out);
  return code;
}

/* Makes the container of g->parts, or if they are not yet known its data. */
static int tvmffi_i_join_parts(tvmffi_i_graph_reader *g,
                               tvmffi_i_loaded *node) {
  int32_t index = node->type_index;
  size_t n = g->num_parts, i;
  TVMFFIAny *items = NULL;
  TVMFFIObject *made;
  for (i = 0; i < n; ++i)
    if ((uint64_t)g->parts[i] >= g->l.num_nodes ||
        g->l.loaded[g->parts[i]].state != TVMFFI_I_KNOWN)
      break;
  node->state = i == n ? TVMFFI_I_KNOWN : TVMFFI_I_NODE_READ;
  if (i == n && (index == kTVMFFIMap || index == kTVMFFIDict))
    return tvmffi_i_join_map(g, index, &node->value);
  if (i == n && index == kTVMFFIList) {
    made = tvmffi_i_new_list((int64_t)n);
    items = made ? TVMFFI_I_ITEMS((tvmffi_i_seq *)(void *)made) : NULL;
    if (made) TVMFFI_I_CELL(TVMFFISeqCell, made)->size = (int64_t)n;
  } else {
    made = tvmffi_i_new_array((int64_t)n, &items);
  }
  if (!made) return -1;
  node->value = tvmffi_obj(made);
  if (node->state == TVMFFI_I_KNOWN)
    for (i = 0; i < n; ++i)
      items[i] = tvmffi_i_copy_owned(&g->l.loaded[g->parts[i]].value);
  else
    for (i = 0; i < n; ++i) items[i] = tvmffi_int(g->parts[i]);
  return 1;
}

/* Reads the data of a node whose type is known. */
static int tvmffi_i_read_data(tvmffi_i_graph_reader *g, tvmffi_i_loaded *node) {
  tvmffi_i_json_reader *r = &g->r;
  const char *end;
  int c = tvmffi_i_json_peek(r), code;
  node->state = TVMFFI_I_KNOWN;
  switch (node->type_index) {
    case kTVMFFIStr:
      if (c != '"') return 0;
      end = tvmffi_i_json_string(r, r->at, r->end, &node->value);
      if (!end) return -1;
      r->at = end;
      return 1;
    case kTVMFFIBool:
      node->value = tvmffi_bool(c == 't');
      return tvmffi_i_json_match(r, c == 't' ? "true" : "false");
    case kTVMFFIInt:
    case kTVMFFIFloat:
      if (c == '"' || c == '{' || c == '[' || c == 't' || c == 'f') return 0;
      end = tvmffi_i_json_number(r, r->at, r->end, &node->value);
      if (!end) return -1;
      r->at = end;
      return node->value.type_index == node->type_index;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      if (c != '[') return 0;
      code = tvmffi_i_read_indices(g);
      return code == 1 ? tvmffi_i_join_parts(g, node) : code;
    default: break;
  }
  node->state = TVMFFI_I_NODE_READ;
  return tvmffi_i_read_any(g, &node->value);
}

/* Reads a node from behind the quote of its type's key to its data, if any. */
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

/* Reads the next node, from its brace on. */
static int tvmffi_i_read_node(tvmffi_i_graph_reader *g) {
  tvmffi_i_loader *l = &g->l;
  tvmffi_i_loaded *node;
  int code;
  if (!TVMFFI_I_READ_WORD(&g->r, "{\"type\":\"")) return 0;
  TVMFFI_I_PUSH_ROOM(tvmffi_i_loaded, l->loaded, l->num_nodes, l->room_nodes);
  node = &l->loaded[l->num_nodes];
  node->value = tvmffi_none();
  node->state = TVMFFI_I_KNOWN;
  if (!tvmffi_i_read_type(&g->r, &node->type_index)) return 0;
  if (node->type_index != kTVMFFINone) {
    code = tvmffi_i_read_data(g, node);
    if (code != 1) return code;
  }
  ++l->num_nodes;
  return TVMFFI_I_READ_WORD(&g->r, "}");
}

TVMFFI_I_NOINLINE int tvmffi_i_read_graph(tvmffi_i_graph_reader *g,
                                          int64_t *root) {
  tvmffi_i_json_reader *r = &g->r;
  TVMFFIAny metadata;
  int code;
  if (r->at == r->end || r->end[-1] != '}') return 0;
  g->l.room_nodes = (size_t)(r->end - r->at) / 32 + 1;
  g->l.loaded =
      (tvmffi_i_loaded *)tvmffi_i_alloc(g->l.room_nodes * sizeof(*g->l.loaded));
  if (!g->l.loaded) return tvmffi_i_no_memory();
  if (!tvmffi_i_json_match(r, tvmffi_i_graph_head)) return 0;
  r->at = tvmffi_i_read_index(r->at, root);
  if (!r->at || !TVMFFI_I_READ_WORD(r, ",\"nodes\":[")) return 0;
  do {
    code = tvmffi_i_read_node(g);
    if (code != 1) return code;
  } while (TVMFFI_I_READ_WORD(r, ","));
  if (!TVMFFI_I_READ_WORD(r, "]")) return 0;
  if (TVMFFI_I_READ_WORD(r, ",\"metadata\":")) {
    code = tvmffi_i_read_any(g, &metadata);
    if (code != 1) return code;
    tvmffi_any_release(&metadata);
  }
  return TVMFFI_I_READ_WORD(r, "}") && r->at == r->end;
}

static int tvmffi_i_load_text(TVMFFIByteArray text, TVMFFIAny *out) {
  tvmffi_i_graph_reader g;
  TVMFFIAny graph;
  int64_t root = 0;
  int code, is_read;
  memset((void *)&g, 0, sizeof(g));
  tvmffi_i_stack_open(&g.l.frames, NULL, 0);
  tvmffi_i_json_begin_reader(&g.r, text);
  tvmffi_i_start_types();
  code = tvmffi_i_read_graph(&g, &root);
  is_read = code == 1;
  if (is_read) {
    code = tvmffi_i_load(&g.l, root);
    if (!code) *out = tvmffi_i_copy_owned(&g.l.loaded[root].value);
  } else if (code) {
    graph = tvmffi_i_take_error();
    tvmffi_any_release(&graph);
  }
  tvmffi_i_end_loading(&g.l);
  tvmffi_i_free(g.parts);
  tvmffi_i_json_end_reader(&g.r);
  if (is_read) return code;
  TVMFFI_TRY(tvmffi_i_json_parse(text, &graph));
  code = tvmffi_i_load_graph(&graph, out);
  tvmffi_any_release(&graph);
  return code;
}

TVMFFI_FUNC(i_to_json_graph, any, (i_view, value), (i_view, metadata)) {
  return tvmffi_i_call_to_graph(value, metadata, 0, tvmffi_result);
}

TVMFFI_FUNC(i_to_json_graph_string, str, (i_view, value), (i_view, metadata)) {
  return tvmffi_i_call_to_graph(value, metadata, 1, tvmffi_result);
}

TVMFFI_FUNC(i_from_json_graph, any, (i_view, value)) {
  TVMFFIAny graph = tvmffi_none();
  int code;
  TVMFFI_TRY(tvmffi_i_own(value, &graph));
  code = tvmffi_i_load_graph(&graph, tvmffi_result);
  tvmffi_any_release(&graph);
  return code;
}

TVMFFI_FUNC(i_from_json_graph_string, any, (str, text)) {
  return tvmffi_i_load_text(text, tvmffi_result);
}
#endif
