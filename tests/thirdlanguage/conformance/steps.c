#include "workflows.h"

/* ---- Sequence: n steps, one after the other ---- */

typedef struct {
    int64_t i;
    int64_t n;
    int64_t sum;
    mp_writer sums;
    cr_future step;
} sequence_frame;

void add(cr_workflow *w, cr_future *f, int64_t a, int64_t b) {
    mp_writer *input = cr_input(w);
    mp_put_array(input, 2);
    mp_put_int(input, a);
    mp_put_int(input, b);
    cr_activity(w, f, &(cr_activity_options){
        .name = "Steps.add", .retry = {.backoff = "constant", .base = CR_MILLISECOND, .retries = 2}});
}

static cr_status sequence(cr_workflow *w, void *frame) {
    sequence_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    if (!read_int(w->request, &f->n))
        return cr_bad_request(w);
    for (; f->i < f->n; f->i++) {
        add(w, &f->step, f->sum, f->i);
        CR_TRY(w, &f->step);
        if (!read_int(f->step.value, &f->sum))
            return cr_unreadable(w, "the result of Steps.add is not an integer");
        mp_put_int(&f->sums, f->sum);
    }
    result = cr_result(w);
    mp_put_array(result, (uint32_t)f->i);
    mp_put_raw(result, mp_written(&f->sums));
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_sequence = {
    .name = "Sequence", .execute = sequence, .frame_size = sizeof(sequence_frame), .input = &schema_int};

static bool add_numbers(cr_attempt *a) {
    mp_reader r = mp_read(a->request);
    uint32_t count = mp_array(&r);
    int64_t one = mp_int(&r), two = mp_int(&r), sum;
    if (count != 2 || !mp_done(&r))
        return cr_bad_input(a);
    if (__builtin_add_overflow(one, two, &sum))
        return cr_give_up(a, "overflow", "the sum is too large");
    mp_put_int(&a->result, sum);
    return true;
}

const cr_activity_def act_add = {.name = "Steps.add", .perform = add_numbers, .output = &schema_int};

/* ---- Retry and Exhaust: an activity that fails a while ---- */

typedef struct {
    int64_t failures;
    int64_t retries;
    bool constant;
    double jitter;
    bool final;
} retry_request;

static double read_number(mp_reader *r) {
    return mp_peek(r) == MP_INT ? (double)mp_int(r) : mp_float(r);
}

static bool read_retry(cr_bytes request, retry_request *q) {
    mp_reader r = mp_read(request);
    *q = (retry_request){0};
    for (uint32_t n = mp_map(&r); n > 0 && !r.bad; n--) {
        cr_bytes field = mp_str(&r);
        if (cr_equal(field, "failures"))
            q->failures = mp_int(&r);
        else if (cr_equal(field, "retries"))
            q->retries = mp_int(&r);
        else if (cr_equal(field, "backoff"))
            q->constant = cr_equal(mp_str(&r), "constant");
        else if (cr_equal(field, "jitter"))
            q->jitter = read_number(&r);
        else if (cr_equal(field, "final"))
            q->final = mp_bool(&r);
        else
            mp_skip(&r);
    }
    return mp_done(&r) && q->retries >= 0 && q->retries <= UINT32_MAX;
}

static void try_flaky(cr_workflow *w, cr_future *f, const retry_request *q, bool constant) {
    mp_put_raw(cr_input(w), w->request);
    cr_activity(w, f, &(cr_activity_options){
        .name = "flaky",
        .retry = {
            .backoff = constant ? "constant" : "exponential",
            .base = CR_MILLISECOND,
            .jitter = q->jitter,
            .retries = (uint32_t)q->retries,
        },
    });
}

typedef struct {
    cr_future step;
} retry_frame;

static cr_status retry(cr_workflow *w, void *frame) {
    retry_frame *f = frame;
    retry_request q;
    CR_BEGIN(w);
    if (!read_retry(w->request, &q))
        return cr_bad_request(w);
    try_flaky(w, &f->step, &q, q.constant);
    CR_AWAIT(w, &f->step);
    put_seen(cr_result(w), &f->step);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_retry = {.name = "Retry", .execute = retry, .frame_size = sizeof(retry_frame)};

static cr_status exhaust(cr_workflow *w, void *frame) {
    retry_frame *f = frame;
    retry_request q;
    CR_BEGIN(w);
    if (!read_retry(w->request, &q))
        return cr_bad_request(w);
    q.jitter = 0;
    try_flaky(w, &f->step, &q, true);
    CR_TRY(w, &f->step);
    mp_put_raw(cr_result(w), f->step.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_exhaust = {.name = "Exhaust", .execute = exhaust, .frame_size = sizeof(retry_frame)};

static bool flaky(cr_attempt *a) {
    retry_request q;
    if (!read_retry(a->request, &q))
        return cr_bad_input(a);
    if (a->attempt > q.failures) {
        mp_put_int(&a->result, a->attempt);
        return true;
    }
    mp_writer message = {0};
    put_words(&message, "attempt ");
    cr_put_decimal(&message, a->attempt);
    put_words(&message, " failed");
    (void)cr_try_again(a, "flaky", "");
    a->error.message = mp_written(&message);
    a->error.retryable = !q.final;
    return false;
}

const cr_activity_def act_flaky = {.name = "flaky", .perform = flaky};

/* ---- Idempotent: which attempts share a key ---- */

typedef struct {
    cr_future first;
    cr_future second;
    cr_future third;
} idempotent_frame;

static void tell_key(cr_workflow *w, cr_future *f, int64_t failures, uint32_t retries) {
    mp_put_int(cr_input(w), failures);
    cr_activity(w, f, &(cr_activity_options){
        .name = "tellKey", .retry = {.backoff = "constant", .base = CR_MILLISECOND, .retries = retries}});
}

static void compare_keys(mp_writer *out, const idempotent_frame *f) {
    mp_reader details = mp_read(f->first.error.details);
    bool two = mp_array(&details) == 2;
    cr_bytes one = mp_str(&details), again = mp_str(&details), second = {0}, third = {0};
    two = two && mp_done(&details);
    bool told = read_str(f->second.value, &second) && read_str(f->third.value, &third);
    mp_put_map(out, 2);
    mp_put_text(out, "failed with its key");
    mp_put_bool(out, two && one.len > 0 && cr_same(one, again));
    mp_put_text(out, "steps differ");
    mp_put_bool(out, two && told && !cr_same(second, third) && !cr_same(second, one));
}

static cr_status idempotent(cr_workflow *w, void *frame) {
    idempotent_frame *f = frame;
    CR_BEGIN(w);
    tell_key(w, &f->first, 2, 1);
    CR_AWAIT(w, &f->first);
    tell_key(w, &f->second, 0, 0);
    CR_TRY(w, &f->second);
    tell_key(w, &f->third, 0, 0);
    CR_TRY(w, &f->third);
    compare_keys(cr_result(w), f);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_idempotent = {
    .name = "Idempotent", .execute = idempotent, .frame_size = sizeof(idempotent_frame), .input = &schema_none};

static bool give_key(cr_attempt *a) {
    static bool used; /* would survive an attempt only if instances were shared */
    int64_t failures;
    if (used)
        return cr_give_up(a, "leak", "the instance was used before");
    used = true;
    if (!read_int(a->request, &failures))
        return cr_bad_input(a);
    if (a->attempt > failures) {
        mp_put_str(&a->result, a->idempotency_key);
        return true;
    }
    mp_writer details = {0};
    mp_put_array(&details, 2);
    mp_put_str(&details, a->idempotency_key);
    mp_put_str(&details, a->idempotency_key);
    (void)cr_try_again(a, "keyed", "failed");
    a->error.details = mp_written(&details);
    return false;
}

const cr_activity_def act_tell_key = {.name = "tellKey", .perform = give_key, .input = &schema_int, .output = &schema_string};
