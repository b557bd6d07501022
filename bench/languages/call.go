// A call from Go by cgo.
package main

/*
#cgo LDFLAGS: -lcallee
#include <stdint.h>
int64_t callee_add(int64_t a, int64_t b);
*/
import "C"

import (
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	x := C.int64_t(0)
	begin := time.Now()
	for i := 0; i < count; i++ {
		x = C.callee_add(x, 1)
	}
	fmt.Printf("Go, cgo\t%.3f\n", float64(time.Since(begin).Nanoseconds())/float64(count))
	if x != C.int64_t(count) {
		panic("wrong")
	}
}
