/* The cache of freed blocks that each thread has, src/platform/memory.h, and
   its end, src/tables/thread_state.h: threads pass objects to each other, move
   parts of their budgets from and to the shared one, and end.

   stands for: platform/memory.h tvmffi_i_pool_shrink tvmffi_i_pool_grow
     tvmffi_i_pool_flush tvmffi_i_exit_pool tvmffi_i_pool_free_slow
     tvmffi_i_pool_take tvmffi_i_pool_free
     tables/thread_state.h tvmffi_i_thread_exit tvmffi_i_begin_pool
     tvmffi_i_free_block tvmffi_i_end_block tvmffi_i_end_left_block
     tvmffi_i_make_block
   hash: 4f0f19fb063c

   A block of memory fills one unit of a budget. The first slice of a thread is
   one unit, further slices come from the shared budget of SHARED units. Threads
   1 and 2 are watched: the runtime notices their ends. With UNWATCHED there are
   instead the threads 3 and 4, which are not, and have the same address one
   after the other. */

#define BLOCKS 4
#define SHARED 1
#define FIRST 1
#define MALLOC 9 /* the owner of a block that is freed */
#define QUEUE 8  /* the owner of an object on its way to another thread */

byte owner[BLOCKS]; /* of a block: a thread's cache is 10 + thread */
byte left = SHARED; /* tvmffi_i_pool_left */
byte budget[5], available[5], state[5]; /* state 2: disabled */
bool locked;
bool listed;       /* a block of state is in tvmffi_i_unwatched */
byte state_blocks; /* allocated for unwatched threads, and not freed */
byte ended;

chan passed = [BLOCKS] of { byte }; /* objects between threads */

#define LOCK()   atomic { !locked; locked = true }
#define UNLOCK() locked = false

/* tvmffi_i_pool_grow: a compare-and-swap loop */
inline grow() {
  grown = false;
  do
  :: seen = left;
     if
     :: seen == 0 -> break
     :: else
     fi;
#ifdef BROKEN_GROWTH_WITHOUT_COMPARE
     left = seen - 1;
     grown = true;
     break
#else
     atomic {
       if
       :: left == seen -> left = seen - 1; grown = true
       :: else
       fi
     }
     if
     :: grown -> break
     :: else
     fi
#endif
  od;
  if
  :: grown -> budget[t]++; available[t]++
  :: else
  fi
}

/* tvmffi_i_pool_free: to the thread's cache, or else to free() */
inline free_block(b) {
  assert(owner[b] == t);
  if
  :: state[t] == 0 && !has_ended -> /* tvmffi_i_begin_pool */
    state[t] = 1;
    budget[t] = FIRST;
    available[t] = FIRST;
    owner[b] = MALLOC
  :: state[t] == 1 && available[t] > 0 ->
    available[t]--;
    owner[b] = 10 + t
  :: state[t] == 1 && available[t] == 0 ->
    grow();
    if
    :: grown -> available[t]--; owner[b] = 10 + t
    :: else -> owner[b] = MALLOC
    fi
  :: else ->
    owner[b] = MALLOC
  fi
}

/* tvmffi_i_pool_alloc: a block of the own cache, or of malloc */
inline alloc() {
  got = BLOCKS;
  k = 0;
  do
  :: k < BLOCKS && got == BLOCKS ->
    if
    :: owner[k] == 10 + t -> got = k; available[t]++; owner[k] = t
    :: else
    fi;
    k++
  :: else -> break
  od;
  k = 0;
  do
  :: k < BLOCKS && got == BLOCKS ->
    atomic {
      if
      :: owner[k] == MALLOC -> got = k; owner[k] = t
      :: else
      fi
    }
    k++
  :: else -> break
  od;
  k = 0
}

/* tvmffi_i_exit_pool: tvmffi_i_pool_flush, and the budget goes back */
inline exit_pool() {
  if
  :: state[t] == 1 ->
#ifndef BROKEN_STAYS_ENABLED
    state[t] = 2;
#endif
    k = 0;
    do
    :: k < BLOCKS ->
      if
      :: owner[k] == 10 + t -> owner[k] = MALLOC; available[t]++
      :: else
      fi;
      k++
    :: else -> break
    od;
    k = 0;
    assert(available[t] == budget[t]);
#ifndef BROKEN_BUDGET_NOT_RETURNED
    if
    :: budget[t] > FIRST ->
      d_step { left = left + budget[t] - FIRST } /* tvmffi_i_add64 */
    :: else
    fi;
#endif
    budget[t] = 0;
    available[t] = 0
  :: else
  fi;
#ifndef BROKEN_BEGINS_AFTER_END
  has_ended = true
#endif
}

/* A thread frees each of its two objects or passes it on, makes another, frees
   what it gets, and ends. A late destructor frees an object meanwhile. */
proctype Watched(byte t) {
  byte b, seen, k, got;
  bool grown, has_ended;
  if
  :: state[t] = 1; budget[t] = FIRST; available[t] = FIRST
  :: skip
  fi;
  b = t - 1;
  if
  :: atomic { passed!b; owner[b] = QUEUE }
  :: free_block(b)
  fi;
  b = t + 1;
  if
  :: atomic { passed!b; owner[b] = QUEUE }
  :: free_block(b)
  fi;
  alloc();
  if
  :: got < BLOCKS -> b = got; free_block(b)
  :: else
  fi;
  do
  :: atomic { passed?b -> owner[b] = t };
     free_block(b)
  :: break
  od;
  alloc(); /* what the late destructor frees */
  exit_pool();
  if
  :: got < BLOCKS -> b = got; free_block(b)
  :: else
  fi;
  assert(state[t] != 1 || budget[t] == 0);
  k = 0;
  do
  :: k < BLOCKS -> assert(owner[k] != 10 + t); k++
  :: else -> break
  od;
  ended++
}

/* tvmffi_i_free_block */
inline free_state() {
#ifndef BROKEN_FREED_AND_LISTED
  LOCK();
  assert(listed);
  listed = false;
  UNLOCK();
#endif
  state_blocks--
}

/* tvmffi_i_make_block of a thread whose end calls no function. The next thread
   at its address frees its block. */
proctype Unwatched(byte t) {
  bool found;
  LOCK();
  found = listed;
  UNLOCK();
#ifndef BROKEN_LEFT_BLOCK_STAYS
  if
  :: found -> free_state()
  :: else
  fi;
#endif
  state_blocks++;
  LOCK();
  listed = true;
  UNLOCK();
  if
  :: free_state() /* the library's end */
  :: skip
  fi;
  ended++
}

init {
#ifdef UNWATCHED
  run Unwatched(3);
  ended == 1;
  run Unwatched(4);
  ended == 2;
  assert(state_blocks == (listed -> 1 : 0))
#else
  atomic {
    owner[0] = 1;
    owner[1] = 2;
    owner[2] = 1;
    owner[3] = 2;
    run Watched(1);
    run Watched(2)
  }
  timeout;
  assert(ended == 2);
  assert(left == SHARED)
#endif
}
/* with: UNWATCHED
   broken: BROKEN_STAYS_ENABLED BROKEN_BEGINS_AFTER_END
     BROKEN_BUDGET_NOT_RETURNED BROKEN_GROWTH_WITHOUT_COMPARE
     UNWATCHED,BROKEN_LEFT_BLOCK_STAYS UNWATCHED,BROKEN_FREED_AND_LISTED */
