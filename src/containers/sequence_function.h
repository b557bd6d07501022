/* ======== Sequence functions ================= >>containers/sequence_function
   the built-in functions of arrays and lists */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/abi.h"
#include "../interface/value.h"
#include "../interface/error.h"
#include "../interface/word.h"
#include "../interface/function.h"
#include "sequence.h"

#if !TVMFFI_NO_CONTAINERS
/* Calls a built-in again with such a list in the place of args[0]. */
TVMFFI_I_SLOW int tvmffi_i_on_copy(TVMFFISafeCallType call, TVMFFIAny *args,
                                   int32_t num_args, TVMFFIAny *result) {
  tvmffi_i_seq *copy =
      tvmffi_i_list_of((const tvmffi_i_seq *)(void *)args[0].v_obj);
  int code;
  if (!copy) return -1;
  args[0] = tvmffi_obj(copy);
  code = call(NULL, args, num_args, result);
  tvmffi_release(copy);
  return code;
}

/* In the body of a built-in: `s` is the list, or else the call is on a copy
   of the array. The arguments are those of the built-in, as Anys. */
#define TVMFFI_I_LIST_OR_COPY(s, name, list, num_args, ...)     \
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)(list);             \
  if (TVMFFI_I_UNLIKELY((list)->type_index != kTVMFFIList)) {   \
    TVMFFIAny args[num_args] = {__VA_ARGS__};                   \
    return tvmffi_i_on_copy(tvmffi_call_##name, args, num_args, \
                            tvmffi_result);                     \
  }

static int tvmffi_call_i_new_array(void *self, const TVMFFIAny *args,
                                   int32_t num_args, TVMFFIAny *result) {
  (void)self;
  return tvmffi_i_return_seq(tvmffi_i_empty_array(num_args), args, num_args,
                             result);
}
static tvmffi_func tvmffi_func_i_new_array = {
    "ffi.Array", tvmffi_call_i_new_array, -1, NULL};

/* So many items a list of fewer has room for. */
enum { TVMFFI_I_LIST_ROOM = 4 };

static int tvmffi_call_i_new_list(void *self, const TVMFFIAny *args,
                                  int32_t num_args, TVMFFIAny *result) {
  TVMFFIObject *list = tvmffi_i_new_list(
      num_args > TVMFFI_I_LIST_ROOM ? num_args : TVMFFI_I_LIST_ROOM);
  (void)self;
  return tvmffi_i_return_seq((tvmffi_i_seq *)(void *)list, args, num_args,
                             result);
}
static tvmffi_func tvmffi_func_i_new_list = {"ffi.List", tvmffi_call_i_new_list,
                                             -1, NULL};

TVMFFI_FUNC(i_array_get, any, (i_array, array), (int64, i)) {
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)array;
  TVMFFI_I_CHECK_INDEX(s, i);
  TVMFFI_RETURN(tvmffi_i_copy_owned(&TVMFFI_I_ITEMS(s)[i]));
}

TVMFFI_FUNC(i_array_size, int64, (i_array, array)) {
  TVMFFI_RETURN(((tvmffi_i_seq *)(void *)array)->cell.size);
}

TVMFFI_FUNC(i_array_contains, bool, (i_array, array), (any, value)) {
  return tvmffi_i_contains(array, &value, tvmffi_result);
}

TVMFFI_FUNC(i_list_get, any, (i_list, list), (int64, i)) {
  tvmffi_i_seq *s = (tvmffi_i_seq *)(void *)list;
  TVMFFI_I_CHECK_INDEX(s, i);
  TVMFFI_RETURN(tvmffi_i_copy_owned(&TVMFFI_I_ITEMS(s)[i]));
}

TVMFFI_FUNC(i_list_size, int64, (i_list, list)) {
  TVMFFI_RETURN(((tvmffi_i_seq *)(void *)list)->cell.size);
}

TVMFFI_FUNC(i_list_contains, bool, (i_list, list), (any, value)) {
  return tvmffi_i_contains(list, &value, tvmffi_result);
}

TVMFFI_FUNC(i_list_set, none, (i_any_list, list), (int64, i), (any, value)) {
  TVMFFIAny *slot;
  TVMFFIObject *old;
  int32_t index;
  TVMFFI_I_LIST_OR_COPY(s, i_list_set, list, 3, tvmffi_obj(list), tvmffi_int(i),
                        value)
  TVMFFI_I_CHECK_INDEX(s, i);
  slot = &TVMFFI_I_ITEMS(s)[i];
  index = slot->type_index;
  old = slot->v_obj;
  TVMFFI_TRY(tvmffi_i_own(&value, slot));
  if (index >= kTVMFFIStaticObjectBegin) tvmffi_release(old);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_append, none, (i_any_list, list), (any, value)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_append, list, 2, tvmffi_obj(list), value)
  TVMFFI_TRY(tvmffi_i_list_append(&s->base, &value));
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_insert, none, (i_any_list, list), (int64, i), (any, value)) {
  TVMFFIAny item;
  TVMFFI_I_LIST_OR_COPY(s, i_list_insert, list, 3, tvmffi_obj(list),
                        tvmffi_int(i), value)
  TVMFFI_TRY(tvmffi_i_make_room(s, 1)); /* upstream grows first, too */
  if (i < 0 || i > s->cell.size) return tvmffi_i_no_place(i, s->cell.size);
  TVMFFI_TRY(tvmffi_i_own(&value, &item));
  *tvmffi_i_open_gap(s, i, 1) = item;
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_pop, any, (i_any_list, list), (int64, i)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_pop, list, 2, tvmffi_obj(list), tvmffi_int(i))
  TVMFFI_I_CHECK_INDEX(s, i);
  TVMFFI_RETURN(tvmffi_i_take_item(s, i));
}

TVMFFI_FUNC(i_list_erase, none, (i_any_list, list), (int64, i)) {
  TVMFFIAny item;
  TVMFFI_I_LIST_OR_COPY(s, i_list_erase, list, 2, tvmffi_obj(list),
                        tvmffi_int(i))
  TVMFFI_I_CHECK_INDEX(s, i);
  item = tvmffi_i_take_item(s, i);
  tvmffi_any_release(&item);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_erase_range, none, (i_any_list, list), (int64, start),
            (int64, stop)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_erase_range, list, 3, tvmffi_obj(list),
                        tvmffi_int(start), tvmffi_int(stop))
  if (start != stop) {
    TVMFFI_TRY(tvmffi_i_check_range(s, start, stop));
    tvmffi_i_erase(s, start, stop);
  }
  TVMFFI_RETURN();
}

/* `from` is not the list itself. Room is made first, so that the list is as it
   was when memory is refused. */
static int tvmffi_i_replace(tvmffi_i_seq *s, int64_t start, int64_t stop,
                            const tvmffi_i_seq *from) {
  if (start != stop) {
    TVMFFI_TRY(tvmffi_i_check_range(s, start, stop));
    TVMFFI_TRY(tvmffi_i_make_room(s, from->cell.size - (stop - start)));
    tvmffi_i_erase(s, start, stop);
  }
  return tvmffi_i_insert_items(s, start, from);
}

TVMFFI_FUNC(i_list_replace, none, (i_any_list, list), (int64, start),
            (int64, stop), (i_any_list, replacement)) {
  const tvmffi_i_seq *from = (const tvmffi_i_seq *)(void *)replacement;
  tvmffi_i_seq *copy = NULL;
  int code;
  TVMFFI_I_LIST_OR_COPY(s, i_list_replace, list, 4, tvmffi_obj(list),
                        tvmffi_int(start), tvmffi_int(stop),
                        tvmffi_obj(replacement))
  if (from == s) {
    from = copy = tvmffi_i_list_of(s);
    if (!copy) return -1;
  }
  code = tvmffi_i_replace(s, start, stop, from);
  tvmffi_release(copy);
  if (code) return code;
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_reverse, none, (i_any_list, list)) {
  TVMFFIAny *a, *b, item;
  TVMFFI_I_LIST_OR_COPY(s, i_list_reverse, list, 1, tvmffi_obj(list))
  if (s->cell.size > 1) {
    a = TVMFFI_I_ITEMS(s);
    for (b = a + s->cell.size - 1; a < b; ++a, --b) {
      item = *a;
      *a = *b;
      *b = item;
    }
  }
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_clear, none, (i_any_list, list)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_clear, list, 1, tvmffi_obj(list))
  while (s->cell.size > 0)
    tvmffi_any_release(&TVMFFI_I_ITEMS(s)[--s->cell.size]);
  TVMFFI_RETURN();
}

TVMFFI_FUNC(i_list_reserve, none, (i_any_list, list), (int64, capacity)) {
  TVMFFI_I_LIST_OR_COPY(s, i_list_reserve, list, 2, tvmffi_obj(list),
                        tvmffi_int(capacity))
  if (capacity > s->cell.capacity)
    TVMFFI_TRY(tvmffi_i_set_capacity(s, capacity));
  TVMFFI_RETURN();
}
#endif
