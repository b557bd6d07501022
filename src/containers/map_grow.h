/* ======== Map growth: insertion and growth ========= >>containers/map_grow */

#pragma once

#include "../head.h"
#include "../base.h"
#include "../platform.h"
#include "../core.h"
#include "map_key.h"
#include "map_memory.h"

#if !TVMFFI_NO_CONTAINERS
/* Frees a map's storage and uses `data` instead, which already contains the
   map's entries. */
static void tvmffi_i_map_replace(tvmffi_i_map_object *m, void *data,
                                 uint64_t num_slots) {
  TVMFFI_ASSERT(data && data != m->data);
  tvmffi_i_map_free_data(m);
  m->data = data;
  m->data_deleter = tvmffi_i_free;
  m->num_slots = num_slots;
}

static int tvmffi_i_map_grow_row(tvmffi_i_map_object *m) {
  size_t places = tvmffi_i_map_places(m) * 2;
  void *data;
  TVMFFI_ASSERT(tvmffi_i_map_is_row(m) && m->size < TVMFFI_I_MAP_ROW_MAX);
  if (places < TVMFFI_I_MAP_ROW_MIN) places = TVMFFI_I_MAP_ROW_MIN;
  data = tvmffi_i_alloc(places * sizeof(tvmffi_i_pair));
  if (!data) return tvmffi_i_no_memory();
  if (m->size) memcpy(data, m->data, (size_t)m->size * sizeof(tvmffi_i_pair));
  tvmffi_i_map_replace(m, data, places | TVMFFI_I_MAP_IS_ROW);
  return 0;
}

/* Appends the entry in slot `i` to the insertion order. */
TVMFFI_I_INLINE void tvmffi_i_map_link(tvmffi_i_map_object *m,
                                       tvmffi_i_map_item *item, size_t i) {
  TVMFFI_ASSERT(item == tvmffi_i_map_at(m->data, i));
  TVMFFI_ASSERT(*tvmffi_i_map_meta(m->data, i) < TVMFFI_I_MAP_PROTECTED);
  item->prev = m->tail;
  item->next = TVMFFI_I_MAP_LINK(TVMFFI_I_MAP_END);
  if ((size_t)m->tail != TVMFFI_I_MAP_END)
    tvmffi_i_map_at(m->data, (size_t)m->tail)->next = i;
  else
    m->head = i;
  m->tail = i;
}

/* Sets the two links to `item`: to `next` in the preceding entry or the map's
   head, to `prev` in the following entry or the map's tail. */
TVMFFI_I_INLINE void tvmffi_i_map_join(tvmffi_i_map_object *m,
                                       const tvmffi_i_map_item *item,
                                       uint64_t next, uint64_t prev) {
  const size_t before = (size_t)item->prev, after = (size_t)item->next;
  TVMFFI_ASSERT(before == TVMFFI_I_MAP_END || before < m->num_slots);
  TVMFFI_ASSERT(after == TVMFFI_I_MAP_END || after < m->num_slots);
  *(before != TVMFFI_I_MAP_END ? &tvmffi_i_map_at(m->data, before)->next
                               : &m->head) = next;
  *(after != TVMFFI_I_MAP_END ? &tvmffi_i_map_at(m->data, after)->prev
                              : &m->tail) = prev;
}

TVMFFI_I_INLINE void tvmffi_i_map_unlink(tvmffi_i_map_object *m,
                                         const tvmffi_i_map_item *item) {
  tvmffi_i_map_join(m, item, item->next, item->prev);
}

/* Finds an empty slot that can follow slot `i`, the end of a bucket chain, and
   stores it in *to. Returns the jump from `i` to the empty slot, or 0 if all
   slots in range are taken. */
TVMFFI_I_INLINE uint8_t tvmffi_i_map_find_free(const tvmffi_i_map_object *m,
                                               size_t i, size_t *to) {
  uint8_t jump;
  for (jump = 1; jump < TVMFFI_I_MAP_NUM_JUMPS; ++jump) {
    *to = tvmffi_i_map_next(m, i, jump);
    if (*tvmffi_i_map_meta(m->data, *to) == TVMFFI_I_MAP_EMPTY) return jump;
  }
  return 0;
}

TVMFFI_I_INLINE void tvmffi_i_map_set_jump(const tvmffi_i_map_object *m,
                                           size_t i, uint8_t jump) {
  uint8_t *meta = tvmffi_i_map_meta(m->data, i);
  TVMFFI_ASSERT(jump < TVMFFI_I_MAP_NUM_JUMPS &&
                *meta < TVMFFI_I_MAP_PROTECTED);
  *meta = (uint8_t)((*meta & TVMFFI_I_MAP_BODY) | jump);
}

/* Appends an empty slot to the bucket chain that begins at slot `i`. Sets *to
   to the new slot. Returns 1, or 0 if all slots in range are taken. */
TVMFFI_I_INLINE int tvmffi_i_map_extend(const tvmffi_i_map_object *m,
                                        size_t i, size_t *to) {
  uint8_t meta, jump;
  TVMFFI_ASSERT(!(*tvmffi_i_map_meta(m->data, i) & TVMFFI_I_MAP_BODY));
  while ((meta = *tvmffi_i_map_meta(m->data, i)) & TVMFFI_I_MAP_JUMP)
    i = tvmffi_i_map_next(m, i, meta);
  jump = tvmffi_i_map_find_free(m, i, to);
  if (!jump) return 0;
  tvmffi_i_map_set_jump(m, i, jump);
  *tvmffi_i_map_meta(m->data, *to) = TVMFFI_I_MAP_BODY;
  return 1;
}

/* Copies the entries of `from`, which may be a small map, to the empty hash
   table `to`. `moved` is memory for one number per slot of `from`. Returns 1 on
   success, 0 if a bucket chain finds no empty slot, or an error code. */
static int tvmffi_i_map_refill(tvmffi_i_map_object *to,
                               const tvmffi_i_map_object *from,
                               size_t *moved) {
  const size_t waits = ~(SIZE_MAX >> 1); /* the highest bit */
  const int is_row = tvmffi_i_map_is_row(from);
  const size_t n = (size_t)(is_row ? from->size : from->num_slots);
  size_t i, home;
  uint64_t hash;
  TVMFFI_ASSERT(!is_row || n <= to->num_slots - to->num_slots / 8);
  /* First pass: fill all home slots, so that no entry is evicted later. The
     home slots nearly ascend with `i`, so the processor can prefetch. */
  for (i = 0; i < n; ++i) {
    const tvmffi_i_pair *pair = tvmffi_i_map_pair(&from->base, i);
    uint8_t *meta;
    moved[i] = TVMFFI_I_MAP_END;
    if (!pair) continue;
    TVMFFI_TRY(tvmffi_i_map_hash_stored(from, &pair->key, &hash));
    home = tvmffi_i_map_home(to, hash);
    meta = tvmffi_i_map_meta(to->data, home);
    moved[i] = home | (*meta == TVMFFI_I_MAP_EMPTY ? 0 : waits);
    if (moved[i] & waits) continue;
    *meta = 0;
    tvmffi_i_map_at(to->data, home)->pair = *pair;
    /* Until the third pass, `next` of a chain's first entry stores the chain's
       last slot. There the second pass appends. */
    tvmffi_i_map_at(to->data, home)->next = home;
  }
  /* Second pass: append the other entries to their bucket chains. */
  for (i = 0; i < n; ++i) {
    tvmffi_i_map_item *first;
    size_t last;
    uint8_t jump;
    if (moved[i] == TVMFFI_I_MAP_END || !(moved[i] & waits)) continue;
    first = tvmffi_i_map_at(to->data, moved[i] & ~waits);
    last = (size_t)first->next;
    TVMFFI_ASSERT(!(*tvmffi_i_map_meta(to->data, last) & TVMFFI_I_MAP_JUMP));
    jump = tvmffi_i_map_find_free(to, last, &moved[i]);
    if (!jump) return 0;
    tvmffi_i_map_set_jump(to, last, jump);
    *tvmffi_i_map_meta(to->data, moved[i]) = TVMFFI_I_MAP_BODY;
    tvmffi_i_map_at(to->data, moved[i])->pair =
        *tvmffi_i_map_pair(&from->base, i);
    first->next = moved[i];
  }
  /* Third pass: link the entries in insertion order. */
  to->head = to->tail = TVMFFI_I_MAP_LINK(TVMFFI_I_MAP_END);
  for (i = 0; is_row && i < n; ++i)
    tvmffi_i_map_link(to, tvmffi_i_map_at(to->data, moved[i]), moved[i]);
  if (is_row) return 1;
  for (i = 0; i < n; ++i) {
    const tvmffi_i_map_item *item = tvmffi_i_map_at(from->data, i);
    tvmffi_i_map_item *copy;
    size_t prev, next;
    if (moved[i] == TVMFFI_I_MAP_END) continue;
    prev = (size_t)item->prev;
    next = (size_t)item->next;
    TVMFFI_ASSERT(prev == TVMFFI_I_MAP_END ? from->head == i
                                           : moved[prev] != TVMFFI_I_MAP_END);
    TVMFFI_ASSERT(next == TVMFFI_I_MAP_END ? from->tail == i
                                           : moved[next] != TVMFFI_I_MAP_END);
    copy = tvmffi_i_map_at(to->data, moved[i]);
    copy->prev = prev == TVMFFI_I_MAP_END ? item->prev : moved[prev];
    copy->next = next == TVMFFI_I_MAP_END ? item->next : moved[next];
  }
  if (from->size) { /* else upstream may leave any head and tail */
    to->head = moved[(size_t)from->head];
    to->tail = moved[(size_t)from->tail];
  }
  return 1;
}

/* Gives a map a new hash table with the entries of `from`, which is m itself,
   or a small map without duplicate keys. The table has `num_slots` slots, or
   more if a bucket chain finds no empty slot. The map is unchanged until the
   new table is complete. `moved` is memory for tvmffi_i_map_refill. */
static int tvmffi_i_map_rebuild(tvmffi_i_map_object *m,
                                const tvmffi_i_map_object *from,
                                size_t num_slots, size_t *moved) {
  tvmffi_i_map_object grown = *m;
  int code = 0;
  TVMFFI_ASSERT(from->size <= num_slots);
  for (; code == 0; num_slots *= 2) {
    grown.num_slots = num_slots;
    grown.fib_shift = tvmffi_i_map_shift(num_slots);
    grown.data = tvmffi_i_map_new_table(num_slots);
    code = grown.data ? tvmffi_i_map_refill(&grown, from, moved) : -1;
    if (code > 0) break;
    tvmffi_i_free(grown.data);
  }
  if (code < 0) return code;
  tvmffi_i_map_replace(m, grown.data, grown.num_slots);
  m->fib_shift = grown.fib_shift;
  m->head = grown.head;
  m->tail = grown.tail;
  m->size = from->size;
  return 0;
}

/* Gives a small map a hash table, or doubles the slots of a hash table. On
   failure the map is unchanged. */
TVMFFI_I_NOINLINE int tvmffi_i_map_grow_table(tvmffi_i_map_object *m) {
  size_t few[64], *moved = few;
  size_t wanted = tvmffi_i_map_is_row(m) ? 0 : (size_t)m->num_slots * 2;
  int code;
  TVMFFI_ASSERT(m->size <= (m->num_slots & ~TVMFFI_I_MAP_IS_ROW));
  if (wanted < TVMFFI_I_MAP_TABLE_MIN) wanted = TVMFFI_I_MAP_TABLE_MIN;
  if (wanted > 2 * sizeof(few) / sizeof(few[0])) {
    moved = (size_t *)tvmffi_i_alloc((size_t)m->num_slots * sizeof(*moved));
    if (!moved) return tvmffi_i_no_memory();
  }
  code = tvmffi_i_map_rebuild(m, m, wanted, moved);
  if (moved != few) tvmffi_i_free(moved);
  return code;
}

/* A move of an entry to another slot, recorded so that it can be undone. */
typedef struct {
  size_t from, to, link; /* old slot, new slot, previous slot in chain */
  uint8_t from_meta, link_meta;
} tvmffi_i_map_move;

static void tvmffi_i_map_move_item(tvmffi_i_map_object *m, size_t from,
                                   size_t to) {
  tvmffi_i_map_item *item = tvmffi_i_map_at(m->data, to);
  TVMFFI_ASSERT(from != to);
  *item = *tvmffi_i_map_at(m->data, from);
  tvmffi_i_map_join(m, item, to, to);
}

/* Moves the entry in slot `target` and all later entries of the bucket chain to
   empty slots. `link` is the slot before `target`. Returns 1, or 0 with all
   moves undone if an entry finds no empty slot in range. */
static int tvmffi_i_map_move_chain(tvmffi_i_map_object *m, size_t target,
                                   size_t link, tvmffi_i_map_move *moves) {
  size_t from = target, n = 0;
  TVMFFI_ASSERT(tvmffi_i_map_next(m, link,
                                  *tvmffi_i_map_meta(m->data, link)) ==
                target);
  for (;;) {
    tvmffi_i_map_move *move = &moves[n];
    uint8_t jump = tvmffi_i_map_find_free(m, link, &move->to);
    if (!jump) break;
    move->from = from;
    move->link = link;
    move->from_meta = *tvmffi_i_map_meta(m->data, from);
    move->link_meta = *tvmffi_i_map_meta(m->data, link);
    tvmffi_i_map_move_item(m, from, move->to);
    *tvmffi_i_map_meta(m->data, move->to) = TVMFFI_I_MAP_BODY;
    *tvmffi_i_map_meta(m->data, from) =
        from == target ? TVMFFI_I_MAP_PROTECTED : TVMFFI_I_MAP_EMPTY;
    tvmffi_i_map_set_jump(m, link, jump);
    ++n;
    if (!(move->from_meta & TVMFFI_I_MAP_JUMP)) return 1;
    link = move->to;
    from = tvmffi_i_map_next(m, from, move->from_meta);
  }
  while (n-- > 0) {
    tvmffi_i_map_move_item(m, moves[n].to, moves[n].from);
    *tvmffi_i_map_meta(m->data, moves[n].to) = TVMFFI_I_MAP_EMPTY;
    *tvmffi_i_map_meta(m->data, moves[n].from) = moves[n].from_meta;
    *tvmffi_i_map_meta(m->data, moves[n].link) = moves[n].link_meta;
  }
  return 0;
}

/* Vacates slot `target` by moving its entry and all later entries of the bucket
   chain. Returns 1 on success, 0 if the table must grow, or an error code. */
TVMFFI_I_SLOW int tvmffi_i_map_evict(tvmffi_i_map_object *m, size_t target) {
  tvmffi_i_map_move few[16], *moves = few;
  size_t link, i, n = 1;
  uint64_t hash;
  uint8_t meta;
  int code;
  TVMFFI_ASSERT(*tvmffi_i_map_meta(m->data, target) & TVMFFI_I_MAP_BODY);
  TVMFFI_TRY(tvmffi_i_map_hash_stored(
      m, &tvmffi_i_map_at(m->data, target)->pair.key, &hash));
  /* The key's hash may have changed since insertion. Then the chain may not
     contain `target`, or the home slot may be empty, and the table must
     grow. */
  link = tvmffi_i_map_home(m, hash);
  for (;;) {
    meta = *tvmffi_i_map_meta(m->data, link);
    if (meta >= TVMFFI_I_MAP_PROTECTED || !(meta & TVMFFI_I_MAP_JUMP)) return 0;
    i = tvmffi_i_map_next(m, link, meta);
    if (i == target) break;
    link = i;
  }
  while ((meta = *tvmffi_i_map_meta(m->data, i)) & TVMFFI_I_MAP_JUMP) {
    i = tvmffi_i_map_next(m, i, meta);
    ++n;
  }
  if (n > sizeof(few) / sizeof(few[0])) {
    moves = (tvmffi_i_map_move *)tvmffi_i_alloc(n * sizeof(*moves));
    if (!moves) return tvmffi_i_no_memory();
  }
  code = tvmffi_i_map_move_chain(m, target, link, moves);
  if (moves != few) tvmffi_i_free(moves);
  return code;
}

/* Reserves slot *i for a new key. Returns 1 on success, 0 if the table must
   grow, or an error code. Like upstream's TryInsert, checks the load factor
   only if the home slot is taken. */
TVMFFI_I_INLINE int tvmffi_i_map_take_slot(tvmffi_i_map_object *m,
                                           uint64_t hash, size_t *i) {
  size_t home;
  uint8_t *meta;
  int code;
  if (!m->num_slots) return 0;
  home = tvmffi_i_map_home(m, hash);
  meta = tvmffi_i_map_meta(m->data, home);
  *i = home;
  if (*meta != TVMFFI_I_MAP_EMPTY) {
    if (((size_t)m->size + 1) * 100 > (size_t)m->num_slots * 99) return 0;
    if (!(*meta & TVMFFI_I_MAP_BODY)) return tvmffi_i_map_extend(m, home, i);
    code = tvmffi_i_map_evict(m, home);
    if (code <= 0) return code;
  }
  *meta = 0;
  return 1;
}

/* Adds an entry for a new key to a hash table. Sets *pair to the entry, which
   the caller fills. On failure the entries are unchanged. */
TVMFFI_I_INLINE int tvmffi_i_map_add_to_table(tvmffi_i_map_object *m,
                                              uint64_t hash,
                                              tvmffi_i_pair **pair) {
  size_t i;
  tvmffi_i_map_item *item;
  int code;
  while ((code = tvmffi_i_map_take_slot(m, hash, &i)) == 0)
    TVMFFI_TRY(tvmffi_i_map_grow_table(m));
  if (code < 0) return code;
  TVMFFI_ASSERT(m->size < m->num_slots);
  item = tvmffi_i_map_at(m->data, i);
  tvmffi_i_map_link(m, item, i);
  ++m->size;
  *pair = &item->pair;
  return 0;
}
#endif
