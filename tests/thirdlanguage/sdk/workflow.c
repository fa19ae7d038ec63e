#include "imports.h"
#include "internal.h"

/* ---- Futures ---- */

static void forget(cr_future *f) {
    cr_drop(f->owned);
    *f = (cr_future){0};
}

static void unlink(cr_workflow *w, cr_future *f) {
    for (cr_future **at = &w->waiting; *at != NULL; at = &(*at)->next) {
        if (*at == f) {
            *at = f->next;
            return;
        }
    }
}

/* Takes over the raw bytes of a value. */
static void succeed(cr_future *f, cr_bytes owned) {
    f->owned = owned;
    f->value = owned;
    f->state = CR_VALUE;
}

/* Takes over the raw bytes of an Error. */
static void fail(cr_future *f, cr_bytes owned) {
    mp_reader r = mp_read(owned);
    f->owned = owned;
    f->error = cr_read_error(&r);
    if (!mp_done(&r))
        cr_panic("the host sent an error that does not decode");
    f->state = CR_ERROR;
}

void cr_deliver(cr_workflow *w, uint32_t op, bool failed, cr_bytes raw) {
    for (cr_future *f = w->waiting; f != NULL; f = f->next) {
        if (f->op != op)
            continue;
        unlink(w, f);
        if (failed)
            fail(f, cr_copy(raw));
        else
            succeed(f, cr_copy(raw));
        return;
    }
}

/* The error that waits end with once the execution was asked to stop. */
static void fail_as_interrupted(cr_workflow *w, cr_future *f) {
    mp_writer message = {0}, encoded = {0};
    mp_put_raw(&message, cr_text("the execution was asked to stop"));
    if (w->reason.len > 0) {
        mp_put_raw(&message, cr_text(": "));
        mp_put_raw(&message, w->reason);
    }
    cr_error stop = cr_error_of("CR-2007", "");
    stop.message = mp_written(&message);
    cr_put_error(&encoded, &stop);
    mp_release(&message);
    fail(f, mp_written(&encoded)); /* which owns the bytes from now on */
}

static void read_reason(cr_workflow *w) {
    mp_reader r = mp_read(w->interrupted.value);
    for (uint32_t n = mp_map(&r); n > 0 && !r.bad; n--) {
        if (cr_equal(mp_str(&r), "reason"))
            w->reason = mp_str(&r);
        else
            mp_skip(&r);
    }
}

void cr_interrupt(cr_workflow *w) {
    w->stopping = true;
    read_reason(w);
    for (cr_future **at = &w->waiting; *at != NULL;) {
        cr_future *f = *at;
        if (f->shielded) {
            at = &f->next;
            continue;
        }
        *at = f->next;
        cr_host_cancel((int32_t)f->op);
        fail_as_interrupted(w, f);
    }
}

void cr_cancel(cr_workflow *w, cr_future *f) {
    if (f->state == CR_WAITING) {
        cr_host_cancel((int32_t)f->op);
        unlink(w, f);
    }
    forget(f);
}

/* ---- Ops ---- */

typedef int32_t (*import)(const void *at, uint32_t len);

static void issue(cr_workflow *w, cr_future *f, import call) {
    if (f->state == CR_WAITING)
        cr_panic("a future that waits was used for another op");
    forget(f);
    if (cr_interrupted(w)) {
        mp_reset(&w->input);
        fail_as_interrupted(w, f);
        return;
    }
    int32_t result = call(w->body.at, w->body.len);
    mp_reset(&w->input);
    if (result < 0) {
        fail(f, cr_take_input(cr_refusal(result)));
        return;
    }
    f->op = (uint32_t)result;
    f->state = CR_WAITING;
    f->shielded = w->shielded;
    cr_future **last = &w->waiting;
    while (*last != NULL)
        last = &(*last)->next;
    *last = f;
}

mp_writer *cr_input(cr_workflow *w) {
    mp_reset(&w->input);
    return &w->input;
}

void cr_wait_for_interrupt(cr_workflow *w) {
    cr_begin(&w->body, 0);
    issue(w, &w->interrupted, cr_host_interrupted);
}

void cr_sleep(cr_workflow *w, cr_future *f, int64_t nanoseconds) {
    cr_begin(&w->body, 2);
    cr_field_int(&w->body, "duration", nanoseconds);
    cr_field_text(&w->body, "name", NULL);
    issue(w, f, cr_host_sleep);
}

void cr_activity(cr_workflow *w, cr_future *f, const cr_activity_options *options) {
    cr_begin(&w->body, 5);
    cr_field_value(&w->body, "input", &w->input);
    cr_field_text(&w->body, "key", options->key);
    cr_field_text(&w->body, "name", options->name);
    cr_field_retry(&w->body, &options->retry);
    cr_field_int(&w->body, "timeout", options->timeout);
    issue(w, f, cr_host_activity);
}

void cr_deferred(cr_workflow *w, cr_future *f, cr_bytes name) {
    cr_begin(&w->body, 1);
    cr_field_str(&w->body, "name", name);
    issue(w, f, cr_host_deferred);
}

static void settle(cr_workflow *w, cr_future *f, cr_bytes execution, cr_bytes name, const cr_error *error) {
    cr_begin(&w->body, 4);
    mp_put_text(&w->body, "error");
    if (error != NULL)
        cr_put_error(&w->body, error);
    else
        mp_put_nil(&w->body);
    cr_field_str(&w->body, "execution", execution);
    cr_field_str(&w->body, "name", name);
    if (error == NULL) {
        cr_field_value(&w->body, "value", &w->input);
    } else {
        mp_put_text(&w->body, "value");
        mp_put_nil(&w->body);
    }
    issue(w, f, cr_host_resolve);
}

void cr_resolve(cr_workflow *w, cr_future *f, cr_bytes execution, cr_bytes name) {
    settle(w, f, execution, name, NULL);
}

void cr_reject(cr_workflow *w, cr_future *f, cr_bytes execution, cr_bytes name, const cr_error *error) {
    settle(w, f, execution, name, error);
}

static void start(cr_workflow *w, cr_future *f, const cr_call_options *options, import call) {
    cr_begin(&w->body, 4);
    cr_field_value(&w->body, "input", &w->input);
    cr_field_str(&w->body, "key", options->key);
    cr_field_text(&w->body, "key_mode", options->key_mode);
    cr_field_text(&w->body, "workflow", options->workflow);
    issue(w, f, call);
}

void cr_call(cr_workflow *w, cr_future *f, const cr_call_options *options) {
    start(w, f, options, cr_host_call);
}

void cr_send(cr_workflow *w, cr_future *f, const cr_call_options *options) {
    start(w, f, options, cr_host_send);
}

void cr_poll(cr_workflow *w, cr_future *f, cr_bytes execution) {
    cr_begin(&w->body, 1);
    cr_field_str(&w->body, "execution", execution);
    issue(w, f, cr_host_poll);
}

/* ---- Ends ---- */

mp_writer *cr_result(cr_workflow *w) {
    mp_reset(&w->result);
    return &w->result;
}

/* Whether the application wrote the message of an error. The host wrote any other,
 * which is passed on with its code. */
static bool own_words(cr_bytes code) {
    return code.len == 0 || cr_equal(code, "CR-3001") || cr_equal(code, "CR-2006") || cr_equal(code, "CR-2014");
}

cr_status cr_fail(cr_workflow *w, const cr_error *error) {
    w->failed = true;
    if (w->stopping && cr_equal(error->code, "CR-2007")) {
        cr_hand_over_error(&w->body, error);
        return CR_DONE;
    }
    mp_writer message = {0};
    if (!own_words(error->code)) {
        mp_put_raw(&message, error->code);
        mp_put_raw(&message, cr_text(": "));
    }
    mp_put_raw(&message, error->message);
    cr_error last = cr_error_of("CR-2006", "");
    if (!own_words(error->code) && error->hint.len > 0)
        last.hint = error->hint;
    last.message = mp_written(&message);
    last.type = error->type;
    last.details = error->details;
    cr_hand_over_error(&w->body, &last);
    return CR_DONE;
}

cr_status cr_bad_request(cr_workflow *w) {
    cr_error error = cr_error_of("CR-2002", "the request does not decode");
    w->failed = true;
    cr_hand_over_error(&w->body, &error);
    return CR_DONE;
}

cr_status cr_unreadable(cr_workflow *w, const char *what) {
    cr_error error = cr_error_of("CR-4014", what);
    w->failed = true;
    cr_hand_over_error(&w->body, &error);
    return CR_DONE;
}
