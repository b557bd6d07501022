//! Models of the memory orders that `src/head/atomic.h` argues, one for each of
//! its reasons. Loom runs a model in all executions that C11's memory model
//! allows, and fails at a data race. A model takes its orders as arguments:
//! with those of the header there is no race; with any one weakened there is.
//!
//! stands for: head/atomic.h tvmffi_i_add64 tvmffi_i_sub64 tvmffi_i_cas64
//!   tvmffi_i_cas_pointer tvmffi_i_add32 tvmffi_i_sub32 tvmffi_i_put32
//!   tvmffi_i_load64 tvmffi_i_store64
//! hash: 63f72834d1a7
//!
//! Loom takes a sequentially consistent access for an acquire and release one.
//! So here such an access has a sequentially consistent fence, on the side of
//! the access that it must stay before or behind. C11 gives the same guarantee
//! by either: of two threads that each store and then load what the other
//! stores, one sees the other's store.
#![cfg(test)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::{fence, AtomicUsize};
use loom::sync::atomic::Ordering::{self, AcqRel, Acquire, Relaxed, Release, SeqCst};
use loom::sync::Arc;
use loom::thread::{spawn, yield_now};

/// What an object has besides its count. A read is a use, a write is the
/// destruction.
struct Object {
    count: AtomicUsize,
    content: UnsafeCell<u32>,
}

fn use_content(content: &UnsafeCell<u32>) -> u32 {
    content.with(|p| unsafe { *p })
}

fn write_content(content: &UnsafeCell<u32>, value: u32) {
    content.with_mut(|p| unsafe { *p = value })
}

/// Retain is relaxed, release acquire-release. `sole` is the order of the load
/// by which a sole owner destroys without an atomic write.
fn counts(retain: Ordering, release: Ordering, sole: Ordering) {
    loom::model(move || {
        let object = Arc::new(Object { count: AtomicUsize::new(2), content: UnsafeCell::new(1) });
        let drop_one = move |o: &Object| {
            if o.count.load(sole) == 1 {
                write_content(&o.content, 0);
            } else if o.count.fetch_sub(1, release) == 1 {
                write_content(&o.content, 0);
            }
        };
        let other = object.clone();
        let thread = spawn(move || {
            other.count.fetch_add(1, retain);
            assert_eq!(use_content(&other.content), 1);
            drop_one(&other);
            drop_one(&other);
        });
        assert_eq!(use_content(&object.content), 1);
        drop_one(&object);
        thread.join().unwrap();
        assert_eq!(use_content(&object.content), 0);
    });
}

#[test]
fn counts_hold() {
    counts(Relaxed, AcqRel, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn counts_need_release() {
    counts(Relaxed, Acquire, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn counts_need_acquire() {
    counts(Relaxed, Release, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn a_sole_owner_needs_acquire() {
    counts(Relaxed, AcqRel, Relaxed);
}

/// A pointer is stored with release and loaded with acquire order.
fn publication(store: Ordering, load: Ordering) {
    loom::model(move || {
        let pointer = Arc::new(AtomicUsize::new(0));
        let content = Arc::new(UnsafeCell::new(0));
        let (to, made) = (pointer.clone(), content.clone());
        let thread = spawn(move || {
            write_content(&made, 7);
            to.store(1, store);
        });
        if pointer.load(load) == 1 {
            assert_eq!(use_content(&content), 7);
        }
        thread.join().unwrap();
    });
}

#[test]
fn publication_holds() {
    publication(Release, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn publication_needs_release() {
    publication(Relaxed, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn publication_needs_acquire() {
    publication(Release, Relaxed);
}

/// A handle, or a list's head, that threads publish by compare-and-swap: one
/// wins, and the other uses what the winner made.
fn race_to_publish(success: Ordering, load: Ordering) {
    loom::model(move || {
        let pointer = Arc::new(AtomicUsize::new(0));
        let contents = Arc::new([UnsafeCell::new(0), UnsafeCell::new(0)]);
        let publish = move |pointer: &AtomicUsize, contents: &[UnsafeCell<u32>; 2], i: usize| {
            write_content(&contents[i], 7);
            let _ = pointer.compare_exchange(0, i + 1, success, Relaxed);
            let winner = pointer.load(load);
            assert_eq!(use_content(&contents[winner - 1]), 7);
        };
        let (to, made) = (pointer.clone(), contents.clone());
        let thread = spawn(move || publish(&to, &made, 1));
        publish(&pointer, &contents, 0);
        thread.join().unwrap();
    });
}

#[test]
fn race_to_publish_holds() {
    race_to_publish(AcqRel, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn race_to_publish_needs_release() {
    race_to_publish(Acquire, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn race_to_publish_needs_acquire() {
    race_to_publish(AcqRel, Relaxed);
}

/// A reader of the function table registers in a counter and loads the
/// function; a writer replaces the function and waits for the counter to be 0.
/// `sequential` says whether both have their fence.
fn registry(sequential: [bool; 2], leave: Ordering, wait: Ordering) {
    loom::model(move || {
        let function = Arc::new(AtomicUsize::new(0));
        let readers = Arc::new(AtomicUsize::new(0));
        let contents = Arc::new([UnsafeCell::new(7), UnsafeCell::new(7)]);
        let (f, r, c) = (function.clone(), readers.clone(), contents.clone());
        let reader = spawn(move || {
            r.fetch_add(1, AcqRel);
            if sequential[0] {
                fence(SeqCst);
            }
            assert_eq!(use_content(&c[f.load(Acquire)]), 7);
            r.fetch_sub(1, leave);
        });
        function.store(1, Release);
        if sequential[1] {
            fence(SeqCst);
        }
        while readers.load(wait) != 0 {
            yield_now();
        }
        write_content(&contents[0], 0);
        reader.join().unwrap();
    });
}

#[test]
fn registry_holds() {
    registry([true, true], Release, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn registry_needs_a_sequential_reader() {
    registry([false, true], Release, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn registry_needs_a_sequential_writer() {
    registry([true, false], Release, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn registry_needs_a_leave_with_release() {
    registry([true, true], Relaxed, Acquire);
}

#[test]
#[should_panic(expected = "Causality violation")]
fn registry_needs_a_wait_with_acquire() {
    registry([true, true], Release, Relaxed);
}
