#include "workflows.h"

typedef struct {
    bool before;
    cr_future never;
    cr_future other;
    cr_future note;
    cr_future pause;
} interrupt_frame;

static void note(cr_workflow *w, cr_future *f, cr_bytes text) {
    mp_put_str(cr_input(w), text);
    cr_activity(w, f, &(cr_activity_options){.name = "note"});
}

static bool take_note(cr_attempt *a) {
    cr_bytes text;
    if (!read_str(a->request, &text))
        return cr_bad_input(a);
    mp_writer noted = {0};
    put_words(&noted, "noted: ");
    mp_put_raw(&noted, text);
    mp_put_str(&a->result, mp_written(&noted));
    return true;
}

const cr_activity_def act_note = {
    .name = "note", .perform = take_note, .input = &schema_string, .output = &schema_string};

static bool was_interrupted(const cr_future *f) {
    return f->state == CR_ERROR && cr_equal(f->error.code, "CR-2007");
}

/* ---- Interruptible: waits for two things, cleans up, ends as the request says ---- */

static cr_status interruptible(cr_workflow *w, void *frame) {
    interrupt_frame *f = frame;
    cr_bytes end;
    cr_error unexpected;
    mp_writer *result;
    if (!read_str(w->request, &end))
        return cr_bad_request(w);
    CR_BEGIN(w);
    cr_deferred(w, &f->never, cr_text("never"));
    cr_sleep(w, &f->other, 3600 * CR_SECOND);
    CR_AWAIT(w, &f->never);
    note(w, &f->note, cr_text("not shielded"));
    if (!was_interrupted(&f->never) || !was_interrupted(&f->other) || !was_interrupted(&f->note)) {
        unexpected = cr_error_of("", "something was not interrupted");
        return cr_fail(w, &unexpected);
    }
    w->shielded = true;
    note(w, &f->note, w->reason);
    CR_TRY(w, &f->note);
    cr_sleep(w, &f->pause, CR_MILLISECOND);
    CR_TRY(w, &f->pause);
    if (!cr_equal(end, "as if nothing was"))
        return cr_fail(w, &f->never.error);
    result = cr_result(w);
    mp_put_array(result, 1);
    mp_put_raw(result, f->note.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_interruptible = {
    .name = "Interruptible", .execute = interruptible, .frame_size = sizeof(interrupt_frame), .input = &schema_string};

/* ---- Unhandled: does nothing about it ---- */

static cr_status unhandled(cr_workflow *w, void *frame) {
    interrupt_frame *f = frame;
    CR_BEGIN(w);
    cr_deferred(w, &f->never, cr_text("never"));
    CR_TRY(w, &f->never);
    mp_put_raw(cr_result(w), f->never.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_unhandled = {
    .name = "Unhandled", .execute = unhandled, .frame_size = sizeof(interrupt_frame), .input = &schema_none};

/* ---- InterruptedEarly: during a wait that is shielded ---- */

static cr_status interrupted_early(cr_workflow *w, void *frame) {
    interrupt_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    f->before = w->stopping;
    w->shielded = true;
    cr_deferred(w, &f->other, cr_text("gate"));
    CR_TRY(w, &f->other);
    w->shielded = false;
    cr_sleep(w, &f->pause, 3600 * CR_SECOND);
    CR_AWAIT(w, &f->pause);
    result = cr_result(w);
    mp_put_array(result, 4);
    mp_put_bool(result, f->before);
    mp_put_bool(result, cr_interrupted(w));
    w->shielded = true;
    mp_put_bool(result, cr_interrupted(w));
    mp_put_bool(result, was_interrupted(&f->pause));
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_interrupted_early = {
    .name = "InterruptedEarly", .execute = interrupted_early, .frame_size = sizeof(interrupt_frame), .input = &schema_none};
