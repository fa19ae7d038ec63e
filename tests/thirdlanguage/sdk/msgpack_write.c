#include "msgpack.h"

#include <stddef.h>

static uint8_t *grow(mp_writer *w, uint32_t more) {
    if (more > w->room - w->len) {
        uint64_t room = (uint64_t)w->len + more + w->len / 2 + 64;
        if (room > UINT32_MAX)
            cr_panic("out of memory: a body is too large");
        uint8_t *wider = cr_alloc((uint32_t)room);
        if (w->len > 0)
            __builtin_memcpy(wider, w->at, w->len);
        cr_free(w->at);
        w->at = wider;
        w->room = (uint32_t)room;
    }
    uint8_t *at = w->at + w->len;
    w->len += more;
    return at;
}

/* A first byte and a big-endian number after it. */
static void put(mp_writer *w, uint8_t first, uint64_t n, uint32_t width) {
    uint8_t *at = grow(w, 1 + width);
    *at = first;
    for (uint32_t i = width; i > 0; i--) {
        at[i] = (uint8_t)n;
        n >>= 8;
    }
}

void mp_put_nil(mp_writer *w) {
    put(w, 0xc0, 0, 0);
}

void mp_put_bool(mp_writer *w, bool value) {
    put(w, value ? 0xc3 : 0xc2, 0, 0);
}

void mp_put_uint(mp_writer *w, uint64_t value) {
    if (value <= 0x7f)
        put(w, (uint8_t)value, 0, 0);
    else if (value <= UINT8_MAX)
        put(w, 0xcc, value, 1);
    else if (value <= UINT16_MAX)
        put(w, 0xcd, value, 2);
    else if (value <= UINT32_MAX)
        put(w, 0xce, value, 4);
    else
        put(w, 0xcf, value, 8);
}

void mp_put_int(mp_writer *w, int64_t value) {
    if (value >= 0)
        mp_put_uint(w, (uint64_t)value);
    else if (value >= -32)
        put(w, (uint8_t)value, 0, 0);
    else if (value >= INT8_MIN)
        put(w, 0xd0, (uint64_t)value, 1);
    else if (value >= INT16_MIN)
        put(w, 0xd1, (uint64_t)value, 2);
    else if (value >= INT32_MIN)
        put(w, 0xd2, (uint64_t)value, 4);
    else
        put(w, 0xd3, (uint64_t)value, 8);
}

void mp_put_float(mp_writer *w, double value) {
    uint64_t bits = 0x7ff8000000000000;
    if (value == value)
        __builtin_memcpy(&bits, &value, sizeof bits);
    put(w, 0xcb, bits, 8);
}

/* The header of something with a length: its first byte for 8, 16 and 32 bits. */
static void put_header(mp_writer *w, uint8_t first8, uint8_t first16, uint8_t first32, uint32_t len) {
    if (len <= UINT8_MAX && first8 != 0)
        put(w, first8, len, 1);
    else if (len <= UINT16_MAX)
        put(w, first16, len, 2);
    else
        put(w, first32, len, 4);
}

void mp_put_raw(mp_writer *w, cr_bytes encoded) {
    if (encoded.len > 0)
        __builtin_memcpy(grow(w, encoded.len), encoded.at, encoded.len);
}

void mp_put_str(mp_writer *w, cr_bytes value) {
    if (value.len <= 31)
        put(w, (uint8_t)(0xa0 | value.len), 0, 0);
    else
        put_header(w, 0xd9, 0xda, 0xdb, value.len);
    mp_put_raw(w, value);
}

void mp_put_text(mp_writer *w, const char *value) {
    mp_put_str(w, cr_text(value));
}

void mp_put_bin(mp_writer *w, cr_bytes value) {
    put_header(w, 0xc4, 0xc5, 0xc6, value.len);
    mp_put_raw(w, value);
}

void mp_put_array(mp_writer *w, uint32_t count) {
    if (count <= 15)
        put(w, (uint8_t)(0x90 | count), 0, 0);
    else
        put_header(w, 0, 0xdc, 0xdd, count);
}

void mp_put_map(mp_writer *w, uint32_t count) {
    if (count <= 15)
        put(w, (uint8_t)(0x80 | count), 0, 0);
    else
        put_header(w, 0, 0xde, 0xdf, count);
}

cr_bytes mp_written(const mp_writer *w) {
    return (cr_bytes){w->at, w->len};
}

void mp_reset(mp_writer *w) {
    w->len = 0;
}

void mp_release(mp_writer *w) {
    cr_free(w->at);
    *w = (mp_writer){NULL, 0, 0};
}
