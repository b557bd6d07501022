/* ======== Sequence functions =================== >>functions/sequence_function
   the built-in functions of arrays and lists */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../core.h"
#include "../containers.h"
#include "../graph.h"
#include "../interface.h"

#if !TVMFFI_NO_CONTAINERS
TVMFFI_I_OBJECT_TYPE(i_array, "ffi.Array", "ffi.Array", kTVMFFIArray)
TVMFFI_I_OBJECT_TYPE(i_list, "ffi.List", "ffi.List", kTVMFFIList)

/* Parameter type that accepts a list or an array. */
TVMFFI_I_CUSTOM_TYPE(i_any_seq, tvmffi_i_seq *, "List<Any>",
                     TVMFFI_I_ONE_ANY("ffi.List")) {
  *(void **)out = any->v_ptr;
  return tvmffi_i_is_sequence_type(any->type_index) && any->v_ptr
             ? 0
             : TVMFFI_I_MISMATCH;
}

/* Parameter type of functions that change a list. For an array, a function
   changes only a temporary list copy, because upstream does (SeqTypeTraitsBase
   in container/seq_base.h) and clients pass arrays. */
TVMFFI_I_INLINE int tvmffi_i_get_i_any_list(const TVMFFIAny *any, void *out) {
  const int code = tvmffi_i_get_i_any_seq(any, out);
  return code || any->type_index == kTVMFFIList ? code : TVMFFI_I_CONVERTED;
}
static int tvmffi_i_array_to_list(const tvmffi_i_word *word,
                                  const TVMFFIAny *from, TVMFFIAny *to) {
  (void)word;
  return tvmffi_i_convert_seq(&tvmffi_i_seq_of(from->v_obj)->cell, kTVMFFIList,
                              to);
}
TVMFFI_I_ITEM_TYPE(i_any_list, tvmffi_i_seq *, "List<Any>",
                   TVMFFI_I_ONE_ANY("ffi.List"), TVMFFI_I_CUSTOM, -1,
                   tvmffi_i_get_i_any_list, tvmffi_i_array_to_list, NULL)

/* Creates an array of the arguments. */
TVMFFI_I_PACKED(Array) {
  return tvmffi_i_return_seq(tvmffi_i_empty_array((size_t)num_args), args,
                             num_args, result);
}

/* Minimum capacity of a list. */
enum { TVMFFI_I_LIST_CAPACITY = 4 };

/* Creates a list of the arguments. */
TVMFFI_I_PACKED(List) {
  TVMFFIObject *list = tvmffi_i_new_list(
      (size_t)(num_args > TVMFFI_I_LIST_CAPACITY ? num_args
                                                 : TVMFFI_I_LIST_CAPACITY));
  return tvmffi_i_return_seq(tvmffi_i_seq_of(list), args, num_args, result);
}

/* Functions that arrays and lists share. */
#define TVMFFI_I_SEQ_FUNCTIONS(Seq, seq)                                     \
  /* Returns item i. IndexError unless 0 <= i < size. */                     \
  TVMFFI_I_BUILTIN_FUNC(Seq##GetItem, any, (seq, self), (int64, i)) {        \
    tvmffi_i_seq *s = tvmffi_i_seq_of(self);                                 \
    TVMFFI_I_CHECK_INDEX(s, i);                                              \
    tvmffi_i_copy_owned(&TVMFFI_I_ITEMS(s)[i], tvmffi_result);               \
    return 0;                                                                \
  }                                                                          \
  /* Returns the number of items. */                                         \
  TVMFFI_I_BUILTIN_FUNC(Seq##Size, int64, (seq, self)) {                     \
    TVMFFI_RETURN(tvmffi_i_seq_of(self)->cell.size);                         \
  }                                                                          \
  /* Returns whether an item is equal to a value. */                         \
  TVMFFI_I_BUILTIN_FUNC(Seq##Contains, bool, (seq, self), (i_view, value)) { \
    return tvmffi_i_contains(self, value, tvmffi_result);                    \
  }
TVMFFI_I_SEQ_FUNCTIONS(Array, i_array)
TVMFFI_I_SEQ_FUNCTIONS(List, i_list)

/* Replaces item i. IndexError unless 0 <= i < size. If `list` is an array,
   changes only a temporary copy. */
TVMFFI_I_BUILTIN_FUNC(ListSetItem, none, (i_any_list, list), (int64, i),
                      (i_view, value)) {
  TVMFFIAny *slot;
  TVMFFIObject *old;
  int32_t index;
  TVMFFI_I_CHECK_INDEX(list, i);
  slot = &TVMFFI_I_ITEMS(list)[i];
  index = slot->type_index;
  old = slot->v_obj;
  TVMFFI_TRY(tvmffi_i_own(value, slot));
  if (index >= kTVMFFIStaticObjectBegin) tvmffi_i_release(old);
  return 0;
}

/* Appends a value. */
TVMFFI_I_BUILTIN_FUNC(ListAppend, none, (i_any_list, list), (i_view, value)) {
  return tvmffi_i_list_append(&list->base, value);
}

/* Inserts a value before item i. IndexError unless 0 <= i <= size. */
TVMFFI_I_BUILTIN_FUNC(ListInsert, none, (i_any_list, list), (int64, i),
                      (i_view, value)) {
  TVMFFIAny item;
  TVMFFI_TRY(tvmffi_i_seq_reserve(list, 1)); /* upstream grows first as well */
  if (i < 0 || i > list->cell.size)
    return tvmffi_i_bad_position(i, list->cell.size);
  TVMFFI_TRY(tvmffi_i_own(value, &item));
  *tvmffi_i_open_gap(list, i, 1) = item;
  return 0;
}

/* Removes item i and returns it. IndexError unless 0 <= i < size. */
TVMFFI_I_BUILTIN_FUNC(ListPop, any, (i_any_list, list), (int64, i)) {
  TVMFFI_I_CHECK_INDEX(list, i);
  *tvmffi_result = tvmffi_i_take_item(list, i);
  return 0;
}

/* Removes item i. IndexError unless 0 <= i < size. */
TVMFFI_I_BUILTIN_FUNC(ListErase, none, (i_any_list, list), (int64, i)) {
  TVMFFIAny item;
  TVMFFI_I_CHECK_INDEX(list, i);
  item = tvmffi_i_take_item(list, i);
  tvmffi_i_any_release(&item);
  return 0;
}

/* Removes the items at indices [start, stop). Does nothing if `start` equals
   `stop`. IndexError if an index is outside the list or `stop` is less than
   `start`. */
TVMFFI_I_BUILTIN_FUNC(ListEraseRange, none, (i_any_list, list), (int64, start),
                      (int64, stop)) {
  if (start != stop) {
    TVMFFI_TRY(tvmffi_i_check_range(list, start, stop));
    tvmffi_i_erase(list, (size_t)start, (size_t)stop);
  }
  return 0;
}

/* Replaces the items at indices [start, stop) by the items of `from`. Grows the
   list first, so that a failed allocation does not change the list. */
static int tvmffi_i_replace(tvmffi_i_seq *s, int64_t start, int64_t stop,
                            const tvmffi_i_seq *from) {
  if (start != stop) {
    TVMFFI_TRY(tvmffi_i_check_range(s, start, stop));
    TVMFFI_TRY(tvmffi_i_seq_reserve(s, from->cell.size - (stop - start)));
    tvmffi_i_erase(s, (size_t)start, (size_t)stop);
  }
  return tvmffi_i_insert_items(s, start, from);
}

/* Replaces the items at indices [start, stop) by all items of another list or
   array, or of the list itself. IndexError if an index is outside the list or
   `stop` is less than `start`. */
TVMFFI_I_BUILTIN_FUNC(ListReplaceSlice, none, (i_any_list, list),
                      (int64, start), (int64, stop), (i_any_seq, replacement)) {
  TVMFFIAny copy = tvmffi_none();
  int code;
  if (replacement == list) {
    TVMFFI_TRY(tvmffi_i_convert_seq(&list->cell, kTVMFFIList, &copy));
    replacement = tvmffi_i_seq_of(copy.v_obj);
  }
  code = tvmffi_i_replace(list, start, stop, replacement);
  tvmffi_i_any_release(&copy);
  return code;
}

/* Reverses the order of the items. */
TVMFFI_I_BUILTIN_FUNC(ListReverse, none, (i_any_list, list)) {
  TVMFFIAny *items = TVMFFI_I_ITEMS(list), item;
  size_t i = 0, k = (size_t)list->cell.size;
  for (; i + 1 < k; ++i) {
    item = items[i];
    items[i] = items[--k];
    items[k] = item;
  }
  return 0;
}

/* Removes all items. Keeps the capacity. */
TVMFFI_I_BUILTIN_FUNC(ListClear, none, (i_any_list, list)) {
  while (list->cell.size > 0)
    tvmffi_i_any_release(&TVMFFI_I_ITEMS(list)[--list->cell.size]);
  return 0;
}

/* Allocates memory for at least `capacity` items in all. */
TVMFFI_I_BUILTIN_FUNC(ListReserve, none, (i_any_list, list),
                      (int64, capacity)) {
  return capacity > list->cell.capacity ? tvmffi_i_set_capacity(list, capacity)
                                        : 0;
}
#endif
