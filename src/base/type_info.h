/* ======== Type information ================================== >>base/type_info
   ancestors and members of a type */

#pragma once

#include "../head.h"

/* Returns a type's fields and sets *n to their number. Writers store the table
   before the number, so the number must be loaded first. */
TVMFFI_I_INLINE const TVMFFIFieldInfo *tvmffi_i_fields_of(
    const TVMFFITypeInfo *type, int32_t *n) {
  *n = TVMFFI_I_LOAD(&type->num_fields);
  return TVMFFI_I_LOAD(&type->fields);
}

TVMFFI_I_INLINE const TVMFFIMethodInfo *tvmffi_i_methods_of(
    const TVMFFITypeInfo *type, int32_t *n) {
  *n = TVMFFI_I_LOAD(&type->num_methods);
  return TVMFFI_I_LOAD(&type->methods);
}

/* Returns the ancestor of `type` at `depth`, or `type` itself at its depth. */
TVMFFI_I_INLINE const TVMFFITypeInfo *tvmffi_i_ancestor(
    const TVMFFITypeInfo *type, int32_t depth) {
  return depth == type->type_depth ? type : type->type_ancestors[depth];
}

/* Returns 1 if `type` derives from `from`, else 0. Both may be NULL. */
TVMFFI_I_INLINE int tvmffi_i_descends(const TVMFFITypeInfo *type,
                                      const TVMFFITypeInfo *from) {
  return type && from && type->type_depth > from->type_depth &&
         type->type_ancestors[from->type_depth] == from;
}

/* Returns 1 if the type `index` is `target` or a descendant of `target`, else
   0. */
TVMFFI_I_INLINE int tvmffi_is_instance(int32_t index, int32_t target) {
  if (index == target) return 1;
  if (index < target || target < kTVMFFIStaticObjectBegin) return 0;
  if (target == kTVMFFIObject) return 1;
  return tvmffi_i_descends(TVMFFIGetTypeInfo(index), TVMFFIGetTypeInfo(target));
}

/* 1 if the runtime is the one in this file. Calls and error messages then do
   not need TVMFFIGetTypeInfo, so the linker can drop the type table. */
#if defined(TVMFFI_IMPLEMENTATION) && !defined(TVMFFI_IMPLEMENTED) && \
    !TVMFFI_DYNAMIC
#define TVMFFI_I_OWN_TYPES 1
#else
#define TVMFFI_I_OWN_TYPES 0
#endif

#if TVMFFI_I_SHARES && !TVMFFI_DYNAMIC
/* Nor do those of the other files, which use the runtime's own functions. */
TVMFFI_I_SHARED(const char *, tvmffi_i_type_key, (int32_t index))
TVMFFI_I_SHARED(int, tvmffi_i_derives, (int32_t index, int32_t target))
#elif TVMFFI_I_OWN_TYPES
static const char *tvmffi_i_type_key(int32_t index);
static int tvmffi_i_derives(int32_t index, int32_t target);
#else
TVMFFI_I_ONCE(const char *, tvmffi_i_type_key, (int32_t index)) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index);
  return info ? info->type_key.data : "an unregistered type";
}
#define tvmffi_i_derives tvmffi_is_instance
#endif
