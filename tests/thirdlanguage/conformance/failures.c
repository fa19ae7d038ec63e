#include "workflows.h"

/* Fail ends with an error of the application, with the message, the type and the
 * details that its request asks for. */

/* The error of a declined card, with a prefix in front of its message. */
static void decline(cr_error *e, const char *before, cr_bytes how) {
    mp_writer message = {0}, details = {0};
    put_words(&message, before);
    put_words(&message, "the card was declined: ");
    mp_put_raw(&message, how);
    mp_put_map(&details, 1);
    mp_put_text(&details, "cents");
    mp_put_int(&details, 150);
    e->type = cr_text("card_declined");
    e->message = mp_written(&message);
    e->details = mp_written(&details);
}

static void say(cr_error *e, const char *type, const char *message) {
    e->type = cr_text(type);
    e->message = cr_text(message);
}

static void say_at_length(cr_error *e) {
    mp_writer message = {0};
    for (uint32_t i = 0; i < 10000; i++)
        put_words(&message, "ä");
    e->type = cr_text("long");
    e->message = mp_written(&message);
}

static void say_in_unicode(cr_error *e) {
    static const char text[] = "größer \0";
    mp_writer details = {0};
    mp_put_str(&details, (cr_bytes){(const uint8_t *)text, sizeof text - 1});
    say(e, "größe", "zu groß: 世界 🌍 \u202e");
    e->details = mp_written(&details);
}

static void say_with_nothing(cr_error *e) {
    mp_writer details = {0};
    mp_put_nil(&details);
    say(e, "nothing", "details of nothing");
    e->details = mp_written(&details);
}

static void say_with_much(cr_error *e) {
    enum { MUCH = 300 << 10 };
    mp_writer details = {0};
    mp_put_bin(&details, (cr_bytes){cr_zalloc(MUCH), MUCH});
    say(e, "much", "details too large");
    e->details = mp_written(&details);
}

static cr_error failure(cr_bytes how) {
    cr_error e = {0};
    if (cr_equal(how, "plain"))
        say(&e, "", "plainly wrong");
    else if (cr_equal(how, "plain in words"))
        say(&e, "", "while paying: plainly wrong");
    else if (cr_equal(how, "in words") || cr_equal(how, "final in words"))
        decline(&e, "while paying: ", how);
    else if (cr_equal(how, "in words twice"))
        decline(&e, "order 7: while paying: ", how);
    else if (cr_equal(how, "without a type"))
        say(&e, "", "an untyped error");
    else if (cr_equal(how, "without words"))
        say(&e, "silent", "");
    else if (cr_equal(how, "unicode"))
        say_in_unicode(&e);
    else if (cr_equal(how, "long"))
        say_at_length(&e);
    else if (cr_equal(how, "details of nothing"))
        say_with_nothing(&e);
    else if (cr_equal(how, "details too large"))
        say_with_much(&e);
    else
        decline(&e, "", how);
    return e;
}

static cr_status fail(cr_workflow *w, void *frame) {
    (void)frame;
    cr_bytes how;
    if (!read_str(w->request, &how))
        return cr_bad_request(w);
    cr_error error = failure(how);
    return cr_fail(w, &error);
}

const cr_workflow_def wf_fail = {
    .name = "Fail", .execute = fail, .input = &schema_string, .output = &schema_string};
