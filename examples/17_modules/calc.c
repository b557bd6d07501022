/* A module kind of your own: a module compiles formulas when it is created. Its
   functions are known only then, as with a JIT compiler.

       cc -shared -fPIC -O2 -I. examples/17_modules/calc.c -o calc.so
       python examples/17_modules/use_calc.py calc.so */
#include "tvmffi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A formula is compiled to code for a stack machine. The code for
   `mean(a, b) = (a + b) / 2`: parameter 0, parameter 1, +, number 2, /. */
enum { MAX_PARAMS = 8, MAX_CODE = 64, MAX_NAME = 32 };

typedef struct {
  char what; /* 'n' a number, 'p' a parameter, or an operator */
  double number;
  int parameter;
} Step;

typedef struct Formula {
  struct Formula *next;
  char name[MAX_NAME], params[MAX_PARAMS][MAX_NAME];
  int num_params, num_steps;
  Step steps[MAX_CODE];
} Formula;

/* A module is a struct that begins with tvmffi_module. TVMFFI_MODULE lists what
   this kind of module supports; the methods are below. */
typedef struct {
  tvmffi_module base;
  char *source; /* owned, as are the formulas */
  Formula *first;
} Calc;

static void calc_end(Calc *self) {
  while (self->first) {
    Formula *next = self->first->next;
    free(self->first);
    self->first = next;
  }
  free(self->source);
}

TVMFFI_MODULE(Calc, "demo.calc",            /**/
              (function, names),            /* listed: module.names() */
              (doc, "The formulas' names"), /**/
              (function, to_bytes),         /**/
              (lookup, find),               /* any other function */
              (save, to_bytes),             /* for libraries with modules */
              (load, from_bytes),           /**/
              (save_file, "calc", write),   /* module.write_to_file(path) */
              (load_file, "calc", read),    /* load_module("name.calc") */
              (source, source),             /* module.inspect_source() */
              (destructor, calc_end))

/* ---- The compiler ---- */

typedef struct {
  const char *at;
  Formula *f;
  int depth;
} Parser;

static void skip(Parser *p) {
  while (*p->at == ' ') ++p->at;
}

static int expect(Parser *p, char c) {
  skip(p);
  if (*p->at != c)
    return TVMFFI_RAISE("ValueError", "expected `%c` at `%.20s`", c, p->at);
  ++p->at;
  return 0;
}

static int parse_name(Parser *p, char *name) {
  size_t n;
  skip(p);
  n = strspn(p->at, "abcdefghijklmnopqrstuvwxyz_0123456789");
  if (!n || n >= MAX_NAME)
    return TVMFFI_RAISE("ValueError", "expected a name at `%.20s`", p->at);
  memcpy(name, p->at, n);
  name[n] = 0;
  p->at += n;
  return 0;
}

static int emit(Parser *p, char what, double number, int parameter) {
  Step *step = &p->f->steps[p->f->num_steps];
  if (p->f->num_steps == MAX_CODE)
    return TVMFFI_RAISE("ValueError", "%s is too long", p->f->name);
  ++p->f->num_steps;
  step->what = what;
  step->number = number;
  step->parameter = parameter;
  return 0;
}

static int parse_sum(Parser *p);

static int parse_value(Parser *p) {
  char name[MAX_NAME], *end;
  double number;
  int i;
  skip(p);
  if (*p->at == '(') {
    if (++p->depth > MAX_CODE)
      return TVMFFI_RAISE("ValueError", "%s is too deep", p->f->name);
    ++p->at;
    TVMFFI_TRY(parse_sum(p));
    --p->depth;
    return expect(p, ')');
  }
  if ((*p->at >= '0' && *p->at <= '9') || *p->at == '.') {
    number = strtod(p->at, &end);
    p->at = end;
    return emit(p, 'n', number, 0);
  }
  TVMFFI_TRY(parse_name(p, name));
  for (i = 0; i < p->f->num_params; ++i)
    if (strcmp(name, p->f->params[i]) == 0) return emit(p, 'p', 0, i);
  return TVMFFI_RAISE("ValueError", "%s: no parameter `%s`", p->f->name, name);
}

/* Parses operands separated by either of the two operators in `two`. */
static int parse_operators(Parser *p, int (*parse)(Parser *), const char *two) {
  TVMFFI_TRY(parse(p));
  for (skip(p); *p->at == two[0] || *p->at == two[1]; skip(p)) {
    char what = *p->at++;
    TVMFFI_TRY(parse(p));
    TVMFFI_TRY(emit(p, what, 0, 0));
  }
  return 0;
}
static int parse_product(Parser *p) {
  return parse_operators(p, parse_value, "*/");
}
static int parse_sum(Parser *p) {
  return parse_operators(p, parse_product, "+-");
}

/* Parses `name(parameter, ...) = formula`. */
static int parse_formula(Parser *p) {
  Formula *f = p->f;
  TVMFFI_TRY(parse_name(p, f->name));
  TVMFFI_TRY(expect(p, '('));
  for (skip(p); *p->at != ')'; skip(p)) {
    if (f->num_params) TVMFFI_TRY(expect(p, ','));
    if (f->num_params == MAX_PARAMS)
      return TVMFFI_RAISE("ValueError", "%s: too many parameters", f->name);
    TVMFFI_TRY(parse_name(p, f->params[f->num_params]));
    ++f->num_params;
  }
  TVMFFI_TRY(expect(p, ')'));
  TVMFFI_TRY(expect(p, '='));
  TVMFFI_TRY(parse_sum(p));
  if (*p->at && *p->at != '\n')
    return TVMFFI_RAISE("ValueError", "unexpected `%.20s`", p->at);
  return 0;
}

/* Compiles the module's source: one formula per line. */
static int compile_source(Calc *self) {
  Formula **last = &self->first;
  Parser p = {self->source, NULL, 0};
  for (; *p.at; p.at += *p.at == '\n') {
    if (*p.at == '\n') continue;
    p.f = *last = (Formula *)calloc(1, sizeof(*p.f));
    if (!p.f) return TVMFFI_RAISE("MemoryError", "no memory for a formula");
    last = &p.f->next;
    TVMFFI_TRY(parse_formula(&p));
  }
  return 0;
}

/* Makes a module in the caller's scope. TVMFFI_NEW zeroes the module, so the
   destructor also handles one that is only partly built. */
static Calc *make_calc(TVMFFI_HERE, TVMFFIByteArray source) {
  Calc *calc = TVMFFI_NEW(Calc);
  if (!calc) return NULL;
  calc->source = (char *)calloc(source.size + 1, 1);
  if (!calc->source) {
    (void)TVMFFI_RAISE("MemoryError", "no memory for the source");
    return NULL;
  }
  memcpy(calc->source, source.data, source.size);
  return compile_source(calc) ? NULL : calc;
}

TVMFFI_EXPORT(compile, Calc, (str, source)) {
  TVMFFI_RETURN(make_calc(tvmffi_here, source));
}

/* No code runs when the library is loaded. Python calls this function once, so
   that saved modules can be loaded before any module is compiled. */
TVMFFI_EXPORT(register_kinds, none) {
  TVMFFI_TRY(TVMFFI_REGISTER_TYPE(Calc));
  TVMFFI_RETURN();
}

/* ---- The functions ---- */

/* What a function object owns: a reference to the module, which owns the
   formula. */
typedef struct {
  Calc *module;
  const Formula *formula;
} Call;

static int calculate(void *state, const TVMFFIAny *args, int32_t num_args,
                     TVMFFIAny *result) {
  const Formula *f = ((const Call *)state)->formula;
  double stack[MAX_CODE], params[MAX_PARAMS];
  int i, top = -1;
  if (num_args != f->num_params)
    return TVMFFI_RAISE("TypeError", "%s: expected %d numbers, but got %d",
                        f->name, f->num_params, (int)num_args);
  for (i = 0; i < num_args; ++i)
    TVMFFI_TRY(tvmffi_as(args[i], tvmffi_out_float64(&params[i])));
  for (i = 0; i < f->num_steps; ++i) {
    const Step *s = &f->steps[i];
    switch (s->what) {
      case 'n': stack[++top] = s->number; continue;
      case 'p': stack[++top] = params[s->parameter]; continue;
      default: --top;
    }
    if (s->what == '/' && stack[top + 1] == 0)
      return TVMFFI_RAISE("ValueError", "%s: %g / 0", f->name, stack[top]);
    switch (s->what) {
      case '+': stack[top] += stack[top + 1]; break;
      case '-': stack[top] -= stack[top + 1]; break;
      case '*': stack[top] *= stack[top + 1]; break;
      default: stack[top] /= stack[top + 1]; break;
    }
  }
  *result = tvmffi_float(stack[top]);
  return 0;
}

static void call_end(void *state) {
  Call *call = (Call *)state;
  tvmffi_release(call->module);
  free(call);
}

/* Finds a function by its name. It is a packed function, because the number of
   its parameters is known only at run time. */
TVMFFI_METHOD(Calc, find, optional(func), (str, name)) {
  TVMFFIObjectHandle function = NULL;
  Formula *f = self->first;
  Call *call;
  while (f && strcmp(f->name, name.data) != 0) f = f->next;
  if (!f) TVMFFI_RETURN(NULL);
  call = (Call *)calloc(1, sizeof(*call));
  if (!call) return TVMFFI_RAISE("MemoryError", "no memory for %s", f->name);
  call->formula = f;
  tvmffi_keep(&call->module, self);
  if (TVMFFIFunctionCreate(call, calculate, call_end, &function)) {
    call_end(call);
    return -1;
  }
  TVMFFI_RETURN(tvmffi_scope_attach(function));
}

TVMFFI_METHOD(Calc, names, list(str)) {
  TVMFFIObject *list = tvmffi_list();
  const Formula *f;
  for (f = self->first; f; f = f->next)
    TVMFFI_TRY(tvmffi_append(tvmffi_obj(list), tvmffi_str(f->name)));
  TVMFFI_RETURN(list);
}

/* ---- Bytes, files, source ---- */

/* Saves the source. Loading compiles it again. */
TVMFFI_METHOD(Calc, to_bytes, bytes) {
  TVMFFI_RETURN(tvmffi_byte_array(self->source));
}

TVMFFI_STATIC_METHOD(Calc, from_bytes, Calc, (bytes, data)) {
  TVMFFI_RETURN(make_calc(tvmffi_here, data));
}

TVMFFI_METHOD(Calc, source, str, (str, format)) {
  (void)format;
  TVMFFI_RETURN(tvmffi_byte_array(self->source));
}

TVMFFI_METHOD(Calc, write, none, (str, path), (str, format)) {
  FILE *file = fopen(path.data, "w");
  int failed = !file || fputs(self->source, file) < 0;
  (void)format;
  if (file && fclose(file)) failed = 1;
  if (failed) return TVMFFI_RAISE("RuntimeError", "cannot write %s", path.data);
  TVMFFI_RETURN();
}

TVMFFI_STATIC_METHOD(Calc, read, Calc, (str, path), (str, format)) {
  char text[4096];
  TVMFFIByteArray source = {text, 0};
  FILE *file = fopen(path.data, "r");
  (void)format;
  if (!file) return TVMFFI_RAISE("RuntimeError", "cannot read %s", path.data);
  source.size = fread(text, 1, sizeof(text), file);
  fclose(file);
  if (source.size == sizeof(text))
    return TVMFFI_RAISE("RuntimeError", "%s is too long", path.data);
  TVMFFI_RETURN(make_calc(tvmffi_here, source));
}
