#include "workflows.h"

typedef struct {
    cr_future step;
} one_op;

/* ---- Double: a child ---- */

static cr_status twice(cr_workflow *w, void *frame) {
    one_op *f = frame;
    int64_t n;
    cr_error negative;
    mp_writer message = {0};
    CR_BEGIN(w);
    if (!read_int(w->request, &n))
        return cr_bad_request(w);
    if (n < 0) {
        cr_put_decimal(&message, n);
        put_words(&message, " is negative");
        negative = (cr_error){.type = cr_text("negative"), .message = mp_written(&message)};
        return cr_fail(w, &negative);
    }
    add(w, &f->step, n, n);
    CR_TRY(w, &f->step);
    mp_put_raw(cr_result(w), f->step.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_double = {
    .name = "Double", .execute = twice, .frame_size = sizeof(one_op), .input = &schema_int, .output = &schema_int};

/* ---- Call: executes a child and waits for it ---- */

static cr_status call(cr_workflow *w, void *frame) {
    one_op *f = frame;
    int64_t n;
    CR_BEGIN(w);
    if (!read_int(w->request, &n))
        return cr_bad_request(w);
    mp_put_int(cr_input(w), n);
    cr_call(w, &f->step, &(cr_call_options){.workflow = "Double"});
    CR_AWAIT(w, &f->step);
    put_seen(cr_result(w), &f->step);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_call = {
    .name = "Call", .execute = call, .frame_size = sizeof(one_op), .input = &schema_int};

/* ---- CallMany: children at the same time ---- */

typedef struct {
    int64_t n;
    int64_t i;
    int64_t sum;
    cr_future *children;
} many_frame;

static cr_status call_many(cr_workflow *w, void *frame) {
    many_frame *f = frame;
    int64_t doubled;
    CR_BEGIN(w);
    if (!read_int(w->request, &f->n) || f->n < 0 || f->n > 1000)
        return cr_bad_request(w);
    f->children = cr_zalloc((uint32_t)f->n * (uint32_t)sizeof *f->children);
    for (f->i = 0; f->i < f->n; f->i++) {
        mp_put_int(cr_input(w), 1000 + f->i);
        cr_call(w, &f->children[f->i], &(cr_call_options){.workflow = "Double"});
    }
    for (f->i = 0; f->i < f->n; f->i++) {
        CR_TRY(w, &f->children[f->i]);
        if (!read_int(f->children[f->i].value, &doubled) || __builtin_add_overflow(f->sum, doubled, &f->sum))
            return cr_unreadable(w, "the result of Double does not fit");
    }
    mp_put_int(cr_result(w), f->sum);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_call_many = {
    .name = "CallMany", .execute = call_many, .frame_size = sizeof(many_frame), .input = &schema_int, .output = &schema_int};

/* ---- CallKeys: children with the same key are one ---- */

typedef struct {
    uint32_t i;
    mp_writer results;
    cr_future step;
} keys_frame;

static cr_status call_keys(cr_workflow *w, void *frame) {
    keys_frame *f = frame;
    cr_bytes key;
    mp_writer *result;
    if (!read_str(w->request, &key))
        return cr_bad_request(w);
    CR_BEGIN(w);
    for (f->i = 0; f->i < 4; f->i++) {
        mp_put_int(cr_input(w), f->i);
        cr_call(w, &f->step, &(cr_call_options){
            .workflow = "Double", .key = key, .key_mode = f->i < 2 ? "hashed" : "raw"});
        CR_TRY(w, &f->step);
        mp_put_raw(&f->results, f->step.value);
    }
    mp_put_int(cr_input(w), 99);
    cr_send(w, &f->step, &(cr_call_options){.workflow = "Double", .key = key, .key_mode = "raw"});
    CR_TRY(w, &f->step);
    result = cr_result(w);
    mp_put_array(result, 5);
    mp_put_raw(result, mp_written(&f->results));
    mp_put_raw(result, f->step.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_call_keys = {
    .name = "CallKeys", .execute = call_keys, .frame_size = sizeof(keys_frame), .input = &schema_string};

/* ---- Follow: starts a child, watches it, lets it go on, takes its result ---- */

typedef struct {
    cr_bytes execution;
    cr_future started;
    cr_future before;
    cr_future resolved;
    cr_future called;
    cr_future after;
} follow_frame;

/* Reads a PollReply: the state, and the outcome if there is one. */
static bool read_poll(cr_bytes value, cr_bytes *state, bool *over, cr_outcome *outcome) {
    mp_reader r = mp_read(value);
    *over = false;
    for (uint32_t n = mp_map(&r); n > 0 && !r.bad; n--) {
        cr_bytes field = mp_str(&r);
        if (cr_equal(field, "state")) {
            *state = mp_str(&r);
        } else if (cr_equal(field, "outcome")) {
            *over = !mp_take_nil(&r);
            if (*over)
                *outcome = cr_read_outcome(&r);
        } else {
            mp_skip(&r);
        }
    }
    return mp_done(&r);
}

static cr_status tell_followed(cr_workflow *w, const follow_frame *f) {
    cr_bytes before = {0}, after = {0};
    bool over_before, over_after;
    cr_outcome none = {0}, last = {0};
    mp_writer *result = cr_result(w);
    if (!read_poll(f->before.value, &before, &over_before, &none) || !read_poll(f->after.value, &after, &over_after, &last))
        return cr_unreadable(w, "the value of poll does not decode");
    mp_put_array(result, 7);
    mp_put_str(result, f->execution);
    mp_put_str(result, before);
    mp_put_bool(result, over_before);
    mp_put_raw(result, f->called.value);
    mp_put_str(result, after);
    mp_put_bool(result, over_after);
    if (over_after && !last.failed)
        mp_put_raw(result, last.value);
    else
        mp_put_nil(result);
    return CR_DONE;
}

static cr_status follow(cr_workflow *w, void *frame) {
    follow_frame *f = frame;
    CR_BEGIN(w);
    mp_put_raw(cr_input(w), w->request);
    cr_send(w, &f->started, &(cr_call_options){.workflow = "Await"});
    CR_TRY(w, &f->started);
    if (!read_str(f->started.value, &f->execution))
        return cr_unreadable(w, "the value of send is not a name");
    cr_poll(w, &f->before, f->execution);
    CR_TRY(w, &f->before);
    mp_put_text(cr_input(w), "go on");
    cr_resolve(w, &f->resolved, f->execution, cr_text("answer"));
    CR_TRY(w, &f->resolved);
    mp_put_raw(cr_input(w), w->request);
    cr_call(w, &f->called, &(cr_call_options){.workflow = "Await"});
    CR_TRY(w, &f->called);
    cr_poll(w, &f->after, f->execution);
    CR_TRY(w, &f->after);
    return tell_followed(w, f);
    CR_END;
}

const cr_workflow_def wf_follow = {
    .name = "Follow", .execute = follow, .frame_size = sizeof(follow_frame), .input = &schema_string};

/* ---- CallItself: would wait for itself forever ---- */

typedef struct {
    cr_future called;
    cr_future sent;
} itself_frame;

static cr_bytes own_key(const cr_workflow *w) {
    uint32_t from = w->execution.len;
    while (from > 0 && w->execution.at[from - 1] != '/')
        from--;
    return (cr_bytes){w->execution.at + from, w->execution.len - from};
}

static cr_status call_itself(cr_workflow *w, void *frame) {
    itself_frame *f = frame;
    cr_call_options itself = {.workflow = "CallItself", .key = own_key(w), .key_mode = "raw"};
    mp_writer *result;
    CR_BEGIN(w);
    mp_put_map(cr_input(w), 0);
    cr_call(w, &f->called, &itself);
    CR_AWAIT(w, &f->called);
    mp_put_map(cr_input(w), 0);
    cr_send(w, &f->sent, &itself);
    CR_AWAIT(w, &f->sent);
    result = cr_result(w);
    mp_put_array(result, 2);
    put_seen(result, &f->called);
    put_seen(result, &f->sent);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_call_itself = {
    .name = "CallItself", .execute = call_itself, .frame_size = sizeof(itself_frame), .input = &schema_none};

/* ---- CallWrong: calls that fail ---- */

typedef struct {
    uint32_t i;
    cr_future step;
    mp_writer seen;
} wrong_frame;

enum { WRONG_CALLS = 7 };

static void try_wrong(cr_workflow *w, cr_future *f, uint32_t i) {
    static const cr_call_options calls[] = {
        {.workflow = "nowhere/Double"},
        {.workflow = "Missing"},
        {.workflow = "Double"},
        {.workflow = "Await", .key_mode = "raw"},
    };
    static const char missing[] = "conformance/Double/no-such-key";
    mp_put_text(cr_input(w), i < CR_COUNT(calls) ? "text" : "x");
    if (i < CR_COUNT(calls))
        cr_call(w, f, &calls[i]);
    else if (i == 4)
        cr_poll(w, f, cr_text(missing));
    else if (i == 5)
        cr_poll(w, f, cr_text("nonsense"));
    else
        cr_resolve(w, f, cr_text(missing), cr_text("answer"));
}

static cr_status call_wrong(cr_workflow *w, void *frame) {
    wrong_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    for (f->i = 0; f->i < WRONG_CALLS; f->i++) {
        try_wrong(w, &f->step, f->i);
        CR_AWAIT(w, &f->step);
        put_seen(&f->seen, &f->step);
    }
    result = cr_result(w);
    mp_put_array(result, WRONG_CALLS);
    mp_put_raw(result, mp_written(&f->seen));
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_call_wrong = {
    .name = "CallWrong", .execute = call_wrong, .frame_size = sizeof(wrong_frame), .input = &schema_none};
