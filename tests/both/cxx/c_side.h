/* What c_side.c offers to interop.cpp. The file that includes this has its own
   header of the ABI before it: upstream's there, ours in C. Unless it says
   otherwise, a function returns 0, or a code with the error in the slot, and
   handles are borrowed. */
#ifndef TESTS_CXX_C_SIDE_H_
#define TESTS_CXX_C_SIDE_H_

#ifdef __cplusplus
extern "C" {
#endif

/* Registers the functions "c.*" and the type "c.Counter". */
int c_setup(void);

/* Containers, changed by the built-in functions, read through their cells. */
int c_list_fill(TVMFFIObjectHandle list, int64_t count);
int c_list_edit(TVMFFIObjectHandle list);
int c_sequence_sum(TVMFFIObjectHandle sequence, int64_t *sum);
int c_dict_fill(TVMFFIObjectHandle dict, int64_t count);
int c_dict_thin(TVMFFIObjectHandle dict, int64_t count);
int c_map_sum(TVMFFIObjectHandle map, const char *prefix, int64_t *sum);
/* kind: "Array", "List", "Map" or "Dict"; the result is owned. */
int c_make(const char *kind, TVMFFIAny *out);
/* Nests `depth` lists; the result is owned. */
int c_nest(int64_t depth, TVMFFIAny *out);

/* Strings: copies `text`, owned; gives what a value of C++ holds. */
int c_string(const char *text, TVMFFIAny *out);
size_t c_string_size(const TVMFFIAny *any, unsigned *sum);

/* Calls of C++ functions. */
int c_call_global(const char *name, int64_t x, int64_t *out);
int c_sort(TVMFFIObjectHandle less, int64_t *values, int64_t count);

/* Errors. */
int c_call_and_pass_on(TVMFFIObjectHandle function);
int c_call_and_wrap(TVMFFIObjectHandle function);
/* Takes the error that `function` raises: "kind: message", owned. */
int c_call_and_catch(TVMFFIObjectHandle function, TVMFFIAny *out);

/* Objects: fields, methods and attributes by the type table. */
int c_field_int_at_offset(TVMFFIObjectHandle object, const char *name,
                          int64_t *out);
int c_field_get(TVMFFIObjectHandle object, const char *name, TVMFFIAny *out);
int c_field_set(TVMFFIObjectHandle object, const char *name,
                const TVMFFIAny *value);
int c_method(TVMFFIObjectHandle object, const char *name, int64_t arg,
             TVMFFIAny *out);
int c_attribute(int32_t type_index, const char *name, TVMFFIAny *out);
int c_create(const char *type_key, TVMFFIObjectHandle *out);
int c_is_instance(int32_t type_index, int32_t of);
/* The counters of "c.Counter" that live. */
int c_counters(void);

/* References. The weak ones are one that c_side.c keeps. */
void c_retain(TVMFFIObjectHandle object);
void c_release(TVMFFIObjectHandle object);
void c_weak_keep(TVMFFIObjectHandle object);
int c_weak_alive(void);
void c_weak_drop(void);

/* Tensors. */
int c_tensor_call(const char *name, double *out);

#ifdef __cplusplus
}
#endif

#endif /* TESTS_CXX_C_SIDE_H_ */
