/* ======== Sequences: arrays and lists ===================================== */

#pragma once

#include "harness.h"
#include "thread.h"

#if !TEST_NO_ARRAYS && !TVMFFI_NO_CONTAINERS

#define DO(name, ...) \
  tvmffi_call(tvmffi_str("ffi." name), tvmffi_out_any(NULL), __VA_ARGS__)

/* A sequence of views, which the test owns; NULL when memory is refused. */
static TVMFFIObject *test_sequence(const char *name, TVMFFIAny *views, int n) {
  TVMFFIAny result = tvmffi_none();
  TVMFFIObject *make = test_global(name);
  if (!make || test_code(TVMFFIFunctionCall(make, views, n, &result), __FILE__,
                         __LINE__, name))
    return NULL;
  OWN_ANY(result);
  return result.v_obj;
}

#define SEQUENCE(variable, name, views, n)                       \
  TVMFFIObject *variable = test_sequence("ffi." name, views, n); \
  if (!variable) return

static TVMFFISeqCell *test_cell(TVMFFIObject *o) {
  return (TVMFFISeqCell *)(void *)(o + 1);
}

/* An object that says `letter` at its end; owned by the caller. */
static TVMFFIObject *test_letter(char letter) {
  static char letters[128];
  TVMFFIObjectHandle o = NULL;
  char *at = &letters[(int)letter];
  *at = letter;
  (void)test_code(
      TVMFFIObjectCreateOpaque(at, kTVMFFIOpaquePyObject, test_say_deleter, &o),
      __FILE__, __LINE__, "TVMFFIObjectCreateOpaque ");
  return (TVMFFIObject *)o;
}

/* A list of objects that say "abc..."; NULL when memory is refused, and then
   nothing is said. */
static TVMFFIObject *test_letter_list(int n) {
  TVMFFIObject *list = test_sequence("ffi.List", NULL, 0);
  int i, failed = !list;
  for (i = 0; i < n && !failed; ++i) {
    TVMFFIObject *o = test_letter((char)('a' + i));
    failed = !o || test_code(DO("ListAppend", tvmffi_obj(list), tvmffi_obj(o)),
                             __FILE__, __LINE__, "ffi.ListAppend ");
    tvmffi_release(o);
  }
  if (!failed) return list;
  if (list) test_drop(list);
  test_log_size = 0;
  return NULL;
}

/* The items as text: digits, letters of objects, '.' for None. */
static TVMFFIByteArray test_items(TVMFFIObject *o) {
  static char text[64];
  TVMFFISeqCell *c = test_cell(o);
  int64_t i;
  for (i = 0; i < c->size && i < 63; ++i) {
    TVMFFIAny *item = (TVMFFIAny *)c->data + i;
    text[i] = '?';
    if (item->type_index == kTVMFFINone) text[i] = '.';
    if (item->type_index == kTVMFFIInt) text[i] = (char)('0' + item->v_int64);
    if (item->type_index == kTVMFFIOpaquePyObject)
      text[i] = *(char *)TVMFFIOpaqueObjectGetCellPtr(item->v_obj)->handle;
  }
  return test_bytes(text, (size_t)c->size);
}

#define CHECK_ITEMS(o, want)                                              \
  test_equal_bytes(test_items(o), want, strlen(want), __FILE__, __LINE__, \
                   "the items are")

/* The items of an array stand behind its head and are owned. */
static void test_array_layout(TVMFFI_HERE) {
  TVMFFIAny views[4];
  TVMFFIByteArray text = TEXT("some text that is long");
  SEQUENCE(none, "Array", NULL, 0);
  CHECK(test_cell(none)->size == 0 && test_cell(none)->capacity == 0);
  views[0] = tvmffi_int(7);
  views[1] = tvmffi_str("short");
  views[2] = tvmffi_str(text.data);
  views[3] = tvmffi_obj(none);
  {
    SEQUENCE(array, "Array", views, 4);
    TVMFFISeqCell *c = test_cell(array);
    TVMFFIAny *items = (TVMFFIAny *)c->data;
    CHECK(array->type_index == kTVMFFIArray);
    CHECK(c->data == (void *)(c + 1) && !c->data_deleter);
    CHECK(c->size == 4 && c->capacity == 4);
    CHECK(test_is_clean(&items[0]) && items[0].v_int64 == 7);
    CHECK(test_is_clean(&items[1]) && items[1].type_index == kTVMFFISmallStr);
    CHECK(test_is_clean(&items[2]) && items[2].type_index == kTVMFFIStr);
    CHECK(test_strong(items[2].v_obj) == 1);
    CHECK(test_strong(none) == 2);
    test_drop(array);
    CHECK(test_strong(none) == 1);
  }
}

/* An array of None that the runtime fills before others see it. */
static void test_new_array(TVMFFI_HERE) {
  TVMFFIAny *items = NULL;
  TVMFFIObject *array = tvmffi_i_new_array(3, &items);
  int n;
  OK(array ? 0 : -1);
  OWN(array);
  CHECK_ITEMS(array, "...");
  items[1] = tvmffi_int(1);
  CHECK_ITEMS(array, ".1.");
  FAILS(tvmffi_i_new_array(SIZE_MAX / 16, &items) == NULL, "MemoryError", NULL);
  FAILS(tvmffi_i_new_list(SIZE_MAX / 16) == NULL, "MemoryError", NULL);
  for (n = 0; n < 2; ++n) { /* a list has the room that it is made with */
    TVMFFIObject *list = tvmffi_i_new_list(n);
    OK(list ? 0 : -1);
    OWN(list);
    CHECK_INT(test_cell(list)->capacity, n);
    CHECK((test_cell(list)->data != NULL) == n);
  }
}

static void test_array_access(TVMFFI_HERE) {
  TVMFFIAny views[2];
  int64_t number = 0;
  TVMFFIAny any = tvmffi_int(kTVMFFIArray);
  views[0] = tvmffi_int(5);
  views[1] = tvmffi_str("a text that is long");
  {
    SEQUENCE(array, "Array", views, 2);
    OK(tvmffi_call(tvmffi_str("ffi.ArraySize"), tvmffi_out_int64(&number),
                   tvmffi_obj(array)));
    CHECK_INT(number, 2);
    OK(tvmffi_call(tvmffi_str("ffi.ArrayGetItem"), tvmffi_out_int64(&number),
                   tvmffi_obj(array), tvmffi_int(0)));
    CHECK_INT(number, 5);
    OK(tvmffi_call(tvmffi_str("ffi.ArrayGetItem"), tvmffi_out_any(&any),
                   tvmffi_obj(array), tvmffi_int(1)));
    CHECK_INT(test_strong(any.v_obj), 2);
    FAILS(DO("ArrayGetItem", tvmffi_obj(array), tvmffi_int(2)), "IndexError",
          "Index 2 out of bounds 2");
    FAILS(DO("ArrayGetItem", tvmffi_obj(array), tvmffi_int(-1)), "IndexError",
          "Index -1 out of bounds 2");
    FAILS(DO("ArrayGetItem", tvmffi_obj(array), tvmffi_str("1")), "TypeError",
          "Mismatched type on argument #1 when calling: `ffi.ArrayGetItem(0: "
          "ffi.Array, 1: int) -> Any`. Expected `int` but got `const char*`");
    FAILS(DO("ListGetItem", tvmffi_obj(array), tvmffi_int(1)), "TypeError",
          "Mismatched type on argument #0 when calling: `ffi.ListGetItem(0: "
          "ffi.List, 1: int) -> Any`. Expected `ffi.List` but got "
          "`ffi.Array`");
  }
}

/* Room for four, then twice as much, or what it takes. */
static void test_list_growth(TVMFFI_HERE) {
  int64_t i, room = 4;
  SEQUENCE(list, "List", NULL, 0);
  TVMFFISeqCell *c = test_cell(list);
  const void *data;
  CHECK(c->size == 0 && c->capacity == 4 && c->data_deleter);
  for (i = 0; i < 9; ++i) {
    OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(i)));
    if (i == room) room *= 2;
    CHECK_INT(c->capacity, room);
  }
  CHECK_ITEMS(list, "012345678");
  data = c->data;
  OK(DO("ListReserve", tvmffi_obj(list), tvmffi_int(3)));
  OK(DO("ListReserve", tvmffi_obj(list), tvmffi_int(16)));
  CHECK(c->capacity == 16 && c->data == data);
  OK(DO("ListReserve", tvmffi_obj(list), tvmffi_int(21)));
  CHECK_INT(c->capacity, 21);
  OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(9), tvmffi_int(9),
        tvmffi_obj(list)));
  CHECK_INT(c->capacity, 21);
  OK(DO("ListClear", tvmffi_obj(list)));
  CHECK(c->size == 0 && c->capacity == 21);
  FAILS(DO("ListReserve", tvmffi_obj(list), tvmffi_int(INT64_MAX)),
        "MemoryError", NULL);
  FAILS(DO("ListReserve", tvmffi_obj(list), tvmffi_int(INT64_MAX / 16)),
        "MemoryError", NULL);
  FAILS(DO("ListReserve", tvmffi_obj(list), tvmffi_int(((int64_t)1 << 60) + 1)),
        "MemoryError", NULL); /* 16 bytes, in a number of 64 bits */
  CHECK_INT(c->capacity, 21);
}

/* What is inserted into a full list needs more room, too. */
static void test_list_full(TVMFFI_HERE) {
  int64_t i;
  SEQUENCE(list, "List", NULL, 0);
  TVMFFISeqCell *c = test_cell(list);
  for (i = 0; i < 4; ++i)
    OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(i)));
  OK(DO("ListInsert", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(7)));
  CHECK_INT(c->capacity, 8);
  CHECK_ITEMS(list, "07123");
  OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(2), tvmffi_int(2),
        tvmffi_obj(list)));
  CHECK_INT(c->capacity, 16);
  CHECK_ITEMS(list, "0707123123");
  for (i = 10; i < 16; ++i) /* up to the last place, there is room */
    OK(DO("ListInsert", tvmffi_obj(list), tvmffi_int(i), tvmffi_int(i - 10)));
  CHECK_INT(c->capacity, 16);
  CHECK_ITEMS(list, "0707123123012345");
  /* The list grows before the position is found to be wrong. */
  FAILS(DO("ListInsert", tvmffi_obj(list), tvmffi_int(17), tvmffi_int(0)),
        "IndexError", NULL);
  if (!test_hits()) CHECK_INT(c->capacity, 32);
}

/* Takes a letter out, which its scope then ends. */
static int test_pop_letter(TVMFFI_HERE, TVMFFIObject *list, int64_t i) {
  TVMFFIObject *letter = NULL;
  TVMFFI_TRY(tvmffi_call(tvmffi_str("ffi.ListPop"), tvmffi_out_object(&letter),
                         tvmffi_obj(list), tvmffi_int(i)));
  CHECK_LOG("");
  CHECK_INT(test_strong(letter), 1);
  return 0;
}

/* What goes is released, the rest moves. */
static void test_list_edit(TVMFFI_HERE) {
  tvmffi_scope scope;
  TVMFFIObject *list = test_letter_list(6);
  if (!list) return;
  CHECK_ITEMS(list, "abcdef");
  if (!test_code(DO("ListReverse", tvmffi_obj(list)), __FILE__, __LINE__, "1"))
    CHECK_ITEMS(list, "fedcba");
  if (!test_code(DO("ListErase", tvmffi_obj(list), tvmffi_int(1)), __FILE__,
                 __LINE__, "2")) {
    CHECK_LOG("e");
    CHECK_ITEMS(list, "fdcba");
    if (!test_code(DO("ListEraseRange", tvmffi_obj(list), tvmffi_int(1),
                      tvmffi_int(3)),
                   __FILE__, __LINE__, "3")) {
      CHECK_LOG("dc");
      CHECK_ITEMS(list, "fba");
    }
  }
  test_log_size = 0;
  if (!test_code(
          DO("ListInsert", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(7)),
          __FILE__, __LINE__, "4"))
    CHECK_INT(((TVMFFIAny *)test_cell(list)->data)[1].v_int64, 7);
  if (!test_code(
          DO("ListSetItem", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(8)),
          __FILE__, __LINE__, "5")) {
    CHECK_LOG(test_hits() ? test_log : "f");
  }
  test_log_size = 0;
  (void)test_code(test_pop_letter(tvmffi_scope_open(&scope), list, 2), __FILE__,
                  __LINE__, "6");
  tvmffi_scope_close(&scope);
  test_drop(list);
  test_log_size = 0;
}

static void test_list_slices(TVMFFI_HERE) {
  TVMFFIAny views[3];
  views[0] = tvmffi_int(7);
  views[1] = tvmffi_int(8);
  views[2] = tvmffi_int(9);
  {
    SEQUENCE(list, "List", views, 3);
    SEQUENCE(array, "Array", views, 2);
    SEQUENCE(none, "List", NULL, 0);
    OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(2),
          tvmffi_obj(array)));
    CHECK_ITEMS(list, "7789");
    OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(3),
          tvmffi_obj(none)));
    CHECK_ITEMS(list, "9");
    OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(0),
          tvmffi_obj(array)));
    CHECK_ITEMS(list, "789");
    OK(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(2),
          tvmffi_obj(list)));
    CHECK_ITEMS(list, "77899");
    OK(DO("ListEraseRange", tvmffi_obj(list), tvmffi_int(9), tvmffi_int(9)));
    FAILS(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(3), tvmffi_int(1),
             tvmffi_obj(none)),
          "IndexError", "Erase range [3, 1) out of bounds 5");
    FAILS(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(6), tvmffi_int(6),
             tvmffi_obj(array)),
          "IndexError", "Index 6 out of bounds [0, 5]");
    FAILS(DO("ListReplaceSlice", tvmffi_obj(list), tvmffi_int(-1),
             tvmffi_int(-1), tvmffi_obj(array)),
          "IndexError", "Index -1 out of bounds [0, 5]");
    FAILS(DO("ListEraseRange", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(6)),
          "IndexError", "Erase range [0, 6) out of bounds 5");
    CHECK_ITEMS(list, "77899");
    OK(DO("ListSetItem", tvmffi_obj(list), tvmffi_int(2), tvmffi_none()));
    OK(DO("ListEraseRange", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(2)));
    CHECK_ITEMS(list, ".99"); /* None behind what goes is an item, too */
  }
}

static void test_list_bad_indices(TVMFFI_HERE) {
  SEQUENCE(list, "List", NULL, 0);
  FAILS(DO("ListGetItem", tvmffi_obj(list), tvmffi_int(0)), "IndexError",
        "Index 0 out of bounds 0");
  FAILS(DO("ListPop", tvmffi_obj(list), tvmffi_int(-1)), "IndexError",
        "Index -1 out of bounds 0");
  FAILS(DO("ListErase", tvmffi_obj(list), tvmffi_int(0)), "IndexError",
        "Index 0 out of bounds 0");
  FAILS(DO("ListSetItem", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(0)),
        "IndexError", "Index 0 out of bounds 0");
  FAILS(DO("ListInsert", tvmffi_obj(list), tvmffi_int(1), tvmffi_int(0)),
        "IndexError", "Index 1 out of bounds [0, 0]");
  FAILS(DO("ListInsert", tvmffi_obj(list), tvmffi_int(-1), tvmffi_int(0)),
        "IndexError", "Index -1 out of bounds [0, 0]");
  FAILS(DO("ListEraseRange", tvmffi_obj(list), tvmffi_int(-1), tvmffi_int(0)),
        "IndexError", "Erase range [-1, 0) out of bounds 0");
  FAILS(DO("ListInsert", tvmffi_obj(list), tvmffi_int((int64_t)1 << 60),
           tvmffi_int(0)),
        "IndexError", "Index 1152921504606846976 out of bounds [0, 0]");
  FAILS(DO("ListAppend", tvmffi_none(), tvmffi_int(0)), "TypeError",
        "Mismatched type on argument #0 when calling: `ffi.ListAppend(0: "
        "List<Any>, 1: Any) -> void`. Expected `List<Any>` but got `None`");
  FAILS(DO("ListAppend", tvmffi_obj(list),
           tvmffi_i_pointer(kTVMFFIObjectRValueRef, NULL)),
        "InternalError", "RValueRef already moved");
  FAILS(DO("ListAppend", tvmffi_obj(list), tvmffi_i_pointer(kTVMFFIStr, NULL)),
        "ValueError", NULL);
  CHECK_ITEMS(list, "");
}

/* An item that is a plain object goes when another takes its place. */
static void test_plain_items(TVMFFI_HERE) {
  TVMFFIObject *o = (TVMFFIObject *)tvmffi_i_object(
      sizeof(*o), kTVMFFIObject, tvmffi_i_delete_plain);
  TVMFFIAny views[2];
  OK(o ? 0 : -1);
  OWN(o);
  views[0] = views[1] = tvmffi_obj(o);
  {
    SEQUENCE(list, "List", views, 2);
    CHECK_INT(test_strong(o), 3);
    OK(DO("ListSetItem", tvmffi_obj(list), tvmffi_int(0), tvmffi_int(7)));
    CHECK_INT(test_strong(o), 2);
    OK(DO("ListErase", tvmffi_obj(list), tvmffi_int(1)));
    CHECK_INT(test_strong(o), 1);
    CHECK_ITEMS(list, "7");
  }
}

/* Where a list is expected an array is a copy of one. */
static void test_array_for_list(TVMFFI_HERE) {
  TVMFFIAny views[3], any = tvmffi_none();
  views[0] = tvmffi_int(7);
  views[1] = tvmffi_int(8);
  {
    SEQUENCE(array, "Array", views, 2);
    OK(DO("ListAppend", tvmffi_obj(array), tvmffi_int(9)));
    OK(DO("ListSetItem", tvmffi_obj(array), tvmffi_int(0), tvmffi_int(9)));
    OK(DO("ListInsert", tvmffi_obj(array), tvmffi_int(0), tvmffi_int(9)));
    OK(DO("ListErase", tvmffi_obj(array), tvmffi_int(0)));
    OK(DO("ListEraseRange", tvmffi_obj(array), tvmffi_int(0), tvmffi_int(2)));
    OK(DO("ListReplaceSlice", tvmffi_obj(array), tvmffi_int(0), tvmffi_int(2),
          tvmffi_obj(array)));
    OK(DO("ListReverse", tvmffi_obj(array)));
    OK(DO("ListReserve", tvmffi_obj(array), tvmffi_int(9)));
    OK(DO("ListClear", tvmffi_obj(array)));
    OK(tvmffi_call(tvmffi_str("ffi.ListPop"), tvmffi_out_any(&any),
                   tvmffi_obj(array), tvmffi_int(1)));
    CHECK_INT(any.v_int64, 8);
    CHECK_ITEMS(array, "78");
    CHECK_INT(test_strong(array), 1);
  }
}

/* A list may hold itself; taking itself out ends it. */
static void test_list_of_itself(TVMFFI_HERE) {
  SEQUENCE(list, "List", NULL, 0);
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_obj(list)));
  CHECK_INT(test_strong(list), 2);
  if (test_code(
          DO("ListInsert", tvmffi_obj(list), tvmffi_int(0), tvmffi_obj(list)),
          __FILE__, __LINE__, "ffi.ListInsert ") == 0)
    CHECK_INT(test_strong(list), 3);
  while (test_cell(list)->size > 0) { /* a call could fail here */
    TVMFFIAny *items = (TVMFFIAny *)test_cell(list)->data;
    tvmffi_any_release(&items[--test_cell(list)->size]);
  }
  CHECK_INT(test_strong(list), 1);
}

/* With a weak reference left, the items go and the memory stays. */
static void test_list_weak(TVMFFI_HERE) {
  TVMFFIObject *list = test_letter_list(2);
  if (!list) return;
  tvmffi_weak_retain(list);
  test_drop(list);
  CHECK_LOG("ab");
  CHECK(!tvmffi_weak_lock(list));
  tvmffi_weak_release(list);
  CHECK_LOG("");
}

/* Clients replace the block of a list; who made it frees it. */
static void test_foreign_delete(void *block) {
  test_say('F');
  TVMFFI_FREE(block);
}

static void test_foreign_blocks(TVMFFI_HERE) {
  const size_t size = 2 * sizeof(TVMFFIAny);
  SEQUENCE(list, "List", NULL, 0);
  TVMFFISeqCell *c = test_cell(list);
  void (*ours)(void *) = c->data_deleter;
  void *block = TVMFFI_MALLOC(size);
  if (!block) return;
  ours(c->data); /* as C++ grows a list: the deleter stays */
  c->data = block;
  c->capacity = 2;
  block = TVMFFI_MALLOC(size);
  if (!block) return;
  ours(c->data); /* as a list that C++ made: with its own deleter */
  c->data = block;
  c->data_deleter = test_foreign_delete;
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(1)));
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(2)));
  CHECK_LOG("");
  if (!test_code(DO("ListAppend", tvmffi_obj(list), tvmffi_int(3)), __FILE__,
                 __LINE__, "ffi.ListAppend ")) {
    CHECK_LOG("F");
    CHECK_ITEMS(list, "123");
    CHECK(c->data_deleter == ours);
  }
  test_drop(list);
  test_log_size = 0;
}

/* A list grows out of an array that nobody frees. One that cannot double does
   not change. */
static void test_static_block(TVMFFI_HERE) {
  static TVMFFIAny block[2];
  SEQUENCE(list, "List", NULL, 0);
  TVMFFISeqCell *c = test_cell(list);
  tvmffi_i_seq large;
  if (c->data_deleter) c->data_deleter(c->data);
  c->data = block;
  c->data_deleter = NULL;
  c->capacity = 2;
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(1)));
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(2)));
  CHECK(c->data == block);
  OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(3)));
  CHECK(c->data != block);
  CHECK_ITEMS(list, "123");
  memset((void *)&large, 0, sizeof(large));
  large.base.type_index = kTVMFFIList;
  large.cell.data = block;
  large.cell.size = large.cell.capacity = TVMFFI_I_MAX_ITEMS / 2 + 1;
  FAILS(tvmffi_i_seq_reserve(&large, 1), "MemoryError", NULL);
  CHECK(large.cell.data == block);
  CHECK_INT(large.cell.capacity, TVMFFI_I_MAX_ITEMS / 2 + 1);
}

/* An item whose end changes the list that it was in. */
static TVMFFIObject *test_changed_list;
static int test_change;
static void test_changing_deleter(void *handle) {
  TVMFFIAny list;
  (void)handle;
  if (test_change < 0) return; /* the thread's error stays */
  list = tvmffi_obj(test_changed_list);
  if (test_change == 0) (void)!DO("ListClear", list);
  if (test_change == 1) (void)!DO("ListAppend", list, tvmffi_int(1));
  if (test_change == 2) (void)!DO("ListReserve", list, tvmffi_int(1000));
  if (test_change == 3) (void)!DO("ListErase", list, tvmffi_int(0));
  if (test_change == 4)
    (void)!DO("ListSetItem", list, tvmffi_int(1), tvmffi_int(7));
  tvmffi_error_clear();
}

static void test_changing_items(TVMFFI_HERE) {
  int change, i, k;
  for (change = 0; change < 5; ++change) {
    for (k = 0; k < 4; ++k) {
      SEQUENCE(list, "List", NULL, 0);
      TVMFFIAny any = tvmffi_obj(list);
      for (i = 0; i < 5; ++i) {
        TVMFFIObjectHandle o = NULL;
        int code;
        test_change = -1;
        OK(TVMFFIObjectCreateOpaque(NULL, kTVMFFIOpaquePyObject,
                                    test_changing_deleter, &o));
        code = DO("ListAppend", any, tvmffi_obj(o));
        tvmffi_release(o);
        OK(code);
      }
      test_change = change;
      test_changed_list = list;
      if (k == 0)
        (void)!DO("ListSetItem", any, tvmffi_int(4), tvmffi_int(0));
      else if (k == 1)
        (void)!DO("ListEraseRange", any, tvmffi_int(1), tvmffi_int(4));
      else if (k == 2)
        (void)!DO("ListReplaceSlice", any, tvmffi_int(1), tvmffi_int(4), any);
      else
        (void)!DO("ListErase", any, tvmffi_int(2));
      tvmffi_error_clear();
      CHECK(test_cell(list)->size >= 0 &&
            test_cell(list)->size <= test_cell(list)->capacity);
      test_change = -1;
      while (test_cell(list)->size > 0) /* it may hold itself */
        tvmffi_any_release(
            &((TVMFFIAny *)test_cell(list)->data)[--test_cell(list)->size]);
      test_drop(list);
    }
  }
}

/* A nest of lists and arrays is destroyed at any depth. */
static void test_deep_nest(TVMFFI_HERE) {
  int i, n = test_scale(test_chain, 50);
  TVMFFIObject *list = test_global("ffi.List"), *array;
  TVMFFIAny last = tvmffi_int(1), next;
  array = list ? test_global("ffi.Array") : NULL;
  if (!array) return;
  for (i = 0; i < n; ++i) {
    next = tvmffi_none();
    if (test_code(TVMFFIFunctionCall(i % 3 ? list : array, &last, 1, &next),
                  __FILE__, __LINE__, "a nest "))
      break;
    tvmffi_any_release(&last);
    last = next;
  }
  tvmffi_any_release(&last);
}

static uint64_t test_hash_of(TVMFFIAny any) {
  uint64_t hash = 0;
  CHECK_INT(tvmffi_i_any_hash(&any, &hash), 0);
  return hash;
}

/* The hashes that the C++ headers give. */
static void test_hashes(TVMFFI_HERE) {
  TVMFFIByteArray large = TEXT("the quic"), small = TEXT("the");
  TVMFFIAny any = tvmffi_none();
  int i;
  CHECK(test_hash_of(tvmffi_none()) == 0x9E3779B9u);
  CHECK(test_hash_of(tvmffi_int(-1)) == 0x9E3779F9u);
  CHECK(test_hash_of(tvmffi_int(INT64_MIN)) == 0x800000009E3779F8u);
  OK(TVMFFIStringFromByteArray(&large, &any));
  OWN_ANY(any);
  CHECK(test_hash_of(any) == 0x1056FDD21u);
  large = TEXT("the quick");
  OK(TVMFFIStringFromByteArray(&large, &any));
  OWN_ANY(any);
  CHECK(test_hash_of(any) == 0xF393D6E9u);
  for (i = 0; i < 2; ++i) {
    tvmffi_i_string *s;
    OK(TVMFFIStringFromByteArray(&small, &any));
    s = tvmffi_i_new_string(3, kTVMFFIStr);
    OK(s ? 0 : -1);
    OWN(s);
    memcpy((char *)(uintptr_t)s->bytes.data, "the", 3);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    CHECK(test_hash_of(any) == test_hash_of(tvmffi_obj(s)));
#endif
    {
      TVMFFIAny heap = tvmffi_obj(s);
      CHECK_INT(tvmffi_i_any_equal(&any, &heap), 1);
      CHECK_INT(tvmffi_i_any_equal(&heap, &any), 1);
      any.type_index = kTVMFFISmallBytes;
      CHECK_INT(tvmffi_i_any_equal(&any, &heap), 0);
      CHECK_INT(tvmffi_i_any_equal(&heap, &any), 0);
    }
  }
}

/* Which values are the same one, as `in` sees it. */
static void test_contained(TVMFFI_HERE) {
  TVMFFIByteArray text = TEXT("a text that is long"), tail = TEXT("abc");
  int64_t words[] = {1, 1};
  TVMFFIByteArray big = test_bytes((const char *)words, sizeof(words));
  TVMFFIAny views[8], other = tvmffi_none();
  tvmffi_type_bool yes = 0;
  int i;
  for (i = 0; i < 8; ++i) views[i] = tvmffi_none();
  views[1] = tvmffi_int(1);
  views[2] = tvmffi_str("abc");
  OK(TVMFFIStringFromByteArray(&text, &views[3]));
  OWN_ANY(views[3]);
  OK(TVMFFIBytesFromByteArray(&text, &views[4]));
  OWN_ANY(views[4]);
  OK(TVMFFIBigIntFromByteArray(&big, &views[5]));
  OWN_ANY(views[5]);
  views[6] = tvmffi_bytes(&tail);
  {
    SEQUENCE(array, "Array", views, 7);
    SEQUENCE(list, "List", views, 7);
#define CONTAINS(any, want)                                              \
  OK(tvmffi_call(tvmffi_str("ffi.ArrayContains"), tvmffi_out_bool(&yes), \
                 tvmffi_obj(array), any));                               \
  CHECK_INT(yes, want);                                                  \
  OK(tvmffi_call(tvmffi_str("ffi.ListContains"), tvmffi_out_bool(&yes),  \
                 tvmffi_obj(list), any));                                \
  CHECK_INT(yes, want)
    for (i = 0; i < 7; ++i) {
      CONTAINS(views[i], 1);
    }
    CONTAINS(tvmffi_bool(1), 0);
    CONTAINS(tvmffi_int(2), 0);
    CONTAINS(tvmffi_str("abd"), 0);
    CONTAINS(tvmffi_str(text.data), 1);
    CONTAINS(tvmffi_bytes(&text), 1);
    CONTAINS(tvmffi_obj(array), 0);
    OK(TVMFFIBigIntFromByteArray(&big, &other));
    OWN_ANY(other);
    CONTAINS(other, 1);
    words[1] = 2;
    OK(TVMFFIBigIntFromByteArray(&big, &other));
    OWN_ANY(other);
    CONTAINS(other, 0);
    OK(DO("ListAppend", tvmffi_obj(list), tvmffi_int(5)));
    OK(DO("ListPop", tvmffi_obj(list), tvmffi_int(7)));
    CONTAINS(tvmffi_int(5), 0); /* no longer */
  }
}

/* Types with an equality and a hash of their own, as C functions and as
   function objects. */
static int64_t test_equal_answer;
static TVMFFIObject test_given; /* what an equality gives by mistake */
static TVMFFIAny test_native_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIByteArray kind = TEXT("KeyError"), text = TEXT("no equality");
  (void)a, (void)b;
  if (test_equal_answer == 2) return tvmffi_str("yes");
  if (test_equal_answer == 3) {
    tvmffi_retain(&test_given);
    return tvmffi_obj(&test_given);
  }
  if (test_equal_answer < 0 &&
      TVMFFIErrorCreate(&kind, &text, &text, &error) == 0)
    return tvmffi_obj(error);
  return tvmffi_bool(test_equal_answer != 0);
}
static TVMFFIAny test_native_hash(const TVMFFIAny *a) {
  (void)a;
  return tvmffi_int(test_equal_answer);
}

static void test_own_equality(TVMFFI_HERE) {
  static int32_t native, object, wrong;
  TVMFFIByteArray equal = TEXT("__any_equal__"), hash = TEXT("__any_hash__");
  TVMFFIObject a = TVMFFI_I_ZERO, b = TVMFFI_I_ZERO;
  TVMFFIAny x, y, value;
  TVMFFIObjectHandle f = NULL;
  uint64_t h = 0;
  a.combined_ref_count = b.combined_ref_count = TVMFFI_I_BOTH_ONE;
  if (!wrong) {
    TVMFFIByteArray key;
    if (!native) {
      key = TEXT(test_fresh("test.Native"));
      native = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
      if (native < 0) native = 0;
    }
    if (native && !object) {
      key = TEXT(test_fresh("test.Function"));
      object = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
      if (object < 0) object = 0;
    }
    if (native && object) {
      key = TEXT(test_fresh("test.Wrong"));
      wrong = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
      if (wrong < 0) wrong = 0;
    }
    tvmffi_error_clear();
    if (!wrong) return;
  }
  value = tvmffi_ptr((void *)(uintptr_t)test_native_equal);
  OK(TVMFFITypeRegisterAttr(native, &equal, &value));
  value = tvmffi_ptr((void *)(uintptr_t)test_native_hash);
  OK(TVMFFITypeRegisterAttr(native, &hash, &value));
  a.type_index = b.type_index = native;
  x = tvmffi_obj(&a);
  y = tvmffi_obj(&b);
  test_equal_answer = 1;
  CHECK_INT(tvmffi_i_any_equal(&x, &y), 1);
#if !TVMFFI_NO_TYPES
  CHECK_INT(tvmffi_i_thread_nesting()->count, 0);
#endif
  CHECK(test_hash_of(x) == test_hash_of(y));
  test_equal_answer = 0;
  CHECK_INT(tvmffi_i_any_equal(&x, &y), 0);
  CHECK_INT(tvmffi_i_any_equal(&x, &x), 1);
  test_equal_answer = 2;
  FAILS(tvmffi_i_any_equal(&x, &y) == -1, "InternalError", "...const char*");
  test_equal_answer = 3;
  test_given.combined_ref_count = TVMFFI_I_BOTH_ONE;
  test_given.type_index = kTVMFFIObject;
  FAILS(tvmffi_i_any_equal(&x, &y) == -1, "InternalError", "...ffi.Object");
  CHECK(test_given.combined_ref_count == TVMFFI_I_BOTH_ONE);
  test_equal_answer = -1;
  if (!test_oom)
    FAILS(tvmffi_i_any_equal(&x, &y) == -1, "KeyError", "no equality");
  if (!test_oom) {
    static int once;
    if (++once == 1) {
      OK(TVMFFIFunctionCreate(&once, test_raise_callback, NULL, &f));
      value = tvmffi_obj(f);
      (void)test_code(TVMFFITypeRegisterAttr(object, &equal, &value), __FILE__,
                      __LINE__, "equal");
      (void)test_code(TVMFFITypeRegisterAttr(object, &hash, &value), __FILE__,
                      __LINE__, "hash");
      tvmffi_release(f);
    }
    a.type_index = b.type_index = object;
    x = tvmffi_obj(&a);
    y = tvmffi_obj(&b);
    FAILS(tvmffi_i_any_equal(&x, &y) == -1, "ValueError",
          "the callback says no");
    FAILS(tvmffi_i_any_hash(&x, &h) == -1, "ValueError",
          "the callback says no");
    a.type_index = b.type_index = wrong;
    x = tvmffi_obj(&a);
    y = tvmffi_obj(&b);
    if (once == 1) CHECK_INT(tvmffi_i_any_equal(&x, &y), 0);
    CHECK(test_hash_of(x) != test_hash_of(y));
    value = tvmffi_int(1);
    OK(TVMFFITypeRegisterAttr(wrong, &equal, &value));
    FAILS(tvmffi_i_any_equal(&x, &y) == -1, "InternalError",
          "a type attribute is expected to be a function but is int");
  }
  CHECK(a.combined_ref_count == TVMFFI_I_BOTH_ONE);
}

/* An attribute that is no function, or whose call would nest too deep, is an
   error. */
static void test_bad_equality(TVMFFI_HERE) {
  static int32_t type;
  TVMFFIByteArray hash = TEXT("__any_hash__"), equal = TEXT("__any_equal__");
  TVMFFIObject object = TVMFFI_I_ZERO;
  TVMFFIAny x, value = tvmffi_none(), yes = tvmffi_none();
  TVMFFIObject other = TVMFFI_I_ZERO;
  uint64_t h = 0;
  if (!type) {
    TVMFFIByteArray key = TEXT(test_fresh("test.Bad"));
    int32_t index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
    OK(index < 0 ? -1 : 0);
    type = index;
  }
  value.type_index = kTVMFFIOpaquePtr;
  OK(TVMFFITypeRegisterAttr(type, &hash, &value));
  value = tvmffi_ptr((void *)(uintptr_t)test_native_equal);
  OK(TVMFFITypeRegisterAttr(type, &equal, &value));
  object.combined_ref_count = other.combined_ref_count = TVMFFI_I_BOTH_ONE;
  object.type_index = other.type_index = type;
  x = tvmffi_obj(&object);
  FAILS(tvmffi_i_any_hash(&x, &h), "InternalError",
        "a type attribute is expected to be a function but is void*");
  value = tvmffi_obj(&other);
  test_equal_answer = 2;
  {
    SEQUENCE(array, "Array", &value, 1);
    FAILS(tvmffi_call(tvmffi_str("ffi.ArrayContains"), tvmffi_out_any(&yes),
                      tvmffi_obj(array), x),
          "InternalError", "...is expected to give bool but gave const char*");
    test_drop(array); /* the object is on the stack */
  }
#if !TVMFFI_NO_TYPES
  {
    tvmffi_i_nesting *n;
    int i;
    test_forget_stack();
    n = tvmffi_i_thread_nesting();
    for (i = 0; i < TEST_MAX_NESTING; ++i) {
      CHECK_INT(tvmffi_i_nest(), 0);
      n->outermost = UINTPTR_MAX; /* as if called from inner functions */
    }
    FAILS(tvmffi_i_any_equal(&x, &value) == -1, "RecursionError",
          TEST_TOO_MANY);
    for (i = 0; i < TEST_MAX_NESTING; ++i) tvmffi_i_unnest();
    test_find_stack();
  }
#endif
}

/* A hash is a remainder, which is less than 2^31 - 1. */
static void test_reduced_hashes(TVMFFI_HERE) {
  static const uint64_t factors[] = {0, 1, 2, 2147483646, 2147483648,
                                     4294967295};
  const uint64_t modulus = 2147483647;
  size_t i, k;
  for (i = 0; i < sizeof(factors) / sizeof(factors[0]); ++i)
    for (k = 0; k < 3; ++k)
      CHECK(tvmffi_i_stable_reduce(modulus * factors[i] + k) == k);
  CHECK(tvmffi_i_stable_reduce(UINT64_MAX) == 3);
}

/* The same as C functions of before 0.1.15, which give a plain bool or hash;
   what is above a bool in its register is anything. */
#if (defined(__x86_64__) && !defined(_WIN32)) || defined(__AARCH64EL__)
static int64_t test_plain_answer;
static int64_t test_plain_equal(const TVMFFIAny *a, const TVMFFIAny *b) {
  (void)a, (void)b;
  return test_plain_answer;
}
static int64_t test_plain_hash(const TVMFFIAny *a) {
  (void)a;
  return test_plain_answer;
}

static void test_plain_equality(TVMFFI_HERE) {
  static const int64_t hashes[] = {0, 2, 66, 68, -1, 0x100000043, 0x100000001};
  static int32_t plain;
  TVMFFIByteArray equal = TEXT("__any_equal__"), hash = TEXT("__any_hash__");
  TVMFFIByteArray key = TEXT(plain ? "" : test_fresh("test.Plain"));
  TVMFFIObject a = TVMFFI_I_ZERO, b = TVMFFI_I_ZERO;
  TVMFFIAny x, y, value;
  size_t i;
  if (!plain) {
    int32_t index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
    OK(index < 0 ? -1 : 0);
    plain = index;
  }
  value = tvmffi_ptr((void *)(uintptr_t)test_plain_equal);
  OK(TVMFFITypeRegisterAttr(plain, &equal, &value));
  value = tvmffi_ptr((void *)(uintptr_t)test_plain_hash);
  OK(TVMFFITypeRegisterAttr(plain, &hash, &value));
  a.combined_ref_count = b.combined_ref_count = TVMFFI_I_BOTH_ONE;
  a.type_index = b.type_index = plain;
  x = tvmffi_obj(&a);
  y = tvmffi_obj(&b);
  for (i = 0; i < 2; ++i) {
    test_plain_answer = (int64_t)i;
    CHECK_INT(tvmffi_i_any_equal(&x, &y), (int)i);
    test_plain_answer |= 0x7FEDCBA987654300;
    CHECK_INT(tvmffi_i_any_equal(&x, &y), (int)i);
  }
  for (i = 0; i < sizeof(hashes) / sizeof(hashes[0]); ++i) {
    test_plain_answer = hashes[i];
    CHECK(test_hash_of(x) ==
          tvmffi_i_hash_combine((uint64_t)(int64_t)plain, (uint64_t)hashes[i]));
  }
#if TVMFFI_I_POOL /* a sanitizer's code may use the register */
  test_plain_answer = kTVMFFIError; /* the hash, not an error */
  CHECK(test_hash_of(x) ==
        tvmffi_i_hash_combine((uint64_t)(int64_t)plain, kTVMFFIError));
#endif
  for (i = 0; i < 3; ++i) { /* what else the second register may have */
    static const uint64_t others[] = {4095, 4097, ((uint64_t)1 << 56) + 4096};
    value.type_index = kTVMFFIError;
    value.zero_padding = 0;
    value.v_uint64 = others[i];
    tvmffi_i_take_plain(kTVMFFIInt, &value);
    CHECK(value.type_index == kTVMFFIInt && value.v_int64 == kTVMFFIError);
  }
}
#else
static void test_plain_equality(TVMFFI_HERE) {}
#endif

#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
/* Any number of threads read an array and a list that nobody changes. */
static TVMFFIAny test_read_array, test_read_list;
static void test_read_once(TVMFFI_HERE, int n) {
  TVMFFIAny any = tvmffi_none();
  OK(tvmffi_call(tvmffi_str("ffi.ArrayGetItem"), tvmffi_out_any(&any),
                 test_read_array, tvmffi_int(n % 3)));
  CHECK(n % 3 != 1 || any.type_index == kTVMFFIStr);
  OK(tvmffi_call(tvmffi_str("ffi.ListGetItem"), tvmffi_out_any(&any),
                 test_read_list, tvmffi_int(n % 3)));
  OK(tvmffi_call(tvmffi_str("ffi.ListContains"), tvmffi_out_any(&any),
                 test_read_list, tvmffi_str("c, a text that is long")));
  CHECK_INT(any.v_int64, 1);
}

static void test_read_work(int id) { test_repeat(test_read_once, id); }

static void test_contend_reading(TVMFFI_HERE) {
  TVMFFIAny views[3];
  views[0] = tvmffi_int(1);
  views[1] = tvmffi_str("b, a text that is long");
  views[2] = tvmffi_str("c, a text that is long");
  {
    SEQUENCE(array, "Array", views, 3);
    SEQUENCE(list, "List", views, 3);
    test_read_array = tvmffi_obj(array);
    test_read_list = tvmffi_obj(list);
    test_parallel(test_read_work);
    CHECK_INT(test_strong(((TVMFFIAny *)test_cell(list)->data)[1].v_obj), 1);
  }
}
#endif
#endif

static const test_case test_sequence_cases[] = {
#if !TEST_NO_ARRAYS && !TVMFFI_NO_CONTAINERS
    {"arrays: layout", test_array_layout},
    {"arrays: made to be filled", test_new_array},
    {"arrays: access", test_array_access},
    {"arrays: in the place of a list", test_array_for_list},
    {"lists: growth", test_list_growth},
    {"lists: insertions into full ones", test_list_full},
    {"lists: edit", test_list_edit},
    {"lists: slices", test_list_slices},
    {"lists: bad indices and values", test_list_bad_indices},
    {"lists: plain objects", test_plain_items},
    {"lists: of themselves", test_list_of_itself},
    {"lists: weak references", test_list_weak},
    {"lists: blocks of others", test_foreign_blocks},
    {"lists: blocks that nobody frees", test_static_block},
    {"lists: items that change them", test_changing_items},
    {"lists: a deep nest", test_deep_nest},
    {"equality: hashes", test_hashes},
    {"equality: what a sequence contains", test_contained},
    {"equality: a type's own", test_own_equality},
    {"equality: what is none", test_bad_equality},
    {"equality: hashes reduced", test_reduced_hashes},
    {"equality: a type's own, of before 0.1.15", test_plain_equality},
#endif
#if !TEST_NO_CONTENTION && !TVMFFI_NO_THREADS
#if !TEST_NO_ARRAYS && !TVMFFI_NO_CONTAINERS
    {"threads: arrays and lists that are read", test_contend_reading},
#endif
#endif
    {NULL, NULL}};
