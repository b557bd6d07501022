/* What each task does with the runtime, for the programs of all systems. */

#ifndef WORK_H_
#define WORK_H_

#include <string.h>

#include "tvmffi.h"

TVMFFI_FUNC(work_add, int64, (int64, a), (int64, b)) { TVMFFI_RETURN(a + b); }

TVMFFI_FUNC(work_refuse, int64, (int64, who)) {
  return TVMFFI_RAISE("ValueError", "task %d", (int)who);
}

static TVMFFIObject *work_shared; /* all tasks retain and release it */

static inline int work_register(void) {
  TVMFFI_SCOPE;
  TVMFFI_TRY(TVMFFI_REGISTER("work.add", work_add));
  TVMFFI_TRY(TVMFFI_REGISTER("work.refuse", work_refuse));
  tvmffi_keep(&work_shared, tvmffi_list(1, 2, 3));
  return work_shared ? 0 : -1;
}

/* Changes a count that the other tasks change, too. */
static inline void work_share(void) {
  int i;
  for (i = 0; i < 64; ++i) tvmffi_retain(work_shared);
  for (i = 0; i < 64; ++i) tvmffi_release(work_shared);
}

/* 1 if no change of the count was lost. Called when the other tasks ended. */
static inline int work_is_count_right(void) {
  return (uint32_t)work_shared->combined_ref_count == 1;
}

/* Leaves an error pending. Returns 0 if there is none. */
static inline int work_raise(int who) {
  int64_t result;
  return tvmffi_call("work.refuse", &result, who) == -1;
}

/* Takes the pending error, which must be that of work_raise(who). */
static inline int work_is_own_error(int who) {
  TVMFFI_SCOPE;
  TVMFFIObject *error = tvmffi_error_take();
  char expected[] = "task 0";
  int is_own;
  if (!error) return 0;
  expected[5] = (char)('0' + who);
  is_own = !strcmp(TVMFFIErrorGetCellPtr(error)->message.data, expected);
  return is_own;
}

/* Registers the function under one of four names, which writes shared
   tables. */
static inline int work_rename(int i) {
  char text[] = "work.0";
  TVMFFIByteArray add = tvmffi_byte_array("work.add");
  TVMFFIByteArray name = tvmffi_byte_array(text);
  TVMFFIObjectHandle function = NULL;
  int code;
  text[5] = (char)('0' + i % 4);
  TVMFFI_TRY(TVMFFIFunctionGetGlobal(&add, &function));
  code = TVMFFIFunctionSetGlobal(&name, function, 1);
  tvmffi_release(function);
  return code;
}

/* Returns how many results were wrong. `pause` lets other tasks run. */
static inline int work(int who, int rounds, void (*pause)(void)) {
  int i, wrong = 0;
  for (i = 0; i < rounds; ++i) {
    TVMFFI_SCOPE;
    int64_t sum = 0;
    TVMFFIObject *list = tvmffi_list(i, "a string that is not small", who);
    wrong += tvmffi_call("work.add", &sum, i, who) || sum != i + who;
    wrong += !work_raise(who);
    if (i % 8 == 0) pause();
    wrong += !work_is_own_error(who);
    wrong += !list || tvmffi_size(list) != 3;
    wrong += work_rename(i) != 0;
    work_share();
  }
  return wrong;
}

#endif
