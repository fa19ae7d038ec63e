#include "workflows.h"

/* ---- Echo: any value, through an activity and back ---- */

typedef struct {
    cr_future op;
} one_op;

static cr_status echo_value(cr_workflow *w, void *frame) {
    one_op *f = frame;
    CR_BEGIN(w);
    mp_put_raw(cr_input(w), w->request);
    cr_activity(w, &f->op, &(cr_activity_options){.name = "echo"});
    CR_TRY(w, &f->op);
    mp_put_raw(cr_result(w), f->op.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_echo = {.name = "Echo", .execute = echo_value, .frame_size = sizeof(one_op)};

static bool echo(cr_attempt *a) {
    mp_put_raw(&a->result, a->request);
    return true;
}

const cr_activity_def act_echo = {.name = "echo", .perform = echo};

/* ---- Bulk: many bytes, through an activity and back ---- */

static void put_pattern(mp_writer *out, int64_t size) {
    static const char pattern[] = "0123456789abcdef";
    mp_writer sent = {0};
    for (int64_t i = 0; i < size / 16; i++)
        put_words(&sent, pattern);
    mp_put_bin(out, mp_written(&sent));
    mp_release(&sent);
}

static cr_status bulk(cr_workflow *w, void *frame) {
    one_op *f = frame;
    int64_t size;
    mp_writer sent = {0};
    mp_reader got;
    if (!read_int(w->request, &size))
        return cr_bad_request(w);
    CR_BEGIN(w);
    put_pattern(cr_input(w), size);
    cr_activity(w, &f->op, &(cr_activity_options){.name = "bulk"});
    CR_TRY(w, &f->op);
    put_pattern(&sent, size);
    got = mp_read(f->op.value);
    mp_put_int(cr_result(w), cr_same(mp_written(&sent), f->op.value) ? (int64_t)mp_bin(&got).len : -1);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_bulk = {
    .name = "Bulk", .execute = bulk, .frame_size = sizeof(one_op), .input = &schema_int, .output = &schema_int};

const cr_activity_def act_bulk = {.name = "bulk", .perform = echo};

/* ---- Huge: more than a value may hold ---- */

enum { ABOVE = 5 << 20, JUST_ABOVE = (4 << 20) - (1 << 10) };

/* A string or a binary of so many equal bytes. */
static void put_many(mp_writer *out, char byte, uint32_t count, bool as_text) {
    uint8_t *bytes = cr_alloc(count);
    __builtin_memset(bytes, byte, count);
    if (as_text)
        mp_put_str(out, (cr_bytes){bytes, count});
    else
        mp_put_bin(out, (cr_bytes){bytes, count});
    cr_free(bytes);
}

static cr_status huge_result(cr_workflow *w, uint32_t size) {
    put_many(cr_result(w), 'x', size, true);
    return CR_DONE;
}

static cr_status huge(cr_workflow *w, void *frame) {
    one_op *f = frame;
    cr_bytes where;
    cr_error unknown;
    if (!read_str(w->request, &where))
        return cr_bad_request(w);
    CR_BEGIN(w);
    if (cr_equal(where, "result"))
        return huge_result(w, ABOVE);
    if (cr_equal(where, "just above"))
        return huge_result(w, JUST_ABOVE);
    if (cr_equal(where, "activity input")) {
        put_many(cr_input(w), 0, ABOVE, false);
        cr_activity(w, &f->op, &(cr_activity_options){.name = "bulk"});
    } else if (cr_equal(where, "activity result")) {
        mp_put_int(cr_input(w), ABOVE);
        cr_activity(w, &f->op, &(cr_activity_options){.name = "makeBytes"});
    } else {
        unknown = cr_error_of("", "nothing is huge there");
        return cr_fail(w, &unknown);
    }
    CR_AWAIT(w, &f->op);
    mp_put_str(cr_result(w), f->op.error.code);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_huge = {
    .name = "Huge", .execute = huge, .frame_size = sizeof(one_op), .input = &schema_string, .output = &schema_string};

static bool make_bytes(cr_attempt *a) {
    int64_t count;
    if (!read_int(a->request, &count) || count < 0 || count > ABOVE)
        return cr_bad_input(a);
    put_many(&a->result, 0, (uint32_t)count, false);
    return true;
}

const cr_activity_def act_make_bytes = {.name = "makeBytes", .perform = make_bytes, .input = &schema_int};
