/* Arrays that grow under readers, as attribute columns do,
   src/core/type_attribute.h: the writer holds the mutex, readers take no lock.
   Fields and methods of a type, and the type table, are published in the same
   order.

   stands for: core/type_attribute.h tvmffi_i_reserve_attr tvmffi_i_enter_attr
     core/type_member.h tvmffi_i_enlarge tvmffi_i_add_member
     tvmffi_i_enter_field tvmffi_i_enter_method
     core/type_table.h tvmffi_i_type_at tvmffi_i_publish_type
   hash: 33b7bc9b02ca

   The arrays are 1 and 2, of 1 and 3 slots. Index 2 has a value only in the
   second. A slot has a type index, 0 for none, and a value. */

#define SLOTS 3

byte data; /* the column's array, or 0 */
byte size; /* slots that readers may use */
byte type_index[9], value[9]; /* of slot i of array a at 3 * a + i */
byte capacity[3];
bool freed[3];
bool locked;
byte ended;

#define LOCK()   atomic { !locked; locked = true }
#define UNLOCK() locked = false

inline store(i, n) {
  LOCK();
  /* tvmffi_i_reserve_attr */
  if
  :: data == 0 || i >= capacity[data] ->
    made = (i == 0 -> 1 : 2);
    old = data;
    capacity[made] = (made == 1 -> 1 : SLOTS);
    k = 0;
    do
    :: old != 0 && k < capacity[old] ->
      value[SLOTS * made + k] = value[SLOTS * old + k];
      type_index[SLOTS * made + k] = type_index[SLOTS * old + k];
      k++
    :: else -> break
    od;
    k = 0;
#ifdef BROKEN_SIZE_BEFORE_ARRAY
    size = i + 1;
#endif
    data = made;
#ifdef BROKEN_OLD_ARRAY_FREED
    freed[old] = true;
#endif
    made = 0;
    old = 0
  :: else
  fi;
  /* tvmffi_i_enter_attr */
#ifdef BROKEN_TYPE_BEFORE_VALUE
  type_index[SLOTS * data + i] = n;
  value[SLOTS * data + i] = n;
#else
  value[SLOTS * data + i] = n;
  type_index[SLOTS * data + i] = n;
#endif
  if
  :: i >= size -> size = i + 1
  :: else
  fi;
  UNLOCK()
}

proctype Writer(byte first, second) {
  byte made, old, k;
  store(first, first + 1);
  store(second, second + 1);
  ended++
}

/* As clients read a column: its size, its array, a slot. */
proctype Reader() {
  byte i, a, had[SLOTS];
  byte rounds;
  do
  :: rounds < 2 ->
    if
    :: i = 0
    :: i = 1
    :: i = 2
    fi;
#ifdef BROKEN_READER_TAKES_ARRAY_FIRST
    a = data;
    if
    :: i < size ->
#else
    if
    :: i < size ->
      a = data;
#endif
      assert(a != 0 && i < capacity[a]);
      assert(!freed[a]);
      if
      :: type_index[SLOTS * a + i] != 0 ->
        assert(value[SLOTS * a + i] == i + 1);
        had[i] = 1
      :: else ->
        assert(had[i] == 0) /* a value that was seen stays */
      fi
    :: else
    fi;
    a = 0;
    rounds++
  :: else -> break
  od
}

init {
  atomic {
    run Writer(0, 2);
    run Writer(1, 0);
    run Reader();
    run Reader()
  }
  timeout;
  assert(ended == 2 && size == 3 && data == 2)
}
/* broken: BROKEN_SIZE_BEFORE_ARRAY BROKEN_TYPE_BEFORE_VALUE
     BROKEN_OLD_ARRAY_FREED BROKEN_READER_TAKES_ARRAY_FIRST */
