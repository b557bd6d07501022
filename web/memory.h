/* Memory of the wasm module: what the runtime takes as TVMFFI_MALLOC. */
#ifndef WEB_MEMORY_H_
#define WEB_MEMORY_H_

#include <stddef.h>

/* The largest block. */
#define WEB_LARGEST ((size_t)0x7FFF0000)

/* Gives memory, aligned to 16 bytes, or NULL. The memory of the module may
   grow: JavaScript is told. */
void *web_alloc(size_t size);

/* Frees it; NULL is nothing. */
void web_free(void *pointer);

/* Counts the bytes that blocks take at present, with what stands in front of
   them: twice the same number means that nothing was lost. */
size_t web_bytes_used(void);

#endif
