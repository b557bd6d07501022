"""Pretty printers and commands of tvmffi.h for gdb.

    (gdb) source tvmffi_gdb.py

gdb then prints values, objects, handles, tensors and dtypes as what they are.
Commands: tvmffi-object EXPRESSION, tvmffi-traceback [EXPRESSION].

Everything is read from memory and no function of the program is called, so
core files work, too. The layouts are the ABI's; type keys, fields and names of
functions come from tables of the runtime, whose symbols must be there. See
docs/debugging.md. Needs gdb 10 with Python 3.6.
"""

import re

import gdb

DEPTH = 6  # how deep containers are printed inside each other
OBJECT_DEPTH = 2  # and the fields of objects

# The types whose index is the same in every process.
KEYS = {
    0: "None", 1: "int", 2: "bool", 3: "float", 4: "void*", 5: "DataType",
    6: "Device", 7: "DLTensor*", 8: "const char*", 9: "TVMFFIByteArray*",
    10: "ObjectRValueRef", 11: "ffi.SmallStr", 12: "ffi.SmallBytes",
    13: "ffi.Unchanged", 64: "ffi.Object", 65: "ffi.String", 66: "ffi.Bytes",
    67: "ffi.Error", 68: "ffi.Function", 69: "ffi.Shape", 70: "ffi.Tensor",
    71: "ffi.Array", 72: "ffi.Map", 73: "ffi.Module",
    74: "ffi.OpaquePyObject", 75: "ffi.List", 76: "ffi.Dict",
    77: "ffi.VisitInterrupt", 78: "ffi.BigInt"}
(NONE, INT, BOOL, FLOAT, POINTER, DTYPE, DEVICE, DLTENSOR, RAW_STR, BYTE_ARRAY,
 RVALUE, SMALL_STR, SMALL_BYTES) = range(13)
(OBJECT, STR, BYTES, ERROR, FUNCTION, SHAPE, TENSOR, ARRAY, MAP, MODULE, OPAQUE,
 LIST, DICT) = range(64, 77)
BIG_INT = 78
HEAD = 24  # sizeof(TVMFFIObject)
ANY_SIZE = 16
MAX_TYPES = 1 << 26
DTYPES = ["int", "uint", "float", "handle", "bfloat", "complex", "bool",
          "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn",
          "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz",
          "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn"]
DEVICES = {1: "cpu", 2: "cuda", 3: "cuda_host", 4: "opencl", 7: "vulkan",
           8: "metal", 9: "vpi", 10: "rocm", 11: "rocm_host", 12: "ext_dev",
           13: "cuda_managed", 14: "oneapi", 15: "webgpu", 16: "hexagon",
           17: "maia", 18: "trn"}


class Remark(Exception):
    """What is printed in the place of a value that cannot be read."""

    def text(self):
        return str(self) if str(self) == "NULL" else f"<{self}>"


# -- memory --------------------------------------------------------------

def read(address, size):
    """Reads bytes of the program, or raises a Remark."""
    if not address:
        raise Remark("NULL")
    try:
        return bytes(gdb.selected_inferior().read_memory(address, size))
    except (gdb.error, OverflowError, ValueError):
        raise Remark(f"cannot read memory at {address:#x}") from None


def is_readable(address):
    try:
        return bool(read(address, 1))
    except Remark:
        return False


def byte_order():
    big = "big endian" in gdb.execute("show endian", to_string=True)
    return "big" if big else "little"


def pointer_size():
    return gdb.lookup_type("char").pointer().sizeof


def layout(codes):
    """Returns the offsets and the sizes of a struct's members: b 1, h 2, i 4, q
    8 bytes, p a pointer or size_t, with the alignment of the program's C."""
    int64 = gdb.lookup_type("long long")
    pointer = pointer_size()
    sizes = {"b": (1, 1), "h": (2, 2), "i": (4, 4), "p": (pointer, pointer),
             "q": (8, int64.alignof)}
    out, at = [], 0
    for code in codes.lower():
        size, align = sizes[code]
        at = (at + align - 1) // align * align
        out.append((at, size))
        at += size
    return out


def members(address, codes):
    """Reads the members of a struct. An upper-case letter is a signed one."""
    places = layout(codes)
    data = read(address, sum(places[-1]))
    order = byte_order()
    return [int.from_bytes(data[at:at + size], order, signed=code.isupper())
            for code, (at, size) in zip(codes, places)]


def pointer_at(address):
    return members(address, "p")[0]


def float_of(data):
    kind = {2: "short", 4: "float", 8: "double"}[len(data)]
    return float(gdb.Value(data, gdb.lookup_type(kind)))


def symbol_at(address):
    """Returns the name of the function or variable at an address, or None."""
    text = gdb.execute(f"info symbol {address:#x}", to_string=True)
    found = re.match(r"(.+?)(?: \+ \d+)? in section ", text)
    # A name of C++ has its parameters behind it.
    return re.sub(r"(?<=\w)\(.*\)( const)?$", "", found.group(1)) \
        if found else None


def addresses(name):
    """Returns the addresses of all static variables of that name: a process
    may have several runtimes."""
    found = [int(s.value().address) for s in gdb.lookup_static_symbols(name)
             if s.addr_class != gdb.SYMBOL_LOC_OPTIMIZED_OUT]
    if not found:  # no debug information, but perhaps a symbol
        try:
            found = [int(gdb.parse_and_eval(f"(unsigned long)&{name}"))]
        except gdb.error:
            pass
    return found


# -- types and functions -------------------------------------------------

class Type:
    """A TVMFFITypeInfo."""

    def __init__(self, address):
        (self.index, self.depth, key, size, self.ancestors, _, self.num_fields,
         _, self.fields) = members(address, "IIpppqIIp")
        self.key = read(key, size).decode("utf-8", "replace")

    def parents(self):
        step = pointer_size()
        return [Type(pointer_at(self.ancestors + i * step))
                for i in range(self.depth)]

    def own_fields(self):
        codes = "ppppppqqqqppqqI"  # the last two q are an Any
        step = layout(codes + "q")[-1][0]
        for i in range(self.num_fields):
            (name, length, _, _, _, _, _, width, _, offset, getter, _, _, _,
             index) = members(self.fields + i * step, codes)
            yield Field(read(name, length).decode("utf-8", "replace"), width,
                        offset, getter, index)


class Field:
    def __init__(self, name, size, offset, getter, index):
        self.name, self.size, self.offset = name, size, offset
        self.getter, self.index = getter, index

    def declared(self, address):
        """Returns the member as its struct in C declares it, or None. A getter
        of TVMFFI_TYPE has the struct in its name."""
        symbol = symbol_at(self.getter) or ""
        found = re.match(f"tvmffi_i_read_(.+)_{re.escape(self.name)}$", symbol)
        try:
            struct = gdb.lookup_type(found.group(1)) if found else None
            value = gdb.Value(address).cast(struct.pointer()).dereference()
            member = value[self.name]
            same = (int(member.address) == address + self.offset
                    and member.type.sizeof == self.size)
            return member if same else None
        except (gdb.error, AttributeError):
            return None

    def value(self, address):
        """Returns the field's value in an object: what `Printer` takes for a
        child."""
        member = self.declared(address)
        plain = member.type.strip_typedefs() if member is not None else None
        if plain is not None and plain.code == gdb.TYPE_CODE_STRUCT and [
                f.name for f in plain.fields()] == ["value", "has_value"]:
            return member["value"] if member["has_value"] else "None"
        at, order = address + self.offset, byte_order()
        if self.index == INT and self.size <= 8:
            signed = plain is None or int(gdb.Value(-1).cast(plain)) < 0
            return str(int.from_bytes(read(at, self.size), order,
                                      signed=signed))
        if self.index == BOOL:
            return str(any(read(at, self.size)))
        if self.index == FLOAT and self.size in (4, 8):
            return repr(float_of(read(at, self.size)))
        if self.index == DTYPE:
            return dtype_text(*members(at, "bbh"))
        if self.index == DEVICE:
            return device_text(*members(at, "II"))
        if member is not None:
            return member
        if self.index >= OBJECT and self.size == pointer_size():
            return Place("object", pointer_at(at))
        if self.size == ANY_SIZE and key_of(members(at, "I")[0]):
            return Place("any", at)
        return "<bytes " + read(at, self.size).hex() + ">"


def type_of(index, deleter=0):
    """Returns the Type with this index, or None. If several runtimes have it,
    the one whose library has the object's deleter goes first."""
    found = []
    for symbol in addresses("tvmffi_i_types"):
        try:
            table = pointer_at(symbol)
            if not 0 <= index < members(table, "I")[0]:
                continue
            step = pointer_size()
            entry = pointer_at(table + 2 * step + index * step)
            if entry:
                found.append((file_of(symbol) != file_of(deleter),
                              Type(entry)))
        except Remark:
            pass
    return min(found, key=lambda f: f[0])[1] if found else None


def struct_of(deleter):
    """Returns the name of the struct of TVMFFI_TYPE that has this deleter, and
    its key, or None. It is for a runtime without symbols."""
    before, _, name = (symbol_at(deleter) or "").partition("tvmffi_i_delete_")
    if name and not before:
        for symbol in addresses(f"tvmffi_i_class_{name}"):
            key = view_pointer(RAW_STR, pointer_at(symbol)).head
            return name, read(key.address, key.size).decode()
    return None


def file_of(address):
    return gdb.solib_name(address) if address else None


def key_of(index, deleter=0):
    """Returns a type's key, or None for an index that no type has."""
    known = KEYS.get(index) or type_of(index, deleter)
    if known:
        return known if isinstance(known, str) else known.key
    if addresses("tvmffi_i_types") or not 128 <= index < MAX_TYPES:
        return None
    struct = struct_of(deleter) if deleter else None
    return struct[1] if struct else \
        f"type {index} (the runtime has no symbols)"


def global_name(function):
    """Returns the name of a function object in the global table, or None."""
    for symbol in addresses("tvmffi_i_globals"):
        try:
            node = members(symbol, "pp")[1]
            for _ in range(1 << 20):
                if not node:
                    break
                key, after, size, _, value = members(node, "ppiip")
                if value == function and key:
                    return read(key, size).decode("utf-8", "replace")
                node = after
        except Remark:
            pass
    return None


# -- views: what a value is ----------------------------------------------

class Place:
    """A value in memory: an "any", or an "object" by its address."""

    def __init__(self, what, address):
        self.what, self.address = what, address

    def to_gdb(self):
        """Returns it as a value that gdb expands, or a text if the program's
        debug information has no such type."""
        name = "TVMFFIAny" if self.what == "any" else "TVMFFIObject"
        try:
            pointer = gdb.Value(self.address).cast(
                gdb.lookup_type(name).pointer())
            return pointer.dereference() if self.what == "any" else pointer
        except gdb.error:
            return self.view().text_of()

    def view(self):
        try:
            return view_any_at(self.address) if self.what == "any" \
                else view_object(self.address)
        except Remark as remark:
            return View(remark.text())


class Text:
    """Bytes of a string in memory, read when they are printed."""

    def __init__(self, address, size):
        self.address, self.size = address, size

    def to_text(self):
        limit = element_limit()
        data = read(self.address, min(self.size, limit)) if self.size else b""
        more = "..." if self.size > limit else ""
        text = data.decode("utf-8", "backslashreplace")
        return '"' + text.translate(ESCAPES) + '"' + more


ESCAPES = {i: f"\\{i:03o}" for i in list(range(32)) + [127]}
ESCAPES.update({ord("\n"): "\\n", ord("\t"): "\\t", ord("\r"): "\\r",
                ord('"'): '\\"', ord("\\"): "\\\\"})


def element_limit():
    return gdb.parameter("print elements") or 1 << 30


class View:
    """What is printed of a value: a head, which is a str or a Text, and
    children, pairs of a name and a str, Place or gdb.Value."""

    def __init__(self, head, children=None, hint=None, address=0):
        self.head, self.children, self.hint = head, children, hint
        self.address = address  # of an object

    def depth_limit(self):
        return DEPTH if self.hint else OBJECT_DEPTH

    def is_hidden(self, path):
        """Whether the children are not shown inside the objects of `path`."""
        return self.children and (len(path) >= self.depth_limit()
                                  or self.address in path)

    def head_text(self, path):
        head = self.head
        if isinstance(head, Text):
            try:
                head = head.to_text()
            except Remark as remark:
                head = f"<{remark}>"
        return head + " {...}" if self.is_hidden(path) else head

    def text_of(self, path=()):
        """Returns all of it as text, for a program without the types."""
        text = self.head_text(path)
        if not self.children or self.is_hidden(path):
            return text
        parts, limit = [], element_limit()
        for name, child in safely(self.children):
            if len(parts) >= limit:
                parts.append("...")
                break
            if isinstance(child, Place):
                child = child.view().text_of((*path, self.address))
            elif not isinstance(child, str):
                child = child.format_string()
            parts.append(child if self.hint else f"{name} = {child}")
        if self.hint == "map":
            parts = [f"[{key}] = {value}"
                     for key, value in zip(parts[::2], parts[1::2])]
        return text + (" = {" + ", ".join(parts) + "}" if parts else "")


def safely(children):
    """Iterates over children; what cannot be read becomes a remark."""
    try:
        yield from children()
    except (Remark, gdb.error) as error:
        yield "error", f"<{error}>"


def dtype_text(code, bits, lanes):
    if (code, bits, lanes) == (3, 0, 0):
        return "void"
    name = DTYPES[code] if code < len(DTYPES) else f"dtype_code_{code}"
    if code >= len(DTYPES) or code < 7 and (code, bits) != (6, 8):
        name += str(bits)
    if lanes >= 1 << 15:  # negative: scalable vectors
        return f"{name}xvscalex{(1 << 16) - lanes}"
    return f"{name}x{lanes}" if lanes != 1 else name


def device_text(kind, index):
    # The mask is the RPC server's: kind + 128 * (session + 1).
    name = DEVICES.get(kind % 128 if kind >= 128 else kind, f"device_{kind}")
    rpc = f"remote[{kind // 128 - 1}]:" if kind >= 128 else ""
    return f"{rpc}{name}:{index}"


def integers(address, count):
    order = byte_order()
    data = read(address, 8 * count) if count else b""
    return [int.from_bytes(data[i:i + 8], order, signed=True)
            for i in range(0, len(data), 8)]


def view_tensor(address, head=""):
    """A DLTensor: its dtype, shape and device, and where its data is."""
    data, kind, index, ndim, code, bits, lanes, shape, strides, offset = \
        members(address, "pIIIbbhppq")
    if not 0 <= ndim <= 64:
        raise Remark(f"not a tensor at {address:#x}: {ndim} dimensions")
    sizes = integers(shape, ndim)
    text = (f"{dtype_text(code, bits, lanes)}{sizes} "
            f"{device_text(kind, index)}, data {data:#x}")
    if strides and ndim:
        steps, compact = integers(strides, ndim), 1
        for size, step in zip(reversed(sizes), reversed(steps)):
            if size != 1 and step != compact:
                text += f", strides {steps}"
                break
            compact *= size
    if offset:
        text += f", byte_offset {offset}"
    return View(head + text)


def view_bytes(address, size):
    limit = element_limit()
    data = read(address, min(size, limit)) if size else b""
    return View(repr(data) + ("..." if size > limit else ""))


def view_any_at(address):
    index, size = members(address, "Ii")
    return view_any(index, size, read(address + 8, 8), address + 8)


def view_any(index, size, payload, address=0):
    """A TVMFFIAny: its two first members, its last eight bytes, and where they
    are (0: nowhere in memory)."""
    order = byte_order()
    number = int.from_bytes(payload, order, signed=True)
    pointer = int.from_bytes(payload[:pointer_size()], order)
    if index == NONE:
        return View("None")
    if index == INT:
        return View(str(number))
    if index == BOOL:
        return View(str(bool(number)))
    if index == FLOAT:
        return View(repr(float_of(payload)))
    if index == POINTER:
        return View(f"(void *) {pointer:#x}")
    if index == DTYPE:
        lanes = int.from_bytes(payload[2:4], order)
        return View("dtype " + dtype_text(payload[0], payload[1], lanes))
    if index == DEVICE:
        return View("device " + device_text(
            int.from_bytes(payload[:4], order, signed=True),
            int.from_bytes(payload[4:], order, signed=True)))
    if index in (SMALL_STR, SMALL_BYTES):
        if size > 7:
            raise Remark(f"damaged {KEYS[index]}: {size} bytes")
        if index == SMALL_BYTES:
            return View(repr(payload[:size]))
        if address:
            return View(Text(address, size))
        text = payload[:size].decode("utf-8", "backslashreplace")
        return View('"' + text.translate(ESCAPES) + '"')
    if index == 13:
        return View("ffi.Unchanged")
    if index in (DLTENSOR, RAW_STR, BYTE_ARRAY, RVALUE) or index >= OBJECT:
        return view_pointer(index, pointer)
    raise Remark(f"not a value: type index {index}")


def view_pointer(index, pointer):
    if index >= OBJECT and not key_of(index):
        raise Remark(f"not a value: type index {index}")
    if not pointer:
        raise Remark(f"NULL as {key_of(index)}")
    if index == DLTENSOR:
        return view_tensor(pointer, "DLTensor ")
    if index == RAW_STR:
        size = 0
        while size < 1 << 16 and b"\0" not in read(pointer + size, 1):
            size += 1
        return View(Text(pointer, size))
    if index == BYTE_ARRAY:
        return view_bytes(*members(pointer, "pp"))
    if index == RVALUE:
        pointer = pointer_at(pointer)
    return view_object(pointer, in_any=True)


# -- objects -------------------------------------------------------------

class Header:
    """The head of an object that is alive. Anything else is a Remark."""

    def __init__(self, address):
        try:
            self.counts, self.index, _, self.deleter = members(address, "qIip")
        except Remark as remark:
            raise remark if not address else Remark(
                f"not an object: {remark}") from None
        self.address = address
        self.strong = self.counts & 0xffffffff
        self.weak = self.counts >> 32
        self.key = key_of(self.index, self.deleter) \
            if self.index >= OBJECT else None
        if not self.key:
            raise Remark(f"not an object at {address:#x}: type index "
                         f"{self.index}")
        if self.is_freed():
            raise Remark(f"freed object at {address:#x}, was {self.key}")
        if not self.strong:
            raise Remark(f"destroyed {self.key} at {address:#x}, "
                         f"{self.weak} weak")

    def is_freed(self):
        """Whether the counts are none: freed memory has 0 or the address of
        the next free block there, which glibc encodes by its own address, and
        a random word. With TVMFFI_DEBUG a dead object's deleter complains."""
        if not self.weak or 1 << 24 <= self.weak < 3 << 30:
            return True
        if symbol_at(self.deleter) == "tvmffi_i_debug_complain":
            return True
        if pointer_size() == 4:
            return 0xffff < self.strong < 0xc0000000 and is_readable(
                self.strong)
        word, key = self.counts, self.address >> 12
        return 1 < self.weak < 1 << 16 and (
            word == key or is_readable(word) or is_readable(word ^ key))

    def references(self):
        if self.strong >= 1 << 31:
            return "never freed"
        text = f"{self.strong} reference" + "s" * (self.strong != 1)
        # All strong references together own one weak one.
        return text + (f", {self.weak - 1} weak" if self.weak > 1 else "")

    def text(self, what=""):
        return f"{self.key} {what}".rstrip() + f", {self.references()}"


def view_object(address, in_any=False):
    """An object by its address. A string in an Any is its text alone."""
    header = Header(address)
    body = address + HEAD
    view = VIEWS.get(header.index, view_fields)(header, body)
    view.address = address
    if header.index in (STR, BYTES) and not in_any:
        view.head = f"{view.head_text(())}, {header.references()}"
    return view


def view_error(header, body):
    kind, kind_size, text, text_size = members(body, "pppp")
    cause, context = members(body, "ppppppppp")[7:]

    def children():
        if cause:
            yield "cause", Place("object", cause)
        if context and context != cause:
            yield "context", Place("object", context)

    kind = read(kind, min(kind_size, 256)).decode("utf-8", "replace") \
        if kind_size else ""
    text = Text(text, text_size).to_text()
    return View(header.text(f"{kind}: {text}"),
                children if cause or context else None)


def view_function(header, body):
    call, _, _, inner = members(body, "pppp")
    name = global_name(header.address)
    if name is None:
        name = symbol_at(call) or f"at {call:#x}"
        if name == "tvmffi_i_call_closure":
            name = symbol_at(inner) or f"at {inner:#x}"
        name = re.sub(r"^(tvmffi_call_|__tvm_ffi_)", "", name)
    return View(header.text(name))


def view_shape(header, body):
    data, size = members(body, "pp")
    if size > 1 << 16:
        raise Remark(f"damaged ffi.Shape at {header.address:#x}: {size} sizes")
    return View(header.text(str(integers(data, size))))


def view_sequence(header, body):
    data, size, capacity = members(body, "pQQ")
    if not 0 <= size <= capacity:
        raise Remark(f"damaged {header.key} at {header.address:#x}: {size} "
                     f"items of {capacity}")

    def children():
        for i in range(size):
            yield f"[{i}]", Place("any", data + i * ANY_SIZE)

    return View(header.text() + f", size {size}", children, "array")


MAP = "pqqpiqq"  # data, size, slots, deleter, shift, first slot, last slot
ROW = 1 << 63
SLOT = 48  # key, value, two slots


def view_map(header, body):
    data, size, slots = members(body, MAP)[:3]
    is_row = bool(slots & ROW)
    capacity = slots & ~ROW
    if size > capacity:
        raise Remark(f"damaged {header.key} at {header.address:#x}: {size} "
                     f"entries of {capacity}")

    def children():
        slot = 0 if is_row else members(body, MAP)[5]
        for i in range(size):
            if slot >= capacity:
                raise Remark(f"damaged map: slot {slot} of {capacity}")
            # Blocks of sixteen slots, after a byte for each of them.
            pair = data + 2 * ANY_SIZE * slot if is_row else \
                data + slot // 16 * 16 * (SLOT + 1) + 16 + slot % 16 * SLOT
            yield f"key {i}", Place("any", pair)
            yield f"value {i}", Place("any", pair + ANY_SIZE)
            slot = slot + 1 if is_row else members(
                pair + 2 * ANY_SIZE, "qq")[1]

    return View(header.text() + f", size {size}", children, "map")


def view_module(header, body):
    """A module; of a library that our runtime opened, its path: the handle of
    dlopen is a link_map, which begins with an address and a name."""
    imports, _, library = members(body, "ppp")
    # The C++ object begins before its header.
    before = 8 if layout("iq")[1][0] == 8 else 4
    methods = symbol_at(pointer_at(header.address - before)) or ""
    name = re.sub(r"^vtable for ", "", methods)
    if methods.startswith("tvmffi_i_"):
        name = "of the system library"
        handle = pointer_at(library + HEAD)
        path = pointer_at(handle + pointer_size()) if handle else 0
        if path:
            name = view_pointer(RAW_STR, path).head_text(())

    def children():
        yield "imports", Place("object", imports)

    return View(header.text(name), children if imports else None)


def view_big_int(header, body):
    size = pointer_at(body)
    if size > 1 << 16:
        raise Remark(f"damaged {header.key} at {header.address:#x}")
    words = read(body + 8, 8 * size)
    if byte_order() == "big":  # the words are least significant first
        words = b"".join(words[i:i + 8] for i in range(len(words) - 8, -1, -8))
    value = int.from_bytes(words, byte_order(), signed=True)
    return View(header.text(str(value)))


def view_fields(header, _body):
    """An object of any other type: its fields, the ancestors' first."""
    info = type_of(header.index, header.deleter)
    struct = None if info else struct_of(header.deleter)
    if struct:
        return view_struct(header, struct[0])

    def children():
        for parent in (*info.parents(), info):
            for field in parent.own_fields():
                yield field.name, field.value(header.address)

    return View(header.text(), children if info else None)


def view_struct(header, name):
    """An object by the struct that C declares."""
    def children(value=None):
        if value is None:
            value = gdb.Value(header.address).cast(
                gdb.lookup_type(name).pointer()).dereference()
        base, *fields = value.type.strip_typedefs().fields()
        if not is_header(base.type):
            yield from children(value[base])
        for field in fields:
            yield field.name, value[field]

    return View(header.text(), children)


VIEWS = {
    STR: lambda header, body: View(Text(*members(body, "pp"))),
    BYTES: lambda header, body: view_bytes(*members(body, "pp")),
    ERROR: view_error, FUNCTION: view_function, SHAPE: view_shape,
    TENSOR: lambda header, body: view_tensor(body, f"{header.text()}, "),
    ARRAY: view_sequence, LIST: view_sequence, 72: view_map, DICT: view_map,
    MODULE: view_module, BIG_INT: view_big_int,
    OPAQUE: lambda header, body: View(header.text(
        f"(void *) {pointer_at(body):#x}"))}


# -- gdb's printers ------------------------------------------------------

OPEN = []  # the objects whose children gdb is printing, the outermost first


class Printer:
    """Prints a view without children."""

    def __init__(self, view):
        self.view = view

    def to_string(self):
        head = self.view.head
        if not isinstance(head, Text):
            return self.view.head_text(OPEN)
        if not head.size:
            return ""
        if not is_readable(head.address):
            return f"<cannot read memory at {head.address:#x}>"
        return gdb.Value(head.address).cast(
            gdb.lookup_type("char").pointer()).lazy_string(
                "utf-8", length=head.size)

    def display_hint(self):
        head = self.view.head
        return "string" if isinstance(head, Text) and (
            not head.size or is_readable(head.address)) else self.view.hint


class Tree(Printer):
    """Prints a view with children."""

    def children(self):
        view = self.view
        if view.is_hidden(OPEN):
            return
        OPEN.append(view.address)
        try:
            for name, child in safely(view.children):
                yield name, child.to_gdb() if isinstance(child, Place) \
                    else child
        finally:
            OPEN.remove(view.address)


def is_header(kind):
    while kind.name != "TVMFFIObject" and kind.code == gdb.TYPE_CODE_TYPEDEF:
        kind = kind.target()
    return kind.name == "TVMFFIObject"


def is_object(kind):
    """Whether a type is TVMFFIObject, or a struct that begins with one."""
    while not is_header(kind):
        kind = kind.strip_typedefs()
        members_of = kind.fields() if kind.code == gdb.TYPE_CODE_STRUCT else []
        if not members_of or getattr(members_of[0], "bitpos", 1):
            return False
        kind = members_of[0].type.unqualified()
    return True


def view_value(value):
    """Returns the View of a value of gdb, or None if its type is no matter of
    ours."""
    if value.type.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
        value = value.referenced_value()
    kind = value.type.unqualified()
    while kind.name not in VALUES and kind.code == gdb.TYPE_CODE_TYPEDEF:
        kind = kind.target().unqualified()
    if kind.name in VALUES:
        return VALUES[kind.name](value)
    if kind.code != gdb.TYPE_CODE_PTR:
        return None
    target = kind.target().unqualified()
    name = target
    while name.code == gdb.TYPE_CODE_TYPEDEF and name.name != "DLTensor":
        name = name.target().unqualified()
    if name.name == "DLTensor":
        return view_tensor(int(value), f"(DLTensor *) {int(value):#x} ")
    return view_object(int(value)) if is_object(target) else None


def any_value(value):
    if value.address is not None:
        return view_any_at(int(value.address))
    payload = int(value["v_uint64"]).to_bytes(8, byte_order())
    return view_any(int(value["type_index"]), int(value["small_str_len"]),
                    payload)


def object_value(value):
    """The struct itself, the base of a larger one say: its head alone."""
    return View(Header(int(value.address)).text())


def byte_array(value):
    address, size = int(value["data"]), int(value["size"])
    if not address and not size:
        return View("{NULL, 0}")
    if not address or size > 1 << 40:
        raise Remark(f"{size} bytes at {address:#x}")
    return View(Text(address, size))


def device_value(value):
    return View(device_text(int(value["device_type"]), int(value["device_id"])))


VALUES = {
    "TVMFFIAny": any_value,
    "TVMFFIObject": object_value,
    "TVMFFIObjectHandle": lambda value: view_object(int(value)),
    "TVMFFIByteArray": byte_array,
    "TVMFFIShapeCell": lambda value: View(str(integers(
        int(value["data"]), min(int(value["size"]), 1 << 16)))),
    "DLTensor": lambda value: view_tensor(int(value.address)),
    "DLDataType": lambda value: View(dtype_text(
        *[int(value[name]) for name in ("code", "bits", "lanes")])),
    "DLDevice": device_value}


def look_up(value):
    """gdb's hook: the printer of a value, or None."""
    try:
        view = view_value(value)
    except Remark as remark:
        view = View(remark.text())
    except (gdb.error, TypeError):
        return None  # optimised out, or not in memory: as gdb prints it
    if view is None:
        return None
    return Tree(view) if view.children else Printer(view)


look_up.name = "tvmffi"
look_up.enabled = True


# -- commands ------------------------------------------------------------

def address_of(text):
    """Returns the address of the object that an expression is: a pointer, an
    integer, or an Any."""
    value = gdb.parse_and_eval(text)
    kind = value.type.unqualified()
    while kind.name != "TVMFFIAny" and kind.code == gdb.TYPE_CODE_TYPEDEF:
        kind = kind.target().unqualified()
    if kind.name != "TVMFFIAny":
        if kind.code == gdb.TYPE_CODE_STRUCT and is_object(kind):
            value = value.address
        return int(value)
    if int(value["type_index"]) < OBJECT:
        raise Remark(f"no object: {any_value(value).text_of()}")
    return int(value["v_ptr"])


class Command(gdb.Command):
    def __init__(self, name):
        super().__init__(name, gdb.COMMAND_DATA, gdb.COMPLETE_EXPRESSION)

    def invoke(self, argument, _from_tty):
        try:
            self.run(argument)
        except Remark as remark:
            raise gdb.GdbError(str(remark)) from None


class ObjectCommand(Command):
    """tvmffi-object EXPRESSION: the object's type, counts and content.

The expression is a pointer, an address or a TVMFFIAny. Unlike print, it needs
no debug information of the types."""

    def run(self, argument):
        if not argument:
            raise gdb.GdbError("tvmffi-object: which object?")
        address = address_of(argument)
        header = Header(address)
        info = type_of(header.index, header.deleter)
        parents = [p.key for p in info.parents()] if info else []
        gdb.write(f"type       {header.key}, index {header.index}"
                  + "".join(f" < {key}" for key in reversed(parents)) + "\n"
                  f"references {header.references()}\n"
                  f"address    {address:#x}\n"
                  f"deleter    {symbol_at(header.deleter) or 'none'}\n"
                  f"value      {view_object(address).text_of()}\n")


def error_text(address):
    """Returns an error as Python prints it, its causes first."""
    chain = []
    while address and len(chain) < 64:
        header = Header(address)
        if header.index != ERROR:
            raise Remark(f"not an error, but {header.text()}")
        chain.append(members(address + HEAD, "pppppppp"))
        address = chain[-1][7]
    texts = []
    for cell in reversed(chain):
        kind, message, trace = [
            read(cell[i], cell[i + 1]).decode("utf-8", "backslashreplace")
            if cell[i + 1] else "" for i in (0, 2, 4)]
        # The stored trace has the most recent call first.
        lines = reversed(trace.splitlines(True))
        texts.append("Traceback (most recent call last):\n" + "".join(lines)
                     + f"{kind}: {message}\n")
    return ("\nThe above exception was the direct cause of the following "
            "exception:\n\n").join(texts)


class TracebackCommand(Command):
    """tvmffi-traceback [EXPRESSION]: an error's traceback, its causes first.

The expression is a pointer, an address or a TVMFFIAny; without it, it is the
error that the selected thread has raised."""

    def run(self, argument):
        if argument:
            gdb.write(error_text(address_of(argument)))
            return
        try:
            address = int(gdb.parse_and_eval(
                "*(unsigned long *)&tvmffi_i_the_thread"))
        except gdb.error as error:
            raise Remark(f"the thread's error is not to be found: {error}")
        gdb.write(error_text(address) if address else "no error is raised\n")


def install(where):
    """Adds the printers, in the place of those of an earlier copy."""
    where.pretty_printers[:] = [look_up] + [
        p for p in where.pretty_printers
        if getattr(p, "name", None) != look_up.name]
    ObjectCommand("tvmffi-object")
    TracebackCommand("tvmffi-traceback")


install(gdb)
