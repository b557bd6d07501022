/* ======== Sequence functions =================== >>functions/sequence_function
   the built-in functions of arrays and lists */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_array, "ffi.Array", "ffi.Array", kTVMFFIArray)
TVMFFI_I_OBJECT_TYPE(i_list, "ffi.List", "ffi.List", kTVMFFIList)

/* Parameter type of functions that change a list. For an array, a function
   changes only a temporary list copy, because upstream does (SeqTypeTraitsBase
   in container/seq_base.h) and clients pass arrays. */
TVMFFI_I_CUSTOM_TYPE(i_any_list, TVMFFIObject *, "List<Any>",
                     TVMFFI_I_ONE_ANY("ffi.List")) {
  *(TVMFFIObject **)out = any->v_obj;
  if (any->type_index != kTVMFFIList && any->type_index != kTVMFFIArray)
    return TVMFFI_I_MISMATCH;
  return any->v_obj ? 0 : TVMFFI_I_MISMATCH;
}

/* Replaces args[0], an array, by a list copy and calls the built-in `f`. */
TVMFFI_I_SLOW int tvmffi_i_on_copy(const tvmffi_i_builtin_func *f,
                                   TVMFFIAny *args, int32_t num_args,
                                   TVMFFIAny *result) {
  int code;
  TVMFFI_ASSERT(num_args > 0 && args[0].type_index == kTVMFFIArray);
  TVMFFI_TRY(tvmffi_i_convert_seq(&tvmffi_i_seq_of(args[0].v_obj)->cell,
                                  kTVMFFIList, &args[0]));
  code = tvmffi_i_call_typed(f, args, num_args, result);
  tvmffi_i_any_release(&args[0]);
  return code;
}

/* Defines `s` as the list that the built-in function `name` changes. If `list`
   is an array, calls the function again with a list copy and returns. Pass all
   arguments of the function, as Anys, at the end. */
#define TVMFFI_I_LIST_OR_COPY(s, name, list, num_args, ...)      \
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)(list);              \
  if (TVMFFI_I_UNLIKELY((list)->type_index != kTVMFFIList)) {    \
    TVMFFIAny args[num_args] = {__VA_ARGS__};                    \
    return tvmffi_i_on_copy(&tvmffi_func_##name, args, num_args, \
                            tvmffi_result);                      \
  }

/* Creates an array of the arguments. */
TVMFFI_I_PACKED(Array) {
  return tvmffi_i_return_seq(tvmffi_i_empty_array(num_args), args, num_args,
                             result);
}

/* Minimum capacity of a list. */
enum { TVMFFI_I_LIST_CAPACITY = 4 };

/* Creates a list of the arguments. */
TVMFFI_I_PACKED(List) {
  TVMFFIObject *list = tvmffi_i_new_list(
      num_args > TVMFFI_I_LIST_CAPACITY ? num_args : TVMFFI_I_LIST_CAPACITY);
  return tvmffi_i_return_seq(tvmffi_i_seq_of(list), args, num_args, result);
}

/* Functions that arrays and lists share. */
#define TVMFFI_I_SEQ_FUNCTIONS(Seq, seq)                                  \
  /* Returns item i. IndexError unless 0 <= i < size. */                  \
  TVMFFI_I_BUILTIN_FUNC(Seq##GetItem, any, (seq, self), (int64, i)) {     \
    tvmffi_i_seq *s = tvmffi_i_seq_of(self);                              \
    TVMFFI_I_CHECK_INDEX(s, i);                                           \
    *tvmffi_result = tvmffi_i_copy_owned(&TVMFFI_I_ITEMS(s)[i]);          \
    return 0;                                                             \
  }                                                                       \
  /* Returns the number of items. */                                      \
  TVMFFI_I_BUILTIN_FUNC(Seq##Size, int64, (seq, self)) {                  \
    TVMFFI_RETURN(tvmffi_i_seq_of(self)->cell.size);                      \
  }                                                                       \
  /* Returns whether an item is equal to a value. */                      \
  TVMFFI_I_BUILTIN_FUNC(Seq##Contains, bool, (seq, self), (any, value)) { \
    return tvmffi_i_contains(self, &value, tvmffi_result);                \
  }
TVMFFI_I_SEQ_FUNCTIONS(Array, i_array)
TVMFFI_I_SEQ_FUNCTIONS(List, i_list)

/* Replaces item i. IndexError unless 0 <= i < size. If `list` is an array,
   changes only a temporary copy. */
TVMFFI_I_BUILTIN_FUNC(ListSetItem, none, (i_any_list, list), (int64, i),
                      (any, value)) {
  TVMFFIAny *slot;
  TVMFFIObject *old;
  int32_t index;
  TVMFFI_I_LIST_OR_COPY(s, i_ListSetItem, list, 3, tvmffi_obj(list),
                        tvmffi_int(i), value)
  TVMFFI_I_CHECK_INDEX(s, i);
  slot = &TVMFFI_I_ITEMS(s)[i];
  index = slot->type_index;
  old = slot->v_obj;
  TVMFFI_TRY(tvmffi_i_own(&value, slot));
  if (index >= kTVMFFIStaticObjectBegin) tvmffi_i_release(old);
  TVMFFI_RETURN();
}

/* Appends a value. */
TVMFFI_I_BUILTIN_FUNC(ListAppend, none, (i_any_list, list), (any, value)) {
  TVMFFI_I_LIST_OR_COPY(s, i_ListAppend, list, 2, tvmffi_obj(list), value)
  TVMFFI_TRY(tvmffi_i_list_append(&s->base, &value));
  TVMFFI_RETURN();
}

/* Inserts a value before item i. IndexError unless 0 <= i <= size. */
TVMFFI_I_BUILTIN_FUNC(ListInsert, none, (i_any_list, list), (int64, i),
                      (any, value)) {
  TVMFFIAny item;
  TVMFFI_I_LIST_OR_COPY(s, i_ListInsert, list, 3, tvmffi_obj(list),
                        tvmffi_int(i), value)
  TVMFFI_TRY(tvmffi_i_seq_reserve(s, 1)); /* upstream grows first as well */
  if (i < 0 || i > s->cell.size) return tvmffi_i_bad_position(i, s->cell.size);
  TVMFFI_TRY(tvmffi_i_own(&value, &item));
  *tvmffi_i_open_gap(s, i, 1) = item;
  TVMFFI_RETURN();
}

/* Removes item i and returns it. IndexError unless 0 <= i < size. */
TVMFFI_I_BUILTIN_FUNC(ListPop, any, (i_any_list, list), (int64, i)) {
  TVMFFI_I_LIST_OR_COPY(s, i_ListPop, list, 2, tvmffi_obj(list), tvmffi_int(i))
  TVMFFI_I_CHECK_INDEX(s, i);
  *tvmffi_result = tvmffi_i_take_item(s, i);
  return 0;
}

/* Removes item i. IndexError unless 0 <= i < size. */
TVMFFI_I_BUILTIN_FUNC(ListErase, none, (i_any_list, list), (int64, i)) {
  TVMFFIAny item;
  TVMFFI_I_LIST_OR_COPY(s, i_ListErase, list, 2, tvmffi_obj(list),
                        tvmffi_int(i))
  TVMFFI_I_CHECK_INDEX(s, i);
  item = tvmffi_i_take_item(s, i);
  tvmffi_i_any_release(&item);
  TVMFFI_RETURN();
}

/* Removes the items at indices [start, stop). Does nothing if `start` equals
   `stop`. IndexError if an index is outside the list or `stop` is less than
   `start`. */
TVMFFI_I_BUILTIN_FUNC(ListEraseRange, none, (i_any_list, list), (int64, start),
                      (int64, stop)) {
  TVMFFI_I_LIST_OR_COPY(s, i_ListEraseRange, list, 3, tvmffi_obj(list),
                        tvmffi_int(start), tvmffi_int(stop))
  if (start != stop) {
    TVMFFI_TRY(tvmffi_i_check_range(s, start, stop));
    tvmffi_i_erase(s, start, stop);
  }
  TVMFFI_RETURN();
}

/* Replaces the items at indices [start, stop) by the items of `from`. Grows the
   list first, so that a failed allocation does not change the list. */
static int tvmffi_i_replace(tvmffi_i_seq *s, int64_t start, int64_t stop,
                            const tvmffi_i_seq *from) {
  if (start != stop) {
    TVMFFI_TRY(tvmffi_i_check_range(s, start, stop));
    TVMFFI_TRY(tvmffi_i_seq_reserve(s, from->cell.size - (stop - start)));
    tvmffi_i_erase(s, start, stop);
  }
  return tvmffi_i_insert_items(s, start, from);
}

/* Replaces the items at indices [start, stop) by all items of another list or
   array, or of the list itself. IndexError if an index is outside the list or
   `stop` is less than `start`. */
TVMFFI_I_BUILTIN_FUNC(ListReplaceSlice, none, (i_any_list, list),
                      (int64, start), (int64, stop),
                      (i_any_list, replacement)) {
  const tvmffi_i_seq *from = tvmffi_i_seq_of(replacement);
  TVMFFIAny copy = tvmffi_none();
  int code;
  TVMFFI_I_LIST_OR_COPY(s, i_ListReplaceSlice, list, 4, tvmffi_obj(list),
                        tvmffi_int(start), tvmffi_int(stop),
                        tvmffi_obj(replacement))
  if (from == s) {
    TVMFFI_TRY(tvmffi_i_convert_seq(&s->cell, kTVMFFIList, &copy));
    from = tvmffi_i_seq_of(copy.v_obj);
  }
  code = tvmffi_i_replace(s, start, stop, from);
  tvmffi_i_any_release(&copy);
  if (code) return code;
  TVMFFI_RETURN();
}

/* Reverses the order of the items. */
TVMFFI_I_BUILTIN_FUNC(ListReverse, none, (i_any_list, list)) {
  TVMFFIAny *items, item;
  int64_t i, k;
  TVMFFI_I_LIST_OR_COPY(s, i_ListReverse, list, 1, tvmffi_obj(list))
  items = TVMFFI_I_ITEMS(s);
  for (i = 0, k = s->cell.size - 1; i < k; ++i, --k) {
    item = items[i];
    items[i] = items[k];
    items[k] = item;
  }
  TVMFFI_RETURN();
}

/* Removes all items. Keeps the capacity. */
TVMFFI_I_BUILTIN_FUNC(ListClear, none, (i_any_list, list)) {
  TVMFFI_I_LIST_OR_COPY(s, i_ListClear, list, 1, tvmffi_obj(list))
  while (s->cell.size > 0)
    tvmffi_i_any_release(&TVMFFI_I_ITEMS(s)[--s->cell.size]);
  TVMFFI_RETURN();
}

/* Allocates memory for at least `capacity` items in all. */
TVMFFI_I_BUILTIN_FUNC(ListReserve, none, (i_any_list, list),
                      (int64, capacity)) {
  TVMFFI_I_LIST_OR_COPY(s, i_ListReserve, list, 2, tvmffi_obj(list),
                        tvmffi_int(capacity))
  if (capacity > s->cell.capacity)
    TVMFFI_TRY(tvmffi_i_set_capacity(s, capacity));
  TVMFFI_RETURN();
}
#endif
