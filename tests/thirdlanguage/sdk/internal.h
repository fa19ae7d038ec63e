#ifndef CRUSTER_INTERNAL_H
#define CRUSTER_INTERNAL_H

/* Declarations that the files of the SDK share. */

#include "cruster.h"

/* ---- body.c ---- */

/* Takes the pending input. The caller frees it. */
cr_bytes cr_take_input(uint32_t len);

/* The length of the Error that a negative result of an import announces. */
uint32_t cr_refusal(int32_t result);

/* Begins a body. Its fields are to be written in alphabetical order. */
void cr_begin(mp_writer *body, uint32_t fields);
void cr_field_text(mp_writer *body, const char *field, const char *text); /* NULL is empty */
void cr_field_str(mp_writer *body, const char *field, cr_bytes text);
void cr_field_int(mp_writer *body, const char *field, int64_t number);

/* A value, or nil where the writer is empty: nil as a value, not as its absence. */
void cr_field_value(mp_writer *body, const char *field, const mp_writer *value);
void cr_field_retry(mp_writer *body, const cr_retry *retry);

/* Whether a value is larger than the ABI allows; the argument what names it for the error. */
bool cr_too_large(const mp_writer *value, const char *what, const char *name, cr_error *error);

/* Hands over how the invocation ended. */
void cr_hand_over_value(mp_writer *body, const mp_writer *value);
void cr_hand_over_error(mp_writer *body, const cr_error *error);

/* ---- manifest.c ---- */

void cr_put_manifest(mp_writer *w, const cr_module *module);

/* ---- turn.c ---- */

cr_status cr_first_turn(cr_workflow *w, const cr_workflow_def *def);
cr_status cr_next_turn(cr_bytes resume);

/* ---- workflow.c ---- */

void cr_wait_for_interrupt(cr_workflow *w);

/* Settles the future that waits for an op with the raw value or error of its
 * delivery. It ignores an op that no future waits for. */
void cr_deliver(cr_workflow *w, uint32_t op, bool failed, cr_bytes raw);

/* Makes all waits fail. */
void cr_interrupt(cr_workflow *w);

#endif
