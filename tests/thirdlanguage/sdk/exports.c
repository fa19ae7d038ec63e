#include "imports.h"
#include "internal.h"

#define CR_EXPORT(name) __attribute__((export_name(#name))) name

typedef struct {
    cr_bytes kind;
    cr_bytes name;
    cr_bytes body;
    cr_bytes execution;
    cr_bytes namespace;
    cr_bytes idempotency_key;
    int64_t attempt;
    int64_t time;
} invocation;

static invocation read_invocation(cr_bytes bytes) {
    mp_reader r = mp_read(bytes);
    invocation in = {0};
    for (uint32_t n = mp_map(&r); n > 0 && !r.bad; n--) {
        cr_bytes field = mp_str(&r);
        if (cr_equal(field, "attempt"))
            in.attempt = mp_int(&r);
        else if (cr_equal(field, "body"))
            in.body = mp_bin(&r);
        else if (cr_equal(field, "execution"))
            in.execution = mp_str(&r);
        else if (cr_equal(field, "idempotency_key"))
            in.idempotency_key = mp_str(&r);
        else if (cr_equal(field, "kind"))
            in.kind = mp_str(&r);
        else if (cr_equal(field, "name"))
            in.name = mp_str(&r);
        else if (cr_equal(field, "namespace"))
            in.namespace = mp_str(&r);
        else if (cr_equal(field, "time"))
            in.time = mp_int(&r);
        else
            mp_skip(&r);
    }
    if (!mp_done(&r))
        cr_panic("the host sent an Invocation that does not decode");
    return in;
}

static cr_status refuse(const char *code, const char *message) {
    mp_writer body = {0};
    cr_error error = cr_error_of(code, message);
    cr_hand_over_error(&body, &error);
    return CR_DONE;
}

static const cr_workflow_def *find_workflow(cr_bytes name) {
    for (uint32_t i = 0; i < cr_this_module.workflow_count; i++)
        if (cr_equal(name, cr_this_module.workflows[i]->name))
            return cr_this_module.workflows[i];
    return NULL;
}

static const cr_activity_def *find_activity(cr_bytes name) {
    for (uint32_t i = 0; i < cr_this_module.activity_count; i++)
        if (cr_equal(name, cr_this_module.activities[i]->name))
            return cr_this_module.activities[i];
    return NULL;
}

static cr_status start_workflow(const invocation *in) {
    const cr_workflow_def *def = find_workflow(in->name);
    if (def == NULL)
        return refuse("CR-4011", "the module has no such workflow");
    cr_workflow *w = cr_zalloc(sizeof *w);
    w->execution = in->execution;
    w->namespace = in->namespace;
    w->request = in->body;
    w->now = in->time;
    return cr_first_turn(w, def);
}

static cr_status run_activity(const invocation *in) {
    const cr_activity_def *def = find_activity(in->name);
    if (def == NULL)
        return refuse("CR-3004", "the module has no such activity");
    cr_attempt *a = cr_zalloc(sizeof *a);
    a->execution = in->execution;
    a->namespace = in->namespace;
    a->idempotency_key = in->idempotency_key;
    a->request = in->body;
    a->attempt = in->attempt;
    a->now = in->time;
    if (!def->perform(a) || cr_too_large(&a->result, "the result of activity ", def->name, &a->error))
        cr_hand_over_error(&a->body, &a->error);
    else
        cr_hand_over_value(&a->body, &a->result);
    return CR_DONE;
}

static cr_status compute_key(const invocation *in) {
    const cr_workflow_def *def = find_workflow(in->name);
    if (def == NULL || def->key == NULL)
        return refuse("CR-4011", "the module has no such key function");
    mp_reader request = mp_read(in->body);
    mp_writer key = {0}, body = {0};
    if (!def->key(&request, &key))
        return refuse("CR-2002", "the request does not decode");
    cr_hand_over_value(&body, &key);
    return CR_DONE;
}

int32_t CR_EXPORT(cruster_abi)(void);
int32_t cruster_abi(void) {
    return 1;
}

void CR_EXPORT(cruster_describe)(void);
void cruster_describe(void) {
    mp_writer manifest = {0};
    cr_put_manifest(&manifest, &cr_this_module);
    cr_host_output(manifest.at, manifest.len);
}

/* The Invocation is never dropped: the request points into it. */
cr_status CR_EXPORT(cruster_start)(uint32_t len);
cr_status cruster_start(uint32_t len) {
    invocation in = read_invocation(cr_take_input(len));
    if (cr_equal(in.kind, "workflow"))
        return start_workflow(&in);
    if (cr_equal(in.kind, "activity"))
        return run_activity(&in);
    if (cr_equal(in.kind, "key"))
        return compute_key(&in);
    return refuse("CR-4011", "this SDK knows no such kind of invocation");
}

cr_status CR_EXPORT(cruster_resume)(uint32_t len);
cr_status cruster_resume(uint32_t len) {
    cr_bytes resume = cr_take_input(len);
    cr_status status = cr_next_turn(resume);
    cr_drop(resume);
    return status;
}
