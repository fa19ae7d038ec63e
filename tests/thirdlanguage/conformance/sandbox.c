#include "imports.h"
#include "workflows.h"

/* ---- Clock: WASI has the journal's ---- */

typedef struct {
    int64_t start;
    bool journal;
    bool still;
    cr_future pause;
} clock_frame;

static int64_t wall_clock(void) {
    int64_t time = 0;
    if (cr_wasi_clock_time_get(0, 1, &time) != 0)
        cr_panic("there is no clock");
    return time;
}

static bool stands_still(const cr_workflow *w) {
    volatile int64_t spent = 0;
    for (int64_t i = 0; i < 1000000; i++)
        spent = spent + i;
    return wall_clock() == w->now;
}

static cr_status clock(cr_workflow *w, void *frame) {
    clock_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    f->start = w->now;
    f->journal = wall_clock() == f->start;
    f->still = stands_still(w);
    cr_sleep(w, &f->pause, 5 * CR_MILLISECOND);
    CR_TRY(w, &f->pause);
    result = cr_result(w);
    mp_put_map(result, 4);
    mp_put_text(result, "goes on");
    mp_put_bool(result, w->now > f->start);
    mp_put_text(result, "is still the journal's");
    mp_put_bool(result, wall_clock() == w->now);
    mp_put_text(result, "is the journal's");
    mp_put_bool(result, f->journal);
    mp_put_text(result, "stands still");
    mp_put_bool(result, f->still);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_clock = {
    .name = "Clock", .execute = clock, .frame_size = sizeof(clock_frame), .input = &schema_none};

/* ---- Identity: its execution, and its view of the machine ---- */

typedef struct {
    cr_future step;
} identity_frame;

static void put_pair(mp_writer *out, const char *name, cr_bytes value) {
    mp_put_text(out, name);
    mp_put_str(out, value);
}

/* The number of arguments, as text. */
static void put_arguments(mp_writer *out) {
    uint32_t count = 1, size;
    mp_writer text = {0};
    (void)cr_wasi_args_sizes_get(&count, &size);
    cr_put_decimal(&text, count);
    put_pair(out, "arguments", mp_written(&text));
    mp_release(&text);
}

static void put_environment(mp_writer *out) {
    uint32_t count = 1, size;
    (void)cr_wasi_environ_sizes_get(&count, &size);
    put_pair(out, "environment", cr_text(count == 0 ? "[]" : "not empty"));
}

/* Folders that a host opens for a guest begin with descriptor 3. */
static void put_files(mp_writer *out) {
    uint32_t prestat[2];
    put_pair(out, "files", cr_text(cr_wasi_fd_prestat_get(3, prestat) != 0 ? "true" : "false"));
}

static cr_status tell_identity(cr_workflow *w, void *frame) {
    identity_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    mp_put_map(cr_input(w), 0);
    cr_activity(w, &f->step, &(cr_activity_options){.name = "identity"});
    CR_TRY(w, &f->step);
    result = cr_result(w);
    mp_put_map(result, 6);
    put_arguments(result);
    put_environment(result);
    put_pair(result, "execution", w->execution);
    put_files(result);
    mp_put_text(result, "in the activity");
    mp_put_raw(result, f->step.value);
    put_pair(result, "namespace", w->namespace);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_identity = {
    .name = "Identity", .execute = tell_identity, .frame_size = sizeof(identity_frame), .input = &schema_none};

static bool identity(cr_attempt *a) {
    mp_writer text = {0};
    mp_put_raw(&text, a->namespace);
    put_words(&text, " ");
    mp_put_raw(&text, a->execution);
    put_words(&text, " ");
    cr_put_decimal(&text, a->attempt);
    mp_put_str(&a->result, mp_written(&text));
    return true;
}

const cr_activity_def act_identity = {.name = "identity", .perform = identity, .output = &schema_string};
