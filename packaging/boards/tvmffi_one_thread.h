/* The port of tvmffi.h to a board with 32 bits or more and a C library: one
   thread uses the runtime, and memory comes from malloc. */

#ifndef TVMFFI_ONE_THREAD_H_
#define TVMFFI_ONE_THREAD_H_

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#if INT_MAX < 0x7fffffff
#error "tvmffi: the board needs a processor with 32 bits or more"
#endif

#define TVMFFI_FREESTANDING 1
#ifndef TVMFFI_SHARE_INTERFACE
#define TVMFFI_SHARE_INTERFACE 1
#endif
#define TVMFFI_NO_OWN_STRING 1
#define TVMFFI_NO_THREADS 1
#ifndef TVMFFI_MESSAGE_SIZE
#define TVMFFI_MESSAGE_SIZE 128
#endif
#if defined(ESP_PLATFORM) /* whose malloc aligns to 4 bytes */
#include <esp_heap_caps.h>
#define TVMFFI_MALLOC(size) heap_caps_aligned_alloc(8, size, MALLOC_CAP_DEFAULT)
#define TVMFFI_FREE(pointer) heap_caps_free(pointer)
#else
#define TVMFFI_MALLOC(size) malloc(size)
#define TVMFFI_FREE(pointer) free(pointer)
#endif

#endif
