/* Prints what a library with the C ABI has registered by the time it is
   loaded, as lines of text:

     surface LIB globals   global functions and their type schemas
     surface LIB types     types, their fields and methods, attribute columns

   The library is opened by its path and asked through the ABI alone, so that
   any one can be given. Nothing else that registers is in the process. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TVMFFI_ABI_ONLY 1
#include "tvmffi.h"

/* A column can only be asked for by its name. */
static const char *const columns[] = {
    "__ffi_new__",        "__ffi_init__",         "__ffi_shallow_copy__",
    "__ffi_repr__",       "__ffi_hash__",         "__ffi_eq__",
    "__ffi_compare__",    "__any_hash__",         "__any_equal__",
    "__s_equal__",        "__s_hash__",           "__data_to_json__",
    "__data_from_json__", "__ffi_convert__",      "__s_visit__",
    "__s_mutate__",       "__ffi_enum_entries__", "__ffi_enum_attrs__",
    "__ffi_type_final__", "__ffi_enum__",         "__s_maybe_inplace_mutate__",
};

typedef int (*get_global_fn)(const TVMFFIByteArray *, TVMFFIObjectHandle *);
typedef int (*call_fn)(TVMFFIObjectHandle, TVMFFIAny *, int32_t, TVMFFIAny *);
typedef int (*dec_ref_fn)(TVMFFIObjectHandle);
typedef int (*key_to_index_fn)(const TVMFFIByteArray *, int32_t *);
typedef const TVMFFITypeInfo *(*type_info_fn)(int32_t);
typedef const TVMFFITypeAttrColumn *(*column_fn)(const TVMFFIByteArray *);

static get_global_fn get_global;
static call_fn call;
static dec_ref_fn dec_ref;
static key_to_index_fn key_to_index;
static type_info_fn type_info;
static column_fn get_column;

static void fail(const char *what, const char *name) {
  fprintf(stderr, "surface: %s %s\n", what, name);
  exit(1);
}

/* ISO C has no conversion between pointers to objects and to functions. */
static void find(void *library, const char *name, void *function) {
  void *symbol = dlsym(library, name);
  if (symbol == NULL) fail("the library lacks", name);
  memcpy(function, &symbol, sizeof symbol);
}

static TVMFFIByteArray bytes(const char *text) {
  TVMFFIByteArray result;
  result.data = text;
  result.size = strlen(text);
  return result;
}

static TVMFFIAny none(void) {
  TVMFFIAny value;
  memset(&value, 0, sizeof value);
  return value;
}

static TVMFFIAny integer(int64_t number) {
  TVMFFIAny value = none();
  value.type_index = kTVMFFIInt;
  value.v_int64 = number;
  return value;
}

static TVMFFIAny c_string(const char *text) {
  TVMFFIAny value = none();
  value.type_index = kTVMFFIRawStr;
  value.v_c_str = text;
  return value;
}

/* The function of a name, owned; NULL where there is none. */
static TVMFFIObjectHandle global(const char *name) {
  TVMFFIByteArray key = bytes(name);
  TVMFFIObjectHandle function = NULL;
  if (get_global(&key, &function) != 0) fail("cannot look up", name);
  return function;
}

static TVMFFIAny result_of(TVMFFIObjectHandle function, TVMFFIAny *args,
                           int32_t num_args, const char *name) {
  TVMFFIAny result = none();
  if (function == NULL) fail("there is no function", name);
  if (call(function, args, num_args, &result) != 0) fail("error in", name);
  return result;
}

static void release(TVMFFIAny *value) {
  if (value->type_index >= kTVMFFIStaticObjectBegin) dec_ref(value->v_obj);
}

static TVMFFIByteArray text_of(const TVMFFIAny *value) {
  TVMFFIByteArray text;
  if (value->type_index == kTVMFFISmallStr) {
    text.data = value->v_bytes;
    text.size = value->small_str_len;
  } else if (value->type_index == kTVMFFIStr) {
    /* The bytes follow the object's header as data and size. */
    memcpy(&text, (const char *)value->v_obj + sizeof(TVMFFIObject),
           sizeof text);
  } else {
    text = bytes("");
    fail("a text was expected", "");
  }
  return text;
}

static int compare_texts(const void *a, const void *b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

static char *copy_of(TVMFFIByteArray text) {
  char *copy = (char *)malloc(text.size + 1);
  if (copy == NULL) fail("no memory", "");
  memcpy(copy, text.data, text.size);
  copy[text.size] = 0;
  return copy;
}

/* Prints a blank and the string member `type_schema` of a JSON object, if it
   has it. */
static void print_schema(TVMFFIByteArray json) {
  static const char key[] = "{\"type_schema\":\"";
  char *copy = copy_of(json), *p = copy;
  if (strncmp(copy, key, sizeof key - 1) == 0) {
    putchar(' ');
    for (p += sizeof key - 1; *p != 0 && *p != '"'; ++p) {
      if (*p == '\\' && p[1] != 0) ++p;
      putchar(*p);
    }
  } else if (json.size > 0 && strcmp(copy, "{}") != 0) {
    fail("metadata without a schema:", copy);
  }
  free(copy);
}

static void print_global(const char *name, TVMFFIObjectHandle metadata) {
  TVMFFIAny arg = c_string(name), text;
  fputs(name, stdout);
  text = result_of(metadata, &arg, 1, "ffi.GetGlobalFuncMetadata");
  print_schema(text_of(&text));
  release(&text);
  putchar('\n');
}

static void print_globals(void) {
  static const char lister[] = "ffi.FunctionListGlobalNamesFunctor";
  TVMFFIObjectHandle make = global(lister);
  TVMFFIObjectHandle metadata = global("ffi.GetGlobalFuncMetadata");
  TVMFFIAny list = result_of(make, NULL, 0, lister);
  TVMFFIAny arg = integer(-1);
  int64_t i, count = result_of(list.v_obj, &arg, 1, lister).v_int64;
  char **names = (char **)calloc((size_t)count + 1, sizeof *names);
  if (names == NULL) fail("no memory", "");
  for (i = 0; i < count; ++i) {
    TVMFFIAny name;
    arg = integer(i);
    name = result_of(list.v_obj, &arg, 1, lister);
    names[i] = copy_of(text_of(&name));
    release(&name);
  }
  qsort(names, (size_t)count, sizeof *names, compare_texts);
  for (i = 0; i < count; ++i) {
    print_global(names[i], metadata);
    free(names[i]);
  }
  free(names);
  release(&list);
  dec_ref(metadata);
  dec_ref(make);
}

static void print_bytes(TVMFFIByteArray text) {
  fwrite(text.data, 1, text.size, stdout);
}

static void print_field(const TVMFFIFieldInfo *field) {
  printf("    field ");
  print_bytes(field->name);
  printf(" off=%lld size=%lld align=%lld flags=%lld ti=%d meta=",
         (long long)field->offset, (long long)field->size,
         (long long)field->alignment, (long long)field->flags,
         (int)field->field_static_type_index);
  print_bytes(field->metadata);
  putchar('\n');
}

static void print_method(const TVMFFIMethodInfo *method) {
  printf("    method ");
  print_bytes(method->name);
  printf(" flags=%lld meta=", (long long)method->flags);
  print_bytes(method->metadata);
  putchar('\n');
}

static void print_type(const TVMFFITypeInfo *type) {
  const TVMFFITypeMetadata *metadata = type->metadata;
  int32_t i;
  printf("%d ", (int)type->type_index);
  print_bytes(type->type_key);
  printf(" depth=%d anc=[", (int)type->type_depth);
  for (i = 0; i < type->type_depth; ++i)
    printf(i == 0 ? "%d" : ",%d", (int)type->type_ancestors[i]->type_index);
  putchar(']');
  if (metadata != NULL)
    printf(" size=%d creator=%d smode=%d", (int)metadata->total_size,
           metadata->creator != NULL, (int)metadata->structural_eq_hash_kind);
  putchar('\n');
  for (i = 0; i < type->num_fields; ++i) print_field(&type->fields[i]);
  for (i = 0; i < type->num_methods; ++i) print_method(&type->methods[i]);
}

static int compare_indices(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* The array that ffi.GetRegisteredTypeKeys returns: its items follow the
   header as data, size and capacity. */
static void print_types(void) {
  static const char lister[] = "ffi.GetRegisteredTypeKeys";
  TVMFFIObjectHandle get_keys = global(lister);
  TVMFFIAny keys = result_of(get_keys, NULL, 0, lister);
  const char *cell = (const char *)keys.v_obj + sizeof(TVMFFIObject);
  const TVMFFIAny *items;
  int64_t i, count;
  int32_t *indices;
  memcpy(&items, cell, sizeof items);
  memcpy(&count, cell + 8, sizeof count);
  indices = (int32_t *)calloc((size_t)count + 1, sizeof *indices);
  if (indices == NULL) fail("no memory", "");
  for (i = 0; i < count; ++i) {
    TVMFFIByteArray key = text_of(&items[i]);
    if (key_to_index(&key, &indices[i]) != 0) fail("unknown type", key.data);
  }
  qsort(indices, (size_t)count, sizeof *indices, compare_indices);
  for (i = 0; i < count; ++i) print_type(type_info(indices[i]));
  free(indices);
  release(&keys);
  dec_ref(get_keys);
}

static void print_column(const char *name) {
  TVMFFIByteArray key = bytes(name);
  const TVMFFITypeAttrColumn *column = get_column(&key);
  int32_t i;
  if (column == NULL) {
    printf("attr %s: none\n", name);
    return;
  }
  printf("attr %s: begin=%d size=%d:", name, (int)column->begin_index,
         (int)column->size);
  for (i = 0; i < column->size; ++i)
    if (column->data[i].type_index != kTVMFFINone)
      printf(" %d(t%d)", (int)(column->begin_index + i),
             (int)column->data[i].type_index);
  putchar('\n');
}

int main(int argc, char **argv) {
  void *library;
  size_t i;
  if (argc != 3) fail("usage: surface LIB", "globals|types");
  library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) fail("cannot open:", dlerror());
  find(library, "TVMFFIFunctionGetGlobal", &get_global);
  find(library, "TVMFFIFunctionCall", &call);
  find(library, "TVMFFIObjectDecRef", &dec_ref);
  find(library, "TVMFFITypeKeyToIndex", &key_to_index);
  find(library, "TVMFFIGetTypeInfo", &type_info);
  find(library, "TVMFFIGetTypeAttrColumn", &get_column);
  if (strcmp(argv[2], "globals") == 0) {
    print_globals();
  } else {
    print_types();
    for (i = 0; i < sizeof columns / sizeof *columns; ++i)
      print_column(columns[i]);
  }
  return 0;
}
