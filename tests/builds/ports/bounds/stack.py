#!/usr/bin/env python3
"""The worst-case stack of each function of a program, in bytes.

The compiler writes a function's frame and its calls (-fcallgraph-info=su). Two
lists below add what the compiler does not know: which functions a call by
pointer reaches, and how often a cycle of calls repeats at most. A call by
pointer or a cycle that no list has is an error. The frames of the compiler's
own support functions come from the disassembly. Static functions of one name
in several files count as one, with the largest frame and all calls.
"""

import argparse
import fnmatch
import functools
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

POINTER = "__indirect_call"
SHARED = re.compile(r"^\*?(tvmffi_i_\d+_\d+_\d+_(no_metadata_)?(no_threads_)?"
                    r"(?=tvmffi_))?")
# Code whose stack is not counted. CALL is the packed function that is called;
# USER is a deleter, getter or hook of a user's type, or of an ffi.StructuralKey.
CALL, USER = "(packed function)", "(user's code)"

DELETERS = ["tvmffi_i_delete_*", USER]
DATA = ["tvmffi_i_free", "tvmffi_i_delete_items", "tvmffi_i_map_free_nothing"]
GETTERS = ["tvmffi_i_get_*_field", "tvmffi_i_get_reference",
           "tvmffi_i_read_[A-Z]*", USER]
SETTERS = ["tvmffi_i_set_*_field", "tvmffi_i_set_array",
           "tvmffi_i_set_columns", "tvmffi_i_set_indexes",
           "tvmffi_i_set_items", "tvmffi_i_set_optional*",
           "tvmffi_i_set_reference", "tvmffi_i_set_str",
           "tvmffi_i_write_[A-Z]*", USER]
ATTRIBUTES = ["tvmffi_i_hash_bigint", "tvmffi_i_equal_bigint", USER]
CREATORS = ["tvmffi_i_create_*", USER]
CASTS = ["tvmffi_i_cast_*"]
# For each function that calls by pointer, the functions that it reaches.
POINTERS = {
    # Packed functions.
    "TVMFFIFunctionCall": [CALL],
    "tvmffi_i_check_call": [CALL],
    "tvmffi_i_call_closure": [CALL],
    "tvmffi_i_call_library": [CALL],
    "tvmffi_i_call_usual": ["tvmffi_i_take_*", CALL],
    "tvmffi_i_call_wide": ["tvmffi_i_take_*", CALL],
    "tvmffi_i_call_now": ["tvmffi_i_take_*", CALL],
    "tvmffi_i_deliver": ["tvmffi_i_take_*"],
    # Deleters and destructors.
    "tvmffi_i_release": DELETERS,
    "tvmffi_i_release_rest": DELETERS,
    "tvmffi_weak_release": DELETERS,
    "tvmffi_i_end_pending": DELETERS,
    "tvmffi_i_destroy": ["tvmffi_i_destroy_*"],
    "tvmffi_i_destroy_closure": ["tvmffi_i_free", "tvmffi_i_map_end_iterator",
                                 "tvmffi_release", USER],
    "tvmffi_i_new_closure": ["tvmffi_i_free", "tvmffi_i_map_end_iterator"],
    "tvmffi_i_destroy_opaque": [USER],
    "tvmffi_i_destroy_imported": [USER],
    "tvmffi_i_destroy_imported_versioned": [USER],
    "tvmffi_i_destroy_seq": DATA,
    "tvmffi_i_set_capacity": DATA,
    "tvmffi_i_map_free_data": DATA,
    # Fields, and objects made by their type's name.
    "tvmffi_i_get_field": GETTERS,
    "tvmffi_i_read_next": GETTERS,
    "tvmffi_i_read_field": GETTERS,
    "tvmffi_i_run": GETTERS,
    "tvmffi_i_compare_all": GETTERS,
    "tvmffi_i_set_field": SETTERS,
    "tvmffi_i_call_setter": SETTERS,
    "tvmffi_i_make_empty": CREATORS,
    "tvmffi_i_call_new": CREATORS,
    "tvmffi_i_foreign_fields": [USER],
    # Classes: their types, members and objects.
    "tvmffi_i_class_add_field": ["tvmffi_i_value_[A-Z]*", USER],
    "tvmffi_i_class_add_method": ["tvmffi_i_method_[A-Z]*", USER],
    "tvmffi_i_class_delete": ["tvmffi_i_default_delete", USER],
    "tvmffi_i_class_make": ["tvmffi_i_default_allocate", USER],
    "tvmffi_i_class_set_value": SETTERS,
    "tvmffi_i_append_defaults": ["tvmffi_defaults_*", USER],
    # The arguments of built-in functions, and those that the runtime calls.
    "tvmffi_i_call_builtin": ["tvmffi_i_get_i_*"],
    "tvmffi_i_refuse_builtin": ["tvmffi_i_array_to_list"],
    "tvmffi_i_call_typed": ["tvmffi_i_get_i_*", "tvmffi_i_array_to_list",
                            "tvmffi_call_i_List?*", "tvmffi_call_i_Dict?*",
                            "tvmffi_call_i_path_steps",
                            "tvmffi_call_i_json_Stringify"],
    # Conversions of the items of a container.
    "tvmffi_i_say_part": CASTS,
    "tvmffi_i_convert_item": ["tvmffi_i_get_i_*", USER],
    # Visitors and hooks.
    "tvmffi_i_enter_foreign": [USER],
    "tvmffi_i_visit_by": [USER],
    "tvmffi_i_pop_visit": ["tvmffi_i_remap_set", USER],
    # The frames of walks, and what walks do if a hook calls back.
    "tvmffi_i_cut_frames": ["tvmffi_i_pop_frame", "tvmffi_i_pop_found",
                            "tvmffi_i_pop_recursive", "tvmffi_i_pop_compared",
                            "tvmffi_i_pop_structural",
                            "tvmffi_i_leave_hashed"],
    "tvmffi_i_call_walk": ["tvmffi_i_*_again"],
    "tvmffi_call_i_StructuralMutatorVarRemapSet": [
        "tvmffi_i_remap_set", USER],
    "tvmffi_i_descend": ["tvmffi_i_remap_get", "tvmffi_i_mutate_leaf", USER],
    "tvmffi_call_i_StructuralMutatorVarRemapGet": [
        "tvmffi_i_remap_get", USER],
    "tvmffi_i_call_attr_value": ATTRIBUTES,
    "tvmffi_i_call_attr": ATTRIBUTES,
    # Comparisons of items that are sorted.
    "tvmffi_i_sort": ["tvmffi_i_*_less"],
    # Modules and the environment.
    "tvmffi_i_call_method": ["tvmffi_i_library_method", USER],
    "tvmffi_i_library_text": [CALL],
    "tvmffi_i_visit_imports": ["tvmffi_i_search_module",
                               "tvmffi_i_is_same_module"],
    "tvmffi_i_search_module": ["tvmffi_i_library_method", USER],
    "tvmffi_i_init_handle": ["tvmffi_i_make_system_module", USER],
    "TVMFFIHandleDeinitOnce": [USER],
    "TVMFFIEnvTensorAlloc": [USER],
    "TVMFFIEnvCheckSignals": [USER],
}
# Built-in functions that read their arguments themselves.
PACKED = ["tvmffi_call_i_Array", "tvmffi_call_i_List", "tvmffi_call_i_Map",
          "tvmffi_call_i_Dict", "tvmffi_call_i_Shape",
          "tvmffi_call_i_SystemLib", "tvmffi_call_i_MakeObjectFromPackedArgs"]
# Functions that nobody calls by name, and that are packed functions or hooks
# of the ABI's structs: their callers are the runtime's user. The getters of
# words are inlined where a word is a constant.
ENTRIES = ["tvmffi_i_get_i_*", "tvmffi_call_*", "tvmffi_i_call_*",
           "tvmffi_i_map_iterate", "tvmffi_i_on_exit",
           "tvmffi_i_class_call_*", "tvmffi_i_init_[A-Z]*",
           "tvmffi_i_enter_visitor", "tvmffi_i_enter_mutator",
           "tvmffi_i_enter_unique", "tvmffi_i_visit_container",
           "tvmffi_i_mutate_container", "tvmffi_i_mutate_in_place",
           "tvmffi_i_hash_structural_key", "tvmffi_i_equal_structural_key",
           "tvmffi_i_name_at", "tvmffi_i_update_trace",
           "tvmffi_i_ignore_trace", "tvmffi_i_virtual_*",
           "tvmffi_i_default_*", "tvmffi_i_allocator_failed"]

# The cycles: calls from one of some functions to one of others, how often a
# chain of calls has them at most, and why.
CYCLES = [
    (["tvmffi_i_release", "tvmffi_i_release_rest", "tvmffi_i_end_pending",
      "tvmffi_weak_release"],
     ["tvmffi_i_delete_*"], 6,
     "destructors nest up to TVMFFI_I_NESTED, 4, and one that is resumed; one "
     "more only puts its object on the list of pending objects"),
    (["tvmffi_i_call_typed", "tvmffi_i_refuse_builtin"],
     ["tvmffi_i_call_typed"], 1,
     "the second call gets a list"),
    (["tvmffi_i_visit_imports"], ["tvmffi_i_search_module"], 1,
     "a module that is searched may compare its imports, and searches none"),
    (["tvmffi_i_say_type"], ["tvmffi_i_say_type"], 2,
     "type words nest: array(map(str, int64)) has two levels of items"),
    (["tvmffi_i_append_type"], ["tvmffi_i_append_type"], 2,
     "type words nest"),
    (["tvmffi_i_say_got", "tvmffi_i_say_part"], ["tvmffi_i_say_got"], 2,
     "type words nest"),
    (["tvmffi_i_convert_items", "tvmffi_i_convert_each",
      "tvmffi_i_convert_pair", "tvmffi_i_convert_container"],
     ["tvmffi_i_convert_item"], 2,
     "type words nest"),
    (["tvmffi_i_class_start"], ["tvmffi_i_class_start"], 4,
     "a type starts its parent; four classes inherit from one another"),
    (["tvmffi_i_counterpart"], ["tvmffi_i_equal_keys"], 0,
     "docs/porting.md adds a figure for each level of a structural key"),
    (["tvmffi_i_map_read_pointed"], ["tvmffi_i_map_read_pointed"], 1,
     "an rvalue reference refers to an object, not to another reference"),
]
# Functions that check their arguments, and what they call if a check fails. The
# runtime itself, and TVMFFI_RAISE, pass errors, pointers and texts, so only the
# calls of PASS_ANY, which pass on what a client gave, get so far.
ERROR_CHECKS = ["tvmffi_i_check_type", "tvmffi_i_bad_bytes", "tvmffi_i_null"]
CHECKS = {
    "TVMFFIErrorSetRaised": ERROR_CHECKS,
    "TVMFFIErrorCreateWithCauseAndExtraContext": ERROR_CHECKS,
    "TVMFFIErrorCreate": ERROR_CHECKS,
    "TVMFFIErrorMoveFromRaised": ["tvmffi_i_null"],
    "tvmffi_i_raise_error": ERROR_CHECKS,
    # The type of an object that dies is known. Finding it needs less stack than
    # the release that follows.
    "tvmffi_i_foreign_fields": ["TVMFFIGetTypeInfo"],
}
PASS_ANY = {"tvmffi_raise_from", "tvmffi_error_raise",
            "TVMFFIErrorSetRaised", "TVMFFIErrorCreate",
            "TVMFFIErrorCreateWithCauseAndExtraContext",
            "TVMFFIErrorMoveFromRaised"}


class Failure(Exception):
    pass


def base(name):
    """The name in the source: without .constprop.0, .isra.0 and .part.0."""
    return name.split(".")[0]


def plain(name):
    """The name without the mark and the version of a function that files share
    (src/head/share.h), such as *tvmffi_i_0_1_0_no_threads_tvmffi_release."""
    return SHARED.sub("", name)


def is_ours(name):
    return name.startswith(("tvmffi_", "TVMFFI"))


def matching(names, patterns):
    return {n for n in names
            if any(fnmatch.fnmatchcase(base(n), p) for p in patterns)}


def tool(*command):
    return subprocess.run([str(c) for c in command], check=True,
                          capture_output=True, text=True).stdout


@functools.lru_cache
def frames_of_machine_code(elf, cross):
    """Returns for each function of the program the bytes that its instructions
    push, all together, and the functions that it branches to."""
    pushed, calls, name = defaultdict(int), defaultdict(set), None
    for line in tool(cross + "objdump", "-d", "--no-show-raw-insn",
                     elf).splitlines():
        begin = re.match(r"[0-9a-f]+ <(\S+)>:", line)
        if begin:
            name = plain(begin[1])
            pushed[name] += 0
            continue
        word = re.match(r"\s*[0-9a-f]+:\s+(\S+)\s+(.*)", line)
        if not word:
            continue
        code, rest = word[1], word[2]
        registers = re.search(r"\{(.*)\}", rest)
        if code.startswith(("push", "stmdb")) and registers:
            pushed[name] += 4 * count_registers(registers[1])
        grown = re.match(r"sp, (?:sp, )?#(\d+)", rest)
        if code.startswith("sub") and grown:
            pushed[name] += int(grown[1])
        stored = re.search(r"\[sp, #-(\d+)\]!", rest)
        if stored:
            pushed[name] += int(stored[1])
        target = re.search(r"<([\w.]+)>", rest)
        if code.startswith("b") and target and plain(target[1]) != name:
            calls[name].add(plain(target[1]))
    return pushed, calls


def count_registers(text):
    count = 0
    for part in text.split(","):
        ends = re.findall(r"[rs](\d+)", part)
        count += int(ends[1]) - int(ends[0]) + 1 if len(ends) == 2 else 1
    return count


class Graph:
    """The functions of a program, their frames and their calls."""

    def __init__(self, infos, elf, cross="arm-none-eabi-"):
        self.frame, self.calls = {}, defaultdict(set)
        self.by_pointer, self.from_machine_code = set(), set()
        for info in infos:
            self.read(info)
        self.link(elf, cross)
        self.add_machine_code(elf, cross)
        self.callers = set().union(*self.calls.values())
        self.resolve()
        self.checks = {}
        for name, calls in self.calls.items():
            self.checks[name] = calls & set(CHECKS.get(base(name), []))
            calls -= self.checks[name]
        self.cut()
        self.straights, self.untils, self.worsts = {}, {}, {}
        self.befores = {}
        self.names = sorted(self.frame.keys() - {CALL, USER})

    def read(self, info):
        for line in info.read_text().splitlines():
            names = [plain(n.rpartition(":")[2])
                     for n in re.findall(r'(?:title|name): "([^"]*)"', line)]
            if line.startswith("node"):
                size = re.search(r"(\d+) bytes \((\w+)", line)
                if size and size[2] != "static":
                    raise Failure(f"{names[0]}: its frame has no fixed size")
                if size:
                    self.frame[names[0]] = max(int(size[1]),
                                               self.frame.get(names[0], 0))
            elif line.startswith("edge") and names[1] == POINTER:
                self.by_pointer.add(names[0])
            elif line.startswith("edge"):
                self.calls[names[0]].add(names[1])

    def link(self, elf, cross):
        """Removes the functions that the linker dropped, and adds the other
        names of functions whose code the compiler merged."""
        at, linked = defaultdict(set), set()
        for line in tool(cross + "nm", elf).splitlines():
            words = line.split()
            if len(words) == 3 and words[1] in "tTwW":
                at[words[0]].add(plain(words[2]))
                linked.add(plain(words[2]))
        for name in self.frame.keys() - linked:
            del self.frame[name]
            self.calls.pop(name, None)
        self.by_pointer &= linked
        for names in at.values():
            known = names & self.frame.keys()
            for name in names - known:
                if known:
                    self.frame[name] = 0
                    self.calls[name] |= known

    def add_machine_code(self, elf, cross):
        pushed, calls = frames_of_machine_code(elf, cross)
        left = set().union(*self.calls.values()) - self.frame.keys()
        while left:
            name = left.pop()
            if name not in pushed:
                # The compiler dropped the call after it had written the graph.
                for calls_of in self.calls.values():
                    calls_of.discard(name)
                continue
            if is_ours(name):
                raise Failure(f"no .ci file has {name}")
            self.frame[name] = pushed[name]
            self.calls[name] = calls[name]
            self.from_machine_code.add(name)
            left |= calls[name] - self.frame.keys()

    def resolve(self):
        for name in self.by_pointer:
            targets = self.targets(name)
            self.calls[name] |= matching(self.frame, targets)
            self.calls[name] |= {CALL, USER} & set(targets)
        self.frame.update({CALL: 0, USER: 0})
        self.add_typed()
        listed = ENTRIES + sum(POINTERS.values(), [])
        lost = [n for n in self.frame.keys() - self.callers
                if n.startswith("tvmffi_i_") and not matching([n], listed)]
        if lost:
            raise Failure("nobody calls, and no list has: "
                          + " ".join(sorted(lost)))

    def add_typed(self):
        """Adds to each built-in function that is not packed the stack of the
        functions that convert its arguments and call it."""
        for typed in matching(self.frame, ["tvmffi_i_call_typed",
                                           "tvmffi_i_call_builtin"]):
            converts = {n for n in self.calls[typed] if not n.startswith(
                ("tvmffi_call_i_", "tvmffi_i_call_typed"))}
            for name in matching(self.frame, ["tvmffi_call_i_*"]) - \
                    matching(self.frame, PACKED):
                self.frame[name] += self.frame[typed]
                self.calls[name] |= converts

    def targets(self, name):
        """The patterns of the functions that a call by pointer reaches. In the
        user's functions these are inlined packed calls, and in deleters of the
        user's types their destructors."""
        if base(name) in POINTERS:
            return POINTERS[base(name)]
        if not name.startswith("tvmffi_i_"):
            return [CALL]
        if fnmatch.fnmatchcase(name, "tvmffi_i_delete_[A-Z]*"):
            return [USER, "tvmffi_i_default_delete"]
        raise Failure(f"{name} calls by pointer, and is not in the list")

    def cut(self):
        """Moves the calls of CYCLES from self.calls to self.again, and fails if
        a cycle is left. Functions that may call one another, by such calls,
        get the same number in self.group."""
        self.again = []
        for sources, targets, times, _ in CYCLES:
            edges = {(source, target)
                     for source in matching(self.frame, sources)
                     for target in matching(self.calls[source], targets)}
            for source, target in edges:
                self.calls[source].discard(target)
            if edges:
                self.again.append((edges, times))
        order = []
        self.order(self.calls, self.frame, order)
        place = {name: i for i, name in enumerate(order)}
        for name in order:
            for target in self.calls[name]:
                if place[target] >= place[name]:
                    raise Failure("a cycle that no list has: " + " > ".join(
                        [name, *self.chain(target, name)]))
        whole = {name: set(targets) for name, targets in self.calls.items()}
        callers = defaultdict(set)
        for edges, _ in self.again:
            for source, target in edges:
                whole[source].add(target)
        for name, targets in whole.items():
            for target in targets:
                callers[target].add(name)
        order, self.group = [], {}
        self.order(whole, self.frame, order)
        for number, name in enumerate(reversed(order)):
            left = [name]
            while left:
                member = left.pop()
                if member not in self.group:
                    self.group[member] = number
                    left += callers[member]
        self.whole = whole

    @staticmethod
    def order(calls, names, order):
        """Appends the functions so that callees come before callers, if there
        are no cycles."""
        done = set()
        for start in sorted(names):
            left = [(start, False)]
            while left:
                name, is_after = left.pop()
                if is_after:
                    order.append(name)
                elif name not in done:
                    done.add(name)
                    left.append((name, True))
                    left += [(t, False) for t in sorted(calls.get(name, ()))]

    def chain(self, start, end):
        """Returns the functions of a shortest chain of calls."""
        chains = {start: [start]}
        for name in iter_breadth(start, self.calls):
            if name == end:
                break
            for target in self.calls[name]:
                chains.setdefault(target, [*chains[name], target])
        return chains.get(end, [start])

    def straight(self, name):
        """The largest stack of a chain from `name` that takes no call of CYCLES
        between functions of its group, and the next function of the chain."""
        if name not in self.straights:
            best = max(((self.straight(t)[0]
                         if self.group[t] == self.group[name]
                         else self.unchecked(t), t) for t in self.calls[name]),
                       default=(0, None))
            self.straights[name] = (self.frame[name] + best[0], best[1])
        return self.straights[name]

    def until(self, name, ends):
        """The largest stack of a chain within a group from `name` to one of
        `ends`, with both frames; -1 if there is none."""
        key = (name, ends)
        if key not in self.untils:
            best = max([self.until(t, ends) for t in self.calls[name]
                        if self.group[t] == self.group[name]]
                       + [0 if name in ends else -1])
            self.untils[key] = self.frame[name] + best if best >= 0 else -1
        return self.untils[key]

    def worst(self, name):
        """Returns the worst-case stack of a function with all that it calls,
        but for CALL and USER."""
        if base(name) in PASS_ANY:
            return self.failed_check(name)
        clients = {n for n in self.reaches(name) if not is_ours(n)}
        passed = {t for n in clients for t in self.calls[n]
                  if base(t) in PASS_ANY}
        return max([self.unchecked(name)]
                   + [self.before(name, t) + self.failed_check(t)
                      for t in passed])

    def worst_with(self, name, called):
        """The same, if the function calls one of some packed functions."""
        before = self.before(name, CALL)
        return max([self.worst(name)]
                   + [before + self.worst(c) for c in called])

    def worst_of(self, chain):
        """The same of functions that call each other by pointer: each calls
        the next as a packed function, or as the user's code."""
        most, before = self.worst(chain[0]), 0
        for name, called in zip(chain, chain[1:]):
            reached = max(self.before(name, CALL), self.before(name, USER))
            if reached < 0:
                raise Failure(f"{name} calls nothing by pointer")
            before += reached
            most = max(most, before + self.worst(called))
        return most

    def failed_check(self, name):
        """The worst-case stack of a function that a client gave anything."""
        below = [self.unchecked(t) for t in self.checks[name]]
        below += [self.failed_check(t) for t in self.calls[name]
                  if base(t) in CHECKS]
        return max([self.unchecked(name)]
                   + [self.frame[name] + size for size in below])

    def unchecked(self, name):
        """The worst-case stack if no check of CHECKS fails. A chain repeats a
        cycle as often as CYCLES says: each time adds the cycle's largest chain
        of calls."""
        if name not in self.worsts:
            group = self.group[name]
            inside = [(edges, times) for edges, times in self.again
                      if any(self.group[s] == self.group[t] == group
                             for s, t in edges)]
            ends = frozenset(s for edges, _ in inside for s, _ in edges)
            size, lead = self.straight(name)[0], self.until(name, ends)
            if inside and lead >= 0:
                # The last time, the chain goes on and does not return.
                rounds = [(max(0, *(self.until(t, ends) for _, t in edges)),
                           times) for edges, times in inside]
                repeated = sum(part * times for part, times in rounds)
                repeated -= min(part for part, _ in rounds)
                last = max(self.straight(t)[0]
                           for edges, _ in inside for _, t in edges)
                size = max(size, lead + repeated + last)
            self.worsts[name] = size
        return self.worsts[name]

    def before(self, name, end):
        """The largest stack of a chain without repetitions from `name` to the
        call of `end`; -1 if there is none."""
        if name == end:
            return 0
        if (name, end) not in self.befores:
            best = max((self.before(t, end) for t in self.calls[name]),
                       default=-1)
            self.befores[name, end] = best + self.frame[name] \
                if best >= 0 else -1
        return self.befores[name, end]

    def reaches(self, name):
        """Returns the functions that a function calls, also by others."""
        return set(iter_breadth(name, self.whole))

    def adds(self, name):
        """Which of CALL and USER the stack of a function does not include."""
        return self.reaches(name) & {CALL, USER}

    def path(self, name):
        """Returns the chain of calls that needs most, without repetitions."""
        names = [name]
        while self.straight(names[-1])[1]:
            names.append(self.straight(names[-1])[1])
        return names


def iter_breadth(start, calls):
    seen, left = {start}, [start]
    for name in left:
        yield name
        for target in sorted(calls.get(name, set()) - seen):
            seen.add(target)
            left.append(target)


def find(graph, name):
    """The function in the machine code of a function, a typed function, or a
    built-in function, which is named as in TVMFFI_BUILTINS."""
    for prefix in ("", "tvmffi_call_", "tvmffi_call_i_"):
        if prefix + name in graph.names:
            return prefix + name
    raise Failure(f"the program has no function {name}")


def main():
    parser = argparse.ArgumentParser(
        description="Prints the worst-case stack of functions of a program. "
        "Compile all its files with -fcallgraph-info=su.")
    parser.add_argument("elf", help="the linked program")
    parser.add_argument("info", nargs="+", type=Path,
                        help="the .ci files of all its files")
    parser.add_argument("--of", action="append", required=True,
                        metavar="FUNCTION[,CALLED...]",
                        help="a function, such as a task's, and what it calls "
                        "by pointer: typed functions, built-in functions as "
                        "TVMFFI_BUILTINS names them, hooks, each called by the "
                        "one before")
    parser.add_argument("--cross", default="arm-none-eabi-",
                        help="the prefix of nm and objdump")
    options = parser.parse_args()
    try:
        graph = Graph(options.info, options.elf, options.cross)
        print("No .ci file has these, so calls by pointer in them are not "
              "counted:", *sorted(graph.from_machine_code))
        for chain in options.of:
            names = [find(graph, name) for name in chain.split(",")]
            left = graph.adds(names[-1])
            print(f"{chain}: {graph.worst_of(names)} bytes"
                  + "".join(f", without {part}" for part in sorted(left)))
    except Failure as error:
        sys.exit(f"stack.py: {error}")


if __name__ == "__main__":
    main()
