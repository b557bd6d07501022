// Arrays and lists that C++ changes inline and the library behind its global
// functions: what one made the other changes, grows and ends, and both must
// see the same items in the same room. Runs on whichever libtvm_ffi is linked.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/function.h>

#include <string>
#include <utility>
#include <vector>

#include "tap.hpp"

using namespace tvm::ffi;

namespace {

uint64_t seed = 88172645463325252u;
int64_t random_below(int64_t n) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  seed ^= seed << 17;
  return static_cast<int64_t>((seed >> 11) % static_cast<uint64_t>(n));
}

Function global(const char *name) { return Function::GetGlobalRequired(name); }

// An integer, a short text or a text object.
Any make_item(int64_t n) {
  std::string text = std::to_string(n);
  if (n % 3 == 0) return Any(n);
  if (n % 3 == 1) return Any(String(text));
  return Any(String("a text that is an object " + text));
}

bool same(const List<Any> &list, const std::vector<int64_t> &want) {
  AnyEqual equal;
  if (list.size() != want.size() || list.capacity() < list.size()) return false;
  for (size_t i = 0; i < want.size(); ++i)
    if (!equal(list[static_cast<int64_t>(i)], make_item(want[i]))) return false;
  return true;
}

// One change, by C++ where `inlined`, else by the library.
void change(List<Any> *list, std::vector<int64_t> *want, bool inlined) {
  static Function append = global("ffi.ListAppend");
  static Function insert = global("ffi.ListInsert");
  static Function set = global("ffi.ListSetItem");
  static Function pop = global("ffi.ListPop");
  static Function erase = global("ffi.ListEraseRange");
  static Function replace = global("ffi.ListReplaceSlice");
  static Function reserve = global("ffi.ListReserve");
  static Function clear = global("ffi.ListClear");
  int64_t size = static_cast<int64_t>(want->size());
  int64_t at = random_below(size + 1), n = random_below(1000);
  int64_t last = at + random_below(size - at + 1);
  switch (random_below(12)) {
    default:
      inlined ? list->push_back(make_item(n))
              : (void)append(*list, make_item(n));
      want->push_back(n);
      break;
    case 5:
      inlined ? list->insert(list->begin() + at, make_item(n))
              : (void)insert(*list, at, make_item(n));
      want->insert(want->begin() + at, n);
      break;
    case 6:
      if (at == size) break;
      inlined ? list->Set(at, make_item(n))
              : (void)set(*list, at, make_item(n));
      (*want)[static_cast<size_t>(at)] = n;
      break;
    case 7:
      if (at == size) break;
      inlined ? list->erase(list->begin() + at) : (void)pop(*list, at);
      want->erase(want->begin() + at);
      break;
    case 8:
      if (size < 40) break;
      inlined ? list->erase(list->begin() + at, list->begin() + last)
              : (void)erase(*list, at, last);
      want->erase(want->begin() + at, want->begin() + last);
      break;
    case 9: {
      std::vector<int64_t> copy = *want;
      if (size > 200) break;
      replace(*list, at, last, *list);
      want->erase(want->begin() + at, want->begin() + last);
      want->insert(want->begin() + at, copy.begin(), copy.end());
      break;
    }
    case 10:
      inlined ? list->reserve(size + n % 50)
              : (void)reserve(*list, size + n % 50);
      break;
    case 11:
      if (n % 20) break;
      inlined ? list->clear() : (void)clear(*list);
      want->clear();
      break;
  }
}

// mine: how many of ten changes are C++'s.
bool random_list(bool made_by_library, int mine, int steps) {
  List<Any> list =
      made_by_library ? global("ffi.List")().cast<List<Any>>() : List<Any>();
  std::vector<int64_t> want;
  for (int i = 0; i < steps; ++i) {
    change(&list, &want, random_below(10) < mine);
    if (i % 16 == 0 && !same(list, want)) return false;
  }
  return same(list, want);
}

// The room after each of 40 items, one after the other.
std::string room(bool made_by_library, int every) {
  List<Any> list = made_by_library ? global("ffi.List")().cast<List<Any>>()
                                   : List<Any>(std::vector<Any>{});
  std::string text;
  for (int i = 0; i < 40; ++i) {
    if (every && i % every == 0)
      list.push_back(i);
    else
      global("ffi.ListAppend")(list, i);
    text += std::to_string(list.capacity()) + " ";
  }
  return text;
}

TEST(lists_changed_by_both) {
  for (int mine : {0, 3, 5, 10}) {
    OK(random_list(true, mine, 4000));
    OK(random_list(false, mine, 4000));
  }
}

TEST(room_of_lists) {
  OK(room(true, 0) == room(true, 1));
  OK(room(true, 0) == room(false, 3));
  OK(room(true, 0) == room(true, 2));
  NOTE(room(true, 0));
}

// Copy on write: in place while nobody else has the array.
TEST(arrays_of_the_library) {
  Array<Any> array = global("ffi.Array")(1, "two", 3.0).cast<Array<Any>>();
  const Object *made = array.get();
  OK(array.capacity() == 3);
  array.Set(1, String("a text that is an object"));
  OK(array.get() == made);
  Array<Any> other = array;
  other.Set(0, 7);
  OK(other.get() != made && array.get() == made);
  OK(array[0].cast<int>() == 1 && other[0].cast<int>() == 7);
  array.push_back(4);
  OK(array.size() == 4 && array.capacity() == 6 && array.get() != made);
  OK(global("ffi.ArrayGetItem")(array, 3).cast<int>() == 4);
  array.erase(array.begin());
  array.pop_back();
  OK(global("ffi.ArraySize")(array).cast<int>() == 2);
  OK(global("ffi.ArrayContains")(array, "a text that is an object")
         .cast<bool>());
  array.clear();
  OK(global("ffi.ArraySize")(array).cast<int>() == 0);
}

TEST(typed_views) {
  List<Any> list = global("ffi.List")(1, 2, 3).cast<List<Any>>();
  List<int64_t> ints = Any(list).cast<List<int64_t>>();
  OK(ints.same_as(list));
  ints.push_back(4);
  OK(global("ffi.ListSize")(list).cast<int>() == 4);
  Array<int64_t> array = Any(list).cast<Array<int64_t>>();
  OK(array.size() == 4 && array[3] == 4);
  OK(Any(array).cast<List<int64_t>>().size() == 4);
}

// Made, changed and ended in turns, so that each frees what the other made.
TEST(ends_of_lists) {
  Function make = global("ffi.List"), append = global("ffi.ListAppend");
  for (int i = 0; i < 300; ++i) {
    List<Any> list = i % 2 ? make().cast<List<Any>>() : List<Any>();
    for (int k = 0; k < i % 23; ++k) {
      if ((i / 2 + k / 3) % 2)
        list.push_back(make_item(k));
      else
        append(list, make_item(k));
    }
    if (i % 50 == 0) OK(static_cast<int>(list.size()) == i % 23);
  }
}

TEST(nests) {
  Any last = 1;
  Function make = global("ffi.List");
  for (int i = 0; i < 100000; ++i) {
    if (i % 2)
      last = make(last);
    else
      last = Array<Any>({last});
  }
  OK(last.type_index() == TypeIndex::kTVMFFIList);
  // Upstream's own destructors nest, so C++ takes it apart step by step.
  while (last.type_index() != TypeIndex::kTVMFFIInt) {
    if (last.type_index() == TypeIndex::kTVMFFIList)
      last = last.cast<List<Any>>()[0];
    else
      last = last.cast<Array<Any>>()[0];
  }
}

}  // namespace

TAP_MAIN()
