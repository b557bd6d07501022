/* ======== Prototypes ======================================== >>platform/knot
   prototypes of functions that stand below */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "thread_state.h"

/* An error is an object, and to make one takes memory. */
TVMFFI_I_COLD int tvmffi_i_no_memory(void);
TVMFFI_I_PRINTF(2, 3)
TVMFFI_I_COLD int tvmffi_i_fail(const char *kind, const char *format, ...);

/* The end of a thread ends what the rooms below store for it. */
TVMFFI_I_UNUSED static void tvmffi_i_thread_exit(tvmffi_i_thread *t);
static void tvmffi_i_end_makers(tvmffi_i_thread *t, uintptr_t frame);
#if TVMFFI_I_POOL
static void tvmffi_i_pool_end(tvmffi_i_thread *t);
#endif

#if TVMFFI_I_FORK
/* A child of fork forgets the threads that it does not have. */
static void tvmffi_i_forget_readers(void);
static void tvmffi_i_forget_makers(void);
#endif

#if TVMFFI_DEBUG
/* The records of objects have a lock of their own. A fork must hold it. */
static void tvmffi_i_debug_lock(void);
static void tvmffi_i_debug_unlock(void);

/* The record of an object ends when its memory is freed. */
static int tvmffi_i_debug_dies(void *object);
#endif
