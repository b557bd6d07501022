/* ======== Sequences: arrays and lists ============== >>containers/sequence */
/* An array stores its items after its struct and is immutable once shared. A
   list stores its items in a separate block, which grows. Layout, capacities
   and growth are upstream's (container/array.h, list.h), because C++ and Rust
   clients access the items inline. Readers take no lock; a writer needs
   exclusive access. Items are released when the list is consistent, because
   their destructors may use the list.

   A C++ client may replace a list's block by a block from operator new, but
   keep data_deleter. Both blocks come from malloc, so data_deleter can free
   both. If TVMFFI_MALLOC is another allocator, only the functions below may
   grow lists. */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "equal.h"

#if !TVMFFI_NO_CONTAINERS
typedef struct {
  TVMFFIObject base;
  TVMFFISeqCell cell;
} tvmffi_i_seq;

TVMFFI_I_INLINE tvmffi_i_seq *tvmffi_i_seq_of(const void *object) {
  return (tvmffi_i_seq *)(uintptr_t)object;
}

#define TVMFFI_I_ITEMS(seq) ((TVMFFIAny *)(seq)->cell.data)

#if defined(__cplusplus)
extern "C" {
#endif
static void tvmffi_i_delete_items(void *data) { tvmffi_i_free(data); }
#if defined(__cplusplus)
}
#endif

/* Maximum number of items that fit into memory. */
#define TVMFFI_I_MAX_ITEMS \
  ((int64_t)((PTRDIFF_MAX - sizeof(tvmffi_i_seq)) / sizeof(TVMFFIAny)))

/* Sets *to to a copy of an owned Any. */
TVMFFI_I_INLINE void tvmffi_i_copy_owned(const TVMFFIAny *from, TVMFFIAny *to) {
  tvmffi_i_any_retain(from);
  *to = *from;
}

/* Copies `n` owned items. */
static void tvmffi_i_copy_span(TVMFFIAny *to, const TVMFFIAny *items,
                               size_t n) {
  size_t i;
  TVMFFI_ASSERT(items || !n);
  for (i = 0; i < n; ++i) tvmffi_i_copy_owned(&items[i], &to[i]);
}

TVMFFI_I_INLINE void tvmffi_i_destroy_seq(void *self, int flags) {
  tvmffi_i_seq *s = (tvmffi_i_seq *)self;
  const int is_array = s->base.type_index == kTVMFFIArray;
  const void *data = is_array ? s->cell.data : s + 1;
  const size_t within = is_array ? (size_t)s->cell.capacity : 0;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    TVMFFIAny *item = TVMFFI_I_ITEMS(s);
    int64_t left = s->cell.size;
    TVMFFI_ASSERT(left >= 0);
    for (; left > 0; --left, ++item)
      if (item->type_index >= kTVMFFIStaticObjectBegin)
        tvmffi_i_release(item->v_obj);
    if (s->cell.data_deleter) s->cell.data_deleter(s->cell.data);
  }
  tvmffi_i_delete_content(self, flags, sizeof(*s), data,
                          within * sizeof(TVMFFIAny));
}
TVMFFI_I_DELETER(seq)

/* Returns an empty array (owned), or NULL with the error raised. */
static tvmffi_i_seq *tvmffi_i_empty_array(size_t capacity) {
  tvmffi_i_seq *s;
  if (capacity > (size_t)TVMFFI_I_MAX_ITEMS) {
    (void)tvmffi_i_no_memory();
    return NULL;
  }
  s = (tvmffi_i_seq *)tvmffi_i_object(sizeof(*s) + capacity * sizeof(TVMFFIAny),
                                      kTVMFFIArray, tvmffi_i_delete_seq);
  if (!s) return s;
  s->cell.data = s + 1;
  s->cell.size = 0;
  s->cell.capacity = (int64_t)capacity;
  s->cell.data_deleter = NULL;
  return s;
}

/* Returns an empty list (owned), or NULL with the error raised. */
static TVMFFIObject *tvmffi_i_new_list(size_t capacity) {
  void *data = NULL;
  tvmffi_i_seq *s;
  if (capacity) {
    if (capacity <= (size_t)TVMFFI_I_MAX_ITEMS)
      data = tvmffi_i_alloc(capacity * sizeof(TVMFFIAny));
    if (!data) {
      (void)tvmffi_i_no_memory();
      return NULL;
    }
  }
  s = (tvmffi_i_seq *)tvmffi_i_object(sizeof(*s), kTVMFFIList,
                                      tvmffi_i_delete_seq);
  if (!s) {
    tvmffi_i_free(data);
    return NULL;
  }
  s->cell.data = data;
  s->cell.size = 0;
  s->cell.capacity = (int64_t)capacity;
  s->cell.data_deleter = tvmffi_i_delete_items;
  return &s->base;
}

/* Returns an empty array or list (owned) for `capacity` items, or NULL with the
   error raised. */
static tvmffi_i_seq *tvmffi_i_new_seq(int32_t index, size_t capacity) {
  TVMFFI_ASSERT(index == kTVMFFIArray || index == kTVMFFIList);
  return index == kTVMFFIArray
             ? tvmffi_i_empty_array(capacity)
             : tvmffi_i_seq_of(tvmffi_i_new_list(capacity));
}

/* Returns an array or list (owned) of `n` None values, or NULL with the error
   raised. The caller may set the items at *items until the array is shared. */
static TVMFFIObject *tvmffi_i_new_items(int32_t index, size_t n,
                                        TVMFFIAny **items) {
  tvmffi_i_seq *s = tvmffi_i_new_seq(index, n);
  if (!s) return NULL;
  TVMFFI_ASSERT(s->cell.capacity >= (int64_t)n);
  *items = TVMFFI_I_ITEMS(s);
  if (n) memset((void *)*items, 0, n * sizeof(TVMFFIAny));
  s->cell.size = (int64_t)n;
  return &s->base;
}

static TVMFFIObject *tvmffi_i_new_array(size_t n, TVMFFIAny **items) {
  return tvmffi_i_new_items(kTVMFFIArray, n, items);
}

/* Creates an array or list (owned, of type `index`) with the items of another
   sequence. */
static int tvmffi_i_convert_seq(const TVMFFISeqCell *from, int32_t index,
                                TVMFFIAny *out) {
  const size_t size = (size_t)from->size;
  tvmffi_i_seq *made = tvmffi_i_new_seq(index, size);
  if (!made) return -1;
  tvmffi_i_copy_span(TVMFFI_I_ITEMS(made), (const TVMFFIAny *)from->data, size);
  made->cell.size = from->size;
  return tvmffi_i_give_new(out, made);
}

TVMFFI_I_NOINLINE int tvmffi_i_set_capacity(tvmffi_i_seq *s, int64_t capacity) {
  size_t used = (size_t)s->cell.size * sizeof(TVMFFIAny), size;
  void *data = NULL;
  TVMFFI_ASSERT(s->base.type_index == kTVMFFIList);
  TVMFFI_ASSERT(capacity > 0 && capacity >= s->cell.size);
  if (capacity > TVMFFI_I_MAX_ITEMS) return tvmffi_i_no_memory();
  size = (size_t)capacity * sizeof(TVMFFIAny);
#if !defined(TVMFFI_MALLOC)
  /* For a few items, a copy is faster than realloc. */
  if (used > 512 && s->cell.data_deleter == tvmffi_i_delete_items) {
    data = realloc(s->cell.data, size);
    if (!data) return tvmffi_i_no_memory();
    s->cell.data = data;
    s->cell.capacity = capacity;
    return 0;
  }
#endif
  data = tvmffi_i_alloc(size);
  if (!data) return tvmffi_i_no_memory();
  if (used) memcpy(data, s->cell.data, used);
  if (s->cell.data_deleter) s->cell.data_deleter(s->cell.data);
  s->cell.data = data;
  s->cell.capacity = capacity;
  s->cell.data_deleter = tvmffi_i_delete_items;
  return 0;
}

/* Grows a list for `extra` more items. Doubles the capacity, or grows further
   if needed. */
TVMFFI_I_SLOW int tvmffi_i_seq_grow(tvmffi_i_seq *s, int64_t extra) {
  int64_t need = s->cell.size + extra, twice = s->cell.capacity;
  TVMFFI_ASSERT(extra > 0 && need > twice);
  if (twice <= TVMFFI_I_MAX_ITEMS / 2) twice *= 2;
  return tvmffi_i_set_capacity(s, twice > need ? twice : need);
}

TVMFFI_I_INLINE int tvmffi_i_seq_reserve(tvmffi_i_seq *s, int64_t extra) {
  if (TVMFFI_I_LIKELY(s->cell.capacity - s->cell.size >= extra)) return 0;
  return tvmffi_i_seq_grow(s, extra);
}

/* Appends a copy of `item` (borrowed, any view) to a list. */
TVMFFI_I_INLINE int tvmffi_i_list_append(TVMFFIObject *list,
                                         const TVMFFIAny *item) {
  tvmffi_i_seq *s = tvmffi_i_seq_of(list);
  TVMFFI_ASSERT(list->type_index == kTVMFFIList);
  TVMFFI_TRY(tvmffi_i_seq_reserve(s, 1));
  TVMFFI_TRY(tvmffi_i_own(item, &TVMFFI_I_ITEMS(s)[s->cell.size]));
  ++s->cell.size;
  return 0;
}

/* Returns an array or list whose items are copies of views. Takes ownership of
   `s`, an empty sequence, or NULL with the error raised. */
static int tvmffi_i_return_seq(tvmffi_i_seq *s, const TVMFFIAny *views,
                               int32_t n, TVMFFIAny *result) {
  TVMFFIAny *items;
  int32_t i;
  if (!s) return -1;
  TVMFFI_ASSERT(!s->cell.size && n <= s->cell.capacity);
  items = TVMFFI_I_ITEMS(s);
  for (i = 0; i < n; ++i) {
    int code = tvmffi_i_own(&views[i], &items[i]);
    s->cell.size = i;
    if (code) {
      tvmffi_i_release(s);
      return code;
    }
  }
  s->cell.size = n;
  return tvmffi_i_give_new(result, s);
}

TVMFFI_I_SLOW int tvmffi_i_no_index(int64_t i, int64_t size) {
  return tvmffi_i_fail("IndexError", "Index %lld out of bounds %lld",
                       (long long)i, (long long)size);
}

TVMFFI_I_SLOW int tvmffi_i_bad_position(int64_t i, int64_t size) {
  return tvmffi_i_fail("IndexError", "Index %lld out of bounds [0, %lld]",
                       (long long)i, (long long)size);
}

#define TVMFFI_I_CHECK_INDEX(seq, i)                                  \
  if (TVMFFI_I_UNLIKELY((uint64_t)(i) >= (uint64_t)(seq)->cell.size)) \
  return tvmffi_i_no_index(i, (seq)->cell.size)

static int tvmffi_i_check_range(const tvmffi_i_seq *s, int64_t first,
                                int64_t last) {
  if (first >= 0 && last <= s->cell.size && first < last) return 0;
  return tvmffi_i_fail(
      "IndexError", "Erase range [%lld, %lld) out of bounds %lld",
      (long long)first, (long long)last, (long long)s->cell.size);
}

/* Removes item `i` from a list and returns it (owned). */
TVMFFI_I_INLINE TVMFFIAny tvmffi_i_take_item(tvmffi_i_seq *s, int64_t i) {
  TVMFFIAny *gap = &TVMFFI_I_ITEMS(s)[i], item = *gap;
  TVMFFI_ASSERT(i >= 0 && i < s->cell.size);
  if (i < --s->cell.size)
    memmove(gap, gap + 1, (size_t)(s->cell.size - i) * sizeof(*gap));
  return item;
}

/* Removes the items [first, last). First releases these items and sets them to
   None. A destructor may change the list, so the second loop removes only items
   that are None. */
static void tvmffi_i_erase(tvmffi_i_seq *s, size_t first, size_t last) {
  TVMFFIAny *items;
  size_t i;
  TVMFFI_ASSERT(first <= last && last <= (size_t)s->cell.size);
  for (i = first; i < last && i < (size_t)s->cell.size; ++i)
    tvmffi_i_any_release(&TVMFFI_I_ITEMS(s)[i]);
  items = TVMFFI_I_ITEMS(s);
  for (i = first; i < (size_t)s->cell.size; ++i)
    if (i >= last || items[i].type_index != kTVMFFINone)
      items[first++] = items[i];
  if (first < (size_t)s->cell.size) s->cell.size = (int64_t)first;
}

/* Inserts `n` uninitialised items before item `i` and returns their address. */
TVMFFI_I_INLINE TVMFFIAny *tvmffi_i_open_gap(tvmffi_i_seq *s, int64_t i,
                                             int64_t n) {
  TVMFFIAny *gap = &TVMFFI_I_ITEMS(s)[i];
  TVMFFI_ASSERT(i >= 0 && i <= s->cell.size);
  TVMFFI_ASSERT(n > 0 && n <= s->cell.capacity - s->cell.size);
  memmove(gap + n, gap, (size_t)(s->cell.size - i) * sizeof(TVMFFIAny));
  s->cell.size += n;
  return gap;
}

static int tvmffi_i_insert_items(tvmffi_i_seq *s, int64_t at,
                                 const tvmffi_i_seq *from) {
  const int64_t n = from->cell.size;
  TVMFFI_ASSERT(from != s);
  if (n == 0) return 0;
  TVMFFI_TRY(tvmffi_i_seq_reserve(s, n));
  if (at < 0 || at > s->cell.size)
    return tvmffi_i_bad_position(at, s->cell.size);
  tvmffi_i_copy_span(tvmffi_i_open_gap(s, at, n), TVMFFI_I_ITEMS(from),
                     (size_t)n);
  return 0;
}

static int tvmffi_i_contains(TVMFFIObject *seq, const TVMFFIAny *view,
                             TVMFFIAny *result) {
  const tvmffi_i_seq *s = tvmffi_i_seq_of(seq);
  TVMFFIAny value;
  size_t i;
  int has = 0;
  TVMFFI_TRY(tvmffi_i_own(view, &value));
  for (i = 0; !has && i < (size_t)s->cell.size; ++i)
    has = tvmffi_i_any_equal(&TVMFFI_I_ITEMS(s)[i], &value);
  tvmffi_i_any_release(&value);
  if (has < 0) return has;
  *result = tvmffi_bool(has);
  return 0;
}

#endif
