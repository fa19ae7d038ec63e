#include "internal.h"

/* The execution that this instance runs. An instance runs one invocation. */
static cr_workflow *running;
static const cr_workflow_def *definition;
static void *frame;

/* Runs the workflow until it waits or ends. */
static cr_status step(void) {
    cr_status status = definition->execute(running, frame);
    if (status == CR_PARKED || running->failed)
        return status;
    cr_error error;
    if (cr_too_large(&running->result, "the result of workflow ", definition->name, &error))
        return cr_fail(running, &error);
    cr_hand_over_value(&running->body, &running->result);
    return status;
}

cr_status cr_first_turn(cr_workflow *w, const cr_workflow_def *def) {
    running = w;
    definition = def;
    frame = cr_zalloc(def->frame_size);
    cr_wait_for_interrupt(w);
    return step();
}

static void read_delivery(mp_reader *r) {
    uint64_t op = 0;
    bool failed = false;
    cr_bytes error = {0}, value = {0};
    for (uint32_t n = mp_map(r); n > 0 && !r->bad; n--) {
        cr_bytes field = mp_str(r);
        if (cr_equal(field, "op")) {
            op = mp_uint(r);
        } else if (cr_equal(field, "error")) {
            failed = !mp_take_nil(r);
            if (failed)
                error = mp_raw(r);
        } else if (cr_equal(field, "value")) {
            value = mp_bin(r);
        } else {
            mp_skip(r);
        }
    }
    if (r->bad || op > UINT32_MAX)
        return;
    cr_deliver(running, (uint32_t)op, failed, failed ? error : value);
    if (running->interrupted.state == CR_VALUE && !running->stopping)
        cr_interrupt(running);
}

/* Deliveries are applied one by one: the workflow's steps after the first must
 * not depend on whether the second came in the same turn. */
static cr_status apply(mp_reader *r) {
    cr_status status = CR_PARKED;
    for (uint32_t n = mp_array(r); n > 0 && !r->bad && status == CR_PARKED; n--) {
        read_delivery(r);
        if (!r->bad)
            status = step();
    }
    return status;
}

/* Fields may come in any order, and the time holds for all deliveries, so it is
 * read first. */
static cr_status read_resume(mp_reader *r) {
    mp_reader deliveries = {0};
    for (uint32_t n = mp_map(r); n > 0 && !r->bad; n--) {
        cr_bytes field = mp_str(r);
        if (cr_equal(field, "time"))
            running->now = mp_int(r);
        else if (cr_equal(field, "deliveries"))
            deliveries = mp_read(mp_raw(r));
        else
            mp_skip(r);
    }
    if (!mp_done(r))
        cr_panic("the host sent a Resume that does not decode");
    cr_status status = apply(&deliveries);
    if (deliveries.bad)
        cr_panic("the host sent deliveries that do not decode");
    return status;
}

cr_status cr_next_turn(cr_bytes resume) {
    if (running == NULL)
        cr_panic("the host resumed what it did not start");
    mp_reader r = mp_read(resume);
    return read_resume(&r);
}
