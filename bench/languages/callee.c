#include "callee.h"

__attribute__((visibility("default"))) int64_t callee_add(int64_t a,
                                                          int64_t b) {
  return a + b;
}
