#include "workflows.h"

void square(cr_workflow *w, cr_future *f, int64_t n) {
    mp_put_int(cr_input(w), n);
    cr_activity(w, f, &(cr_activity_options){.name = "square"});
}

/* Of a number with 32 bits, so that the multiplication cannot overflow. */
static int64_t squared(int64_t n) {
    uint32_t magnitude = (uint32_t)(n < 0 ? -n : n);
    return (int64_t)((uint64_t)magnitude * magnitude);
}

static bool square_number(cr_attempt *a) {
    int64_t n;
    if (!read_int(a->request, &n))
        return cr_bad_input(a);
    if (n == 13)
        return cr_give_up(a, "unlucky", "13 is unlucky");
    if (n < -INT32_MAX || n > INT32_MAX)
        return cr_give_up(a, "overflow", "the number is too large");
    mp_put_int(&a->result, squared(n));
    return true;
}

const cr_activity_def act_square = {
    .name = "square", .perform = square_number, .input = &schema_int, .output = &schema_int};

/* ---- All: n squares at the same time ---- */

typedef struct {
    int64_t from;
    int64_t n;
    int64_t i;
    int64_t sum;
    cr_future *squares;
} all_frame;

static bool read_all(cr_bytes request, all_frame *f) {
    mp_reader r = mp_read(request);
    for (uint32_t n = mp_map(&r); n > 0 && !r.bad; n--) {
        cr_bytes field = mp_str(&r);
        if (cr_equal(field, "From"))
            f->from = mp_int(&r);
        else if (cr_equal(field, "N"))
            f->n = mp_int(&r);
        else
            mp_skip(&r);
    }
    return mp_done(&r) && f->n >= 0 && f->n <= 1000 && f->from >= 0 && f->from <= 1000000;
}

/* The first that has failed, in the order of the numbers. */
static cr_future *first_failure(const all_frame *f) {
    for (int64_t i = 0; i < f->n; i++)
        if (f->squares[i].state == CR_ERROR)
            return &f->squares[i];
    return NULL;
}

static bool all_there(const all_frame *f) {
    for (int64_t i = 0; i < f->n; i++)
        if (f->squares[i].state == CR_WAITING)
            return false;
    return true;
}

static bool add_square(all_frame *f) {
    int64_t got;
    if (!read_int(f->squares[f->i].value, &got) || got != squared(f->from + f->i))
        return false;
    return !__builtin_add_overflow(f->sum, got, &f->sum);
}

static cr_status all(cr_workflow *w, void *frame) {
    all_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    if (!read_all(w->request, f))
        return cr_bad_request(w);
    f->squares = cr_zalloc((uint32_t)f->n * (uint32_t)sizeof *f->squares);
    for (f->i = 0; f->i < f->n; f->i++)
        square(w, &f->squares[f->i], f->from + f->i);
    CR_WAIT(w, all_there(f));
    if (first_failure(f) != NULL) {
        put_seen(cr_result(w), first_failure(f));
        return CR_DONE;
    }
    for (f->i = 0; f->i < f->n; f->i++) {
        if (add_square(f))
            continue;
        return cr_unreadable(w, "a result is not at its place");
    }
    result = cr_result(w);
    mp_put_map(result, 1);
    mp_put_text(result, "value");
    mp_put_int(result, f->sum);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_all = {.name = "All", .execute = all, .frame_size = sizeof(all_frame)};

/* ---- First: an activity, and something that never comes ---- */

typedef struct {
    cr_future never;
    cr_future step;
} first_frame;

static cr_status first(cr_workflow *w, void *frame) {
    first_frame *f = frame;
    mp_writer *result;
    cr_future *won;
    CR_BEGIN(w);
    cr_deferred(w, &f->never, cr_text("never"));
    square(w, &f->step, 7);
    CR_WAIT(w, f->never.state != CR_WAITING || f->step.state != CR_WAITING);
    won = f->never.state != CR_WAITING ? &f->never : &f->step;
    if (won->state == CR_ERROR)
        return cr_fail(w, &won->error);
    result = cr_result(w);
    mp_put_array(result, 2);
    mp_put_int(result, won == &f->never ? 0 : 1);
    mp_put_raw(result, won->value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_first = {
    .name = "First", .execute = first, .frame_size = sizeof(first_frame), .input = &schema_none};

/* ---- Race: an activity and a timer ---- */

typedef struct {
    bool timer_wins;
    cr_future step;
    cr_future timer;
    cr_future gate;
} race_frame;

static cr_status race(cr_workflow *w, void *frame) {
    race_frame *f = frame;
    cr_bytes winner;
    mp_writer *result;
    cr_future *won;
    cr_error unexpected;
    CR_BEGIN(w);
    if (!read_str(w->request, &winner))
        return cr_bad_request(w);
    f->timer_wins = cr_equal(winner, "timer");
    if (f->timer_wins)
        block(w, &f->step, &(cr_activity_options){0}, false);
    else
        square(w, &f->step, 5);
    cr_sleep(w, &f->timer, f->timer_wins ? CR_MILLISECOND : 3600 * CR_SECOND);
    CR_WAIT(w, f->step.state != CR_WAITING || f->timer.state != CR_WAITING);
    won = f->step.state != CR_WAITING ? &f->step : &f->timer;
    if (won->state == CR_ERROR)
        return cr_fail(w, &won->error);
    if ((won == &f->timer) != f->timer_wins) {
        unexpected = cr_error_of("", "the wrong one won");
        return cr_fail(w, &unexpected);
    }
    cr_cancel(w, won == &f->timer ? &f->step : &f->timer);
    cr_deferred(w, &f->gate, cr_text("gate"));
    CR_TRY(w, &f->gate);
    result = cr_result(w);
    mp_put_array(result, 2);
    mp_put_text(result, f->timer_wins ? "the timer won" : "the activity won");
    mp_put_raw(result, f->gate.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_race = {
    .name = "Race", .execute = race, .frame_size = sizeof(race_frame), .input = &schema_string};

/* ---- Sleeps: whether journal time passes ---- */

typedef struct {
    mp_reader durations;
    uint32_t left;
    uint32_t count;
    int64_t before;
    int64_t wanted;
    mp_writer passed;
    cr_future pause;
} sleeps_frame;

static cr_status sleeps(cr_workflow *w, void *frame) {
    sleeps_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    f->durations = mp_read(w->request);
    f->count = mp_array(&f->durations);
    for (f->left = f->count; f->left > 0; f->left--) {
        f->wanted = mp_int(&f->durations);
        if (f->durations.bad)
            return cr_bad_request(w);
        f->before = w->now;
        cr_sleep(w, &f->pause, f->wanted);
        CR_TRY(w, &f->pause);
        mp_put_bool(&f->passed, w->now >= f->before && w->now - f->before >= f->wanted);
    }
    if (!mp_done(&f->durations))
        return cr_bad_request(w);
    cr_sleep(w, &f->pause, -3600 * CR_SECOND);
    CR_TRY(w, &f->pause);
    result = cr_result(w);
    mp_put_array(result, f->count);
    mp_put_raw(result, mp_written(&f->passed));
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_sleeps = {.name = "Sleeps", .execute = sleeps, .frame_size = sizeof(sleeps_frame)};
