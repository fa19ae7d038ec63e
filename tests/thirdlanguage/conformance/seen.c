#include "workflows.h"

static bool has_own_words(cr_bytes code) {
    return code.len == 0 || cr_equal(code, "CR-3001") || cr_equal(code, "CR-2006") || cr_equal(code, "CR-2014");
}

/* The host's messages may change, so the result holds the application's alone. */
void put_seen_error(mp_writer *out, const cr_error *error) {
    bool has_text = has_own_words(error->code);
    mp_put_map(out, 1 + (has_text ? 1U : 0U) + (error->type.len > 0 ? 1U : 0U));
    mp_put_text(out, "code");
    mp_put_str(out, error->code);
    if (has_text) {
        mp_writer text = {0};
        mp_put_raw(&text, error->code);
        put_words(&text, ": ");
        mp_put_raw(&text, error->message);
        mp_put_text(out, "text");
        mp_put_str(out, mp_written(&text));
        mp_release(&text);
    }
    if (error->type.len > 0) {
        mp_put_text(out, "type");
        mp_put_str(out, error->type);
    }
}

void put_seen(mp_writer *out, const cr_future *f) {
    if (f->state == CR_ERROR) {
        put_seen_error(out, &f->error);
        return;
    }
    mp_put_map(out, 1);
    mp_put_text(out, "value");
    mp_put_raw(out, f->value);
}

void put_words(mp_writer *text, const char *words) {
    mp_put_raw(text, cr_text(words));
}

bool read_int(cr_bytes request, int64_t *n) {
    mp_reader r = mp_read(request);
    *n = mp_int(&r);
    return mp_done(&r);
}

bool read_str(cr_bytes request, cr_bytes *text) {
    mp_reader r = mp_read(request);
    *text = mp_str(&r);
    return mp_done(&r);
}

bool read_bool(cr_bytes request, bool *flag) {
    mp_reader r = mp_read(request);
    *flag = mp_bool(&r);
    return mp_done(&r);
}

const cr_schema schema_none = {.type = "struct"};
const cr_schema schema_bool = {.type = "bool"};
const cr_schema schema_int = {.type = "int", .bits = 64};
const cr_schema schema_string = {.type = "string"};
