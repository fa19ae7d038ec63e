#include "workflows.h"

typedef struct {
    cr_future first;
    cr_future second;
    cr_future third;
} frame3;

/* ---- Await: the outcome of the promise "answer" ---- */

static cr_status await(cr_workflow *w, void *frame) {
    frame3 *f = frame;
    CR_BEGIN(w);
    cr_deferred(w, &f->first, cr_text("answer"));
    CR_AWAIT(w, &f->first);
    put_seen(cr_result(w), &f->first);
    return CR_DONE;
    CR_END;
}

static bool request_as_key(mp_reader *request, mp_writer *key) {
    mp_put_str(key, mp_str(request));
    return mp_done(request);
}

const cr_workflow_def wf_await = {
    .name = "Await",
    .execute = await,
    .frame_size = sizeof(frame3),
    .key = request_as_key,
    .key_raw = true,
    .input = &schema_string,
};

/* ---- AwaitLate: the answer may be there before it is awaited ---- */

static cr_status await_late(cr_workflow *w, void *frame) {
    frame3 *f = frame;
    CR_BEGIN(w);
    cr_deferred(w, &f->first, cr_text("gate"));
    CR_TRY(w, &f->first);
    cr_deferred(w, &f->second, cr_text("answer"));
    CR_AWAIT(w, &f->second);
    put_seen(cr_result(w), &f->second);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_await_late = {
    .name = "AwaitLate", .execute = await_late, .frame_size = sizeof(frame3), .input = &schema_none};

/* ---- AwaitTwice: two ops wait for one promise ---- */

static cr_status await_twice(cr_workflow *w, void *frame) {
    frame3 *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    cr_deferred(w, &f->first, cr_text("answer"));
    cr_deferred(w, &f->second, cr_text("answer"));
    CR_TRY(w, &f->first);
    CR_TRY(w, &f->second);
    result = cr_result(w);
    mp_put_array(result, 2);
    mp_put_raw(result, f->first.value);
    mp_put_raw(result, f->second.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_await_twice = {
    .name = "AwaitTwice", .execute = await_twice, .frame_size = sizeof(frame3), .input = &schema_none};

/* ---- AwaitNumber: the answer may have another type ---- */

static cr_status await_number(cr_workflow *w, void *frame) {
    frame3 *f = frame;
    int64_t number;
    CR_BEGIN(w);
    cr_deferred(w, &f->first, cr_text("answer"));
    CR_AWAIT(w, &f->first);
    if (f->first.state == CR_VALUE && !read_int(f->first.value, &number))
        return cr_unreadable(w, "the result of deferred answer does not fit: it is not a number");
    put_seen(cr_result(w), &f->first);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_await_number = {
    .name = "AwaitNumber", .execute = await_number, .frame_size = sizeof(frame3), .input = &schema_none};

/* ---- ResolveOwn: settles its own promise, twice, and then awaits it ---- */

static cr_error rejection(const char *type, const char *message) {
    cr_error error = cr_error_of("CR-2014", message);
    error.type = cr_text(type);
    return error;
}

static void settle_own(cr_workflow *w, cr_future *f, bool reject) {
    cr_bytes own = {0};
    if (reject) {
        cr_error no = rejection("no", "rejected by itself");
        cr_reject(w, f, own, cr_text("answer"), &no);
        return;
    }
    mp_put_text(cr_input(w), "mine");
    cr_resolve(w, f, own, cr_text("answer"));
}

static cr_status resolve_own(cr_workflow *w, void *frame) {
    frame3 *f = frame;
    bool reject;
    mp_writer *result;
    CR_BEGIN(w);
    if (!read_bool(w->request, &reject))
        return cr_bad_request(w);
    settle_own(w, &f->first, reject);
    CR_TRY(w, &f->first);
    mp_put_text(cr_input(w), "too late");
    cr_resolve(w, &f->second, (cr_bytes){0}, cr_text("answer"));
    CR_TRY(w, &f->second);
    cr_deferred(w, &f->third, cr_text("answer"));
    CR_AWAIT(w, &f->third);
    result = cr_result(w);
    mp_put_array(result, 3);
    mp_put_raw(result, f->first.value);
    mp_put_raw(result, f->second.value);
    put_seen(result, &f->third);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_resolve_own = {
    .name = "ResolveOwn", .execute = resolve_own, .frame_size = sizeof(frame3), .input = &schema_bool};

/* ---- ResolveOther: settles the answer of another execution ---- */

static cr_status resolve_other(cr_workflow *w, void *frame) {
    frame3 *f = frame;
    cr_bytes execution;
    cr_error late;
    mp_writer *result;
    if (!read_str(w->request, &execution))
        return cr_bad_request(w);
    CR_BEGIN(w);
    mp_put_text(cr_input(w), "from afar");
    cr_resolve(w, &f->first, execution, cr_text("answer"));
    CR_AWAIT(w, &f->first);
    late = rejection("", "too late");
    cr_reject(w, &f->second, execution, cr_text("answer"), &late);
    CR_AWAIT(w, &f->second);
    result = cr_result(w);
    mp_put_array(result, 2);
    put_seen(result, &f->first);
    put_seen(result, &f->second);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_resolve_other = {
    .name = "ResolveOther", .execute = resolve_other, .frame_size = sizeof(frame3), .input = &schema_string};
