#include "imports.h"
#include "internal.h"

typedef int32_t (*import)(const void *at, uint32_t len);

/* Performs an immediate call with the body of the attempt. The reply stays for as
 * long as the instance: an attempt is short, and results may point into it. */
static bool perform(cr_attempt *a, import call, mp_reader *reply) {
    int32_t result = call(a->body.at, a->body.len);
    mp_reset(&a->input);
    if (result >= 0) {
        *reply = mp_read(cr_take_input((uint32_t)result));
        return true;
    }
    mp_reader r = mp_read(cr_take_input(cr_refusal(result)));
    a->error = cr_read_error(&r);
    if (!mp_done(&r))
        cr_panic("the host sent an error that does not decode");
    return false;
}

static void expect_end(const mp_reader *reply) {
    if (!mp_done(reply))
        cr_panic("the host sent a reply that does not decode");
}

mp_writer *cr_arguments(cr_attempt *a, uint32_t count) {
    mp_reset(&a->input);
    mp_put_array(&a->input, count);
    return &a->input;
}

static void put_statement(cr_attempt *a, cr_bytes query) {
    cr_begin(&a->body, 2);
    mp_put_text(&a->body, "args");
    if (a->input.len > 0)
        mp_put_bin(&a->body, mp_written(&a->input));
    else
        mp_put_nil(&a->body);
    cr_field_str(&a->body, "query", query);
}

bool cr_exec(cr_attempt *a, cr_bytes query, int64_t *rows_affected) {
    mp_reader reply;
    put_statement(a, query);
    if (!perform(a, cr_host_tx_exec, &reply))
        return false;
    *rows_affected = 0;
    for (uint32_t n = mp_map(&reply); n > 0 && !reply.bad; n--) {
        if (cr_equal(mp_str(&reply), "rows_affected"))
            *rows_affected = mp_int(&reply);
        else
            mp_skip(&reply);
    }
    expect_end(&reply);
    return true;
}

bool cr_rollback(cr_attempt *a) {
    mp_reader reply;
    cr_begin(&a->body, 0);
    if (!perform(a, cr_host_tx_rollback, &reply))
        return false;
    mp_skip(&reply);
    expect_end(&reply);
    return true;
}

bool cr_query(cr_attempt *a, cr_bytes query, mp_reader *rows, uint32_t *count) {
    mp_reader reply;
    put_statement(a, query);
    if (!perform(a, cr_host_tx_query, &reply))
        return false;
    *rows = (mp_reader){0};
    *count = 0;
    for (uint32_t n = mp_map(&reply); n > 0 && !reply.bad; n--) {
        if (!cr_equal(mp_str(&reply), "rows")) {
            mp_skip(&reply);
            continue;
        }
        *rows = mp_read(mp_raw(&reply));
        *count = mp_array(rows);
    }
    expect_end(&reply);
    return true;
}

static void put_http_request(cr_attempt *a, const cr_http_request *request) {
    cr_begin(&a->body, 5);
    mp_put_text(&a->body, "body");
    if (request->body.len > 0)
        mp_put_bin(&a->body, request->body);
    else
        mp_put_nil(&a->body);
    mp_put_text(&a->body, "headers");
    mp_put_array(&a->body, request->header_count);
    for (uint32_t i = 0; i < request->header_count; i++) {
        mp_put_map(&a->body, 2);
        cr_field_str(&a->body, "name", request->headers[i].name);
        cr_field_str(&a->body, "value", request->headers[i].value);
    }
    cr_field_text(&a->body, "method", request->method);
    cr_field_int(&a->body, "timeout", 0);
    cr_field_str(&a->body, "url", request->url);
}

bool cr_http(cr_attempt *a, const cr_http_request *request, cr_http_response *response) {
    mp_reader reply;
    put_http_request(a, request);
    if (!perform(a, cr_host_http, &reply))
        return false;
    *response = (cr_http_response){0};
    for (uint32_t n = mp_map(&reply); n > 0 && !reply.bad; n--) {
        cr_bytes field = mp_str(&reply);
        if (cr_equal(field, "status"))
            response->status = mp_int(&reply);
        else if (cr_equal(field, "body"))
            response->body = mp_bin(&reply);
        else if (cr_equal(field, "headers"))
            response->headers = mp_read(mp_raw(&reply));
        else
            mp_skip(&reply);
    }
    expect_end(&reply);
    return true;
}

cr_bytes cr_http_header(const cr_http_response *response, const char *name) {
    mp_reader r = response->headers;
    cr_bytes found = {0};
    for (uint32_t headers = mp_array(&r); headers > 0 && !r.bad; headers--) {
        bool matches = false;
        cr_bytes value = {0};
        for (uint32_t n = mp_map(&r); n > 0 && !r.bad; n--) {
            cr_bytes field = mp_str(&r);
            if (cr_equal(field, "name"))
                matches = cr_equal(mp_str(&r), name);
            else if (cr_equal(field, "value"))
                value = mp_str(&r);
            else
                mp_skip(&r);
        }
        if (matches)
            found = value;
    }
    return found;
}

bool cr_config(cr_attempt *a, cr_bytes name, bool *found, cr_bytes *value) {
    mp_reader reply;
    cr_begin(&a->body, 1);
    cr_field_str(&a->body, "name", name);
    if (!perform(a, cr_host_config, &reply))
        return false;
    *found = false;
    *value = (cr_bytes){0};
    for (uint32_t n = mp_map(&reply); n > 0 && !reply.bad; n--) {
        cr_bytes field = mp_str(&reply);
        if (cr_equal(field, "found"))
            *found = mp_bool(&reply);
        else if (cr_equal(field, "value"))
            *value = mp_str(&reply);
        else
            mp_skip(&reply);
    }
    expect_end(&reply);
    return true;
}

bool cr_try_again(cr_attempt *a, const char *type, const char *message) {
    (void)cr_give_up(a, type, message);
    a->error.retryable = true;
    return false;
}

bool cr_give_up(cr_attempt *a, const char *type, const char *message) {
    a->error = cr_error_of("CR-3001", message);
    a->error.type = cr_text(type);
    return false;
}

bool cr_bad_input(cr_attempt *a) {
    a->error = cr_error_of("CR-2002", "the input does not decode");
    return false;
}
