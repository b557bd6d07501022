/* ======== Members ================================== >>interface/class_member
   fields and methods of a struct type */

#pragma once

#include "../head.h"
#include "../base.h"
#include "schema.h"
#include "function.h"
#include "call.h"
#include "class.h"

/* Reads the modifiers of member `m`: sets *doc and adds to *flags. Returns the
   modifier with the default's factory, or NULL. */
TVMFFI_I_ONCE(const tvmffi_i_member *, tvmffi_i_member_modifiers,
              ( const tvmffi_i_member *m, TVMFFIByteArray *doc,
               int64_t *flags)) {
  const tvmffi_i_member *factory = NULL;
  for (++m; m->what >= TVMFFI_I_IS_destructor; ++m) {
    if (m->what == TVMFFI_I_IS_doc) *doc = tvmffi_byte_array(m->name);
    if (m->what == TVMFFI_I_IS_flags) *flags |= m->flags;
    if (m->what == TVMFFI_I_IS_factory) factory = m;
  }
  return factory;
}

/* Returns the type index that upstream's headers register for a field. String,
   Bytes, Any and Optional fields have the index of Any. An object that is
   neither a container nor a function has the index of Object. */
TVMFFI_I_ONCE(int32_t, tvmffi_i_field_index, (const tvmffi_i_word *word)) {
  switch (word->kind) {
    case TVMFFI_I_INT: return kTVMFFIInt;
    case TVMFFI_I_PTR: return kTVMFFIOpaquePtr;
    case TVMFFI_I_BOOL:
    case TVMFFI_I_FLOAT:
    case TVMFFI_I_DTYPE:
    case TVMFFI_I_DEVICE:
    case TVMFFI_I_CONTAINER: return word->index;
    case TVMFFI_I_OBJECT:
      return word->index == kTVMFFIFunction ? word->index : kTVMFFIObject;
    case TVMFFI_I_CUSTOM: return kTVMFFIObject;
    default: return kTVMFFIAny;
  }
}

/* Returns 1 for an object field that may be None because its default is NULL,
   else 0. */
TVMFFI_I_INLINE int tvmffi_i_nullable(const tvmffi_i_member *m) {
  return m->storage == TVMFFI_I_STORED_OBJECT && m->value &&
         m->word->kind != TVMFFI_I_OPTIONAL;
}

/* Writes a field's metadata. Returns {NULL, 0} if the buffer is too small. */
TVMFFI_I_ONCE(TVMFFIByteArray, tvmffi_i_field_schema,
              (const tvmffi_i_member *m, char *buffer)) {
  tvmffi_i_text t = {buffer, 0, TVMFFI_I_METADATA};
  tvmffi_i_append(&t, "{\"type_schema\":\"");
  if (tvmffi_i_nullable(m))
    tvmffi_i_append(&t, "{\\\"type\\\":\\\"Optional\\\",\\\"args\\\":[");
  tvmffi_i_append_type(&t, m->word);
  if (tvmffi_i_nullable(m)) tvmffi_i_append(&t, "]}");
  tvmffi_i_append(&t, "\"");
  return tvmffi_i_end_metadata(&t);
}

/* Raises a TypeError if the registered field of a member has another type, of
   which `had` is the index. The index is the same for optional values, texts
   and any, and for all object types, so such fields are not told apart. */
TVMFFI_I_ONCE(int, tvmffi_i_field_check_type,
              (const tvmffi_i_class *c, const tvmffi_i_member *m,
               int32_t had)) {
  const int32_t index = tvmffi_i_field_index(m->word);
  if (had == index ||
      (had >= kTVMFFIStaticObjectBegin && index >= kTVMFFIStaticObjectBegin))
    return 0;
  return tvmffi_i_raise("TypeError",
                        "Field `%s` of type `%s` is registered as `%s`, here "
                        "it is `%s`",
                        m->name, c->key, tvmffi_i_type_key(had),
                        tvmffi_i_type_key(index));
}

/* Raises an error for a value that a field cannot store. `code` is the error
   code of the failed conversion. */
TVMFFI_I_ONCE(int, tvmffi_i_bad_field,
              (const tvmffi_i_word *type, int nullable, const TVMFFIAny *any,
               int code)) {
  tvmffi_i_parts p;
  if (code < 0) return code;
  nullable = nullable && type->kind != TVMFFI_I_OPTIONAL;
  if (code >= TVMFFI_I_RANGE) return tvmffi_i_bad_range(type, any, code);
  p.size = p.numbers = 0;
  tvmffi_i_say(&p, "Cannot convert from type `");
  tvmffi_i_say_got(&p, type, any, code);
  tvmffi_i_say(&p, nullable ? "` to `Optional<" : "` to `");
  tvmffi_i_say_type(&p, type);
  tvmffi_i_say(&p, nullable ? ">`" : "`");
  return tvmffi_i_raise_said("TypeError", &p);
}

/* Makes the owned default of a field of the view *into. A name becomes a data
   type or device. */
TVMFFI_I_ONCE(int, tvmffi_i_own_default,
              (const tvmffi_i_word *word, int storage, TVMFFIAny *into)) {
  const TVMFFIAny view = *into;
  const int is_none = view.type_index == kTVMFFINone;
  const int is_optional = word->kind == TVMFFI_I_OPTIONAL;
  const int kind = is_optional ? word->of[0]->kind : word->kind;
  TVMFFIByteArray text = tvmffi_any_str(&view);
  DLDataType dtype = TVMFFI_I_ZERO;
  DLDevice device;
  int code;
  *into = tvmffi_none();
  if (storage == TVMFFI_I_STORED_BYTES && text.data)
    return TVMFFIBytesFromByteArray(&text, into);
  if (storage == TVMFFI_I_STORED_OBJECT && !is_none)
    return tvmffi_i_raise("TypeError",
                          "The default of an object can only be NULL: write "
                          "(factory, name) after the field");
  if ((kind != TVMFFI_I_DTYPE && kind != TVMFFI_I_DEVICE) ||
      (is_none && is_optional)) {
    if ((uint32_t)view.type_index >= kTVMFFIDLTensorPtr)
      return tvmffi_i_own_value(&view, into);
    *into = view; /* a number, which needs no runtime */
    return 0;
  }
  device.device_type = kDLCPU;
  device.device_id = 0;
  code = kind == TVMFFI_I_DTYPE ? tvmffi_i_get_dtype(&view, &dtype)
                                : tvmffi_i_get_device(&view, &device);
  if (code) return tvmffi_i_bad_field(word, 0, &view, code);
  *into = kind == TVMFFI_I_DTYPE ? tvmffi_dtype(dtype) : tvmffi_device(device);
  return 0;
}

TVMFFI_I_ONCE(int, tvmffi_i_class_add_field,
              (const tvmffi_i_class *c, const TVMFFITypeInfo *type,
               const tvmffi_i_member *m, int64_t flags)) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIFieldInfo info = TVMFFI_I_ZERO;
  const tvmffi_i_member *more;
  TVMFFIObject *factory = NULL;
  int32_t i, n;
  int code;
  const TVMFFIFieldInfo *had = tvmffi_i_fields_of(type, &n);
  for (i = 0; i < n; ++i, ++had) {
    if (!tvmffi_i_same(had->name, m->name)) continue;
    if (had->offset == m->offset && had->size == m->size)
      return tvmffi_i_field_check_type(c, m, had->field_static_type_index);
    return tvmffi_i_raise("TypeError",
                          "Field `%s` of type `%s` is registered with %d bytes "
                          "at offset %d, here it has %d at %d",
                          m->name, c->key, (int)had->size, (int)had->offset,
                          (int)m->size, (int)m->offset);
  }
  if (TVMFFI_I_LOAD(&type->metadata))
    return tvmffi_i_raise("TypeError",
                          "Type `%s` is registered without field `%s`", c->key,
                          m->name);
  info.name = tvmffi_byte_array(m->name);
  info.metadata = tvmffi_i_field_schema(m, buffer);
  if (!info.metadata.data)
    return tvmffi_i_raise("ValueError",
                          "The type schema of field `%s` of `%s` is too long",
                          m->name, c->key);
  info.flags = flags;
  if (m->what == TVMFFI_I_IS_field)
    info.flags |= kTVMFFIFieldFlagBitMaskWritable;
  more = tvmffi_i_member_modifiers(m, &info.doc, &info.flags);
  info.size = m->size;
  info.alignment = m->alignment;
  info.offset = m->offset;
  info.getter = m->get;
  info.setter = (void *)(uintptr_t)m->set;
  info.field_static_type_index = tvmffi_i_field_index(m->word);
  info.default_value_or_factory = tvmffi_none();
  if (more) {
    TVMFFI_TRY(tvmffi_i_function(more->factory, &factory));
    info.default_value_or_factory = tvmffi_obj(factory);
    info.flags |= kTVMFFIFieldFlagBitMaskHasDefault |
                  kTVMFFIFieldFlagBitMaskDefaultFromFactory;
  } else if (m->value) {
    code = m->value(&info.default_value_or_factory);
    if (!code)
      code = tvmffi_i_own_default(m->word, m->storage,
                                  &info.default_value_or_factory);
    TVMFFI_TRY_CONTEXT(code, "%s.%s", c->key, m->name);
    info.flags |= kTVMFFIFieldFlagBitMaskHasDefault;
  }
  code = TVMFFITypeRegisterField(type->type_index, &info);
  tvmffi_i_any_release(&info.default_value_or_factory);
  return code;
}

/* Registers a method, or an attribute whose value is a method. */
TVMFFI_I_ONCE(int, tvmffi_i_class_add_method,
              (const tvmffi_i_class *c, const TVMFFITypeInfo *type,
               const tvmffi_i_member *m)) {
  char buffer[TVMFFI_I_METADATA];
  TVMFFIMethodInfo info = TVMFFI_I_ZERO;
  TVMFFIObject *function = NULL;
  const tvmffi_i_method_body body = tvmffi_i_body_of(m);
  tvmffi_func *f = tvmffi_i_method_func(body, c->key);
  int32_t i, n;
  int code = 0, attr = m->what == TVMFFI_I_IS_attribute;
  const TVMFFIMethodInfo *had = tvmffi_i_methods_of(type, &n);
  if (attr && tvmffi_i_class_attr(type->type_index, m->name)) return 0;
  for (i = 0; !attr && i < n; ++i)
    if (tvmffi_i_same(had[i].name, m->name)) return 0;
  if (!f)
    return tvmffi_i_raise("TypeError",
                          "write TVMFFI_METHOD for %s, or, if another file has "
                          "it, first call TVMFFI_REGISTER_TYPE there",
                          m->full_name);
  if (!body.self)
    info.flags |= kTVMFFIFieldFlagBitMaskIsStaticMethod;
  if (TVMFFI_I_LOAD(&f->name) != m->full_name)
    TVMFFI_I_STORE(&f->name, m->full_name);
  TVMFFI_TRY(tvmffi_i_function(f, &function));
  info.name = tvmffi_byte_array(m->name);
  info.metadata = tvmffi_i_named_metadata(f, buffer);
  info.method = tvmffi_obj(function);
  (void)tvmffi_i_member_modifiers(m, &info.doc, &info.flags);
  if (!info.metadata.data) code = tvmffi_i_bad_metadata(f);
  if (!code && (attr || tvmffi_i_same(info.name, "__ffi_init__")))
    code = tvmffi_i_class_set_attr(type->type_index, m->name, &info.method);
  if (!code && !attr) code = TVMFFITypeRegisterMethod(type->type_index, &info);
  tvmffi_i_release(function);
  return code;
}

TVMFFI_I_ONCE(int, tvmffi_i_class_add_members,
              (tvmffi_i_class *c, const TVMFFITypeInfo *type,
               TVMFFITypeMetadata *metadata)) {
  const tvmffi_i_member *m = c->members;
  int64_t flags = 0;
  int32_t fields = 0, registered, last = TVMFFI_I_IS_end;
  if (m->what == TVMFFI_I_IS_doc) metadata->doc = tvmffi_byte_array(m->name);
  for (; m->what; ++m) {
    if (m->what < TVMFFI_I_IS_destructor) last = m->what;
    switch (m->what) {
      case TVMFFI_I_IS_field:
      case TVMFFI_I_IS_readonly:
        ++fields;
        TVMFFI_TRY(tvmffi_i_class_add_field(c, type, m, flags));
        break;
      case TVMFFI_I_IS_method:
      case TVMFFI_I_IS_attribute:
        TVMFFI_TRY(tvmffi_i_class_add_method(c, type, m));
        break;
      case TVMFFI_I_IS_kw_only: flags |= kTVMFFIFieldFlagBitMaskKwOnly; break;
      case TVMFFI_I_IS_structural:
        metadata->structural_eq_hash_kind = (TVMFFISEqHashKind)m->flags;
        break;
      case TVMFFI_I_IS_flags:
      case TVMFFI_I_IS_factory:
        if (last == TVMFFI_I_IS_field || last == TVMFFI_I_IS_readonly) break;
        return tvmffi_i_raise("TypeError",
                              "Type `%s`: (%s, ...) does not follow a field",
                              c->key,
                              m->what == TVMFFI_I_IS_flags ? "flags"
                                                           : "factory");
      default: break;
    }
  }
  (void)tvmffi_i_fields_of(type, &registered);
  if (fields == registered) return 0;
  return tvmffi_i_raise("TypeError",
                        "Type `%s` is registered with %d fields, here it has "
                        "%d",
                        c->key, (int)registered, (int)fields);
}
