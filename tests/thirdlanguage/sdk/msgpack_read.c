#include "msgpack.h"

#include <stddef.h>

enum { DEEPEST = 64 };

mp_reader mp_read(cr_bytes bytes) {
    return (mp_reader){bytes.at, bytes.len, false};
}

static void go_bad(mp_reader *r) {
    r->left = 0;
    r->bad = true;
}

/* The caller has seen that a byte is left. */
static uint8_t take_byte(mp_reader *r) {
    r->left--;
    return *r->at++;
}

/* Takes a big-endian number of 0, 1, 2, 4 or 8 bytes. */
static uint64_t take(mp_reader *r, uint32_t width) {
    if (r->left < width) {
        go_bad(r);
        return 0;
    }
    uint64_t n = 0;
    for (uint32_t i = 0; i < width; i++)
        n = n << 8 | take_byte(r);
    return n;
}

static cr_bytes take_bytes(mp_reader *r, uint64_t len) {
    if (r->bad || r->left < len) {
        go_bad(r);
        return (cr_bytes){NULL, 0};
    }
    cr_bytes bytes = {r->at, (uint32_t)len};
    r->at += bytes.len;
    r->left -= bytes.len;
    return bytes;
}

mp_kind mp_peek(const mp_reader *r) {
    if (r->left == 0)
        return MP_NONE;
    uint8_t b = *r->at;
    if (b <= 0x7f || b >= 0xe0 || (b >= 0xcc && b <= 0xd3))
        return MP_INT;
    if (b <= 0x8f || b == 0xde || b == 0xdf)
        return MP_MAP;
    if (b <= 0x9f || b == 0xdc || b == 0xdd)
        return MP_ARRAY;
    if (b <= 0xbf || (b >= 0xd9 && b <= 0xdb))
        return MP_STR;
    if (b == 0xc0)
        return MP_NIL;
    if (b == 0xc1)
        return MP_NONE;
    if (b <= 0xc3)
        return MP_BOOL;
    if (b <= 0xc6)
        return MP_BIN;
    if (b == 0xca || b == 0xcb)
        return MP_FLOAT;
    return MP_EXT; /* c7 to c9, d4 to d8 */
}

/* Takes the first byte of a value if the value is of that kind. */
static bool begin(mp_reader *r, mp_kind kind, uint8_t *first) {
    if (mp_peek(r) != kind) {
        go_bad(r);
        return false;
    }
    *first = take_byte(r);
    return true;
}

bool mp_take_nil(mp_reader *r) {
    if (mp_peek(r) != MP_NIL)
        return false;
    (void)take_byte(r);
    return true;
}

bool mp_bool(mp_reader *r) {
    uint8_t first;
    return begin(r, MP_BOOL, &first) && first == 0xc3;
}

/* Takes an integer as 64 bits of two's complement, and says whether it is negative. */
static uint64_t take_integer(mp_reader *r, bool *negative) {
    uint8_t b;
    *negative = false;
    if (!begin(r, MP_INT, &b))
        return 0;
    if (b <= 0x7f)
        return b;
    if (b >= 0xe0) {
        *negative = true;
        return 0xffffffffffffff00 | b;
    }
    if (b <= 0xcf)
        return take(r, 1U << (b - 0xcc));
    uint32_t width = 1U << (b - 0xd0);
    uint64_t n = take(r, width);
    uint64_t sign = (uint64_t)1 << (width * 8 - 1);
    if ((n & sign) == 0)
        return n;
    *negative = true;
    return width == 8 ? n : n | ~((sign << 1) - 1);
}

int64_t mp_int(mp_reader *r) {
    bool negative;
    uint64_t n = take_integer(r, &negative);
    if (!negative) {
        if (n <= INT64_MAX)
            return (int64_t)n;
        go_bad(r);
        return 0;
    }
    return -(int64_t)~n - 1;
}

uint64_t mp_uint(mp_reader *r) {
    bool negative;
    uint64_t n = take_integer(r, &negative);
    if (!negative)
        return n;
    go_bad(r);
    return 0;
}

double mp_float(mp_reader *r) {
    uint8_t b;
    if (!begin(r, MP_FLOAT, &b))
        return 0;
    if (b == 0xca) {
        uint32_t bits = (uint32_t)take(r, 4);
        float narrow;
        __builtin_memcpy(&narrow, &bits, sizeof narrow);
        return (double)narrow;
    }
    uint64_t bits = take(r, 8);
    double wide;
    __builtin_memcpy(&wide, &bits, sizeof wide);
    return wide;
}

cr_bytes mp_str(mp_reader *r) {
    uint8_t b;
    if (!begin(r, MP_STR, &b))
        return (cr_bytes){NULL, 0};
    return take_bytes(r, b <= 0xbf ? (uint64_t)(b & 0x1f) : take(r, 1U << (b - 0xd9)));
}

cr_bytes mp_bin(mp_reader *r) {
    uint8_t b;
    if (mp_take_nil(r) || !begin(r, MP_BIN, &b))
        return (cr_bytes){NULL, 0};
    return take_bytes(r, take(r, 1U << (b - 0xc4)));
}

/* Each element takes at least one byte, so a count that is larger than the number
 * of remaining bytes is false, and no loop over it needs to run. */
static uint32_t believe(mp_reader *r, uint64_t count, uint32_t bytes_each) {
    if (!r->bad && count <= r->left / bytes_each)
        return (uint32_t)count;
    go_bad(r);
    return 0;
}

uint32_t mp_array(mp_reader *r) {
    uint8_t b;
    if (mp_take_nil(r) || !begin(r, MP_ARRAY, &b))
        return 0;
    return believe(r, b <= 0x9f ? (uint64_t)(b & 0x0f) : take(r, b == 0xdc ? 2 : 4), 1);
}

uint32_t mp_map(mp_reader *r) {
    uint8_t b;
    if (mp_take_nil(r) || !begin(r, MP_MAP, &b))
        return 0;
    return believe(r, b <= 0x8f ? (uint64_t)(b & 0x0f) : take(r, b == 0xde ? 2 : 4), 2);
}

static void skip_ext(mp_reader *r) {
    uint8_t b;
    if (!begin(r, MP_EXT, &b))
        return;
    uint64_t len = b >= 0xd4 ? (uint64_t)1 << (b - 0xd4) : take(r, 1U << (b - 0xc7));
    (void)take_bytes(r, len + 1); /* and its type */
}

/* Skips one value and returns how many values are in it. */
static uint64_t skip_head(mp_reader *r) {
    uint8_t b;
    switch (mp_peek(r)) {
    case MP_NIL:
    case MP_BOOL:
        (void)take_byte(r);
        return 0;
    case MP_INT: {
        bool negative;
        (void)take_integer(r, &negative);
        return 0;
    }
    case MP_FLOAT:
        if (begin(r, MP_FLOAT, &b))
            (void)take(r, b == 0xca ? 4 : 8);
        return 0;
    case MP_STR:
        (void)mp_str(r);
        return 0;
    case MP_BIN:
        (void)mp_bin(r);
        return 0;
    case MP_EXT:
        skip_ext(r);
        return 0;
    case MP_ARRAY:
        return mp_array(r);
    case MP_MAP:
        return 2 * (uint64_t)mp_map(r);
    case MP_NONE:
        break;
    }
    go_bad(r);
    return 0;
}

/* Without recursion: the sender chooses the depth, and it must not use up the stack. */
void mp_skip(mp_reader *r) {
    uint64_t open[DEEPEST + 1];
    uint32_t depth = 0;
    open[0] = 1;
    while (!r->bad) {
        while (open[depth] == 0) {
            if (depth == 0)
                return;
            depth--;
        }
        open[depth]--;
        uint64_t inside = skip_head(r);
        if (inside == 0)
            continue;
        if (depth == DEEPEST) {
            go_bad(r);
            return;
        }
        open[++depth] = inside;
    }
}

cr_bytes mp_raw(mp_reader *r) {
    mp_reader from = *r;
    mp_skip(r);
    if (r->bad)
        return (cr_bytes){NULL, 0};
    return (cr_bytes){from.at, from.left - r->left};
}

bool mp_done(const mp_reader *r) {
    return !r->bad && r->left == 0;
}
