/* Well-formed and mildly bad inputs whose every answer is printed: results,
 * error kinds and texts, bytes. run.py runs this on two libraries and
 * compares the lines.
 *
 *   same LIBRARY
 *
 * prints "group/key<TAB>answer" per input. Each group runs in a child of its
 * own and so begins with a fresh library. */
#include "robust.h"

#include <stdint.h>
#include <sys/wait.h>

static const char *group;
static char key[256];

static void show_text(const char *data, size_t size) {
  size_t i;
  putchar('"');
  for (i = 0; i < size; ++i) {
    unsigned char c = (unsigned char)data[i];
    if (c == '\\' || c == '"') {
      printf("\\%c", c);
    } else if (c < 32 || c > 126) {
      printf("\\x%02x", c);
    } else {
      putchar(c);
    }
  }
  putchar('"');
}
static void show_bytes(TVMFFIByteArray b) { show_text(b.data, b.size); }

static void begin(void) {
  printf("%s/", group);
  {
    const char *c;
    for (c = key; *c; ++c) {
      if ((unsigned char)*c < 32 || (unsigned char)*c > 126) {
        printf("\\x%02x", (unsigned char)*c);
      } else {
        putchar(*c);
      }
    }
  }
  putchar('\t');
}
#define KEY(...) snprintf(key, sizeof key, __VA_ARGS__), begin()

/* Prints the code and, if there is one, the error; gives the code. */
static int show_rc(int rc) {
  Obj e = error_take();
  printf("rc=%d", rc);
  if (e != NULL) {
    printf(" ");
    show_bytes(error_cell(e)->kind);
    printf(": ");
    show_bytes(error_cell(e)->message);
    F.ObjectDecRef(e);
  }
  return rc;
}
static void end(void) { putchar('\n'); }

/* Prints an owned Any with every byte of it that means something. */
static void show_any(const TVMFFIAny *a) {
  printf(" index=%d", a->type_index);
  if (a->type_index < kTVMFFIStaticObjectBegin) {
    printf(" pad=%u bits=%016llx", a->zero_padding,
           (unsigned long long)a->v_uint64);
    return;
  }
  printf(" pad=%u count=%llx own=%d,%u", a->zero_padding,
         (unsigned long long)a->v_obj->combined_ref_count, a->v_obj->type_index,
         a->v_obj->__padding);
  if (a->type_index == kTVMFFIStr || a->type_index == kTVMFFIBytes) {
    TVMFFIByteArray t = any_text(a);
    size_t i;
    unsigned long sum = 5381;
    for (i = 0; i < t.size; ++i) sum = sum * 33 + (unsigned char)t.data[i];
    printf(" size=%zu sum=%lx end=%d", t.size, sum, t.data[t.size]);
  } else if (a->type_index == kTVMFFIBigInt) {
    TVMFFIByteArray t = F.BigIntGetContentByteArray(a);
    size_t i;
    printf(" words=%zu", t.size / 8);
    for (i = 0; i < t.size / 8 && i < 8; ++i) {
      int64_t w;
      memcpy(&w, t.data + 8 * i, 8);
      printf(",%llx", (unsigned long long)w);
    }
  }
}

/* ---- data types ---- */

static void parse(const char *text) {
  DLDataType t = {99, 99, 99};
  TVMFFIAny out = any_none();
  KEY("parse %s", text);
  if (show_rc(F.DataTypeFromString(STR(text), &t)) == 0) {
    printf(" %u,%u,%u ", t.code, t.bits, t.lanes);
    show_rc(F.DataTypeToString(&t, &out));
    show_bytes(any_text(&out));
    any_drop(&out);
  }
  end();
}

static void group_dtype_parse(void) {
  static const char *const heads[] = {"int",
                                      "uint",
                                      "float",
                                      "bool",
                                      "bfloat",
                                      "handle",
                                      "i",
                                      "u",
                                      "f",
                                      "bf",
                                      "b",
                                      "complex",
                                      "void",
                                      "",
                                      "Int",
                                      "fp",
                                      "float8_e3m4",
                                      "float8_e4m3",
                                      "float8_e4m3b11fnuz",
                                      "float8_e4m3fn",
                                      "float8_e4m3fnuz",
                                      "float8_e5m2",
                                      "float8_e5m2fnuz",
                                      "float8_e8m0fnu",
                                      "float6_e2m3fn",
                                      "float6_e3m2fn",
                                      "float4_e2m1fn",
                                      "fp8_e3m4",
                                      "fp8_e4m3",
                                      "fp8_e4m3b11fnuz",
                                      "fp8_e4m3fn",
                                      "fp8_e4m3fnuz",
                                      "fp8_e5m2",
                                      "fp8_e5m2fnuz",
                                      "fp8_e8m0fnu",
                                      "fp6_e2m3fn",
                                      "fp6_e3m2fn",
                                      "fp4_e2m1fn",
                                      "f8_e3m4",
                                      "f8_e4m3",
                                      "f8_e4m3b11fnuz",
                                      "f8_e4m3fn",
                                      "f8_e4m3fnuz",
                                      "f8_e5m2",
                                      "f8_e5m2fnuz",
                                      "f8_e8m0fnu",
                                      "f6_e2m3fn",
                                      "f6_e3m2fn",
                                      "f4_e2m1fn",
                                      "float8",
                                      "float8_",
                                      "float8_e9",
                                      "float6_",
                                      "float6_e2m3",
                                      "float4_",
                                      "float4_e2m1",
                                      "fp8_",
                                      "fp8_e5m2fnu",
                                      "fp6_",
                                      "fp6_x",
                                      "fp4_",
                                      "f8_",
                                      "f6_e3m2",
                                      "f4_",
                                      "float8_e4m3f",
                                      "float8_E4M3",
                                      "floa",
                                      "boo",
                                      "hand",
                                      "bfloa",
                                      "in",
                                      "uin",
                                      "INT",
                                      "Float",
                                      "BOOL",
                                      "Bfloat",
                                      "Handle",
                                      "F8_e4m3",
                                      "custom"};
  static const char *const bits[] = {
      "",    "0",          "1",          "4",
      "6",   "8",          "9",          "16",
      "32",  "64",         "255",        "256",
      "300", "4294967295", "4294967296", "18446744073709551615",
      "_",   "_x",         " ",          "18446744073709551616",
      "00",  "008",        "08",         "18446744073709551617",
      "-8",  "+8",         "8 ",         "99999999999999999999999"};
  static const char *const lanes[] = {"",
                                      "x",
                                      "x0",
                                      "x1",
                                      "x2",
                                      "x4",
                                      "x16",
                                      "x255",
                                      "x32767",
                                      "x32768",
                                      "x65535",
                                      "x65536",
                                      "x4294967295",
                                      "x4294967296",
                                      "x-1",
                                      "x4x4",
                                      "x4 ",
                                      "xvscale",
                                      "xvscalex",
                                      "xvscalex0",
                                      "xvscalex1",
                                      "xvscalex4",
                                      "xvscalex32767",
                                      "xvscalex32768",
                                      "xvscalex32769",
                                      "xvscalex65535",
                                      "xvscale4",
                                      "xvscalx4",
                                      "vscalex4",
                                      "_x2",
                                      "_",
                                      "x00",
                                      "x01",
                                      "x+1",
                                      "x 4",
                                      "X4",
                                      "x32769",
                                      "x18446744073709551615",
                                      "x18446744073709551616",
                                      "x18446744073709551620",
                                      "x4xvscalex4",
                                      "xvscal",
                                      "xvscale0",
                                      "xvscale ",
                                      "xvscale_",
                                      "xvscale_x4",
                                      "xvscalex00",
                                      "xvscalex04",
                                      "xvscalex-4",
                                      "xvscalex 4",
                                      "xvscalex4 ",
                                      "xvscalex65536",
                                      "xvscalex4294967300",
                                      "xvscalex18446744073709551620",
                                      "xvscalexx4",
                                      "xvscalex4x4",
                                      "xvscalexvscale",
                                      "xvscalexvscalex4",
                                      "XVSCALEX4",
                                      "xVscalex4",
                                      " x4",
                                      " xvscalex4",
                                      "_xvscale",
                                      "_xvscalex4"};
  static const char *const odd[] = {
      "custom",   "custom[",     "custom[]",   "custom[x]",    "custom[x",
      "customx",  "custom[x]32", "custom]",    "\303\251",     "int\303\251",
      "int32\n",  "int 32",      " int32",     "int32 ",       "0",
      "32",       "x4",          "-",          "int-8",        "int+8",
      "int0x8",   "int08",       "int008x002", "float32x0004", "uint8x08",
      "bool8",    "bool1x8",     "boolx8",     "handle64",     "handle32x4",
      "handlex2", "bfloat16x2",  "bf16x2",     "i8x4",         "u8x4",
      "f16x4",    "f32",         "i1",         "u1",           "f64x2",
      "bf8",      "f8",          "f8x4",       "f4",           "f6",
      "f8e4m3",   "ix",          "ux",         "bfx",          "fx"};
  size_t h, b, l;
  for (h = 0; h < sizeof heads / sizeof heads[0]; ++h) {
    for (b = 0; b < sizeof bits / sizeof bits[0]; ++b) {
      for (l = 0; l < sizeof lanes / sizeof lanes[0]; ++l) {
        char text[80];
        /* all lanes with a few bits, and all bits with a few lanes */
        if (b % 4 != 0 && l % 5 != 0) continue;
        sprintf(text, "%s%s%s", heads[h], bits[b], lanes[l]);
        parse(text);
      }
    }
  }
  for (h = 0; h < sizeof odd / sizeof odd[0]; ++h) parse(odd[h]);
}

static void group_dtype_print(void) {
  static const int codes[] = {0,  1,  2,   3,   4,   5,   6,   7,  8,
                              9,  10, 11,  12,  13,  14,  15,  16, 17,
                              18, 19, 100, 127, 128, 129, 130, 255};
  static const int bits[] = {0, 1, 4, 6, 8, 16, 32, 64, 255};
  static const int lanes[] = {0,     1,     2,     4,     16,   32767,
                              32768, 32769, 65532, 65534, 65535};
  size_t c, b, l;
  for (c = 0; c < sizeof codes / sizeof codes[0]; ++c) {
    for (b = 0; b < sizeof bits / sizeof bits[0]; ++b) {
      for (l = 0; l < sizeof lanes / sizeof lanes[0]; ++l) {
        DLDataType t;
        TVMFFIAny out = any_none();
        t.code = (uint8_t)codes[c];
        t.bits = (uint8_t)bits[b];
        t.lanes = (uint16_t)lanes[l];
        KEY("print %d,%d,%d", codes[c], bits[b], lanes[l]);
        if (show_rc(F.DataTypeToString(&t, &out)) == 0) {
          printf(" %d ", out.type_index);
          show_bytes(any_text(&out));
        }
        any_drop(&out);
        end();
      }
    }
  }
}

static int custom_code(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  TVMFFIByteArray name = any_text(&args[0]);
  (void)self;
  if (args[0].type_index == kTVMFFIRawStr) name = text_of(args[0].v_c_str);
  printf(" [asked %d ", n);
  show_bytes(name);
  printf("]");
  if (name.size == 4 && memcmp(name.data, "fail", 4) == 0) {
    F.ErrorSetRaisedFromCStr("KeyError", "no such custom type");
    return -1;
  }
  *result = any_int(130 + (int64_t)name.size);
  return 0;
}
static int custom_name(void *self, const TVMFFIAny *args, int32_t n,
                       TVMFFIAny *result) {
  (void)self;
  printf(" [asked %d index=%d value=%lld]", n, args[0].type_index,
         (long long)args[0].v_int64);
  if (args[0].v_int64 == 200) {
    F.ErrorSetRaisedFromCStr("KeyError", "no such custom code");
    return -1;
  }
  return F.StringFromByteArray(
      args[0].v_int64 & 1 ? STR("odd") : STR("a_name_that_is_long"), result);
}
static void group_dtype_custom(void) {
  TVMFFIObjectHandle f = NULL, g = NULL;
  F.FunctionCreate(NULL, custom_code, NULL, &f);
  F.FunctionCreate(NULL, custom_name, NULL, &g);
  F.FunctionSetGlobal(STR("dtype.get_custom_type_code"), f, 0);
  F.FunctionSetGlobal(STR("dtype.get_custom_type_name"), g, 0);
  parse("custom[posit]8");
  parse("custom[posit]8x4");
  parse("custom[posit]");
  parse("custom[]16");
  parse("custom[ a b ]16xvscalex4");
  parse("custom[a]b]16");
  parse("custom[[x]]16");
  parse("custom[fail]8");
  parse("custom[x]300");
  parse("custom[x]8 ");
  {
    int code;
    for (code = 128; code < 256; code += 9) {
      DLDataType t = {(uint8_t)code, 16, 2};
      TVMFFIAny out = any_none();
      KEY("print custom %d", code);
      if (show_rc(F.DataTypeToString(&t, &out)) == 0) {
        printf(" ");
        show_bytes(any_text(&out));
      }
      any_drop(&out);
      end();
    }
  }
}

/* ---- strings, bytes, numbers, any ---- */

static void group_strings(void) {
  static const size_t sizes[] = {0,  1,  2,  3,   4,    5,     6,      7,
                                 8,  9,  15, 16,  17,   23,    24,     25,
                                 63, 64, 65, 255, 4096, 65536, 1 << 20};
  char *text = (char *)malloc((1 << 20) + 1);
  size_t i;
  int zero;
  for (i = 0; i <= 1 << 20; ++i) text[i] = (char)(i * 7 + 1);
  for (zero = 0; zero < 2; ++zero) {
    if (zero) text[2] = 0;
    for (i = 0; i < sizeof sizes / sizeof sizes[0]; ++i) {
      TVMFFIAny out;
      memset(&out, 0x5A, sizeof out);
      KEY("string %d %zu", zero, sizes[i]);
      show_rc(F.StringFromByteArray(BA(text, sizes[i]), &out));
      show_any(&out);
      any_drop(&out);
      end();
      memset(&out, 0x5A, sizeof out);
      KEY("bytes %d %zu", zero, sizes[i]);
      show_rc(F.BytesFromByteArray(BA(text, sizes[i]), &out));
      show_any(&out);
      any_drop(&out);
      end();
    }
  }
}

static void group_bigint(void) {
  static const int64_t edge[] = {
      0,    1,   -1, 2, -2, INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1,
      0x7F, 0xFF};
  enum { n = sizeof edge / sizeof edge[0] };
  int a, b, c;
  size_t size;
  for (a = 0; a < n; ++a) {
    for (b = 0; b < n; ++b) {
      for (c = 0; c < n; ++c) {
        int64_t w[3];
        TVMFFIAny out = any_none();
        int words = c == 0 ? (b == 0 ? 1 : 2) : 3;
        w[0] = edge[a];
        w[1] = edge[b];
        w[2] = edge[c];
        KEY("words %lld %lld %lld of %d", (long long)w[0], (long long)w[1],
            (long long)w[2], words);
        show_rc(F.BigIntFromByteArray(BA((char *)w, (size_t)words * 8), &out));
        show_any(&out);
        any_drop(&out);
        end();
      }
    }
  }
  for (size = 0; size < 20; ++size) {
    static const char text[24] = "\1\2\3\4\5\6\7\10";
    TVMFFIAny out = any_none();
    KEY("size %zu", size);
    show_rc(F.BigIntFromByteArray(BA(text, size), &out));
    show_any(&out);
    any_drop(&out);
    end();
  }
  {
    int64_t same[10];
    TVMFFIAny out = any_none();
    int i;
    for (i = 0; i < 10; ++i) same[i] = -1;
    KEY("ten words of -1");
    show_rc(F.BigIntFromByteArray(BA((char *)same, 80), &out));
    show_any(&out);
    end();
    same[0] = 5;
    KEY("ten words, sign only");
    show_rc(F.BigIntFromByteArray(BA((char *)same, 80), &out));
    show_any(&out);
    end();
    out = any_int(-7);
    KEY("content of an int");
    {
      TVMFFIByteArray b = F.BigIntGetContentByteArray(&out);
      printf("%d %zu", b.data == (char *)&out.v_int64, b.size);
    }
    end();
  }
}

static void own(const char *name, TVMFFIAny view) {
  TVMFFIAny out;
  memset(&out, 0x5A, sizeof out);
  KEY("own %s", name);
  if (show_rc(F.AnyViewToOwnedAny(&view, &out)) == 0) {
    show_any(&out);
    any_drop(&out);
  }
  end();
}

static void group_any(void) {
  TVMFFIByteArray small = {"bytes", 5}, large = {"many more bytes", 15};
  TVMFFIByteArray empty = {NULL, 0};
  TVMFFIAny v;
  Obj s = make_str();
  TVMFFIObject *moved = s;
  own("none", any_none());
  own("int", any_int(-5));
  v = any_int(1);
  v.type_index = kTVMFFIBool;
  own("bool", v);
  v = any_none();
  v.type_index = kTVMFFIFloat;
  v.v_float64 = -0.5;
  own("float", v);
  own("pointer", any_of(kTVMFFIOpaquePtr, (void *)0x1234));
  v = any_none();
  v.type_index = kTVMFFIDataType;
  v.v_dtype.code = 2;
  v.v_dtype.bits = 32;
  v.v_dtype.lanes = 4;
  own("dtype", v);
  v = any_none();
  v.type_index = kTVMFFIDevice;
  v.v_device.device_type = kDLCUDA;
  v.v_device.device_id = 3;
  own("device", v);
  own("tensor pointer", any_of(kTVMFFIDLTensorPtr, (void *)0x1230));
  own("raw empty", any_of(kTVMFFIRawStr, (void *)""));
  own("raw small", any_of(kTVMFFIRawStr, (void *)"seven77"));
  own("raw large", any_of(kTVMFFIRawStr, (void *)"eight888"));
  own("bytes small", any_of(kTVMFFIByteArrayPtr, &small));
  own("bytes large", any_of(kTVMFFIByteArrayPtr, &large));
  own("bytes empty", any_of(kTVMFFIByteArrayPtr, &empty));
  v = any_of(kTVMFFISmallStr, NULL);
  v.small_str_len = 2;
  memcpy(v.v_bytes, "ab", 2);
  own("small string", v);
  v.type_index = kTVMFFISmallBytes;
  own("small bytes", v);
  own("unchanged", any_of(kTVMFFIUnchanged, NULL));
  own("object", any_obj(s));
  KEY("count afterwards");
  printf("%llx", (unsigned long long)s->combined_ref_count);
  end();
  own("rvalue", any_of(kTVMFFIObjectRValueRef, &moved));
  KEY("rvalue is taken");
  printf("%d", moved == NULL);
  end();
  own("rvalue again", any_of(kTVMFFIObjectRValueRef, &moved));
}

/* ---- types ---- */

static void show_info(const TVMFFITypeInfo *t, int32_t base) {
  int i;
  show_bytes(t->type_key);
  printf(" index=%d depth=%d hash=%llx ancestors=",
         t->type_index >= base ? t->type_index - base : t->type_index,
         t->type_depth, (unsigned long long)t->type_key_hash);
  for (i = 0; i < t->type_depth; ++i) {
    int32_t index = t->type_ancestors[i]->type_index;
    printf("%d,", index >= base && base ? index - base : index);
  }
}

static void group_builtin_types(void) {
  int32_t i;
  for (i = 0; i < 79; ++i) {
    const TVMFFITypeInfo *t;
    if (i == 14) i = 64;
    t = F.GetTypeInfo(i);
    KEY("type %d", i);
    if (t == NULL) {
      printf("none");
    } else {
      int32_t back = -1;
      show_info(t, 0);
      show_rc(F.TypeKeyToIndex(&t->type_key, &back));
      printf(" %d", back);
    }
    end();
  }
  KEY("metadata of ffi.Object");
  {
    const TVMFFITypeMetadata *m = F.GetTypeInfo(64)->metadata;
    if (m == NULL) {
      printf("none");
    } else {
      printf("%d %d %d", m->total_size, (int)m->structural_eq_hash_kind,
             m->creator != NULL);
    }
  }
  end();
}

static int32_t base_index;
static int32_t type(const char *name, int32_t static_index, int32_t depth,
                    int32_t slots, int32_t overflow, int32_t parent) {
  int32_t index = F.TypeGetOrAllocIndex(STR(name), static_index, depth, slots,
                                        overflow, parent);
  KEY("type %s %d %d %d %d %d", name, static_index, depth, slots, overflow,
      parent >= base_index ? parent - base_index + 1000 : parent);
  printf("%d ", index < base_index ? index : index - base_index);
  if (index >= 0) show_info(F.GetTypeInfo(index), base_index);
  show_rc(0);
  end();
  return index;
}

static void group_types(void) {
  int32_t a, b, c, d, t;
  base_index = F.TypeGetOrAllocIndex(STR("s.base"), -1, 1, 0, 1, 64);
  a = type("s.A", -1, 1, 0, 1, 64);
  b = type("s.B", -1, 1, 4, 1, 64);
  c = type("s.B1", -1, 2, 0, 1, b);
  d = type("s.B2", -1, 2, 1, 1, b);
  type("s.B2a", -1, 3, 0, 1, d);
  type("s.B2b", -1, 3, 0, 1, d);
  type("s.B3", -1, 2, 0, 1, b);
  type("s.B4", -1, 2, 0, 1, b);
  type("s.B5", -1, 2, 3, 1, b);
  type("s.A1", -1, 2, 0, 1, a);
  t = type("s.C", -1, 1, 2, 0, 64);
  t = type("s.C1", -1, 2, 0, 1, t);
  type("s.D", -1, 1, 0, 1, 64);
  type("s.A", -1, 1, 0, 1, 64);
  type("s.A", -1, 1, 7, 0, 64);
  type("s.unknown", -1, 1, 0, 1, -2);
  type("s.B1", -1, 2, 0, 1, -2);
  type("s.B1a", -1, 3, 0, 1, c);
  type("ffi.String", 65, 1, 0, 0, 64);
  type("s.a key with spaces \303\251", -1, 1, 0, 1, 64);
  type("s.D", -1, 2, 0, 1, a);
  type("s.D", -1, 2, 0, 1, b);
  type("s.neg", -7, 1, 0, 1, 64);
}

static int dummy_getter(void *field, TVMFFIAny *result) {
  (void)field, (void)result;
  return 0;
}
static int dummy_setter(void *field, const TVMFFIAny *value) {
  (void)field, (void)value;
  return 0;
}
static TVMFFIFieldInfo field(const char *name, int64_t flags, int64_t size) {
  TVMFFIFieldInfo f;
  memset(&f, 0, sizeof f);
  f.name = text_of(name);
  f.doc = text_of(size & 1 ? "a documentation" : "");
  f.metadata = text_of(size & 2 ? "{\"type_schema\":\"int\"}" : "");
  f.flags = flags;
  f.size = size;
  f.alignment = size & -size;
  f.offset = 3 * size;
  f.getter = dummy_getter;
  f.setter = (void *)dummy_setter;
  f.field_static_type_index = (int32_t)size;
  return f;
}
static void show_fields(int32_t index) {
  const TVMFFITypeInfo *t = F.GetTypeInfo(index);
  int i;
  KEY("fields");
  printf("%d: ", t->num_fields);
  for (i = 0; i < t->num_fields; ++i) {
    const TVMFFIFieldInfo *f = &t->fields[i];
    show_bytes(f->name);
    printf("/%d", f->name.data[f->name.size]);
    show_bytes(f->doc);
    show_bytes(f->metadata);
    printf(" %lld %lld %lld %lld %d %d %d", (long long)f->flags,
           (long long)f->size, (long long)f->alignment, (long long)f->offset,
           f->getter == dummy_getter, f->setter != NULL,
           f->field_static_type_index);
    show_any(&f->default_value_or_factory);
    printf("; ");
  }
  end();
}
static void group_reflection(void) {
  int32_t t = make_type("s.T");
  int32_t u = F.TypeGetOrAllocIndex(STR("s.U"), -1, 2, 0, 1, t);
  TVMFFIFieldInfo f;
  TVMFFIMethodInfo m;
  TVMFFITypeMetadata meta;
  Obj function = make_function();
  const TVMFFITypeInfo *info;
  int i;
  static const int32_t odd[] = {-1, 14, 63, 79, 127, 99999};
  f = field("first", 0, 8);
  KEY("field");
  show_rc(F.TypeRegisterField(t, &f));
  end();
  f = field("second", kTVMFFIFieldFlagBitMaskHasDefault, 3);
  f.default_value_or_factory = any_of(kTVMFFIRawStr, (void *)"raw default");
  KEY("field with default");
  show_rc(F.TypeRegisterField(t, &f));
  end();
  f = field("third", kTVMFFIFieldFlagBitMaskWritable, 1);
  f.default_value_or_factory = any_int(5);
  KEY("field with unused default");
  show_rc(F.TypeRegisterField(t, &f));
  end();
  f = field("fourth", kTVMFFIFieldFlagBitSetterIsFunctionObj, 2);
  f.setter = function;
  KEY("field with setter object");
  show_rc(F.TypeRegisterField(t, &f));
  printf(" %llx", (unsigned long long)function->combined_ref_count);
  end();
  f = field("second", 0, 16);
  KEY("field twice");
  show_rc(F.TypeRegisterField(t, &f));
  end();
  KEY("field of the parent");
  show_rc(F.TypeRegisterField(u, &f));
  end();
  show_fields(t);
  show_fields(u);
  memset(&m, 0, sizeof m);
  m.name = text_of("method");
  m.doc = text_of("what it does");
  m.flags = kTVMFFIFieldFlagBitMaskIsStaticMethod;
  m.method = any_obj(function);
  KEY("method");
  show_rc(F.TypeRegisterMethod(t, &m));
  end();
  m.name = text_of("another");
  KEY("method 2");
  show_rc(F.TypeRegisterMethod(t, &m));
  end();
  KEY("methods");
  info = F.GetTypeInfo(t);
  printf("%d: ", info->num_methods);
  for (i = 0; i < info->num_methods; ++i) {
    show_bytes(info->methods[i].name);
    show_bytes(info->methods[i].doc);
    show_bytes(info->methods[i].metadata);
    printf(" %lld %d %d;", (long long)info->methods[i].flags,
           info->methods[i].method.type_index,
           info->methods[i].method.v_obj == function);
  }
  end();
  memset(&meta, 0, sizeof meta);
  meta.total_size = 48;
  meta.structural_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  meta.doc = text_of("a type");
  KEY("metadata");
  show_rc(F.TypeRegisterMetadata(t, &meta));
  end();
  KEY("metadata kept");
  show_bytes(info->metadata->doc);
  printf(" %d %d", info->metadata->total_size,
         (int)info->metadata->structural_eq_hash_kind);
  end();
  meta.total_size = 56;
  KEY("metadata again");
  show_rc(F.TypeRegisterMetadata(t, &meta));
  end();
  for (i = 0; i < 6; ++i) {
    f = field("x", 0, 8);
    KEY("field of %d", odd[i]);
    show_rc(F.TypeRegisterField(odd[i], &f));
    end();
    KEY("method of %d", odd[i]);
    show_rc(F.TypeRegisterMethod(odd[i], &m));
    end();
    KEY("metadata of %d", odd[i]);
    show_rc(F.TypeRegisterMetadata(odd[i], &meta));
    end();
  }
  KEY("key unknown");
  show_rc(F.TypeKeyToIndex(STR("no.such.type"), &t));
  end();
}

static void show_column(const char *name, int32_t base) {
  const TVMFFITypeAttrColumn *c = F.GetTypeAttrColumn(STR(name));
  int32_t i;
  KEY("column %s", name);
  if (c == NULL) {
    printf("none");
  } else {
    for (i = base; i < base + 6; ++i) {
      if (i >= c->begin_index && i < c->begin_index + c->size &&
          c->data[i - c->begin_index].type_index != kTVMFFINone) {
        printf("%d:", i - base);
        show_any(&c->data[i - c->begin_index]);
        printf("; ");
      }
    }
  }
  show_rc(0);
  end();
}
static void group_attributes(void) {
  int32_t a = make_type("s.A"), b = make_type("s.B"), c = make_type("s.C");
  TVMFFIAny none = any_none(), v;
  Obj s = make_str();
  KEY("relative");
  printf("%d %d", b - a, c - a);
  end();
  show_column("s.attr", a);
  KEY("column only");
  show_rc(F.TypeRegisterAttr(kTVMFFINone, STR("s.attr"), &none));
  end();
  show_column("s.attr", a);
  v = any_int(7);
  KEY("int");
  show_rc(F.TypeRegisterAttr(b, STR("s.attr"), &v));
  end();
  show_column("s.attr", a);
  v = any_obj(s);
  KEY("string");
  show_rc(F.TypeRegisterAttr(a, STR("s.attr"), &v));
  printf(" %llx", (unsigned long long)s->combined_ref_count);
  end();
  show_column("s.attr", a);
  v = any_of(kTVMFFIRawStr, (void *)"a raw string of some length");
  KEY("raw string");
  show_rc(F.TypeRegisterAttr(c, STR("s.attr"), &v));
  end();
  show_column("s.attr", a);
  v = any_int(8);
  KEY("of a string"); /* the text names the index, here a static one */
  show_rc(F.TypeRegisterAttr(kTVMFFIStr, STR("s.attr"), &v));
  end();
  KEY("the same again");
  show_rc(F.TypeRegisterAttr(kTVMFFIStr, STR("s.attr"), &v));
  end();
  v = any_int(9);
  KEY("another value");
  show_rc(F.TypeRegisterAttr(kTVMFFIStr, STR("s.attr"), &v));
  end();
  KEY("none over a value");
  show_rc(F.TypeRegisterAttr(66, STR("s.attr"), &none));
  show_rc(F.TypeRegisterAttr(66, STR("s.attr"), &v));
  end();
  KEY("of a number");
  show_rc(F.TypeRegisterAttr(kTVMFFIInt, STR("s.attr"), &v));
  end();
  show_column("s.attr", 0);
  show_column("s.other", 0);
  KEY("empty name");
  show_rc(F.TypeRegisterAttr(a, BA(NULL, 0), &v));
  end();
}

/* ---- functions ---- */

static int echo(void *self, const TVMFFIAny *args, int32_t n,
                TVMFFIAny *result) {
  (void)self;
  if (n == 0) {
    F.ErrorSetRaisedFromCStr("IndexError", "no argument");
    return -1;
  }
  return F.AnyViewToOwnedAny(&args[0], result);
}
static int codes(void *self, const TVMFFIAny *args, int32_t n,
                 TVMFFIAny *result) {
  (void)args, (void)n, (void)result;
  return (int)(intptr_t)self;
}
static void get(const char *name) {
  TVMFFIObjectHandle f = &key;
  KEY("get %s", name);
  show_rc(F.FunctionGetGlobal(STR(name), &f));
  if (f == NULL) {
    printf(" none");
  } else {
    TVMFFIAny out = any_none();
    printf(" %d %llx cpp=%d ", ((Obj)f)->type_index,
           (unsigned long long)((Obj)f)->combined_ref_count,
           function_cell(f)->cpp_call != NULL);
    show_rc(F.FunctionCall(f, NULL, 0, &out));
    show_any(&out);
    F.ObjectDecRef(f);
  }
  end();
}
static void group_functions(void) {
  TVMFFIObjectHandle f = NULL, g = NULL, h = NULL;
  TVMFFIAny arg, out = any_none();
  TVMFFIMethodInfo m;
  int i;
  F.FunctionCreate((void *)3, safe_answer, NULL, &f);
  F.FunctionCreate((void *)5, safe_answer, NULL, &g);
  KEY("created");
  printf("%d %llx %llx", ((Obj)f)->type_index,
         (unsigned long long)((Obj)f)->combined_ref_count,
         (unsigned long long)((Obj)g)->combined_ref_count);
  end();
  get("s.f");
  KEY("set");
  show_rc(F.FunctionSetGlobal(STR("s.f"), f, 0));
  printf(" %llx", (unsigned long long)((Obj)f)->combined_ref_count);
  end();
  get("s.f");
  KEY("set another");
  show_rc(F.FunctionSetGlobal(STR("s.f"), g, 0));
  end();
  KEY("override");
  show_rc(F.FunctionSetGlobal(STR("s.f"), g, 1));
  printf(" %llx %llx", (unsigned long long)((Obj)f)->combined_ref_count,
         (unsigned long long)((Obj)g)->combined_ref_count);
  end();
  get("s.f");
  get("s.f\303\251");
  get("");
  memset(&m, 0, sizeof m);
  m.name = text_of("s.info");
  m.doc = text_of("about it");
  m.metadata = text_of("{\"type_schema\":\"x\"}");
  m.method = any_obj(f);
  KEY("info");
  show_rc(F.FunctionSetGlobalFromMethodInfo(&m, 0));
  end();
  get("s.info");
  m.method = any_obj(g);
  KEY("info another");
  show_rc(F.FunctionSetGlobalFromMethodInfo(&m, 0));
  end();
  KEY("info override");
  show_rc(F.FunctionSetGlobalFromMethodInfo(&m, 1));
  end();
  get("s.info");
  for (i = 0; i < 4; ++i) {
    static const char *const name[] = {"none", "int", "float", "raw string"};
    char bad[32];
    sprintf(bad, "s.bad%d", i);
    m.name = text_of(bad);
    m.method = any_none();
    if (i == 1) m.method = any_int(1);
    if (i == 2) m.method.type_index = kTVMFFIFloat;
    if (i == 3) m.method = any_of(kTVMFFIRawStr, (void *)"text");
    KEY("info with %s", name[i]);
    show_rc(F.FunctionSetGlobalFromMethodInfo(&m, 0));
    end();
  }
  F.FunctionCreate(NULL, echo, NULL, &h);
  KEY("call without arguments");
  show_rc(F.FunctionCall(h, NULL, 0, &out));
  end();
  arg = any_of(kTVMFFIRawStr, (void *)"a raw string that is long");
  KEY("call with a raw string");
  show_rc(F.FunctionCall(h, &arg, 1, &out));
  show_any(&out);
  end();
  for (i = -3; i < 4; ++i) {
    if (i == 0) continue; /* a NULL self may stand for the function itself */
    out = any_none();
    F.FunctionCreate((void *)(intptr_t)i, codes, NULL, &h);
    KEY("callee returns %d", i);
    show_rc(F.FunctionCall(h, NULL, 0, &out));
    end();
  }
}

/* The texts of typed functions, on those that both libraries have. */
static void group_builtins(void) {
  static const char *const names[] = {"ffi.FunctionRemoveGlobal",
                                      "ffi.GetGlobalFuncMetadata", "ffi.String",
                                      "ffi.Bytes"};
  static TVMFFIByteArray bytes = {"some bytes, many", 16};
  size_t i;
  int a;
  F.FunctionSetGlobal(STR("s.here"), make_function(), 0);
  for (i = 0; i < sizeof names / sizeof names[0]; ++i) {
    TVMFFIObjectHandle f = NULL;
    F.FunctionGetGlobal(STR(names[i]), &f);
    if (f == NULL) {
      KEY("%s", names[i]);
      printf("missing");
      end();
      continue;
    }
    for (a = 0; a < 16; ++a) {
      TVMFFIAny args[3], out = any_none();
      int n = a == 0 ? 0 : a == 1 ? 2 : 1;
      args[0] = args[1] = args[2] = any_int(1);
      switch (a) {
        case 3: args[0] = any_none(); break;
        case 4: args[0].type_index = kTVMFFIFloat; break;
        case 5: args[0].type_index = kTVMFFIBool; break;
        case 6: args[0] = any_of(kTVMFFIRawStr, (void *)"s.none"); break;
        case 7: args[0] = any_of(kTVMFFIRawStr, (void *)"s.here"); break;
        case 8: args[0] = any_of(kTVMFFIByteArrayPtr, &bytes); break;
        case 9: args[0] = any_obj(make_str()); break;
        case 10: args[0] = any_obj(make_bytes()); break;
        case 11: args[0] = any_obj(make_function()); break;
        case 12: args[0] = any_obj(make_tensor()); break;
        case 13: args[0] = any_of(kTVMFFIDevice, NULL); break;
        case 14: args[0] = any_of(kTVMFFIOpaquePtr, NULL); break;
        case 15: args[0] = any_of(kTVMFFISmallStr, NULL); break;
        default: break;
      }
      KEY("%s case %d", names[i], a);
      show_rc(F.FunctionCall(f, args, n, &out));
      show_any(&out);
      end();
      any_drop(&out);
    }
  }
}

/* ---- errors ---- */

static void show_error(Obj e) {
  TVMFFIErrorCell *c = error_cell(e);
  printf(" %llx ", (unsigned long long)e->combined_ref_count);
  show_bytes(c->kind);
  show_bytes(c->message);
  show_bytes(c->backtrace);
  printf(" %d %d end=%d,%d", c->cause_chain != NULL, c->extra_context != NULL,
         c->kind.data[c->kind.size], c->message.data[c->message.size]);
}
static void group_errors(void) {
  TVMFFIObjectHandle e = NULL, e2 = NULL;
  Obj context = make_str();
  const char *parts[] = {"one ", NULL, "", "two ", "three"};
  int i;
  KEY("create");
  show_rc(
      F.ErrorCreate(STR("ValueError"), STR("a message"), STR("trace\n"), &e));
  show_error((Obj)e);
  end();
  KEY("with cause and context");
  show_rc(F.ErrorCreateWithCauseAndExtraContext(STR("TypeError"),
                                                BA("embedded\0zero", 13),
                                                BA(NULL, 0), e, context, &e2));
  show_error((Obj)e2);
  printf(" %llx %llx", (unsigned long long)((Obj)e)->combined_ref_count,
         (unsigned long long)context->combined_ref_count);
  end();
  F.ObjectDecRef(e2);
  KEY("counts afterwards");
  printf("%llx %llx", (unsigned long long)((Obj)e)->combined_ref_count,
         (unsigned long long)context->combined_ref_count);
  end();
  for (i = -1; i < 4; ++i) {
    KEY("update mode %d", i);
    error_cell(e)->update_backtrace(e, STR("line\n"), i);
    show_error((Obj)e);
    end();
    error_cell(e)->update_backtrace(e, BA(NULL, 0), 0);
  }
  KEY("raise and take");
  F.ErrorSetRaised(e);
  printf("%llx ", (unsigned long long)((Obj)e)->combined_ref_count);
  e2 = error_take();
  printf("%d %llx", e2 == e, (unsigned long long)((Obj)e)->combined_ref_count);
  F.ErrorMoveFromRaised(&e2);
  printf(" %d", e2 == NULL);
  end();
  KEY("raise over another");
  F.ErrorSetRaisedFromCStr("KeyError", "first");
  F.ErrorSetRaisedFromCStr("IndexError", "second");
  show_rc(0);
  end();
  for (i = 0; i <= 5; ++i) {
    KEY("parts %d", i);
    F.ErrorSetRaisedFromCStrParts("KeyError", parts, i);
    show_rc(0);
    end();
  }
  KEY("empty texts");
  F.ErrorSetRaisedFromCStr("", "");
  show_rc(0);
  end();
  KEY("not ASCII");
  F.ErrorSetRaisedFromCStr("\303\211rror", "\377\376");
  show_rc(0);
  end();
}

/* ---- tensors ---- */

static void show_tensor(Obj o, struct sample *s) {
  DLTensor *t = tensor_cell(o);
  int i;
  printf(
      " count=%llx index=%d data=%d device=%d,%d ndim=%d dtype=%d,%d,%d"
      " shape=%s offset=%llu strides=%s",
      (unsigned long long)o->combined_ref_count, o->type_index,
      t->data == (void *)s->data, (int)t->device.device_type,
      t->device.device_id, t->ndim, t->dtype.code, t->dtype.bits,
      t->dtype.lanes, t->shape == s->shape ? "same" : "own",
      (unsigned long long)t->byte_offset,
      t->strides == NULL         ? "none"
      : t->strides == s->strides ? "same"
                                 : "own");
  for (i = 0; i < t->ndim; ++i) printf(" %lld", (long long)t->shape[i]);
  for (i = 0; i < t->ndim && t->strides; ++i) {
    printf(" %lld", (long long)t->strides[i]);
  }
}

static const int64_t shapes[][5] = {
    /* ndim, then extents */
    {0},          {1, 6},    {2, 2, 3}, {2, 1, 6}, {2, 6, 1},
    {3, 2, 1, 3}, {2, 0, 5}, {2, 5, 0}, {1, 1},    {4, 1, 1, 1, 1}};
static const int64_t strides[][4] = {
    {0}, {3, 1}, {1, 2}, {6, 1}, {1, 6},       {7, 1},    {3, 3, 1},
    {1}, {2},    {5, 1}, {0, 0}, {9, 9, 9, 9}, {3, 99, 1}};

static void fill(struct sample *s, int shape, int stride) {
  s->legacy.dl_tensor.ndim = (int32_t)shapes[shape][0];
  memcpy(s->shape, shapes[shape] + 1, 4 * sizeof(int64_t));
  memcpy(s->strides, strides[stride], 4 * sizeof(int64_t));
  s->legacy.dl_tensor.strides = stride == 0 ? NULL : s->strides;
  s->versioned.dl_tensor = s->legacy.dl_tensor;
}

static void group_dlpack_layout(void) {
  int shape, stride, contiguous, versioned;
  for (shape = 0; shape < 10; ++shape) {
    for (stride = 0; stride < 13; ++stride) {
      for (contiguous = 0; contiguous < 3; ++contiguous) {
        for (versioned = 0; versioned < 2; ++versioned) {
          struct sample *s = sample_new();
          TVMFFIObjectHandle o = NULL;
          int rc;
          fill(s, shape, stride);
          KEY("shape %d strides %d contiguous %d versioned %d", shape, stride,
              contiguous, versioned);
          rc = versioned ? F.TensorFromDLPackVersioned(&s->versioned, 0,
                                                       contiguous, &o)
                         : F.TensorFromDLPack(&s->legacy, 0, contiguous, &o);
          if (show_rc(rc) == 0) {
            show_tensor((Obj)o, s);
            F.ObjectDecRef(o);
          }
          printf(" deleted=%d", sample_deleted);
          sample_deleted = 0;
          end();
          free(s);
        }
      }
    }
  }
}

static void group_dlpack_alignment(void) {
  static const int alignments[] = {0, 1, 2, 3, 4, 8, 16, 64, 256, 4096};
  char *data = (char *)(uintptr_t)0x10000000; /* is never read */
  static const uint64_t offsets[] = {0, 1, 2, 4, 8, 64, 1024, 4096};
  int device;
  size_t a, o;
  for (device = 0; device < 20; ++device) {
    for (a = 0; a < sizeof alignments / sizeof alignments[0]; ++a) {
      for (o = 0; o < sizeof offsets / sizeof offsets[0]; ++o) {
        int step;
        for (step = 0; step < 2; ++step) {
          struct sample *s = sample_new();
          TVMFFIObjectHandle t = NULL;
          s->legacy.dl_tensor.device.device_type = (DLDeviceType)device;
          s->legacy.dl_tensor.device.device_id = 5;
          s->legacy.dl_tensor.data = data + 4 * step;
          s->legacy.dl_tensor.byte_offset = offsets[o];
          KEY("device %d alignment %d offset %d data +%d", device,
              alignments[a], (int)offsets[o], 4 * step);
          if (show_rc(F.TensorFromDLPack(&s->legacy, alignments[a], 0, &t)) ==
              0) {
            F.ObjectDecRef(t);
          }
          end();
          free(s);
        }
      }
    }
  }
}

static void group_dlpack(void) {
  static const uint64_t flags[] = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  struct sample *s = sample_new();
  TVMFFIObjectHandle t = NULL, view = NULL;
  DLManagedTensor *d = NULL;
  DLManagedTensorVersioned *v = NULL;
  DLTensor p;
  int i;
  for (i = 0; i < 9; ++i) {
    s->versioned.flags = flags[i];
    KEY("flags %d", (int)flags[i]);
    t = NULL;
    if (show_rc(F.TensorFromDLPackVersioned(&s->versioned, 0, 0, &t)) == 0) {
      F.TensorToDLPackVersioned(t, &v);
      printf(" flags=%llu version=%u.%u", (unsigned long long)v->flags,
             v->version.major, v->version.minor);
      v->deleter(v);
      F.ObjectDecRef(t);
    }
    end();
  }
  for (i = 0; i < 6; ++i) {
    static const uint32_t version[][2] = {{1, 0}, {1, 1},  {1, 3},
                                          {1, 4}, {1, 99}, {0, 8}};
    s->versioned.flags = 0;
    s->versioned.version.major = version[i][0];
    s->versioned.version.minor = version[i][1];
    KEY("version %u.%u", version[i][0], version[i][1]);
    t = NULL;
    if (show_rc(F.TensorFromDLPackVersioned(&s->versioned, 0, 0, &t)) == 0) {
      F.ObjectDecRef(t);
    }
    end();
  }
  for (i = 2; i < 4; ++i) {
    s->versioned.version.major = (uint32_t)i;
    s->versioned.version.minor = 0;
    KEY("version %d.0", i);
    show_rc(F.TensorFromDLPackVersioned(&s->versioned, 0, 0, &t));
    end();
  }
  sample_deleted = 0;
  F.TensorFromDLPack(&s->legacy, 0, 0, &t);
  KEY("to legacy");
  show_rc(F.TensorToDLPack(t, &d));
  printf(" context=%d count=%llx same=%d,%d", d->manager_ctx == t,
         (unsigned long long)((Obj)t)->combined_ref_count,
         d->dl_tensor.shape == s->shape, d->dl_tensor.strides == s->strides);
  F.ObjectDecRef(t);
  printf(" deleted=%d", sample_deleted);
  d->deleter(d);
  printf(" deleted=%d", sample_deleted);
  end();
  F.TensorFromDLPack(&s->legacy, 0, 0, &t);
  KEY("to versioned");
  show_rc(F.TensorToDLPackVersioned(t, &v));
  printf(" context=%d count=%llx version=%u.%u", v->manager_ctx == t,
         (unsigned long long)((Obj)t)->combined_ref_count, v->version.major,
         v->version.minor);
  v->deleter(v);
  end();
  p = *tensor_cell(t);
  p.byte_offset = 4;
  p.data = s->data + 1;
  KEY("view");
  show_rc(F.TensorCreateUnsafeView(t, &p, &view));
  show_tensor((Obj)view, s);
  printf(" data+1=%d count=%llx", tensor_cell(view)->data == s->data + 1,
         (unsigned long long)((Obj)t)->combined_ref_count);
  F.ObjectDecRef(t);
  sample_deleted = 0;
  F.ObjectDecRef(view);
  printf(" deleted=%d", sample_deleted);
  end();
  F.TensorFromDLPack(&s->legacy, 0, 0, &t);
  p = *tensor_cell(t);
  p.ndim = 0;
  KEY("scalar view");
  if (show_rc(F.TensorCreateUnsafeView(t, &p, &view)) == 0) {
    show_tensor((Obj)view, s);
  }
  end();
  p.ndim = 2;
  p.strides = NULL;
  KEY("view without strides");
  show_rc(F.TensorCreateUnsafeView(t, &p, &view));
  end();
}

/* ---- environment ---- */

static int env_mode;
static int env_allocator(DLTensor *prototype, DLManagedTensorVersioned **out,
                         void *context,
                         void (*raise)(void *, const char *, const char *)) {
  struct sample *s = sample_new();
  printf(" [asked %d %lld]", prototype->ndim,
         (long long)(prototype->ndim ? prototype->shape[0] : -1));
  *out = &s->versioned;
  switch (env_mode) {
    case 0: break;
    case 1: s->versioned.dl_tensor.strides = NULL; break;
    case 2: raise(context, "MemoryError", "none left"); return -1;
    case 3: *out = NULL; return 0;
    case 4: raise(context, "MemoryError", "none left"); return 5;
    case 5: s->versioned.dl_tensor.ndim = 0; break;
    default: s->versioned.deleter = NULL; break;
  }
  return 0;
}
static int other_allocator(DLTensor *prototype, DLManagedTensorVersioned **out,
                           void *context,
                           void (*raise)(void *, const char *, const char *)) {
  (void)prototype, (void)out, (void)context, (void)raise;
  return 0;
}
static const char *allocator_name(DLPackManagedTensorAllocator a) {
  return a == NULL ? "none" : a == env_allocator ? "first" : "other";
}
static int no_signal(void) { return 0; }
static int signal_came(void) { return -1; }
static int gil, gil_state;
static int gil_ensure(void) { return ++gil, gil_state; }
static void gil_release(int state) {
  if (state == gil_state) --gil;
}
static void group_env(void) {
  struct sample *s = sample_new();
  DLPackManagedTensorAllocator old = env_allocator;
  TVMFFIObjectHandle t = NULL;
  int i, j;
  static const char *const names[] = {"PyErr_CheckSignals",
                                      "PyGILState_Ensure",
                                      "PyGILState_Release",
                                      "PyErr_SetString",
                                      "",
                                      "pyerr_checksignals"};
  for (i = 0; i < 4; ++i) {
    for (j = 0; j < 4; ++j) {
      void *was = &gil;
      KEY("stream %d %d", i, j);
      show_rc(F.EnvSetStream(i, j, (void *)(intptr_t)(i * 10 + j + 1), &was));
      printf(" was=%p", was);
      show_rc(F.EnvSetStream(i, j, (void *)(intptr_t)(i * 10 + j + 2), &was));
      printf(" was=%p now=%p next=%p", was, F.EnvGetStream(i, j),
             F.EnvGetStream(i, j + 1));
      end();
    }
  }
  KEY("no allocator");
  printf("%s ", allocator_name(F.EnvGetDLPackManagedTensorAllocator()));
  show_rc(F.EnvTensorAlloc(&s->legacy.dl_tensor, &t));
  end();
  KEY("set allocator");
  show_rc(F.EnvSetDLPackManagedTensorAllocator(env_allocator, 0, &old));
  printf(" %s %s", allocator_name(old),
         allocator_name(F.EnvGetDLPackManagedTensorAllocator()));
  end();
  KEY("set global allocator");
  show_rc(F.EnvSetDLPackManagedTensorAllocator(other_allocator, 1, &old));
  printf(" %s %s", allocator_name(old),
         allocator_name(F.EnvGetDLPackManagedTensorAllocator()));
  end();
  KEY("unset allocator of the thread");
  show_rc(F.EnvSetDLPackManagedTensorAllocator(NULL, 0, &old));
  printf(" %s %s", allocator_name(old),
         allocator_name(F.EnvGetDLPackManagedTensorAllocator()));
  end();
  F.EnvSetDLPackManagedTensorAllocator(env_allocator, 0, NULL);
  for (env_mode = 0; env_mode < 7; ++env_mode) {
    t = NULL;
    KEY("allocate %d", env_mode);
    if (show_rc(F.EnvTensorAlloc(&s->legacy.dl_tensor, &t)) == 0) {
      DLTensor *d = tensor_cell(t);
      printf(" %d strides=%d", d->ndim, d->strides != NULL);
      if (d->ndim) {
        printf(" %lld %lld", (long long)d->strides[0],
               (long long)d->strides[1]);
      }
      sample_deleted = 0;
      F.ObjectDecRef(t);
      printf(" deleted=%d", sample_deleted);
    }
    end();
  }
  for (i = 3; i < 6; ++i) {
    KEY("register %s", names[i]);
    show_rc(F.EnvRegisterCAPI(names[i], (void *)no_signal));
    end();
  }
  KEY("signals, nothing registered");
  show_rc(F.EnvCheckSignals());
  end();
  F.EnvRegisterCAPI("PyGILState_Ensure", (void *)gil_ensure);
  F.EnvRegisterCAPI("PyGILState_Release", (void *)gil_release);
  KEY("signals, none, lock was held");
  show_rc(F.EnvRegisterCAPI("PyErr_CheckSignals", (void *)no_signal));
  show_rc(F.EnvCheckSignals());
  printf(" gil=%d", gil);
  end();
  gil_state = 1;
  gil = 0;
  KEY("signals, none, lock was not held");
  show_rc(F.EnvCheckSignals());
  printf(" gil=%d", gil);
  end();
  KEY("signals, one");
  show_rc(F.EnvRegisterCAPI("PyErr_CheckSignals", (void *)signal_came));
  show_rc(F.EnvCheckSignals());
  printf(" gil=%d", gil);
  end();
  KEY("symbols");
  show_rc(F.EnvModRegisterContextSymbol("s_symbol", &gil));
  show_rc(F.EnvModRegisterContextSymbol("s_symbol", &i));
  show_rc(F.EnvModRegisterSystemLibSymbol("s_symbol", &gil));
  show_rc(F.EnvModRegisterSystemLibSymbol("s_symbol", &gil));
  end();
}

static int token;
static int init_good(void **out) {
  *out = &token;
  return 0;
}
static int init_null(void **out) {
  (void)out;
  return 0;
}
static int init_fail(void **out) {
  *out = &token;
  F.ErrorSetRaisedFromCStr("ValueError", "cannot");
  return -3;
}
static int deinit_good(void *h) { return h == &token ? 0 : 9; }
static int deinit_fail(void *h) {
  (void)h;
  return 4;
}
static void group_once_and_opaque(void) {
  void *h = NULL;
  TVMFFIObjectHandle o = NULL;
  TVMFFIVersion version;
  static const int32_t indices[] = {-1, 0, 64, 67, 74, 75, 200};
  int i;
#define ONCE(name, call)      \
  KEY(name);                  \
  show_rc(call);              \
  printf(" %d", h == &token); \
  end()
  ONCE("init NULL result", F.HandleInitOnce(&h, init_null));
  ONCE("init fails", F.HandleInitOnce(&h, init_fail));
  ONCE("init", F.HandleInitOnce(&h, init_good));
  ONCE("init again", F.HandleInitOnce(&h, init_fail));
  ONCE("deinit fails", F.HandleDeinitOnce(&h, deinit_fail));
  ONCE("deinit nothing", F.HandleDeinitOnce(&h, deinit_fail));
  ONCE("init after", F.HandleInitOnce(&h, init_good));
  ONCE("deinit", F.HandleDeinitOnce(&h, deinit_good));
  for (i = 0; i < 7; ++i) {
    KEY("opaque %d", indices[i]);
    o = NULL;
    if (show_rc(F.ObjectCreateOpaque(&token, indices[i], NULL, &o)) == 0) {
      printf(" %d %llx %d", ((Obj)o)->type_index,
             (unsigned long long)((Obj)o)->combined_ref_count,
             *(void **)((Obj)o + 1) == &token);
      F.ObjectDecRef(o);
    }
    end();
  }
  F.GetVersion(&version);
  KEY("version");
  printf("%u.%u.%u", version.major, version.minor, version.patch);
  end();
  KEY("DecRef NULL");
  show_rc(F.ObjectDecRef(NULL));
  end();
}

/* Arrays and lists: every built-in on good and bad arguments. After each call
 * the sequence is shown, too: size, capacity, items. */
static Obj array_function(const char *name) {
  TVMFFIObjectHandle f = NULL;
  int rc = F.FunctionGetGlobal(STR(name), &f);
  return (Obj)need(rc, f);
}

static Obj array_make(const char *name, const TVMFFIAny *items, int n) {
  Obj f = array_function(name);
  TVMFFIAny result = any_none();
  int rc = F.FunctionCall(f, (TVMFFIAny *)(uintptr_t)items, n, &result);
  F.ObjectDecRef(f);
  return (Obj)need(rc, result.v_obj);
}

static void array_show(Obj o) {
  const TVMFFISeqCell *c = (const TVMFFISeqCell *)(const void *)(o + 1);
  const TVMFFIAny *items = (const TVMFFIAny *)c->data;
  int64_t i;
  printf(" | count=%llx %lld/%lld%s%s",
         (unsigned long long)o->combined_ref_count, (long long)c->size,
         (long long)c->capacity, c->data_deleter ? " own" : "",
         c->data == (const void *)(c + 1) ? " inline" : "");
  for (i = 0; i < c->size; ++i) {
    if (items[i].type_index >= kTVMFFIStaticObjectBegin) {
      printf(" %d:%llx", items[i].type_index,
             (unsigned long long)items[i].v_obj->combined_ref_count);
    } else {
      printf(" %d:%llx", items[i].type_index,
             (unsigned long long)items[i].v_uint64);
    }
  }
}

/* Calls a built-in, shows what came out, and the first argument. */
static void array_call(const char *name, TVMFFIAny *args, int n,
                       const char *what) {
  Obj f = array_function(name);
  TVMFFIAny result = any_none();
  KEY("%s %s", name, what);
  if (show_rc(F.FunctionCall(f, args, n, &result)) == 0) show_any(&result);
  any_drop(&result);
  if (n > 0 && (args[0].type_index == kTVMFFIArray ||
                args[0].type_index == kTVMFFIList)) {
    array_show(args[0].v_obj);
  }
  end();
  F.ObjectDecRef(f);
}

/* Values of many types to be put into a sequence: views of every kind. */
enum { ARRAY_VALUES = 12 };
static void array_values(TVMFFIAny *v) {
  static TVMFFIByteArray bytes = {"some bytes that are long", 24};
  double half = 0.5;
  v[0] = any_none();
  v[1] = any_int(-7);
  v[2] = any_of(kTVMFFIBool, (void *)1);
  v[3] = any_none();
  v[3].type_index = kTVMFFIFloat;
  memcpy(&v[3].v_int64, &half, 8);
  v[4] = any_of(kTVMFFIRawStr, (void *)(uintptr_t)"short");
  v[5] = any_of(kTVMFFIRawStr, (void *)(uintptr_t)"a string that is long");
  v[6] = any_of(kTVMFFIByteArrayPtr, &bytes);
  v[7] = any_obj(make_str());
  v[8] = any_obj(make_bytes());
  v[9] = any_of(kTVMFFIOpaquePtr, (void *)16);
  v[10] = any_obj(make_opaque(&bytes, NULL));
  v[11] = any_obj(array_make("ffi.Array", v, 3));
}

static void array_drop_values(TVMFFIAny *v) {
  for (int i = 0; i < ARRAY_VALUES; ++i) any_drop(&v[i]);
}

static const int64_t array_indices[] = {
    0, 1, 3, 4, 5, 9, -1, -2, -5, 1 << 20, INT64_C(1) << 40, INT32_MIN};
enum { ARRAY_INDICES = sizeof array_indices / sizeof array_indices[0] };

static Obj array_of_four(const char *name) {
  TVMFFIAny v[4];
  Obj o;
  v[0] = any_int(1);
  v[1] = any_obj(make_str());
  v[2] = any_of(kTVMFFIRawStr, (void *)(uintptr_t)"two");
  v[3] = any_obj(make_opaque(&v, NULL));
  o = array_make(name, v, 4);
  F.ObjectDecRef(v[1].v_obj);
  F.ObjectDecRef(v[3].v_obj);
  return o;
}

static void array_bad_arguments(void) {
  static const struct {
    const char *name;
    int num_args;
  } all[] = {{"ffi.ArrayGetItem", 2},     {"ffi.ArraySize", 1},
             {"ffi.ArrayContains", 2},    {"ffi.ListGetItem", 2},
             {"ffi.ListSetItem", 3},      {"ffi.ListSize", 1},
             {"ffi.ListContains", 2},     {"ffi.ListAppend", 2},
             {"ffi.ListInsert", 3},       {"ffi.ListPop", 2},
             {"ffi.ListErase", 2},        {"ffi.ListEraseRange", 3},
             {"ffi.ListReplaceSlice", 4}, {"ffi.ListReverse", 1},
             {"ffi.ListClear", 1},        {"ffi.ListReserve", 2}};
  Obj list = array_of_four("ffi.List"), array = array_of_four("ffi.Array");
  Obj taken = array_of_four("ffi.List");
  char what[60];
  TVMFFIAny v[ARRAY_VALUES], args[6];
  array_values(v);
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    int n = all[k].num_args;
    for (int i = 0; i < 6; ++i) args[i] = any_int(i);
    for (int i = 0; i < 6; ++i) {
      if (i == n) continue;
      args[0] = any_obj(list);
      snprintf(what, sizeof what, "with %d arguments", i);
      array_call(all[k].name, args, i, what);
    }
    /* The first argument of each type. */
    for (int i = 0; i < ARRAY_VALUES + 3; ++i) {
      args[0] = i < ARRAY_VALUES    ? v[i]
                : i == ARRAY_VALUES ? any_obj(array)
                : i == ARRAY_VALUES + 1
                    ? any_obj(list)
                    : any_of(kTVMFFIObjectRValueRef, &taken);
      args[n - 1] = n > 1 ? any_int(2) : args[0];
      if (n == 4) args[3] = any_obj(array);
      snprintf(what, sizeof what, "first of type %d, case %d",
               args[0].type_index, i);
      array_call(all[k].name, args, n, what);
    }
    /* The others, one by one. */
    for (int j = 1; j < n; ++j) {
      for (int i = 0; i < ARRAY_VALUES; ++i) {
        Obj target = array_of_four(strncmp(all[k].name, "ffi.List", 8) == 0
                                       ? "ffi.List"
                                       : "ffi.Array");
        args[0] = any_obj(target);
        args[1] = args[2] = any_int(1);
        if (n == 4) args[3] = any_obj(array);
        if (n == 4 && j == 3 && i == 0) continue;
        args[j] = v[i];
        snprintf(what, sizeof what, "argument %d of type %d, case %d", j,
                 v[i].type_index, i);
        array_call(all[k].name, args, n, what);
        F.ObjectDecRef(target);
      }
    }
    /* All of them wrong: which is named first? */
    for (int i = 0; i < n; ++i) args[i] = v[10];
    array_call(all[k].name, args, n, "all wrong");
  }
  array_drop_values(v);
  F.ObjectDecRef(list);
  F.ObjectDecRef(array);
  F.ObjectDecRef(taken);
}

static void array_making(void) {
  TVMFFIAny v[ARRAY_VALUES], args[40];
  char what[60];
  static const char *const names[] = {"ffi.Array", "ffi.List"};
  array_values(v);
  for (int k = 0; k < 2; ++k) {
    Obj f = array_function(names[k]);
    for (int n = 0; n <= 40; n += n < 8 ? 1 : 8) {
      TVMFFIAny result = any_none();
      for (int i = 0; i < n; ++i) args[i] = v[i % ARRAY_VALUES];
      KEY("%s of %d", names[k], n);
      if (show_rc(F.FunctionCall(f, args, n, &result)) == 0) {
        array_show(result.v_obj);
      }
      end();
      any_drop(&result);
    }
    {
      Obj moved = make_str(), twice = moved;
      TVMFFIAny result = any_none();
      args[0] = args[1] = any_of(kTVMFFIObjectRValueRef, &moved);
      snprintf(what, sizeof what, "%s of a moved object", names[k]);
      KEY("%s", what);
      if (show_rc(F.FunctionCall(f, args, 1, &result)) == 0) {
        array_show(result.v_obj);
        printf(" %s", moved ? "left" : "taken");
      }
      end();
      any_drop(&result);
      moved = twice = make_str();
      (void)twice;
      KEY("%s, twice", what);
      if (show_rc(F.FunctionCall(f, args, 2, &result)) == 0) {
        array_show(result.v_obj);
      }
      end();
    }
    F.ObjectDecRef(f);
  }
  array_drop_values(v);
}

static void array_indexing(void) {
  static const char *const one[] = {"ffi.ListGetItem", "ffi.ListPop",
                                    "ffi.ListErase",   "ffi.ListReserve",
                                    "ffi.ListInsert",  "ffi.ListSetItem"};
  TVMFFIAny args[4];
  char what[80];
  for (int k = 0; k < 6; ++k) {
    for (int i = 0; i < ARRAY_INDICES; ++i) {
      for (int kind = 0; kind < 2; ++kind) {
        Obj o = array_of_four(kind ? "ffi.Array" : "ffi.List");
        args[0] = any_obj(o);
        args[1] = any_int(array_indices[i]);
        args[2] = any_int(77);
        snprintf(what, sizeof what, "%s at %lld", kind ? "of an array" : "",
                 (long long)array_indices[i]);
        if (k != 3 || array_indices[i] < INT64_C(1) << 32)
          array_call(one[k], args, k < 4 ? 2 : 3, what);
        F.ObjectDecRef(o);
      }
    }
  }
  for (int i = 0; i < ARRAY_INDICES; ++i) {
    Obj o = array_of_four("ffi.Array");
    args[0] = any_obj(o);
    args[1] = any_int(array_indices[i]);
    snprintf(what, sizeof what, "at %lld", (long long)array_indices[i]);
    array_call("ffi.ArrayGetItem", args, 2, what);
    F.ObjectDecRef(o);
  }
}

static void array_slicing(void) {
  TVMFFIAny args[4], v[ARRAY_VALUES];
  char what[120];
  array_values(v);
  for (int64_t a = -2; a < 8; ++a) {
    for (int64_t b = -2; b < 8; ++b) {
      for (int kind = 0; kind < 5; ++kind) {
        Obj o = array_of_four("ffi.List"), r = NULL;
        args[0] = any_obj(o);
        args[1] = any_int(a);
        args[2] = any_int(b);
        if (kind == 1) r = array_make("ffi.List", v, 0);
        if (kind == 2) r = array_make("ffi.List", v, 3);
        if (kind == 3) r = array_make("ffi.Array", v + 4, 7);
        if (kind) args[3] = any_obj(r ? r : o);
        snprintf(what, sizeof what, "[%lld, %lld) kind %d", (long long)a,
                 (long long)b, kind);
        array_call(kind ? "ffi.ListReplaceSlice" : "ffi.ListEraseRange", args,
                   kind ? 4 : 3, what);
        if (r) F.ObjectDecRef(r);
        F.ObjectDecRef(o);
      }
    }
  }
  array_drop_values(v);
}

static void array_growing(void) {
  TVMFFIAny args[3], v[ARRAY_VALUES];
  char what[60];
  Obj o = array_make("ffi.List", NULL, 0);
  array_values(v);
  args[0] = any_obj(o);
  for (int i = 0; i < 70; ++i) {
    args[1] = v[i % ARRAY_VALUES];
    snprintf(what, sizeof what, "the item %d", i);
    array_call("ffi.ListAppend", args, 2, what);
  }
  for (int i = 0; i < 10; ++i) {
    args[1] = any_int(i * 3);
    args[2] = v[i];
    snprintf(what, sizeof what, "before %d", i * 3);
    array_call("ffi.ListInsert", args, 3, what);
    args[2] = v[11 - i];
    array_call("ffi.ListSetItem", args, 3, what);
  }
  for (int i = 0; i < ARRAY_VALUES; ++i) {
    args[1] = v[i];
    snprintf(what, sizeof what, "of value %d", i);
    array_call("ffi.ListContains", args, 2, what);
    array_call("ffi.ListSize", args, 1, what);
  }
  array_call("ffi.ListReverse", args, 1, "all");
  args[1] = any_int(100);
  array_call("ffi.ListReserve", args, 2, "100");
  args[1] = any_int(9);
  array_call("ffi.ListReserve", args, 2, "less");
  array_call("ffi.ListPop", args, 2, "9");
  args[1] = args[0];
  array_call("ffi.ListAppend", args, 2, "itself");
  array_call("ffi.ListContains", args, 2, "itself");
  args[1] = any_int(0);
  args[2] = args[0];
  array_call("ffi.ListInsert", args, 3, "itself");
  array_call("ffi.ListSetItem", args, 3, "itself");
  array_call("ffi.ListClear", args, 1, "of itself");
  array_call("ffi.ListClear", args, 1, "of nothing");
  array_call("ffi.ListReverse", args, 1, "nothing");
  array_call("ffi.ListAppend", (args[1] = any_int(1), args), 2, "after");
  F.ObjectDecRef(o);
  array_drop_values(v);
}

/* Which values are equal, as a sequence of one sees it. */
static void array_equality(void) {
  enum { N = 30 };
  TVMFFIAny v[N], args[2];
  char row[N + 1] = "";
  Obj f = array_function("ffi.ArrayContains");
  int n = 0;
  int64_t big[2] = {1, 1};
  double d[] = {0.0, -0.0, 1.0, 0.0 / 0.0};
  static TVMFFIByteArray shorts = {"abc", 3}, longs = {"long text, long", 15};
  v[n++] = any_none();
  v[n++] = any_int(0);
  v[n++] = any_int(1);
  v[n++] = any_of(kTVMFFIBool, (void *)1);
  for (int i = 0; i < 4; ++i) {
    v[n] = any_none();
    v[n].type_index = kTVMFFIFloat;
    memcpy(&v[n++].v_int64, &d[i], 8);
  }
  for (int i = 0; i < 2; ++i) {
    need(F.StringFromByteArray(i ? &longs : &shorts, &v[n]), &n), ++n;
    need(F.StringFromByteArray(i ? &longs : &shorts, &v[n]), &n), ++n;
    need(F.BytesFromByteArray(i ? &longs : &shorts, &v[n]), &n), ++n;
    need(F.BytesFromByteArray(i ? &longs : &shorts, &v[n]), &n), ++n;
    v[n++] = any_of(kTVMFFIByteArrayPtr, i ? &longs : &shorts);
    v[n++] =
        any_of(kTVMFFIRawStr, (void *)(uintptr_t)(i ? longs : shorts).data);
    need(F.BigIntFromByteArray(BA((char *)big, 16), &v[n]), &n), ++n;
  }
  v[n++] = any_obj(make_opaque(&v, NULL));
  v[n++] = any_obj(make_opaque(&v, NULL));
  v[n++] = any_obj(make_function());
  for (int i = 0; i < n; ++i) {
    Obj o = array_make("ffi.Array", &v[i], 1);
    args[0] = any_obj(o);
    for (int j = 0; j < n; ++j) {
      TVMFFIAny result = any_none();
      args[1] = v[j];
      row[j] = F.FunctionCall(f, args, 2, &result) ? 'e'
               : result.v_int64                    ? '1'
                                                   : '0';
    }
    KEY("value %d equals", i);
    printf("%.*s", n, row);
    end();
    F.ObjectDecRef(o);
  }
  for (int i = 0; i < n; ++i) any_drop(&v[i]);
  F.ObjectDecRef(f);
}

static void group_arrays(void) {
  array_making();
  array_bad_arguments();
  array_indexing();
  array_slicing();
  array_growing();
  array_equality();
}

/* ---- maps and dicts ---- */

/* The fields of the header that C++ clients read. Where a grown row stands
 * is the library's own affair. */
typedef struct {
  TVMFFIObject base;
  void *data;
  uint64_t size, slots;
  void (*data_deleter)(void *);
} map_head;

static void map_show_value(const TVMFFIAny *a) {
  printf(" %d", a->type_index);
  if (a->type_index < kTVMFFIStaticObjectBegin) {
    printf(":%llx", (unsigned long long)a->v_uint64);
  } else if (a->type_index == kTVMFFIStr || a->type_index == kTVMFFIBytes) {
    TVMFFIByteArray text = any_text(a);
    printf(":");
    show_text(text.data, text.size);
  }
}

/* Calls a function; the result is the caller's. */
static int map_call(const char *name, TVMFFIAny *args, int n, TVMFFIAny *r) {
  Obj f = array_function(name);
  int rc;
  *r = any_none();
  rc = F.FunctionCall(f, args, n, r);
  F.ObjectDecRef(f);
  return rc;
}

/* The slots of a map that has no keys hashed by their addresses: with such keys
   they differ from run to run. */
static void map_show_slots(Obj map) {
  const map_head *m = (const map_head *)(const void *)map;
  printf(
      " slots=%llx%s", (unsigned long long)m->slots,
      m->slots % 8 == 2 && m->data == (const char *)map + 56 ? " inline" : "");
}

static void map_show(Obj map) {
  const map_head *m = (const map_head *)(const void *)map;
  TVMFFIAny args[1], next, command, got;
  uint64_t i;
  printf(" | %s size=%llu", map->type_index == kTVMFFIMap ? "map" : "dict",
         (unsigned long long)m->size);
  args[0] = any_obj(map);
  if (m->size == 0 ||
      map_call(map->type_index == kTVMFFIMap ? "ffi.MapForwardIterFunctor"
                                             : "ffi.DictForwardIterFunctor",
               args, 1, &next) != 0)
    return;
  for (i = 0; i < m->size; ++i) {
    int k;
    for (k = 0; k < 3; ++k) {
      command = any_int(k);
      got = any_none();
      show_rc(F.FunctionCall(next.v_obj, &command, 1, &got));
      map_show_value(&got);
      any_drop(&got);
    }
  }
  any_drop(&next);
}

static void map_making(void) {
  static const char *const names[] = {"ffi.Map", "ffi.Dict"};
  TVMFFIAny v[ARRAY_VALUES], args[40], result;
  array_values(v);
  for (int k = 0; k < 2; ++k) {
    for (int n = 0; n <= 40; ++n) {
      for (int i = 0; i < n; ++i)
        args[i] = i % 2                  ? any_int(i)
                  : i < 2 * ARRAY_VALUES ? v[i / 2]
                                         : any_int(i % 6);
      KEY("%s of %d", names[k], n);
      if (show_rc(map_call(names[k], args, n, &result)) == 0) {
        if (n <= 24) map_show_slots(result.v_obj); /* a row, without hashes */
        map_show(result.v_obj);
      }
      end();
      any_drop(&result);
    }
  }
  array_drop_values(v);
}

static Obj map_of(const char *name, int n) {
  TVMFFIAny args[64], result;
  for (int i = 0; i < 2 * n; ++i) args[i] = any_int(i / 2);
  int rc = map_call(name, args, 2 * n, &result);
  return (Obj)need(rc, result.v_obj);
}

static void map_arguments(void) {
  static const struct {
    const char *name;
    int num_args;
  } all[] = {{"ffi.MapSize", 1},
             {"ffi.MapGetItem", 2},
             {"ffi.MapCount", 2},
             {"ffi.MapGetItemOrMissing", 2},
             {"ffi.DictSize", 1},
             {"ffi.DictGetItem", 2},
             {"ffi.DictCount", 2},
             {"ffi.DictGetItemOrMissing", 2},
             {"ffi.DictSetItem", 3},
             {"ffi.DictErase", 2},
             {"ffi.DictClear", 1},
             {"ffi.MapForwardIterFunctor", 1},
             {"ffi.DictForwardIterFunctor", 1},
             {"ffi.ContainerFindFirstNonCPUDevice", 1}};
  TVMFFIAny v[ARRAY_VALUES], args[6], result;
  array_values(v);
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    int n = all[k].num_args;
    for (int size = 1; size < 12; size += 4) {
      Obj maps[2];
      maps[0] = map_of("ffi.Map", size);
      maps[1] = map_of("ffi.Dict", size);
      for (int count = 0; count < 5; ++count) {
        for (int i = 0; i < ARRAY_VALUES + 2; ++i) {
          args[0] = i < ARRAY_VALUES ? v[i] : any_obj(maps[i - ARRAY_VALUES]);
          args[1] = args[2] = args[3] = any_int(0);
          KEY("%s with %d arguments, size %d, case %d", all[k].name, count,
              size, i);
          if (show_rc(map_call(all[k].name, args, count, &result)) == 0)
            map_show_value(&result);
          any_drop(&result);
          end();
        }
      }
      for (int i = 0; i < ARRAY_VALUES && n > 1; ++i) {
        for (int side = 0; side < 2; ++side) {
          args[0] = any_obj(maps[side]);
          args[1] = v[i];
          args[2] = v[i];
          KEY("%s of %d with key %d", all[k].name, side, i);
          if (show_rc(map_call(all[k].name, args, n, &result)) == 0)
            map_show_value(&result);
          any_drop(&result);
          map_show(maps[side]);
          end();
        }
      }
      F.ObjectDecRef(maps[0]);
      F.ObjectDecRef(maps[1]);
    }
  }
  array_drop_values(v);
}

/* Sets, erases and clears; layout and order after each step. */
static void map_changing(void) {
  for (int keys = 1; keys < 40; keys += keys < 10 ? 1 : 10) {
    Obj dict = map_of("ffi.Dict", 0);
    unsigned random = 7;
    for (int step = 0; step < 60; ++step) {
      TVMFFIAny args[3], result;
      int erase;
      random = random * 1664525u + 1013904223u;
      erase = (random >> 5) % 8 < (step < 40 ? 2u : 6u);
      args[0] = any_obj(dict);
      args[1] = any_int((int64_t)((random >> 8) % (unsigned)keys));
      args[2] = any_int(step);
      KEY("%d keys, step %d", keys, step);
      show_rc(map_call(erase ? "ffi.DictErase" : "ffi.DictSetItem", args,
                       erase ? 2 : 3, &result));
      if (step == 50) show_rc(map_call("ffi.DictClear", args, 1, &result));
      map_show_slots(dict);
      map_show(dict);
      end();
    }
    F.ObjectDecRef(dict);
  }
}

static void group_maps(void) {
  map_making();
  map_arguments();
  map_changing();
}

#define GROUPS(X)                                                       \
  X(dtype_parse)                                                        \
  X(dtype_print)                                                        \
  X(dtype_custom) X(strings) X(bigint) X(any) X(builtin_types) X(types) \
      X(reflection) X(attributes) X(functions) X(builtins) X(errors)    \
          X(dlpack_layout) X(dlpack_alignment) X(dlpack) X(env)         \
              X(once_and_opaque) X(arrays) X(maps)

int main(int argc, char **argv) {
  static const struct {
    const char *name;
    void (*run)(void);
  } groups[] = {
#define X(name) {#name, group_##name},
      GROUPS(X)
#undef X
  };
  size_t i;
  int bad = 0;
  if (argc < 2) return 2;
  robust_open(argv[1]);
  F.ErrorSetRaisedFromCStr("ValueError", "warm");
  F.ObjectDecRef(error_take());
  for (i = 0; i < sizeof groups / sizeof groups[0]; ++i) {
    int status;
    pid_t pid;
    fflush(stdout);
    pid = fork();
    group = groups[i].name;
    if (pid == 0) {
      alarm(120);
      groups[i].run();
      printf("%s/end\tended\n", group);
      fflush(stdout);
      _exit(0);
    }
    waitpid(pid, &status, 0);
    if (status != 0) {
      printf("%s/end\tstatus %d\n", group, status);
      bad = 1;
    }
  }
  return bad;
}
