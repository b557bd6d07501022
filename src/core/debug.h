/* ======== Debug records: live and dead objects, leaks ====== >>core/debug */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "core_knot.h"

#if TVMFFI_DEBUG
/* The record of an object. Freeing is delayed: the header of a dead object
   stays, with a deleter that reports any later release. The records have their
   own lock, because objects also die while a thread holds the mutex. */
typedef struct {
  TVMFFIObject *object;
  void *memory;
  void (*delete_space)(void *); /* the client's, for a client's memory */
  int32_t type_index;
  int is_dead, is_used;   /* is_used: a use after its death was reported */
  int has_counted_items;  /* leak report: its items were counted */
  int64_t num_registered; /* leak report: references from registries */
  /* The source lines that obtained the object first and last, and that released
     it last and once more: "file:line", "the end of the scope at file:line", or
     empty. */
  char made[80], obtained[80], released[80], again[80];
} tvmffi_i_record;

/* An entry of tvmffi_i_debug_table, which maps an object's address to the
   object's record. */
typedef struct {
  uintptr_t object;
  tvmffi_i_record *record;
} tvmffi_i_debugged;

enum { TVMFFI_I_NUM_DEAD = 1024 };
static tvmffi_i_records tvmffi_i_debug_table;
static tvmffi_i_record *tvmffi_i_dead[TVMFFI_I_NUM_DEAD]; /* ring buffer */
static uint32_t tvmffi_i_num_dead;
static char tvmffi_i_complaint[480]; /* first message since a report */
static int64_t tvmffi_i_num_complaints;
/* Serializes the use of all of these. A thread that locks the runtime's mutex,
   too, locks that first. */
static void *tvmffi_i_debug_mutex;

static void tvmffi_i_debug_lock(void) {
#if TVMFFI_NO_THREADS
  tvmffi_i_debug_mutex = &tvmffi_i_debug_mutex;
#else
  int attempt = 0;
  while (!tvmffi_i_cas_pointer(&tvmffi_i_debug_mutex, NULL,
                               &tvmffi_i_debug_mutex))
    tvmffi_i_pause(attempt++);
#endif
}
static void tvmffi_i_debug_unlock(void) {
  TVMFFI_I_STORE(&tvmffi_i_debug_mutex, NULL);
}

/* Returns an object's record, or NULL. */
static tvmffi_i_record *tvmffi_i_record_of(const void *object) {
  const tvmffi_i_debugged *d = (const tvmffi_i_debugged *)tvmffi_i_find_record(
      &tvmffi_i_debug_table, sizeof(*d), 1, (uintptr_t)object, 0);
  return d ? d->record : NULL;
}

static void tvmffi_i_forget_record(const tvmffi_i_record *r) {
  TVMFFI_ASSERT(tvmffi_i_record_of(r->object) == r);
  tvmffi_i_remove_record(&tvmffi_i_debug_table, sizeof(tvmffi_i_debugged),
                         (uintptr_t)r->object);
}

/* Moves *d to the next entry of the table, or to the first if *d is NULL.
   Returns the entry's record, or NULL at the end. */
static tvmffi_i_record *tvmffi_i_each_record(tvmffi_i_debugged **d) {
  TVMFFI_ASSERT(TVMFFI_I_LOAD(&tvmffi_i_debug_mutex));
  *d = (tvmffi_i_debugged *)tvmffi_i_next_record(&tvmffi_i_debug_table,
                                                 sizeof(**d), *d);
  return *d ? (*d)->record : NULL;
}

/* Adds the record of a new object. Without memory for a record, the object is
   not tracked. */
static tvmffi_i_record *tvmffi_i_debug_made(void *object, void *memory,
                                            int32_t type_index) {
  tvmffi_i_record *r = TVMFFI_I_NEW(tvmffi_i_record, sizeof(*r)), *had = NULL;
  tvmffi_i_debugged *d;
  if (!r) return NULL;
  r->object = (TVMFFIObject *)object;
  r->memory = memory;
  r->type_index = type_index;
  r->is_dead = r->is_used = 0;
  r->made[0] = r->obtained[0] = r->released[0] = r->again[0] = 0;
  tvmffi_i_debug_lock();
  d = (tvmffi_i_debugged *)tvmffi_i_add_record(
      &tvmffi_i_debug_table, sizeof(*d), 1, (uintptr_t)object, 0);
  if (d && !d->record)
    d->record = r;
  else if (d)
    (had = d->record)->type_index = type_index;
  TVMFFI_ASSERT(!had || (!had->is_dead && had->object == object));
  tvmffi_i_debug_unlock();
  if (d && !had) return r;
  TVMFFI_I_FREE(r);
  return had;
}

/* Frees an object of the client's allocator without delay, because the client
   may reuse the memory. */
static void tvmffi_i_debug_delete(void *object) {
  tvmffi_i_record *r;
  tvmffi_i_debug_lock();
  r = tvmffi_i_record_of(object);
  if (!r) r = tvmffi_i_record_of(&((tvmffi_i_module *)object)->base);
  TVMFFI_ASSERT(r && r->delete_space);
  tvmffi_i_forget_record(r);
  tvmffi_i_debug_unlock();
  ((TVMFFIObjectAllocHeader *)object - 1)->delete_space = r->delete_space;
  r->delete_space(object);
  TVMFFI_I_FREE(r);
}

/* Appends a label and a source line, unless the line is empty. */
static void tvmffi_i_debug_line(tvmffi_i_text *t, const char *label,
                                const char *line) {
  if (!*line) return;
  tvmffi_i_append(t, label);
  tvmffi_i_append(t, line);
}

#if defined(__cplusplus)
extern "C" {
#endif
/* The deleter of a dead object, for a release (with flags) and for another use,
   of which it prints only the first. Prints a message instead of raising an
   error, because any code may release an object. The leak report shows the
   first message. */
static void tvmffi_i_debug_complain(void *self, int flags) {
  char text[sizeof(tvmffi_i_complaint)];
  tvmffi_i_text t = {text, 0, sizeof(text)};
  tvmffi_i_record *r;
  ((TVMFFIObject *)self)->combined_ref_count = TVMFFI_I_BOTH_ONE;
  tvmffi_i_start_types();
  tvmffi_i_debug_lock();
  r = tvmffi_i_record_of(self);
  TVMFFI_ASSERT(!r || r->is_dead);
  if (r && !flags && r->is_used++) {
    tvmffi_i_debug_unlock();
    return;
  }
  tvmffi_i_append(&t, flags ? "double release: " : "use after release: ");
  tvmffi_i_append(&t, tvmffi_i_type_name(r ? r->type_index : -1));
  if (r) {
    tvmffi_i_debug_line(&t, ", obtained at ", r->made);
    tvmffi_i_debug_line(&t, ", last obtained at ", r->obtained);
    tvmffi_i_debug_line(&t, ", last released at ", r->released);
    tvmffi_i_debug_line(&t, ", released again at ", r->again);
  }
  tvmffi_i_append(&t, "\n");
  if (!tvmffi_i_num_complaints++)
    memcpy(tvmffi_i_complaint, text, sizeof(text));
  tvmffi_i_debug_unlock();
#if !TVMFFI_NO_STDIO
  (void)fputs(text, stderr);
#endif
}
#if defined(__cplusplus)
}
#endif

/* Marks an object dead and delays freeing it. If the ring buffer is full, frees
   the oldest dead object. Returns 0 for an object without a record. */
static int tvmffi_i_debug_died(void *object) {
  tvmffi_i_record *r, *old = NULL, **at;
  tvmffi_i_debug_lock();
  r = tvmffi_i_record_of(object);
  if (r && !r->is_dead) {
    r->is_dead = 1;
    r->object->combined_ref_count = TVMFFI_I_BOTH_ONE;
    r->object->deleter = tvmffi_i_debug_complain;
    r->object->__padding = TVMFFI_I_DEAD;
    at = &tvmffi_i_dead[tvmffi_i_num_dead++ % TVMFFI_I_NUM_DEAD];
    old = *at;
    TVMFFI_ASSERT(!old || old->is_dead);
    *at = r;
    if (old) tvmffi_i_forget_record(old);
  }
  tvmffi_i_debug_unlock();
  if (old) {
    TVMFFI_I_FREE(old->memory);
    TVMFFI_I_FREE(old);
  }
  return r != NULL;
}

#endif
