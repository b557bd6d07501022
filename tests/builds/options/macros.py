"""Macros that the user's file has before or behind the header.

SYSTEM has names that widespread headers define as macros. WORDS are the words
of pairs and items, which a macro of the same name would replace in the user's
text. spread() renames all that the user's file names itself, so that every
other plain name of the header can be made a macro behind the include.
"""

import re

# Headers that the implementation includes: the macros stand behind them.
LIBC = "".join(f"#include <{name}.h>\n" for name in (
    "stdarg stddef stdint stdio stdlib string pthread sched dlfcn unwind "
    "limits errno assert").split())

SYSTEM = {
    "windows.h": "small hyper near far min max interface IN OUT OPTIONAL CONST "
                 "VOID TRUE FALSE ERROR DELETE STRICT PURE THIS THIS_ cdecl "
                 "pascal NO_ERROR GetObject SendMessage CreateWindow DrawText "
                 "GetMessage GetClassName BOOL",
    "gnu dialects": "unix linux i386 vax sun mips hpux sgi",
    "complex.h": "I complex imaginary",
    "Qt": "signals slots emit foreach forever",
    "C11 <std*.h>": "noreturn fract accum sat",
    "ctype.h of newlib": "_U _L _N _S _P _C _X _B",
    "Arduino": "B0 B1 B00 B11111111 HIGH LOW INPUT OUTPUT DEFAULT PI",
    "X11/Xlib.h": "None Bool Status True False Success Always Above Below "
                  "Complex CurrentTime Unsorted Expose",
    "term.h": "lines columns bell tab",
    "altivec.h": "vector pixel",
    "Objective-C": "nil Nil YES NO",
    "netdb.h, sys/stat.h": "h_addr s_addr st_mtime sa_handler si_value",
    "math.h of BSD": "OVERFLOW UNDERFLOW DOMAIN SING PLOSS TLOSS",
    "kernels": "current",
    "shortened attributes": "unused cold hot weak packed noinline section "
                            "always_inline deprecated visibility hidden naked "
                            "cleanup constructor warn_unused_result may_alias "
                            "no_sanitize stdcall gnu_printf pure tls_model",
    "hurried users": " ".join("ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "logs": "DEBUG INFO WARNING FATAL TRACE LOG",
}
# These are macros with arguments, harmless where no parenthesis follows.
CALLS = {
    "sys/sysmacros.h, sys/param.h": "major minor makedev MIN MAX howmany "
                                    "roundup setbit isset",
    "windows.h": "min max",
    "Arduino": "bit sq abs round F word lowByte",
    "curses.h": "move erase clear border box timeout scroll",
    "AssertMacros.h": "check require verify check_noerr",
    "kernels": "likely unlikely swap barrier",
    "names as texts": "str bytes error any ptr device",
    "attributes": "aligned format printf",
}
WORDS = """none any bool int8 int16 int32 int64 uint8 uint16 uint32 uint64
    float32 float64 str bytes dtype device ptr tensor tensor_object object func
    error module opaque shape array list map dict optional field readonly method
    attribute destructor kw_only structural doc flags factory""".split()

JUNK = " 1 junk \"junk\" !"
KEYWORDS = set("""auto break case char const continue default do double else
    enum extern float for goto if inline int long register restrict return short
    signed sizeof static struct switch typedef union unsigned void volatile
    while alignas alignof asm catch class constexpr const_cast decltype delete
    dynamic_cast explicit export false friend mutable namespace new noexcept
    nullptr operator private protected public reinterpret_cast static_assert
    static_cast template this thread_local throw true try typeid typename using
    virtual wchar_t defined define include pragma error undef ifdef ifndef elif
    endif""".split())
# Names of the ABI's members and of libc, and what the interface documents.
KNOWN = set("""self value has_value base type_index type_index v_int64 v_obj
    v_float64 v_ptr dtype device ndim shape data byte_offset at size
    offsetof va_arg va_copy va_end va_start va_list printf fprintf fputs stdout
    stderr size_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t
    uint64_t uintptr_t stdio h NULL""".split())
OURS = re.compile(r"(tvmffi|TVMFFI|TVM_FFI|kTVMFFI|kDL|DL|_*[A-Z_])")
TOKEN = re.compile(r'"(?:\\.|[^"\\\n])*"|\d[\w.]*|[A-Za-z_]\w*')


def is_name(token):
    return token[0].isalpha() or token[0] == "_"


def names_in(text):
    text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S)
    return {token for token in TOKEN.findall(text) if is_name(token)}


def junk(names, calls=()):
    return "".join(f"#define {name}{JUNK}\n" for name in names) + "".join(
        f"#define {name}(x){JUNK}\n" for name in calls)


def system_macros():
    """The names of SYSTEM and CALLS as macros that no text survives."""
    calls = {n for names in CALLS.values() for n in names.split()}
    plain = {n for names in SYSTEM.values() for n in names.split()} - calls
    return junk(sorted(plain), sorted(calls))


def kept(name):
    return OURS.match(name) or name in KEYWORDS or name in KNOWN \
        or name in WORDS


def spread(user):
    """The user's text, its own names with a prefix that the header has not."""
    user = re.sub(r"/\*.*?\*/", " ", user, flags=re.S)
    lines = []
    for line in user.splitlines():
        if not line.lstrip().startswith("#"):
            line = TOKEN.sub(lambda m: "my_" + m[0] if is_name(m[0])
                             and not kept(m[0]) else m[0], line)
        lines.append(line)
    return "\n".join(lines) + "\n"


def behind(header, user):
    """`user`, with all other plain names of the header as macros behind the
    include."""
    names = sorted(n for n in names_in(header) if not kept(n))
    include = '#include "tvmffi.h"\n#include <stdio.h>\n'
    text = spread(user)
    text = text.replace('#include "tvmffi.h"', "").replace(
        "#include <stdio.h>", "")
    return include + junk(names) + text, len(names)
