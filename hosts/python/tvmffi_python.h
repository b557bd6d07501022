/* tvmffi_python.h: typed functions and types as a Python extension module.

   Include it instead of tvmffi.h, write TVMFFI_EXPORT functions, and add one
   line. The library is then an extension module, and tvm_ffi.load_module still
   loads it:

       #include "tvmffi_python.h"

       TVMFFI_EXPORT(add, int64, (int64, a), (int64, b, 1)) {
         TVMFFI_RETURN(a + b);
       }
       TVMFFI_PYTHON_MODULE(kernels)

       cc -shared -fPIC -O2 $(python -m tvmffi --cflags) \
         $(python3-config --includes) kernels.c -o kernels.so

   Options, defined before the include:
     TVMFFI_PYTHON_KEEP_GIL  as 1: calls keep the GIL. For functions that are
                             short and wait for nobody. Free-threaded CPython
                             then turns its GIL on. Default 0: calls release it,
                             as the package tvm_ffi does.
     Py_LIMITED_API          as 0x030c0000: one library for CPython 3.12 and
                             newer.

   Needs an ELF system, a GNU compiler and CPython 3.10 or newer. Documentation:
   docs/python.md. License: Apache-2.0 OR MIT, as tvmffi.h. */

#ifndef TVMFFI_PYTHON_H_
#define TVMFFI_PYTHON_H_

#ifndef PY_SSIZE_T_CLEAN
#define PY_SSIZE_T_CLEAN
#endif
#include <Python.h>
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX < 0x030c0000
#include <structmember.h>
#endif

#ifdef TVMFFI_H_
#if !TVMFFI_DYNAMIC
#error "include tvmffi_python.h before tvmffi.h, which it includes"
#endif
#else
/* An extension module is loaded when nothing has loaded a runtime yet, so it
   finds the runtime itself. */
#undef TVMFFI_DYNAMIC
#define TVMFFI_DYNAMIC 1
#endif
#include "tvmffi.h"

#if TVMFFI_NO_METADATA
#error "tvmffi_python.h: TVMFFI_NO_METADATA removes the parameters' names"
#endif
#ifndef TVMFFI_PYTHON_KEEP_GIL
#define TVMFFI_PYTHON_KEEP_GIL 0
#endif

#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Functions that the hot path does not need stay out of it, as their stack
   frames do. */
#define TVMFFI_PY_COLD TVMFFI_I_SLOW TVMFFI_I_UNUSED
#define TVMFFI_PY_HOT TVMFFI_I_INLINE __attribute__((__always_inline__))

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Runtime: the process's, or the one that tvm_ffi would load ---- */

#if !defined(TVMFFI_IMPLEMENTATION)
#define TVMFFI_PY_HAS_OWN 0
static TVMFFI_I_UNUSED tvmffi_i_api tvmffi_py_table;

/* Chooses a library's functions. Returns 0 if they are not right. Every thread
   that comes here before the choice copies the same table. */
TVMFFI_PY_COLD int tvmffi_py_use(void *library) {
  static char is_locked;
  tvmffi_i_api found;
  if (!tvmffi_i_fill_api(&found, library, dlsym)) return 0;
  while (__atomic_test_and_set(&is_locked, __ATOMIC_ACQUIRE)) {
  }
  if (!tvmffi_i_chosen) {
    tvmffi_py_table = found;
    TVMFFI_I_STORE(&tvmffi_i_chosen, &tvmffi_py_table);
  }
  __atomic_clear(&is_locked, __ATOMIC_RELEASE);
  return 1;
}

TVMFFI_PY_COLD int tvmffi_py_use_loaded(void) {
  return tvmffi_py_use(dlopen(NULL, RTLD_LAZY)) ||
         tvmffi_py_use(dlopen("libtvm_ffi.so", RTLD_LAZY | RTLD_NOLOAD));
}

/* In a process that hides its runtime, every function returns a failure. */
static TVMFFI_I_UNUSED void *tvmffi_py_no_pointer(void) { return NULL; }
static TVMFFI_I_UNUSED int tvmffi_py_no_code(void) { return -1; }
#define TVMFFI_PY_NO_CODE(name) \
  table.at_##name = (__typeof__(table.at_##name))(uintptr_t)tvmffi_py_no_code;
#define TVMFFI_PY_NO_POINTER(name) \
  table.at_##name =                \
      (__typeof__(table.at_##name))(uintptr_t)tvmffi_py_no_pointer;
TVMFFI_PY_COLD const tvmffi_i_api *tvmffi_py_no_runtime(void) {
  static tvmffi_i_api table;
  TVMFFI_I_EACH_FUNCTION(TVMFFI_PY_NO_CODE)
  TVMFFI_PY_NO_POINTER(TVMFFIBacktrace)
  TVMFFI_PY_NO_POINTER(TVMFFIEnvGetDLPackManagedTensorAllocator)
  TVMFFI_PY_NO_POINTER(TVMFFIEnvGetStream)
  TVMFFI_PY_NO_POINTER(TVMFFIGetCustomAllocator)
  TVMFFI_PY_NO_POINTER(TVMFFIGetTypeAttrColumn)
  TVMFFI_PY_NO_POINTER(TVMFFIGetTypeInfo)
  return &table;
}

/* tvm_ffi.load_module does not import the module, so its first call of the ABI
   comes here. */
#define TVMFFI_PY_CHOOSE                                                       \
  const tvmffi_i_api *tvmffi_i_chosen;                                         \
  const tvmffi_i_api *tvmffi_i_choose(void) {                                  \
    return tvmffi_py_use_loaded() ? &tvmffi_py_table : tvmffi_py_no_runtime(); \
  }

/* Writes the path of the library that a later `import tvm_ffi` will load: the
   library of tvmffi.activate() or of the package, whichever is first on
   sys.path; else the path of the package tvmffi's library. Returns 0 if no
   library is installed. */
TVMFFI_PY_COLD int tvmffi_py_find_file(char *path, size_t size) {
  static const char *const places[] = {"lib", "tvm_ffi/lib",
                                       "tvmffi/prefix/lib"};
  PyObject *list = PySys_GetObject("path"); /* borrowed */
  PyObject *folders = list ? PySequence_Tuple(list) : NULL;
  Py_ssize_t i, n = folders ? PyTuple_Size(folders) : 0;
  int pass, place, is_found = 0;
  for (pass = 0; pass < 2; ++pass)
    for (i = 0; i < n; ++i)
      for (place = pass * 2; place < 2 + pass && !is_found; ++place) {
        PyObject *folder = PyTuple_GetItem(folders, i);
        const char *text =
            PyUnicode_Check(folder) && PyUnicode_GetLength(folder)
                ? PyUnicode_AsUTF8AndSize(folder, NULL)
                : NULL;
        int length = text ? snprintf(path, size, "%s/%s/libtvm_ffi.so", text,
                                     places[place])
                          : -1;
        PyErr_Clear();
        is_found = length > 0 && (size_t)length < size && !access(path, R_OK);
      }
  PyErr_Clear();
  Py_XDECREF(folders);
  return is_found;
}

/* Makes sure that there is a runtime. Returns 0, or -1 with an ImportError. */
TVMFFI_PY_COLD int tvmffi_py_need_runtime(void) {
  char path[4096];
  void *library;
  if (TVMFFI_I_LOAD(&tvmffi_i_chosen) || tvmffi_py_use_loaded()) return 0;
  if (!tvmffi_py_find_file(path, sizeof(path))) {
    PyErr_SetString(PyExc_ImportError,
                    "libtvm_ffi.so is not on sys.path: install the package "
                    "tvmffi or apache-tvm-ffi");
    return -1;
  }
  library = dlopen(path, RTLD_LAZY | RTLD_GLOBAL);
  if (!library) {
    PyErr_Format(PyExc_ImportError, "%s", dlerror());
    return -1;
  }
  if (tvmffi_py_use(library)) return 0;
  dlclose(library);
  PyErr_Format(PyExc_ImportError, "%s is not compatible with version %d.%d",
               path, TVM_FFI_VERSION_MAJOR, TVM_FFI_VERSION_MINOR);
  return -1;
}
#else
#define TVMFFI_PY_HAS_OWN 1
#define TVMFFI_PY_CHOOSE
TVMFFI_PY_COLD int tvmffi_py_need_runtime(void) { return 0; }
#endif

/* ---- State: one per library ---- */

/* How an argument of a type is converted. The package tvm_ffi decides by type,
   too. */
typedef enum {
  TVMFFI_PY_STOCK, /* by the package tvm_ffi */
  TVMFFI_PY_INT,
  TVMFFI_PY_FLOAT,
  TVMFFI_PY_BOOL,
  TVMFFI_PY_NONE,
  TVMFFI_PY_STR,
  TVMFFI_PY_BYTES,
  TVMFFI_PY_BYTEARRAY,
  TVMFFI_PY_INTEGRAL,   /* another numbers.Integral, such as numpy.int64 */
  TVMFFI_PY_REAL,       /* another numbers.Real, such as numpy.float32 */
  TVMFFI_PY_NUMPY_BOOL, /* for tvmffi.fast as TVMFFI_PY_STOCK */
  TVMFFI_PY_TUPLE,
  TVMFFI_PY_LIST,
  TVMFFI_PY_DICT,
  TVMFFI_PY_CALLABLE,
  TVMFFI_PY_NUMPY,
  TVMFFI_PY_DLPACK,   /* the type has only the method __dlpack__ */
  TVMFFI_PY_EXCHANGE, /* the type has a DLPack exchange API */
  TVMFFI_PY_OBJECT,
  TVMFFI_PY_OWN, /* an object of a type of this library */
  TVMFFI_PY_CONTAINER,
  TVMFFI_PY_TENSOR,
  TVMFFI_PY_NATIVE, /* String and Bytes of tvm_ffi */
  TVMFFI_PY_DTYPE,
  TVMFFI_PY_DATATYPE,
  TVMFFI_PY_DEVICE,
  TVMFFI_PY_NUMPY_DTYPE,
  TVMFFI_PY_FAST, /* a tvmffi_py_function */
  TVMFFI_PY_OPAQUE /* any other object; for tvmffi.fast as TVMFFI_PY_STOCK */
} tvmffi_py_kind;

typedef struct {
  PyTypeObject *type; /* borrowed; NULL in a free slot */
  PyObject *ref;      /* weak, owned; NULL for a static type: it never dies */
  tvmffi_py_kind kind;
  const DLPackExchangeAPI *api;
} tvmffi_py_type;

/* A hash table. An entry is in one of the TVMFFI_PY_PROBES slots from its home
   slot on, so a search looks at all of them and needs no tombstones. */
typedef struct tvmffi_py_types {
  struct tvmffi_py_types *smaller; /* the table before it, which is kept because
                                      another thread may read it */
  int bits;                        /* 2^bits home slots */
  tvmffi_py_type slots[1];         /* of 2^bits + TVMFFI_PY_PROBES - 1 */
} tvmffi_py_types;

enum {
  TVMFFI_PY_LEAST_BITS = 8, /* of the first table of types */
  TVMFFI_PY_MOST_BITS = 20, /* types beyond it are classified at each call */
  TVMFFI_PY_PROBES = 32,
  TVMFFI_PY_ARGS = 8,   /* arguments without an allocation */
  TVMFFI_PY_RANK = 64,  /* the most dimensions of a NumPy array */
  TVMFFI_PY_SPARE = 16, /* most spare objects; most items of spare_array */
  TVMFFI_PY_DEPTH = 32  /* nested lists; deeper ones go to tvm_ffi */
};

/* An object for an argument that Python owns: a tensor for an array, a function
   for a callable. During the call it borrows the argument, which the caller
   keeps alive. If the callee keeps a reference to the object, the object owns
   the argument, or a managed tensor of it, from the end of the call on. */
typedef struct tvmffi_py_loan {
  TVMFFIObject base;
  union {
    DLTensor tensor;
    TVMFFIFunctionCell function;
  } as;
  PyObject *owner;
  const DLPackExchangeAPI *api;      /* of the array, or NULL */
  DLManagedTensorVersioned *managed; /* owned, or NULL */
  struct tvmffi_py_loan *next_spare;
  int64_t dims[2 * TVMFFI_PY_RANK]; /* of an array: the shape, then the strides,
                                       so that few of them share a cache line */
} tvmffi_py_loan;

/* An array for an argument that is a list of numbers. */
typedef struct {
  TVMFFIObject base;
  TVMFFISeqCell cell;
  TVMFFIAny items[1];
} tvmffi_py_array;

/* The members of the package tvm_ffi that this header uses. They are kept for
   the life of the process. */
typedef struct {
  PyTypeObject *object, *container, *tensor, *rvalue, *data_type, *device,
      *dtype, *native, *function, *object_class;
  PyObject *deliver, *accept;
  PyObject *core, *class_tensor; /* the module, and a name in it */
  PyObject *classes;             /* by type index; NULL if not found */
  PyObject *no_args, *from_object;
} tvmffi_py_package;

/* The functions of NumPy's C API that are used: entries 2, 93 and 282 of its
   table, which are the same in all releases from 1.7 on. */
typedef struct {
  PyTypeObject *type;
  PyObject *(*make)(PyTypeObject *, int, const Py_ssize_t *, int,
                    const Py_ssize_t *, void *, int, int, PyObject *);
  int (*set_base)(PyObject *, PyObject *); /* takes the second object */
} tvmffi_py_numpy;

/* All files of a library share the state, because a type's class is made by the
   functions of one file, and functions of another return its objects. */
#define TVMFFI_PY_SHARED TVMFFI_I_HIDDEN __attribute__((__weak__))
TVMFFI_PY_SHARED struct tvmffi_py_state {
  tvmffi_py_types *types;
  int has_runtime;
  int release_gil; /* during calls of exported functions */
  PyTypeObject *function_type, *method_type;
  PyTypeObject *object_type; /* the base of this library's classes, or NULL */
  PyObject *(*to_class)(TVMFFIAny *value); /* NULL without such classes */
  void (*register_types)(void);            /* likewise */
  struct tvmffi_py_record *const *first_record, *const *end_record;
  const struct tvmffi_py_entry *const *first_entry, *const *end_entry;
  PyObject *namespace_;      /* of the Python code below, or NULL */
  TVMFFIObject *array, *map; /* constructors */
  tvmffi_py_numpy *numpy;    /* NULL until a result is an array */
  tvmffi_py_loan *spare;     /* a list */
  int num_spare;
  tvmffi_py_array *spare_array; /* or NULL */
  tvmffi_py_package *package; /* NULL until it is imported */
  int has_own;                /* the runtime is in the module */
  int is_foreign;             /* the package is another release */
  int is_alone;               /* the package could not be imported */
} tvmffi_py;

/* A value or exception on its way through the package tvm_ffi. */
TVMFFI_PY_SHARED __thread struct tvmffi_py_transit {
  int code;
  TVMFFIAny value;
  PyObject *object, *error;
} tvmffi_py_transit;

/* A callable: an exported function, or a Function of tvm_ffi. */
typedef struct {
  PyObject_HEAD vectorcallfunc vectorcall;
  const tvmffi_func *func; /* also of a method; NULL for a Function of
                              tvm_ffi */
  PyObject *stock;         /* the same function as a Function of tvm_ffi; NULL
                              until needed */
  PyObject *module;        /* the name of the module that exports it; or the
                              qualified name of a method; or NULL */
  int32_t num_positional;  /* the parameters after them are keyword-only */
  PyMethodDef method;
} tvmffi_py_function;

/* The state that the conversion of a call's arguments leaves to the call. */
typedef struct {
  const DLPackExchangeAPI *api;
  void *stream;
  int32_t device_type, device_id; /* of the stream; -1 for none */
  int32_t num_temps, depth;
  int is_export;        /* the function is exported by this library */
  int has_numpy;        /* an argument is a NumPy array */
  int has_stock;        /* an argument is an object of tvm_ffi */
  TVMFFIObject **temps; /* for tvmffi_py_end_temps */
} tvmffi_py_context;

/* A pointer to a member of an object of tvm_ffi. A CObject has its handle
   first; a Device and a DataType have their value there. */
#define TVMFFI_PY_AT(type, object, offset) \
  ((type *)(void *)((char *)(object) + (offset)))
#define TVMFFI_PY_FIRST(type, object) \
  TVMFFI_PY_AT(type, object, sizeof(PyObject))
#define TVMFFI_PY_SECOND(type, object) \
  TVMFFI_PY_AT(type, object, sizeof(PyObject) + sizeof(void *))

#ifdef Py_LIMITED_API
#define TVMFFI_PY_FLOAT_OF PyFloat_AsDouble
#else
#define TVMFFI_PY_FLOAT_OF PyFloat_AS_DOUBLE
#endif

/* CPython may run without a GIL, so state that is made at its first use is
   complete before it is published. Returns 0 if another thread was first. */
#define TVMFFI_PY_PUBLISH(at, made) __sync_bool_compare_and_swap(at, 0, made)

/* ---- Exceptions ---- */

/* Takes the current exception, normalized and with its traceback. */
TVMFFI_PY_COLD PyObject *tvmffi_py_take_error(void) {
#if PY_VERSION_HEX >= 0x030c0000
  return PyErr_GetRaisedException();
#else
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (value && trace) PyException_SetTraceback(value, trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return value;
#endif
}

/* Raises an exception, which it takes. */
TVMFFI_PY_COLD void tvmffi_py_give_error(PyObject *error) {
#if PY_VERSION_HEX >= 0x030c0000
  PyErr_SetRaisedException(error);
#else
  PyObject *type = (PyObject *)Py_TYPE(error);
  Py_INCREF(type);
  PyErr_Restore(type, error, PyException_GetTraceback(error));
#endif
}

/* Without the package tvm_ffi, this code makes its exceptions and the texts of
   its backtraces. The innermost frame of a traceback is its last, the innermost
   frame of a backtrace its first. */
static TVMFFI_I_UNUSED const char tvmffi_py_code[] =
    "import numbers, operator, re, sys, types\n"
    "from collections.abc import Mapping, Sequence\n"
    "KINDS = ('RuntimeError', 'ValueError', 'TypeError', 'AttributeError',\n"
    "         'KeyError', 'IndexError', 'AssertionError', 'MemoryError')\n"
    "WRONG = re.compile('(?:Mismatched type on|Value out of range in) '\n"
    "                   r'argument #(\\d+) when calling: `([\\w.]+)\\(')\n"
    /* The types of parameters and fields have the size of an int: "int8". */
    "INT = re.compile(r'(?<![\\w.])(u?)int(\\d+)(?![\\w.])')\n"
    "RESULT = re.compile('result of the function: Cannot convert from type '\n"
    "                    '`(.+)` to `(.+)`')\n"
    "GOT = re.compile('but got `(.+)`')\n"
    "CANNOT = re.compile('Cannot convert from type `(.+)` to `.+`')\n"
    "FIELD = re.compile(r\"[\\w.]+\\(\\) field '(\\w+)':\\s+(.+)\", re.S)\n"
    "MISSING = re.compile(r\"missing required (?:keyword-only )?argument: \"\n"
    "                     r\"'(.+)'\")\n"
    "TOO_MANY = re.compile(r'(\\d+) positional argument\\(s\\), '\n"
    "                      r'but (\\d+) were given')\n"
    "NAMED = re.compile(r\"argument '(.+)'\")\n"
    "NAMES = {'ffi.SmallStr': 'str', 'ffi.String': 'str',\n"
    "         'ffi.SmallBytes': 'bytes', 'ffi.Bytes': 'bytes',\n"
    "         'ffi.Array': 'tuple or list', 'ffi.Map': 'dict',\n"
    "         'ffi.Tensor': 'tensor', 'ffi.BigInt': 'int of over 64 bits'}\n"
    "COUNT = 'Mismatched number of arguments when calling: `'\n"
    "NUMBERS = {'int': numbers.Integral, 'float': numbers.Real,\n"
    "           'bool': numbers.Integral}\n"
    "CLASSES = {**NUMBERS, 'str': str, 'bytes': (bytes, bytearray)}\n"
    "CONTAINERS = {'Sequence': 'list or tuple', 'Mapping': 'dict'}\n"
    "PLAIN = *NUMBERS, 'str', 'tensor', 'dtype', *CONTAINERS\n"
    "OWN = re.compile(r'(?!ffi\\.)\\w+\\.')\n" /* the key of a user's type */
    "HOOKS = ('__tvm_ffi_int__', '__tvm_ffi_float__', '__tvm_ffi_value__',\n"
    "         '__tvm_ffi_object__', '__dlpack__',\n"
    "         '__dlpack_c_exchange_api__')\n"
    "def is_missing(error):\n"
    "    return isinstance(error, ModuleNotFoundError) and \\\n"
    "        error.name == 'tvm_ffi'\n"
    "LINE = re.compile(r'\\s*File \"(.+?)\", line (\\d+), in (.+)')\n"
    /* The class of a kind of error: ValueError, or one of a module, a.Error. */
    "def class_of(kind):\n"
    "    module, _, name = kind.rpartition('.')\n"
    "    found = getattr(sys.modules.get(module or 'builtins'), name, None)\n"
    "    return found if isinstance(found, type) and \\\n"
    "        issubclass(found, BaseException) and \\\n"
    "        found.__name__ == name else None\n"
    "def make(kind, message):\n"
    "    try:\n"
    "        return class_of(kind)(message)\n"
    "    except TypeError:\n" /* no such class, or it takes more arguments */
    "        return RuntimeError(f'{kind}: {message}' if kind else message)\n"
    /* The frame of a C function runs Python code that has its name and line.
       From CPython 3.11 on, the module traceback reads an instruction's line
       and columns from co_linetable: here each has the first line and no
       columns (Objects/locations.md of CPython, form 13). */
    "def code_of(name, line, function):\n"
    "    code = compile('get()', name, 'eval').replace(\n"
    "        co_name=function, co_firstlineno=line)\n"
    "    if sys.version_info < (3, 11):\n"
    "        return code\n"
    "    units = len(code.co_code) // 2\n" /* of which an entry has up to 8 */
    "    lines = (bytes([0xe7 + min(8, units - i), 0])\n"
    "             for i in range(0, units, 8))\n"
    "    return code.replace(co_linetable=b''.join(lines))\n"
    "def to_python(kind, message, backtrace):\n"
    "    trace = None\n"
    "    for text in backtrace.split('\\n'):\n"
    "        found = LINE.match(text)\n"
    "        line = found and int(found[2])\n"
    "        if line:\n" /* 0 is unknown */
    "            code = code_of(found[1], line, found[3])\n"
    "            trace = types.TracebackType(\n"
    "                trace, eval(code, {'get': sys._getframe}), 0, line)\n"
    "    return make(kind, message).with_traceback(trace)\n"
    "def text_of(error):\n"
    "    try:\n"
    "        text = str(error)\n"
    "    except Exception:\n"
    "        text = '<exception str() failed>'\n"
    "    return text.encode('utf-8', 'backslashreplace')\n"
    "def is_of_library(error):\n"
    "    return hasattr(error, '__tvm_ffi_error__')\n"
    "def from_python(error):\n"
    "    of, trace, lines = type(error), error.__traceback__, []\n"
    "    core = sys.modules.get('tvm_ffi.core')\n"
    "    kind = getattr(core, 'ERROR_TYPE_TO_NAME', {}).get(of, of.__name__)\n"
    "    if of is not (class_of(kind) or of):\n"
    "        kind = 'RuntimeError'\n" /* it has the name of another class */
    "    while trace:\n"
    "        code = trace.tb_frame.f_code\n"
    "        lines.append(f'  File \"{code.co_filename}\", line '\n"
    "                     f'{trace.tb_lineno}, in {code.co_name}\\n')\n"
    "        trace = trace.tb_next\n"
    "    frames = ''.join(reversed(lines))\n"
    "    return [kind.encode(), text_of(error),\n"
    "            frames.encode('utf-8', 'backslashreplace')]\n"
    /* Whether `x` is what a type takes that is not a container. True for a type
       that is unknown here. */
    "def fits(of, x):\n"
    "    hooks = [h for h in HOOKS if hasattr(type(x), h)]\n"
    "    if of == 'tensor' or OWN.match(of):\n"
    "        keys = [vars(c).get('_type_key') for c in type(x).__mro__]\n"
    "        return of in keys if any(keys) else bool(hooks)\n"
    "    if INT.sub('int', of) not in CLASSES or \\\n"
    "            any(h in HOOKS[:4] for h in hooks):\n"
    "        return of not in CONTAINERS\n"
    "    least, most = span(of)\n"
    "    of = INT.sub('int', of)\n"
    "    if of in NUMBERS and isinstance(x, numbers.Integral):\n"
    "        return of == 'float' or least <= int(x) <= most\n"
    "    return isinstance(x, CLASSES[of]) or \\\n"
    "        of in NUMBERS and type(x).__name__ in ('bool', 'bool_')\n"
    "def index(x):\n"
    "    try:\n"
    "        return operator.index(x)\n"
    "    except TypeError:\n"
    "        return x\n"
    /* Finds the first part of `x` that is not what the type `of` says. Returns
       the text "item 1: ", its type and it, or None. */
    "def wrong_part(of, x):\n"
    "    want = of.removesuffix(' | None')\n"
    "    kind, _, inner = want.partition('[')\n"
    "    key, _, value = inner[:-1].partition(', ')\n"
    "    if kind == 'Sequence' and getattr(x, 'ndim', 0) == 1:\n"
    "        x = x.tolist()\n"
    "    if kind == 'Sequence' and isinstance(x, Sequence) and \\\n"
    "            not isinstance(x, (str, bytes)):\n"
    "        parts = ((f'item {i}', inner[:-1], y) for i, y in enumerate(x))\n"
    "    elif kind == 'Mapping' and isinstance(x, Mapping):\n"
    "        parts = (part for k, y in x.items() for part in (\n"
    "            (f'the key {short(k)}', key, k),\n"
    "            (f'the value of {short(k)}', value, y)))\n"
    "    else:\n"
    "        if kind_of(of) == 'int':\n"
    "            x = index(x)\n"
    "        if x is None and of != want or fits(kind, x):\n"
    "            return None\n"
    "        return '', of, x\n"
    "    for where, of, y in parts:\n"
    "        found = wrong_part(of, y)\n"
    "        if found:\n"
    "            return f'{where}: {found[0]}', *found[1:]\n"
    "def short(x):\n"
    "    try:\n"
    "        return repr(x)[:40]\n"
    "    except ValueError:\n" /* by CPython's limit of digits */
    "        return 'a longer int'\n"
    /* The least and the greatest value of an int or a bool. */
    "def span(of):\n"
    "    sign, bits = INT.fullmatch(of).groups() if INT.fullmatch(of) else \\\n"
    "        ('', 64)\n"
    "    bits = int(bits) - (not sign)\n"
    "    return 0 if sign else -2**bits, 2**bits - 1\n"
    "def power(x):\n"
    "    return x if abs(x) < 2**15 else f'-2**{(-x).bit_length() - 1}' \\\n"
    "        if x < 0 else f'2**{x.bit_length()} - 1'\n"
    "def kind_of(of):\n"
    "    of = of.removesuffix(' | None').partition('[')[0]\n"
    "    return INT.sub('int', of)\n"
    "def expected(of, got, limits=''):\n"
    "    of = INT.sub('int', of)\n"
    "    want = of.removesuffix(' | None')\n"
    "    kind = CONTAINERS.get(want.partition('[')[0])\n"
    "    article = 'an' if (kind or want)[0] in 'Aaeio' else 'a'\n"
    "    return (f'expected {article} ' +\n"
    "            (f'{kind} ({want})' if kind else want + limits) +\n"
    "            f\"{' or None' * (want != of)}, got {got}\")\n"
    "def wrong_count(function, names, least, n):\n"
    "    if n < least:\n"
    "        missing = ' and '.join(f'`{x}`' for x in names[n:least])\n"
    "        return (f'{function}() is missing argument' +\n"
    "                's' * (least - n > 1) + ' ' + missing)\n"
    "    most = len(names)\n"
    "    takes = f'{least} to {most}' if least < most else most or 'no'\n"
    "    return (f'{function}() takes {takes} argument' +\n"
    "            's' * (most != 1) + f', got {n}')\n"
    "def replaced(error, made):\n"
    "    made.__dict__.update(error.__dict__)\n"
    "    made.__cause__, made.__context__, made.__suppress_context__ = (\n"
    "        error.__cause__, error.__context__, error.__suppress_context__)\n"
    "    return made.with_traceback(error.__traceback__)\n"
    /* The text of an error of an argument, whether a wrong part of it was
       found, and whether that is an integer out of range. `text` is the error's
       own text: it has the type that a method of the argument converted it to.
     */
    "def sentence(where, of, x, text):\n"
    "    real, limits = GOT.search(text), ''\n"
    "    try:\n"
    "        found = wrong_part(of, x)\n"
    "    except Exception:\n" /* of a method of the argument */
    "        found = None\n"
    "    part, of, x = found or ('', of, x)\n"
    "    kind = kind_of(of)\n"
    "    is_far = found and kind in NUMBERS and \\\n"
    "        isinstance(x, numbers.Integral)\n"
    "    if is_far:\n"
    "        least, most = span(of.removesuffix(' | None'))\n"
    "        limits = f' from {power(least)} to {power(most)}'\n"
    "    got = short(x) if is_far else 'None' if x is None else \\\n"
    "        f'the class {x.__name__}' if isinstance(x, type) else \\\n"
    "        type(x).__name__\n"
    "    if real and not found and (kind in CLASSES or kind in CONTAINERS):\n"
    "        got += f', converted to {NAMES.get(real[1], real[1])}'\n"
    "    return f'{where}{part}{expected(of, got, limits)}', found, is_far\n"
    /* The package has classes of eight kinds. */
    "def with_kind(error):\n"
    "    cell = getattr(error, '__tvm_ffi_error__', None)\n"
    "    kind = getattr(cell, 'kind', None)\n"
    "    if type(error) is RuntimeError and kind and kind not in KINDS:\n"
    "        error = replaced(error, make(kind, *error.args))\n"
    "    return error\n"
    /* Says in Python's words which argument of a call is wrong. The package's
       text, which clients of the package parse, stays the message of
       __tvm_ffi_error__. `at` is the index of the argument that could not
       be converted, or -1. */
    "def explain(error, function, names, types, least, values, at):\n"
    "    shown = function.removesuffix('.__ffi_init__')\n"
    "    if 0 <= at < len(names):\n"
    "        where = f'{shown}: argument `{names[at]}`: '\n"
    "        said, found, _ = sentence(where, types[at], values[at], '')\n"
    /* Without the package, which could not make such a value of it either. */
    "        if type(error) is ImportError:\n"
    "            kind = kind_of(types[at])\n"
    "            if is_missing(error.__cause__) and \\\n"
    "                    (OWN.match(kind) or kind in PLAIN and\n"
    "                     (found or kind not in CONTAINERS)) and \\\n"
    "                    not any(hasattr(type(values[at]), hook)\n"
    "                            for hook in HOOKS):\n"
    "                return TypeError(said)\n"
    "        elif type(error) in (TypeError, BufferError) and \\\n"
    "                len(error.args) == 1:\n"
    "            if type(error) is BufferError:\n"
    "                said = where + error.args[0]\n"
    "            elif not found:\n"
    "                said += f': {error.args[0]}'\n"
    "            error.args = (said,)\n"
    "        return error\n"
    "    error = with_kind(error)\n"
    "    text, said = str(error), None\n"
    "    if type(error) is ValueError:\n"
    "        for name, of, x in zip(names, types, values):\n"
    "            if kind_of(of) == 'dtype' and isinstance(x, str) and \\\n"
    "                    text == f'unknown dtype `{x}`':\n"
    "                error.args = (f'{shown}: argument `{name}`: {text}',)\n"
    "                break\n"
    "    if type(error) not in (TypeError, OverflowError):\n"
    "        return error\n"
    "    found, result = WRONG.match(text), RESULT.match(text)\n"
    "    callables = [f'`{n}`' for n, of, x in zip(names, types, values)\n"
    "                 if of.startswith('Callable') and x is not None]\n"
    "    if text.startswith(f'{COUNT}{function}('):\n"
    "        said = wrong_count(shown, names, least, len(values))\n"
    "    elif result and callables:\n"
    "        got, of = (NAMES.get(x, x) for x in result.groups())\n"
    "        said = (f\"{shown}: argument {' or '.join(callables)}: its \"\n"
    "                f'result: {expected(of, got)}')\n"
    "    elif found and found[2] == function:\n"
    "        i = int(found[1])\n"
    "        where = f'{shown}: argument `{names[i]}`: '\n"
    "        said, _, is_far = sentence(where, types[i], values[i], text)\n"
    "        if is_far and type(error) is TypeError:\n" /* it is a BigInt */
    "            error = replaced(error, OverflowError(text))\n"
    "    if said:\n"
    "        error.args = (said,)\n"
    "    return error\n"
    /* The same for a value of a field. */
    "def explain_value(error, where, of, value, text):\n"
    "    wrong = type(error) is TypeError and CANNOT.match(text)\n"
    "    if wrong or type(error) is OverflowError:\n"
    "        said, found, is_far = sentence(where, of, value, '')\n"
    "        if found:\n"
    "            text = said.removeprefix(where)\n"
    "        elif wrong:\n"
    "            text = expected(of, NAMES.get(wrong[1], wrong[1]))\n"
    "        if wrong and is_far:\n" /* it is a BigInt */
    "            return replaced(error, OverflowError(where + text))\n"
    "    error.args = (where + text,)\n"
    "    return error\n"
    "def explain_field(error, field, of, value):\n"
    "    where = f'{field}: '\n"
    "    return explain_value(error, where, of, value,\n"
    "                         str(error).removeprefix(where))\n"
    /* `given` has the type and the value of each argument, by name. */
    "def explain_init(error, key, given):\n"
    "    text = str(error).replace(f'{key}.__ffi_init__()', f'{key}()')\n"
    "    found = FIELD.fullmatch(text)\n"
    "    if found and found[1] in given:\n"
    "        return explain_value(error, f'{key}: argument `{found[1]}`: ',\n"
    "                             *given[found[1]], found[2])\n"
    "    if text != str(error):\n"
    "        text = MISSING.sub(r'is missing argument `\\1`', text)\n"
    "        text = TOO_MANY.sub(\n"
    "            lambda m: f\"{m[1]} argument{'s' * (m[1] != '1')} by \"\n"
    "                      f'position, got {m[2]}', text)\n"
    "        error.args = (NAMED.sub(r'argument `\\1`', text),)\n"
    "    return error\n"
    "def is_refused(error, function, name):\n"
    "    return str(error).startswith(f'{function}: argument `{name}`: ')\n"
    "def to_int(data):\n"
    "    return int.from_bytes(data, sys.byteorder, signed=True)\n"
    "def from_int(value):\n"
    "    return value.to_bytes((value.bit_length() // 64 + 1) * 8,\n"
    "                          'little', signed=True)\n"
    /* Finds TYPE_INDEX_TO_CLS of object.pxi, which has no name in Python. */
    "def classes(core):\n"
    "    import gc\n"
    "    found = [x for x in gc.get_referrers(core.Function)\n"
    "             if type(x) is list and len(x) > 70 and\n"
    "             x[68] is core.Function and x[70] is core.Tensor]\n"
    "    return found[0] if len(found) == 1 else None\n";

/* Returns a function of the code above, borrowed. */
TVMFFI_PY_COLD PyObject *tvmffi_py_helper(const char *name) {
  if (!TVMFFI_I_LOAD(&tvmffi_py.namespace_)) {
    PyObject *names = PyDict_New(), *done = NULL;
    PyObject *code =
        Py_CompileString(tvmffi_py_code, "tvmffi_python.h", Py_file_input);
    if (names && code &&
        !PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins()))
      done = PyEval_EvalCode(code, names, names);
    Py_XDECREF(code);
    if (!done) {
      Py_XDECREF(names);
      return NULL;
    }
    Py_DECREF(done);
    if (!TVMFFI_PY_PUBLISH(&tvmffi_py.namespace_, names)) Py_DECREF(names);
  }
  return PyDict_GetItemString(tvmffi_py.namespace_, name);
}

/* ---- The package tvm_ffi ---- */

/* Passes the value in transit to Python: the package converts the result of
   this function, or raises its error. */
TVMFFI_PY_COLD int tvmffi_py_deliver(void *self, const TVMFFIAny *args,
                                     int32_t num_args, TVMFFIAny *result) {
  const int code = tvmffi_py_transit.code;
  const TVMFFIAny none = TVMFFI_I_ZERO;
  (void)self, (void)args, (void)num_args;
  *result = tvmffi_py_transit.value;
  tvmffi_py_transit.value = none;
  if (tvmffi_py_transit.error) tvmffi_py_give_error(tvmffi_py_transit.error);
  tvmffi_py_transit.error = NULL;
  return code;
}

/* Passes the object or exception in transit to the library: the package
   converts the result of this function, or its exception. */
TVMFFI_PY_COLD PyObject *tvmffi_py_accept(PyObject *self, PyObject *args) {
  PyObject *object = tvmffi_py_transit.object;
  (void)self, (void)args;
  tvmffi_py_transit.object = NULL;
  if (tvmffi_py_transit.error) tvmffi_py_give_error(tvmffi_py_transit.error);
  tvmffi_py_transit.error = NULL;
  return object;
}

TVMFFI_PY_COLD PyTypeObject *tvmffi_py_class(PyObject *core, const char *name) {
  PyObject *found = PyObject_GetAttrString(core, name);
  if (found && !PyType_Check(found)) {
    Py_CLEAR(found);
    PyErr_Format(PyExc_TypeError, "%s is not a class", name);
  }
  return (PyTypeObject *)found;
}

TVMFFI_PY_COLD Py_ssize_t tvmffi_py_basic_size(PyTypeObject *type) {
  PyObject *size = PyObject_GetAttrString((PyObject *)type, "__basicsize__");
  Py_ssize_t n = size ? PyLong_AsSsize_t(size) : -1;
  Py_XDECREF(size);
  return n;
}

/* Calls a function of a module with an integer or an object. */
TVMFFI_PY_COLD PyObject *tvmffi_py_address_call(PyObject *from,
                                                const char *name,
                                                void *address) {
  return PyObject_CallMethod(from, name, "K",
                             (unsigned long long)(uintptr_t)address);
}

/* Compares where tvm_ffi_python_object.h and object.pxi place the members with
   the sizes of the types and one object. */
TVMFFI_PY_COLD int tvmffi_py_check_layout(const tvmffi_py_package *p) {
  const Py_ssize_t head = (Py_ssize_t)sizeof(PyObject);
  const Py_ssize_t pointer = (Py_ssize_t)sizeof(void *);
  PyObject *handle, *release;
  int right;
  if (tvmffi_py_basic_size(&PyBaseObject_Type) != head ||
      tvmffi_py_basic_size(p->object) != head + pointer ||
      tvmffi_py_basic_size(p->tensor) != head + 2 * pointer ||
      tvmffi_py_basic_size(p->container) != head + 2 * pointer ||
      tvmffi_py_basic_size(p->function) != head + 3 * pointer ||
      tvmffi_py_basic_size(p->device) != head + 8 ||
      tvmffi_py_basic_size(p->data_type) != head + (pointer > 4 ? pointer : 4))
    return 0;
  handle = PyObject_CallMethod(p->deliver, "__chandle__", NULL);
  release = PyObject_GetAttrString(p->deliver, "release_gil");
  right = handle && release && release == Py_False &&
          PyLong_AsVoidPtr(handle) == *TVMFFI_PY_FIRST(void *, p->deliver) &&
          !*TVMFFI_PY_SECOND(int, p->deliver);
  Py_XDECREF(handle);
  Py_XDECREF(release);
  return right;
}

/* True if the package tvm_ffi uses the runtime that this library uses. It loads
   its own with global symbols. */
TVMFFI_PY_COLD int tvmffi_py_shares_runtime(void) {
  const void *found = dlsym(dlopen(NULL, RTLD_LAZY), "TVMFFIErrorSetRaised");
  return found == (const void *)(uintptr_t)TVMFFIErrorSetRaised;
}

/* Finds the Python classes of objects, and makes the names that results need.
   Returns 1, or 0 with an exception. The list of all classes may be NULL:
   `deliver` is slower without it. */
TVMFFI_PY_COLD int tvmffi_py_find_classes(tvmffi_py_package *p) {
  PyObject *helper;
  p->class_tensor = PyUnicode_InternFromString("_CLASS_TENSOR");
  p->from_object = PyUnicode_InternFromString("__from_tvm_ffi_object__");
  p->object_class = tvmffi_py_class(p->core, "Object");
  p->no_args = PyTuple_New(0);
  if (PyErr_Occurred()) return 0;
  helper = tvmffi_py_helper("classes");
  if (helper) p->classes = PyObject_CallFunctionObjArgs(helper, p->core, NULL);
  if (p->classes == Py_None) Py_CLEAR(p->classes);
  PyErr_Clear();
  return 1;
}

/* Finds what is used of the package. Returns 0 for another release or one with
   another runtime, whose objects are unknown. */
TVMFFI_PY_COLD int tvmffi_py_open_package(tvmffi_py_package *p) {
  static PyMethodDef accept = {"accept", tvmffi_py_accept, METH_NOARGS, NULL};
  PyObject *give;
  p->object = tvmffi_py_class(p->core, "CObject");
  p->container = tvmffi_py_class(p->core, "CContainerBase");
  p->tensor = tvmffi_py_class(p->core, "Tensor");
  p->rvalue = tvmffi_py_class(p->core, "ObjectRValueRef");
  p->data_type = tvmffi_py_class(p->core, "DataType");
  p->device = tvmffi_py_class(p->core, "Device");
  p->dtype = tvmffi_py_class(p->core, "_CLASS_DTYPE");
  p->native = tvmffi_py_class(p->core, "PyNativeObject");
  p->function = tvmffi_py_class(p->core, "Function");
  if (p->function) {
    p->deliver =
        tvmffi_py_address_call((PyObject *)p->function, "__from_extern_c__",
                               (void *)(uintptr_t)tvmffi_py_deliver);
    give = PyCFunction_New(&accept, NULL);
    if (give)
      p->accept =
          PyObject_CallMethod(p->core, "_convert_to_ffi_func", "O", give);
    Py_XDECREF(give);
  }
  return !PyErr_Occurred() && tvmffi_py_shares_runtime() && p->deliver &&
         p->accept &&
         !PyObject_SetAttrString(p->deliver, "release_gil", Py_False) &&
         tvmffi_py_check_layout(p) && tvmffi_py_find_classes(p);
}

/* Returns an imported module, as a new reference, or NULL without an exception.
 */
TVMFFI_PY_COLD PyObject *tvmffi_py_imported(const char *name) {
  PyObject *text = PyUnicode_FromString(name);
  PyObject *found = text ? PyImport_GetModule(text) : NULL;
  PyErr_Clear();
  Py_XDECREF(text);
  return found;
}

/* Returns 1 if the current exception says nothing about the package. */
TVMFFI_PY_COLD int tvmffi_py_is_passing(void) {
  return PyErr_Occurred() && (!PyErr_ExceptionMatches(PyExc_Exception) ||
                              PyErr_ExceptionMatches(PyExc_MemoryError) ||
                              PyErr_ExceptionMatches(PyExc_RecursionError));
}

/* Connects to the package tvm_ffi, if it is imported. Returns 1 if so. Keeps
   the current exception. */
TVMFFI_PY_COLD int tvmffi_py_bind_stock(void) {
  PyObject *error, *last;
  tvmffi_py_package *made = NULL;
  if (TVMFFI_I_LOAD(&tvmffi_py.package)) return 1;
  if (TVMFFI_I_LOAD(&tvmffi_py.is_foreign)) return 0;
  error = PyErr_Occurred() ? tvmffi_py_take_error() : NULL;
  last = tvmffi_py_imported("tvm_ffi.module"); /* needs all that is used */
  if (last) {
    made = (tvmffi_py_package *)calloc(1, sizeof(*made));
    if (made) made->core = tvmffi_py_imported("tvm_ffi.core");
    if (made && made->core && !tvmffi_py_open_package(made))
      TVMFFI_I_STORE(&tvmffi_py.is_foreign, !tvmffi_py_is_passing());
    else if (made && made->core && TVMFFI_PY_PUBLISH(&tvmffi_py.package, made))
      made = NULL;
    free(made);
    Py_DECREF(last);
  }
  PyErr_Clear();
  if (error) tvmffi_py_give_error(error);
  return TVMFFI_I_LOAD(&tvmffi_py.package) != NULL;
}

/* Returns 1 if a function of the code above returns True for an exception. */
TVMFFI_PY_COLD int tvmffi_py_says(const char *name, PyObject *error) {
  PyObject *helper = tvmffi_py_helper(name);
  PyObject *answer =
      helper ? PyObject_CallFunctionObjArgs(helper, error, NULL) : NULL;
  PyErr_Clear();
  Py_XDECREF(answer);
  return answer == Py_True;
}

/* Imports the package tvm_ffi for `what`. Returns 0, or -1 with an exception.
 */
TVMFFI_PY_COLD int tvmffi_py_import_stock(const char *what) {
  PyObject *module, *error;
  if (tvmffi_py_bind_stock()) return 0;
  module = PyImport_ImportModule("tvm_ffi");
  if (module && (Py_DECREF(module), tvmffi_py_bind_stock())) return 0;
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_ImportError)) return -1;
  error = PyErr_Occurred() ? tvmffi_py_take_error() : NULL;
  if (error && !tvmffi_py_says("is_missing", error))
    PyErr_Format(PyExc_ImportError,
                 "%s needs the package apache-tvm-ffi, which is installed, but "
                 "its import failed: %S",
                 what, error);
  else
    PyErr_Format(PyExc_ImportError,
                 TVMFFI_I_LOAD(&tvmffi_py.is_foreign)
                     ? "%s needs the package apache-tvm-ffi 0.1.15, but "
                       "another release or a second libtvm_ffi.so is loaded"
                     : "%s needs the package apache-tvm-ffi, version 0.1.15",
                 what);
  if (error) {
    PyObject *raised = tvmffi_py_take_error();
    PyException_SetCause(raised, error);
    tvmffi_py_give_error(raised);
  }
  return -1;
}

/* Lets the package tvm_ffi make the Python object for an owned value, or raise
   the library's error if `code` is not 0. */
TVMFFI_PY_COLD PyObject *tvmffi_py_by_stock(int code, const TVMFFIAny *value,
                                            PyObject *error) {
  const TVMFFIAny none = TVMFFI_I_ZERO;
  tvmffi_py_transit.code = code;
  tvmffi_py_transit.value = value ? *value : none;
  tvmffi_py_transit.error = error;
  return PyObject_CallNoArgs(tvmffi_py.package->deliver);
}

/* ---- Results ---- */

TVMFFI_PY_COLD PyObject *tvmffi_py_big_int(const TVMFFIAny *value) {
  const TVMFFIByteArray data = TVMFFIBigIntGetContentByteArray(value);
  PyObject *helper = tvmffi_py_helper("to_int");
  return helper ? PyObject_CallFunction(helper, "N",
                                        PyBytes_FromStringAndSize(
                                            data.data, (Py_ssize_t)data.size))
                : NULL;
}

/* Converts a tensor by the exchange API of an argument. Returns NULL if it
   refuses, with no exception. */
TVMFFI_PY_COLD PyObject *tvmffi_py_foreign_tensor(const DLPackExchangeAPI *api,
                                                  TVMFFIObject *tensor) {
  DLManagedTensorVersioned *managed = NULL;
  void *object = NULL;
  if (!api->managed_tensor_to_py_object_no_sync) return NULL;
  if (TVMFFITensorToDLPackVersioned(tensor, &managed)) {
    tvmffi_error_clear();
    return NULL;
  }
  if (!api->managed_tensor_to_py_object_no_sync(managed, &object))
    return (PyObject *)object;
  PyErr_Clear();
  managed->deleter(managed);
  return NULL;
}

/* Makes the wrapper of an owned object, as TVMFFIPyMakeRetObject of
   tvm_ffi_python_object.h does. Consumes the object. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_wrap(TVMFFIObject *o,
                                                PyObject *type) {
  const newfunc make =
      (newfunc)(uintptr_t)PyType_GetSlot((PyTypeObject *)type, Py_tp_new);
  PyObject *wrapper =
      make((PyTypeObject *)type, tvmffi_py.package->no_args, NULL);
  if (wrapper)
    *TVMFFI_PY_FIRST(TVMFFIObject *, wrapper) = o;
  else
    tvmffi_release(o);
  return wrapper;
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_wrap_tensor(TVMFFIObject *o) {
  const tvmffi_py_package *p = tvmffi_py.package;
  PyObject *type = PyObject_GetAttr(p->core, p->class_tensor);
  PyObject *wrapper = NULL;
  if (type && PyType_Check(type) &&
      PyType_IsSubtype((PyTypeObject *)type, p->tensor)) {
    wrapper = tvmffi_py_wrap(o, type);
    if (wrapper)
      *TVMFFI_PY_SECOND(const DLTensor *, wrapper) =
          TVMFFITensorGetDLTensorPtr(o);
  } else {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "the class of tensors is no Tensor");
    tvmffi_release(o);
  }
  Py_XDECREF(type);
  return wrapper;
}

/* Returns the Python class for a type index, as a new reference, or NULL if the
   package has registered none. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_class_of(int32_t type_index) {
  PyObject *classes = tvmffi_py.package->classes, *type;
  if (!classes || type_index == kTVMFFIOpaquePyObject ||
      type_index < kTVMFFIStaticObjectBegin ||
      type_index >= PyList_Size(classes))
    return NULL;
#ifdef Py_GIL_DISABLED /* another thread may add a class */
  type = PyList_GetItemRef(classes, type_index);
#else
  type = PyList_GetItem(classes, type_index);
  Py_XINCREF(type);
#endif
  if (type && !PyType_Check(type)) Py_CLEAR(type);
  PyErr_Clear();
  return type;
}

/* Makes the String or Bytes of an owned object. They are subclasses of str and
   bytes, made from a wrapper of the object. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_wrap_native(TVMFFIObject *o,
                                                       PyObject *type) {
  const tvmffi_py_package *p = tvmffi_py.package;
  PyObject *args[2], *method, *result;
  args[0] = type; /* not a method: called with its class */
  args[1] = tvmffi_py_wrap(o, (PyObject *)p->object_class);
  if (!args[1]) return NULL;
  method = PyObject_GetAttr(type, p->from_object);
  result = method ? PyObject_Vectorcall(method, args, 2, NULL) : NULL;
  Py_XDECREF(method);
  Py_DECREF(args[1]);
  return result;
}

/* Makes the Python object for an owned object, as make_ret of function.pxi
   does. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_wrap_any(TVMFFIAny *value) {
  const tvmffi_py_package *p = tvmffi_py.package;
  PyObject *type, *result;
  if (value->type_index == kTVMFFITensor)
    return tvmffi_py_wrap_tensor(value->v_obj);
  type = tvmffi_py_class_of(value->type_index);
  if (type && PyType_IsSubtype((PyTypeObject *)type, p->object))
    result = tvmffi_py_wrap(value->v_obj, type);
  else if (type && PyType_IsSubtype((PyTypeObject *)type, p->native))
    result = tvmffi_py_wrap_native(value->v_obj, type);
  else
    result = tvmffi_py_by_stock(0, value, NULL);
  Py_XDECREF(type);
  return result;
}

/* ---- Results as NumPy arrays, tuples, lists and dicts ---- */

/* NumPy's types of elements, by their numbers. */
static TVMFFI_I_UNUSED const struct {
  unsigned char code, bytes;
} tvmffi_py_elements[24] = {{kDLBool, 1},
                            {kDLInt, 1},
                            {kDLUInt, 1},
                            {kDLInt, 2},
                            {kDLUInt, 2},
                            {kDLInt, sizeof(int)},
                            {kDLUInt, sizeof(int)},
                            {kDLInt, sizeof(long)},
                            {kDLUInt, sizeof(long)},
                            {kDLInt, sizeof(long long)},
                            {kDLUInt, sizeof(long long)},
                            {kDLFloat, 4},
                            {kDLFloat, 8},
                            {0, 0},
                            {kDLComplex, 8},
                            {kDLComplex, 16},
                            {0, 0},
                            {0, 0},
                            {0, 0},
                            {0, 0},
                            {0, 0},
                            {0, 0},
                            {0, 0},
                            {kDLFloat, 2}};
enum { TVMFFI_PY_ALIGNED = 0x100, TVMFFI_PY_WRITEABLE = 0x400 };

/* Finds NumPy, which the process has imported: a call got an array. Returns
   NULL without an exception if it does not have the C API. */
TVMFFI_PY_COLD tvmffi_py_numpy *tvmffi_py_open_numpy(void) {
  PyObject *module = tvmffi_py_imported("numpy._core._multiarray_umath");
  PyObject *capsule;
  void *const *table;
  tvmffi_py_numpy *made;
  if (!module) module = tvmffi_py_imported("numpy.core._multiarray_umath");
  capsule = module ? PyObject_GetAttrString(module, "_ARRAY_API") : NULL;
  table = capsule ? (void *const *)PyCapsule_GetPointer(capsule, NULL) : NULL;
  made = table ? (tvmffi_py_numpy *)calloc(1, sizeof(*made)) : NULL;
  if (made) {
    made->type = (PyTypeObject *)table[2];
    memcpy(&made->make, table + 93, sizeof(made->make));
    memcpy(&made->set_base, table + 282, sizeof(made->set_base));
    if (!TVMFFI_PY_PUBLISH(&tvmffi_py.numpy, made)) free(made);
  }
  PyErr_Clear();
  Py_XDECREF(capsule);
  Py_XDECREF(module);
  return TVMFFI_I_LOAD(&tvmffi_py.numpy);
}

/* Returns NumPy's number of an element's type, or -1. */
static TVMFFI_I_UNUSED int tvmffi_py_number_of(DLDataType type) {
  int i;
  for (i = 0; i < 24 && type.lanes == 1; ++i)
    if (tvmffi_py_elements[i].code == type.code && type.bits &&
        tvmffi_py_elements[i].bytes * 8 == type.bits)
      return i;
  return -1;
}

/* Releases the tensor, as the destructor of an array's base. */
static TVMFFI_I_UNUSED void tvmffi_py_end_base(PyObject *capsule) {
  tvmffi_release((TVMFFIObject *)PyCapsule_GetPointer(capsule, NULL));
}

/* Returns a NumPy array that shares the tensor's memory and owns a reference
   to the tensor. NULL, perhaps with an exception, for a tensor that NumPy does
   not have: of another device or element. Not inlined, because its caller
   recurses. */
static TVMFFI_I_UNUSED __attribute__((__noinline__)) PyObject *
tvmffi_py_to_numpy(TVMFFIObject *tensor) {
  const DLTensor *t = TVMFFITensorGetDLTensorPtr(tensor);
  tvmffi_py_numpy *numpy = TVMFFI_I_LOAD(&tvmffi_py.numpy);
  Py_ssize_t shape[TVMFFI_PY_RANK], strides[TVMFFI_PY_RANK];
  const int number = tvmffi_py_number_of(t->dtype), bytes = t->dtype.bits / 8;
  PyObject *array, *base;
  int i;
  if (!numpy) numpy = tvmffi_py_open_numpy();
  if (!numpy || number < 0 || t->ndim > TVMFFI_PY_RANK ||
      t->device.device_type != kDLCPU)
    return NULL;
  for (i = 0; i < t->ndim; ++i) {
    shape[i] = (Py_ssize_t)t->shape[i];
    if (t->strides) strides[i] = (Py_ssize_t)(t->strides[i] * bytes);
  }
  base = PyCapsule_New(tensor, NULL, tvmffi_py_end_base);
  if (!base) return NULL;
  tvmffi_retain(tensor);
  array =
      numpy->make(numpy->type, t->ndim, shape, number,
                  t->strides ? strides : NULL, (char *)t->data + t->byte_offset,
                  bytes, TVMFFI_PY_ALIGNED | TVMFFI_PY_WRITEABLE, NULL);
  if (!array) {
    Py_DECREF(base);
    return NULL;
  }
  if (numpy->set_base(array, base)) Py_CLEAR(array);
  return array;
}

static PyObject *tvmffi_py_result(TVMFFIAny *value, int is_plain,
                                  tvmffi_py_context *c);

static TVMFFI_I_UNUSED PyObject *tvmffi_py_item(const TVMFFIAny *item,
                                                tvmffi_py_context *c) {
  TVMFFIAny owned = *item;
  if (owned.type_index >= kTVMFFIStaticObjectBegin) tvmffi_retain(owned.v_obj);
  return tvmffi_py_result(&owned, 1, c);
}

/* Returns a tuple of a container's items: of a map, the keys and the values in
   turn. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_items(TVMFFIObject *o,
                                                 tvmffi_py_context *c) {
  const int is_map =
      o->type_index == kTVMFFIMap || o->type_index == kTVMFFIDict;
  const TVMFFISeqCell *cell = TVMFFI_I_CELL(TVMFFISeqCell, o);
  const Py_ssize_t n =
      (Py_ssize_t)(is_map ? (int64_t)tvmffi_size(o) * 2 : cell->size);
  size_t at = is_map ? tvmffi_i_map_begin(o) : 0;
  PyObject *tuple = PyTuple_New(n), *made = NULL;
  Py_ssize_t i;
  for (i = 0; tuple && i < n; ++i) {
    if (is_map) {
      const tvmffi_i_pair *pair = tvmffi_i_map_pair(o, at);
      if (!pair) break;
      made = tvmffi_py_item(i & 1 ? &pair->value : &pair->key, c);
      if (i & 1) at = tvmffi_i_map_after(o, at);
    } else {
      if (i >= cell->size) break;
      made = tvmffi_py_item((const TVMFFIAny *)cell->data + i, c);
    }
    if (!made || PyTuple_SetItem(tuple, i, made)) break;
  }
  if (tuple && i < n) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_RuntimeError, "a result changed size in the call");
    Py_CLEAR(tuple);
  }
  return tuple;
}

/* Copies a container to a tuple, a list or a dict. NULL with an exception. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_to_container(TVMFFIObject *o,
                                                        tvmffi_py_context *c) {
  PyObject *items, *made = NULL;
  Py_ssize_t i;
  ++c->depth;
  items = tvmffi_py_items(o, c);
  --c->depth;
  if (!items || o->type_index == kTVMFFIArray) return items;
  if (o->type_index == kTVMFFIList) {
    made = PySequence_List(items);
  } else {
    made = PyDict_New();
    for (i = 0; made && i < PyTuple_Size(items); i += 2)
      if (PyDict_SetItem(made, PyTuple_GetItem(items, i),
                         PyTuple_GetItem(items, i + 1)))
        Py_CLEAR(made);
  }
  Py_DECREF(items);
  return made;
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_owner_of(TVMFFIObject *o);

/* Converts a tensor, container or function that a call with an array returned,
   as the array is. Returns NULL for one that is left to the package tvm_ffi,
   and with an exception if it fails. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_like_arguments(
    TVMFFIObject *o, int is_plain, tvmffi_py_context *c) {
  PyObject *result = NULL;
  switch (o->type_index) {
    case kTVMFFITensor:
      if (c->api) return tvmffi_py_foreign_tensor(c->api, o);
      if (!is_plain) return NULL;
      result = tvmffi_py_owner_of(o);
      return result ? result : tvmffi_py_to_numpy(o);
    case kTVMFFIFunction: return is_plain ? tvmffi_py_owner_of(o) : NULL;
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      return is_plain && c->depth < TVMFFI_PY_DEPTH
                 ? tvmffi_py_to_container(o, c)
                 : NULL;
    default: return NULL;
  }
}

/* Converts a tensor, container or function as for an argument that is a NumPy
   array, and a data type to a str, of which the package's class is a subclass:
   where the package cannot be used, and in a module with its own runtime.
   Returns NULL, with no exception, for a value that needs the package. */
TVMFFI_PY_COLD PyObject *tvmffi_py_alone(const TVMFFIAny *value) {
  TVMFFIAny text;
  tvmffi_py_context c;
  PyObject *result;
  if (value->type_index == kTVMFFIDataType) {
    if (!TVMFFIDataTypeToString(&value->v_dtype, &text))
      return tvmffi_py_result(&text, 1, NULL);
    tvmffi_error_clear();
  }
  if (value->type_index < kTVMFFIStaticObjectBegin) return NULL;
  if (!TVMFFI_I_LOAD(&tvmffi_py.numpy))
    Py_XDECREF(PyImport_ImportModule("numpy"));
  PyErr_Clear();
  memset(&c, 0, sizeof(c));
  c.has_numpy = 1;
  result = tvmffi_py_like_arguments(value->v_obj, 1, &c);
  if (!result) PyErr_Clear();
  return result;
}

/* Converts an owned value that is not plain. With `is_plain`, texts become str
   and bytes even if tvm_ffi is imported. */
static TVMFFI_I_UNUSED __attribute__((__noinline__)) PyObject *
tvmffi_py_other_result(TVMFFIAny *value, int is_plain, tvmffi_py_context *c) {
  const int is_object = value->type_index >= kTVMFFIStaticObjectBegin;
  const int is_like = is_object && c && (c->api || c->has_numpy);
  const int may_be_alone = is_plain && !is_like;
  PyObject *result = NULL;
  const TVMFFIByteArray *text;
  switch (value->type_index) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
      if (!is_plain) break;
      text = TVMFFIBytesGetByteArrayPtr(value->v_obj);
      result =
          value->type_index == kTVMFFIStr
              ? PyUnicode_DecodeUTF8(text->data, (Py_ssize_t)text->size, NULL)
              : PyBytes_FromStringAndSize(text->data, (Py_ssize_t)text->size);
      tvmffi_release(value->v_obj);
      return result;
    case kTVMFFIBigInt:
      result = tvmffi_py_big_int(value);
      tvmffi_release(value->v_obj);
      return result;
    case kTVMFFIOpaquePyObject:
      result = (PyObject *)TVMFFIOpaqueObjectGetCellPtr(value->v_obj)->handle;
      Py_INCREF(result);
      tvmffi_release(value->v_obj);
      return result;
    default: break;
  }
  if (is_object && tvmffi_py.to_class) {
    result = tvmffi_py.to_class(value);
    if (result || PyErr_Occurred()) return result;
  }
  if (is_like) {
    result = tvmffi_py_like_arguments(value->v_obj, is_plain, c);
    if (result || PyErr_Occurred()) {
      tvmffi_release(value->v_obj);
      return result;
    }
  }
  if (may_be_alone && tvmffi_py.has_own && !(c && c->has_stock)) {
    result = tvmffi_py_alone(value);
    if (result) {
      tvmffi_any_release(value);
      return result;
    }
  }
  if (!TVMFFI_I_LOAD(&tvmffi_py.package)) {
    if (may_be_alone && TVMFFI_I_LOAD(&tvmffi_py.is_alone) &&
        !tvmffi_py_bind_stock())
      result = tvmffi_py_alone(value);
    if (!result &&
        tvmffi_py_import_stock(value->type_index == kTVMFFITensor &&
                                       !TVMFFI_I_LOAD(&tvmffi_py.numpy)
                                   ? "without NumPy, a result that is a tensor"
                                   : "a result that is not a plain value")) {
      PyObject *error = tvmffi_py_take_error();
      TVMFFI_I_STORE(&tvmffi_py.is_alone, 1);
      if (may_be_alone) result = tvmffi_py_alone(value);
      if (!result) {
        tvmffi_py_give_error(error);
        tvmffi_any_release(value);
        return NULL;
      }
      Py_XDECREF(error);
    }
    if (result) {
      tvmffi_any_release(value);
      return result;
    }
  }
  result = tvmffi_py_wrap_any(value);
  if (result && c && c->api &&
      PyObject_TypeCheck(result, tvmffi_py.package->container))
    *TVMFFI_PY_SECOND(const DLPackExchangeAPI *, result) = c->api;
  return result;
}

/* Converts an owned value to a Python object. `c` has the conversion of the
   call's arguments, or is NULL. */
static TVMFFI_I_UNUSED inline PyObject *tvmffi_py_result(TVMFFIAny *value,
                                                         int is_plain,
                                                         tvmffi_py_context *c) {
  TVMFFIByteArray text;
  switch (value->type_index) {
    case kTVMFFINone: Py_RETURN_NONE;
    case kTVMFFIInt: return PyLong_FromLongLong(value->v_int64);
    case kTVMFFIBool: return PyBool_FromLong(value->v_int64 != 0);
    case kTVMFFIFloat: return PyFloat_FromDouble(value->v_float64);
    case kTVMFFISmallStr:
      text = TVMFFISmallBytesGetContentByteArray(value);
      return PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.size, NULL);
    case kTVMFFISmallBytes:
      text = TVMFFISmallBytesGetContentByteArray(value);
      return PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.size);
    default: return tvmffi_py_other_result(value, is_plain, c);
  }
}

/* ---- Errors ---- */

/* Formats with "#" have other functions in CPython 3.12 than in 3.13, so a
   library by the limited API of one would fail in the other. */
TVMFFI_PY_COLD PyObject *tvmffi_py_from_text(const TVMFFIByteArray *text) {
  return PyUnicode_DecodeUTF8(text->data, (Py_ssize_t)text->size, NULL);
}

TVMFFI_PY_COLD PyObject *tvmffi_py_raise_plain(TVMFFIObject *error) {
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  PyObject *helper = tvmffi_py_helper("to_python"), *made = NULL;
  if (helper)
    made =
        PyObject_CallFunction(helper, "NNN", tvmffi_py_from_text(&cell->kind),
                              tvmffi_py_from_text(&cell->message),
                              tvmffi_py_from_text(&cell->backtrace));
  tvmffi_release(error);
  if (made) tvmffi_py_give_error(made);
  return NULL;
}

/* Takes the library's error after a call that returned `code`. Returns NULL if
   the error is a Python exception. */
TVMFFI_PY_COLD TVMFFIObject *tvmffi_py_error_of(int code) {
  return code == -2 ? NULL : tvmffi_i_error_remove();
}

/* Raises what tvmffi_py_error_of returned, which it takes. Returns NULL. */
TVMFFI_PY_COLD PyObject *tvmffi_py_raise_error(int code, TVMFFIObject *error) {
  TVMFFIByteArray kind;
  if (error) {
    kind = TVMFFIErrorGetCellPtr(error)->kind;
    if (kind.size != 18 || memcmp(kind.data, "EnvErrorAlreadySet", 18)) {
      PyErr_Clear();
      if (!tvmffi_py_bind_stock()) return tvmffi_py_raise_plain(error);
      TVMFFIErrorSetRaised(error);
      tvmffi_release(error);
      return tvmffi_py_by_stock(-1, NULL, NULL);
    }
    tvmffi_release(error);
  }
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_SystemError, "the function returned %d without an error",
                 code);
  else if (tvmffi_py_bind_stock())
    return tvmffi_py_by_stock(-2, NULL, tvmffi_py_take_error());
  return NULL;
}

/* If the error was made of a callback's exception and has its text still,
   raises that same object and returns 1. Otherwise returns 0 and raises
   nothing. */
TVMFFI_PY_COLD int tvmffi_py_raise_passed(TVMFFIObject *error) {
  const TVMFFIErrorCell *cell = TVMFFIErrorGetCellPtr(error);
  TVMFFIObject *context = (TVMFFIObject *)cell->extra_context;
  PyObject *exception, *helper, *text = NULL;
  int is_same;
  if (!context || context->type_index != kTVMFFIOpaquePyObject) return 0;
  exception = (PyObject *)TVMFFIOpaqueObjectGetCellPtr(context)->handle;
  if (!PyExceptionInstance_Check(exception)) return 0;
  helper = tvmffi_py_helper("text_of");
  if (helper) text = PyObject_CallFunctionObjArgs(helper, exception, NULL);
  is_same = text && (size_t)PyBytes_Size(text) == cell->message.size &&
            !memcmp(PyBytes_AsString(text), cell->message.data,
                    cell->message.size);
  Py_XDECREF(text);
  PyErr_Clear();
  if (!is_same) return 0;
  Py_INCREF(exception);
  tvmffi_py_give_error(exception);
  return 1;
}

/* Lets the package tvm_ffi convert the object or exception in transit. */
TVMFFI_PY_COLD int tvmffi_py_by_accept(TVMFFIAny *result) {
  return TVMFFIFunctionCall(
      *TVMFFI_PY_FIRST(TVMFFIObject *, tvmffi_py.package->accept), NULL, 0,
      result);
}

TVMFFI_PY_COLD PyObject *tvmffi_py_raise(int code) {
  return tvmffi_py_raise_error(code, tvmffi_py_error_of(code));
}

/* Releases an object that the library owned, such as the argument of a loan or
   the exception of an error. Any thread may come here. After the interpreter's
   end, the object leaks. */
static TVMFFI_I_UNUSED void tvmffi_py_drop(void *object) {
  PyGILState_STATE state;
  if (!Py_IsInitialized()) return;
  state = PyGILState_Ensure();
  Py_DECREF((PyObject *)object);
  PyGILState_Release(state);
}

/* Raises the library's error for an exception, which it takes: the error owns
   it. `parts` has the kind, the text and the backtrace. Returns 0, or -1 if
   `parts` is NULL or malformed, or if there is no memory. */
TVMFFI_PY_COLD int tvmffi_py_raise_parts(PyObject *error, PyObject *parts) {
  TVMFFIByteArray text[3];
  TVMFFIObjectHandle owner = NULL;
  int i;
  for (i = 0; i < 3; ++i) {
    PyObject *part = parts ? PyList_GetItem(parts, i) : NULL;
    text[i].data = part ? PyBytes_AsString(part) : NULL;
    text[i].size = text[i].data ? (size_t)PyBytes_Size(part) : 0;
  }
  if (!text[0].data || !text[1].data || !text[2].data ||
      TVMFFIObjectCreateOpaque(error, kTVMFFIOpaquePyObject, tvmffi_py_drop,
                               &owner)) {
    Py_DECREF(error);
    return -1;
  }
  (void)tvmffi_i_raise_error(&text[0], &text[1], &text[2], NULL, owner);
  tvmffi_release((TVMFFIObject *)owner);
  return 0;
}

/* Makes the current exception the library's error. Returns -1. */
TVMFFI_PY_COLD int tvmffi_py_set_error(void) {
  PyObject *error = tvmffi_py_take_error(), *helper, *parts = NULL;
  TVMFFIAny none = TVMFFI_I_ZERO;
  if (tvmffi_py_bind_stock() && tvmffi_py_says("is_of_library", error)) {
    tvmffi_py_transit.error = error;
    tvmffi_py_transit.object = NULL;
    return tvmffi_py_by_accept(&none);
  }
  helper = tvmffi_py_helper("from_python");
  if (helper) parts = PyObject_CallFunctionObjArgs(helper, error, NULL);
  if (tvmffi_py_raise_parts(error, parts))
    TVMFFIErrorSetRaisedFromCStr("RuntimeError",
                                 "an exception without a text was raised");
  PyErr_Clear();
  Py_XDECREF(parts);
  return -1;
}

/* ---- Types of arguments ---- */

/* For those who change the table of types. Its holder calls nothing of Python
   that could run code or wait. */
TVMFFI_PY_SHARED pthread_mutex_t tvmffi_py_types_lock =
    PTHREAD_MUTEX_INITIALIZER;

/* Returns a weak reference's object, borrowed, or None. */
TVMFFI_I_INLINE PyObject *tvmffi_py_referent(PyObject *ref) {
#ifdef Py_LIMITED_API
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return PyWeakref_GetObject(ref);
#pragma GCC diagnostic pop
#else
  return TVMFFI_I_LOAD(&((PyWeakReference *)(void *)ref)->wr_object);
#endif
}

/* False if the entry's type died and `type` got its address. Its callback
   removes an entry before that, but the garbage collector of CPython 3.14 does
   not call it for a weak reference that a finalizer made. */
TVMFFI_I_INLINE int tvmffi_py_is_current(const tvmffi_py_type *entry,
                                         PyTypeObject *type) {
  PyObject *ref = TVMFFI_I_LOAD(&entry->ref);
  return !ref || tvmffi_py_referent(ref) == (PyObject *)type;
}

TVMFFI_I_INLINE tvmffi_py_type *tvmffi_py_home(tvmffi_py_types *table,
                                               PyTypeObject *type) {
  const uint64_t hash = (uint64_t)(uintptr_t)type * 0x9e3779b97f4a7c15u;
  return table->slots + (hash >> (64 - table->bits));
}

/* Returns the table's entry for a type, or NULL. The entry of a living type
   never changes, and the caller keeps `type` alive, so this needs no lock. */
TVMFFI_I_INLINE const tvmffi_py_type *tvmffi_py_find_type(PyTypeObject *type) {
  const tvmffi_py_type *entry =
      tvmffi_py_home(TVMFFI_I_LOAD(&tvmffi_py.types), type);
  const tvmffi_py_type *const end = entry + TVMFFI_PY_PROBES;
  for (; entry < end; ++entry)
    if (TVMFFI_I_LOAD(&entry->type) == type)
      return tvmffi_py_is_current(entry, type) ? entry : NULL;
  return NULL;
}

TVMFFI_PY_COLD int tvmffi_py_has(PyTypeObject *type, const char *name) {
  PyObject *found = PyObject_GetAttrString((PyObject *)type, name);
  PyErr_Clear();
  Py_XDECREF(found);
  return found != NULL;
}

/* Returns the exchange API of a type such as torch.Tensor, or NULL. */
TVMFFI_PY_COLD const DLPackExchangeAPI *tvmffi_py_exchange(PyTypeObject *type) {
  PyObject *found =
      PyObject_GetAttrString((PyObject *)type, "__dlpack_c_exchange_api__");
  const void *api = NULL;
  if (found && PyLong_Check(found))
    api = PyLong_AsVoidPtr(found);
  else if (found && PyCapsule_IsValid(found, "dlpack_exchange_api"))
    api = PyCapsule_GetPointer(found, "dlpack_exchange_api");
  PyErr_Clear();
  Py_XDECREF(found);
  return (const DLPackExchangeAPI *)api;
}

/* True if `type` is the attribute `name` of a module. A module that was not
   imported has no instances. */
TVMFFI_PY_COLD int tvmffi_py_is(PyTypeObject *type, const char *module,
                                const char *name) {
  PyObject *from = tvmffi_py_imported(module);
  PyObject *found = from ? PyObject_GetAttrString(from, name) : NULL;
  PyErr_Clear();
  Py_XDECREF(found);
  Py_XDECREF(from);
  return found == (PyObject *)type;
}

/* True if `type` is a subclass of a module's class, or is registered as one. */
TVMFFI_PY_COLD int tvmffi_py_is_under(PyTypeObject *type, const char *module,
                                      const char *name) {
  PyObject *from = tvmffi_py_imported(module);
  PyObject *base = from ? PyObject_GetAttrString(from, name) : NULL;
  const int is_under = base && PyObject_IsSubclass((PyObject *)type, base) == 1;
  PyErr_Clear();
  Py_XDECREF(base);
  Py_XDECREF(from);
  return is_under;
}

/* True for numpy.ndarray and for a subclass that NumPy exports as it exports
   the array: the subclass does not replace __dlpack__. */
TVMFFI_PY_COLD int tvmffi_py_is_array(PyTypeObject *type) {
  PyObject *from, *base, *own, *inherited;
  int is_same;
  if (!tvmffi_py_is_under(type, "numpy", "ndarray")) return 0;
  from = tvmffi_py_imported("numpy");
  base = from ? PyObject_GetAttrString(from, "ndarray") : NULL;
  own = PyObject_GetAttrString((PyObject *)type, "__dlpack__");
  inherited = base ? PyObject_GetAttrString(base, "__dlpack__") : NULL;
  is_same = own && own == inherited;
  PyErr_Clear();
  Py_XDECREF(inherited);
  Py_XDECREF(own);
  Py_XDECREF(base);
  Py_XDECREF(from);
  return is_same;
}

/* True for a type whose objects can be called, and which the package tvm_ffi
   takes for nothing else. */
TVMFFI_PY_COLD int tvmffi_py_is_function(PyTypeObject *type) {
  return PyType_GetSlot(type, Py_tp_call) &&
         !tvmffi_py_is_under(type, "ctypes", "c_void_p") &&
         !tvmffi_py_has(type, "__tvm_ffi_opaque_ptr__");
}

/* True for a type that means nothing to the package tvm_ffi, which passes its
   objects as they are. Exceptions are such objects here, because a method
   __exit__ gets them where there is no package, too. */
TVMFFI_PY_COLD int tvmffi_py_is_opaque(PyTypeObject *type) {
  static const char *const hooks[] = {
      "__tvm_ffi_opaque_ptr__", "__dlpack_data_type__", "__dlpack_device__",
      "__tvm_ffi_int__",        "__tvm_ffi_float__",    "__tvm_ffi_value__"};
  static const char *const packages[] = {"tvm_ffi", "torch", "cuda"};
  PyObject *name = PyObject_GetAttrString((PyObject *)type, "__module__");
  const char *module = name && PyUnicode_Check(name)
                           ? PyUnicode_AsUTF8AndSize(name, NULL)
                           : NULL;
  int is_opaque =
      !tvmffi_py_is_under(type, "ctypes", "c_void_p") &&
      !tvmffi_py_is_under(type, "tvm_ffi.core", "ObjectConvertible");
  size_t i;
  for (i = 0; i < sizeof(hooks) / sizeof(hooks[0]); ++i)
    is_opaque &= !tvmffi_py_has(type, hooks[i]);
  for (i = 0; module && i < sizeof(packages) / sizeof(packages[0]); ++i) {
    const size_t size = strlen(packages[i]);
    is_opaque &= strncmp(module, packages[i], size) ||
                 (module[size] && module[size] != '.');
  }
  PyErr_Clear();
  Py_XDECREF(name);
  return is_opaque;
}

/* Chooses as the package tvm_ffi does (TVMFFICyArgSetterFactory in
   function.pxi), in its order. All that is not surely one of these kinds is
   left to the package. */
TVMFFI_PY_COLD tvmffi_py_kind
tvmffi_py_classify(PyTypeObject *type, const DLPackExchangeAPI **api) {
  const char *skip = getenv("TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API");
  const tvmffi_py_package *p =
      tvmffi_py_bind_stock() ? tvmffi_py.package : NULL;
  if (type == tvmffi_py.function_type) return TVMFFI_PY_FAST;
  if (type == tvmffi_py.method_type) return TVMFFI_PY_CALLABLE;
  if (tvmffi_py.object_type && PyType_IsSubtype(type, tvmffi_py.object_type))
    return TVMFFI_PY_OWN;
  if (p) {
    if (PyType_IsSubtype(type, p->tensor)) return TVMFFI_PY_TENSOR;
    if (PyType_IsSubtype(type, p->container)) return TVMFFI_PY_CONTAINER;
    if (PyType_IsSubtype(type, p->object)) return TVMFFI_PY_OBJECT;
    if (PyType_IsSubtype(type, p->rvalue)) return TVMFFI_PY_STOCK;
  }
  if (tvmffi_py_has(type, "__tvm_ffi_object__")) return TVMFFI_PY_STOCK;
  if ((!skip || strcmp(skip, "1")) &&
      tvmffi_py_has(type, "__dlpack_c_exchange_api__")) {
    *api = tvmffi_py_exchange(type);
    return *api ? TVMFFI_PY_EXCHANGE : TVMFFI_PY_STOCK;
  }
  if (tvmffi_py_has(type, "__cuda_stream__")) return TVMFFI_PY_STOCK;
  if (tvmffi_py_is_array(type)) return TVMFFI_PY_NUMPY;
  if (tvmffi_py_has(type, "__dlpack__"))
    return tvmffi_py_has(type, "__tvm_ffi_env_stream__") ||
                   tvmffi_py_is_under(type, "torch", "Tensor")
               ? TVMFFI_PY_STOCK
               : TVMFFI_PY_DLPACK;
  if (PyType_IsSubtype(type, &PyLong_Type)) return TVMFFI_PY_INT;
  if (PyType_IsSubtype(type, &PyFloat_Type)) return TVMFFI_PY_FLOAT;
  if (tvmffi_py_is_under(type, "numbers", "Integral"))
    return TVMFFI_PY_INTEGRAL;
  if (tvmffi_py_is_under(type, "numbers", "Real")) return TVMFFI_PY_REAL;
  if (tvmffi_py_is(type, "numpy", "bool_")) return TVMFFI_PY_NUMPY_BOOL;
  if (p) {
    if (type == p->data_type) return TVMFFI_PY_DATATYPE;
    if (type == p->dtype) return TVMFFI_PY_DTYPE;
    if (PyType_IsSubtype(type, p->dtype)) return TVMFFI_PY_STOCK;
    if (PyType_IsSubtype(type, p->device)) return TVMFFI_PY_DEVICE;
    if (PyType_IsSubtype(type, p->native)) return TVMFFI_PY_NATIVE;
  }
  if (PyType_IsSubtype(type, &PyUnicode_Type)) return TVMFFI_PY_STR;
  if (PyType_IsSubtype(type, &PyBytes_Type)) return TVMFFI_PY_BYTES;
  if (PyType_IsSubtype(type, &PyByteArray_Type)) return TVMFFI_PY_BYTEARRAY;
  if (PyType_IsSubtype(type, &PyTuple_Type)) return TVMFFI_PY_TUPLE;
  if (PyType_IsSubtype(type, &PyList_Type)) return TVMFFI_PY_LIST;
  if (PyType_IsSubtype(type, &PyDict_Type)) return TVMFFI_PY_DICT;
  if (tvmffi_py_is_function(type)) return TVMFFI_PY_CALLABLE;
  if (tvmffi_py_is_under(type, "numpy", "dtype")) return TVMFFI_PY_NUMPY_DTYPE;
  return tvmffi_py_is_opaque(type) ? TVMFFI_PY_OPAQUE : TVMFFI_PY_STOCK;
}

/* Returns the slot that has the type's address, or else a free one, or NULL. */
TVMFFI_PY_COLD tvmffi_py_type *tvmffi_py_slot(tvmffi_py_types *table,
                                              PyTypeObject *type) {
  tvmffi_py_type *slot = tvmffi_py_home(table, type), *unused = NULL;
  const tvmffi_py_type *const end = slot + TVMFFI_PY_PROBES;
  for (; slot < end; ++slot) {
    if (slot->type == type) return slot;
    if (!slot->type && !unused) unused = slot;
  }
  return unused;
}

/* Copies the entries. Returns 0 if one has no slot. */
TVMFFI_PY_COLD int tvmffi_py_copy_types(tvmffi_py_types *to,
                                        const tvmffi_py_types *from) {
  const size_t n = ((size_t)1 << from->bits) + TVMFFI_PY_PROBES - 1;
  const tvmffi_py_type *entry = from->slots, *const end = entry + n;
  for (; entry < end; ++entry) {
    tvmffi_py_type *slot;
    if (!entry->type || !tvmffi_py_is_current(entry, entry->type)) continue;
    slot = tvmffi_py_slot(to, entry->type);
    if (!slot) return 0;
    *slot = *entry;
  }
  return 1;
}

/* Replaces the table by a larger one. Returns 0 if it cannot. */
TVMFFI_PY_COLD int tvmffi_py_grow_types(void) {
  tvmffi_py_types *old = tvmffi_py.types, *made;
  int bits = old ? old->bits + 1 : TVMFFI_PY_LEAST_BITS;
  for (; bits <= TVMFFI_PY_MOST_BITS; ++bits) {
    const size_t more = ((size_t)1 << bits) + TVMFFI_PY_PROBES - 2;
    made = (tvmffi_py_types *)calloc(
        1, sizeof(*made) + more * sizeof(made->slots[0]));
    if (!made) return 0;
    made->bits = bits;
    made->smaller = old;
    if (!old || tvmffi_py_copy_types(made, old)) {
      TVMFFI_I_STORE(&tvmffi_py.types, made);
      return 1;
    }
    free(made);
  }
  return 0;
}

/* The callback of an entry's weak reference: `self` is the type's address. It
   does nothing for a type that is alive, because anyone can call it. */
TVMFFI_PY_COLD PyObject *tvmffi_py_forget_type(PyObject *self, PyObject *ref) {
  PyTypeObject *type = (PyTypeObject *)PyLong_AsVoidPtr(self);
  tvmffi_py_type *entry;
  int is_found;
  pthread_mutex_lock(&tvmffi_py_types_lock);
  entry = tvmffi_py_slot(tvmffi_py.types, type);
  is_found = entry && entry->type && entry->ref == ref &&
             tvmffi_py_referent(ref) == Py_None;
  if (is_found) {
    TVMFFI_I_STORE(&entry->type, NULL);
    TVMFFI_I_STORE(&entry->ref, NULL);
  }
  pthread_mutex_unlock(&tvmffi_py_types_lock);
  if (is_found) Py_DECREF(ref);
  Py_RETURN_NONE;
}

/* Returns a weak reference that removes the entry of a type that dies. NULL
   with an exception if there is no memory. */
TVMFFI_PY_COLD PyObject *tvmffi_py_watch_type(PyTypeObject *type) {
  static PyMethodDef forget = {"forget_type", tvmffi_py_forget_type, METH_O,
                               NULL};
  PyObject *address = PyLong_FromVoidPtr(type), *callback, *ref;
  callback = address ? PyCFunction_New(&forget, address) : NULL;
  ref = callback ? PyWeakref_NewRef((PyObject *)type, callback) : NULL;
  Py_XDECREF(callback);
  Py_XDECREF(address);
  return ref;
}

/* Stores an entry, and takes `ref`. Returns a reference to be released, or
   NULL. A reader that comes between two stores finds no current entry. */
TVMFFI_PY_COLD PyObject *tvmffi_py_store_type(PyTypeObject *type, PyObject *ref,
                                              tvmffi_py_kind kind,
                                              const DLPackExchangeAPI *api) {
  tvmffi_py_type *slot;
  PyObject *old;
  do slot = tvmffi_py_slot(tvmffi_py.types, type);
  while (!slot && tvmffi_py_grow_types());
  if (!slot || (slot->type && tvmffi_py_is_current(slot, type))) return ref;
  old = slot->ref;
  TVMFFI_I_STORE(&slot->type, NULL);
  slot->kind = kind;
  slot->api = api;
  TVMFFI_I_STORE(&slot->ref, ref);
  TVMFFI_I_STORE(&slot->type, type);
#ifdef Py_GIL_DISABLED
  old = NULL; /* it leaks, because another thread may read it */
#endif
  return old;
}

/* Adds a type, unless there is no memory. */
TVMFFI_PY_COLD void tvmffi_py_add_type(PyTypeObject *type, tvmffi_py_kind kind,
                                       const DLPackExchangeAPI *api) {
  PyObject *ref = NULL;
  if (PyType_GetFlags(type) & Py_TPFLAGS_HEAPTYPE) {
    ref = tvmffi_py_watch_type(type);
    if (!ref) {
      PyErr_Clear();
      return;
    }
  }
  pthread_mutex_lock(&tvmffi_py_types_lock);
  ref = tvmffi_py_store_type(type, ref, kind, api);
  pthread_mutex_unlock(&tvmffi_py_types_lock);
  Py_XDECREF(ref);
}

TVMFFI_PY_COLD tvmffi_py_type tvmffi_py_new_type(PyTypeObject *type) {
  tvmffi_py_type entry;
  entry.type = type;
  entry.api = NULL;
  entry.kind = tvmffi_py_classify(type, &entry.api);
  tvmffi_py_add_type(type, entry.kind, entry.api);
  return entry;
}

/* ---- Objects for arguments that Python owns ---- */

/* All files share it, because its address tells what a loan is. */
TVMFFI_PY_SHARED void tvmffi_py_delete_loan(void *self, int flags);
TVMFFI_PY_SHARED void tvmffi_py_delete_loan(void *self, int flags) {
  tvmffi_py_loan *loan = (tvmffi_py_loan *)self;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) {
    if (loan->managed) {
      if (loan->managed->deleter) loan->managed->deleter(loan->managed);
    } else {
      tvmffi_py_drop(loan->owner);
    }
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(self);
}

/* Returns an object for an argument, or NULL. The list of spare objects needs
   no lock, as its users hold the GIL; a free-threaded build does not use it. */
TVMFFI_I_INLINE tvmffi_py_loan *tvmffi_py_lend(PyObject *owner,
                                               int32_t type_index) {
  tvmffi_py_loan *made = tvmffi_py.spare;
  if (TVMFFI_I_LIKELY(made != NULL)) {
    tvmffi_py.spare = made->next_spare;
    --tvmffi_py.num_spare;
  } else {
    made = (tvmffi_py_loan *)malloc(sizeof(*made));
    if (!made) return NULL;
    made->base.combined_ref_count = TVMFFI_I_BOTH_ONE;
    made->base.__padding = 0;
    made->base.deleter = tvmffi_py_delete_loan;
  }
  made->base.type_index = type_index;
  made->owner = owner;
  made->api = NULL;
  made->managed = NULL;
  return made;
}

/* Keeps an object to which there is no other reference for the next argument,
   or frees it. */
TVMFFI_I_INLINE void tvmffi_py_take_back(tvmffi_py_loan *loan) {
#ifndef Py_GIL_DISABLED
  if (TVMFFI_I_LIKELY(tvmffi_py.num_spare < TVMFFI_PY_SPARE)) {
    loan->next_spare = tvmffi_py.spare;
    tvmffi_py.spare = loan;
    ++tvmffi_py.num_spare;
    return;
  }
#endif
  free(loan);
}

/* Lets an object to which somebody else has a strong or weak reference own its
   argument. The view of an array with an exchange API is valid only during the
   call, so a managed tensor takes its place. */
TVMFFI_PY_COLD void tvmffi_py_give_away(tvmffi_py_loan *loan) {
  PyObject *error = PyErr_Occurred() ? tvmffi_py_take_error() : NULL;
  DLManagedTensorVersioned *managed = NULL;
  if (loan->api &&
      !loan->api->managed_tensor_from_py_object_no_sync(loan->owner, &managed))
    loan->managed = managed;
  if (managed)
    loan->as.tensor = managed->dl_tensor;
  else
    Py_INCREF(loan->owner);
  PyErr_Clear();
  if (error) tvmffi_py_give_error(error);
}

/* The deleter of an array of this library. The array's only owner may have
   stored objects in it. */
TVMFFI_PY_SHARED void tvmffi_py_delete_array(void *self, int flags);
TVMFFI_PY_SHARED void tvmffi_py_delete_array(void *self, int flags) {
  tvmffi_py_array *array = (tvmffi_py_array *)self;
  int64_t i;
  if (flags & kTVMFFIObjectDeleterFlagBitMaskStrong)
    for (i = 0; i < array->cell.size; ++i) tvmffi_any_release(array->items + i);
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(self);
}

/* Returns an array with room for n items, n > 0, or NULL. */
TVMFFI_I_INLINE tvmffi_py_array *tvmffi_py_new_array(Py_ssize_t n) {
  tvmffi_py_array *made = tvmffi_py.spare_array;
  if (TVMFFI_I_LIKELY(made && made->cell.capacity >= n)) {
    tvmffi_py.spare_array = NULL;
    return made;
  }
  made = (tvmffi_py_array *)malloc(sizeof(*made) +
                                   (size_t)(n - 1) * sizeof(*made->items));
  if (!made) return NULL;
  made->base.combined_ref_count = TVMFFI_I_BOTH_ONE;
  made->base.type_index = kTVMFFIArray;
  made->base.__padding = 0;
  made->base.deleter = tvmffi_py_delete_array;
  made->cell.data = made->items;
  made->cell.capacity = n;
  made->cell.data_deleter = NULL;
  return made;
}

/* Keeps an array of numbers, to which there is no other reference, for the next
   call, or frees it. */
TVMFFI_I_INLINE void tvmffi_py_keep_array(tvmffi_py_array *array) {
#ifndef Py_GIL_DISABLED
  if (TVMFFI_I_LIKELY(!tvmffi_py.spare_array &&
                      array->cell.capacity <= TVMFFI_PY_SPARE)) {
    tvmffi_py.spare_array = array;
    return;
  }
#endif
  free(array);
}

/* Releases the last object that a conversion made, or takes it back: the
   deleter tells whether it is a loan of this library. */
TVMFFI_I_INLINE void tvmffi_py_end_temp(tvmffi_py_context *c) {
  TVMFFIObject *o = c->temps[--c->num_temps];
  if (o->deleter == tvmffi_py_delete_loan) {
    tvmffi_py_loan *loan = (tvmffi_py_loan *)(void *)o;
    if (TVMFFI_I_LIKELY(tvmffi_i_load64(&o->combined_ref_count) ==
                        TVMFFI_I_BOTH_ONE)) {
      tvmffi_py_take_back(loan);
      return;
    }
    tvmffi_py_give_away(loan);
  } else if (o->deleter == tvmffi_py_delete_array &&
             tvmffi_i_load64(&o->combined_ref_count) == TVMFFI_I_BOTH_ONE) {
    tvmffi_py_keep_array((tvmffi_py_array *)(void *)o);
    return;
  }
  tvmffi_release(o);
}

TVMFFI_I_INLINE void tvmffi_py_end_temps(tvmffi_py_context *c) {
  while (c->num_temps > 0) tvmffi_py_end_temp(c);
}

/* Returns the NumPy array that a tensor was made for, or the callable that a
   function was made for, as a new reference: a function that returns its
   argument returns the same object. NULL for another one. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_owner_of(TVMFFIObject *o) {
  const tvmffi_py_loan *loan = (const tvmffi_py_loan *)(void *)o;
  if (o->deleter != tvmffi_py_delete_loan || loan->api) return NULL;
  Py_INCREF(loan->owner);
  return loan->owner;
}

/* ---- Arguments ---- */

TVMFFI_I_INLINE void tvmffi_py_put_object(TVMFFIAny *out, TVMFFIObject *o) {
  out->type_index = o->type_index;
  out->zero_padding = 0;
  out->v_obj = o;
}

/* Stores a new object, which tvmffi_py_end_temps releases. */
TVMFFI_I_INLINE int tvmffi_py_put_temp(tvmffi_py_context *c, TVMFFIAny *out,
                                       TVMFFIObject *o) {
  tvmffi_py_put_object(out, o);
  c->temps[c->num_temps++] = o;
  return 0;
}

TVMFFI_I_INLINE int tvmffi_py_put_text(tvmffi_py_context *c, TVMFFIAny *out,
                                       const char *data, Py_ssize_t size,
                                       int is_bytes) {
  TVMFFIByteArray text;
  int code;
  if (TVMFFI_I_LIKELY(size <= 7)) {
    out->v_uint64 = 0;
    out->type_index = is_bytes ? kTVMFFISmallBytes : kTVMFFISmallStr;
    out->small_str_len = (uint32_t)size;
    memcpy(out->v_bytes, data, (size_t)size);
    return 0;
  }
  text.data = data;
  text.size = (size_t)size;
  code = is_bytes ? TVMFFIBytesFromByteArray(&text, out)
                  : TVMFFIStringFromByteArray(&text, out);
  if (!code) c->temps[c->num_temps++] = out->v_obj;
  return code;
}

TVMFFI_PY_COLD int tvmffi_py_put_big_int(tvmffi_py_context *c, PyObject *value,
                                         TVMFFIAny *out) {
  PyObject *helper = tvmffi_py_helper("from_int"), *bytes;
  TVMFFIByteArray data;
  int code;
  if (!helper || sizeof(void *) != 8 || PY_BIG_ENDIAN) return -1;
  bytes = PyObject_CallFunctionObjArgs(helper, value, NULL);
  if (!bytes) return -1;
  data.data = PyBytes_AsString(bytes);
  data.size = (size_t)PyBytes_Size(bytes);
  code = TVMFFIBigIntFromByteArray(&data, out);
  Py_DECREF(bytes);
  if (!code && out->type_index >= kTVMFFIStaticObjectBegin)
    c->temps[c->num_temps++] = out->v_obj;
  return code;
}

/* Remembers the current stream of the first tensor that is not on the CPU. If
   its package cannot tell the stream, the tensor counts as having none. */
TVMFFI_I_INLINE void tvmffi_py_use_stream(tvmffi_py_context *c,
                                          const DLPackExchangeAPI *api,
                                          DLDevice device) {
  void *stream = NULL;
  if (TVMFFI_I_LIKELY(device.device_type == kDLCPU) || c->device_type != -1 ||
      !api->current_work_stream)
    return;
  if (api->current_work_stream(device.device_type, device.device_id, &stream)) {
    PyErr_Clear();
    return;
  }
  c->stream = stream;
  c->device_type = device.device_type;
  c->device_id = device.device_id;
}

/* Passes an array by a managed tensor of its package. */
static TVMFFI_I_UNUSED __attribute__((__noinline__)) int tvmffi_py_put_managed(
    tvmffi_py_context *c, const DLPackExchangeAPI *api, PyObject *arg,
    TVMFFIAny *out) {
  DLManagedTensorVersioned *managed = NULL;
  TVMFFIObjectHandle tensor = NULL;
  if (api->managed_tensor_from_py_object_no_sync(arg, &managed)) return -1;
  tvmffi_py_use_stream(c, api, managed->dl_tensor.device);
  if (TVMFFITensorFromDLPackVersioned(managed, 0, 0, &tensor)) {
    if (managed->deleter) managed->deleter(managed);
    return -1;
  }
  return tvmffi_py_put_temp(c, out, (TVMFFIObject *)tensor);
}

/* Passes an array that has an exchange API. The flags of a managed tensor say
   whether elements of less than 8 bits are padded, and the library gives
   strides to one that has none. */
TVMFFI_I_INLINE int tvmffi_py_put_exchange(tvmffi_py_context *c,
                                           const DLPackExchangeAPI *api,
                                           PyObject *arg, TVMFFIAny *out) {
  tvmffi_py_loan *made;
  c->api = api;
  if (!api->dltensor_from_py_object_no_sync)
    return tvmffi_py_put_managed(c, api, arg, out);
  made = tvmffi_py_lend(arg, kTVMFFITensor);
  if (!made) return -1;
  if (api->dltensor_from_py_object_no_sync(arg, &made->as.tensor) ||
      TVMFFI_I_UNLIKELY(made->as.tensor.dtype.bits < 8 ||
                        !made->as.tensor.strides)) {
    tvmffi_py_take_back(made);
    return PyErr_Occurred() ? -1 : tvmffi_py_put_managed(c, api, arg, out);
  }
  made->api = api;
  tvmffi_py_use_stream(c, api, made->as.tensor.device);
  return tvmffi_py_put_temp(c, out, &made->base);
}

/* The head of NumPy's PyArrayObject and PyArray_Descr, which are the same in
   all releases from 1.7 on. */
typedef struct {
  PyObject_HEAD char *data;
  int ndim;
  Py_ssize_t *shape, *strides;
  PyObject *base, *dtype;
  int flags;
} tvmffi_py_ndarray;
typedef struct {
  PyObject_HEAD PyObject *type;
  char kind, letter, byte_order, flags;
  int number;
} tvmffi_py_numpy_descr;

/* Returns the size of an element in bytes, or 0 for a numpy.dtype that only
   NumPy knows. */
TVMFFI_I_INLINE int tvmffi_py_element_of(PyObject *descr, DLDataType *out) {
  const tvmffi_py_numpy_descr *dtype =
      (const tvmffi_py_numpy_descr *)(void *)descr;
  if ((unsigned)dtype->number > 23 ||
      (dtype->byte_order != '=' && dtype->byte_order != '|'))
    return 0;
  out->code = tvmffi_py_elements[dtype->number].code;
  out->bits = (unsigned char)(tvmffi_py_elements[dtype->number].bytes * 8);
  out->lanes = 1;
  return tvmffi_py_elements[dtype->number].bytes;
}

/* The same for an array's elements; also 0 for an array that is left to NumPy's
   own export, which may refuse it. `flags` are those that it needs. */
TVMFFI_I_INLINE int tvmffi_py_numpy_type(const tvmffi_py_ndarray *array,
                                         int flags, DLDataType *out) {
  return (array->flags & flags) == flags
             ? tvmffi_py_element_of(array->dtype, out)
             : 0;
}

/* Describes an array; its shape and strides go to the given memory. Returns -1
   if a stride is not a multiple of the element's size. */
TVMFFI_I_INLINE int tvmffi_py_numpy_view(const tvmffi_py_ndarray *array,
                                         int ndim, int bytes, DLTensor *t,
                                         int64_t *shape, int64_t *strides) {
  const int shift = __builtin_ctz((unsigned)bytes);
  int i;
  t->data = array->data;
  t->device.device_type = kDLCPU;
  t->device.device_id = 0;
  t->ndim = ndim;
  t->shape = shape;
  t->strides = strides;
  t->byte_offset = 0;
  for (i = 0; i < ndim; ++i) {
    if (array->strides[i] & (bytes - 1)) return -1;
    shape[i] = array->shape[i];
    strides[i] = array->strides[i] >> shift;
  }
  return 0;
}

TVMFFI_I_INLINE int tvmffi_py_put_numpy(tvmffi_py_context *c, PyObject *arg,
                                        int flags, TVMFFIAny *out) {
  const tvmffi_py_ndarray *array = (const tvmffi_py_ndarray *)(void *)arg;
  DLDataType type;
  const int bytes = tvmffi_py_numpy_type(array, flags, &type);
  const int ndim = array->ndim; /* other threads may change the array's */
  tvmffi_py_loan *made;
  if (!bytes || ndim > TVMFFI_PY_RANK) return -1;
  made = tvmffi_py_lend(arg, kTVMFFITensor);
  if (!made) return -1;
  made->as.tensor.dtype = type;
  if (tvmffi_py_numpy_view(array, ndim, bytes, &made->as.tensor, made->dims,
                           made->dims + ndim)) {
    tvmffi_py_take_back(made);
    return -1;
  }
  c->has_numpy = 1;
  return tvmffi_py_put_temp(c, out, &made->base);
}

/* Lets NumPy raise its exception for an array that it does not export, such as
   one of objects. Returns 1. */
TVMFFI_PY_COLD int tvmffi_py_ask_numpy(PyObject *array) {
  PyObject *made = PyObject_CallMethod(array, "__dlpack__", NULL);
  Py_XDECREF(made);
  return 1;
}

/* Calls arg.__dlpack__(), or arg.__dlpack__(max_version=(1, 1)), which also
   exports a read-only array. */
TVMFFI_PY_COLD PyObject *tvmffi_py_export(PyObject *arg, int is_versioned) {
  PyObject *method = PyObject_GetAttrString(arg, "__dlpack__");
  PyObject *none = PyTuple_New(0), *capsule = NULL;
  PyObject *options =
      is_versioned ? Py_BuildValue("{s(ii)}", "max_version", 1, 1) : NULL;
  if (method && none && (options || !is_versioned))
    capsule = PyObject_Call(method, none, options);
  Py_XDECREF(options);
  Py_XDECREF(none);
  Py_XDECREF(method);
  return capsule;
}

/* Makes a tensor that owns what a capsule of __dlpack__ has. Returns nonzero
   with an exception, or with the library's error. */
TVMFFI_PY_COLD int tvmffi_py_open_capsule(PyObject *capsule, int may_read_only,
                                          TVMFFIObjectHandle *out) {
  const char *used = "used_dltensor";
  if (PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    DLManagedTensorVersioned *managed =
        (DLManagedTensorVersioned *)PyCapsule_GetPointer(capsule,
                                                         "dltensor_versioned");
    used = "used_dltensor_versioned";
    if ((managed->flags & DLPACK_FLAG_BITMASK_READ_ONLY) && !may_read_only) {
      PyErr_SetString(PyExc_BufferError, "the array is read-only");
      return -1;
    }
    TVMFFI_TRY(TVMFFITensorFromDLPackVersioned(managed, 0, 0, out));
  } else {
    DLManagedTensor *managed =
        (DLManagedTensor *)PyCapsule_GetPointer(capsule, "dltensor");
    if (!managed) {
      PyErr_SetString(PyExc_BufferError,
                      "__dlpack__() returned no capsule of a tensor");
      return -1;
    }
    TVMFFI_TRY(TVMFFITensorFromDLPack(managed, 0, 0, out));
  }
  return PyCapsule_SetName(capsule, used) ||
         PyCapsule_SetDestructor(capsule, NULL);
}

/* Passes an array that has only the method __dlpack__. */
TVMFFI_PY_COLD int tvmffi_py_put_dlpack(tvmffi_py_context *c, PyObject *arg,
                                        int may_read_only, TVMFFIAny *out) {
  PyObject *capsule = tvmffi_py_export(arg, may_read_only);
  TVMFFIObjectHandle tensor = NULL;
  const int code =
      capsule ? tvmffi_py_open_capsule(capsule, may_read_only, &tensor) : -1;
  Py_XDECREF(capsule);
  return code ? -1 : tvmffi_py_put_temp(c, out, (TVMFFIObject *)tensor);
}

static int tvmffi_py_put(tvmffi_py_context *c, PyObject *arg, TVMFFIAny *out);

/* Stores the value of an int. Returns 0 for one of more than 64 bits. A small
   int is read without a call where CPython's headers show how it is stored. */
TVMFFI_I_INLINE int tvmffi_py_int_value(PyObject *arg, int64_t *out) {
  int overflow;
#if !defined(Py_LIMITED_API) && PY_VERSION_HEX >= 0x030c0000
  const PyLongObject *value = (const PyLongObject *)(void *)arg;
  if (TVMFFI_I_LIKELY(PyUnstable_Long_IsCompact(value))) {
    *out = PyUnstable_Long_CompactValue(value);
    return 1;
  }
#elif !defined(Py_LIMITED_API) && PY_VERSION_HEX >= 0x030b0000
  const Py_ssize_t size = Py_SIZE(arg); /* digits, negative of a negative int */
  const digit *digits = ((const PyLongObject *)(void *)arg)->ob_digit;
  if (TVMFFI_I_LIKELY((size_t)size + 1 <= 2)) {
    *out = size ? size * (int64_t)digits[0] : 0;
    return 1;
  }
  if (size == 2) {
    *out = (int64_t)digits[1] << PyLong_SHIFT | digits[0];
    return 1;
  }
#endif
  *out = PyLong_AsLongLongAndOverflow(arg, &overflow);
  return TVMFFI_I_LIKELY(!overflow);
}

/* Converts an int of up to 64 bits or a float without a search for its type.
   Returns 0 for another object. */
TVMFFI_I_INLINE int tvmffi_py_put_plain(PyObject *arg, TVMFFIAny *out) {
  PyTypeObject *type = Py_TYPE(arg);
  out->zero_padding = 0;
  if (type == &PyLong_Type) {
    out->type_index = kTVMFFIInt;
    return tvmffi_py_int_value(arg, &out->v_int64);
  }
  if (type != &PyFloat_Type) return 0;
  out->type_index = kTVMFFIFloat;
  out->v_float64 = TVMFFI_PY_FLOAT_OF(arg);
  return 1;
}

/* Passes a string to a parameter of the type `str`, which is read during the
   call only: a C string needs no object. Returns 0 for another argument, and
   for a text with a NUL in it. */
TVMFFI_I_INLINE int tvmffi_py_put_view(const tvmffi_func *func, Py_ssize_t i,
                                       PyObject *arg, TVMFFIAny *out) {
  const char *data;
  Py_ssize_t size;
  if (Py_TYPE(arg) != &PyUnicode_Type || !func || i >= func->num_args ||
      func->types[i + 1]->kind != TVMFFI_I_STR)
    return 0;
  data = PyUnicode_AsUTF8AndSize(arg, &size);
  if (TVMFFI_I_UNLIKELY(!data)) PyErr_Clear(); /* tvmffi_py_put raises it */
  if (!data || strlen(data) != (size_t)size) return 0;
  out->type_index = kTVMFFIRawStr;
  out->zero_padding = 0;
  out->v_c_str = data;
  return 1;
}

/* Finds a global function, which is kept. Returns NULL if there is none. */
TVMFFI_PY_COLD TVMFFIObject *tvmffi_py_constructor(const char *name,
                                                   TVMFFIObject **kept) {
  const TVMFFIByteArray text = tvmffi_byte_array(name);
  TVMFFIObjectHandle found = NULL;
  if (TVMFFI_I_LOAD(kept)) return *kept;
  if (TVMFFIFunctionGetGlobal(&text, &found) || !found) return NULL;
  if (!TVMFFI_PY_PUBLISH(kept, (TVMFFIObject *)found)) tvmffi_release(found);
  return *kept;
}

/* Builds an array or a map from Python objects by its constructor. */
static TVMFFI_I_UNUSED __attribute__((__noinline__)) int tvmffi_py_put_items(
    tvmffi_py_context *c, TVMFFIObject *constructor, PyObject **items,
    Py_ssize_t n, TVMFFIAny *out) {
  TVMFFIAny few[TVMFFI_PY_ARGS * 2], *args = few, made = TVMFFI_I_ZERO;
  TVMFFIObject *few_temps[TVMFFI_PY_ARGS * 2];
  tvmffi_py_context inner = *c;
  Py_ssize_t i;
  int code = 0;
  if (!constructor || n > INT32_MAX || ++inner.depth > TVMFFI_PY_DEPTH)
    return -1;
  inner.temps = few_temps;
  if (n > TVMFFI_PY_ARGS * 2) {
    args = (TVMFFIAny *)malloc((size_t)n * (sizeof(*args) + sizeof(void *)));
    if (!args) return -1;
    inner.temps = (TVMFFIObject **)(void *)(args + n);
  }
  inner.num_temps = 0;
  inner.api = NULL;
  for (i = 0; i < n && !code; ++i)
    if (!tvmffi_py_put_plain(items[i], args + i))
      code = tvmffi_py_put(&inner, items[i], args + i);
  if (!code) code = TVMFFIFunctionCall(constructor, args, (int32_t)n, &made);
  tvmffi_py_end_temps(&inner);
  if (args != few) free(args);
  if (code) return -1;
  c->stream = inner.stream;
  c->device_type = inner.device_type;
  c->device_id = inner.device_id;
  if (!c->api) c->api = inner.api;
  c->has_numpy = inner.has_numpy;
  c->has_stock = inner.has_stock;
  return tvmffi_py_put_temp(c, out, made.v_obj);
}

/* Makes an array of ints and floats, whose conversion runs no code of Python.
   Returns 0 if an item is something else, or if there is no memory. */
static TVMFFI_I_UNUSED __attribute__((__noinline__)) int tvmffi_py_put_numbers(
    tvmffi_py_context *c, PyObject **items, Py_ssize_t n, TVMFFIAny *out) {
  tvmffi_py_array *made;
  Py_ssize_t i;
  if (!n || n > INT32_MAX || !tvmffi_py_put_plain(*items, out)) return 0;
  made = tvmffi_py_new_array(n);
  if (!made) return 0;
  made->items[0] = *out;
  for (i = 1; i < n; ++i) {
    if (TVMFFI_I_LIKELY(tvmffi_py_put_plain(items[i], made->items + i)))
      continue;
    tvmffi_py_keep_array(made);
    return 0;
  }
  made->cell.size = n;
  tvmffi_py_put_temp(c, out, &made->base);
  return 1;
}

/* Converts the items of a tuple. Of a list, which another thread may change
   while code of Python runs, it converts numbers only, and returns -2 if it has
   something else. */
TVMFFI_I_INLINE int tvmffi_py_put_all(tvmffi_py_context *c, PyObject *sequence,
                                      int is_list, TVMFFIAny *out) {
  int code;
#ifdef Py_LIMITED_API
  const Py_ssize_t n = is_list ? PyList_Size(sequence) : PyTuple_Size(sequence);
  PyObject *few[TVMFFI_PY_ARGS * 2], **items = few;
  Py_ssize_t i;
  if (n > TVMFFI_PY_ARGS * 2) {
    items = (PyObject **)malloc((size_t)n * sizeof(*items));
    if (!items) return -1;
  }
  for (i = 0; i < n; ++i)
    items[i] =
        is_list ? PyList_GetItem(sequence, i) : PyTuple_GetItem(sequence, i);
#else
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(sequence);
  PyObject **items = PySequence_Fast_ITEMS(sequence);
#endif
  if (tvmffi_py_put_numbers(c, items, n, out))
    code = 0;
  else if (is_list)
    code = -2;
  else
    code = tvmffi_py_put_items(
        c, tvmffi_py_constructor("ffi.Array", &tvmffi_py.array), items, n, out);
#ifdef Py_LIMITED_API
  if (items != few) free(items);
#endif
  return code;
}

static TVMFFI_I_UNUSED __attribute__((__noinline__)) int tvmffi_py_put_tuple(
    tvmffi_py_context *c, PyObject *tuple, TVMFFIAny *out) {
  return tvmffi_py_put_all(c, tuple, 0, out);
}

/* Converts the items of a list or of another sequence. Unless they are numbers
   of a list, a copy keeps them alive while they are converted. */
static TVMFFI_I_UNUSED __attribute__((__noinline__)) int tvmffi_py_put_list(
    tvmffi_py_context *c, PyObject *list, TVMFFIAny *out) {
  PyObject *tuple;
  int code;
#ifndef Py_GIL_DISABLED
  if (PyList_CheckExact(list)) {
    code = tvmffi_py_put_all(c, list, 1, out);
    if (code != -2) return code;
  }
#endif
  tuple = PySequence_Tuple(list);
  code = tuple ? tvmffi_py_put_tuple(c, tuple, out) : -1;
  Py_XDECREF(tuple);
  return code;
}

TVMFFI_PY_COLD int tvmffi_py_put_dict(tvmffi_py_context *c, PyObject *dict,
                                      TVMFFIAny *out) {
  PyObject *copy = PyDict_Copy(dict), **items, *key, *value;
  Py_ssize_t at = 0, n = 0;
  TVMFFIObject *constructor = tvmffi_py_constructor("ffi.Map", &tvmffi_py.map);
  int code = -1;
  if (!copy) return -1;
  items =
      (PyObject **)malloc(((size_t)PyDict_Size(copy) * 2 + 1) * sizeof(*items));
  if (items && constructor) {
    while (PyDict_Next(copy, &at, &key, &value)) {
      items[n++] = key;
      items[n++] = value;
    }
    code = tvmffi_py_put_items(c, constructor, items, n, out);
  }
  free(items);
  Py_DECREF(copy);
  return code;
}

/* ---- Callbacks ---- */

/* Converts a borrowed argument of a callback. */
TVMFFI_I_INLINE PyObject *tvmffi_py_from_view(const TVMFFIAny *view) {
  TVMFFIAny owned = *view;
  if (view->type_index > kTVMFFISmallBytes ||
      view->type_index == kTVMFFIObjectRValueRef) {
    owned.type_index = kTVMFFINone;
    if (TVMFFIAnyViewToOwnedAny(view, &owned)) return tvmffi_py_raise(-1);
  }
  if (view->type_index == kTVMFFIRawStr)
    return PyUnicode_FromString(view->v_c_str);
  if (view->type_index == kTVMFFIByteArrayPtr) {
    const TVMFFIByteArray *bytes = (const TVMFFIByteArray *)view->v_ptr;
    return PyBytes_FromStringAndSize(bytes->data, (Py_ssize_t)bytes->size);
  }
  return tvmffi_py_result(
      &owned, tvmffi_py.has_own || !TVMFFI_I_LOAD(&tvmffi_py.package), NULL);
}

/* Imports the package tvm_ffi for an object. Returns 0, or -1 with an exception
   that names the object's type. */
TVMFFI_PY_COLD int tvmffi_py_import_for_type(const char *what, PyObject *of) {
  PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(of), "__name__");
  PyObject *all =
      name ? PyUnicode_FromFormat("%s of type %S", what, name) : NULL;
  const char *text = all ? PyUnicode_AsUTF8AndSize(all, NULL) : NULL;
  const int code = text ? tvmffi_py_import_stock(text) : -1;
  Py_XDECREF(all);
  Py_XDECREF(name);
  return code;
}

/* Lets the package tvm_ffi convert an object, which it takes. `what` describes
   it. A failed conversion has its own exception where there is no package. */
TVMFFI_PY_COLD int tvmffi_py_other_answer(PyObject *answer, const char *what,
                                          TVMFFIAny *result) {
  if (!PyErr_Occurred() && tvmffi_py_is_array(Py_TYPE(answer)))
    tvmffi_py_ask_numpy(answer);
  if (PyErr_Occurred() ? !tvmffi_py_bind_stock()
                       : tvmffi_py_import_for_type(what, answer)) {
    Py_DECREF(answer);
    return tvmffi_py_set_error();
  }
  PyErr_Clear();
  tvmffi_py_transit.error = NULL;
  tvmffi_py_transit.object = answer;
  return tvmffi_py_by_accept(result);
}

/* Stores an owned value for an object, such as a callback's result, which it
   takes. If a tensor or function is made of the object, that owns the object
   from now on. `what` describes the object. Returns 0, or -1 with the library's
   error. */
static TVMFFI_I_UNUSED int tvmffi_py_put_answer(PyObject *answer,
                                                const char *what,
                                                TVMFFIAny *result) {
  tvmffi_py_context c;
  TVMFFIObject *temp;
  memset(&c, 0, sizeof(c)); /* a device, so that no stream is looked for */
  c.is_export = 1;
  c.temps = &temp;
  if (tvmffi_py_put(&c, answer, result) ||
      result->type_index == kTVMFFIDLTensorPtr)
    return tvmffi_py_other_answer(answer, what, result);
  if (c.num_temps && temp->deleter == tvmffi_py_delete_loan)
    tvmffi_py_give_away((tvmffi_py_loan *)(void *)temp);
  else if (!c.num_temps && result->type_index >= kTVMFFIStaticObjectBegin)
    tvmffi_retain(result->v_obj);
  Py_DECREF(answer);
  return 0;
}

static TVMFFI_I_UNUSED int tvmffi_py_callback(void *self, const TVMFFIAny *args,
                                              int32_t num_args,
                                              TVMFFIAny *result) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *few[TVMFFI_PY_ARGS], **in = few, *answer = NULL;
  int32_t n = 0;
  int code;
  if (num_args > TVMFFI_PY_ARGS)
    in = (PyObject **)malloc((size_t)num_args * sizeof(*in));
  if (!in) PyErr_NoMemory();
  for (; in && n < num_args; ++n)
    if (!(in[n] = tvmffi_py_from_view(args + n))) break;
  if (in && n == num_args)
    answer = PyObject_Vectorcall(((tvmffi_py_loan *)self)->owner, in, (size_t)n,
                                 NULL);
  while (n > 0) Py_DECREF(in[--n]);
  if (in != few) free(in);
  code = answer ? tvmffi_py_put_answer(answer, "a callback's result", result)
                : tvmffi_py_set_error();
  PyGILState_Release(state);
  return code;
}

TVMFFI_I_INLINE int tvmffi_py_put_callable(tvmffi_py_context *c, PyObject *arg,
                                           TVMFFIAny *out) {
  tvmffi_py_loan *made = tvmffi_py_lend(arg, kTVMFFIFunction);
  if (!made) return -1;
  made->as.function.safe_call = tvmffi_py_callback;
  made->as.function.cpp_call = NULL;
  return tvmffi_py_put_temp(c, out, &made->base);
}

/* ---- One argument ---- */

/* Converts an object of the package tvm_ffi. */
TVMFFI_I_INLINE int tvmffi_py_put_stock_object(PyObject *arg, TVMFFIAny *out) {
  TVMFFIObject *o = *TVMFFI_PY_FIRST(TVMFFIObject *, arg);
  if (!o) return -1;
  tvmffi_py_put_object(out, o);
  return 0;
}

/* Returns the handle of an object of this library's classes, borrowed. NULL
   with an exception if __init__ of its class has not run. */
TVMFFI_I_INLINE TVMFFIObject *tvmffi_py_handle(PyObject *self) {
  TVMFFIObject *o = TVMFFI_I_LOAD(TVMFFI_PY_FIRST(TVMFFIObject *, self));
  if (TVMFFI_I_UNLIKELY(!o))
    PyErr_Format(PyExc_TypeError,
                 "the object of %R is not made: call super().__init__()",
                 (PyObject *)Py_TYPE(self));
  return o;
}

static TVMFFI_I_UNUSED __attribute__((__noinline__)) int tvmffi_py_put_own(
    PyObject *arg, TVMFFIAny *out) {
  TVMFFIObject *o = tvmffi_py_handle(arg);
  if (!o) return -1;
  tvmffi_py_put_object(out, o);
  return 0;
}

TVMFFI_PY_COLD int tvmffi_py_put_dtype(PyObject *arg, TVMFFIAny *out) {
  PyObject *value = PyObject_GetAttrString(arg, "_tvm_ffi_dtype");
  const int is_known = value && Py_TYPE(value) == tvmffi_py.package->data_type;
  if (is_known) out->v_dtype = *TVMFFI_PY_FIRST(DLDataType, value);
  Py_XDECREF(value);
  return is_known ? 0 : -1;
}

/* Converts a String or Bytes of tvm_ffi, which the attribute keeps alive. */
TVMFFI_PY_COLD int tvmffi_py_put_native(PyObject *arg, TVMFFIAny *out) {
  PyObject *object = PyObject_GetAttrString(arg, "_tvm_ffi_cached_object");
  int code = -1;
  if (object && PyObject_TypeCheck(object, tvmffi_py.package->object))
    code = tvmffi_py_put_stock_object(object, out);
  Py_XDECREF(object);
  return code;
}

/* Converts an object that is a number by its methods, as numpy.float32 is. */
static TVMFFI_I_UNUSED __attribute__((__noinline__)) int tvmffi_py_put_number(
    tvmffi_py_context *c, tvmffi_py_kind kind, PyObject *arg, TVMFFIAny *out) {
  PyObject *value;
  int overflow, code = 0;
  if (kind == TVMFFI_PY_NUMPY_BOOL) {
    const int truth = c->is_export ? PyObject_IsTrue(arg) : -1;
    out->type_index = kTVMFFIBool;
    out->v_int64 = truth;
    return truth < 0;
  }
  if (kind == TVMFFI_PY_REAL) {
    out->type_index = kTVMFFIFloat;
    out->v_float64 = PyFloat_AsDouble(arg);
    return out->v_float64 == -1 && PyErr_Occurred() ? -1 : 0;
  }
  value = PyNumber_Long(arg);
  if (!value) return -1;
  out->type_index = kTVMFFIInt;
  out->v_int64 = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow) code = tvmffi_py_put_big_int(c, value, out);
  Py_DECREF(value);
  return code;
}

/* Passes an object as it is: the library's object owns it. */
TVMFFI_PY_COLD int tvmffi_py_put_opaque(tvmffi_py_context *c, PyObject *arg,
                                        TVMFFIAny *out) {
  TVMFFIObjectHandle made = NULL;
  if (!c->is_export || TVMFFIObjectCreateOpaque(arg, kTVMFFIOpaquePyObject,
                                                tvmffi_py_drop, &made))
    return -1;
  Py_INCREF(arg);
  return tvmffi_py_put_temp(c, out, (TVMFFIObject *)made);
}

/* Converts a numpy.dtype whose elements an array of the library may have. */
TVMFFI_PY_COLD int tvmffi_py_put_numpy_dtype(const tvmffi_py_context *c,
                                             PyObject *arg, TVMFFIAny *out) {
  out->type_index = kTVMFFIDataType;
  return !c->is_export || !tvmffi_py_element_of(arg, &out->v_dtype);
}

/* Converts an argument. Returns nonzero for one that the package tvm_ffi has to
   convert, because it is of another kind or an exception is set. */
static TVMFFI_I_UNUSED int tvmffi_py_put(tvmffi_py_context *c, PyObject *arg,
                                         TVMFFIAny *out) {
  PyTypeObject *type = Py_TYPE(arg);
  const tvmffi_py_type *entry = tvmffi_py_find_type(type);
  tvmffi_py_type fresh;
  PyObject *function;
  const char *data;
  Py_ssize_t size;
  int overflow;
  if (TVMFFI_I_UNLIKELY(!entry)) {
    fresh = tvmffi_py_new_type(type);
    entry = &fresh;
  }
  out->zero_padding = 0;
  out->v_int64 = 0;
  switch (entry->kind) {
    case TVMFFI_PY_INT:
      out->type_index = kTVMFFIInt;
      out->v_int64 = PyLong_AsLongLongAndOverflow(arg, &overflow);
      return TVMFFI_I_LIKELY(!overflow) ? 0
                                        : tvmffi_py_put_big_int(c, arg, out);
    case TVMFFI_PY_FLOAT:
      out->type_index = kTVMFFIFloat;
      out->v_float64 = PyFloat_AsDouble(arg);
      return 0;
    case TVMFFI_PY_BOOL:
      out->type_index = kTVMFFIBool;
      out->v_int64 = arg == Py_True;
      return 0;
    case TVMFFI_PY_NONE: out->type_index = kTVMFFINone; return 0;
    case TVMFFI_PY_INTEGRAL:
    case TVMFFI_PY_REAL:
    case TVMFFI_PY_NUMPY_BOOL:
      return tvmffi_py_put_number(c, entry->kind, arg, out);
    case TVMFFI_PY_STR:
      data = PyUnicode_AsUTF8AndSize(arg, &size);
      return data ? tvmffi_py_put_text(c, out, data, size, 0) : -1;
    case TVMFFI_PY_BYTES:
      return tvmffi_py_put_text(c, out, PyBytes_AsString(arg),
                                PyBytes_Size(arg), 1);
    case TVMFFI_PY_BYTEARRAY:
      return tvmffi_py_put_text(c, out, PyByteArray_AsString(arg),
                                PyByteArray_Size(arg), 1);
    case TVMFFI_PY_TUPLE: return tvmffi_py_put_tuple(c, arg, out);
    case TVMFFI_PY_LIST: return tvmffi_py_put_list(c, arg, out);
    case TVMFFI_PY_DICT: return tvmffi_py_put_dict(c, arg, out);
    case TVMFFI_PY_CALLABLE: return tvmffi_py_put_callable(c, arg, out);
    case TVMFFI_PY_NUMPY:
      return tvmffi_py_put_numpy(c, arg, TVMFFI_PY_WRITEABLE, out);
    case TVMFFI_PY_DLPACK: return tvmffi_py_put_dlpack(c, arg, 0, out);
    case TVMFFI_PY_EXCHANGE:
      return tvmffi_py_put_exchange(c, entry->api, arg, out);
    case TVMFFI_PY_TENSOR:
      c->has_stock = 1;
      if (!tvmffi_py_put_stock_object(arg, out)) return 0;
      out->type_index = kTVMFFIDLTensorPtr; /* a tensor that a callback got */
      out->v_ptr = *TVMFFI_PY_SECOND(void *, arg);
      return 0;
    case TVMFFI_PY_CONTAINER:
      /* With an exchange API, its tensors may be on a device. */
      if (*TVMFFI_PY_SECOND(void *, arg)) return -1;
      c->has_stock = 1;
      return tvmffi_py_put_stock_object(arg, out);
    case TVMFFI_PY_OBJECT:
      c->has_stock = 1;
      return tvmffi_py_put_stock_object(arg, out);
    case TVMFFI_PY_OWN: return tvmffi_py_put_own(arg, out);
    case TVMFFI_PY_NATIVE: return tvmffi_py_put_native(arg, out);
    case TVMFFI_PY_DTYPE:
      out->type_index = kTVMFFIDataType;
      return tvmffi_py_put_dtype(arg, out);
    case TVMFFI_PY_DATATYPE:
      out->type_index = kTVMFFIDataType;
      out->v_dtype = *TVMFFI_PY_FIRST(DLDataType, arg);
      return 0;
    case TVMFFI_PY_DEVICE:
      out->type_index = kTVMFFIDevice;
      out->v_device = *TVMFFI_PY_FIRST(DLDevice, arg);
      return 0;
    case TVMFFI_PY_FAST:
      function = TVMFFI_I_LOAD(&((tvmffi_py_function *)arg)->stock);
      return function ? tvmffi_py_put_stock_object(function, out) : -1;
    case TVMFFI_PY_NUMPY_DTYPE: return tvmffi_py_put_numpy_dtype(c, arg, out);
    case TVMFFI_PY_OPAQUE: return tvmffi_py_put_opaque(c, arg, out);
    default: return -1;
  }
}

/* ---- Parameters ---- */

/* A text that grows; NULL after a failure. */
typedef struct {
  char *data;
  size_t size, capacity;
} tvmffi_py_text;

TVMFFI_PY_COLD void tvmffi_py_say(tvmffi_py_text *t, const char *more) {
  const size_t size = strlen(more);
  if (t->size + size + 1 > t->capacity) {
    char *data = t->capacity == SIZE_MAX
                     ? NULL
                     : (char *)realloc(t->data, 2 * (t->size + size + 1));
    if (!data) free(t->data);
    t->data = data;
    /* After a failure nothing is appended any more. */
    t->capacity = data ? 2 * (t->size + size + 1) : SIZE_MAX;
  }
  if (!t->data) return;
  memcpy(t->data + t->size, more, size + 1);
  t->size += size;
}

TVMFFI_PY_COLD const char *tvmffi_py_parameter(const tvmffi_func *func,
                                               int32_t i) {
  const char *at = func->params;
  while (i-- > 0) at += strlen(at) + 1;
  return at;
}

/* True for a word that C has for a name and Python for its own use. */
TVMFFI_PY_COLD int tvmffi_py_is_keyword(const char *name) {
  static const char *const words[] = {
      "False", "None",   "True",   "and",   "as",   "assert", "async",
      "await", "class",  "def",    "del",   "elif", "except", "finally",
      "from",  "global", "import", "in",    "is",   "lambda", "nonlocal",
      "not",   "or",     "pass",   "raise", "try",  "with",   "yield"};
  size_t i;
  for (i = 0; i < sizeof(words) / sizeof(words[0]); ++i)
    if (!strcmp(name, words[i])) return 1;
  return 0;
}

/* Appends a name as it is in Python, such as from_ for `from`. */
TVMFFI_PY_COLD void tvmffi_py_say_name(tvmffi_py_text *t, const char *name) {
  tvmffi_py_say(t, name);
  if (tvmffi_py_is_keyword(name)) tvmffi_py_say(t, "_");
}

/* Appends a type as Python writes it, such as "Sequence[int]". `contract` is
   the text of tensor("..."), or NULL. With `has_bits`, an int is "int8" or
   "uint64", say. */
TVMFFI_PY_COLD void tvmffi_py_say_type(tvmffi_py_text *t,
                                       const tvmffi_i_word *type,
                                       const char *contract, int has_bits) {
  static const struct {
    int32_t index;
    const char *name;
  } names[] = {{kTVMFFIFunction, "Callable"}, {kTVMFFITensor, "tensor"},
               {kTVMFFIArray, "Sequence"},    {kTVMFFIList, "Sequence"},
               {kTVMFFIMap, "Mapping"},       {kTVMFFIDict, "Mapping"},
               {kTVMFFIShape, "Shape"},       {kTVMFFIModule, "Module"},
               {kTVMFFIError, "Error"}};
  const char *name = tvmffi_i_shown(type)->name;
  size_t i;
  if (type->kind == TVMFFI_I_OPTIONAL) {
    tvmffi_py_say_type(t, type->of[0], contract, has_bits);
    tvmffi_py_say(t, " | None");
    return;
  }
  for (i = 0; i < sizeof(names) / sizeof(names[0]); ++i)
    if (type->index == names[i].index) name = names[i].name;
  if (type->kind == TVMFFI_I_NONE) name = "None";
  if (type->kind == TVMFFI_I_TENSOR) name = "tensor";
  if (type->kind == TVMFFI_I_PTR) name = "c_void_p | None";
  if (type->kind == TVMFFI_I_DTYPE) name = "dtype";
  if (type->kind == TVMFFI_I_DEVICE) name = "device";
  if (type->kind == TVMFFI_I_INT && has_bits && !type->is_signed)
    tvmffi_py_say(t, "u");
  tvmffi_py_say(t, name ? name : "Any");
  if (type->kind == TVMFFI_I_INT && has_bits)
    tvmffi_py_say(t, type->size == 1   ? "8"
                     : type->size == 2 ? "16"
                     : type->size == 4 ? "32"
                                       : "64");
  if (contract) {
    const size_t size = strlen(contract);
    tvmffi_py_say(t, "(\"");
    tvmffi_py_say(t, contract);
    /* " | None" says it. */
    if (t->data && size > 9 && !strcmp(contract + size - 9, " optional"))
      t->data[t->size -= 9] = 0;
    tvmffi_py_say(t, "\")");
  }
  if (!tvmffi_i_has_parts(type)) return;
  tvmffi_py_say(t, "[");
  tvmffi_py_say_type(t, type->of[0], NULL, has_bits);
  if (type->of[1]) {
    tvmffi_py_say(t, ", ");
    tvmffi_py_say_type(t, type->of[1], NULL, has_bits);
  }
  tvmffi_py_say(t, "]");
}

/* Appends the parameters' names or types to a new list. NULL with an
   exception. */
TVMFFI_PY_COLD PyObject *tvmffi_py_list_parameters(const tvmffi_func *func,
                                                   int are_types) {
  PyObject *list = PyList_New(0), *text;
  int32_t i;
  for (i = 0; list && i < func->num_args; ++i) {
    tvmffi_py_text t = {NULL, 0, 0};
    if (are_types)
      tvmffi_py_say_type(&t, func->types[i + 1], NULL, 1);
    else
      tvmffi_py_say_name(&t, tvmffi_py_parameter(func, i));
    text = t.data ? PyUnicode_FromString(t.data) : PyErr_NoMemory();
    if (!text || PyList_Append(list, text)) Py_CLEAR(list);
    Py_XDECREF(text);
    free(t.data);
  }
  return list;
}

/* Makes the exception of a call of an exported function name the parameter, and
   gives it the class of its kind. `at` is the index of an argument that could
   not be converted, or -1. Returns NULL. */
TVMFFI_PY_COLD PyObject *tvmffi_py_explain(const tvmffi_py_function *f,
                                           PyObject *const *in, Py_ssize_t n,
                                           int at) {
  PyObject *error, *helper, *names, *types, *values, *made = NULL;
  Py_ssize_t i;
  if (!f->func || !f->func->params || !PyErr_Occurred() ||
      !PyErr_ExceptionMatches(PyExc_Exception))
    return NULL;
  error = tvmffi_py_take_error();
  helper = tvmffi_py_helper("explain");
  names = tvmffi_py_list_parameters(f->func, 0);
  types = tvmffi_py_list_parameters(f->func, 1);
  values = PyTuple_New(n);
  for (i = 0; values && i < n; ++i) {
    Py_INCREF(in[i]);
    PyTuple_SetItem(values, i, in[i]);
  }
  if (helper && names && types && values)
    made = PyObject_CallFunction(helper, "OsOOiOi", error, f->func->name, names,
                                 types, (int)f->func->least, values, at);
  PyErr_Clear();
  Py_XDECREF(names);
  Py_XDECREF(types);
  Py_XDECREF(values);
  if (made) Py_DECREF(error);
  tvmffi_py_give_error(made ? made : error);
  return NULL;
}

/* Returns the type of the items of a list or an array, or NULL for another
   type. The items of one that does not say their type are of the type any. */
TVMFFI_PY_COLD const tvmffi_i_word *tvmffi_py_items_of(
    const tvmffi_i_word *type) {
  if (type->index != kTVMFFIArray && type->index != kTVMFFIList) return NULL;
  return tvmffi_i_has_parts(type) ? type->of[0] : &tvmffi_i_word_any;
}

/* Returns the int of an object with __index__, or the float of one with
   __float__, such as an array without dimensions. Returns NULL for another
   object, and with an exception if the method raises one that is not a
   TypeError. */
TVMFFI_PY_COLD PyObject *tvmffi_py_to_number(const tvmffi_i_word *type,
                                             PyObject *object) {
  PyObject *made = NULL;
  if (type->kind == TVMFFI_I_FLOAT) {
    const double value = PyFloat_AsDouble(object);
    if (!PyErr_Occurred()) return PyFloat_FromDouble(value);
  } else if (PyIndex_Check(object)) {
    made = PyNumber_Index(object);
  }
  if (!made && PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError))
    PyErr_Clear();
  return made;
}

/* Returns the list of a NumPy array of one dimension for a list of numbers, or
   of another sequence, such as a range, for a list; the number of an object for
   a number; and the numpy.dtype of a class, such as numpy.float32, for a data
   type. Returns NULL for an object that is none of these for `type`, and with
   an exception if it fails. */
TVMFFI_PY_COLD PyObject *tvmffi_py_adapt(const tvmffi_i_word *type,
                                         PyObject *object) {
  PyObject *module = NULL, *made = NULL;
  const tvmffi_i_word *items;
  const tvmffi_py_type *entry;
  tvmffi_py_kind kind;
  DLDataType element;
  if (type->kind == TVMFFI_I_OPTIONAL) type = type->of[0];
  items = tvmffi_py_items_of(type);
  if (type->kind == TVMFFI_I_INT || type->kind == TVMFFI_I_FLOAT)
    return tvmffi_py_to_number(type, object);
  if (!items && type->kind != TVMFFI_I_DTYPE) return NULL;
  entry = tvmffi_py_find_type(Py_TYPE(object));
  kind = entry ? entry->kind : tvmffi_py_new_type(Py_TYPE(object)).kind;
  if (!items && PyType_Check(object)) {
    module = tvmffi_py_imported("numpy");
    if (module) made = PyObject_CallMethod(module, "dtype", "O", object);
    if (made ? !tvmffi_py_element_of(made, &element)
             : PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear(); /* the class of no element */
      Py_CLEAR(made);
    }
  } else if (items && kind == TVMFFI_PY_NUMPY) {
    if (items->kind >= TVMFFI_I_INT && items->kind <= TVMFFI_I_FLOAT &&
        ((const tvmffi_py_ndarray *)(void *)object)->ndim == 1)
      made = PyObject_CallMethod(object, "tolist", NULL);
  } else if (items && kind == TVMFFI_PY_OPAQUE &&
             tvmffi_py_is_under(Py_TYPE(object), "_collections_abc",
                                "Sequence")) {
    made = PySequence_List(object);
  }
  Py_XDECREF(module);
  return made;
}

/* Returns 0 if tvmffi_py_adapt returns NULL for an object, whatever the type:
   then a caller need not look for the type of the field. */
TVMFFI_I_INLINE int tvmffi_py_may_adapt(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  const tvmffi_py_type *entry;
  if (type == &PyFloat_Type || type == &PyLong_Type || type == &PyUnicode_Type)
    return 0;
  entry = tvmffi_py_find_type(type);
  return !entry || entry->kind == TVMFFI_PY_NUMPY ||
         entry->kind == TVMFFI_PY_OPAQUE || PyType_Check(object);
}

/* Converts an argument that is a tensor, a function or an object of a type that
   only Python knows, for a parameter of another type. Returns 0; 1 if the
   package tvm_ffi has to convert it; or -1 with an exception. */
TVMFFI_PY_COLD int tvmffi_py_adapt_argument(tvmffi_py_context *c,
                                            const tvmffi_i_word *type,
                                            PyObject *arg, TVMFFIAny *out) {
  PyObject *made = tvmffi_py_adapt(type, arg);
  int code;
  if (!made)
    return PyErr_Occurred() ? -1
                            : out->type_index == kTVMFFIOpaquePyObject &&
                                  type->index == kTVMFFIError;
  tvmffi_py_end_temp(c); /* what is made of the list takes its place */
  code = tvmffi_py_put(c, made, out);
  Py_DECREF(made);
  return code != 0;
}

/* Passes an array whose __dlpack__() raised a BufferError, which says that it
   is read-only. Returns 0, or 1 with that exception if this fails, too. */
TVMFFI_PY_COLD int tvmffi_py_put_frozen(tvmffi_py_context *c, PyObject *arg,
                                        TVMFFIAny *out) {
  PyObject *error = tvmffi_py_take_error();
  if (tvmffi_py_put_dlpack(c, arg, 1, out)) {
    tvmffi_py_give_error(error);
    return 1;
  }
  Py_DECREF(error);
  return 0;
}

/* Converts an argument that tvmffi_py_put did not convert: a read-only array
   for a parameter that the function only reads. Returns 0; 1 if the package
   tvm_ffi has to convert it, or with an exception of the conversion; or -1 with
   an exception for a NumPy array that the function may write. */
TVMFFI_PY_COLD int tvmffi_py_put_otherwise(tvmffi_py_context *c,
                                           const tvmffi_func *func, int32_t i,
                                           PyObject *arg, TVMFFIAny *out) {
  const tvmffi_py_ndarray *array = (const tvmffi_py_ndarray *)(void *)arg;
  const int is_refused =
      PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_BufferError);
  const char *name, *text;
  int is_written;
  if (!func || i >= func->num_args ||
      (!is_refused && (PyErr_Occurred() || !tvmffi_py_is_array(Py_TYPE(arg)))))
    return 1;
  if (!is_refused && (array->flags & TVMFFI_PY_WRITEABLE))
    return tvmffi_py_ask_numpy(arg);
  name = tvmffi_py_parameter(func, i);
  text = tvmffi_i_contract_text(func->contract, name);
  is_written = text && (tvmffi_i_text_has(text, "out") ||
                        tvmffi_i_text_has(text, "inout"));
  if (is_refused)
    return !text || is_written || tvmffi_py_put_frozen(c, arg, out);
  if (text && !is_written)
    return tvmffi_py_put_numpy(c, arg, 0, out) ? tvmffi_py_ask_numpy(arg) : 0;
  PyErr_Format(PyExc_BufferError,
               is_written
                   ? "%s: argument `%s`: the function writes the array, which "
                     "is read-only"
                   : "%s: argument `%s`: the array is read-only, and the "
                     "parameter's type does not say that the function only "
                     "reads it: write tensor(\"...\")",
               func->name, name);
  return -1;
}

/* Converts an integer of more than 64 bits for a parameter that is a float, as
   Python's float() does. Returns 0, or -1 with an OverflowError. */
TVMFFI_PY_COLD int tvmffi_py_put_big_float(const tvmffi_func *func, int32_t i,
                                           PyObject *arg, TVMFFIAny *out) {
  double value;
  if (func->types[i + 1]->kind != TVMFFI_I_FLOAT) return 0;
  value = PyFloat_AsDouble(arg);
  if (value == -1 && PyErr_Occurred()) {
    PyErr_Format(PyExc_OverflowError,
                 "%s: argument `%s`: the int is too large for a float",
                 func->name, func->params ? tvmffi_py_parameter(func, i) : "");
    return -1;
  }
  out->type_index = kTVMFFIFloat;
  out->v_float64 = value;
  return 0;
}

/* Converts an object again, if the parameter is of another type. Returns as
   tvmffi_py_adapt_argument. */
TVMFFI_I_INLINE int tvmffi_py_fit(tvmffi_py_context *c, const tvmffi_func *func,
                                  int32_t i, PyObject *arg, TVMFFIAny *out) {
  const tvmffi_i_word *type;
  if (TVMFFI_I_UNLIKELY(!func || i >= func->num_args)) return 0;
  type = func->types[i + 1];
  if (TVMFFI_I_UNLIKELY(out->type_index == kTVMFFIBigInt))
    return tvmffi_py_put_big_float(func, i, arg, out);
  if (TVMFFI_I_LIKELY((out->type_index != kTVMFFITensor &&
                       out->type_index != kTVMFFIFunction &&
                       out->type_index != kTVMFFIOpaquePyObject) ||
                      type->kind == TVMFFI_I_TENSOR ||
                      type->kind == TVMFFI_I_ANY ||
                      (type->kind == TVMFFI_I_OBJECT &&
                       type->index != kTVMFFIError)))
    return 0;
  return tvmffi_py_adapt_argument(c, type, arg, out);
}

/* ---- Calls ---- */

/* Imports the package tvm_ffi for an argument of an exported function. Returns
   0, or -1 with an exception that names the parameter. */
TVMFFI_PY_COLD int tvmffi_py_import_for(const tvmffi_func *func, int at,
                                        PyObject *arg) {
  PyObject *what;
  const char *text = NULL;
  int code = -1;
  if (!func->params || at >= func->num_args)
    return tvmffi_py_import_stock("an argument of this type");
  what = PyUnicode_FromFormat("%s: argument `%s`", func->name,
                              tvmffi_py_parameter(func, at));
  if (what) text = PyUnicode_AsUTF8AndSize(what, NULL);
  if (text) code = tvmffi_py_import_for_type(text, arg);
  Py_XDECREF(what);
  return code;
}

/* Makes the Function of tvm_ffi for an exported function, whose argument `at`
   is not converted here. Returns 0, or -1 with an exception. */
TVMFFI_PY_COLD int tvmffi_py_make_stock(tvmffi_py_function *f, int at,
                                        PyObject *arg) {
  PyObject *made;
  if (PyErr_Occurred() && !tvmffi_py_bind_stock()) return -1;
  PyErr_Clear();
  if (tvmffi_py_import_for(f->func, at, arg)) return -1;
  made = tvmffi_py_address_call((PyObject *)tvmffi_py.package->function,
                                "__from_extern_c__",
                                (void *)(uintptr_t)f->func->call);
  if (made &&
      PyObject_SetAttrString(made, "release_gil",
                             tvmffi_py.release_gil ? Py_True : Py_False))
    Py_CLEAR(made);
  if (!made) return -1;
  if (!TVMFFI_PY_PUBLISH(&f->stock, made)) Py_DECREF(made);
  return 0;
}

/* Calls the function by the package tvm_ffi, because the argument `at` is
   unknown here or cannot be converted. An interrupt stays one. */
TVMFFI_PY_COLD PyObject *tvmffi_py_call_stock(tvmffi_py_function *f,
                                              PyObject *const *in, Py_ssize_t n,
                                              PyObject *keywords, int at) {
  const int is_bad = PyErr_Occurred() != NULL;
  PyObject *result;
  if (is_bad && !PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
  if (!TVMFFI_I_LOAD(&f->stock) && tvmffi_py_make_stock(f, at, in[at]))
    return tvmffi_py_explain(f, in, n, at);
  PyErr_Clear();
  result = PyObject_Vectorcall(f->stock, in, (size_t)n, keywords);
  return result ? result : tvmffi_py_explain(f, in, n, is_bad ? at : -1);
}

typedef struct {
  void *stream;
  DLPackManagedTensorAllocator allocator;
} tvmffi_py_environment;

/* Sets the stream and the allocator as TVMFFIPyCallManager::FuncCall does. */
TVMFFI_PY_COLD int tvmffi_py_enter(const tvmffi_py_context *c,
                                   tvmffi_py_environment *before) {
  int code;
  before->stream = NULL;
  before->allocator = NULL;
  if (c->device_type != -1)
    TVMFFI_TRY(TVMFFIEnvSetStream(c->device_type, c->device_id, c->stream,
                                  &before->stream));
  if (!c->api->managed_tensor_allocator) return 0;
  code = TVMFFIEnvSetDLPackManagedTensorAllocator(
      c->api->managed_tensor_allocator, 0, &before->allocator);
  if (code && c->device_type != -1)
    TVMFFIEnvSetStream(c->device_type, c->device_id, before->stream, NULL);
  return code;
}

/* Restores them. Returns 0, or -1 with an exception. */
TVMFFI_PY_COLD int tvmffi_py_leave(const tvmffi_py_context *c,
                                   const tvmffi_py_environment *before) {
  const char *what = NULL;
  if (before->allocator != c->api->managed_tensor_allocator &&
      TVMFFIEnvSetDLPackManagedTensorAllocator(before->allocator, 0, NULL))
    what = "Failed to recover DLPack managed tensor allocator";
  if (c->device_type != -1 && before->stream != c->stream &&
      TVMFFIEnvSetStream(c->device_type, c->device_id, before->stream, NULL))
    what = "Failed to recover stream";
  if (!what) return 0;
  tvmffi_error_clear();
  PyErr_SetString(PyExc_RuntimeError, what);
  return -1;
}

/* The function of a call: its safe call, the first argument, and whether calls
   release the GIL. */
typedef struct {
  TVMFFISafeCallType call;
  void *self;
  int release_gil;
} tvmffi_py_target;

TVMFFI_I_INLINE int tvmffi_py_run(const tvmffi_py_target *target,
                                  const TVMFFIAny *args, Py_ssize_t n,
                                  TVMFFIAny *result) {
  PyThreadState *thread;
  int code;
  if (!target->release_gil)
    return target->call(target->self, args, (int32_t)n, result);
  thread = PyEval_SaveThread();
  code = target->call(target->self, args, (int32_t)n, result);
  PyEval_RestoreThread(thread);
  return code;
}

TVMFFI_PY_COLD int tvmffi_py_run_in(const tvmffi_py_target *target,
                                    const TVMFFIAny *args, Py_ssize_t n,
                                    TVMFFIAny *result, tvmffi_py_context *c) {
  tvmffi_py_environment before;
  int code = tvmffi_py_enter(c, &before);
  if (code) return code;
  code = tvmffi_py_run(target, args, n, result);
  if (tvmffi_py_leave(c, &before)) {
    if (code)
      tvmffi_error_clear();
    else
      tvmffi_any_release(result);
    return -2;
  }
  return code;
}

/* Raises the error of a call that returned `code`, which it takes. Returns
   NULL. */
TVMFFI_PY_COLD PyObject *tvmffi_py_fail(const tvmffi_py_function *f,
                                        PyObject *const *in, Py_ssize_t n,
                                        int code, TVMFFIObject *error) {
  if (error && f->func && tvmffi_py_raise_passed(error)) {
    tvmffi_release(error);
    return NULL;
  }
  tvmffi_py_raise_error(code, error);
  return tvmffi_py_explain(f, in, n, -1);
}

/* A backtrace ends at a function whose name begins with "_Py", in upstream's
   library and in ours. */
#define TVMFFI_PY_BORDER(name) __asm__("_Py_tvmffi_" name)

/* Converts the arguments, calls and converts the result. `args` and c->temps
   have room for n arguments. */
TVMFFI_PY_HOT PyObject *tvmffi_py_convert_and_run(
    tvmffi_py_function *f, const tvmffi_py_target *target, PyObject *const *in,
    Py_ssize_t n, TVMFFIAny *args, tvmffi_py_context *c) {
  TVMFFIAny result;
  TVMFFIObject *error = NULL;
  Py_ssize_t i;
  int code = 0;
  c->api = NULL;
  c->device_type = -1;
  c->num_temps = c->depth = c->has_numpy = c->has_stock = 0;
  c->is_export = f->func != NULL;
  for (i = 0; i < n; ++i) {
    if (tvmffi_py_put_plain(in[i], args + i) ||
        tvmffi_py_put_view(f->func, i, in[i], args + i))
      continue;
    code = tvmffi_py_put(c, in[i], args + i);
    if (TVMFFI_I_UNLIKELY(code))
      code = tvmffi_py_put_otherwise(c, f->func, (int32_t)i, in[i], args + i);
    else if (args[i].type_index >= kTVMFFIFunction)
      code = tvmffi_py_fit(c, f->func, (int32_t)i, in[i], args + i);
    if (TVMFFI_I_UNLIKELY(code)) {
      tvmffi_py_end_temps(c);
      tvmffi_error_clear();
      return code < 0 ? NULL : tvmffi_py_call_stock(f, in, n, NULL, (int)i);
    }
  }
  result.type_index = kTVMFFINone;
  result.zero_padding = 0;
  result.v_int64 = 0;
  code = TVMFFI_I_UNLIKELY(c->api != NULL)
             ? tvmffi_py_run_in(target, args, n, &result, c)
             : tvmffi_py_run(target, args, n, &result);
  /* Destructors may use the library, so the error is taken before them. */
  if (TVMFFI_I_UNLIKELY(code)) error = tvmffi_py_error_of(code);
  tvmffi_py_end_temps(c);
  if (TVMFFI_I_UNLIKELY(code)) return tvmffi_py_fail(f, in, n, code, error);
  return tvmffi_py_result(&result, f->func != NULL, c);
}

/* A call with many arguments. */
static PyObject *tvmffi_py_call_many(tvmffi_py_function *f,
                                     const tvmffi_py_target *target,
                                     PyObject *const *in, Py_ssize_t n)
    TVMFFI_PY_BORDER("many");
static TVMFFI_I_UNUSED __attribute__((__noinline__)) PyObject *
tvmffi_py_call_many(tvmffi_py_function *f, const tvmffi_py_target *target,
                    PyObject *const *in, Py_ssize_t n) {
  TVMFFIAny *args;
  tvmffi_py_context c;
  PyObject *result;
  if (n > INT32_MAX) return PyErr_NoMemory();
  args = (TVMFFIAny *)malloc((size_t)n * (sizeof(*args) + sizeof(void *)));
  if (!args) return PyErr_NoMemory();
  c.temps = (TVMFFIObject **)(void *)(args + n);
  result = tvmffi_py_convert_and_run(f, target, in, n, args, &c);
  free(args);
  return result;
}

TVMFFI_PY_HOT PyObject *tvmffi_py_call(tvmffi_py_function *f,
                                       const tvmffi_py_target *target,
                                       PyObject *const *in, Py_ssize_t n) {
  TVMFFIAny args[TVMFFI_PY_ARGS + 1];
  TVMFFIObject *temps[TVMFFI_PY_ARGS];
  tvmffi_py_context c;
  if (TVMFFI_I_UNLIKELY(n > TVMFFI_PY_ARGS))
    return tvmffi_py_call_many(f, target, in, n);
  c.temps = temps;
  /* Some handwritten functions read an argument without looking at the count.
     They find None. */
  args[n].type_index = kTVMFFINone;
  args[n].zero_padding = 0;
  args[n].v_int64 = 0;
  return tvmffi_py_convert_and_run(f, target, in, n, args, &c);
}

/* ---- Exported functions ---- */

/* Converts a parameter's default. Returns NULL without an exception for one
   that has no plain form. */
TVMFFI_PY_COLD PyObject *tvmffi_py_default(const TVMFFIAny *value) {
  if (value->type_index == kTVMFFIOpaquePtr && !value->v_ptr) Py_RETURN_NONE;
  if (value->type_index == kTVMFFIRawStr ||
      value->type_index == kTVMFFIByteArrayPtr ||
      value->type_index <= kTVMFFIFloat ||
      value->type_index == kTVMFFISmallStr ||
      value->type_index == kTVMFFISmallBytes)
    return tvmffi_py_from_view(value);
  return NULL;
}

/* Returns the index of a parameter, or -1. The parameter `from` has the names
   from_, which a call can write, and from, which f(**{"from": 1}) passes. */
TVMFFI_PY_COLD int32_t tvmffi_py_index_of(const tvmffi_func *func,
                                          PyObject *name) {
  const char *at = func->params;
  int32_t i;
  for (i = 0; i < func->num_args; ++i, at += strlen(at) + 1) {
    PyObject *longer =
        tvmffi_py_is_keyword(at) ? PyUnicode_FromFormat("%s_", at) : NULL;
    const int is_same = !PyUnicode_CompareWithASCIIString(name, at) ||
                        (longer && !PyUnicode_Compare(name, longer));
    Py_XDECREF(longer);
    if (is_same) return i;
  }
  PyErr_Clear();
  return -1;
}

/* Raises a TypeError for an argument by a keyword that names no parameter. */
TVMFFI_PY_COLD void tvmffi_py_refuse_keyword(const tvmffi_func *func,
                                             PyObject *name) {
  PyObject *list = tvmffi_py_list_parameters(func, 0);
  PyObject *comma = PyUnicode_FromString(", ");
  PyObject *all = list && comma ? PyUnicode_Join(comma, list) : NULL;
  if (all)
    PyErr_Format(PyExc_TypeError,
                 func->num_args
                     ? "%s() got an unexpected keyword argument `%U`; its "
                       "parameters are: %U"
                     : "%s() got an unexpected keyword argument `%U`; it has "
                       "no parameters",
                 func->name, name, all);
  Py_XDECREF(all);
  Py_XDECREF(comma);
  Py_XDECREF(list);
}

/* Fills the parameters before the last given one that a call by keywords left
   out with their defaults, as new references. Returns 0, or -1 with an
   exception. */
TVMFFI_PY_COLD int tvmffi_py_fill(const tvmffi_func *func, PyObject **all,
                                  Py_ssize_t given, Py_ssize_t n) {
  TVMFFIAny defaults[TVMFFI_I_MAX_PARAMS];
  Py_ssize_t i;
  if (func->defaults && func->defaults(defaults)) {
    tvmffi_py_raise(-1);
    return -1;
  }
  for (i = given; i < n; ++i) {
    if (all[i]) continue;
    if (i >= func->least) all[i] = tvmffi_py_default(defaults + i);
    if (all[i]) continue;
    if (!PyErr_Occurred())
      PyErr_Format(PyExc_TypeError, "%s() is missing argument `%s`", func->name,
                   tvmffi_py_parameter(func, (int32_t)i));
    return -1;
  }
  return 0;
}

/* Puts the keyword arguments to their parameters, as new references. Returns
   the number of arguments, or -1 with an exception. */
TVMFFI_PY_COLD Py_ssize_t tvmffi_py_place(const tvmffi_func *func,
                                          PyObject *const *in, Py_ssize_t given,
                                          PyObject *keywords, PyObject **all) {
  Py_ssize_t i, n = given, count = PyTuple_Size(keywords);
  for (i = 0; i < count; ++i) {
    PyObject *name = PyTuple_GetItem(keywords, i);
    const int32_t at = tvmffi_py_index_of(func, name);
    if (at < 0) {
      tvmffi_py_refuse_keyword(func, name);
      return -1;
    }
    if (at < given || all[at]) {
      PyErr_Format(PyExc_TypeError,
                   "%s() got multiple values for argument `%U`", func->name,
                   name);
      return -1;
    }
    Py_INCREF(in[given + i]);
    all[at] = in[given + i];
    if (at >= n) n = at + 1;
  }
  return tvmffi_py_fill(func, all, given, n) ? -1 : n;
}

static PyObject *tvmffi_py_call_export(PyObject *self, PyObject *const *in,
                                       Py_ssize_t given, PyObject *keywords)
    TVMFFI_PY_BORDER("export");

TVMFFI_PY_COLD PyObject *tvmffi_py_call_keywords(tvmffi_py_function *f,
                                                 PyObject *const *in,
                                                 Py_ssize_t given,
                                                 PyObject *keywords) {
  PyObject *all[TVMFFI_I_MAX_PARAMS] = {NULL}, *result = NULL;
  Py_ssize_t i, n;
  if (given > f->func->num_args)
    return tvmffi_py_call_export((PyObject *)f, in, given, NULL);
  n = tvmffi_py_place(f->func, in, given, keywords, all);
  for (i = 0; i < given; ++i) {
    Py_INCREF(in[i]);
    all[i] = in[i];
  }
  if (n >= 0) result = tvmffi_py_call_export((PyObject *)f, all, n, NULL);
  for (i = 0; i < TVMFFI_I_MAX_PARAMS; ++i) Py_XDECREF(all[i]);
  return result;
}

/* Prepares what the first call needs. Returns 0, or -1 with an exception. */
TVMFFI_PY_COLD int tvmffi_py_first_call(void) {
  if (tvmffi_py_need_runtime()) return -1;
  if (!tvmffi_py_bind_stock()) {
    /* As base.pxi of tvm_ffi: kernels can then ask for signals. */
    TVMFFIEnvRegisterCAPI("PyErr_CheckSignals",
                          (void *)(uintptr_t)PyErr_CheckSignals);
    TVMFFIEnvRegisterCAPI("PyGILState_Ensure",
                          (void *)(uintptr_t)PyGILState_Ensure);
    TVMFFIEnvRegisterCAPI("PyGILState_Release",
                          (void *)(uintptr_t)PyGILState_Release);
  }
  if (tvmffi_py.register_types) tvmffi_py.register_types();
  TVMFFI_I_STORE(&tvmffi_py.has_runtime, 1);
  return 0;
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_call_export(PyObject *self,
                                                       PyObject *const *in,
                                                       Py_ssize_t given,
                                                       PyObject *keywords) {
  tvmffi_py_function *f = (tvmffi_py_function *)self;
  tvmffi_py_target target;
  if (TVMFFI_I_UNLIKELY(!TVMFFI_I_LOAD(&tvmffi_py.has_runtime)) &&
      tvmffi_py_first_call())
    return NULL;
  if (TVMFFI_I_UNLIKELY(keywords && PyTuple_Size(keywords) > 0))
    return tvmffi_py_call_keywords(f, in, given, keywords);
  target.call = f->func->call;
  target.self = NULL;
  target.release_gil = !TVMFFI_PYTHON_KEEP_GIL && tvmffi_py.release_gil;
  return tvmffi_py_call(f, &target, in, given);
}

/* ---- tvmffi.fast ---- */

static PyObject *tvmffi_py_call_function(PyObject *self, PyObject *const *in,
                                         size_t given, PyObject *keywords)
    TVMFFI_PY_BORDER("function");
static TVMFFI_I_UNUSED PyObject *tvmffi_py_call_function(PyObject *self,
                                                         PyObject *const *in,
                                                         size_t given,
                                                         PyObject *keywords) {
  tvmffi_py_function *f = (tvmffi_py_function *)self;
  const Py_ssize_t n = PyVectorcall_NARGS(given);
  TVMFFIObject *handle = *TVMFFI_PY_FIRST(TVMFFIObject *, f->stock);
  tvmffi_py_target target;
  if (TVMFFI_I_UNLIKELY((keywords && PyTuple_Size(keywords) > 0) || !handle ||
                        handle->type_index != kTVMFFIFunction))
    return tvmffi_py_call_stock(f, in, n, keywords, -1);
  target.call = TVMFFIFunctionGetCellPtr(handle)->safe_call;
  target.self = handle;
  target.release_gil = *TVMFFI_PY_SECOND(int, f->stock);
  return tvmffi_py_call(f, &target, in, n);
}

/* ---- The type of both ---- */

static TVMFFI_I_UNUSED int tvmffi_py_traverse(PyObject *self, visitproc visit,
                                              void *arg) {
  Py_VISIT(((tvmffi_py_function *)self)->stock);
  Py_VISIT((PyObject *)Py_TYPE(self));
  return 0;
}

static TVMFFI_I_UNUSED void tvmffi_py_dealloc(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  tvmffi_py_function *f = (tvmffi_py_function *)self;
  PyObject_GC_UnTrack(self);
  Py_XDECREF(f->stock);
  Py_XDECREF(f->module);
  free((void *)(uintptr_t)f->method.ml_doc);
  PyObject_GC_Del(self);
  Py_DECREF((PyObject *)type);
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_repr(PyObject *self) {
  tvmffi_py_function *f = (tvmffi_py_function *)self;
  if (Py_TYPE(self) == tvmffi_py.method_type)
    return PyUnicode_FromFormat("<method %s>", f->func->name);
  return f->func ? PyUnicode_FromFormat("<exported function %s>", f->func->name)
                 : PyUnicode_FromFormat("tvmffi.fast(%R)", f->stock);
}

/* Returns the Function, so that tvm_ffi takes this object for it. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_get_stock(PyObject *self,
                                                     PyObject *none) {
  PyObject *stock = TVMFFI_I_LOAD(&((tvmffi_py_function *)self)->stock);
  (void)none;
  if (!stock) stock = Py_None;
  Py_INCREF(stock);
  return stock;
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_get_wrapped(PyObject *self,
                                                       void *closure) {
  (void)closure;
  return tvmffi_py_get_stock(self, NULL);
}

/* Parses the texts of the function's tensor("..."), as the first call does. A
   stub is not written if that fails. */
TVMFFI_PY_COLD PyObject *tvmffi_py_check_contract(PyObject *self,
                                                  PyObject *none) {
  const tvmffi_func *func = ((tvmffi_py_function *)self)->func;
  tvmffi_i_plan plans[TVMFFI_I_EXPECTED + 1];
  (void)none;
  if (!func || !func->contract) Py_RETURN_NONE;
  if (!TVMFFI_I_LOAD(&tvmffi_py.has_runtime) && tvmffi_py_first_call())
    return NULL;
  if (tvmffi_i_plan_all(func->contract, plans, func->name))
    return tvmffi_py_raise(-1);
  Py_RETURN_NONE;
}

/* Lets an exported function be pickled: builtin_function_or_method pickles as
   getattr(__self__, name), which finds the function in its module, so __self__
   pickles as the module. */
TVMFFI_PY_COLD PyObject *tvmffi_py_reduce(PyObject *self, PyObject *none) {
  PyObject *name = ((tvmffi_py_function *)self)->module, *library, *load;
  (void)none;
  if (!name) {
    PyErr_SetString(PyExc_TypeError, "cannot pickle 'tvmffi.Function' object");
    return NULL;
  }
  library = PyImport_ImportModule("importlib");
  if (!library) return NULL;
  load = PyObject_GetAttrString(library, "import_module");
  Py_DECREF(library);
  return load ? Py_BuildValue("(N(O))", load, name) : NULL;
}

static TVMFFI_I_UNUSED PyMemberDef tvmffi_py_members[] = {
    {"__vectorcalloffset__",
#if PY_VERSION_HEX >= 0x030c0000
     Py_T_PYSSIZET, offsetof(tvmffi_py_function, vectorcall), Py_READONLY,
#else
     T_PYSSIZET, offsetof(tvmffi_py_function, vectorcall), READONLY,
#endif
     NULL},
    {NULL, 0, 0, 0, NULL}};

/* Makes the type once per library. */
TVMFFI_PY_COLD int tvmffi_py_make_type(void) {
  static PyMethodDef methods[] = {
      {"__tvm_ffi_object__", tvmffi_py_get_stock, METH_NOARGS, NULL},
      {"__reduce__", tvmffi_py_reduce, METH_NOARGS, NULL},
      {"_check_contract", tvmffi_py_check_contract, METH_NOARGS, NULL},
      {NULL, NULL, 0, NULL}};
  static PyGetSetDef getters[] = {
      {"__wrapped__", tvmffi_py_get_wrapped, NULL,
       "The Function of the package tvm_ffi.", NULL},
      {NULL, NULL, NULL, NULL, NULL}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, (void *)(uintptr_t)tvmffi_py_dealloc},
      {Py_tp_traverse, (void *)(uintptr_t)tvmffi_py_traverse},
      {Py_tp_call, (void *)(uintptr_t)PyVectorcall_Call},
      {Py_tp_repr, (void *)(uintptr_t)tvmffi_py_repr},
      {Py_tp_members, tvmffi_py_members},
      {Py_tp_methods, methods},
      {Py_tp_getset, getters},
      {0, NULL}};
  static PyType_Spec spec = {"tvmffi.Function", sizeof(tvmffi_py_function), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                 Py_TPFLAGS_HAVE_VECTORCALL |
                                 Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             slots};
  static const struct {
    PyTypeObject *type;
    tvmffi_py_kind kind;
  } known[] = {
      {&PyLong_Type, TVMFFI_PY_INT},    {&PyFloat_Type, TVMFFI_PY_FLOAT},
      {&PyBool_Type, TVMFFI_PY_BOOL},   {&PyUnicode_Type, TVMFFI_PY_STR},
      {&PyBytes_Type, TVMFFI_PY_BYTES}, {&PyTuple_Type, TVMFFI_PY_TUPLE},
      {&PyList_Type, TVMFFI_PY_LIST},   {&PyDict_Type, TVMFFI_PY_DICT}};
  const char *release = getenv("TVM_FFI_RELEASE_GIL_BY_DEFAULT");
  size_t i;
  if (tvmffi_py.function_type) return 0;
  if (!tvmffi_py.types && !tvmffi_py_grow_types()) {
    PyErr_NoMemory();
    return -1;
  }
  tvmffi_py.function_type = (PyTypeObject *)PyType_FromSpec(&spec);
  if (!tvmffi_py.function_type) return -1;
  tvmffi_py.release_gil = !release || atoi(release);
  for (i = 0; i < sizeof(known) / sizeof(known[0]); ++i)
    tvmffi_py_add_type(known[i].type, known[i].kind, NULL);
  tvmffi_py_add_type(Py_TYPE(Py_None), TVMFFI_PY_NONE, NULL);
  return 0;
}

/* Without a GIL, threads that call one function would wait for each other to
   count its references. */
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030e0000
#define TVMFFI_PY_SHARE(function) \
  (void)PyUnstable_Object_EnableDeferredRefcount(function)
#else
#define TVMFFI_PY_SHARE(function) (void)(function)
#endif

TVMFFI_PY_COLD tvmffi_py_function *tvmffi_py_new_function(PyTypeObject *type) {
  const PyMethodDef none = {NULL, NULL, 0, NULL};
  tvmffi_py_function *f = PyObject_GC_New(tvmffi_py_function, type);
  if (!f) return NULL;
  f->vectorcall = NULL;
  f->func = NULL;
  f->stock = NULL;
  f->module = NULL;
  f->num_positional = 0;
  f->method = none;
  return f;
}

/* Returns a callable that calls a Function of tvm_ffi faster. */
TVMFFI_PY_COLD PyObject *tvmffi_py_fast(PyObject *self, PyObject *function) {
  tvmffi_py_function *f;
  (void)self;
  if (!TVMFFI_I_LOAD(&tvmffi_py.has_runtime) && tvmffi_py_first_call())
    return NULL;
  if (tvmffi_py_import_stock("tvmffi.fast")) return NULL;
  if (Py_TYPE(function) == tvmffi_py.function_type) {
    Py_INCREF(function);
    return function;
  }
  if (Py_TYPE(function) != tvmffi_py.package->function) {
    PyErr_Format(PyExc_TypeError,
                 "tvmffi.fast takes a tvm_ffi.Function, not %R",
                 (PyObject *)Py_TYPE(function));
    return NULL;
  }
  f = tvmffi_py_new_function(tvmffi_py.function_type);
  if (!f) return NULL;
  f->vectorcall = tvmffi_py_call_function;
  f->stock = function;
  Py_INCREF(function);
  PyObject_GC_Track(f);
  TVMFFI_PY_SHARE((PyObject *)f);
  return (PyObject *)f;
}

/* ---- The module ---- */

typedef enum {
  TVMFFI_PY_IS_export,
  TVMFFI_PY_IS_doc,
  TVMFFI_PY_IS_kw_only,
  TVMFFI_PY_IS_property
} tvmffi_py_entry_kind;

/* A line of the source about a function. */
typedef struct tvmffi_py_entry {
  const char *name;
  const tvmffi_func *func; /* NULL in a documentation */
  const char *text;        /* the documentation, or a parameter's name */
  tvmffi_py_entry_kind what;
} tvmffi_py_entry;

/* Each file's entries are in one section of the library. */
#define TVMFFI_PY_ENTRY(what, name, func, text)                 \
  static const tvmffi_py_entry tvmffi_py_##what##_##name = {    \
      #name, func, text, TVMFFI_PY_IS_##what};                  \
  static const tvmffi_py_entry *tvmffi_py_##what##_at_##name    \
      __attribute__((__section__("tvmffi_python"), __used__)) = \
          &tvmffi_py_##what##_##name;
#undef TVMFFI_I_ON_EXPORT
#if defined(TVMFFI_TORCH_H_)
#define TVMFFI_I_ON_EXPORT(name)                           \
  TVMFFI_PY_ENTRY(export, name, &tvmffi_func_##name, NULL) \
  TVMFFI_I_TORCH_EXPORT(name)
#else
#define TVMFFI_I_ON_EXPORT(name) \
  TVMFFI_PY_ENTRY(export, name, &tvmffi_func_##name, NULL)
#endif
#undef TVMFFI_I_ON_DOC
#define TVMFFI_I_ON_DOC(name, text) TVMFFI_PY_ENTRY(doc, name, NULL, text)

/* Stands after a function: Python calls pass `parameter` and the parameters
   after it by keyword. The name of a method is Type_method. The package tvm_ffi
   passes all parameters by position. */
#define TVMFFI_PYTHON_KW_ONLY(name, parameter) \
  TVMFFI_PY_ENTRY(kw_only, name, &tvmffi_func_##name, #parameter)

/* Stands after a method without parameters, whose name is Type_method: Python
   reads it as an attribute. With the package tvm_ffi it stays a method. */
#define TVMFFI_PYTHON_PROPERTY(name) \
  TVMFFI_PY_ENTRY(property, name, &tvmffi_func_##name, NULL)

/* Returns the line of a kind about a function, or NULL. */
TVMFFI_PY_COLD const tvmffi_py_entry *tvmffi_py_find_entry(
    const tvmffi_func *func, tvmffi_py_entry_kind what) {
  const tvmffi_py_entry *const *e;
  for (e = tvmffi_py.first_entry; e < tvmffi_py.end_entry; ++e)
    if ((*e)->func == func && (*e)->what == what) return *e;
  return NULL;
}

/* Returns the number of parameters that are not keyword-only, or -1 with an
   ImportError if TVMFFI_PYTHON_KW_ONLY names no parameter. */
TVMFFI_PY_COLD int32_t tvmffi_py_num_positional(const tvmffi_func *func) {
  const tvmffi_py_entry *e = tvmffi_py_find_entry(func, TVMFFI_PY_IS_kw_only);
  int32_t i = 0;
  while (i < func->num_args &&
         !(e && !strcmp(tvmffi_py_parameter(func, i), e->text)))
    ++i;
  if (i < func->num_args || !e) return i;
  PyErr_Format(PyExc_ImportError,
               "TVMFFI_PYTHON_KW_ONLY(%s, %s): %s has no parameter `%s`",
               e->name, e->text, e->name, e->text);
  return -1;
}

/* Appends a default, which it takes: "..." if it is NULL. */
TVMFFI_PY_COLD void tvmffi_py_say_default(tvmffi_py_text *t, const char *equals,
                                          PyObject *object) {
  PyObject *repr = object ? PyObject_Repr(object) : NULL;
  const char *text = repr ? PyUnicode_AsUTF8AndSize(repr, NULL) : NULL;
  PyErr_Clear();
  tvmffi_py_say(t, equals);
  tvmffi_py_say(t, text ? text : "...");
  Py_XDECREF(repr);
  Py_XDECREF(object);
}

/* Appends "name(a, *, b=1)", or with types "name(a: int, *, b: int = 1) ->
   int". Of a method, the first parameter is `self`, which CPython expects as
   $self. */
TVMFFI_PY_COLD void tvmffi_py_say_call(tvmffi_py_text *t,
                                       const tvmffi_func *func,
                                       const char *name, int is_method,
                                       int has_types) {
  TVMFFIAny defaults[TVMFFI_I_MAX_PARAMS];
  const int32_t num_positional = tvmffi_py_num_positional(func);
  int32_t i, least = func->least;
  if (func->defaults && func->defaults(defaults)) {
    tvmffi_error_clear();
    least = func->num_args;
  }
  tvmffi_py_say(t, name);
  tvmffi_py_say(t, is_method && !has_types ? "($" : "(");
  for (i = 0; i < func->num_args; ++i) {
    if (i) tvmffi_py_say(t, ", ");
    if (i == num_positional) tvmffi_py_say(t, "*, ");
    tvmffi_py_say_name(t, tvmffi_py_parameter(func, i));
    if (has_types && (i || !is_method)) {
      const char *parameter = tvmffi_py_parameter(func, i);
      tvmffi_py_say(t, ": ");
      tvmffi_py_say_type(t, func->types[i + 1],
                         tvmffi_i_contract_text(func->contract, parameter), 0);
    }
    if (i >= least)
      tvmffi_py_say_default(t, has_types ? " = " : "=",
                            tvmffi_py_default(defaults + i));
  }
  tvmffi_py_say(t, ")");
  if (!has_types) return;
  tvmffi_py_say(t, " -> ");
  tvmffi_py_say_type(t, func->types[0],
                     func->contract && func->contract->has_result
                         ? func->contract->expected[func->contract->count].text
                         : NULL,
                     0);
}

/* Ends a text: what CPython makes __text_signature__ of, then what it makes
   __doc__ of, whose first line is the signature with types, and the
   documentation. Returns it, to be freed, or NULL if there is no memory. */
TVMFFI_PY_COLD char *tvmffi_py_end_doc(tvmffi_py_text *t, const char *doc) {
  if (doc) {
    tvmffi_py_say(t, "\n\n");
    tvmffi_py_say(t, doc);
  }
  return t->data;
}

#define TVMFFI_PY_END_OF_SIGNATURE "\n--\n\n"
TVMFFI_PY_COLD char *tvmffi_py_doc(const tvmffi_func *func, const char *name,
                                   int is_method, const char *doc) {
  tvmffi_py_text t = {NULL, 0, 0};
  tvmffi_py_say_call(&t, func, name, is_method, 0);
  tvmffi_py_say(&t, TVMFFI_PY_END_OF_SIGNATURE);
  tvmffi_py_say_call(&t, func, name, is_method, 1);
  return tvmffi_py_end_doc(&t, doc);
}

/* Raises a TypeError if a call passes a keyword-only parameter by position. */
TVMFFI_PY_COLD int tvmffi_py_are_too_many(const tvmffi_py_function *f,
                                          Py_ssize_t given) {
  const int32_t n = f->num_positional;
  if (given <= n) return 0;
  PyErr_Format(PyExc_TypeError,
               "%s() takes %d argument%s by position, got %zd: write %s=",
               f->func->name, (int)n, n == 1 ? "" : "s", given,
               tvmffi_py_parameter(f->func, n));
  return 1;
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_call_kw_only(PyObject *self,
                                                        PyObject *const *in,
                                                        Py_ssize_t given,
                                                        PyObject *keywords) {
  return tvmffi_py_are_too_many((const tvmffi_py_function *)self, given)
             ? NULL
             : tvmffi_py_call_export(self, in, given, keywords);
}

/* Returns a new object of `type`, which has the function, its name in Python
   and its documentation. NULL with an exception. */
TVMFFI_PY_COLD tvmffi_py_function *tvmffi_py_describe(PyTypeObject *type,
                                                      const tvmffi_func *func,
                                                      const char *name,
                                                      const char *doc) {
  const int32_t num_positional = tvmffi_py_num_positional(func);
  tvmffi_py_function *f =
      num_positional < 0 ? NULL : tvmffi_py_new_function(type);
  if (!f) return NULL;
  f->func = func;
  f->num_positional = num_positional;
  f->method.ml_name = name;
  f->method.ml_meth = (PyCFunction)(uintptr_t)(num_positional < func->num_args
                                                   ? tvmffi_py_call_kw_only
                                                   : tvmffi_py_call_export);
  f->method.ml_flags = METH_FASTCALL | METH_KEYWORDS;
  f->method.ml_doc =
      tvmffi_py_doc(func, name, type == tvmffi_py.method_type, doc);
  if (f->method.ml_doc) return f;
  Py_DECREF((PyObject *)f);
  PyErr_NoMemory();
  return NULL;
}

/* Returns the builtin_function_or_method of an exported function, or NULL with
   an exception. */
TVMFFI_PY_COLD PyObject *tvmffi_py_new_export(PyObject *module_name,
                                              const tvmffi_func *func,
                                              const char *name,
                                              const char *doc) {
  tvmffi_py_function *f =
      tvmffi_py_describe(tvmffi_py.function_type, func, name, doc);
  PyObject *made =
      f ? PyCFunction_NewEx(&f->method, (PyObject *)f, module_name) : NULL;
  if (made) TVMFFI_PY_SHARE(made);
  Py_XDECREF((PyObject *)f);
  return made;
}

/* Returns the property that calls a method, which it takes, for an attribute.
   Returns the method unless `func` is marked as one. NULL with an exception. */
TVMFFI_PY_COLD PyObject *tvmffi_py_as_property(PyObject *method,
                                               const tvmffi_func *func) {
  const tvmffi_py_entry *e = tvmffi_py_find_entry(func, TVMFFI_PY_IS_property);
  PyObject *made = NULL;
  if (!e || !method) return method;
  if (Py_TYPE(method) != tvmffi_py.method_type || func->num_args != 1)
    PyErr_Format(PyExc_ImportError,
                 "TVMFFI_PYTHON_PROPERTY(%s): it is not a method without "
                 "parameters",
                 e->name);
  else
    made = PyObject_CallFunctionObjArgs((PyObject *)&PyProperty_Type, method,
                                        NULL);
  Py_DECREF(method);
  return made;
}

TVMFFI_PY_COLD int tvmffi_py_add_export(PyObject *module, PyObject *module_name,
                                        const tvmffi_func *func,
                                        const char *doc) {
  PyObject *made = tvmffi_py_as_property(
      tvmffi_py_new_export(module_name, func, func->name, doc), func);
  int code = -1;
  if (made && PyObject_HasAttrString(module, func->name)) {
    PyErr_Format(PyExc_ImportError,
                 "`%s` is a function and a class of the module", func->name);
  } else if (made) {
    tvmffi_py_function *f = (tvmffi_py_function *)PyCFunction_GetSelf(made);
    Py_INCREF(module_name);
    f->module = module_name;
    code = PyObject_SetAttrString(module, func->name, made);
  }
  Py_XDECREF(made);
  return code;
}

/* Adds the functions. A documentation without a function is an ImportError, so
   the build, whose stub step imports the module, fails. */
TVMFFI_PY_COLD int tvmffi_py_add_exports(PyObject *module,
                                         const tvmffi_py_entry *const *begin,
                                         const tvmffi_py_entry *const *end) {
  const tvmffi_py_entry *const *e, *const *other;
  PyObject *name = PyModule_GetNameObject(module);
  int code = name ? tvmffi_py_make_type() : -1;
  for (e = begin; e < end && !code; ++e) {
    const int is_export = (*e)->what == TVMFFI_PY_IS_export;
    if (!is_export && (*e)->what != TVMFFI_PY_IS_doc) continue;
    for (other = begin; other < end; ++other)
      if ((*other)->what ==
              (is_export ? TVMFFI_PY_IS_doc : TVMFFI_PY_IS_export) &&
          !strcmp((*other)->name, (*e)->name))
        break;
    if (is_export) {
      code = tvmffi_py_add_export(module, name, (*e)->func,
                                  other < end ? (*other)->text : NULL);
    } else if (other == end) {
      PyErr_Format(PyExc_ImportError,
                   "TVMFFI_DOC(%s, ...): there is no TVMFFI_EXPORT(%s, ...)",
                   (*e)->name, (*e)->name);
      code = -1;
    }
  }
  Py_XDECREF(name);
  return code;
}

/* ---- Classes: the types of the library ---- */

/* A type that TVMFFI_TYPE defines, as a class. Only records refer to
   tvmffi_py_make_classes, so the compiler drops that function from a file
   without types. */
typedef struct tvmffi_py_record {
  tvmffi_i_class *of;
  int (*make)(PyObject *module, struct tvmffi_py_record *const *begin,
              struct tvmffi_py_record *const *end);
  PyTypeObject *type; /* kept for the life of the process */
  PyObject *init;     /* a function: the type's own __ffi_init__; or NULL */
  PyObject *fallback; /* the class that the package made for the type, if any */
  int32_t index;      /* the type index, or 0 before the first result */
} tvmffi_py_record;

TVMFFI_PY_COLD int tvmffi_py_make_classes(PyObject *module,
                                          tvmffi_py_record *const *begin,
                                          tvmffi_py_record *const *end);

/* The records are in a section of the library. */
#define TVMFFI_PY_EACH_RECORD(c) \
  for (c = tvmffi_py.first_record; c < tvmffi_py.end_record; ++c)

#undef TVMFFI_I_ON_TYPE
#define TVMFFI_I_ON_TYPE(T)                                              \
  static tvmffi_py_record tvmffi_py_record_##T = {                       \
      &tvmffi_i_class_##T, tvmffi_py_make_classes, NULL, NULL, NULL, 0}; \
  static tvmffi_py_record *tvmffi_py_record_at_##T                       \
      __attribute__((__section__("tvmffi_python_types"), __used__)) =    \
          &tvmffi_py_record_##T;

/* Returns a method of the list that its file does not define, or NULL. */
TVMFFI_PY_COLD const tvmffi_i_member *tvmffi_py_missing_method(
    const tvmffi_i_class *c) {
  const tvmffi_i_member *m;
  for (m = c->members; m->what; ++m)
    if (m->method.variable && !tvmffi_i_body_of(m).func) return m;
  return NULL;
}

/* Returns the record of a type key, or NULL. If several files have the type,
   returns the record of the file that defines its methods. */
TVMFFI_PY_COLD tvmffi_py_record *tvmffi_py_find_record(const char *key) {
  tvmffi_py_record *const *c, *found = NULL;
  TVMFFI_PY_EACH_RECORD(c) {
    if (strcmp((*c)->of->key, key)) continue;
    if (!tvmffi_py_missing_method((*c)->of)) return *c;
    if (!found) found = *c;
  }
  return found;
}

/* Registers the types that several files have, because a file without the
   methods cannot. An error comes again where the type is used. */
TVMFFI_PY_COLD void tvmffi_py_register_types(void) {
  tvmffi_py_record *const *c;
  TVMFFI_PY_EACH_RECORD(c) {
    tvmffi_py_record *found = tvmffi_py_find_record((*c)->of->key);
    if (found != *c && tvmffi_i_class_ready(found->of)) tvmffi_error_clear();
  }
}

/* Returns the record for objects with a type index: the record of the type or
   of its nearest ancestor that has one. NULL if none has. */
TVMFFI_PY_COLD tvmffi_py_record *tvmffi_py_search_record(int32_t index) {
  const TVMFFITypeInfo *info = TVMFFIGetTypeInfo(index);
  int32_t depth = info ? info->type_depth : 0;
  for (; depth > 0; --depth) {
    tvmffi_py_record *c =
        tvmffi_py_find_record(tvmffi_i_ancestor(info, depth)->type_key.data);
    if (c && depth == info->type_depth) TVMFFI_I_STORE(&c->index, index);
    if (c) return c;
  }
  return NULL;
}

static TVMFFI_I_UNUSED tvmffi_py_record *tvmffi_py_record_at(int32_t index) {
  tvmffi_py_record *const *c;
  if (index < kTVMFFIDynObjectBegin) return NULL;
  TVMFFI_PY_EACH_RECORD(c) {
    if (TVMFFI_I_LOAD(&(*c)->index) == index) return *c;
  }
  return tvmffi_py_search_record(index);
}

/* Returns the record of a class or of its nearest base that has one. */
static TVMFFI_I_UNUSED tvmffi_py_record *tvmffi_py_record_for(
    PyTypeObject *type) {
  tvmffi_py_record *const *c;
  for (; type; type = (PyTypeObject *)PyType_GetSlot(type, Py_tp_base)) {
    TVMFFI_PY_EACH_RECORD(c) {
      if ((*c)->type == type) return *c;
    }
  }
  return NULL;
}

/* Same as tvmffi_py_bind_stock, but first looks for tvm_ffi in sys.modules,
   because each result calls it. */
static TVMFFI_I_UNUSED int tvmffi_py_has_stock(void) {
  static PyObject *name;
  PyObject *made;
  if (TVMFFI_I_LOAD(&tvmffi_py.package)) return 1;
  if (!TVMFFI_I_LOAD(&name)) {
    made = PyUnicode_InternFromString("tvm_ffi");
    if (!made) PyErr_Clear();
    if (!TVMFFI_PY_PUBLISH(&name, made)) Py_XDECREF(made);
  }
  return name && PyDict_GetItem(PyImport_GetModuleDict(), name) &&
         tvmffi_py_bind_stock();
}

/* Returns 1 if somebody registered a class with the package for a type, which
   results then have, else 0. A class that the package made because nobody did
   does not count. */
static TVMFFI_I_UNUSED int tvmffi_py_is_registered(tvmffi_py_record *c,
                                                   int32_t index) {
  PyObject *type, *doc;
  const char *text;
  int is_fallback;
  if (!tvmffi_py_has_stock()) return 0;
  type = tvmffi_py_class_of(index);
  if (!type) return 0;
  if (type == TVMFFI_I_LOAD(&c->fallback)) {
    Py_DECREF(type);
    return 0;
  }
  doc = PyObject_GetAttrString(type, "__doc__");
  text = doc && PyUnicode_Check(doc) ? PyUnicode_AsUTF8AndSize(doc, NULL) : "";
  is_fallback = text && !strncmp(text, "Auto-generated fallback class", 29);
  PyErr_Clear();
  Py_XDECREF(doc);
  if (!is_fallback || !TVMFFI_PY_PUBLISH(&c->fallback, type)) Py_DECREF(type);
  return !is_fallback;
}

/* Makes an object of a class for a handle, which it takes. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_new_object(PyTypeObject *type,
                                                      TVMFFIObject *o) {
  PyObject *self = PyType_GenericAlloc(type, 0);
  if (self)
    *TVMFFI_PY_FIRST(TVMFFIObject *, self) = o;
  else
    tvmffi_release(o);
  return self;
}

/* Converts an owned object of a type of this library. Returns NULL for another
   one, or with an exception. */
static TVMFFI_I_UNUSED PyObject *tvmffi_py_to_class(TVMFFIAny *value) {
  tvmffi_py_record *c = tvmffi_py_record_at(value->type_index);
  if (!c || tvmffi_py_is_registered(c, value->type_index)) return NULL;
  return tvmffi_py_new_object(c->type, value->v_obj);
}

/* ---- Objects: what all classes have ---- */

/* Raises the library's error as an exception of its kind. Returns NULL. */
TVMFFI_PY_COLD PyObject *tvmffi_py_raise_kind(int code) {
  PyObject *error, *helper, *made = NULL;
  tvmffi_py_raise(code);
  if (!PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
  error = tvmffi_py_take_error();
  helper = tvmffi_py_helper("with_kind");
  if (helper) made = PyObject_CallFunctionObjArgs(helper, error, NULL);
  PyErr_Clear();
  if (made) Py_DECREF(error);
  tvmffi_py_give_error(made ? made : error);
  return NULL;
}

/* Lets a function of the code above change or replace the current exception.
   `more` has its arguments after the exception, and is taken. If it is NULL,
   the exception stays as it is. */
TVMFFI_PY_COLD void tvmffi_py_reword(const char *name, PyObject *more) {
  PyObject *error, *helper, *first = NULL, *all = NULL, *done = NULL;
  if (!PyErr_Occurred() || !PyErr_ExceptionMatches(PyExc_Exception)) {
    Py_XDECREF(more);
    return;
  }
  error = tvmffi_py_take_error();
  helper = tvmffi_py_helper(name);
  first = PyTuple_Pack(1, error);
  if (helper && first && more) all = PySequence_Concat(first, more);
  if (all) done = PyObject_CallObject(helper, all);
  PyErr_Clear();
  Py_XDECREF(all);
  Py_XDECREF(first);
  Py_XDECREF(more);
  if (done) Py_DECREF(error);
  tvmffi_py_give_error(done ? done : error);
}

/* Calls a global function. Returns 0, or -1 with an exception. */
TVMFFI_PY_COLD int tvmffi_py_call_global(const char *name, TVMFFIObject **kept,
                                         TVMFFIAny *args, int32_t n,
                                         TVMFFIAny *result) {
  TVMFFIObject *function = tvmffi_py_constructor(name, kept);
  int code;
  *result = tvmffi_none();
  if (!function) {
    tvmffi_error_clear();
    PyErr_Format(PyExc_RuntimeError, "the runtime has no function %s", name);
    return -1;
  }
  code = TVMFFIFunctionCall(function, args, n, result);
  if (code) tvmffi_py_raise_kind(code);
  return code ? -1 : 0;
}

static TVMFFI_I_UNUSED void tvmffi_py_end_object(PyObject *self) {
  PyTypeObject *type = Py_TYPE(self);
  freefunc end = (freefunc)(uintptr_t)PyType_GetSlot(type, Py_tp_free);
  /* A destructor may call Python, which must not see the exception. */
  PyObject *error = PyErr_Occurred() ? tvmffi_py_take_error() : NULL;
  tvmffi_release(*TVMFFI_PY_FIRST(TVMFFIObject *, self));
  if (error) tvmffi_py_give_error(error);
  end(self);
  Py_DECREF((PyObject *)type);
}

/* Returns the handle of an object of a class, also of one of the package, or
   NULL. */
static TVMFFI_I_UNUSED TVMFFIObject *tvmffi_py_handle_of(PyObject *x) {
  if (!PyObject_TypeCheck(x, tvmffi_py.object_type) &&
      (!TVMFFI_I_LOAD(&tvmffi_py.package) ||
       !PyObject_TypeCheck(x, tvmffi_py.package->object)))
    return NULL;
  return *TVMFFI_PY_FIRST(TVMFFIObject *, x);
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_same_as(PyObject *self,
                                                   PyObject *other) {
  TVMFFIObject *o = tvmffi_py_handle_of(other);
  return PyBool_FromLong(o && o == *TVMFFI_PY_FIRST(TVMFFIObject *, self));
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_compare(PyObject *self,
                                                   PyObject *other, int op) {
  TVMFFIObject *o = tvmffi_py_handle_of(other);
  if (!o || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  return PyBool_FromLong((o == *TVMFFI_PY_FIRST(TVMFFIObject *, self)) ==
                         (op == Py_EQ));
}

static TVMFFI_I_UNUSED Py_hash_t tvmffi_py_hash(PyObject *self) {
  const Py_hash_t hash =
      (Py_hash_t)(uintptr_t)*TVMFFI_PY_FIRST(TVMFFIObject *, self);
  return hash == -1 ? -2 : hash;
}

/* If ffi.ReprPrint fails, returns a plain text, because tracebacks and
   debuggers call repr; the package does so, too. */
TVMFFI_PY_COLD PyObject *tvmffi_py_object_repr(PyObject *self) {
  static TVMFFIObject *print;
  TVMFFIObject *o = *TVMFFI_PY_FIRST(TVMFFIObject *, self);
  TVMFFIAny arg = tvmffi_obj(o), text;
  PyObject *made = NULL;
  if (o && !tvmffi_py_call_global("ffi.ReprPrint", &print, &arg, 1, &text))
    made = tvmffi_py_result(&text, 1, NULL);
  if (made) return made;
  if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) return NULL;
  PyErr_Clear();
  return PyUnicode_FromFormat("<an object of %R at %p>",
                              (PyObject *)Py_TYPE(self), (void *)o);
}

/* Wraps *value, a copy of the object of `self`, in the class of `self`. Takes
   the value. Returns NULL with an exception if `value` is not an object of its
   type. */
TVMFFI_PY_COLD PyObject *tvmffi_py_new_copy(PyObject *self, TVMFFIAny *value) {
  TVMFFIObject *o = *TVMFFI_PY_FIRST(TVMFFIObject *, self);
  if (value->type_index == o->type_index && value->v_obj)
    return tvmffi_py_new_object(Py_TYPE(self), value->v_obj);
  tvmffi_any_release(value);
  PyErr_SetString(PyExc_TypeError, "the copy has another type");
  return NULL;
}

TVMFFI_PY_COLD PyObject *tvmffi_py_copy(PyObject *self, PyObject *none) {
  TVMFFIObject *o = tvmffi_py_handle(self);
  const TVMFFIAny *copy;
  TVMFFIAny arg, made = TVMFFI_I_ZERO;
  int code;
  (void)none;
  if (!o) return NULL;
  copy = tvmffi_i_class_attr(o->type_index, "__ffi_shallow_copy__");
  if (!copy) {
    PyErr_Format(PyExc_TypeError, "objects of type %s cannot be copied",
                 TVMFFIGetTypeInfo(o->type_index)->type_key.data);
    return NULL;
  }
  arg = tvmffi_obj(o);
  code = TVMFFIFunctionCall(copy->v_obj, &arg, 1, &made);
  return code ? tvmffi_py_raise_kind(code) : tvmffi_py_new_copy(self, &made);
}

TVMFFI_PY_COLD PyObject *tvmffi_py_deep_copy(PyObject *self, PyObject *memo) {
  static TVMFFIObject *copy;
  TVMFFIObject *o = tvmffi_py_handle(self);
  TVMFFIAny arg, made;
  (void)memo;
  if (!o) return NULL;
  arg = tvmffi_obj(o);
  return tvmffi_py_call_global("ffi.DeepCopy", &copy, &arg, 1, &made)
             ? NULL
             : tvmffi_py_new_copy(self, &made);
}

/* An object is pickled as its JSON graph, as the package pickles it. */
TVMFFI_PY_COLD PyObject *tvmffi_py_get_state(PyObject *self, PyObject *none) {
  static TVMFFIObject *save;
  TVMFFIObject *o = tvmffi_py_handle(self);
  TVMFFIAny args[2], text;
  (void)none;
  if (!o) return NULL;
  args[0] = tvmffi_obj(o);
  args[1] = tvmffi_none();
  return tvmffi_py_call_global("ffi.ToJSONGraphString", &save, args, 2, &text)
             ? NULL
             : tvmffi_py_result(&text, 1, NULL);
}

/* Gives an object its handle, once. Takes the value. Returns 0, or -1 with an
   exception. */
TVMFFI_PY_COLD int tvmffi_py_set_handle(PyObject *self, TVMFFIAny *value) {
  const tvmffi_py_record *c = tvmffi_py_record_for(Py_TYPE(self));
  const char *wrong = "the object has been made already";
  if (value->type_index < kTVMFFIStaticObjectBegin || !value->v_obj || !c ||
      !tvmffi_is_instance(value->type_index, c->of->index))
    wrong = "the constructor returned no object of the class";
  else if (TVMFFI_PY_PUBLISH(TVMFFI_PY_FIRST(TVMFFIObject *, self),
                             value->v_obj))
    return 0;
  tvmffi_any_release(value);
  PyErr_Format(PyExc_TypeError, "%R: %s", (PyObject *)Py_TYPE(self), wrong);
  return -1;
}

/* Prepares the type of a class for its first object from Python. */
TVMFFI_PY_COLD int tvmffi_py_need_type(const tvmffi_py_record *c) {
  int code;
  if (!TVMFFI_I_LOAD(&tvmffi_py.has_runtime) && tvmffi_py_first_call())
    return -1;
  code = tvmffi_i_class_ready(c->of);
  if (code) tvmffi_py_raise_kind(code);
  return code ? -1 : 0;
}

TVMFFI_PY_COLD PyObject *tvmffi_py_set_state(PyObject *self, PyObject *state) {
  static TVMFFIObject *load;
  const tvmffi_py_record *c = tvmffi_py_record_for(Py_TYPE(self));
  TVMFFIByteArray text;
  TVMFFIAny arg, made;
  Py_ssize_t size;
  int code;
  text.data =
      PyUnicode_Check(state) ? PyUnicode_AsUTF8AndSize(state, &size) : NULL;
  if (!text.data || !c) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_TypeError, "the state is no text of __getstate__");
    return NULL;
  }
  if (tvmffi_py_need_type(c)) return NULL;
  text.size = (size_t)size;
  if (TVMFFIStringFromByteArray(&text, &arg)) return tvmffi_py_raise_kind(-1);
  code =
      tvmffi_py_call_global("ffi.FromJSONGraphString", &load, &arg, 1, &made);
  tvmffi_any_release(&arg);
  if (code || tvmffi_py_set_handle(self, &made)) return NULL;
  Py_RETURN_NONE;
}

/* Returns the package's object for the handle, so that the package takes this
   object for it. */
TVMFFI_PY_COLD PyObject *tvmffi_py_stock_object(PyObject *self,
                                                PyObject *none) {
  TVMFFIObject *o = tvmffi_py_handle(self);
  TVMFFIAny value;
  (void)none;
  if (!o || tvmffi_py_import_stock("an object of tvm_ffi")) return NULL;
  tvmffi_retain(o);
  value = tvmffi_obj(o);
  return tvmffi_py_wrap_any(&value);
}

/* ---- Construction ---- */

TVMFFI_I_INLINE int tvmffi_py_is_field(const tvmffi_i_member *m) {
  return m->what == TVMFFI_I_IS_field || m->what == TVMFFI_I_IS_readonly;
}

TVMFFI_PY_COLD void tvmffi_py_say_field_type(tvmffi_py_text *t,
                                             const tvmffi_i_member *m,
                                             int has_bits) {
  tvmffi_py_say_type(t, m->word, NULL, has_bits);
  if (tvmffi_i_nullable(m)) tvmffi_py_say(t, " | None");
}

/* Returns the type of a field for the code above, or NULL. */
TVMFFI_PY_COLD PyObject *tvmffi_py_typed(const tvmffi_i_member *m) {
  tvmffi_py_text t = {NULL, 0, 0};
  PyObject *made;
  tvmffi_py_say_field_type(&t, m, 1);
  made = t.data ? PyUnicode_FromString(t.data) : NULL;
  free(t.data);
  return made;
}

/* Returns the next field of a type's own list from *m on that is a parameter of
   the constructor and matches `is_keyword` and `has_default`, and moves *m to
   the member after it; NULL if there is none. *only is 0 at the begin of the
   list. */
TVMFFI_PY_COLD const tvmffi_i_member *tvmffi_py_next_parameter(
    const tvmffi_i_member **m, int *only, int is_keyword, int has_default) {
  for (; (*m)->what; ++*m) {
    const tvmffi_i_member *factory;
    TVMFFIByteArray doc;
    int64_t flags = 0;
    if ((*m)->what == TVMFFI_I_IS_kw_only) *only = 1;
    if (!tvmffi_py_is_field(*m)) continue;
    factory = tvmffi_i_member_modifiers(*m, &doc, &flags);
    if (!(flags & kTVMFFIFieldFlagBitMaskInitOff) && *only == is_keyword &&
        ((*m)->value || factory) == has_default)
      return (*m)++;
  }
  return NULL;
}

/* Returns the field for the constructor's argument *n of those that match
   `has_default`, or NULL after their number was subtracted from *n. */
TVMFFI_PY_COLD const tvmffi_i_member *tvmffi_py_field_at(
    const tvmffi_i_class *c, int has_default, Py_ssize_t *n) {
  const tvmffi_i_member *m = c->members, *found = NULL;
  int only = 0;
  if (!c->parent) return NULL;
  found = tvmffi_py_field_at(c->parent, has_default, n);
  while (!found && m &&
         (found = tvmffi_py_next_parameter(&m, &only, 0, has_default)))
    if ((*n)--) found = NULL;
  return found;
}

/* Returns the field for an argument of the constructor by position. NULL if
   there is none, or if another library defines an ancestor. */
TVMFFI_PY_COLD const tvmffi_i_member *tvmffi_py_field_by_position(
    const tvmffi_i_class *c, Py_ssize_t n) {
  const tvmffi_i_class *root = c;
  const tvmffi_i_member *found;
  while (root->parent) root = root->parent;
  if (root->index != kTVMFFIObject) return NULL;
  found = tvmffi_py_field_at(c, 0, &n);
  return found ? found : tvmffi_py_field_at(c, 1, &n);
}

/* Returns the field of a type or its ancestors with a name, or NULL. */
TVMFFI_PY_COLD const tvmffi_i_member *tvmffi_py_field_by_name(
    const tvmffi_i_class *c, TVMFFIByteArray name) {
  const tvmffi_i_member *m;
  for (; c; c = c->parent)
    for (m = c->members; m && m->what; ++m)
      if (tvmffi_py_is_field(m) && strlen(m->name) == name.size &&
          !memcmp(m->name, name.data, name.size))
        return m;
  return NULL;
}

/* Stores an owned value of an object for a field of a type; `type` is NULL if
   it is unknown. Returns 0, or -1 with the library's error. */
TVMFFI_PY_COLD int tvmffi_py_own(const tvmffi_i_word *type, PyObject *object,
                                 TVMFFIAny *out) {
  PyObject *made = type ? tvmffi_py_adapt(type, object) : NULL;
  *out = tvmffi_none();
  if (!made && PyErr_Occurred()) return tvmffi_py_set_error();
  if (!made) {
    made = object;
    Py_INCREF(made);
  }
  return tvmffi_py_put_answer(made, "a value", out);
}

/* Stores the name of a keyword argument: `from_` becomes `from`, the field's
   name in C. */
TVMFFI_PY_COLD int tvmffi_py_own_name(PyObject *name, TVMFFIAny *out) {
  char word[16];
  Py_ssize_t size;
  TVMFFIByteArray text;
  text.data = PyUnicode_AsUTF8AndSize(name, &size);
  if (!text.data) return tvmffi_py_set_error();
  if (size > 1 && size < (Py_ssize_t)sizeof(word) &&
      text.data[size - 1] == '_') {
    memcpy(word, text.data, (size_t)size);
    word[size - 1] = 0;
    if (tvmffi_py_is_keyword(word)) --size;
  }
  text.size = (size_t)size;
  return TVMFFIStringFromByteArray(&text, out);
}

/* Converts the arguments of a constructor to owned values: those by position,
   then, if there are keywords, the object that ffi.GetKwargsObject returns,
   followed by each name and value. Returns the number n of values. On failure,
   returns -1 - n, where n values are to be released, with the library's error
   or an exception. */
TVMFFI_PY_COLD int32_t tvmffi_py_own_all(const tvmffi_i_class *c,
                                         PyObject *args, PyObject *keywords,
                                         TVMFFIAny *values) {
  static TVMFFIObject *marker;
  const tvmffi_i_member *m;
  PyObject *name, *object;
  Py_ssize_t i, at = 0, n = PyTuple_Size(args);
  int32_t count = 0;
  for (i = 0; i < n; ++i, ++count) {
    object = PyTuple_GetItem(args, i);
    m = tvmffi_py_may_adapt(object) ? tvmffi_py_field_by_position(c, i) : NULL;
    if (tvmffi_py_own(m ? m->word : NULL, object, values + count))
      return -1 - count;
  }
  if (!keywords || !PyDict_Size(keywords)) return count;
  if (tvmffi_py_call_global("ffi.GetKwargsObject", &marker, NULL, 0,
                            values + count))
    return -1 - count;
  ++count;
  while (PyDict_Next(keywords, &at, &name, &object)) {
    if (tvmffi_py_own_name(name, values + count)) return -1 - count;
    m = tvmffi_py_may_adapt(object)
            ? tvmffi_py_field_by_name(c, tvmffi_any_str(values + count))
            : NULL;
    ++count;
    if (tvmffi_py_own(m ? m->word : NULL, object, values + count))
      return -1 - count;
    ++count;
  }
  return count;
}

/* Adds the type and the value of an argument of a constructor to a dict, by the
   name of its field. */
TVMFFI_PY_COLD void tvmffi_py_add_given(PyObject *given,
                                        const tvmffi_i_member *m,
                                        PyObject *value) {
  PyObject *type = m ? tvmffi_py_typed(m) : NULL;
  PyObject *pair = type ? PyTuple_Pack(2, type, value) : NULL;
  if (pair) PyDict_SetItemString(given, m->name, pair);
  Py_XDECREF(pair);
  Py_XDECREF(type);
}

/* Makes the exception of a constructor name the argument. */
TVMFFI_PY_COLD void tvmffi_py_explain_init(const tvmffi_i_class *c,
                                           PyObject *args, PyObject *keywords) {
  PyObject *error = tvmffi_py_take_error(), *more = NULL;
  PyObject *given = PyDict_New(), *name, *value;
  Py_ssize_t i, at = 0, n = PyTuple_Size(args);
  for (i = 0; given && i < n; ++i)
    tvmffi_py_add_given(given, tvmffi_py_field_by_position(c, i),
                        PyTuple_GetItem(args, i));
  while (given && keywords && PyDict_Next(keywords, &at, &name, &value)) {
    TVMFFIAny text;
    if (tvmffi_py_own_name(name, &text)) {
      tvmffi_error_clear();
      continue;
    }
    tvmffi_py_add_given(
        given, tvmffi_py_field_by_name(c, tvmffi_any_str(&text)), value);
    tvmffi_any_release(&text);
  }
  if (given) more = Py_BuildValue("(sN)", c->key, given);
  PyErr_Clear();
  tvmffi_py_give_error(error);
  tvmffi_py_reword("explain_init", more);
}

/* Makes an object by the constructor that the runtime made of the fields. */
TVMFFI_PY_COLD int tvmffi_py_make_by_fields(const tvmffi_py_record *c,
                                            PyObject *args, PyObject *keywords,
                                            TVMFFIAny *made) {
  const TVMFFIAny *init = tvmffi_i_class_attr(c->of->index, "__ffi_init__");
  TVMFFIAny few[2 * TVMFFI_PY_ARGS + 1], *values = few;
  const Py_ssize_t n =
      PyTuple_Size(args) + 1 + (keywords ? 2 * PyDict_Size(keywords) : 0);
  int32_t count, i;
  int code = -1;
  if (!init) {
    PyErr_Format(PyExc_TypeError, "%s has no constructor", c->of->key);
    return -1;
  }
  if (n > 2 * TVMFFI_PY_ARGS + 1)
    values =
        n < INT32_MAX ? (TVMFFIAny *)malloc((size_t)n * sizeof(*values)) : NULL;
  if (!values) {
    PyErr_NoMemory();
    return -1;
  }
  count = tvmffi_py_own_all(c->of, args, keywords, values);
  if (count >= 0)
    code = TVMFFIFunctionCall(init->v_obj, values, count, made);
  else
    code = tvmffi_error_context(-1, "%s", c->of->key);
  /* Destructors may use the library, so the error is taken before them. */
  if (code && !PyErr_Occurred()) tvmffi_py_raise_kind(code);
  if (code && PyErr_ExceptionMatches(PyExc_Exception))
    tvmffi_py_explain_init(c->of, args, keywords);
  for (i = count < 0 ? -1 - count : count; i-- > 0;)
    tvmffi_any_release(values + i);
  if (values != few) free(values);
  return code ? -1 : 0;
}

/* Makes an object by the type's own constructor, a static method. */
TVMFFI_PY_COLD int tvmffi_py_make_by_function(const tvmffi_py_record *c,
                                              PyObject *args,
                                              PyObject *keywords,
                                              TVMFFIAny *made) {
  PyObject *result = PyObject_Call(c->init, args, keywords);
  TVMFFIObject *o = result ? tvmffi_py_handle_of(result) : NULL;
  if (o) {
    tvmffi_retain(o);
    *made = tvmffi_obj(o);
  }
  Py_XDECREF(result);
  return result ? 0 : -1;
}

static TVMFFI_I_UNUSED int tvmffi_py_init_object(PyObject *self, PyObject *args,
                                                 PyObject *keywords) {
  const tvmffi_py_record *c = tvmffi_py_record_for(Py_TYPE(self));
  TVMFFIAny made = TVMFFI_I_ZERO;
  if (!c) {
    PyErr_Format(PyExc_TypeError, "%R has no constructor",
                 (PyObject *)Py_TYPE(self));
    return -1;
  }
  if (tvmffi_py_need_type(c) ||
      (c->init ? tvmffi_py_make_by_function(c, args, keywords, &made)
               : tvmffi_py_make_by_fields(c, args, keywords, &made)))
    return -1;
  return tvmffi_py_set_handle(self, &made);
}

/* ---- Fields ---- */

/* A field of a class. */
typedef struct {
  tvmffi_i_class *of;
  const tvmffi_i_member *member;
} tvmffi_py_field;

/* Returns the address of a field in the object of `self`, or NULL with an
   exception. Python may assign another class to an object, or derive a class
   from two, so the object may be of a type without the field. */
static TVMFFI_I_UNUSED void *tvmffi_py_field_of(PyObject *self,
                                                const tvmffi_py_field *f) {
  TVMFFIObject *o = tvmffi_py_handle(self);
  TVMFFIAny any;
  int code;
  if (!o) return NULL;
  any = tvmffi_obj(o);
  code = tvmffi_i_instance(f->of, &any);
  if (TVMFFI_I_LIKELY(!code)) return tvmffi_i_field_at(o, f->member->offset);
  if (code < 0)
    tvmffi_py_raise_kind(code);
  else
    PyErr_Format(PyExc_TypeError, "`%s` is a field of %s, got %s",
                 f->member->name, f->of->key,
                 TVMFFIGetTypeInfo(o->type_index)->type_key.data);
  return NULL;
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_get_field(PyObject *self,
                                                     void *field) {
  const tvmffi_py_field *f = (const tvmffi_py_field *)field;
  void *at = tvmffi_py_field_of(self, f);
  TVMFFIAny value = TVMFFI_I_ZERO;
  int code;
  if (!at) return NULL;
  code = f->member->get(at, &value);
  return code ? tvmffi_py_raise_kind(code) : tvmffi_py_result(&value, 1, NULL);
}

static TVMFFI_I_UNUSED int tvmffi_py_set_field(PyObject *self, PyObject *object,
                                               void *field) {
  const tvmffi_py_field *f = (const tvmffi_py_field *)field;
  void *at = tvmffi_py_field_of(self, f);
  TVMFFIAny value = TVMFFI_I_ZERO;
  int code;
  if (!at) return -1;
  if (!object) {
    PyErr_Format(PyExc_AttributeError, "the field `%s` cannot be deleted",
                 f->member->name);
    return -1;
  }
  code = tvmffi_py_own(f->member->word, object, &value);
  if (!code) code = f->member->set(at, &value);
  if (code) {
    TVMFFIObject *o = *TVMFFI_PY_FIRST(TVMFFIObject *, self);
    const char *key = TVMFFIGetTypeInfo(o->type_index)->type_key.data;
    PyObject *type = tvmffi_py_typed(f->member);
    PyObject *name = PyUnicode_FromFormat("%s.%s", key, f->member->name);
    PyObject *more = type && name ? PyTuple_Pack(3, name, type, object) : NULL;
    PyErr_Clear();
    Py_XDECREF(name);
    Py_XDECREF(type);
    code = tvmffi_error_context(code, "%s.%s", key, f->member->name);
    tvmffi_py_raise_kind(code);
    tvmffi_py_reword("explain_field", more);
  }
  tvmffi_any_release(&value);
  return code ? -1 : 0;
}

/* ---- The documentation of classes ---- */

TVMFFI_I_INLINE int tvmffi_py_is_method(const tvmffi_i_member *m) {
  return m->what == TVMFFI_I_IS_method;
}

/* Returns "name: type", and the documentation. To be freed. */
TVMFFI_PY_COLD char *tvmffi_py_field_doc(const tvmffi_i_member *m) {
  tvmffi_py_text t = {NULL, 0, 0};
  TVMFFIByteArray doc = {NULL, 0};
  int64_t flags = 0;
  (void)tvmffi_i_member_modifiers(m, &doc, &flags);
  tvmffi_py_say_name(&t, m->name);
  tvmffi_py_say(&t, ": ");
  tvmffi_py_say_field_type(&t, m, 0);
  if (m->what == TVMFFI_I_IS_readonly) tvmffi_py_say(&t, "  # read-only");
  return tvmffi_py_end_doc(&t, doc.data);
}

/* Appends a field's default. That of a field of type any is shown as "...",
   because its expression may need a runtime, and an import must not load one.
   The default of bytes is a C string. */
TVMFFI_PY_COLD void tvmffi_py_say_value(tvmffi_py_text *t, const char *equals,
                                        const tvmffi_i_member *m) {
  PyObject *object = NULL;
  TVMFFIAny value;
  if (m->value && m->word->kind != TVMFFI_I_ANY && !m->value(&value))
    object = m->storage == TVMFFI_I_STORED_BYTES &&
                     value.type_index == kTVMFFIRawStr
                 ? PyBytes_FromString(value.v_c_str)
                 : tvmffi_py_default(&value);
  tvmffi_py_say_default(t, equals, object);
}

/* Appends those fields of a type and its ancestors that are parameters of the
   constructor and match `is_keyword` and `has_default`. Returns 0 if the fields
   of an ancestor are unknown, because another library defines it. */
TVMFFI_PY_COLD int tvmffi_py_say_fields(tvmffi_py_text *t,
                                        const tvmffi_i_class *c, int is_keyword,
                                        int has_default, int has_types) {
  const tvmffi_i_member *at = c->members, *m;
  int only = 0;
  if (!c->parent) return c->index == kTVMFFIObject;
  if (!tvmffi_py_say_fields(t, c->parent, is_keyword, has_default, has_types))
    return 0;
  while (
      (m = tvmffi_py_next_parameter(&at, &only, is_keyword, has_default))) {
    if (t->size) tvmffi_py_say(t, ", ");
    tvmffi_py_say_name(t, m->name);
    if (has_types) {
      tvmffi_py_say(t, ": ");
      tvmffi_py_say_field_type(t, m, 0);
    }
    if (has_default) tvmffi_py_say_value(t, has_types ? " = " : "=", m);
  }
  return 1;
}

/* Appends "Name(a, b=1, *, c)", or with types "Name(a: int, ...". */
TVMFFI_PY_COLD void tvmffi_py_say_class(tvmffi_py_text *t,
                                        const tvmffi_i_class *c,
                                        const char *name, int has_types) {
  int is_keyword, is_known = 1, has_any = 0;
  tvmffi_py_say(t, name);
  tvmffi_py_say(t, "(");
  for (is_keyword = 0; is_keyword <= 1; ++is_keyword) {
    tvmffi_py_text part = {NULL, 0, 0};
    is_known = tvmffi_py_say_fields(&part, c, is_keyword, 0, has_types) &&
               tvmffi_py_say_fields(&part, c, is_keyword, 1, has_types);
    if (is_known && part.data) {
      tvmffi_py_say(t, has_any && is_keyword ? ", *, "
                       : is_keyword          ? "*, "
                                             : "");
      tvmffi_py_say(t, part.data);
      has_any = 1;
    }
    free(part.data);
  }
  tvmffi_py_say(t, is_known ? ")" : "*args, **kwargs)");
}

/* Returns the documentation of a class, in the form of tvmffi_py_doc. `init` is
   the type's own constructor, or NULL. */
TVMFFI_PY_COLD char *tvmffi_py_class_doc(const tvmffi_i_class *c,
                                         const char *name,
                                         const tvmffi_func *init) {
  tvmffi_py_text t = {NULL, 0, 0};
  int has_types;
  for (has_types = 0; has_types <= 1; ++has_types) {
    if (has_types) tvmffi_py_say(&t, TVMFFI_PY_END_OF_SIGNATURE);
    if (init)
      tvmffi_py_say_call(&t, init, name, 0, has_types);
    else
      tvmffi_py_say_class(&t, c, name, has_types);
  }
  return tvmffi_py_end_doc(
      &t, c->members->what == TVMFFI_I_IS_doc ? c->members->name : NULL);
}

/* ---- Methods ---- */

/* True for the name of a method that Python calls for an operator with two
   operands, such as __add__, __radd__, __iadd__ and __eq__. */
TVMFFI_PY_COLD int tvmffi_py_is_operator(const char *name) {
  static const char *const words[] = {
      "eq__",       "ne__",  "lt__",     "le__",  "gt__",     "ge__",
      "add__",      "sub__", "mul__",    "mod__", "divmod__", "pow__",
      "lshift__",   "or__",  "rshift__", "and__", "xor__",    "truediv__",
      "floordiv__", "matmul__"};
  size_t i;
  if (strncmp(name, "__", 2)) return 0;
  for (i = 0; i < sizeof(words) / sizeof(words[0]); ++i)
    if (!strcmp(name + 2, words[i]) ||
        ((name[2] == 'r' || name[2] == 'i') && !strcmp(name + 3, words[i])))
      return 1;
  return 0;
}

/* Returns NotImplemented if an operator's method refused the other operand:
   Python then asks the operand's class, and `==` is False. Otherwise returns
   NULL and leaves the exception. */
TVMFFI_PY_COLD PyObject *tvmffi_py_decline(const tvmffi_py_function *f) {
  PyObject *error, *helper, *answer = NULL;
  int is_refused;
  if (f->func->num_args != 2 || !tvmffi_py_is_operator(f->method.ml_name) ||
      !PyErr_ExceptionMatches(PyExc_TypeError))
    return NULL;
  error = tvmffi_py_take_error();
  helper = tvmffi_py_helper("is_refused");
  if (helper)
    answer = PyObject_CallFunction(helper, "Oss", error, f->func->name,
                                   tvmffi_py_parameter(f->func, 1));
  is_refused = answer == Py_True;
  PyErr_Clear();
  Py_XDECREF(answer);
  if (!is_refused) {
    tvmffi_py_give_error(error);
    return NULL;
  }
  Py_DECREF(error);
  Py_RETURN_NOTIMPLEMENTED;
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_call_method(PyObject *self,
                                                       PyObject *const *in,
                                                       size_t given,
                                                       PyObject *keywords) {
  PyObject *result =
      tvmffi_py_call_export(self, in, PyVectorcall_NARGS(given), keywords);
  return TVMFFI_I_LIKELY(result != NULL)
             ? result
             : tvmffi_py_decline((const tvmffi_py_function *)self);
}

static TVMFFI_I_UNUSED PyObject *tvmffi_py_call_kw_only_method(
    PyObject *self, PyObject *const *in, size_t given, PyObject *keywords) {
  return tvmffi_py_are_too_many((const tvmffi_py_function *)self,
                                PyVectorcall_NARGS(given))
             ? NULL
             : tvmffi_py_call_method(self, in, given, keywords);
}

/* Binds a method to an object. CPython calls a method without this, because of
   Py_TPFLAGS_METHOD_DESCRIPTOR. */
TVMFFI_PY_COLD PyObject *tvmffi_py_bind(PyObject *self, PyObject *object,
                                        PyObject *type) {
  PyObject *types, *bound = NULL;
  (void)type;
  if (!object || object == Py_None) {
    Py_INCREF(self);
    return self;
  }
  types = PyImport_ImportModule("types");
  if (types)
    bound = PyObject_CallMethod(types, "MethodType", "OO", self, object);
  Py_XDECREF(types);
  return bound;
}

TVMFFI_PY_COLD PyObject *tvmffi_py_method_name(PyObject *self, void *none) {
  (void)none;
  return PyUnicode_FromString(((tvmffi_py_function *)self)->method.ml_name);
}

/* Returns the part of a text of tvmffi_py_doc that is __doc__. */
TVMFFI_PY_COLD const char *tvmffi_py_shown_doc(const char *doc) {
  return strstr(doc, TVMFFI_PY_END_OF_SIGNATURE) +
         sizeof(TVMFFI_PY_END_OF_SIGNATURE) - 1;
}

TVMFFI_PY_COLD PyObject *tvmffi_py_method_qualname(PyObject *self,
                                                   void *none) {
  PyObject *name = ((tvmffi_py_function *)self)->module;
  (void)none;
  Py_INCREF(name);
  return name;
}

TVMFFI_PY_COLD PyObject *tvmffi_py_method_doc(PyObject *self, void *none) {
  (void)none;
  return PyUnicode_FromString(
      tvmffi_py_shown_doc(((tvmffi_py_function *)self)->method.ml_doc));
}

TVMFFI_PY_COLD PyObject *tvmffi_py_method_signature(PyObject *self,
                                                    void *none) {
  const PyMethodDef *method = &((tvmffi_py_function *)self)->method;
  const char *begin = method->ml_doc + strlen(method->ml_name);
  (void)none;
  return PyUnicode_FromStringAndSize(
      begin, strstr(begin, TVMFFI_PY_END_OF_SIGNATURE) - begin);
}

/* Makes the type of methods, once per library. */
TVMFFI_PY_COLD int tvmffi_py_make_method_type(void) {
  static PyMethodDef methods[] = {
      {"_check_contract", tvmffi_py_check_contract, METH_NOARGS, NULL},
      {NULL, NULL, 0, NULL}};
  static PyGetSetDef getters[] = {
      {"__name__", tvmffi_py_method_name, NULL, NULL, NULL},
      {"__qualname__", tvmffi_py_method_qualname, NULL, NULL, NULL},
      {"__doc__", tvmffi_py_method_doc, NULL, NULL, NULL},
      {"__text_signature__", tvmffi_py_method_signature, NULL, NULL, NULL},
      {NULL, NULL, NULL, NULL, NULL}};
  static PyType_Slot slots[] = {
      {Py_tp_dealloc, (void *)(uintptr_t)tvmffi_py_dealloc},
      {Py_tp_traverse, (void *)(uintptr_t)tvmffi_py_traverse},
      {Py_tp_call, (void *)(uintptr_t)PyVectorcall_Call},
      {Py_tp_repr, (void *)(uintptr_t)tvmffi_py_repr},
      {Py_tp_descr_get, (void *)(uintptr_t)tvmffi_py_bind},
      {Py_tp_members, tvmffi_py_members},
      {Py_tp_methods, methods},
      {Py_tp_getset, getters},
      {0, NULL}};
  static PyType_Spec spec = {
      "tvmffi.Method", sizeof(tvmffi_py_function), 0,
      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
          Py_TPFLAGS_METHOD_DESCRIPTOR | Py_TPFLAGS_DISALLOW_INSTANTIATION,
      slots};
  tvmffi_py.method_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return tvmffi_py.method_type ? 0 : -1;
}

/* Returns a new static method: an exported function that no class binds. */
TVMFFI_PY_COLD PyObject *tvmffi_py_new_static(PyObject *module_name,
                                              const tvmffi_func *func,
                                              const char *name,
                                              const char *doc) {
  PyObject *function = tvmffi_py_new_export(module_name, func, name, doc);
  PyObject *type = PyDict_GetItemString(PyEval_GetBuiltins(), "staticmethod");
  PyObject *made = function && type
                       ? PyObject_CallFunctionObjArgs(type, function, NULL)
                       : NULL;
  Py_XDECREF(function);
  return made;
}

/* ---- Classes ---- */

/* Returns the type's own constructor, or NULL. */
TVMFFI_PY_COLD const tvmffi_i_member *tvmffi_py_find_init(
    const tvmffi_i_class *c) {
  const tvmffi_i_member *m;
  for (m = c->members; m->what; ++m)
    if (tvmffi_py_is_method(m) && !strcmp(m->name, "__ffi_init__") &&
        !tvmffi_i_body_of(m).self)
      return m;
  return NULL;
}

/* Makes the base of all classes, once per library. */
TVMFFI_PY_COLD int tvmffi_py_make_object_type(void) {
  static PyMethodDef methods[] = {
      {"same_as", tvmffi_py_same_as, METH_O,
       "same_as($self, other, /)\n--\n\n"
       "Returns whether both are the same object of the library."},
      {"__copy__", tvmffi_py_copy, METH_NOARGS, NULL},
      {"__deepcopy__", tvmffi_py_deep_copy, METH_O, NULL},
      {"__getstate__", tvmffi_py_get_state, METH_NOARGS, NULL},
      {"__setstate__", tvmffi_py_set_state, METH_O, NULL},
      {"__tvm_ffi_object__", tvmffi_py_stock_object, METH_NOARGS, NULL},
      {NULL, NULL, 0, NULL}};
  static PyType_Slot slots[] = {
      {Py_tp_init, (void *)(uintptr_t)tvmffi_py_init_object},
      {Py_tp_dealloc, (void *)(uintptr_t)tvmffi_py_end_object},
      {Py_tp_repr, (void *)(uintptr_t)tvmffi_py_object_repr},
      {Py_tp_hash, (void *)(uintptr_t)tvmffi_py_hash},
      {Py_tp_richcompare, (void *)(uintptr_t)tvmffi_py_compare},
      {Py_tp_methods, methods},
      {0, NULL}};
  static PyType_Spec spec = {"tvmffi.Object",
                             sizeof(PyObject) + sizeof(TVMFFIObject *), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};
  tvmffi_py.object_type = (PyTypeObject *)PyType_FromSpec(&spec);
  return tvmffi_py.object_type ? 0 : -1;
}

/* Returns what a class needs to read and write the fields of a type itself, or
   NULL if there is no memory. */
TVMFFI_PY_COLD PyGetSetDef *tvmffi_py_field_getters(tvmffi_i_class *c) {
  const tvmffi_i_member *m;
  PyGetSetDef *getters, *at;
  tvmffi_py_field *field;
  size_t n = 1;
  for (m = c->members; m->what; ++m) n += (size_t)tvmffi_py_is_field(m);
  at = getters =
      (PyGetSetDef *)calloc(n, sizeof(*getters) + sizeof(*field)); /* kept */
  field = (tvmffi_py_field *)(void *)(getters + n);
  for (m = c->members; getters && m->what; ++m) {
    tvmffi_py_text name = {NULL, 0, 0};
    if (!tvmffi_py_is_field(m)) continue;
    tvmffi_py_say_name(&name, m->name);
    at->name = name.data;
    at->get = tvmffi_py_get_field;
    if (m->what == TVMFFI_I_IS_field) at->set = tvmffi_py_set_field;
    at->doc = tvmffi_py_field_doc(m);
    field->of = c;
    field->member = m;
    at->closure = field++;
    if (!at->name || !at->doc) return NULL;
    ++at;
  }
  return getters;
}

TVMFFI_PY_COLD int tvmffi_py_add_method(tvmffi_py_record *c,
                                        PyObject *module_name,
                                        const tvmffi_i_member *m) {
  tvmffi_func *func = tvmffi_i_method_func(tvmffi_i_body_of(m), c->of->key);
  const int is_static = !tvmffi_i_body_of(m).self;
  TVMFFIByteArray doc = {NULL, 0};
  tvmffi_py_text name = {NULL, 0, 0};
  PyObject *made = NULL;
  int64_t flags = 0;
  int code = -1;
  (void)tvmffi_i_member_modifiers(m, &doc, &flags);
  tvmffi_py_say_name(&name, m->name); /* kept, as the class is */
  func->name = m->full_name;          /* as its registration does */
  if (!name.data) {
    PyErr_NoMemory();
  } else if (is_static) {
    made = tvmffi_py_new_static(module_name, func, name.data, doc.data);
  } else {
    tvmffi_py_function *f =
        tvmffi_py_describe(tvmffi_py.method_type, func, name.data, doc.data);
    PyObject *owner =
        f ? PyObject_GetAttrString((PyObject *)c->type, "__name__") : NULL;
    if (owner) f->module = PyUnicode_FromFormat("%U.%s", owner, name.data);
    Py_XDECREF(owner);
    if (f && !f->module) Py_CLEAR(f);
    if (f)
      f->vectorcall = f->num_positional < func->num_args
                          ? tvmffi_py_call_kw_only_method
                          : tvmffi_py_call_method;
    made = (PyObject *)f;
  }
  made = tvmffi_py_as_property(made, func);
  if (made) code = PyObject_SetAttrString((PyObject *)c->type, name.data, made);
  Py_XDECREF(made);
  return code;
}

TVMFFI_PY_COLD const char *tvmffi_py_last_part(const char *key) {
  const char *dot = strrchr(key, '.');
  return dot ? dot + 1 : key;
}

/* Returns "module.Name", to be kept. The name is the last part of the key, or
   the key with "_" for "." if that is the last part of another key, too. */
TVMFFI_PY_COLD char *tvmffi_py_class_name(const char *key,
                                          const char *module_name) {
  const char *name = tvmffi_py_last_part(key);
  tvmffi_py_text t = {NULL, 0, 0};
  tvmffi_py_record *const *c;
  size_t at;
  int is_shared = 0;
  TVMFFI_PY_EACH_RECORD(c) {
    is_shared |= strcmp((*c)->of->key, key) &&
                 !strcmp(tvmffi_py_last_part((*c)->of->key), name);
  }
  tvmffi_py_say(&t, module_name);
  tvmffi_py_say(&t, ".");
  at = t.size;
  tvmffi_py_say_name(&t, is_shared ? key : name);
  for (; t.data && t.data[at]; ++at)
    if (t.data[at] == '.') t.data[at] = '_';
  return t.data;
}

TVMFFI_PY_COLD int tvmffi_py_make_class(tvmffi_py_record *c,
                                        PyObject *module_name);

/* Returns the base of a class: the class of the type's parent, which it makes
   first, or the base of all. NULL with an exception. */
TVMFFI_PY_COLD PyTypeObject *tvmffi_py_make_base(const tvmffi_py_record *c,
                                                 PyObject *module_name) {
  tvmffi_py_record *parent = tvmffi_py_find_record(c->of->parent->key);
  if (!parent) return tvmffi_py.object_type;
  return tvmffi_py_make_class(parent, module_name) ? NULL : parent->type;
}

TVMFFI_PY_COLD int tvmffi_py_fill_class(tvmffi_py_record *c,
                                        PyObject *module_name) {
  const tvmffi_i_member *m, *init = tvmffi_py_find_init(c->of);
  PyObject *key = PyUnicode_FromString(c->of->key);
  int has_eq = 0, has_hash = 0;
  int code =
      key ? PyObject_SetAttrString((PyObject *)c->type, "_type_key", key) : -1;
  Py_XDECREF(key);
  for (m = c->of->members; m->what && !code; ++m)
    if (tvmffi_py_is_method(m) && m != init) {
      code = tvmffi_py_add_method(c, module_name, m);
      has_eq |= !strcmp(m->name, "__eq__");
      has_hash |= !strcmp(m->name, "__hash__");
    }
  /* As of a class in Python: equal objects must not have different hashes. */
  if (has_eq && !has_hash && !code)
    code = PyObject_SetAttrString((PyObject *)c->type, "__hash__", Py_None);
  if (init && !code) {
    tvmffi_func *func =
        tvmffi_i_method_func(tvmffi_i_body_of(init), c->of->key);
    func->name = init->full_name;
    c->init = tvmffi_py_new_export(module_name, func, "__ffi_init__", NULL);
    code = c->init ? 0 : -1;
  }
  return code;
}

TVMFFI_PY_COLD int tvmffi_py_make_class(tvmffi_py_record *c,
                                        PyObject *module_name) {
  const char *module = PyUnicode_AsUTF8AndSize(module_name, NULL);
  tvmffi_py_record *same = tvmffi_py_find_record(c->of->key);
  const tvmffi_i_member *missing, *init = tvmffi_py_find_init(c->of);
  PyType_Slot slots[3] = {{Py_tp_doc, NULL}, {Py_tp_getset, NULL}, {0, NULL}};
  PyType_Spec spec = {NULL, sizeof(PyObject) + sizeof(TVMFFIObject *), 0,
                      Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, NULL};
  PyTypeObject *base;
  PyObject *bases = NULL;
  char *name, *doc;
  if (c->type) return 0;
  if (!module) return -1;
  if (same != c) { /* another file has the type, too */
    if (tvmffi_py_make_class(same, module_name)) return -1;
    Py_INCREF((PyObject *)same->type);
    c->type = same->type;
    c->init = same->init;
    return 0;
  }
  missing = tvmffi_py_missing_method(c->of);
  if (missing) {
    PyErr_Format(PyExc_ImportError, "write TVMFFI_METHOD for %s",
                 missing->full_name);
    return -1;
  }
  base = tvmffi_py_make_base(c, module_name);
  if (!base) return -1;
  name = tvmffi_py_class_name(c->of->key, module);
  doc = name ? tvmffi_py_class_doc(
                   c->of, strrchr(name, '.') + 1,
                   init ? tvmffi_i_body_of(init).func : NULL)
             : NULL;
  spec.name = name;
  spec.slots = slots;
  slots[0].pfunc = doc;
  slots[1].pfunc = tvmffi_py_field_getters(c->of);
  if (doc && slots[1].pfunc)
    bases = PyTuple_Pack(1, (PyObject *)base);
  else
    PyErr_NoMemory();
  if (bases) c->type = (PyTypeObject *)PyType_FromSpecWithBases(&spec, bases);
  Py_XDECREF(bases);
  free(doc);
  if (!c->type) return -1;
  if (!tvmffi_py_fill_class(c, module_name)) return 0;
  Py_DECREF((PyObject *)c->type);
  c->type = NULL;
  return -1;
}

/* Makes the classes and adds them to the module. */
TVMFFI_PY_COLD int tvmffi_py_make_classes(PyObject *module,
                                          tvmffi_py_record *const *begin,
                                          tvmffi_py_record *const *end) {
  PyObject *module_name = PyModule_GetNameObject(module);
  tvmffi_py_record *const *c;
  int code = module_name ? tvmffi_py_make_type() : -1;
  tvmffi_py.first_record = begin;
  tvmffi_py.end_record = end;
  if (!code && !tvmffi_py.object_type)
    code = tvmffi_py_make_method_type() || tvmffi_py_make_object_type();
  TVMFFI_PY_EACH_RECORD(c) {
    PyObject *name = NULL;
    if (!code) code = tvmffi_py_make_class(*c, module_name);
    if (!code)
      name = PyObject_GetAttrString((PyObject *)(*c)->type, "__name__");
    if (!name || PyObject_SetAttr(module, name, (PyObject *)(*c)->type))
      code = -1;
    Py_XDECREF(name);
  }
  tvmffi_py.to_class = tvmffi_py_to_class;
  tvmffi_py.register_types = tvmffi_py_register_types;
  Py_XDECREF(module_name);
  return code ? -1 : 0;
}

/* ---- The module's definition ---- */

TVMFFI_PY_COLD int tvmffi_py_add_all(PyObject *module,
                                     const tvmffi_py_entry *const *begin,
                                     const tvmffi_py_entry *const *end,
                                     tvmffi_py_record *const *first_record,
                                     tvmffi_py_record *const *end_record) {
  tvmffi_py.has_own = TVMFFI_PY_HAS_OWN;
  tvmffi_py.first_entry = begin;
  tvmffi_py.end_entry = end;
  if (PyModule_AddIntConstant(module, "_has_runtime", TVMFFI_PY_HAS_OWN) ||
      (first_record < end_record &&
       (*first_record)->make(module, first_record, end_record)))
    return -1;
  return tvmffi_py_add_exports(module, begin, end);
}

/* The state of a library belongs to one interpreter. Calls that keep the GIL
   may need it, so free-threaded CPython turns it on for them. */
#ifdef Py_mod_multiple_interpreters
#define TVMFFI_PY_SLOT_INTERPRETERS \
  {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
#else
#define TVMFFI_PY_SLOT_INTERPRETERS
#endif
#if defined(Py_mod_gil) && !TVMFFI_PYTHON_KEEP_GIL
#define TVMFFI_PY_SLOT_GIL {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#else
#define TVMFFI_PY_SLOT_GIL
#endif
#define TVMFFI_PY_SLOTS TVMFFI_PY_SLOT_INTERPRETERS TVMFFI_PY_SLOT_GIL

/* Makes the library that has this line in one of its files the extension module
   `name`, too. A string after the name is the module's documentation:

       TVMFFI_PYTHON_MODULE(kernels, "Kernels for audio.")

   The string must live as long as the process, as a literal does. */
#define TVMFFI_PYTHON_MODULE(...) TVMFFI_PY_MODULE(__VA_ARGS__, NULL, ~)
#define TVMFFI_PY_MODULE(name, doc, ...)                          \
  TVMFFI_PY_EXTERN_C_BEGIN                                        \
  TVMFFI_PY_CHOOSE                                                \
  extern TVMFFI_I_HIDDEN __attribute__((__weak__))                \
  const tvmffi_py_entry *const __start_tvmffi_python[],           \
      *const __stop_tvmffi_python[];                              \
  extern TVMFFI_I_HIDDEN __attribute__((__weak__))                \
  tvmffi_py_record *const __start_tvmffi_python_types[],          \
      *const __stop_tvmffi_python_types[];                        \
  static int tvmffi_py_exec(PyObject *module) {                   \
    return tvmffi_py_add_all(                                     \
        module, __start_tvmffi_python, __stop_tvmffi_python,      \
        __start_tvmffi_python_types, __stop_tvmffi_python_types); \
  }                                                               \
  static PyModuleDef_Slot tvmffi_py_slots[] = {                   \
      {Py_mod_exec, (void *)(uintptr_t)tvmffi_py_exec},           \
      TVMFFI_PY_SLOTS{0, NULL}};                                  \
  static PyModuleDef tvmffi_py_module = {                         \
      PyModuleDef_HEAD_INIT, #name, doc,  0,   NULL,              \
      tvmffi_py_slots,       NULL,  NULL, NULL};                  \
  PyMODINIT_FUNC PyInit_##name(void);                             \
  PyMODINIT_FUNC PyInit_##name(void) {                            \
    return PyModuleDef_Init(&tvmffi_py_module);                   \
  }                                                               \
  TVMFFI_PY_EXTERN_C_END

#ifdef __cplusplus
}
#define TVMFFI_PY_EXTERN_C_BEGIN extern "C" {
#define TVMFFI_PY_EXTERN_C_END }
#else
#define TVMFFI_PY_EXTERN_C_BEGIN
#define TVMFFI_PY_EXTERN_C_END
#endif

#endif /* TVMFFI_PYTHON_H_ */
