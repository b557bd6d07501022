//! A Rust program without `std` and libc on the runtime of `tvmffi.h`. It
//! registers a function and calls it by its name. It is a static program for
//! Linux on x86-64, whose only needs are two system calls.

#![no_std]

use core::arch::{asm, global_asm};
use core::ffi::{c_char, c_int, c_void};
use core::ptr::{null, null_mut};

// The part of the ABI that this program uses.

type Handle = *mut c_void;

#[repr(C)]
#[derive(Clone, Copy)]
struct Any {
    type_index: i32,
    zero: u32,
    value: i64,
}

#[repr(C)]
struct ByteArray {
    data: *const u8,
    size: usize,
}

#[repr(C)]
struct ErrorCell {
    kind: ByteArray,
    message: ByteArray,
}

const NONE: Any = Any {
    type_index: 0,
    zero: 0,
    value: 0,
};
const INT: i32 = 1;
const FAILED: c_int = -1;
const OBJECT_SIZE: usize = 24;

type SafeCall = extern "C" fn(Handle, *const Any, i32, *mut Any) -> c_int;

extern "C" {
    fn TVMFFIFunctionCreate(
        state: Handle,
        call: SafeCall,
        deleter: Option<extern "C" fn(Handle)>,
        out: *mut Handle,
    ) -> c_int;
    fn TVMFFIFunctionSetGlobal(
        name: *const ByteArray,
        function: Handle,
        replace: c_int,
    ) -> c_int;
    fn TVMFFIFunctionGetGlobal(
        name: *const ByteArray,
        out: *mut Handle,
    ) -> c_int;
    fn TVMFFIFunctionCall(
        function: Handle,
        args: *const Any,
        count: i32,
        result: *mut Any,
    ) -> c_int;
    fn TVMFFIErrorSetRaisedFromCStr(
        kind: *const c_char,
        message: *const c_char,
    );
    fn TVMFFIErrorMoveFromRaised(out: *mut Handle);
    fn TVMFFIObjectDecRef(object: Handle) -> c_int;
    fn runtime_used() -> usize;
}

/// An owned reference.
struct Object(Handle);

impl Drop for Object {
    fn drop(&mut self) {
        unsafe { TVMFFIObjectDecRef(self.0) };
    }
}

/// Returns the object that `create` stores, or the raised error.
fn object(create: impl FnOnce(*mut Handle) -> c_int) -> Result<Object, Object> {
    let mut handle = null_mut();
    check(create(&mut handle)).map(|()| Object(handle))
}

fn check(code: c_int) -> Result<(), Object> {
    if code == 0 {
        return Ok(());
    }
    let mut error = null_mut();
    unsafe { TVMFFIErrorMoveFromRaised(&mut error) };
    Err(Object(error))
}

fn bytes(text: &str) -> ByteArray {
    ByteArray {
        data: text.as_ptr(),
        size: text.len(),
    }
}

fn register(name: &str, call: SafeCall) -> Result<(), Object> {
    let function = object(|out| unsafe {
        TVMFFIFunctionCreate(null_mut(), call, None, out)
    })?;
    check(unsafe { TVMFFIFunctionSetGlobal(&bytes(name), function.0, 0) })
}

fn call(name: &str, args: &[i64]) -> Result<i64, Object> {
    let function =
        object(|out| unsafe { TVMFFIFunctionGetGlobal(&bytes(name), out) })?;
    let mut values = [NONE; 4];
    for (value, &x) in values.iter_mut().zip(args) {
        *value = Any {
            type_index: INT,
            value: x,
            ..NONE
        };
    }
    let mut result = NONE;
    check(unsafe {
        TVMFFIFunctionCall(
            function.0,
            values.as_ptr(),
            args.len() as i32,
            &mut result,
        )
    })?;
    Ok(result.value)
}

extern "C" fn sum(
    _: Handle,
    args: *const Any,
    count: i32,
    result: *mut Any,
) -> c_int {
    if count != 2 {
        unsafe {
            TVMFFIErrorSetRaisedFromCStr(
                c"TypeError".as_ptr(),
                c"sum takes two ints".as_ptr(),
            )
        };
        return FAILED;
    }
    let (a, b) = unsafe { (*args, *args.add(1)) };
    unsafe {
        *result = Any {
            value: a.value + b.value,
            ..a
        }
    };
    0
}

fn calls() -> Result<(), Object> {
    write_if(call("test.sum", &[40, 2])? == 42, "40 + 2 = 42");
    match call("test.sum", &[1]) {
        Ok(_) => write("no error\n"),
        Err(error) => write_error(&error),
    }
    Ok(())
}

fn run() -> Result<(), Object> {
    register("test.sum", sum)?;
    calls()?;
    let used = unsafe { runtime_used() };
    calls()?;
    write_if(unsafe { runtime_used() } == used, "no leak");
    Ok(())
}

fn write_if(condition: bool, text: &str) {
    write(if condition { text } else { "wrong" });
    write("\n");
}

fn write_error(error: &Object) {
    let cell = unsafe { &*error.0.byte_add(OBJECT_SIZE).cast::<ErrorCell>() };
    for part in [&cell.kind, &bytes(": "), &cell.message, &bytes("\n")] {
        system_call(1, 1, part.data, part.size);
    }
}

fn write(text: &str) {
    system_call(1, 1, text.as_ptr(), text.len());
}

// The program on Linux.

fn system_call(number: usize, first: usize, second: *const u8, third: usize) {
    unsafe {
        asm!("syscall", inlateout("rax") number => _, in("rdi") first,
             in("rsi") second, in("rdx") third, out("rcx") _, out("r11") _)
    }
}

fn exit(status: usize) -> ! {
    loop {
        system_call(60, status, null(), 0);
    }
}

extern "C" fn start() -> ! {
    if let Err(error) = run() {
        write_error(&error);
        exit(1)
    }
    exit(0)
}

// The stack pointer is a multiple of 16 here, as before any call.
global_asm!(".globl _start", "_start:", "call {start}", start = sym start);

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    exit(101)
}
