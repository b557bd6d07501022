/* ======== Unwinding =========================================== >>core/unwind
   the stack walked by its unwind tables */

#pragma once

#include "../head/config.h"
#include "../head/compiler.h"
#include "../head/atomic.h"
#include "../platform/libc.h"
#include "../platform/thread.h"
#include "../platform/name_table.h"
#include "symbol.h"

/* A collected trace: the lines of its frames, the innermost first. */
typedef struct {
  size_t size; /* of all lines */
  int count, limit, across;
  uintptr_t until; /* hide all frames up to this address; 0: none */
#if !TVMFFI_NO_BACKTRACE
  const tvmffi_i_frame *frame[TVMFFI_I_MAX_FRAMES];
#endif
} tvmffi_i_trace;

#if !TVMFFI_NO_BACKTRACE
/* Adds the frame that goes on at an address; 0: the trace ends before it.
   `*out`: what is known of the address, or NULL without memory. */
static int tvmffi_i_on_address(tvmffi_i_trace *trace, uintptr_t address,
                               tvmffi_i_frame **out) {
  tvmffi_i_frame *frame;
  if (!address || trace->count >= trace->limit) return 0;
  frame = (tvmffi_i_frame *)(void *)tvmffi_i_find(
      &tvmffi_i_frames, (const char *)(void *)(&address), sizeof(address));
  if (!frame) frame = tvmffi_i_name_frame(address);
  *out = frame;
  if (!frame) return 1;
  if (frame->kind == TVMFFI_I_FRAME_BORDER && !trace->across) return 0;
  if (trace->until) {
    if (trace->until == address) trace->until = 0;
  } else if (frame->kind != TVMFFI_I_FRAME_HIDDEN) {
    trace->frame[trace->count++] = frame;
    trace->size += frame->size;
  }
  return 1;
}

#if defined(__cplusplus)
extern "C" {
#endif
static _Unwind_Reason_Code tvmffi_i_on_frame(struct _Unwind_Context *context,
                                             void *data) {
  tvmffi_i_frame *frame;
  return tvmffi_i_on_address((tvmffi_i_trace *)data,
                             (uintptr_t)_Unwind_GetIP(context), &frame)
             ? _URC_NO_REASON
             : _URC_END_OF_STACK;
}
#if defined(__cplusplus)
}
#endif

/* -------- Stack walk -------- */

/* The system's unwinder reads and interprets the tables of each frame anew in
   each walk, some 150 ns for each. But what they say of an address is nearly
   always simple, and is the same as long as its library is loaded: the caller's
   frame begins a constant behind rsp or rbp, the return address is right before
   it, and the caller's rbp is kept or stands at a constant distance. So that is
   read once for each address (DWARF 5, 6.4, with the augmentations of the
   Linux Standard Base, 10.6), and the walk is three loads for each frame. A
   stack with any other frame is left to the unwinder: code that no loaded
   library has, signal handlers, frames that are realigned. */

#if TVMFFI_I_WALK
#if defined(__clang__)
#define TVMFFI_I_READS_STACK \
  __attribute__((__no_sanitize__("address", "memory")))
#else
#define TVMFFI_I_READS_STACK __attribute__((__no_sanitize_address__))
#endif

/* The unwinder's own search; a weak symbol, as not every one has it. */
typedef struct {
  void *text, *data, *function;
} tvmffi_i_fde_bases;
TVMFFI_I_EXTERN_C const unsigned char *tvmffi_i_find_fde(
    const void *address, tvmffi_i_fde_bases *bases) __asm__("_Unwind_Find_FDE")
    __attribute__((__weak__));

/* glibc's since 2.35: fills in 96 bytes, and gives 0 for an address of a
   library that is loaded. Unlike dladdr it waits for no constructor. */
TVMFFI_I_EXTERN_C int tvmffi_i_find_object(void *address,
                                           void *out) __asm__("_dl_find_object")
    __attribute__((__weak__));

/* dl_iterate_phdr, whose declaration <link.h> may hide. */
typedef struct {
  uintptr_t base;
  const char *name;
  const void *headers;
  uint16_t num_headers;
  unsigned long long loaded, unloaded;
} tvmffi_i_object_info;
TVMFFI_I_EXTERN_C int tvmffi_i_each_loaded(
    int (*visit)(const tvmffi_i_object_info *loader, size_t size, void *out),
    void *out) __asm__("dl_iterate_phdr");

#if defined(__cplusplus)
extern "C" {
#endif
static int tvmffi_i_on_loaded(const tvmffi_i_object_info *loader, size_t size,
                              void *out) {
  if (size >= sizeof(*loader)) *(uint64_t *)out = loader->unloaded;
  return 1;
}
#if defined(__cplusplus)
}
#endif

/* How many libraries have been unloaded, in place in a rule, or all ones. In a
   child of fork nobody may be left who would release the loader's lock. */
static uint64_t tvmffi_i_rule_age(void) {
  uint64_t unloaded = UINT64_MAX;
  if (!TVMFFI_I_LOAD(&tvmffi_i_is_child))
    (void)tvmffi_i_each_loaded(tvmffi_i_on_loaded, &unloaded);
  return unloaded == UINT64_MAX ? unloaded : unloaded << TVMFFI_I_RULE_AGE;
}

/* A part of a table. Behind its end zeros are read, and `at` is NULL. */
typedef struct {
  const unsigned char *at, *end;
} tvmffi_i_cfi;

static uint64_t tvmffi_i_cfi_bytes(tvmffi_i_cfi *c, size_t size) {
  uint64_t value = 0;
  if (!c->at || (size_t)(c->end - c->at) < size)
    c->at = NULL;
  else {
    memcpy(&value, c->at, size); /* the lowest byte first */
    c->at += size;
  }
  return value;
}

static uint64_t tvmffi_i_cfi_number(tvmffi_i_cfi *c) {
  uint64_t value = 0, byte = 0x80;
  int shift;
  for (shift = 0; byte & 0x80; shift += 7) {
    byte = tvmffi_i_cfi_bytes(c, 1);
    if (shift < 64) value |= (byte & 0x7F) << shift;
  }
  return value;
}

static int64_t tvmffi_i_cfi_signed(tvmffi_i_cfi *c) {
  uint64_t value = 0, byte = 0x80;
  int shift;
  for (shift = 0; byte & 0x80; shift += 7) {
    byte = tvmffi_i_cfi_bytes(c, 1);
    if (shift < 64) value |= (byte & 0x7F) << shift;
  }
  if ((byte & 0x40) && shift < 64) value |= UINT64_MAX << shift;
  return (int64_t)value;
}

static void tvmffi_i_cfi_skip(tvmffi_i_cfi *c, uint64_t size) {
  if (!c->at || (uint64_t)(c->end - c->at) < size)
    c->at = NULL;
  else
    c->at += size;
}

/* The bytes of a pointer in a table, or more than there are. */
static size_t tvmffi_i_cfi_pointer(uint64_t encoding) {
  static const unsigned char sizes[] = {8, 0, 2, 4, 8};
  const size_t none = PTRDIFF_MAX;
  size_t size = (encoding & 7) < sizeof(sizes) ? sizes[encoding & 7] : 0;
  return size && (encoding & 0x70) != 0x50 ? size : none;
}

/* The length of an entry, and its bytes behind that; with 0 there is none. */
static tvmffi_i_cfi tvmffi_i_cfi_open(const unsigned char *entry) {
  tvmffi_i_cfi c;
  uint32_t size;
  memcpy(&size, entry, 4);
  c.at = size == UINT32_MAX ? NULL : entry + 4;
  c.end = entry + 4 + (size == UINT32_MAX ? 0 : size);
  return c;
}

/* What holds at one place of a function. Registers have the numbers of the
   ABI: 6 is rbp, 7 rsp, 16 the return address. */
enum { TVMFFI_I_BP = 6, TVMFFI_I_SP = 7, TVMFFI_I_RA = 16 };
typedef struct {
  uint64_t base; /* the register that the frame is counted from; 0: other */
  int64_t frame;
  int64_t bp;    /* where it is saved, from the frame's end; 0: it is kept */
  int last, odd; /* no caller; not to be told with these members */
} tvmffi_i_row;

typedef struct {
  tvmffi_i_row row, first, kept[4]; /* first: as a function begins */
  int num_kept;
  uint64_t code_unit, place, target; /* place: of the row, in the function */
  int64_t data_unit;
} tvmffi_i_rows;

/* A register is kept (at 0), saved, or (odd) found in another way. */
static void tvmffi_i_row_set(tvmffi_i_row *row, uint64_t reg, int64_t at,
                             int odd) {
  if (reg == TVMFFI_I_BP) {
    row->bp = at;
    row->odd |= odd;
  } else if (reg == TVMFFI_I_RA) {
    row->odd |= odd || at != -8;
  } else if (reg == TVMFFI_I_SP) {
    row->odd = 1; /* else it is the frame's end */
  }
}

static void tvmffi_i_row_reset(tvmffi_i_rows *r, uint64_t reg) {
  if (reg == TVMFFI_I_BP) r->row.bp = r->first.bp;
  if (reg == TVMFFI_I_RA) r->row.last = r->first.last;
}

/* The instructions that have a byte of their own; 0: an unknown one. */
static int tvmffi_i_row_extended(tvmffi_i_rows *r, tvmffi_i_cfi *c,
                                 uint64_t code) {
  tvmffi_i_row *row = &r->row;
  uint64_t reg;
  switch (code) {
    case 0x00: return 1; /* nothing */
    case 0x02:           /* the place is so many bytes further on */
    case 0x03:
    case 0x04:
      r->place += tvmffi_i_cfi_bytes(c, (size_t)1 << (code - 2)) * r->code_unit;
      return 1;
    case 0x05: /* a register is saved */
    case 0x11:
    case 0x2F:
      reg = tvmffi_i_cfi_number(c);
      tvmffi_i_row_set(row, reg,
                       (code == 0x11 ? tvmffi_i_cfi_signed(c)
                                     : (int64_t)tvmffi_i_cfi_number(c)) *
                           (code == 0x2F ? -r->data_unit : r->data_unit),
                       0);
      return 1;
    case 0x06: /* as the function began */
      tvmffi_i_row_reset(r, tvmffi_i_cfi_number(c));
      return 1;
    case 0x07: /* lost, or kept */
    case 0x08:
      reg = tvmffi_i_cfi_number(c);
      if (reg == TVMFFI_I_BP) row->bp = 0;
      if (reg == TVMFFI_I_RA) row->last = code == 0x07;
      return 1;
    case 0x09: /* it is in another register */
    case 0x14: /* its value is that of an address */
    case 0x15:
      reg = tvmffi_i_cfi_number(c);
      (void)tvmffi_i_cfi_number(c);
      tvmffi_i_row_set(row, reg, 0, 1);
      return 1;
    case 0x10: /* an expression tells where it is, or what */
    case 0x16:
      tvmffi_i_row_set(row, tvmffi_i_cfi_number(c), 0, 1);
      tvmffi_i_cfi_skip(c, tvmffi_i_cfi_number(c));
      return 1;
    case 0x0A:
      if (r->num_kept == 4) return 0;
      r->kept[r->num_kept++] = *row;
      return 1;
    case 0x0B:
      if (!r->num_kept) return 0;
      *row = r->kept[--r->num_kept];
      return 1;
    case 0x0C: /* register and distance of the frame's end */
    case 0x12:
      row->base = tvmffi_i_cfi_number(c);
      row->frame = code == 0x0C ? (int64_t)tvmffi_i_cfi_number(c)
                                : tvmffi_i_cfi_signed(c) * r->data_unit;
      return 1;
    case 0x0D: row->base = tvmffi_i_cfi_number(c); return 1;
    case 0x0E: row->frame = (int64_t)tvmffi_i_cfi_number(c); return 1;
    case 0x13: row->frame = tvmffi_i_cfi_signed(c) * r->data_unit; return 1;
    case 0x0F: /* an expression for both */
      row->base = 0;
      tvmffi_i_cfi_skip(c, tvmffi_i_cfi_number(c));
      return 1;
    case 0x2E: /* bytes of arguments */ (void)tvmffi_i_cfi_number(c); return 1;
    default: return 0;
  }
}

/* Goes through the rows up to the one of the target; 0: not understood. */
static int tvmffi_i_row_run(tvmffi_i_rows *r, tvmffi_i_cfi c) {
  while (c.at && c.at < c.end && r->place <= r->target) {
    uint64_t code = tvmffi_i_cfi_bytes(&c, 1), low = code & 0x3F;
    switch (code >> 6) {
      case 1: r->place += low * r->code_unit; break;
      case 2:
        tvmffi_i_row_set(&r->row, low,
                         (int64_t)tvmffi_i_cfi_number(&c) * r->data_unit, 0);
        break;
      case 3: tvmffi_i_row_reset(r, low); break;
      default:
        if (!tvmffi_i_row_extended(r, &c, code)) return 0;
    }
  }
  return c.at != NULL;
}

/* Finds the row of a place in the function that has the entry `fde`. */
static int tvmffi_i_find_row(tvmffi_i_rows *r, const unsigned char *fde) {
  tvmffi_i_cfi f = tvmffi_i_cfi_open(fde), c;
  const unsigned char *id = f.at;
  const char *letter;
  uint64_t encoding = 0;
  int sized;
  int32_t back = (int32_t)tvmffi_i_cfi_bytes(&f, 4);
  if (!f.at || !back) return 0;
  c = tvmffi_i_cfi_open(id - back);
  tvmffi_i_cfi_skip(&c, 5); /* the mark and the version: 1 or 3 */
  if (!c.at || (c.at[-1] != 1 && c.at[-1] != 3)) return 0;
  letter = (const char *)c.at;
  sized = *letter == 'z';
  tvmffi_i_cfi_skip(&c, strlen(letter) + 1);
  r->code_unit = tvmffi_i_cfi_number(&c);
  r->data_unit = tvmffi_i_cfi_signed(&c);
  if (tvmffi_i_cfi_number(&c) != TVMFFI_I_RA) return 0;
  if (sized) (void)tvmffi_i_cfi_number(&c), ++letter;
  for (; *letter; ++letter) {
    if (!sized) return 0;
    if (*letter == 'R')
      encoding = tvmffi_i_cfi_bytes(&c, 1);
    else if (*letter == 'L')
      tvmffi_i_cfi_skip(&c, 1);
    else if (*letter == 'P')
      tvmffi_i_cfi_skip(&c, tvmffi_i_cfi_pointer(tvmffi_i_cfi_bytes(&c, 1)));
    else
      return 0;
  }
  tvmffi_i_cfi_skip(&f, tvmffi_i_cfi_pointer(encoding));
  tvmffi_i_cfi_skip(&f, tvmffi_i_cfi_pointer(encoding));
  if (sized) tvmffi_i_cfi_skip(&f, tvmffi_i_cfi_number(&f));
  if (!tvmffi_i_row_run(r, c)) return 0;
  r->first = r->row;
  return tvmffi_i_row_run(r, f);
}

/* Reads the rule of a return address, without its age. */
TVMFFI_I_COLD uint64_t tvmffi_i_read_rule(uintptr_t address) {
  tvmffi_i_symbol symbol = {NULL, NULL, NULL, NULL};
  tvmffi_i_fde_bases bases;
  tvmffi_i_rows r;
  const unsigned char *fde;
  uint64_t rule = TVMFFI_I_RULE_PLAIN;
  uint64_t object[16];
  if (!tvmffi_i_find_fde) return TVMFFI_I_RULE_OTHER;
  if (tvmffi_i_find_object) {
    if (tvmffi_i_find_object((void *)(address - 1), object))
      return TVMFFI_I_RULE_OTHER;
  } else if (!tvmffi_i_dladdr((void *)(address - 1), &symbol) || !symbol.base) {
    return TVMFFI_I_RULE_OTHER;
  }
  fde = tvmffi_i_find_fde((void *)(address - 1), &bases);
  if (!fde) return TVMFFI_I_RULE_OTHER;
  memset(&r, 0, sizeof(r));
  r.target = address - 1 - (uintptr_t)bases.function;
  if (!tvmffi_i_find_row(&r, fde)) return TVMFFI_I_RULE_OTHER;
  if (r.row.last) return TVMFFI_I_RULE_LAST;
  if (r.row.odd || (r.row.base != TVMFFI_I_BP && r.row.base != TVMFFI_I_SP) ||
      r.row.frame <= 0 || r.row.frame / 8 > TVMFFI_I_RULE_WORDS ||
      r.row.frame % 8 || r.row.bp > 0 ||
      -(r.row.bp / 8) > TVMFFI_I_RULE_WORDS || r.row.bp % 8)
    return TVMFFI_I_RULE_OTHER;
  if (r.row.base == TVMFFI_I_BP) rule |= TVMFFI_I_RULE_FROM_BP;
  if (r.row.bp) rule |= TVMFFI_I_RULE_SAVED_BP;
  return rule | (uint64_t)(r.row.frame / 8) << TVMFFI_I_RULE_FRAME |
         (uint64_t)(-(r.row.bp / 8)) << TVMFFI_I_RULE_BP;
}

/* Walks from its caller on; 0: the unwinder must, from the start. */
TVMFFI_I_NOINLINE TVMFFI_I_READS_STACK int tvmffi_i_walk_stack(
    tvmffi_i_trace *trace) {
  const volatile uintptr_t *here =
      (const volatile uintptr_t *)__builtin_frame_address(0);
  uintptr_t bp = here[0], address = here[1], sp = (uintptr_t)(here + 2), end;
  uint64_t age = tvmffi_i_rule_age(), rule;
  tvmffi_i_frame *frame;
  if (age == UINT64_MAX) return 0;
  while (tvmffi_i_on_address(trace, address, &frame)) {
    if (!frame) return 0;
    rule = TVMFFI_I_LOAD_RELAXED(&frame->rule);
    if ((rule & TVMFFI_I_RULE_KIND) == TVMFFI_I_RULE_UNREAD ||
        (rule ^ age) >> TVMFFI_I_RULE_AGE) {
      rule = tvmffi_i_read_rule(address) | age;
      TVMFFI_I_STORE(&frame->rule, rule);
    }
    if ((rule & TVMFFI_I_RULE_KIND) != TVMFFI_I_RULE_PLAIN)
      return (rule & TVMFFI_I_RULE_KIND) == TVMFFI_I_RULE_LAST;
    end = (rule & TVMFFI_I_RULE_FROM_BP ? bp : sp) +
          (rule >> TVMFFI_I_RULE_FRAME & TVMFFI_I_RULE_WORDS) * 8;
    if (end <= sp || end % 8) return 0;
    if (rule & TVMFFI_I_RULE_SAVED_BP) {
      uintptr_t at = end - (rule >> TVMFFI_I_RULE_BP & TVMFFI_I_RULE_WORDS) * 8;
      if (at < sp) return 0;
      bp = *(const volatile uintptr_t *)at;
    }
    address = *(const volatile uintptr_t *)(end - 8);
    sp = end;
  }
  return 1;
}
#endif

#endif
