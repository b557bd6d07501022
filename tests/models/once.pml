/* Handles that are initialized once, src/modules/once.h: three threads, whose
   initializers need each other's handles, throw, or fail. A thread that finds
   the list of running calls empty enters and leaves it without the mutex.

   stands for: modules/once.h tvmffi_i_find_initializer tvmffi_i_is_cycle
     tvmffi_i_await_initializer tvmffi_i_leave_initializers
     tvmffi_i_end_initializer tvmffi_i_end_initializers
     tvmffi_i_forget_initializers tvmffi_i_begin_initializer
     tvmffi_i_init_handle
   hash: 5927eb1295d6

   The threads are 1 to THREADS. The call of thread t at depth d (0 or 1) has
   the entry 2 * t + d; 0 is the end of a list. Handles are 1 and 2; 0 is
   none. */

#define THREADS 3
#define ENTRIES 8

byte head; /* tvmffi_i_initializers */
byte next[ENTRIES], handle[ENTRIES], awaits[ENTRIES];
bool listed[ENTRIES], is_alone[ENTRIES]; /* listed: the entry's memory is used */
bool made[3];
byte running[3]; /* calls of a handle's init_func */
byte mutex; /* the thread that has it, or 0 */
byte wakes; /* of the condition variable, modulo 256 */
byte ended;
bool forked; /* only thread 1 runs */

#define THREAD(entry) ((entry) / 2)

#define LOCK()   atomic { mutex == 0; mutex = me / 2 }
#define UNLOCK() assert(mutex == me / 2); mutex = 0

/* found: the running call that initializes `wanted`, or 0. Reads entries of
   other threads. */
inline find(wanted, found) {
  found = head;
  do
  :: found == 0 -> break
  :: found != 0 ->
    assert(listed[found]);
    if
    :: handle[found] == wanted -> break
    :: else -> found = next[found]
    fi
  od
}

inline find_cycle() {
  stuck = false;
  m = found;
  do
  :: m == 0 -> break
  :: m != 0 && THREAD(m) == THREAD(me) -> stuck = true; break
  :: else ->
    w = head;
    do
    :: w == 0 -> break
    :: w != 0 && THREAD(w) == THREAD(m) && awaits[w] != 0 -> break
    :: else -> w = next[w]
    od;
    if
    :: w == 0 -> m = 0
    :: else -> find(awaits[w], m)
    fi
  od;
  m = 0;
  w = 0
}

/* tvmffi_i_begin_initializer: sets `stuck` */
inline begin(wanted) {
  atomic {
    assert(!listed[me]);
    listed[me] = true;
    handle[me] = wanted;
    awaits[me] = 0;
    next[me] = 0
  }
  stuck = false;
  atomic {
    is_alone[me] = (head == 0);
    if
    :: head == 0 -> head = me
    :: else
    fi
  }
  if
  :: is_alone[me]
  :: else ->
    LOCK();
#ifndef BROKEN_FINDS_ITSELF
    handle[me] = 0;
#endif
    atomic { m = head; head = me };
    next[me] = m;
    m = 0;
    do
    :: find(wanted, found);
       if
       :: found == 0 -> break
       :: else
       fi;
#ifdef BROKEN_CYCLES_NOT_FOUND
       stuck = false;
#else
       find_cycle();
#endif
       if
       :: stuck ->
         assert(THREAD(me) != 3); /* whose init_func needs no handle */
         break
       :: else
       fi;
       awaits[me] = wanted;
       /* tvmffi_i_sleep */
       atomic { seen = wakes; UNLOCK() }
       wakes != seen;
       LOCK()
    od;
    found = 0;
    awaits[me] = 0;
    handle[me] = (stuck -> 0 : wanted);
    UNLOCK()
  fi
}

/* tvmffi_i_end_initializer */
inline end() {
  left = false;
  if
#ifdef BROKEN_LEAVES_ALWAYS_WITHOUT_MUTEX
  :: true ->
#else
  :: is_alone[me] ->
#endif
    atomic {
      if
      :: head == me -> head = next[me]; left = true
      :: else
      fi
    }
  :: else
  fi;
  if
  :: left
  :: else ->
    LOCK();
    m = head;
    if
    :: m == me -> head = next[me]
    :: else ->
      do
      :: next[m] != me -> assert(m != 0); m = next[m]
      :: else -> break
      od;
      next[m] = next[me]
    fi;
#ifndef BROKEN_NO_WAKE
    wakes++;
#endif
    m = 0;
    UNLOCK()
  fi;
  listed[me] = false
}

/* The body of TVMFFIHandleInitOnce for `wanted`, at depth 0 or 1. At depth 0,
   init_func may need the handle `other`. */
inline init_once(wanted, other) {
  me = 2 * _pid;
  if
  :: made[wanted]
  :: else ->
    begin(wanted);
    if
    :: stuck || made[wanted]
    :: else ->
      running[wanted]++;
      assert(running[wanted] == 1); /* one init_func of a handle at a time */
      failed = false;
      if
      :: other != 0 && !made[other] ->
        me = 2 * _pid + 1;
        begin(other);
        if
        :: stuck -> failed = true
        :: !stuck && made[other]
        :: else ->
          running[other]++;
          assert(running[other] == 1);
          running[other]--;
          made[other] = true
        fi;
        end();
        me = 2 * _pid
      :: else
      fi;
      running[wanted]--;
      if
      :: failed
      :: true -> failed = true /* it fails, or ends by an exception */
      :: !failed -> made[wanted] = true
      fi
    fi;
    end()
  fi;
  ended++
}

proctype Thread(byte wanted, other) provided (!forked || _pid == 1) {
  byte me, m, w, found, seen;
  bool stuck, left, failed;
  init_once(wanted, other);
#ifdef FORK
  /* The handlers hold the mutex while the process forks. The child then calls
     tvmffi_i_forget_initializers. */
  if
  :: _pid == 1 ->
    LOCK();
    d_step {
      forked = true;
#ifndef BROKEN_ENTRIES_SURVIVE_FORK
      head = 0;
#endif
      running[1] = 0;
      running[2] = 0
    }
    UNLOCK();
    init_once(2, 0)
  :: else
  fi
#endif
}

init {
  atomic {
    run Thread(1, 2); /* a cycle with the next */
    run Thread(2, 1);
    run Thread(1, 0)
  }
  timeout;
#ifdef FORK
  assert(ended >= 2 && mutex == 0)
#else
  assert(ended == THREADS); /* no thread waits without end */
  assert(head == 0 && mutex == 0)
#endif
}
/* with: FORK
   broken: BROKEN_NO_WAKE BROKEN_CYCLES_NOT_FOUND BROKEN_FINDS_ITSELF
     BROKEN_LEAVES_ALWAYS_WITHOUT_MUTEX FORK,BROKEN_ENTRIES_SURVIVE_FORK */
