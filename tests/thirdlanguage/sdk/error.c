#include "error.h"

#include <stddef.h>

static const struct {
    const char *code;
    const char *hint;
} hints[] = {
    {"CR-2002", "Compare the input with the type shown by 'cruster-host module describe NAME'."},
    {"CR-2005", "Keep large data in your database or object store and pass a reference."},
    {"CR-2006", "The message comes from the workflow's code; 'cruster-host workflow history' shows its steps."},
    {"CR-2007", "The execution was asked to stop, and its cleanup has run. To do the work again, restart it with 'cruster-host workflow restart', or start it with another key."},
    {"CR-2014", "The message comes from the caller that rejected the deferred."},
    {"CR-3001", "The message comes from the activity's code; 'cruster-host workflow history' shows its attempts."},
    {"CR-3004", "List the activity in cr_this_module."},
    {"CR-4011", "List the workflow in cr_this_module."},
    {"CR-4014", "Nothing is lost: the value is in the journal. Push code that reads it and run 'cruster-host workflow move EXECUTION --to latest'."},
};

cr_error cr_error_of(const char *code, const char *message) {
    cr_error error = {.code = cr_text(code), .message = cr_text(message)};
    for (uint32_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (cr_equal(error.code, hints[i].code))
            error.hint = cr_text(hints[i].hint);
    return error;
}

cr_error cr_read_error(mp_reader *r) {
    cr_error e = {0};
    for (uint32_t n = mp_map(r); n > 0 && !r->bad; n--) {
        cr_bytes field = mp_str(r);
        if (cr_equal(field, "code"))
            e.code = mp_str(r);
        else if (cr_equal(field, "details"))
            e.details = mp_bin(r);
        else if (cr_equal(field, "hint"))
            e.hint = mp_str(r);
        else if (cr_equal(field, "message"))
            e.message = mp_str(r);
        else if (cr_equal(field, "retryable"))
            e.retryable = mp_bool(r);
        else if (cr_equal(field, "type"))
            e.type = mp_str(r);
        else
            mp_skip(r);
    }
    return e;
}

void cr_put_error(mp_writer *w, const cr_error *error) {
    mp_put_map(w, 6);
    mp_put_text(w, "code");
    mp_put_str(w, error->code);
    mp_put_text(w, "details");
    if (error->details.len > 0)
        mp_put_bin(w, error->details);
    else
        mp_put_nil(w);
    mp_put_text(w, "hint");
    mp_put_str(w, error->hint);
    mp_put_text(w, "message");
    mp_put_str(w, error->message);
    mp_put_text(w, "retryable");
    mp_put_bool(w, error->retryable);
    mp_put_text(w, "type");
    mp_put_str(w, error->type);
}

cr_outcome cr_read_outcome(mp_reader *r) {
    cr_outcome o = {0};
    for (uint32_t n = mp_map(r); n > 0 && !r->bad; n--) {
        cr_bytes field = mp_str(r);
        if (cr_equal(field, "error")) {
            o.failed = !mp_take_nil(r);
            if (o.failed)
                o.error = cr_read_error(r);
        } else if (cr_equal(field, "value")) {
            o.value = mp_bin(r);
        } else {
            mp_skip(r);
        }
    }
    return o;
}

void cr_put_outcome(mp_writer *w, const cr_outcome *outcome) {
    mp_put_map(w, 3);
    mp_put_text(w, "continue");
    mp_put_nil(w);
    mp_put_text(w, "error");
    if (outcome->failed)
        cr_put_error(w, &outcome->error);
    else
        mp_put_nil(w);
    mp_put_text(w, "value");
    if (outcome->failed)
        mp_put_nil(w);
    else
        mp_put_bin(w, outcome->value);
}
