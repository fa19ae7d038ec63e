#include "workflows.h"

/* The conversation of section 11 of abi/ABI.md: an activity, an hour of sleep, a
 * greeting. */

typedef struct {
    cr_bytes name;
    cr_future hello;
    cr_future pause;
} greet_frame;

static bool read_name(mp_reader *r, cr_bytes *name) {
    for (uint32_t n = mp_map(r); n > 0 && !r->bad; n--) {
        if (cr_equal(mp_str(r), "name"))
            *name = mp_str(r);
        else
            mp_skip(r);
    }
    return mp_done(r);
}

static cr_status greet(cr_workflow *w, void *frame) {
    greet_frame *f = frame;
    mp_reader request = mp_read(w->request);
    mp_writer *result;
    CR_BEGIN(w);
    if (!read_name(&request, &f->name))
        return cr_bad_request(w);
    mp_put_str(cr_input(w), f->name);
    cr_activity(w, &f->hello, &(cr_activity_options){
        .name = "hello",
        .retry = {.retries = 3},
        .timeout = 30 * CR_SECOND,
    });
    CR_TRY(w, &f->hello);
    cr_sleep(w, &f->pause, 3600 * CR_SECOND);
    CR_TRY(w, &f->pause);
    result = cr_result(w);
    mp_put_map(result, 1);
    mp_put_text(result, "greeting");
    mp_put_raw(result, f->hello.value);
    return CR_DONE;
    CR_END;
}

/* One greeting for each name, not for each request. */
static bool greet_key(mp_reader *request, mp_writer *key) {
    cr_bytes name = {0};
    if (!read_name(request, &name))
        return false;
    mp_put_str(key, name);
    return true;
}

static bool hello(cr_attempt *a) {
    mp_reader request = mp_read(a->request);
    cr_bytes name = mp_str(&request);
    if (!mp_done(&request))
        return cr_bad_input(a);
    mp_writer text = {0};
    mp_put_raw(&text, cr_text("Hello, "));
    mp_put_raw(&text, name);
    mp_put_raw(&text, cr_text("!"));
    mp_put_str(&a->result, mp_written(&text));
    return true;
}

static const cr_field request_fields[] = {{"name", &schema_string, true}};
static const cr_field result_fields[] = {{"greeting", &schema_string, true}};
static const cr_schema request_schema = {.type = "struct", .fields = request_fields, .field_count = 1};
static const cr_schema result_schema = {.type = "struct", .fields = result_fields, .field_count = 1};

const cr_workflow_def wf_greet = {
    .name = "Greet",
    .execute = greet,
    .frame_size = sizeof(greet_frame),
    .key = greet_key,
    .key_raw = true,
    .input = &request_schema,
    .output = &result_schema,
};

const cr_activity_def act_hello = {
    .name = "hello",
    .perform = hello,
    .input = &schema_string,
    .output = &schema_string,
};
