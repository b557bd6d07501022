/* ======== Construction =============================== >>reflection/construct
   constructors that take fields */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "access.h"

#if !TVMFFI_NO_CONTAINERS
/* Sets *made (owned) to a field's default value, or to the result of its
   default factory. */
static int tvmffi_i_make_default(const TVMFFIFieldInfo *field,
                                 TVMFFIAny *made) {
  const TVMFFIAny *value = &field->default_value_or_factory;
  TVMFFI_ASSERT(field->flags & kTVMFFIFieldFlagBitMaskHasDefault);
  *made = tvmffi_none();
  if (!(field->flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory))
    return TVMFFIAnyViewToOwnedAny(value, made);
  if (value->type_index < kTVMFFIStaticObjectBegin)
    return tvmffi_i_bad_cast(value, "ffi.Function");
  return tvmffi_i_call_nested(value->v_obj, NULL, 0, made);
}

static tvmffi_i_known_column tvmffi_i_new_column = {"__ffi_new__", NULL};

/* Creates an object by its type's creator or by the attribute __ffi_new__. The
   caller sets the fields afterwards. */
static int tvmffi_i_make_empty(const TVMFFITypeInfo *type, TVMFFIObject **out) {
  const TVMFFITypeMetadata *metadata = TVMFFI_I_LOAD(&type->metadata);
  const TVMFFIAny *maker;
  TVMFFIObjectHandle made = NULL;
  TVMFFIAny result = tvmffi_none();
  if (metadata && metadata->creator) {
    int code = metadata->creator(&made);
    if (code) return tvmffi_i_need_error(code, "An object creator");
  } else {
    tvmffi_i_start_types();
    maker = tvmffi_i_type_attr(&tvmffi_i_new_column, type->type_index);
    if (!maker)
      return tvmffi_i_runtime_error(
          "Type `%s` does not support reflection creation (no native creator "
          "or __ffi_new__ type attr)",
          type->type_key.data);
    if (maker->type_index < kTVMFFIStaticObjectBegin)
      return tvmffi_i_bad_cast(maker, "ffi.Function");
    TVMFFI_TRY(tvmffi_i_call_nested(maker->v_obj, NULL, 0, &result));
    if (result.type_index >= kTVMFFIStaticObjectBegin)
      made = result.v_obj;
    else
      tvmffi_i_any_release(&result);
  }
  TVMFFI_ASSERT(result.type_index < kTVMFFIStaticObjectBegin || made);
  if (made && tvmffi_is_instance(((TVMFFIObject *)made)->type_index,
                                 type->type_index)) {
    *out = (TVMFFIObject *)made;
    return 0;
  }
  tvmffi_i_release(made);
  return tvmffi_i_runtime_error(
      "The creator of type `%s` returned no object of it", type->type_key.data);
}

/* Context of a constructor. Behind the struct are num_fields pointers to
   fields. Then follow num_positional indices of the fields that can be
   positional arguments: first the required fields, then fields with a
   default. */
typedef struct {
  const TVMFFITypeInfo *type;
  int32_t num_fields, num_positional;
} tvmffi_i_init;

TVMFFI_I_INLINE const TVMFFIFieldInfo **tvmffi_i_init_fields(
    const tvmffi_i_init *init) {
  TVMFFI_ASSERT(init->num_fields >= 0);
  return (const TVMFFIFieldInfo **)(uintptr_t)(init + 1);
}

TVMFFI_I_INLINE int32_t *tvmffi_i_init_positions(const tvmffi_i_init *init) {
  TVMFFI_ASSERT(init->num_positional <= init->num_fields);
  return (int32_t *)(void *)(tvmffi_i_init_fields(init) + init->num_fields);
}

static tvmffi_i_init *tvmffi_i_make_init(const TVMFFITypeInfo *type) {
  const int64_t off = kTVMFFIFieldFlagBitMaskInitOff;
  const int64_t keyword = kTVMFFIFieldFlagBitMaskKwOnly;
  tvmffi_i_field_cursor w = tvmffi_i_begin_fields(type);
  const TVMFFIFieldInfo *field, **fields;
  tvmffi_i_init *init;
  int32_t n = 0, i, *positions;
  int64_t defaults;
  while (tvmffi_i_next_field(&w)) ++n;
  init = (tvmffi_i_init *)tvmffi_i_alloc(
      sizeof(*init) + (size_t)n * (sizeof(field) + sizeof(int32_t)));
  if (!init) {
    (void)tvmffi_i_no_memory();
    return init;
  }
  init->type = type;
  init->num_positional = 0;
  init->num_fields = n;
  fields = tvmffi_i_init_fields(init);
  positions = tvmffi_i_init_positions(init);
  w = tvmffi_i_begin_fields(type);
  for (i = 0; i < n; ++i) {
    fields[i] = tvmffi_i_next_field(&w);
    TVMFFI_ASSERT(fields[i]);
  }
  for (defaults = 0; defaults <= 1; ++defaults)
    for (i = 0; i < n; ++i)
      if (!(fields[i]->flags & (off | keyword)) &&
          !(fields[i]->flags & kTVMFFIFieldFlagBitMaskHasDefault) == !defaults)
        positions[init->num_positional++] = i;
  TVMFFI_ASSERT(init->num_positional <= n);
  return init;
}

/* The state of one constructor call. set[i] is 1 if field i is set. */
typedef struct {
  const tvmffi_i_init *init;
  TVMFFIObject *object;
  unsigned char *set;
} tvmffi_i_binding;

/* Replaces the raised error of a setter by an error that also names the type
   and the field. The old error becomes the cause of the new one. Returns -1, or
   `code`, the setter's, if it raised no error: -2 says that an exception of the
   caller's language is pending. */
TVMFFI_I_SLOW int tvmffi_i_field_failed(const tvmffi_i_init *init,
                                        const TVMFFIFieldInfo *field,
                                        const char *what, int code) {
  TVMFFIObject *error = tvmffi_i_error_remove();
  TVMFFIObjectHandle outer = NULL;
  TVMFFIErrorCell *cell;
  TVMFFIByteArray message;
  size_t i, n, size;
  char *text;
  if (!error) return code;
  cell = TVMFFIErrorGetCellPtr(error);
  size = init->type->type_key.size + strlen(what) + field->name.size + 40 +
         3 * cell->message.size;
  text = tvmffi_i_is_huge(cell->message.size) ? NULL
                                              : (char *)tvmffi_i_alloc(size);
  if (!text) {
    tvmffi_i_release(error);
    return tvmffi_i_no_memory();
  }
  n = tvmffi_i_add_text(text, 0, init->type->type_key);
  n = tvmffi_i_add_text(text, n, tvmffi_byte_array(".__ffi_init__() "));
  n = tvmffi_i_add_text(text, n, tvmffi_byte_array(what));
  n = tvmffi_i_add_text(text, n, tvmffi_byte_array(" '"));
  n = tvmffi_i_add_text(text, n, field->name);
  n = tvmffi_i_add_text(text, n, tvmffi_byte_array("':\n  "));
  for (i = 0; i < cell->message.size; ++i) {
    text[n++] = cell->message.data[i];
    if (text[n - 1] == '\n')
      n = tvmffi_i_add_text(text, n, tvmffi_byte_array("  "));
  }
  TVMFFI_ASSERT(n <= size);
  message.data = text;
  message.size = n;
  if (!TVMFFIErrorCreateWithCauseAndExtraContext(
          &cell->kind, &message, &cell->backtrace, error, NULL, &outer)) {
    TVMFFIErrorSetRaised(outer);
    tvmffi_i_release(outer);
  }
  tvmffi_i_free(text);
  tvmffi_i_release(error);
  return -1;
}

static int tvmffi_i_bind(const tvmffi_i_binding *b, int32_t i,
                         const TVMFFIAny *value) {
  const TVMFFIFieldInfo *field = tvmffi_i_init_fields(b->init)[i];
  int code = tvmffi_i_set_field(field, b->object, value);
  TVMFFI_ASSERT(i >= 0 && i < b->init->num_fields && !b->set[i]);
  b->set[i] = 1;
  if (TVMFFI_I_LIKELY(!code)) return 0;
  return tvmffi_i_field_failed(b->init, field, "field", code);
}

static int tvmffi_i_too_many(const tvmffi_i_init *init, int32_t n) {
  TVMFFI_ASSERT(n > init->num_positional);
  return tvmffi_i_type_error(
      "%s.__ffi_init__() takes at most %d positional argument(s), but %d were "
      "given",
      init->type->type_key.data, (int)init->num_positional, (int)n);
}

/* Returns the index of the field with this name, or -1. A derived type's field
   hides an inherited field of the same name. */
static int32_t tvmffi_i_keyword(const tvmffi_i_init *init,
                                TVMFFIByteArray name) {
  int32_t i = init->num_fields;
  while (--i >= 0) {
    const TVMFFIFieldInfo *field = tvmffi_i_init_fields(init)[i];
    if (!(field->flags & kTVMFFIFieldFlagBitMaskInitOff) &&
        tvmffi_i_same_text(field->name, name))
      break;
  }
  return i;
}

/* Sets fields from `n` arguments that are alternately names and values. */
static int tvmffi_i_bind_keywords(const tvmffi_i_binding *b,
                                  const TVMFFIAny *args, int32_t n) {
  const char *key = b->init->type->type_key.data;
  TVMFFIByteArray name;
  int32_t i, at;
  TVMFFI_ASSERT(n >= 0);
  if (n % 2 != 0)
    return tvmffi_i_type_error(
        "%s.__ffi_init__() KWARGS requires an even number of key-value "
        "arguments",
        key);
  for (i = 0; i < n; i += 2) {
    if (tvmffi_i_get_str(&args[i], &name))
      return tvmffi_i_bad_cast(&args[i], "str");
    at = tvmffi_i_keyword(b->init, name);
    if (at < 0)
      return tvmffi_i_type_error(
          "%s.__ffi_init__() got an unexpected keyword argument '%.*s'", key,
          TVMFFI_I_TEXT(name));
    if (b->set[at])
      return tvmffi_i_type_error(
          "%s.__ffi_init__() got multiple values for argument '%.*s'", key,
          TVMFFI_I_TEXT(name));
    TVMFFI_TRY(tvmffi_i_bind(b, at, &args[i + 1]));
  }
  return 0;
}

/* Sets the remaining fields to their defaults. TypeError if a required field is
   still missing. */
static int tvmffi_i_bind_defaults(const tvmffi_i_binding *b) {
  int32_t i;
  for (i = 0; i < b->init->num_fields; ++i) {
    const TVMFFIFieldInfo *field = tvmffi_i_init_fields(b->init)[i];
    TVMFFI_ASSERT(b->set[i] <= 1);
    if (b->set[i]) continue;
    if (field->flags & kTVMFFIFieldFlagBitMaskHasDefault) {
      TVMFFIAny made;
      int code;
      TVMFFI_TRY(tvmffi_i_make_default(field, &made));
      code = tvmffi_i_set_field(field, b->object, &made);
      tvmffi_i_any_release(&made);
      if (code)
        return tvmffi_i_field_failed(b->init, field, "default for field", code);
    } else if (!(field->flags & kTVMFFIFieldFlagBitMaskInitOff)) {
      return tvmffi_i_type_error(
          "%s.__ffi_init__() missing required %sargument: '%.*s'",
          b->init->type->type_key.data,
          field->flags & kTVMFFIFieldFlagBitMaskKwOnly ? "keyword-only " : "",
          TVMFFI_I_TEXT(field->name));
    }
  }
  return 0;
}

/* Sets all fields from positional arguments, keyword arguments and defaults.
   The object that ffi.GetKwargsObject returns stands before the keyword
   arguments. If it is given, a setter's error comes before the one of too many
   positional arguments, because it does in upstream's dataclass.cc. */
static int tvmffi_i_bind_all(const tvmffi_i_binding *b, const TVMFFIAny *args,
                             int32_t num_args) {
  const tvmffi_i_init *init = b->init;
  const int32_t *positions = tvmffi_i_init_positions(init);
  int32_t n = 0, i;
  while (n < num_args && (args[n].type_index != kTVMFFIObject ||
                          args[n].v_obj != &tvmffi_i_kwargs_object))
    ++n;
  if (n == num_args && n > init->num_positional)
    return tvmffi_i_too_many(init, n);
  for (i = 0; i < n && i < init->num_positional; ++i)
    TVMFFI_TRY(tvmffi_i_bind(b, positions[i], &args[i]));
  if (n > init->num_positional) return tvmffi_i_too_many(init, n);
  if (n < num_args)
    TVMFFI_TRY(tvmffi_i_bind_keywords(b, args + n + 1, num_args - n - 1));
  return tvmffi_i_bind_defaults(b);
}

static int tvmffi_i_call_init(void *self, const TVMFFIAny *args,
                              int32_t num_args, TVMFFIAny *result) {
  unsigned char few[64];
  tvmffi_i_binding b;
  size_t n;
  int code;
  b.init = (const tvmffi_i_init *)self;
  n = (size_t)b.init->num_fields;
  TVMFFI_TRY(tvmffi_i_make_empty(b.init->type, &b.object));
  TVMFFI_ASSERT(tvmffi_is_instance(b.object->type_index,
                                   b.init->type->type_index));
  b.set = n <= sizeof(few) ? few : (unsigned char *)tvmffi_i_alloc(n);
  if (b.set) {
    memset(b.set, 0, n);
    code = tvmffi_i_bind_all(&b, args, num_args);
  } else {
    code = tvmffi_i_no_memory();
  }
  if (b.set != few) tvmffi_i_free(b.set);
  return tvmffi_i_give_filled(result, b.object, code);
}

/* Sets an attribute to a new function with the context `self`. Takes ownership
   of `self`, even on failure. */
static int tvmffi_i_set_attr_function(int32_t type_index, const char *name,
                                      void *self, TVMFFISafeCallType call) {
  TVMFFIByteArray text = tvmffi_byte_array(name);
  TVMFFIObject *f = tvmffi_i_new_closure(self, call, tvmffi_i_free);
  TVMFFIAny value;
  int code;
  if (!f) return -1;
  value = tvmffi_obj(f);
  code = TVMFFITypeRegisterAttr(type_index, &text, &value);
  tvmffi_i_release(f);
  return code;
}

static int tvmffi_i_set_init(int32_t type_index) {
  const TVMFFITypeInfo *type = TVMFFIGetTypeInfo(type_index);
  tvmffi_i_init *init = type ? tvmffi_i_make_init(type) : NULL;
  if (!init) return -1;
  return tvmffi_i_set_attr_function(type_index, "__ffi_init__", init,
                                    tvmffi_i_call_init);
}

#endif
