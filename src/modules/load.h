/* ======== Loading: libraries with embedded modules ======== >>modules/load */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "named_symbol.h"
#include "library.h"
#include "import.h"
#include "module_object.h"

#if !TVMFFI_NO_CONTAINERS
/* The unread part of a library's embedded binary. Numbers have 64 bits, little
   endian. A string is its size, as a number, followed by its bytes. */
typedef struct {
  const unsigned char *at;
  size_t left;
} tvmffi_i_stream_in;

static uint64_t tvmffi_i_number_at(const unsigned char *at, uint64_t i) {
  TVMFFI_ASSERT(at);
  return tvmffi_i_little_word((const char *)at + 8 * i, 8);
}

TVMFFI_I_COLD int tvmffi_i_bad_binary(void) {
  return tvmffi_i_internal_error(
      "The binary embedded in the library is malformed");
}

/* Reads an array, whose number of elements precedes it. An element has
   1 << shift bytes. */
static int tvmffi_i_read_array(tvmffi_i_stream_in *in, int shift,
                               const unsigned char **out, size_t *count) {
  uint64_t number;
  if (in->left < 8) return tvmffi_i_bad_binary();
  number = tvmffi_i_number_at(in->at, 0);
  in->at += 8;
  in->left -= 8;
  if (number > in->left >> shift) return tvmffi_i_bad_binary();
  *count = (size_t)number;
  *out = in->at;
  in->at += *count << shift;
  in->left -= *count << shift;
  return 0;
}

/* Reads a string. Refuses an empty string, as upstream's buffer_stream.h
   does. */
static int tvmffi_i_read_text(tvmffi_i_stream_in *in, TVMFFIByteArray *out) {
  const unsigned char *data = NULL;
  size_t size = 0;
  TVMFFI_TRY(tvmffi_i_read_array(in, 0, &data, &size));
  if (!size) return tvmffi_i_bad_binary();
  out->data = (const char *)data;
  out->size = size;
  return 0;
}

/* Creates a module (owned) from bytes by calling the global function
   ffi.Module.load_from_bytes.KIND. */
static int tvmffi_i_load_bytes(TVMFFIByteArray kind, TVMFFIByteArray bytes,
                               TVMFFIObject **out) {
  static const char *const texts[] = {
      "Library binary was created using {",
      ("} but a loader of that name is not registered. Make sure to have "
       "runtime that registers "),
      ""};
  TVMFFIAny arg;
  int code;
  TVMFFI_ASSERT(kind.size && bytes.size);
  TVMFFI_TRY(TVMFFIBytesFromByteArray(&bytes, &arg));
  code = tvmffi_i_call_loader("ffi.Module.load_from_bytes.", kind, texts, &arg,
                              1, out);
  tvmffi_i_any_release(&arg);
  return code;
}

/* The modules of an embedded binary. The imports of module i are the modules
   with the indices child[begin[i]] to child[begin[i + 1] - 1]. */
typedef struct {
  TVMFFIObject **module; /* owned */
  size_t count;
  const unsigned char *begin, *child;
  size_t num_children;
} tvmffi_i_tree;

static int tvmffi_i_read_modules(tvmffi_i_tree *tree, tvmffi_i_stream_in *in,
                                 tvmffi_i_library *library, void **context) {
  size_t i;
  for (i = 0; i < tree->count; ++i) {
    TVMFFIByteArray kind, bytes;
    TVMFFI_ASSERT(!tree->module[i]);
    TVMFFI_TRY(tvmffi_i_read_text(in, &kind));
    if (kind.size == 4 && memcmp(kind.data, "_lib", 4) == 0) {
      tvmffi_i_module *m = tvmffi_i_new_module(library);
      if (!m) return -1;
      tree->module[i] = &m->base;
      if (context) *context = m;
    } else {
      TVMFFI_TRY(tvmffi_i_read_text(in, &bytes));
      TVMFFI_TRY(tvmffi_i_load_bytes(kind, bytes, &tree->module[i]));
    }
    TVMFFI_ASSERT(tree->module[i]);
  }
  return 0;
}

static int tvmffi_i_link_modules(const tvmffi_i_tree *tree) {
  size_t i;
  for (i = 0; i < tree->count; ++i) {
    uint64_t at = tvmffi_i_number_at(tree->begin, i);
    uint64_t end = tvmffi_i_number_at(tree->begin, i + 1);
    TVMFFI_ASSERT(tree->module[i]);
    if (end > tree->num_children) return tvmffi_i_bad_binary();
    for (; at < end; ++at) {
      uint64_t child = tvmffi_i_number_at(tree->child, at);
      if (child >= tree->count) return tvmffi_i_bad_binary();
      TVMFFI_TRY(tvmffi_i_add_own_import(tvmffi_i_module_of(tree->module[i]),
                                         tree->module[child]));
    }
  }
  return 0;
}

/* Creates the modules of an embedded binary. Sets *out to the first module
   (owned). Sets *context to the library's module, unless `context` is NULL. On
   failure, *out and *context are as before the call, because the new modules
   are released. The binary contains its size, the arrays `begin` and `child`,
   then the kind and the bytes of each module. The kind "_lib" means the library
   itself, without bytes. */
static int tvmffi_i_load_tree(const unsigned char *binary,
                              tvmffi_i_library *library, void **context,
                              TVMFFIObject **out) {
  tvmffi_i_tree tree = {NULL, 0, NULL, NULL, 0};
  void *const old_context = context ? *context : NULL;
  tvmffi_i_stream_in in;
  size_t count = 0;
  size_t i;
  int code;
  in.at = binary + 8;
  in.left = (size_t)tvmffi_i_number_at(binary, 0);
  TVMFFI_TRY(tvmffi_i_read_array(&in, 3, &tree.begin, &count));
  TVMFFI_TRY(tvmffi_i_read_array(&in, 3, &tree.child, &tree.num_children));
  TVMFFI_ASSERT(tree.child == tree.begin + 8 * count + 8);
  if (count < 2 || count > in.left) return tvmffi_i_bad_binary();
  tree.count = count - 1;
  tree.module =
      (TVMFFIObject **)tvmffi_i_alloc(tree.count * sizeof(*tree.module));
  if (!tree.module) return tvmffi_i_no_memory();
  for (i = 0; i < tree.count; ++i) tree.module[i] = NULL;
  code = tvmffi_i_read_modules(&tree, &in, library, context);
  if (!code) code = tvmffi_i_link_modules(&tree);
  if (code && context) *context = old_context;
  if (!code) *out = tree.module[0];
  for (i = code ? 0 : 1; i < tree.count; ++i) tvmffi_i_release(tree.module[i]);
  tvmffi_i_free(tree.module);
  return code;
}

/* If the library has a variable with the name of a registered context symbol,
   sets the variable to the symbol's address. */
static int tvmffi_i_set_context(const tvmffi_i_library *library) {
  tvmffi_i_node *node = TVMFFI_I_LOAD(&tvmffi_i_context_symbols.first);
  for (; node; node = TVMFFI_I_LOAD(&node->next)) {
    TVMFFIByteArray name;
    void *variable;
    name.data = node->key;
    name.size = node->size;
    TVMFFI_ASSERT(name.data[name.size] == 0);
    TVMFFI_TRY(tvmffi_i_find_symbol(library, "", name, &variable));
    if (variable)
      *(void **)variable =
          TVMFFI_I_LOAD(&((tvmffi_i_named *)(void *)node)->address);
  }
  return 0;
}

/* Sets *out (owned) to the library's module, or to the first module of the
   embedded binary. Sets the library's variable __tvm_ffi__library_ctx, if any,
   to the library's module. */
static int tvmffi_i_load_library(tvmffi_i_library *library,
                                 TVMFFIObject **out) {
  TVMFFIByteArray none = {"", 0};
  tvmffi_i_module *m;
  void *binary, *context;
  TVMFFI_ASSERT(!*out);
  TVMFFI_TRY(
      tvmffi_i_find_symbol(library, "__tvm_ffi__library_bin", none, &binary));
  TVMFFI_TRY(
      tvmffi_i_find_symbol(library, "__tvm_ffi__library_ctx", none, &context));
  TVMFFI_TRY(tvmffi_i_set_context(library));
  if (binary)
    return tvmffi_i_load_tree((const unsigned char *)binary, library,
                              (void **)context, out);
  m = tvmffi_i_new_module(library);
  if (!m) return -1;
  if (context) *(void **)context = m;
  *out = &m->base;
  return 0;
}
#endif
