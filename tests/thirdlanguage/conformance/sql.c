#include "workflows.h"

const cr_migration migration_counters = {
    .version = 1,
    .name = "counters",
    .sql = "CREATE TABLE counters (\n\tname TEXT PRIMARY KEY,\n\tn    BIGINT NOT NULL CHECK (n < 1000)\n)",
};

/* ---- Count: counts in SQL, twice with the same arguments ---- */

typedef struct {
    cr_bytes name;
    cr_bytes then; /* the activity's next step after its statement */
    int64_t n;
} count_request;

static bool read_count_request(cr_bytes request, count_request *q) {
    mp_reader r = mp_read(request);
    *q = (count_request){0};
    for (uint32_t n = mp_map(&r); n > 0 && !r.bad; n--) {
        cr_bytes field = mp_str(&r);
        if (cr_equal(field, "name") || cr_equal(field, "Name"))
            q->name = mp_str(&r);
        else if (cr_equal(field, "then"))
            q->then = mp_str(&r);
        else if (cr_equal(field, "N"))
            q->n = mp_int(&r);
        else
            mp_skip(&r);
    }
    return mp_done(&r) && q->n >= 0 && q->n <= 1000;
}

static void count(cr_workflow *w, cr_future *f, const count_request *q, const char *key, uint32_t retries) {
    mp_writer *input = cr_input(w);
    mp_put_map(input, q->then.len > 0 ? 2 : 1);
    mp_put_text(input, "name");
    mp_put_str(input, q->name);
    if (q->then.len > 0) {
        mp_put_text(input, "then");
        mp_put_str(input, q->then);
    }
    cr_activity(w, f, &(cr_activity_options){
        .name = "count", .key = key, .retry = {.backoff = "constant", .base = CR_MILLISECOND, .retries = retries}});
}

static void read_count(cr_workflow *w, cr_future *f, cr_bytes name) {
    mp_put_str(cr_input(w), name);
    cr_activity(w, f, &(cr_activity_options){.name = "readCount"});
}

typedef struct {
    count_request q;
    cr_future first;
    cr_future second;
    cr_future last;
    int64_t i;
    cr_future *all;
} count_frame;

static cr_status count_twice(cr_workflow *w, void *frame) {
    count_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    if (!read_count_request(w->request, &f->q))
        return cr_bad_request(w);
    count(w, &f->first, &f->q, NULL, 3);
    CR_AWAIT(w, &f->first);
    count(w, &f->second, &f->q, NULL, 3);
    CR_AWAIT(w, &f->second);
    read_count(w, &f->last, f->q.name);
    CR_AWAIT(w, &f->last);
    result = cr_result(w);
    mp_put_array(result, 3);
    put_seen(result, &f->first);
    put_seen(result, &f->second);
    put_seen(result, &f->last);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_count = {.name = "Count", .execute = count_twice, .frame_size = sizeof(count_frame)};

static cr_status count_keyed(cr_workflow *w, void *frame) {
    count_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    if (!read_count_request(w->request, &f->q))
        return cr_bad_request(w);
    count(w, &f->first, &f->q, "a", 0);
    CR_TRY(w, &f->first);
    count(w, &f->second, &f->q, "b", 0);
    CR_TRY(w, &f->second);
    result = cr_result(w);
    mp_put_array(result, 2);
    mp_put_raw(result, f->first.value);
    mp_put_raw(result, f->second.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_count_keyed = {
    .name = "CountKeyed", .execute = count_keyed, .frame_size = sizeof(count_frame)};

static cr_status count_many(cr_workflow *w, void *frame) {
    count_frame *f = frame;
    CR_BEGIN(w);
    if (!read_count_request(w->request, &f->q))
        return cr_bad_request(w);
    f->all = cr_zalloc((uint32_t)f->q.n * (uint32_t)sizeof *f->all);
    for (f->i = 0; f->i < f->q.n; f->i++)
        count(w, &f->all[f->i], &f->q, NULL, 50);
    for (f->i = 0; f->i < f->q.n; f->i++)
        CR_TRY(w, &f->all[f->i]);
    read_count(w, &f->last, f->q.name);
    CR_TRY(w, &f->last);
    mp_put_raw(cr_result(w), f->last.value);
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_count_many = {
    .name = "CountMany", .execute = count_many, .frame_size = sizeof(count_frame), .output = &schema_int};

/* ---- The activities ---- */

/* Writes the counter as the result: 0 if there is none. */
static bool select_count(cr_attempt *a, cr_bytes name) {
    mp_reader rows;
    uint32_t count_of_rows;
    mp_put_str(cr_arguments(a, 1), name);
    if (!cr_query(a, cr_text("SELECT n FROM counters WHERE name = $1"), &rows, &count_of_rows))
        return false;
    int64_t n = 0;
    if (count_of_rows > 0 && mp_array(&rows) == 1)
        n = mp_int(&rows);
    if (rows.bad)
        return cr_give_up(a, "", "the counter is not a number");
    mp_put_int(&a->result, n);
    return true;
}

static bool fail_after_sql(cr_attempt *a) {
    mp_writer message = {0};
    put_words(&message, "attempt ");
    cr_put_decimal(&message, a->attempt);
    put_words(&message, " failed after its statement");
    (void)cr_try_again(a, "after_sql", "");
    a->error.message = mp_written(&message);
    return false;
}

static bool up(cr_attempt *a, cr_bytes name) {
    int64_t affected;
    mp_put_str(cr_arguments(a, 1), name);
    static const char upsert[] = "INSERT INTO counters (name, n) VALUES ($1, 1) "
                                 "ON CONFLICT (name) DO UPDATE SET n = counters.n + 1";
    return cr_exec(a, cr_text(upsert), &affected);
}

/* The step between the statement and its result; false if the attempt has failed. */
static bool go_on(cr_attempt *a, const count_request *q) {
    int64_t affected;
    bool once = a->attempt == 1;
    if (cr_equal(q->then, "fail") || (once && cr_equal(q->then, "fail once")))
        return fail_after_sql(a);
    if (once && cr_equal(q->then, "panic once"))
        cr_panic("after the statement");
    if (cr_equal(q->then, "roll back"))
        return cr_rollback(a);
    if (cr_equal(q->then, "begin again"))
        return cr_rollback(a) && up(a, q->name) && up(a, q->name);
    if (cr_equal(q->then, "commit"))
        return cr_exec(a, cr_text("COMMIT"), &affected);
    if (cr_equal(q->then, "http")) {
        cr_http_response response;
        return cr_http(a, &(cr_http_request){.method = "GET", .url = cr_text("http://127.0.0.1:1/")}, &response);
    }
    if (!cr_equal(q->then, "handle an error"))
        return true;
    mp_writer name = {0};
    mp_put_raw(&name, q->name);
    put_words(&name, "-too-many");
    mp_put_str(cr_arguments(a, 1), mp_written(&name));
    if (cr_exec(a, cr_text("INSERT INTO counters (name, n) VALUES ($1, 5000)"), &affected))
        return cr_give_up(a, "", "the check did not hold");
    return true;
}

static bool count_up(cr_attempt *a) {
    count_request q;
    if (!read_count_request(a->request, &q))
        return cr_bad_input(a);
    return up(a, q.name) && go_on(a, &q) && select_count(a, q.name);
}

const cr_activity_def act_count = {.name = "count", .perform = count_up, .output = &schema_int};

static bool tell_count(cr_attempt *a) {
    cr_bytes name;
    if (!read_str(a->request, &name))
        return cr_bad_input(a);
    return select_count(a, name);
}

const cr_activity_def act_read_count = {
    .name = "readCount", .perform = tell_count, .input = &schema_string, .output = &schema_int};

/* ---- SQLWrong: statements that the database refuses ---- */

typedef struct {
    mp_reader statements;
    uint32_t count;
    uint32_t left;
    mp_writer codes;
    cr_future step;
} wrong_frame;

static cr_status sql_wrong(cr_workflow *w, void *frame) {
    wrong_frame *f = frame;
    mp_writer *result;
    CR_BEGIN(w);
    f->statements = mp_read(w->request);
    f->count = mp_array(&f->statements);
    for (f->left = f->count; f->left > 0; f->left--) {
        mp_put_str(cr_input(w), mp_str(&f->statements));
        if (f->statements.bad)
            return cr_bad_request(w);
        cr_activity(w, &f->step, &(cr_activity_options){.name = "tryStatement"});
        CR_TRY(w, &f->step);
        mp_put_raw(&f->codes, f->step.value);
    }
    if (!mp_done(&f->statements))
        return cr_bad_request(w);
    result = cr_result(w);
    mp_put_array(result, f->count);
    mp_put_raw(result, mp_written(&f->codes));
    return CR_DONE;
    CR_END;
}

const cr_workflow_def wf_sql_wrong = {.name = "SQLWrong", .execute = sql_wrong, .frame_size = sizeof(wrong_frame)};

static bool try_statement(cr_attempt *a) {
    cr_bytes statement;
    int64_t affected;
    if (!read_str(a->request, &statement))
        return cr_bad_input(a);
    if (cr_exec(a, statement, &affected))
        mp_put_text(&a->result, "");
    else
        mp_put_str(&a->result, a->error.code);
    return true;
}

const cr_activity_def act_try_statement = {
    .name = "tryStatement", .perform = try_statement, .input = &schema_string, .output = &schema_string};
