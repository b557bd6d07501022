/* ======== Platform: hash tables, rounding, text buffers =================== */

#pragma once

#include "harness.h"

#if !TEST_NO_VALUES
/* Known answers of the hashes, because a worse hash would be only slower. */
static void test_known_hashes(void) {
#if defined(__SIZEOF_INT128__) && !defined(__wasm__) && \
    !TVMFFI_FREESTANDING && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  static const char text[] =
      "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvw";
  uint32_t all = 0;
  size_t size;
  for (size = 0; size < sizeof(text); ++size)
    all = all * 31 + tvmffi_i_hash(text, size);
  CHECK_INT(all, 0xF5D726E9u);
#endif
  CHECK_INT(tvmffi_i_hash_words(1, 1, 2), 0x9E3779B9u);
  CHECK_INT(tvmffi_i_hash_words(2, 1, 2), 0x4B50083Cu);
  if (TVMFFI_I_TAG == 7) CHECK_INT(tvmffi_i_tag(0xB0000000u), 5);
}

/* Two keys are equal if all bytes are, whatever lies behind them. */
static void test_same_keys(TVMFFI_HERE) {
  char a[40], b[40];
  size_t size, i;
  test_known_hashes();
  memset(a, 'a', sizeof(a));
  memset(b, 'a', sizeof(b));
  for (size = 0; size < sizeof(a); ++size) {
    b[size] = 'b';
    CHECK(tvmffi_i_same_key(a, b, size));
    b[size] = 'a';
    for (i = 0; i < size; ++i) {
      b[i] = 'b';
      CHECK(!tvmffi_i_same_key(a, b, size));
      b[i] = 'a';
    }
  }
}

/* A node cannot have a name of 4 GB. Sizes that are not huge can be added. */
static void test_huge_name(TVMFFI_HERE) {
  tvmffi_i_name_table table;
  int code;
  memset((void *)&table, 0, sizeof(table));
  tvmffi_i_lock();
  code = tvmffi_i_reserve(&table, UINT32_MAX);
  tvmffi_i_unlock();
  CHECK_INT(code, -1);
  CHECK(!table.table);
  CHECK(!tvmffi_i_is_huge(PTRDIFF_MAX / 4));
  CHECK(tvmffi_i_is_huge((size_t)PTRDIFF_MAX / 4 + 1));
}

#if !TVMFFI_NO_CONTAINERS
/* Words of up to 8 bytes, between other bytes. */
static void test_little_words(TVMFFI_HERE) {
  static const char text[] = "abcdefghijkl";
  uint64_t word = 0;
  size_t size;
  for (size = 0; size <= 8; ++size) {
    CHECK(tvmffi_i_little_word(text, size) == word);
    if (size < 8) word |= (uint64_t)(unsigned char)text[size] << (8 * size);
  }
}

/* The distances in bucket chains grow, and from 21 on are the sums of 1 to n:
   8 times one, plus 1, is a square. With 32 bits, the distances from 100 on
   count modulo 2^32. */
static void test_map_distances(TVMFFI_HERE) {
  const int end = sizeof(size_t) < 8 ? 100 : TVMFFI_I_MAP_NUM_JUMPS;
  int i;
  for (i = 0; i < end; ++i) {
    const uint64_t jump = tvmffi_i_map_jump(i);
    uint64_t n = 0, bit;
    if (i < 16) CHECK_INT(jump, i);
    if (i < 16) continue;
    CHECK(jump > tvmffi_i_map_jump(i - 1));
    if (i < 83) CHECK_INT(jump, (i - 10) * (i - 9) / 2);
    for (bit = (uint64_t)1 << 31; bit; bit /= 2)
      if ((n + bit) * (n + bit + 1) / 2 <= jump) n += bit;
    CHECK(n * (n + 1) / 2 == jump);
  }
}
#endif

/* A removed node's slot is used again, and a larger table has no such slot. */
static void test_reused_slot(TVMFFI_HERE) {
  static tvmffi_i_node nodes[4]; /* of one hash, so of one probe sequence */
  tvmffi_i_name_table table;
  uintptr_t *slot;
  size_t i, full = 0;
  memset((void *)&table, 0, sizeof(table));
  tvmffi_i_lock();
  if (tvmffi_i_reserve(&table, 0) == 0) {
    for (i = 0; i < 3; ++i) tvmffi_i_fill_slot(&table, &nodes[i]);
    slot = tvmffi_i_slot_at(table.table, sizeof(*slot), 0);
    tvmffi_i_clear_slot(&table, &nodes[1]);
    CHECK(slot[1] == (uintptr_t)&tvmffi_i_tombstone);
    CHECK(table.count == 2 && table.used == 3);
    tvmffi_i_fill_slot(&table, &nodes[3]);
    CHECK(slot[1] == (uintptr_t)&nodes[3] && !slot[3]);
    CHECK(table.count == 3 && table.used == 3);
    tvmffi_i_clear_slot(&table, &nodes[3]);
    tvmffi_i_clear_slot(&table, &nodes[0]); /* node 2 is found behind both */
    CHECK(slot[0] == (uintptr_t)&tvmffi_i_tombstone);
    CHECK(slot[1] == (uintptr_t)&tvmffi_i_tombstone && table.used == 3);
    if (!tvmffi_i_grow_slots(&table.table, sizeof(*slot), 0, 128)) {
      slot = tvmffi_i_slot_at(table.table, sizeof(*slot), 0);
      for (i = 0; i < 128; ++i) full += slot[i] != 0;
      CHECK(slot[0] == (uintptr_t)&nodes[2] && full == 1);
    }
  }
  tvmffi_i_unlock();
  tvmffi_i_free_slots(table.table);
}

/* Slots for `count` entries in a table that has `least` slots at first, and
   doubles when more than half of them are used. */
static size_t test_num_slots(size_t count, size_t least) {
  while (count * 2 > least) least *= 2;
  return least;
}

/* A table has two to four slots for each entry. If removed entries fill it, the
   entries get a new table, which is larger only if they need it. */
static void test_name_growth(TVMFFI_HERE) {
  static tvmffi_i_node nodes[1000];
  const size_t least = TVMFFI_FREESTANDING ? 16 : 64;
  tvmffi_i_name_table table;
  tvmffi_i_records records = {NULL, 0};
  uint32_t i, kept;
  int failed = 0;
  memset((void *)&table, 0, sizeof(table));
  tvmffi_i_lock();
  for (i = 0; i < 1000; ++i) {
    failed = tvmffi_i_reserve(&table, 1);
    if (failed) break;
    nodes[i].hash = i * 0x9E3779B1u;
    tvmffi_i_fill_slot(&table, &nodes[i]);
    CHECK(table.table->mask + 1 == test_num_slots(table.count, least));
  }
  for (kept = 255; !failed && kept <= 256; ++kept) {
    /* The table has 2048 slots: with a quarter of them taken, and with less. */
    const size_t taken = kept == 255 ? 511 : 512;
    tvmffi_i_slots *const first = table.table;
    table.count = taken;
    table.used = first->mask / 4 * 3 + 2;
    CHECK(!tvmffi_i_reserve(&table, 1) && table.table == first);
    ++table.used;
    failed = tvmffi_i_reserve(&table, 1);
    if (failed) break;
    CHECK(table.table != first && table.table->older == first);
    CHECK(table.table->mask + 1 == (first->mask + 1) * (1 + kept - 255));
  }
  tvmffi_i_unlock();
  tvmffi_i_free_slots(table.table);
  CHECK(!failed || test_hits());
  for (i = 0; i < 1000; ++i) {
    if (!tvmffi_i_add_record(&records, sizeof(uintptr_t), 1, i + 1, 0)) break;
    CHECK(records.table->mask + 1 == test_num_slots(records.count, 16));
  }
  CHECK(i == 1000 || test_hits());
  tvmffi_i_free_slots(records.table);
}

#if !TVMFFI_NO_EXTRA
/* A text buffer and an array at least double. */
static void test_buffer_growth(TVMFFI_HERE) {
  tvmffi_i_text_buffer b;
  size_t capacity = 0;
  char *items = NULL, *larger;
  memset((void *)&b, 0, sizeof(b));
  if (!tvmffi_i_text_reserve(&b, 10)) return;
  CHECK_INT(b.capacity, 10 + 128);
  b.size = 130;
  CHECK(tvmffi_i_text_reserve(&b, 7) && b.capacity == 138);
  if (tvmffi_i_text_reserve(&b, 8)) CHECK_INT(b.capacity, 2 * 130 + 8 + 128);
  tvmffi_i_text_release(&b);
  while (capacity < 128) {
    larger = (char *)tvmffi_i_larger(items, &capacity, 3);
    if (!larger) break;
    items = larger;
    items[capacity * 3 - 1] = 1;
    CHECK(capacity == 32 || capacity == 64 || capacity == 128);
  }
  tvmffi_i_free(items);
  tvmffi_error_clear();
}

/* Only the written number decides whether ".0" follows. */
static void test_stale_text(TVMFFI_HERE) {
  tvmffi_i_text_buffer b;
  memset((void *)&b, 0, sizeof(b));
  tvmffi_i_text_str(&b, "[1,.................");
  if (b.failed) return;
  b.size = 3;
  tvmffi_i_json_put_double(&b, (uint64_t)1 << 62); /* 2 */
  CHECK_BYTES(test_bytes(b.data, b.size), "[1,2.0", 6);
  tvmffi_i_text_release(&b);
}

/* A buffer that cannot grow keeps its text and takes no more. */
static void test_full_buffer(TVMFFI_HERE) {
  TVMFFIByteArray empty = {NULL, 0};
  tvmffi_i_text_buffer b;
  memset((void *)&b, 0, sizeof(b));
  tvmffi_i_text_str(&b, "ab");
  CHECK(b.failed == (test_hits() > 0));
  if (!b.failed) {
    CHECK_INT(tvmffi_i_add_text(b.data, b.size, empty), 2);
    CHECK(tvmffi_i_text_reserve(&b, (size_t)PTRDIFF_MAX / 4 + 1) == NULL);
    tvmffi_i_text_str(&b, "c");
    CHECK_BYTES(test_bytes(b.data, b.size), "ab", 2);
  }
  CHECK(b.failed);
  tvmffi_i_text_release(&b);
}

/* Integers that a double cannot represent are rounded half to even. */
static void test_rounded_integers(TVMFFI_HERE) {
  static const struct {
    int64_t from;
    uint64_t bits;
  } cases[] = {{0, 0},
               {1, 0x3FF0000000000000u},
               {-1, 0xBFF0000000000000u},
               {((int64_t)1 << 53) + 1, 0x4340000000000000u},
               {((int64_t)1 << 53) + 3, 0x4340000000000002u},
               {((int64_t)1 << 62) + 1, 0x43D0000000000000u},
               {((int64_t)1 << 62) + 512, 0x43D0000000000000u},
               {((int64_t)1 << 62) + 513, 0x43D0000000000001u},
               {INT64_MAX, 0x43E0000000000000u},
               {INT64_MIN, 0xC3E0000000000000u}};
  int i;
  for (i = 0; i < TEST_COUNT(cases); ++i)
    CHECK(tvmffi_i_int_to_double(cases[i].from) == cases[i].bits);
}

/* Below the normal numbers only what a double represents is a result, and the
   number that rounds up to the smallest normal one. */
static void test_small_doubles(TVMFFI_HERE) {
  const uint64_t one = (uint64_t)1 << 63;
  uint64_t bits = 0;
  CHECK(tvmffi_i_make_double(one, 0, -1074, &bits) && bits == 1);
  CHECK(!tvmffi_i_make_double(one, 0, -1075, &bits));
  CHECK(!tvmffi_i_make_double(one, 0, -1076, &bits));
  CHECK(!tvmffi_i_make_double(one, 1, -1074, &bits));
  CHECK(!tvmffi_i_make_double(one | one >> 1, 0, -1074, &bits));
  CHECK(tvmffi_i_make_double(one | one >> 1, 0, -1073, &bits) && bits == 3);
  CHECK(tvmffi_i_make_double(UINT64_MAX, 1, -1023, &bits) &&
        bits == (uint64_t)1 << 52);
}

/* A product is rounded unless its error may reach the half. */
static void test_rounded_products(TVMFFI_HERE) {
  const uint64_t half = 1 << 10, five = 5 << 11;
  uint64_t out = 0;
  CHECK(!tvmffi_i_round_product(five + half, 0, 11, &out));
  CHECK(tvmffi_i_round_product(five + half, 1, 11, &out) && out == 6);
  CHECK(!tvmffi_i_round_product(five + half - 1, UINT64_MAX, 11, &out));
  CHECK(tvmffi_i_round_product(five + half - 1, 1, 11, &out) && out == 5);
}
#endif
#endif

static const test_case test_platform_cases[] = {
#if !TEST_NO_VALUES
    {"tables: a slot used again", test_reused_slot},
    {"tables: how they grow", test_name_growth},
#if !TVMFFI_NO_CONTAINERS
    {"numbers: words of a text", test_little_words},
    {"tables: distances in chains", test_map_distances},
#endif
#if !TVMFFI_NO_EXTRA
    {"numbers: stale text", test_stale_text},
#endif
    {"platform: keys compared", test_same_keys},
    {"platform: a name that is too long", test_huge_name},
#if !TVMFFI_NO_EXTRA
    {"platform: a text that is too long", test_full_buffer},
    {"platform: how buffers grow", test_buffer_growth},
    {"platform: integers rounded", test_rounded_integers},
    {"platform: the smallest doubles", test_small_doubles},
    {"platform: products rounded", test_rounded_products},
#endif
#endif
    {NULL, NULL}};
