#ifndef GREETER_WORKFLOWS_H
#define GREETER_WORKFLOWS_H

/* Declarations that the files of the module share. Each file lists its definitions;
 * module.c puts the lists together. */

#include "cruster.h"

/* seen.c: how the workflows of the conformance suite report the outcome of an op. */
void put_seen(mp_writer *out, const cr_future *f);
void put_seen_error(mp_writer *out, const cr_error *error);

/* Text, piece by piece. */
void put_words(mp_writer *text, const char *words);

/* Requests that are one value. */
bool read_int(cr_bytes request, int64_t *n);
bool read_str(cr_bytes request, cr_bytes *text);
bool read_bool(cr_bytes request, bool *flag);

/* Issue an op with one number as its input. */
void square(cr_workflow *w, cr_future *f, int64_t n);
void add(cr_workflow *w, cr_future *f, int64_t a, int64_t b);
void block(cr_workflow *w, cr_future *f, const cr_activity_options *options, bool once);

#define CR_MILLISECOND (CR_SECOND / 1000)

extern const cr_schema schema_none, schema_bool, schema_int, schema_string;

/* Workflows, by file. */
extern const cr_workflow_def wf_call, wf_call_itself, wf_call_keys, wf_call_many, wf_call_wrong, wf_double,
    wf_follow, wf_hashed_key, wf_raw_key;                                                /* children.c, keys.c */
extern const cr_workflow_def wf_await, wf_await_late, wf_await_number, wf_await_twice,
    wf_resolve_other, wf_resolve_own;                                                    /* deferreds.c */
extern const cr_workflow_def wf_greet;                                                   /* greet.c */
extern const cr_workflow_def wf_interrupted_early, wf_interruptible, wf_unhandled;       /* interrupts.c */
extern const cr_workflow_def wf_clock, wf_identity;                                      /* sandbox.c */
extern const cr_workflow_def wf_count, wf_count_keyed, wf_count_many, wf_sql_wrong;      /* sql.c */
extern const cr_workflow_def wf_fetch, wf_settings;                                      /* outside.c */
extern const cr_workflow_def wf_all, wf_first, wf_race, wf_sleeps;                       /* parallel.c */
extern const cr_workflow_def wf_block, wf_crash;                                         /* crashes.c */
extern const cr_workflow_def wf_exhaust, wf_idempotent, wf_retry, wf_sequence;           /* steps.c */
extern const cr_workflow_def wf_fail;                                                    /* failures.c */
extern const cr_workflow_def wf_bulk, wf_echo, wf_huge;                                  /* values.c */

/* Activities. */
extern const cr_activity_def act_add, act_block, act_bulk, act_count, act_crash, act_echo, act_fetch, act_flaky,
    act_hello, act_identity, act_make_bytes, act_note, act_read_count, act_settings, act_square, act_tell_key,
    act_try_statement;

extern const cr_migration migration_counters;

#endif
