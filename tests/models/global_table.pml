/* The readers of one entry of the global function table, src/core/global_table.h:
   a reader registers in one of two counters and takes a reference; writers
   replace the function, remove the name and reuse the entry for another name,
   each after a grace period; the process forks.

   stands for: core/global_table.h tvmffi_i_wait tvmffi_i_wait_more
     tvmffi_i_forget_readers tvmffi_i_enter_if tvmffi_i_take_entered
     tvmffi_i_swap_global tvmffi_i_set_global tvmffi_i_remove_global
   hash: 838868689b02

   Function objects are 1 and 2, registered under name 1, and 3, registered
   under name 2. `count` is an object's reference count; 0 means freed. */

#define FUNCTIONS 4

byte count[FUNCTIONS];
byte name_of[FUNCTIONS];
byte function = 1; /* the entry's members */
bool has_key = true;
byte text = 1; /* what the key points to */
byte readers[2];
byte side;
bool locked; /* the runtime's mutex */
bool in_child; /* only the forking thread runs */
byte ended;

#define LOCK()   atomic { !locked; locked = true }
#define UNLOCK() locked = false

inline release(f) {
  if
  :: f == 0
  :: f != 0 -> count[f]--
  fi
}

/* TVMFFI_I_ENTER: the load of `side` and the increment are two steps. */
inline enter(mine) {
  mine = side;
  readers[mine]++
}

inline leave(mine) {
  readers[mine]--
}

proctype Reader() provided (!in_child) {
  byte mine, f, rounds;
  bool found;
  do
#ifdef LIVENESS
  :: true ->
#else
  :: rounds < 2 -> rounds++;
#endif
#ifdef BROKEN_NAME_COMPARED_BEFORE_ENTER
    found = has_key && text == 1;
    enter(mine);
#else
    enter(mine);
    found = has_key;
    if
    :: found -> found = (text == 1)
    :: else
    fi;
#endif
    f = 0;
#ifdef BROKEN_LEAVE_BEFORE_RETAIN
    if
    :: found -> f = function
    :: else
    fi;
    leave(mine);
    if
    :: f != 0 -> assert(count[f] > 0); count[f]++
    :: else
    fi;
#else
    if
    :: found ->
      f = function;
      if
      :: f != 0 ->
        assert(count[f] > 0); /* else a use after free */
        count[f]++
      :: else
      fi
    :: else
    fi;
    leave(mine);
#endif
    if
    :: f != 0 -> assert(name_of[f] == 1); release(f)
    :: else
    fi;
    f = 0
#ifndef LIVENESS
  :: else -> break
#endif
  od
}

/* tvmffi_i_wait */
inline wait() {
#ifndef BROKEN_NO_GRACE_PERIOD
#ifndef BROKEN_SIDE_STAYS
  side = 1;
#endif
  readers[0] == 0;
#ifndef BROKEN_ONE_COUNTER_AWAITED
#ifndef BROKEN_SIDE_STAYS
  side = 0;
#endif
  readers[1] == 0;
#endif
#endif
  skip
}

/* TVMFFIFunctionSetGlobal with override */
proctype Replace() provided (!in_child) {
  byte old;
  count[2] = 1;
  LOCK();
  if
  :: has_key && text == 1 -> old = function; function = 2
  :: else -> old = 2
  fi;
  UNLOCK();
  wait();
  release(old);
  ended++
}

/* tvmffi_i_remove_global, after a fork perhaps, and then a registration of
   another name that reuses the entry */
proctype Remove() {
  byte old;
#ifdef FORK
  LOCK(); /* held by the handlers while the process forks */
  d_step {
    in_child = true;
#ifndef BROKEN_COUNTERS_SURVIVE_FORK
    readers[0] = 0;
    readers[1] = 0;
#endif
  }
  UNLOCK();
#endif
  LOCK();
  old = function;
  function = 0;
#ifndef BROKEN_KEY_STAYS
  has_key = false;
#endif
  UNLOCK();
#ifdef BROKEN_REUSED_BEFORE_GRACE_PERIOD
  text = 2;
  has_key = true;
  function = 3;
  wait();
#else
  wait();
  LOCK();
  text = 2;
  has_key = true;
  function = 3;
  UNLOCK();
#endif
  release(old);
  ended++
}

init {
  atomic {
    count[1] = 1;
    count[3] = 1;
    name_of[1] = 1;
    name_of[2] = 1;
    name_of[3] = 2;
    run Reader();
#ifndef LIVENESS
    run Reader();
    run Replace();
#endif
    run Remove()
  }
#ifndef LIVENESS
  timeout;
#ifdef FORK
  /* The other writer may be a thread that the child lacks. */
  assert(ended >= 1)
#else
  assert(ended == 2);
  assert(count[1] == 0 && count[2] <= 1)
#endif
#endif
}

#ifdef LIVENESS
/* A writer ends although readers keep coming. */
ltl writer_ends { <> (ended == 1) }
#endif
/* with: FORK LIVENESS
   broken: BROKEN_NO_GRACE_PERIOD BROKEN_ONE_COUNTER_AWAITED
     BROKEN_LEAVE_BEFORE_RETAIN BROKEN_NAME_COMPARED_BEFORE_ENTER
     BROKEN_KEY_STAYS BROKEN_REUSED_BEFORE_GRACE_PERIOD
     FORK,BROKEN_COUNTERS_SURVIVE_FORK LIVENESS,BROKEN_SIDE_STAYS */
