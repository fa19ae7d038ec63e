#include "heap.h"

#include <stddef.h>

#include "imports.h"

/* Blocks come in powers of two, each size with a list of its free blocks, and
 * are never cut or joined. That wastes up to half of a block, but is simple: the memory that a
 * workflow holds between two turns is small, and the host discards the whole
 * instance of an activity. */

enum { SMALLEST = 5, LARGEST = 26, HEADER = 16, PAGE = 65536 };

typedef struct block {
    struct block *next;
    uint32_t order;
} block;

_Static_assert(sizeof(block) <= HEADER, "a header holds a block");

extern uint8_t __heap_base;

static block *free_blocks[LARGEST + 1];
static uintptr_t fresh; /* where memory that was never used begins */

static uint32_t order_of(uint32_t size) {
    if (size > (1U << LARGEST) - HEADER)
        cr_panic("out of memory: a block is too large");
    uint32_t order = SMALLEST;
    while ((1U << order) - HEADER < size)
        order++;
    return order;
}

/* Reserves memory that was never used, and grows the memory if there is none. */
static block *take_fresh(uint32_t order) {
    if (fresh == 0)
        fresh = ((uintptr_t)&__heap_base + HEADER - 1) & ~(uintptr_t)(HEADER - 1);
    uint64_t end = (uint64_t)fresh + (1U << order);
    uint64_t have = (uint64_t)__builtin_wasm_memory_size(0) * PAGE;
    if (end > have) {
        uint32_t pages = (uint32_t)((end - have + PAGE - 1) / PAGE);
        if (end > UINT32_MAX || __builtin_wasm_memory_grow(0, pages) == SIZE_MAX)
            cr_panic("out of memory");
    }
    block *b = (block *)fresh;
    fresh = (uintptr_t)end;
    return b;
}

void *cr_alloc(uint32_t size) {
    uint32_t order = order_of(size);
    block *b = free_blocks[order];
    if (b != NULL)
        free_blocks[order] = b->next;
    else
        b = take_fresh(order);
    b->order = order;
    return (uint8_t *)b + HEADER;
}

void cr_free(void *memory) {
    if (memory == NULL)
        return;
    block *b = (block *)((uint8_t *)memory - HEADER);
    b->next = free_blocks[b->order];
    free_blocks[b->order] = b;
}

void *cr_zalloc(uint32_t size) {
    void *memory = cr_alloc(size);
    __builtin_memset(memory, 0, size);
    return memory;
}

_Noreturn void cr_panic(const char *why) {
    cr_bytes text = cr_text(why);
    const cr_wasi_iovec line[] = {{"panic: ", 7}, {text.at, text.len}, {"\n", 1}};
    uint32_t written;
    (void)cr_wasi_fd_write(2, line, 3, &written);
    __builtin_trap();
}

cr_bytes cr_text(const char *text) {
    uint32_t len = 0;
    while (text[len] != 0)
        len++;
    return (cr_bytes){(const uint8_t *)text, len};
}

bool cr_equal(cr_bytes bytes, const char *text) {
    for (uint32_t i = 0; i < bytes.len; i++)
        if (text[i] == 0 || bytes.at[i] != (uint8_t)text[i])
            return false;
    return text[bytes.len] == 0;
}

bool cr_same(cr_bytes a, cr_bytes b) {
    if (a.len != b.len)
        return false;
    for (uint32_t i = 0; i < a.len; i++)
        if (a.at[i] != b.at[i])
            return false;
    return true;
}

cr_bytes cr_copy(cr_bytes bytes) {
    if (bytes.len == 0)
        return (cr_bytes){NULL, 0};
    uint8_t *copy = cr_alloc(bytes.len);
    __builtin_memcpy(copy, bytes.at, bytes.len);
    return (cr_bytes){copy, bytes.len};
}

void cr_drop(cr_bytes bytes) {
    if (bytes.len > 0)
        cr_free((void *)(uintptr_t)bytes.at);
}
