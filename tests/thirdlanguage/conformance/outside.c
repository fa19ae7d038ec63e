#include "workflows.h"

typedef struct {
    cr_future step;
} one_op;

/* ---- Fetch: an HTTP call ---- */

static cr_status fetch(cr_workflow *w, void *frame) {
    one_op *f = frame;
    CR_BEGIN(w);
    mp_put_raw(cr_input(w), w->request);
    cr_activity(w, &f->step, &(cr_activity_options){.name = "fetch"});
    CR_AWAIT(w, &f->step);
    put_seen(cr_result(w), &f->step);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_fetch = {
    .name = "Fetch", .execute = fetch, .frame_size = sizeof(one_op), .input = &schema_string};

static bool fail_with_status(cr_attempt *a, const cr_http_response *response) {
    cr_bytes body = response->body;
    while (body.len > 0 && body.at[body.len - 1] == '\n')
        body.len--;
    mp_writer message = {0};
    put_words(&message, "the answer has status ");
    cr_put_decimal(&message, response->status);
    put_words(&message, ": ");
    mp_put_raw(&message, body);
    (void)cr_give_up(a, "http_status", "");
    a->error.message = mp_written(&message);
    return false;
}

/* Fails with the host's error: not retryable, and with its code in front of the message. */
static bool give_up_on_host(cr_attempt *a) {
    mp_writer message = {0};
    mp_put_raw(&message, a->error.code);
    put_words(&message, ": ");
    mp_put_raw(&message, a->error.message);
    a->error.message = mp_written(&message);
    a->error.retryable = false;
    return false;
}

static bool do_fetch(cr_attempt *a) {
    cr_bytes url;
    cr_http_response response;
    if (!read_str(a->request, &url))
        return cr_bad_input(a);
    const cr_header key = {cr_text("X-Key"), a->idempotency_key};
    const cr_http_request request = {
        .method = "POST", .url = url, .headers = &key, .header_count = 1, .body = cr_text("ping")};
    if (!cr_http(a, &request, &response))
        return give_up_on_host(a);
    if (response.status < 200 || response.status > 299)
        return fail_with_status(a, &response);
    mp_writer text = {0};
    mp_put_raw(&text, cr_http_header(&response, "X-Answer"));
    put_words(&text, " ");
    mp_put_raw(&text, response.body);
    mp_put_str(&a->result, mp_written(&text));
    return true;
}

const cr_activity_def act_fetch = {
    .name = "fetch", .perform = do_fetch, .input = &schema_string, .output = &schema_string};

/* ---- Settings: the configuration of the deployment ---- */

static cr_status settings(cr_workflow *w, void *frame) {
    one_op *f = frame;
    CR_BEGIN(w);
    mp_put_raw(cr_input(w), w->request);
    cr_activity(w, &f->step, &(cr_activity_options){.name = "settings"});
    CR_TRY(w, &f->step);
    mp_put_raw(cr_result(w), f->step.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_settings = {.name = "Settings", .execute = settings, .frame_size = sizeof(one_op)};

static bool read_settings(cr_attempt *a) {
    mp_reader names = mp_read(a->request);
    uint32_t count = mp_array(&names);
    mp_put_array(&a->result, count);
    for (; count > 0; count--) {
        bool found;
        cr_bytes value;
        cr_bytes name = mp_str(&names);
        if (names.bad)
            return cr_bad_input(a);
        if (!cr_config(a, name, &found, &value))
            return false;
        mp_put_array(&a->result, 2);
        mp_put_bool(&a->result, found);
        mp_put_str(&a->result, value);
    }
    return mp_done(&names) || cr_bad_input(a);
}

const cr_activity_def act_settings = {.name = "settings", .perform = read_settings};
