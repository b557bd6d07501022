/* An object's two counts, src/base/reference.h: strong references are copied
   and dropped while weak references are promoted, and the last of both kinds
   frees the memory; a strong count that leaves its range is pinned.

   stands for: base/reference.h tvmffi_i_retain tvmffi_weak_retain
     tvmffi_weak_release tvmffi_weak_lock tvmffi_i_release_rest
     tvmffi_i_release tvmffi_i_pin
   hash: a3026e0c5ff2

   Both counts are one atomic word: a step changes both. With PINNING, the
   strong count has 4 bits instead of 32, so it is pinned from 8 on, at 12. */

#ifdef PINNING
#define HIGH 8
#define PINNED 12
#define MASK 15
#else
#define HIGH 128
#define PINNED 192
#define MASK 255
#endif

byte strong = 1, weak = 1; /* all strong references together own a weak one */
byte owned = 1; /* strong references that threads have */
byte destroyed, freed;
bool was_pinned;

/* An access to the counts is a use of the object's memory. */
#define USE assert(!freed)

inline pin() {
  USE;
  strong = PINNED;
  was_pinned = true
}

/* The deleter with kTVMFFIObjectDeleterFlagBitMaskStrong */
inline destroy() {
  assert(owned == 0);
  destroyed++
}

inline retain() {
  d_step {
    USE;
    old = strong;
    strong = (strong + 1) & MASK;
    owned++
  }
  if
  :: (old & HIGH) -> pin()
  :: else
  fi
}

inline weak_release() {
  d_step {
    USE;
    old = strong;
    old_weak = weak;
    weak--
  }
  if
  :: old_weak == 1 && old == 0 -> USE; freed++
  :: else
  fi
}

inline release() {
#ifdef BROKEN_FAST_PATH_IGNORES_WEAK
#define SOLE strong == 1
#else
#define SOLE strong == 1 && weak == 1
#endif
  d_step {
    USE;
    is_sole = (SOLE);
    if
    :: is_sole -> owned--
    :: else
    fi
  }
  if
  :: is_sole -> destroy(); USE; freed++
  :: else ->
#ifdef BROKEN_WEAK_COUNT_READ_BEFORE_RELEASE
    early = weak;
#endif
    d_step {
      USE;
      old = strong;
      old_weak = weak;
      strong = (strong - 1) & MASK;
      owned--
    }
#ifdef BROKEN_WEAK_COUNT_READ_BEFORE_RELEASE
    old_weak = early;
#endif
    if
#ifndef BROKEN_RELEASE_LEAVES_PINNED_RANGE
    :: (old & HIGH) -> pin()
#endif
    :: old == 1 ->
      destroy();
      if
      :: old_weak == 1 -> USE; freed++
#ifdef BROKEN_WEAK_ONE_KEPT
      :: else
#else
      :: else -> weak_release()
#endif
      fi
    :: else
    fi
  fi
}

/* tvmffi_weak_lock: a compare-and-swap of the whole word, in a loop */
inline weak_lock() {
  USE;
  old = strong;
  old_weak = weak;
  got = false;
  do
  :: old == 0 -> break
  :: else ->
    atomic {
      USE;
      if
#ifdef BROKEN_LOCK_WITHOUT_COMPARE
      :: true ->
#else
      :: strong == old && weak == old_weak ->
#endif
        strong = (old + 1) & MASK;
        owned++;
        got = true
      :: else -> old = strong; old_weak = weak
      fi
    }
    if
    :: got && (old & HIGH) -> pin(); break
    :: got -> break
    :: else
    fi
  od
}

/* Promotes its weak reference, uses the object, and drops both. */
proctype Weak() {
  byte old, old_weak, early;
  bool got, is_sole;
  weak_lock();
  if
  :: got ->
    assert(!destroyed);
    release()
  :: else
  fi;
  weak_release()
}

/* Copies its strong reference, makes a weak one, and drops all. */
proctype Strong() {
  byte old, old_weak, early;
  bool is_sole, has_weak;
  if
  :: retain(); release()
  :: d_step { USE; weak++ };
     has_weak = true
  :: skip
  fi;
  release();
  if
  :: has_weak -> weak_release()
  :: else
  fi
}

#ifdef PINNING
byte dropped; /* references that threads are about to drop */

/* Copies and drops references; the last is never dropped. */
proctype Many() {
  byte old, old_weak, early, rounds;
  bool is_sole;
  do
  :: rounds < 12 && owned < 14 -> retain(); rounds++
  :: atomic { owned - dropped > 1 && rounds < 12 -> dropped++ };
     release();
     atomic { dropped--; rounds++ }
  :: break
  od
}
#endif

init {
#ifdef PINNING
  atomic {
    strong = 6;
    owned = 6;
    run Many();
    run Many()
  }
  timeout;
  assert(!freed && !destroyed);
  /* Every reference is counted, or the object is never freed. */
  assert((strong & HIGH) || strong == owned || was_pinned)
#else
  atomic {
    strong = 2;
    owned = 2;
    weak = 3;
    run Strong();
    run Strong();
    run Weak();
    run Weak()
  }
  timeout;
  assert(destroyed == 1 && freed == 1)
#endif
}
/* with: PINNING
   broken: BROKEN_FAST_PATH_IGNORES_WEAK BROKEN_WEAK_COUNT_READ_BEFORE_RELEASE
     BROKEN_WEAK_ONE_KEPT BROKEN_LOCK_WITHOUT_COMPARE
     PINNING,BROKEN_RELEASE_LEAVES_PINNED_RANGE */
