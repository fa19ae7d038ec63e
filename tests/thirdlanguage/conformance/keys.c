#include "workflows.h"

/* Workflows whose key is a part of their request. */

static bool read_keyed(mp_reader *r, cr_bytes *id, int64_t *other) {
    *id = (cr_bytes){0};
    *other = 0;
    for (uint32_t n = mp_map(r); n > 0 && !r->bad; n--) {
        cr_bytes field = mp_str(r);
        if (cr_equal(field, "id"))
            *id = mp_str(r);
        else if (cr_equal(field, "other"))
            *other = mp_int(r);
        else
            mp_skip(r);
    }
    return mp_done(r);
}

static cr_status keyed(cr_workflow *w, void *frame) {
    (void)frame;
    mp_reader request = mp_read(w->request);
    cr_bytes id;
    int64_t other;
    if (!read_keyed(&request, &id, &other))
        return cr_bad_request(w);
    mp_put_int(cr_result(w), other);
    return CR_DONE;
}

static bool key_of(mp_reader *request, mp_writer *key) {
    cr_bytes id;
    int64_t other;
    if (!read_keyed(request, &id, &other))
        return false;
    if (cr_equal(id, "panic"))
        cr_panic("no key for this");
    mp_put_str(key, id);
    return true;
}

const cr_workflow_def wf_hashed_key = {
    .name = "HashedKey", .execute = keyed, .key = key_of, .output = &schema_int};

const cr_workflow_def wf_raw_key = {
    .name = "RawKey", .execute = keyed, .key = key_of, .key_raw = true, .output = &schema_int};
