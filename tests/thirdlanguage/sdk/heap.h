#ifndef CRUSTER_HEAP_H
#define CRUSTER_HEAP_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes that are owned elsewhere. The pointer of empty bytes is not used. */
typedef struct {
    const uint8_t *at;
    uint32_t len;
} cr_bytes;

/* Memory of the instance. Callers need not handle a failure: an invocation that
 * runs out of memory panics, and harms no other. */
void *cr_alloc(uint32_t size);
void cr_free(void *block);

/* Memory full of zeroes. */
void *cr_zalloc(uint32_t size);

/* Writes the reason to standard error, which the host quotes, and traps. */
_Noreturn void cr_panic(const char *why);

cr_bytes cr_text(const char *text);
bool cr_equal(cr_bytes bytes, const char *text);
bool cr_same(cr_bytes a, cr_bytes b);

/* A copy that the caller frees. Empty bytes need no memory. */
cr_bytes cr_copy(cr_bytes bytes);
void cr_drop(cr_bytes bytes);

#endif
