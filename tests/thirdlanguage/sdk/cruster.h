#ifndef CRUSTER_H
#define CRUSTER_H

/* The API for workflows and activities. A module defines cr_this_module; the SDK
 * does the rest. */

#include <stddef.h>

#include "error.h"
#include "msgpack.h"

#define CR_SECOND ((int64_t)1000000000)

/* ---- Futures: the ops that a workflow waits for ---- */

typedef enum {
    CR_IDLE, /* it has no op */
    CR_WAITING,
    CR_VALUE,
    CR_ERROR,
} cr_state;

/* One op. It lives in the frame of its workflow, and can be used again as soon
 * as it is settled: that frees its values. */
typedef struct cr_future {
    struct cr_future *next;
    uint32_t op;
    cr_state state;
    bool shielded;
    cr_bytes value;
    cr_error error;
    cr_bytes owned; /* the bytes that value and error point into */
} cr_future;

/* ---- Workflows ---- */

typedef enum { CR_DONE = 0, CR_PARKED = 1 } cr_status;

typedef struct {
    cr_bytes execution;
    cr_bytes namespace;
    cr_bytes request;
    int64_t now;   /* journal time, in nanoseconds since 1970 */
    bool stopping; /* a client asked the execution to stop */
    cr_bytes reason; /* and why */
    bool shielded; /* ops that are issued now are cleanup */
    bool failed;   /* an error was handed over */

    int at; /* where execute goes on; CR_BEGIN and CR_WAIT keep it */
    mp_writer input;
    mp_writer result;
    mp_writer body;
    cr_future interrupted;
    cr_future *waiting;
} cr_workflow;

/* After a request to stop every future that waits fails with CR-2007, and so does
 * every op that is issued afterwards: the workflow then ends by itself. Cleanup
 * sets `shielded` first. Ops that are issued under a shield do not fail. */
static inline bool cr_interrupted(const cr_workflow *w) {
    return w->stopping && !w->shielded;
}

/* The SDK calls execute from its beginning in every turn, and execute goes on where
 * it waited. So it is a state machine that reads like a function. Two rules: keep a
 * value that must outlive a wait in the frame, never in a local variable, and do
 * not wait inside another switch. */
typedef cr_status (*cr_execute)(cr_workflow *w, void *frame);

#define CR_BEGIN(w)                                                                                \
    switch ((w)->at) {                                                                             \
    case 0:

#define CR_WAIT(w, condition)                                                                      \
    do {                                                                                           \
        (w)->at = __LINE__;                                                                        \
        __attribute__((fallthrough));                                                              \
    case __LINE__:                                                                                 \
        if (!(condition))                                                                          \
            return CR_PARKED;                                                                      \
    } while (0)

#define CR_END                                                                                     \
    }                                                                                              \
    cr_panic("a workflow was resumed after its end")

/* Waits until a future has its value or its error. */
#define CR_AWAIT(w, future) CR_WAIT(w, (future)->state != CR_WAITING)

/* Ends the workflow if the future failed, with the error that it failed with. */
#define CR_TRY(w, future)                                                                          \
    do {                                                                                           \
        CR_AWAIT(w, future);                                                                       \
        if ((future)->state == CR_ERROR)                                                           \
            return cr_fail(w, &(future)->error);                                                   \
    } while (0)

/* An empty writer for the input of the op that is issued next. An op whose input
 * is left empty gets nil. */
mp_writer *cr_input(cr_workflow *w);

typedef struct {
    const char *backoff;
    int64_t base;
    double jitter;
    uint32_t retries;
} cr_retry;

typedef struct {
    const char *name;
    const char *key;
    cr_retry retry;
    int64_t timeout;
} cr_activity_options;

typedef struct {
    const char *workflow;
    cr_bytes key;
    const char *key_mode;
} cr_call_options;

void cr_sleep(cr_workflow *w, cr_future *f, int64_t nanoseconds);
void cr_activity(cr_workflow *w, cr_future *f, const cr_activity_options *options);
void cr_deferred(cr_workflow *w, cr_future *f, cr_bytes name);
void cr_resolve(cr_workflow *w, cr_future *f, cr_bytes execution, cr_bytes name);
void cr_reject(cr_workflow *w, cr_future *f, cr_bytes execution, cr_bytes name, const cr_error *error);
void cr_call(cr_workflow *w, cr_future *f, const cr_call_options *options);
void cr_send(cr_workflow *w, cr_future *f, const cr_call_options *options);
void cr_poll(cr_workflow *w, cr_future *f, cr_bytes execution);

/* No longer waits: the future is idle afterwards. */
void cr_cancel(cr_workflow *w, cr_future *f);

/* An empty writer for the result. A result that is left empty is nil. */
mp_writer *cr_result(cr_workflow *w);

/* End a workflow: `return cr_fail(w, &error);` The error of an op may be passed on:
 * it ends the workflow as CR-2006, with its own type, details and message. */
cr_status cr_fail(cr_workflow *w, const cr_error *error);
cr_status cr_bad_request(cr_workflow *w);

/* Stop at a value that has another type than the workflow expects: `return cr_unreadable(w, "…");` The host pauses
 * the execution, which can be moved to code that reads the value. */
cr_status cr_unreadable(cr_workflow *w, const char *what);

/* ---- Activities ---- */

typedef struct {
    cr_bytes execution;
    cr_bytes namespace;
    cr_bytes idempotency_key;
    cr_bytes request;
    int64_t now;
    int64_t attempt;

    cr_error error; /* set by a call that failed */
    mp_writer input;
    mp_writer result;
    mp_writer body;
} cr_attempt;

/* Returns true and sets result, or false and sets error. */
typedef bool (*cr_perform)(cr_attempt *a);

/* The arguments of the next statement: an array of that many values. */
mp_writer *cr_arguments(cr_attempt *a, uint32_t count);

bool cr_exec(cr_attempt *a, cr_bytes query, int64_t *rows_affected);

/* Undoes the statements so far; the attempt goes on. */
bool cr_rollback(cr_attempt *a);

/* Returns a reader that stands before the first row. Each row is an array. */
bool cr_query(cr_attempt *a, cr_bytes query, mp_reader *rows, uint32_t *count);

typedef struct {
    cr_bytes name;
    cr_bytes value;
} cr_header;

typedef struct {
    const char *method;
    cr_bytes url;
    const cr_header *headers;
    uint32_t header_count;
    cr_bytes body;
} cr_http_request;

typedef struct {
    int64_t status;
    cr_bytes body;
    mp_reader headers;
} cr_http_response;

bool cr_http(cr_attempt *a, const cr_http_request *request, cr_http_response *response);

/* The value of a header, by the name that the host gives it; empty if there is none. */
cr_bytes cr_http_header(const cr_http_response *response, const char *name);

bool cr_config(cr_attempt *a, cr_bytes name, bool *found, cr_bytes *value);

/* Fail an attempt: `return cr_give_up(a, "card_declined", "the card was declined");` */
bool cr_try_again(cr_attempt *a, const char *type, const char *message);
bool cr_give_up(cr_attempt *a, const char *type, const char *message);
bool cr_bad_input(cr_attempt *a);

/* ---- Text ---- */

/* Appends the digits of a number, as text and not as a value. */
void cr_put_decimal(mp_writer *text, int64_t n);

/* ---- Logs ---- */

typedef enum { CR_DEBUG = -4, CR_INFO = 0, CR_WARN = 4, CR_FAULT = 8 } cr_level;

void cr_log(cr_level level, cr_bytes text);

/* ---- The module ---- */

typedef struct cr_field cr_field;

typedef struct cr_schema {
    const char *type;
    const struct cr_schema *elem;
    const cr_field *fields; /* sorted by name */
    uint32_t field_count;
    int32_t bits;
    bool nullable;
} cr_schema;

struct cr_field {
    const char *name;
    const cr_schema *schema;
    bool required;
};

/* Writes the key of a request; false if the request does not decode. */
typedef bool (*cr_key)(mp_reader *request, mp_writer *key);

typedef struct {
    const char *name;
    cr_execute execute;
    uint32_t frame_size;
    cr_key key; /* none: the request is the key */
    bool key_raw;
    const cr_schema *input;
    const cr_schema *output;
} cr_workflow_def;

typedef struct {
    const char *name;
    cr_perform perform;
    const cr_schema *input;
    const cr_schema *output;
} cr_activity_def;

typedef struct {
    int64_t version;
    const char *dialect;
    const char *name;
    const char *sql;
} cr_migration;

/* All lists are sorted by name, migrations by version. */
typedef struct {
    const cr_workflow_def *const *workflows;
    uint32_t workflow_count;
    const cr_activity_def *const *activities;
    uint32_t activity_count;
    const cr_migration *const *migrations;
    uint32_t migration_count;
} cr_module;

extern const cr_module cr_this_module;

#define CR_COUNT(array) ((uint32_t)(sizeof(array) / sizeof((array)[0])))

#endif
