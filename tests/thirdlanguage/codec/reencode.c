#include "cruster.h"

/* Makes the reader and the writer of the SDK handle every kind of value: an activity
 * decodes values and encodes them again. */

enum { DEEPEST = 64 };

static void reencode(mp_reader *r, mp_writer *w, uint32_t depth);

static void reencode_array(mp_reader *r, mp_writer *w, uint32_t depth) {
    uint32_t count = mp_array(r);
    mp_put_array(w, count);
    for (; count > 0 && !r->bad; count--)
        reencode(r, w, depth + 1);
}

static void reencode_map(mp_reader *r, mp_writer *w, uint32_t depth) {
    uint32_t count = mp_map(r);
    mp_put_map(w, count);
    for (; count > 0 && !r->bad; count--) {
        reencode(r, w, depth + 1);
        reencode(r, w, depth + 1);
    }
}

/* An integer may be negative or have 64 bits, but not both. */
static void reencode_int(mp_reader *r, mp_writer *w) {
    mp_reader unsigned_too = *r;
    uint64_t n = mp_uint(&unsigned_too);
    if (unsigned_too.bad) {
        mp_put_int(w, mp_int(r));
        return;
    }
    mp_put_uint(w, n);
    *r = unsigned_too;
}

/* A float keeps its width, and only the wide one has a function of its own. */
static void reencode_float(mp_reader *r, mp_writer *w) {
    if (*r->at == 0xcb)
        mp_put_float(w, mp_float(r));
    else
        mp_put_raw(w, mp_raw(r));
}

static void reencode(mp_reader *r, mp_writer *w, uint32_t depth) {
    mp_kind kind = mp_peek(r);
    if (depth > DEEPEST)
        r->bad = true;
    if (r->bad)
        return;
    if (kind == MP_ARRAY)
        reencode_array(r, w, depth);
    else if (kind == MP_MAP)
        reencode_map(r, w, depth);
    else if (kind == MP_INT)
        reencode_int(r, w);
    else if (kind == MP_FLOAT)
        reencode_float(r, w);
    else if (kind == MP_STR)
        mp_put_str(w, mp_str(r));
    else if (kind == MP_BIN)
        mp_put_bin(w, mp_bin(r));
    else if (kind == MP_BOOL)
        mp_put_bool(w, mp_bool(r));
    else
        mp_put_raw(w, mp_raw(r)); /* nil, extensions, and invalid bytes */
}

/* Skipping a value must end at the same place as reading it. */
static bool skips(cr_bytes value) {
    mp_reader r = mp_read(value);
    mp_skip(&r);
    return mp_done(&r);
}

/* Takes a list of binaries; returns each value encoded again, or nil. */
static bool reencode_all(cr_attempt *a) {
    mp_reader list = mp_read(a->request);
    uint32_t count = mp_array(&list);
    mp_put_array(&a->result, count);
    for (; count > 0 && !list.bad; count--) {
        cr_bytes value = mp_bin(&list);
        mp_reader r = mp_read(value);
        mp_writer w = {0};
        reencode(&r, &w, 0);
        if (mp_done(&r) != skips(value))
            return cr_give_up(a, "disagreement", "a value was read but not skipped, or the other way round");
        if (mp_done(&r))
            mp_put_bin(&a->result, mp_written(&w));
        else
            mp_put_nil(&a->result);
        mp_release(&w);
    }
    return mp_done(&list) || cr_bad_input(a);
}

static const cr_activity_def reencode_activity = {.name = "reencode", .perform = reencode_all};

static cr_status nothing(cr_workflow *w, void *frame) {
    (void)w;
    (void)frame;
    return CR_DONE;
}

static const cr_workflow_def nothing_workflow = {.name = "Nothing", .execute = nothing};

static const cr_workflow_def *const workflows[] = {&nothing_workflow};
static const cr_activity_def *const activities[] = {&reencode_activity};

const cr_module cr_this_module = {
    .workflows = workflows,
    .workflow_count = CR_COUNT(workflows),
    .activities = activities,
    .activity_count = CR_COUNT(activities),
};
