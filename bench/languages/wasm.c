/* The callee in WebAssembly, of 32 bits: a 64-bit integer is a BigInt in
 * JavaScript, which is another subject. */
#include <stdint.h>

int32_t add(int32_t a, int32_t b) { return a + b; }
