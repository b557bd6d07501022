/* ======== Unwinding =========================================== >>core/unwind
   walks the stack by its unwind tables */

#pragma once

#include "../head.h"
#include "../platform.h"
#include "address_name.h"

/* A stack trace, innermost frame first. Has few frames in itself, because an
   error must fit a small stack; more frames have memory of their own. */
typedef struct {
  size_t size; /* bytes of the text of all frames */
  int count, limit, across;
  uintptr_t until; /* skip frames up to this return address; 0: none */
#if !TVMFFI_NO_BACKTRACE
  tvmffi_i_frame_reader reader; /* the frames stay until it leaves */
  int capacity;                 /* of `frame` */
  const tvmffi_i_frame **frame; /* `few`, or owned */
  const tvmffi_i_frame *few[TVMFFI_I_FEW_FRAMES];
#endif
} tvmffi_i_trace;

#if !TVMFFI_NO_BACKTRACE
/* Makes room for all frames of a long trace. If out of memory, the trace ends.
   Returns 1, or 0 at the end. */
TVMFFI_I_SLOW int tvmffi_i_extend_trace(tvmffi_i_trace *trace) {
  const size_t size = (size_t)trace->limit * sizeof(*trace->frame);
  const tvmffi_i_frame **frame = (const tvmffi_i_frame **)tvmffi_i_alloc(size);
  TVMFFI_ASSERT(trace->frame == trace->few);
  TVMFFI_ASSERT(trace->count == TVMFFI_I_FEW_FRAMES &&
                trace->limit > TVMFFI_I_FEW_FRAMES);
  if (!frame) return 0;
  memcpy((void *)frame, (const void *)trace->few, sizeof(trace->few));
  trace->frame = frame;
  trace->capacity = trace->limit;
  return 1;
}

/* Adds the frame with this return address to the trace, or returns 0 if the
   trace ends before the frame. Stores the frame in `*out`, or NULL as
   tvmffi_i_name_frame does. */
static int tvmffi_i_on_address(tvmffi_i_trace *trace, uintptr_t address,
                               tvmffi_i_frame **out) {
  tvmffi_i_frame *frame;
  TVMFFI_ASSERT(!trace->until || !trace->count);
  if (!address || (trace->count >= trace->capacity &&
                   (trace->count >= trace->limit ||
                    !tvmffi_i_extend_trace(trace))))
    return 0;
  frame = tvmffi_i_cached_frame(&trace->reader, address);
  if (!frame) frame = tvmffi_i_name_frame(&trace->reader, address);
  *out = frame;
  if (frame && frame->kind == TVMFFI_I_FRAME_BORDER && !trace->across) return 0;
  if (trace->until) {
    if (trace->until == address) trace->until = 0;
  } else if (frame && frame->kind != TVMFFI_I_FRAME_HIDDEN) {
    TVMFFI_ASSERT(frame->size && frame->text[frame->size - 1] == '\n');
    TVMFFI_ASSERT(trace->count < trace->capacity &&
                  trace->capacity <= trace->limit);
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

/* The system's unwinder reads the unwind tables of every frame again in each
   walk, at about 150 ns per frame. But the rule for an address is nearly always
   simple, and constant while its library is loaded. The CFA is rsp or rbp plus
   a constant, the return address is right below the CFA, and the caller's rbp
   is unchanged or saved at a constant offset.

   So each rule is read once and cached, and a walk costs three loads per frame.
   A stack with another frame is left to the system's unwinder: code outside
   libraries, a signal handler, a realigned frame. (DWARF 5, 6.4; augmentations:
   Linux Standard Base, 10.6.) */

#if TVMFFI_I_WALK
#if defined(__clang__)
#define TVMFFI_I_READS_STACK \
  __attribute__((__no_sanitize__("address", "memory")))
#else
#define TVMFFI_I_READS_STACK __attribute__((__no_sanitize_address__))
#endif

typedef struct {
  void *text, *data, *function;
} tvmffi_i_fde_bases;
/* Declares _Unwind_Find_FDE under a private name. Weak, because some unwinders
   lack the function. */
TVMFFI_I_EXTERN_C const unsigned char *tvmffi_i_find_fde(
    const void *address, tvmffi_i_fde_bases *bases) __asm__("_Unwind_Find_FDE")
    __attribute__((__weak__));

/* A reader of an unwind table. Past the end, reads zeros and sets `at` to
   NULL. */
typedef struct {
  const unsigned char *at, *end;
} tvmffi_i_cfi;

static void tvmffi_i_cfi_skip(tvmffi_i_cfi *c, uint64_t size) {
  TVMFFI_ASSERT(!c->at || c->at <= c->end);
  if (!c->at || (uint64_t)(c->end - c->at) < size)
    c->at = NULL;
  else
    c->at += size;
}

static uint64_t tvmffi_i_cfi_bytes(tvmffi_i_cfi *c, size_t size) {
  const unsigned char *from = c->at;
  uint64_t value = 0;
  TVMFFI_ASSERT(size <= sizeof(value));
  tvmffi_i_cfi_skip(c, size);
  if (c->at) memcpy(&value, from, size); /* little-endian */
  return value;
}

/* Reads a LEB128 number, sign-extended if `is_signed`. */
static uint64_t tvmffi_i_cfi_leb(tvmffi_i_cfi *c, int is_signed) {
  uint64_t value = 0, byte = 0x80;
  int shift;
  for (shift = 0; byte & 0x80; shift += 7) {
    byte = tvmffi_i_cfi_bytes(c, 1);
    if (shift <= 63) value |= (byte & 0x7F) << shift;
  }
  if (is_signed && (byte & 0x40) && shift <= 63) value |= UINT64_MAX << shift;
  return value;
}
static uint64_t tvmffi_i_cfi_number(tvmffi_i_cfi *c) {
  return tvmffi_i_cfi_leb(c, 0);
}
static int64_t tvmffi_i_cfi_signed(tvmffi_i_cfi *c) {
  return (int64_t)tvmffi_i_cfi_leb(c, 1);
}

/* Returns the size of a pointer with this DWARF encoding, or PTRDIFF_MAX if
   unknown. */
static size_t tvmffi_i_cfi_pointer(uint64_t encoding) {
  static const unsigned char sizes[] = {8, 0, 2, 4, 8};
  const size_t none = PTRDIFF_MAX;
  size_t size = (encoding & 7) < sizeof(sizes) ? sizes[encoding & 7] : 0;
  return size && (encoding & 0x70) != 0x50 ? size : none;
}

/* Returns a reader of a CIE or FDE after its length field. `at` is NULL for the
   64-bit format, which is not supported. */
static tvmffi_i_cfi tvmffi_i_cfi_open(const unsigned char *entry) {
  tvmffi_i_cfi c;
  uint32_t size;
  memcpy(&size, entry, 4);
  c.at = size == UINT32_MAX ? NULL : entry + 4;
  c.end = entry + 4 + (size == UINT32_MAX ? 0 : size);
  return c;
}

/* The ABI's DWARF numbers of rbp, rsp and the return address. */
enum { TVMFFI_I_BP = 6, TVMFFI_I_SP = 7, TVMFFI_I_RA = 16 };

/* An unwind row: how to find the caller's frame from a range of code. */
typedef struct {
  uint64_t cfa_reg; /* the CFA is cfa_reg + cfa_offset; 0: an expression */
  int64_t cfa_offset;
  int64_t bp_offset; /* rbp is saved at CFA + bp_offset; 0: unchanged */
  /* `last`: the frame has no caller. `unsupported`: the row has other rules. */
  int last, unsupported;
} tvmffi_i_unwind_row;

typedef struct {
  tvmffi_i_unwind_row row, first,
      saved[4]; /* `first`: row at the function's start */
  int num_saved;
  uint64_t code_align, pc, target; /* `row` is for `pc`; `target` is sought */
  int64_t data_align;
} tvmffi_i_unwind_rows;

/* Sets the rule of a register: saved at CFA + offset, or unchanged if `offset`
   is 0. */
static void tvmffi_i_row_set(tvmffi_i_unwind_row *row, uint64_t reg,
                             int64_t offset, int unsupported) {
  TVMFFI_ASSERT(!unsupported || !offset);
  if (reg == TVMFFI_I_BP) {
    row->bp_offset = offset;
    row->unsupported |= unsupported;
  } else if (reg == TVMFFI_I_RA) {
    row->unsupported |= unsupported || offset != -8;
  } else if (reg == TVMFFI_I_SP) {
    row->unsupported = 1; /* without a rule, rsp is the CFA */
  }
}

static void tvmffi_i_row_reset(tvmffi_i_unwind_rows *r, uint64_t reg) {
  if (reg == TVMFFI_I_BP) r->row.bp_offset = r->first.bp_offset;
  if (reg == TVMFFI_I_RA) r->row.last = r->first.last;
}

/* Executes a DW_CFA instruction whose opcode is a whole byte. Returns 0 if it
   is unsupported. */
static int tvmffi_i_row_extended(tvmffi_i_unwind_rows *r, tvmffi_i_cfi *c,
                                 uint64_t code) {
  tvmffi_i_unwind_row *row = &r->row;
  uint64_t reg;
  TVMFFI_ASSERT(code < 0x40);
  TVMFFI_ASSERT(r->num_saved >= 0 && r->num_saved <= 4);
  switch (code) {
    case 0x00: break; /* nop */
    case 0x02:           /* advance_loc1, 2, 4 */
    case 0x03:
    case 0x04:
      r->pc += tvmffi_i_cfi_bytes(c, (size_t)1 << (code - 2)) * r->code_align;
      break;
    case 0x05: /* offset_extended, _sf, negative_offset */
    case 0x11:
    case 0x2F:
      reg = tvmffi_i_cfi_number(c);
      tvmffi_i_row_set(row, reg,
                       (code == 0x11 ? tvmffi_i_cfi_signed(c)
                                     : (int64_t)tvmffi_i_cfi_number(c)) *
                           (code == 0x2F ? -r->data_align : r->data_align),
                       0);
      break;
    case 0x06: /* restore_extended */
      tvmffi_i_row_reset(r, tvmffi_i_cfi_number(c));
      break;
    case 0x07: /* undefined, same_value */
    case 0x08:
      reg = tvmffi_i_cfi_number(c);
      if (reg == TVMFFI_I_BP) row->bp_offset = 0;
      if (reg == TVMFFI_I_RA) row->last = code == 0x07;
      break;
    case 0x09: /* register */
    case 0x14: /* val_offset, val_offset_sf */
    case 0x15:
      reg = tvmffi_i_cfi_number(c);
      (void)tvmffi_i_cfi_number(c);
      tvmffi_i_row_set(row, reg, 0, 1);
      break;
    case 0x10: /* expression, val_expression */
    case 0x16:
      tvmffi_i_row_set(row, tvmffi_i_cfi_number(c), 0, 1);
      tvmffi_i_cfi_skip(c, tvmffi_i_cfi_number(c));
      break;
    case 0x0A: /* remember_state */
      if (r->num_saved == 4) return 0;
      r->saved[r->num_saved++] = *row;
      break;
    case 0x0B: /* restore_state */
      if (!r->num_saved) return 0;
      *row = r->saved[--r->num_saved];
      break;
    case 0x0C: /* def_cfa, def_cfa_sf */
    case 0x12:
      row->cfa_reg = tvmffi_i_cfi_number(c);
      row->cfa_offset = code == 0x0C ? (int64_t)tvmffi_i_cfi_number(c)
                                     : tvmffi_i_cfi_signed(c) * r->data_align;
      break;
    case 0x0D: /* def_cfa_register */
      row->cfa_reg = tvmffi_i_cfi_number(c);
      break;
    case 0x0E: /* def_cfa_offset */
      row->cfa_offset = (int64_t)tvmffi_i_cfi_number(c);
      break;
    case 0x13: /* def_cfa_offset_sf */
      row->cfa_offset = tvmffi_i_cfi_signed(c) * r->data_align;
      break;
    case 0x0F: /* def_cfa_expression */
      row->cfa_reg = 0;
      tvmffi_i_cfi_skip(c, tvmffi_i_cfi_number(c));
      break;
    case 0x2E: /* GNU_args_size */
      (void)tvmffi_i_cfi_number(c);
      break;
    default: return 0;
  }
  return 1;
}

/* Executes instructions until `row` is valid for `target`. Returns 0 if an
   instruction is unsupported, else 1. */
static int tvmffi_i_row_run(tvmffi_i_unwind_rows *r, tvmffi_i_cfi c) {
  while (c.at && c.at < c.end && r->pc <= r->target) {
    uint64_t code = tvmffi_i_cfi_bytes(&c, 1), low = code & 0x3F;
    TVMFFI_ASSERT(c.at && c.at <= c.end);
    switch (code >> 6) {
      case 1: r->pc += low * r->code_align; break;
      case 2:
        tvmffi_i_row_set(&r->row, low,
                         (int64_t)tvmffi_i_cfi_number(&c) * r->data_align, 0);
        break;
      case 3: tvmffi_i_row_reset(r, low); break;
      default:
        if (!tvmffi_i_row_extended(r, &c, code)) return 0;
    }
  }
  return c.at != NULL;
}

/* Finds the row for r->target in `fde`, the unwind table of a function. Returns
   0 if the table is unsupported. */
static int tvmffi_i_find_unwind_row(tvmffi_i_unwind_rows *r,
                                    const unsigned char *fde) {
  tvmffi_i_cfi f = tvmffi_i_cfi_open(fde), c;
  const unsigned char *id = f.at;
  const char *letter;
  uint64_t encoding = 0;
  int sized;
  int32_t back = (int32_t)tvmffi_i_cfi_bytes(&f, 4);
  TVMFFI_ASSERT(!r->pc && !r->num_saved && !r->row.cfa_reg);
  if (!back) return 0;
  c = tvmffi_i_cfi_open(id - back);
  tvmffi_i_cfi_skip(&c, 5); /* id and version (1 or 3) */
  if (!c.at || (c.at[-1] != 1 && c.at[-1] != 3)) return 0;
  letter = (const char *)c.at;
  sized = *letter == 'z';
  tvmffi_i_cfi_skip(&c, strlen(letter) + 1);
  r->code_align = tvmffi_i_cfi_number(&c);
  r->data_align = tvmffi_i_cfi_signed(&c);
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

/* Packs a row into a rule for the cache: see address_name.h. */
static uint64_t tvmffi_i_pack_rule(const tvmffi_i_unwind_row *row) {
  const int64_t cfa = row->cfa_offset, bp = row->bp_offset;
  const int64_t most = (int64_t)TVMFFI_I_RULE_WORDS * 8;
  if (row->last) return TVMFFI_I_RULE_LAST;
  if (row->unsupported ||
      (row->cfa_reg != TVMFFI_I_BP && row->cfa_reg != TVMFFI_I_SP) ||
      cfa <= 0 || cfa > most || cfa % 8 || bp > 0 || bp < -most || bp % 8)
    return TVMFFI_I_RULE_OTHER;
  return TVMFFI_I_RULE_PLAIN |
         (row->cfa_reg == TVMFFI_I_BP ? TVMFFI_I_RULE_FROM_BP : 0) |
         (bp ? TVMFFI_I_RULE_SAVED_BP : 0) |
         (uint64_t)(cfa / 8) << TVMFFI_I_RULE_FRAME |
         (uint64_t)(-bp / 8) << TVMFFI_I_RULE_BP;
}

/* Reads the unwind rule of a return address in a loaded library. */
TVMFFI_I_COLD uint64_t tvmffi_i_read_rule(uintptr_t address) {
  tvmffi_i_fde_bases bases;
  tvmffi_i_unwind_rows r;
  const unsigned char *fde;
  if (!tvmffi_i_find_fde) return TVMFFI_I_RULE_OTHER;
  fde = tvmffi_i_find_fde((void *)(address - 1), &bases);
  if (!fde) return TVMFFI_I_RULE_OTHER;
  memset(&r, 0, sizeof(r));
  TVMFFI_ASSERT(address > (uintptr_t)bases.function);
  r.target = address - 1 - (uintptr_t)bases.function;
  return tvmffi_i_find_unwind_row(&r, fde) ? tvmffi_i_pack_rule(&r.row)
                                           : (uint64_t)TVMFFI_I_RULE_OTHER;
}

/* Walks the stack from the caller's frame. Returns 0 if the system's unwinder
   must start over. A child process leaves the walk to the system, because its
   cached rules may be outdated: see tvmffi_i_loader_age. */
TVMFFI_I_NOINLINE TVMFFI_I_READS_STACK int tvmffi_i_unwind_stack(
    tvmffi_i_trace *trace) {
  const volatile uintptr_t *here =
      (const volatile uintptr_t *)__builtin_frame_address(0);
  uintptr_t bp = here[0], address = here[1], sp = (uintptr_t)(here + 2), end;
  uint64_t rule;
  tvmffi_i_frame *frame;
  TVMFFI_ASSERT(sp % 8 == 0);
  if (TVMFFI_I_LOAD(&tvmffi_i_is_child)) return 0;
  while (tvmffi_i_on_address(trace, address, &frame)) {
    if (!frame) return 0;
    rule = TVMFFI_I_LOAD_RELAXED(&frame->rule);
    if ((rule & TVMFFI_I_RULE_KIND) == TVMFFI_I_RULE_UNREAD) {
      rule = tvmffi_i_read_rule(address);
      TVMFFI_ASSERT((rule & TVMFFI_I_RULE_KIND) != TVMFFI_I_RULE_UNREAD);
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
      TVMFFI_ASSERT(at % 8 == 0 && at < end);
      bp = *(const volatile uintptr_t *)at;
    }
    TVMFFI_ASSERT(end - 8 >= sp);
    address = *(const volatile uintptr_t *)(end - 8);
    sp = end;
  }
  return 1;
}
#endif

#endif
