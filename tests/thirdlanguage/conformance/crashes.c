#include "imports.h"
#include "workflows.h"

typedef struct {
    cr_future step;
} one_op;

/* ---- Block: an activity that does not come back ---- */

void block(cr_workflow *w, cr_future *f, const cr_activity_options *options, bool once) {
    cr_activity_options named = *options;
    named.name = "block";
    mp_put_bool(cr_input(w), once);
    cr_activity(w, f, &named);
}

static void put_blocked(mp_writer *out, const cr_future *f, bool once) {
    int64_t attempt = 0;
    if (f->state == CR_ERROR) {
        put_seen_error(out, &f->error);
        return;
    }
    mp_put_map(out, 1);
    mp_put_text(out, "value");
    if (once)
        mp_put_bool(out, read_int(f->value, &attempt) && attempt > 1);
    else
        mp_put_nil(out);
}

static cr_status block_workflow(cr_workflow *w, void *frame) {
    one_op *f = frame;
    bool once;
    if (!read_bool(w->request, &once))
        return cr_bad_request(w);
    CR_BEGIN(w);
    block(w, &f->step, &(cr_activity_options){
        .timeout = once ? CR_SECOND : 30 * CR_MILLISECOND,
        .retry = {.backoff = "constant", .base = CR_MILLISECOND, .retries = once ? 20 : 1},
    }, once);
    CR_AWAIT(w, &f->step);
    put_blocked(cr_result(w), &f->step, once);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_block = {
    .name = "Block", .execute = block_workflow, .frame_size = sizeof(one_op), .input = &schema_bool};

static void sleep_for_an_hour(void) {
    const cr_wasi_subscription hour = {.timeout = 3600 * CR_SECOND};
    uint64_t event[4];
    uint32_t ready;
    (void)cr_wasi_poll_oneoff(&hour, event, 1, &ready);
}

static bool do_block(cr_attempt *a) {
    bool once;
    if (!read_bool(a->request, &once))
        return cr_bad_input(a);
    if (!once || a->attempt == 1)
        sleep_for_an_hour();
    mp_put_int(&a->result, a->attempt);
    return true;
}

const cr_activity_def act_block = {
    .name = "block", .perform = do_block, .input = &schema_bool, .output = &schema_int};

/* ---- Crash: an activity that does not survive ---- */

static cr_status crash_workflow(cr_workflow *w, void *frame) {
    one_op *f = frame;
    cr_bytes how;
    CR_BEGIN(w);
    if (!read_str(w->request, &how))
        return cr_bad_request(w);
    mp_put_str(cr_input(w), how);
    cr_activity(w, &f->step, &(cr_activity_options){
        .name = "crash",
        .timeout = cr_equal(how, "loop") ? 100 * CR_MILLISECOND : 60 * CR_SECOND,
        .retry = {.backoff = "constant", .base = CR_MILLISECOND, .retries = 1},
    });
    CR_AWAIT(w, &f->step);
    put_seen(cr_result(w), &f->step);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_crash = {
    .name = "Crash", .execute = crash_workflow, .frame_size = sizeof(one_op), .input = &schema_string};

static volatile uint32_t always = 1;

static void spin(void) {
    while (always)
        ;
}

static void hog(void) {
    while (always)
        *(volatile uint8_t *)cr_alloc(1 << 20) = 1;
}

/* Has large frames, so that the stack is used up soon. */
__attribute__((noinline)) static uint32_t deeper(uint32_t n) {
    volatile uint8_t page[8 << 10];
    page[n % sizeof page] = 1;
    return always ? deeper(n + 1) + page[0] : page[0];
}

/* Address 0 is memory like any other in WebAssembly: it is the build's checks that
 * end this. */
static uint8_t follow_null(void) {
    const uint8_t *volatile nowhere = NULL;
    return *nowhere;
}

static bool crash(cr_attempt *a) {
    cr_bytes how;
    if (!read_str(a->request, &how))
        return cr_bad_input(a);
    if (cr_equal(how, "panic"))
        cr_panic("told to");
    if (cr_equal(how, "panic once") && a->attempt == 1)
        cr_panic("told to, once");
    if (cr_equal(how, "exit"))
        cr_wasi_proc_exit(3);
    if (cr_equal(how, "loop"))
        spin();
    if (cr_equal(how, "hog"))
        hog();
    int64_t result = a->attempt;
    if (cr_equal(how, "recurse"))
        result = deeper(1);
    if (cr_equal(how, "nil"))
        result = follow_null();
    mp_put_int(&a->result, result);
    return true;
}

const cr_activity_def act_crash = {.name = "crash", .perform = crash, .input = &schema_string, .output = &schema_int};
