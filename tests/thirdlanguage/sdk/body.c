#include "imports.h"
#include "internal.h"

cr_bytes cr_take_input(uint32_t len) {
    uint8_t *at = len > 0 ? cr_alloc(len) : NULL;
    cr_host_input(at);
    return (cr_bytes){at, len};
}

uint32_t cr_refusal(int32_t result) {
    return (uint32_t)(-(int64_t)result);
}

void cr_begin(mp_writer *body, uint32_t fields) {
    mp_reset(body);
    mp_put_map(body, fields);
}

void cr_field_text(mp_writer *body, const char *field, const char *text) {
    cr_field_str(body, field, cr_text(text != NULL ? text : ""));
}

void cr_field_str(mp_writer *body, const char *field, cr_bytes text) {
    mp_put_text(body, field);
    mp_put_str(body, text);
}

void cr_field_int(mp_writer *body, const char *field, int64_t number) {
    mp_put_text(body, field);
    mp_put_int(body, number);
}

static cr_bytes value_or_nil(const mp_writer *value) {
    static const uint8_t nil[] = {0xc0};
    return value->len > 0 ? mp_written(value) : (cr_bytes){nil, sizeof nil};
}

void cr_field_value(mp_writer *body, const char *field, const mp_writer *value) {
    mp_put_text(body, field);
    mp_put_bin(body, value_or_nil(value));
}

void cr_field_retry(mp_writer *body, const cr_retry *retry) {
    mp_put_text(body, "retry");
    mp_put_map(body, 4);
    cr_field_text(body, "backoff", retry->backoff);
    cr_field_int(body, "base", retry->base);
    mp_put_text(body, "jitter");
    mp_put_float(body, retry->jitter);
    cr_field_int(body, "retries", retry->retries);
}

void cr_put_decimal(mp_writer *text, int64_t n) {
    char digits[20];
    uint32_t at = sizeof digits;
    uint64_t left = n < 0 ? (uint64_t)-(n + 1) + 1 : (uint64_t)n;
    do {
        digits[--at] = (char)('0' + left % 10);
        left /= 10;
    } while (left > 0);
    if (n < 0)
        digits[--at] = '-';
    mp_put_raw(text, (cr_bytes){(const uint8_t *)digits + at, (uint32_t)sizeof digits - at});
}

/* A body has at most 4 MiB, and 64 KiB of these are left for the fields around a value. */
bool cr_too_large(const mp_writer *value, const char *what, const char *name, cr_error *error) {
    enum { MOST = (4 << 20) - (64 << 10) };
    if (value->len <= MOST)
        return false;
    mp_writer message = {0};
    mp_put_raw(&message, cr_text(what));
    mp_put_raw(&message, cr_text(name));
    mp_put_raw(&message, cr_text(" takes "));
    cr_put_decimal(&message, value->len);
    mp_put_raw(&message, cr_text(" bytes, the limit is "));
    cr_put_decimal(&message, MOST);
    *error = cr_error_of("CR-2005", "");
    error->message = mp_written(&message);
    return true;
}

static void hand_over(mp_writer *body, const cr_outcome *outcome) {
    mp_reset(body);
    cr_put_outcome(body, outcome);
    cr_host_output(body->at, body->len);
}

void cr_hand_over_value(mp_writer *body, const mp_writer *value) {
    hand_over(body, &(cr_outcome){.value = value_or_nil(value)});
}

void cr_hand_over_error(mp_writer *body, const cr_error *error) {
    hand_over(body, &(cr_outcome){.failed = true, .error = *error});
}

void cr_log(cr_level level, cr_bytes text) {
    cr_host_log(level, text.at, text.len);
}
