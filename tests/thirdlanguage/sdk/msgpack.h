#ifndef CRUSTER_MSGPACK_H
#define CRUSTER_MSGPACK_H

/* The part of MessagePack that section 7 of abi/ABI.md asks for. */

#include "heap.h"

/* Reads values one after the other. The first value of another type than the caller
 * asked for makes the reader bad: after that every read returns zero and every
 * container is empty, so a caller checks once, at the end. Nothing is copied:
 * strings and binaries point into the bytes that are read. */
typedef struct {
    const uint8_t *at;
    uint32_t left;
    bool bad;
} mp_reader;

typedef enum {
    MP_NIL,
    MP_BOOL,
    MP_INT,
    MP_FLOAT,
    MP_STR,
    MP_BIN,
    MP_ARRAY,
    MP_MAP,
    MP_EXT,
    MP_NONE, /* the end of the bytes, or a byte that begins no value */
} mp_kind;

mp_reader mp_read(cr_bytes bytes);
mp_kind mp_peek(const mp_reader *r);

/* Takes a nil if one is next. */
bool mp_take_nil(mp_reader *r);

bool mp_bool(mp_reader *r);
int64_t mp_int(mp_reader *r);
uint64_t mp_uint(mp_reader *r);
double mp_float(mp_reader *r);
cr_bytes mp_str(mp_reader *r);

/* nil reads as no bytes. */
cr_bytes mp_bin(mp_reader *r);

/* The number of elements, or of entries, which follow. There are never more
 * than the bytes that are left could hold. nil reads as none. */
uint32_t mp_array(mp_reader *r);
uint32_t mp_map(mp_reader *r);

/* Skips one value, nested at most 64 deep. mp_raw returns its bytes. */
void mp_skip(mp_reader *r);
cr_bytes mp_raw(mp_reader *r);

/* Whether all reads succeeded and all bytes were read. */
bool mp_done(const mp_reader *r);

/* Writes values, each in its shortest form, into memory that grows. */
typedef struct {
    uint8_t *at;
    uint32_t len;
    uint32_t room;
} mp_writer;

void mp_put_nil(mp_writer *w);
void mp_put_bool(mp_writer *w, bool value);
void mp_put_int(mp_writer *w, int64_t value);
void mp_put_uint(mp_writer *w, uint64_t value);
void mp_put_float(mp_writer *w, double value);
void mp_put_str(mp_writer *w, cr_bytes value);
void mp_put_text(mp_writer *w, const char *value);
void mp_put_bin(mp_writer *w, cr_bytes value);
void mp_put_array(mp_writer *w, uint32_t count);
void mp_put_map(mp_writer *w, uint32_t count);

/* Bytes that are encoded already. */
void mp_put_raw(mp_writer *w, cr_bytes encoded);

cr_bytes mp_written(const mp_writer *w);
void mp_reset(mp_writer *w);
void mp_release(mp_writer *w);

#endif
