#ifndef CRUSTER_ERROR_H
#define CRUSTER_ERROR_H

#include "msgpack.h"

/* The Error of the ABI. An application tells its errors apart by type, never by code. */
typedef struct {
    cr_bytes code;
    cr_bytes details; /* the encoding of one value, or no bytes */
    cr_bytes hint;
    cr_bytes message;
    bool retryable;
    cr_bytes type;
} cr_error;

/* An error that the SDK makes, with the hint of docs/errors.md for its code. */
cr_error cr_error_of(const char *code, const char *message);

/* An error points into the bytes that it was read from. */
cr_error cr_read_error(mp_reader *r);
void cr_put_error(mp_writer *w, const cr_error *error);

/* How an invocation ended: with no error, or with no value. */
typedef struct {
    bool failed;
    cr_error error;
    cr_bytes value;
} cr_outcome;

cr_outcome cr_read_outcome(mp_reader *r);
void cr_put_outcome(mp_writer *w, const cr_outcome *outcome);

#endif
