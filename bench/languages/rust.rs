// A call from Rust of an extern "C" function.
use std::time::Instant;

#[link(name = "callee")]
unsafe extern "C" {
    fn callee_add(a: i64, b: i64) -> i64;
}

fn main() {
    let count: i64 = std::env::args().nth(1).unwrap().parse().unwrap();
    let begin = Instant::now();
    let mut x = 0;
    for _ in 0..count {
        x = unsafe { callee_add(x, 1) };
    }
    println!("Rust, extern \"C\"\t{:.3}", begin.elapsed().as_nanos() as f64 / count as f64);
    assert_eq!(x, count);
}
