/* numbers.c -- converts numbers to text and back, as clients see them.
 *
 * A double is written by Grisu2 (Loitsch, "Printing floating-point numbers quickly and accurately with
 * integers", 2010): digits that read back as the same double, the shortest ones in all but about one
 * case in a thousand. Clients of Valkey see exactly these digits, also where they are one longer or
 * not the closest, so neither printf nor an always-shortest algorithm would do.
 *
 * Threads     any.
 * Cost        d2string(): about 50 ns; integers 10 ns. string2d(): 20 ns for up to 19 digits and a small
 *             exponent, else strtod's time.
 * Tests       tests/unit/base/numbers_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "numbers.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- Integers ---------------------------------------------------------------------------------------------------- */

bool string2ull(const char *s, size_t len, unsigned long long *out) {
    if (len == 0 || len > 20) return false;
    if (s[0] == '0' && len > 1) return false;
    unsigned long long v = 0;
    for (size_t i = 0; i < len; i++) {
        unsigned digit = (unsigned)(unsigned char)s[i] - '0';
        if (digit > 9) return false;
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, digit, &v)) return false;
    }
    *out = v;
    return true;
}

bool string2ll(const char *s, size_t len, long long *out) {
    bool negative = len > 0 && s[0] == '-';
    unsigned long long v;
    if (!string2ull(s + negative, len - negative, &v)) return false;
    if (negative) {
        if (v == 0 || v > (unsigned long long)INT64_MAX + 1) return false;
        *out = (long long)(0 - v);
    } else {
        if (v > INT64_MAX) return false;
        *out = (long long)v;
    }
    return true;
}

/* The position of the highest bit times log10(2), 1233 / 4096, is the number of digits of that power of two minus one;
 * the value itself may have one digit more. */
static size_t digitsOf(unsigned long long v) {
    static const uint64_t powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,
                                      1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19};
    unsigned top_bit = 63 - (unsigned)__builtin_clzll(v | 1);
    size_t n = (top_bit * 1233 >> 12) + 1;
    return n + (v >= powers[n]);
}

/* The digits of small numbers, as most in replies are, are counted by comparing; they are written in pairs from the
 * end. */
size_t ull2string(char *out, unsigned long long value) {
    static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                                "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                                "8081828384858687888990919293949596979899";
    size_t n = value < 10 ? 1 : value < 100 ? 2 : value < 1000 ? 3 : digitsOf(value), at = n;
    out[n] = '\0';
    for (; at > 2; value /= 100) memcpy(out + (at -= 2), pairs + value % 100 * 2, 2);
    if (at == 2) memcpy(out, pairs + value * 2, 2);
    else out[0] = (char)('0' + value);
    return n;
}

size_t ll2string(char *out, long long value) {
    if (value >= 0) return ull2string(out, (unsigned long long)value);
    out[0] = '-';
    return 1 + ull2string(out + 1, 0 - (unsigned long long)value);
}

size_t sdigits10(long long value) {
    return value < 0 ? 1 + digitsOf(0 - (unsigned long long)value) : digitsOf((unsigned long long)value);
}

/* ---- Text to floating point -------------------------------------------------------------------------------------- */

/* Parses a sign and at most 19 significant digits with a power of ten that a double holds exactly: a single
 * multiplication or division, rounded once, gives the correct result (Clinger 1990). Also returns false for text that
 * is not a number; the slow path then decides. */
static bool parseFast(const char *s, size_t len, double *out) {
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const char *end = s + len;
    bool negative = s < end && *s == '-';
    if (negative) s++;
    uint64_t v = 0;
    int digits = 0, after_point = 0;
    bool point = false;
    for (; s < end; s++) {
        unsigned d = (unsigned)(unsigned char)*s - '0';
        if (d <= 9) {
            v = v * 10 + d;
            if (++digits > 19) return false;
            after_point += point;
        } else if (*s == '.' && !point) {
            point = true;
        } else {
            return false;
        }
    }
    if (digits == 0 || v > (uint64_t)1 << 53 || after_point > 22) return false;
    double d = (double)v / powers[after_point];
    *out = negative ? -d : d;
    return true;
}

/* Copies to a text with a NUL. Returns false for text that strtod accepts, but callers must not: leading space, nan, a
 * NUL inside. */
static bool terminate(char *buf, size_t size, const char *s, size_t len) {
    if (len == 0 || len >= size || isspace((unsigned char)s[0]) || memchr(s, '\0', len)) return false;
    memcpy(buf, s, len);
    buf[len] = '\0';
    return true;
}

bool string2d(const char *s, size_t len, double *out) {
    if (parseFast(s, len, out)) return true;
    char buf[LONG_DOUBLE_STR_SIZE], *end;
    if (!terminate(buf, sizeof(buf), s, len)) return false;
    if (memchr(buf, 'x', len) || memchr(buf, 'X', len)) return false;
    int saved_errno = errno;
    errno = 0;
    double v = strtod(buf, &end);
    bool range = errno == ERANGE;
    errno = saved_errno;
    if (end != buf + len || isnan(v)) return false;
    if (range && (v == 0 || isinf(v))) return false;
    *out = v;
    return true;
}

bool string2ld(const char *s, size_t len, long double *out) {
    char buf[LONG_DOUBLE_STR_SIZE], *end;
    if (!terminate(buf, sizeof(buf), s, len)) return false;
    int saved_errno = errno;
    errno = 0;
    long double v = strtold(buf, &end);
    bool range = errno == ERANGE;
    errno = saved_errno;
    if (end != buf + len || isnan(v)) return false;
    if (range && (v == 0 || isinf(v))) return false;
    *out = v;
    return true;
}

/* ---- Grisu2 ------------------------------------------------------------------------------------------------------ */

/* An unsigned number f * 2^e. */
typedef struct diyFp {
    uint64_t f;
    int e;
} diyFp;

/* 10^k for k = -348, -340, ... 340, rounded to 64 bits. */
#define POWER_FIRST (-348)
#define POWER_STEP 8
static const diyFp powers_of_ten[] = {
    {0xfa8fd5a0081c0288, -1220}, {0xbaaee17fa23ebf76, -1193}, {0x8b16fb203055ac76, -1166}, {0xcf42894a5dce35ea, -1140},
    {0x9a6bb0aa55653b2d, -1113}, {0xe61acf033d1a45df, -1087}, {0xab70fe17c79ac6ca, -1060}, {0xff77b1fcbebcdc4f, -1034},
    {0xbe5691ef416bd60c, -1007}, {0x8dd01fad907ffc3c, -980},  {0xd3515c2831559a83, -954},  {0x9d71ac8fada6c9b5, -927},
    {0xea9c227723ee8bcb, -901},  {0xaecc49914078536d, -874},  {0x823c12795db6ce57, -847},  {0xc21094364dfb5637, -821},
    {0x9096ea6f3848984f, -794},  {0xd77485cb25823ac7, -768},  {0xa086cfcd97bf97f4, -741},  {0xef340a98172aace5, -715},
    {0xb23867fb2a35b28e, -688},  {0x84c8d4dfd2c63f3b, -661},  {0xc5dd44271ad3cdba, -635},  {0x936b9fcebb25c996, -608},
    {0xdbac6c247d62a584, -582},  {0xa3ab66580d5fdaf6, -555},  {0xf3e2f893dec3f126, -529},  {0xb5b5ada8aaff80b8, -502},
    {0x87625f056c7c4a8b, -475},  {0xc9bcff6034c13053, -449},  {0x964e858c91ba2655, -422},  {0xdff9772470297ebd, -396},
    {0xa6dfbd9fb8e5b88f, -369},  {0xf8a95fcf88747d94, -343},  {0xb94470938fa89bcf, -316},  {0x8a08f0f8bf0f156b, -289},
    {0xcdb02555653131b6, -263},  {0x993fe2c6d07b7fac, -236},  {0xe45c10c42a2b3b06, -210},  {0xaa242499697392d3, -183},
    {0xfd87b5f28300ca0e, -157},  {0xbce5086492111aeb, -130},  {0x8cbccc096f5088cc, -103},  {0xd1b71758e219652c, -77},
    {0x9c40000000000000, -50},   {0xe8d4a51000000000, -24},   {0xad78ebc5ac620000, 3},     {0x813f3978f8940984, 30},
    {0xc097ce7bc90715b3, 56},    {0x8f7e32ce7bea5c70, 83},    {0xd5d238a4abe98068, 109},   {0x9f4f2726179a2245, 136},
    {0xed63a231d4c4fb27, 162},   {0xb0de65388cc8ada8, 189},   {0x83c7088e1aab65db, 216},   {0xc45d1df942711d9a, 242},
    {0x924d692ca61be758, 269},   {0xda01ee641a708dea, 295},   {0xa26da3999aef774a, 322},   {0xf209787bb47d6b85, 348},
    {0xb454e4a179dd1877, 375},   {0x865b86925b9bc5c2, 402},   {0xc83553c5c8965d3d, 428},   {0x952ab45cfa97a0b3, 455},
    {0xde469fbd99a05fe3, 481},   {0xa59bc234db398c25, 508},   {0xf6c69a72a3989f5c, 534},   {0xb7dcbf5354e9bece, 561},
    {0x88fcf317f22241e2, 588},   {0xcc20ce9bd35c78a5, 614},   {0x98165af37b2153df, 641},   {0xe2a0b5dc971f303a, 667},
    {0xa8d9d1535ce3b396, 694},   {0xfb9b7cd9a4a7443c, 720},   {0xbb764c4ca7a44410, 747},   {0x8bab8eefb6409c1a, 774},
    {0xd01fef10a657842c, 800},   {0x9b10a4e5e9913129, 827},   {0xe7109bfba19c0c9d, 853},   {0xac2820d9623bf429, 880},
    {0x80444b5e7aa7cf85, 907},   {0xbf21e44003acdd2d, 933},   {0x8e679c2f5e44ff8f, 960},   {0xd433179d9c8cb841, 986},
    {0x9e19db92b4e31ba9, 1013},  {0xeb96bf6ebadf77d9, 1039},  {0xaf87023b9bf0ee6b, 1066},
};

static diyFp normalize(diyFp x) {
    int shift = __builtin_clzll(x.f);
    return (diyFp){x.f << shift, x.e - shift};
}

/* Returns the upper half of the product, rounded. */
static diyFp multiply(diyFp a, diyFp b) {
    __extension__ typedef unsigned __int128 u128;
    u128 p = (u128)a.f * b.f + ((uint64_t)1 << 63);
    return (diyFp){(uint64_t)(p >> 64), a.e + b.e + 64};
}

/* Returns the cached power that brings a normalized number of exponent `e` to an exponent in -60..-32, so that its
 * integral part fits 32 bits; of two such powers, the one with the smaller exponent. *k becomes its exponent of ten. */
static diyFp powerFor(int e, int *k) {
    double least = ceil((-60 - (e + 64) + 63) * 0.30102999566398114);
    int i = ((int)least - POWER_FIRST - 1) / POWER_STEP + 1;
    *k = POWER_FIRST + i * POWER_STEP;
    return powers_of_ten[i];
}

/* The digits start at the upper boundary; lowers the last one towards the value while that stays within the boundaries
 * and comes closer. */
static void approach(char *last, uint64_t delta, uint64_t rest, uint64_t unit, uint64_t distance) {
    while (rest < distance && delta - rest >= unit &&
           (rest + unit < distance || distance - rest > rest + unit - distance)) {
        (*last)--;
        rest += unit;
    }
}

/* Generates digits of a number between `high` - delta and `high`, near `high` - distance. Returns their number, at most
 * 18; adds the decimal places of the last one to *k. */
static int generateDigits(diyFp high, uint64_t delta, uint64_t distance, char *digits, int *k) {
    static const uint32_t tens[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
    int shift = -high.e, n = 0;
    uint64_t one = (uint64_t)1 << shift;
    uint32_t whole = (uint32_t)(high.f >> shift);
    uint64_t fraction = high.f & (one - 1);
    for (int exponent = (int)digitsOf(whole) - 1; exponent >= 0; exponent--) {
        uint32_t digit = whole / tens[exponent];
        whole %= tens[exponent];
        if (digit || n) digits[n++] = (char)('0' + digit);
        uint64_t rest = ((uint64_t)whole << shift) + fraction;
        if (rest <= delta) {
            *k += exponent;
            approach(digits + n - 1, delta, rest, (uint64_t)tens[exponent] << shift, distance);
            return n;
        }
    }
    uint64_t unit = 1;
    for (;;) {
        fraction *= 10;
        delta *= 10;
        unit *= 10;
        (*k)--;
        uint64_t digit = fraction >> shift;
        if (digit || n) digits[n++] = (char)('0' + digit);
        fraction &= one - 1;
        if (fraction <= delta) {
            approach(digits + n - 1, delta, fraction, one, distance * unit);
            return n;
        }
    }
}

/* Generates the digits of a finite number above zero: the value is the digits as an integer times 10^*k. */
static int shortestDigits(double value, char *digits, int *k) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof(bits));
    uint64_t fraction = bits & (((uint64_t)1 << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7ff);
    diyFp v = exponent ? (diyFp){fraction | (uint64_t)1 << 52, exponent - 1075} : (diyFp){fraction, -1074};

    /* The midpoints to both neighbours; the lower neighbour of a power of two is half as far away. */
    bool near_below = fraction == 0 && exponent > 1;
    diyFp high = normalize((diyFp){2 * v.f + 1, v.e - 1});
    diyFp low = near_below ? (diyFp){4 * v.f - 1, v.e - 2} : (diyFp){2 * v.f - 1, v.e - 1};
    low.f <<= low.e - high.e;
    low.e = high.e;

    diyFp power = powerFor(high.e, k);
    *k = -*k;
    diyFp w = multiply(normalize(v), power);
    high = multiply(high, power);
    low = multiply(low, power);
    /* The products are off by at most one unit: shrink the interval by that much. */
    high.f--;
    low.f++;
    return generateDigits(high, high.f - low.f, high.f - w.f, digits, k);
}

/* Formats `n` digits: without an exponent if that is short, otherwise with one, which is not padded. */
static size_t layOutDigits(char *out, const char *digits, int n, int k) {
    char *at = out;
    int exponent = k + n - 1; /* of the first digit */
    int size = exponent < 0 ? -exponent : exponent;
    if (k >= 0 && size < n + 7) {
        memcpy(at, digits, (size_t)n);
        memset(at + n, '0', (size_t)k);
        at += n + k;
    } else if (k < 0 && (k > -7 || size < 4)) {
        int before = n + k; /* digits before the point */
        if (before <= 0) {
            *at++ = '0';
            *at++ = '.';
            memset(at, '0', (size_t)-before);
            at += -before;
            memcpy(at, digits, (size_t)n);
            at += n;
        } else {
            memcpy(at, digits, (size_t)before);
            at += before;
            *at++ = '.';
            memcpy(at, digits + before, (size_t)(n - before));
            at += n - before;
        }
    } else {
        *at++ = digits[0];
        if (n > 1) {
            *at++ = '.';
            memcpy(at, digits + 1, (size_t)n - 1);
            at += n - 1;
        }
        *at++ = 'e';
        *at++ = exponent < 0 ? '-' : '+';
        at += ull2string(at, (unsigned long long)size);
    }
    *at = '\0';
    return (size_t)(at - out);
}

static size_t copyText(char *out, size_t size, const char *text) { return (size_t)snprintf(out, size, "%s", text); }

/* Integers up to this are written with all their digits. */
#define PLAIN_INTEGER_MAX 0x1p62

static size_t doubleText(char *out, size_t size, double value, bool plain_integers) {
    char buf[64], digits[20];
    if (isnan(value)) return copyText(out, size, "nan");
    if (isinf(value)) return copyText(out, size, value < 0 ? "-inf" : "inf");
    if (value == 0) return copyText(out, size, signbit(value) ? "-0" : "0");
    size_t len;
    if (plain_integers && fabs(value) <= PLAIN_INTEGER_MAX && value == (double)(long long)value) {
        len = ll2string(buf, (long long)value);
    } else {
        int k;
        buf[0] = '-';
        int n = shortestDigits(fabs(value), digits, &k);
        len = (value < 0) + layOutDigits(buf + (value < 0), digits, n, k);
    }
    if (len + 1 > size) return copyText(out, size, buf) < size ? len : size - 1;
    memcpy(out, buf, len + 1);
    return len;
}

size_t d2string(char *out, size_t size, double value) { return doubleText(out, size, value, true); }
size_t d2shortest(char *out, size_t size, double value) { return doubleText(out, size, value, false); }

static const unsigned decimal_units[] = {1, 10, 100, 1000, 10000};

size_t decimal2string(char *out, unsigned long long units, unsigned places) {
    size_t len = ull2string(out, units / decimal_units[places]);
    if (places) out[len++] = '.';
    for (unsigned i = places; i--;) out[len++] = (char)('0' + units / decimal_units[i] % 10);
    out[len] = '\0';
    return len;
}

/* The product of the 53-bit significand and the power of ten is exact in 128 bits, so it is rounded once, as printf
 * rounds: to the nearest, ties to even. */
size_t d2fixed(char *out, double value, unsigned places) {
    __extension__ typedef unsigned __int128 u128;
    uint64_t bits;

    if (!(fabs(value) < FIXED_SHORT_BELOW)) return (size_t)snprintf(out, FIXED_STR_SIZE, "%.*f", (int)places, value);
    memcpy(&bits, &value, sizeof(bits));
    unsigned exponent = (unsigned)(bits >> 52 & 0x7ff);
    uint64_t significand = (bits & (((uint64_t)1 << 52) - 1)) | (uint64_t)(exponent > 0) << 52;
    unsigned shift = 1075 - (exponent ? exponent : 1); /* at least 3: FIXED_SHORT_BELOW is less than 2 to the 50th */
    if (shift > 127) shift = 127;                      /* the product has 67 bits: either shift leaves 0 */
    u128 scaled = (u128)significand * decimal_units[places], half = (u128)1 << (shift - 1),
         rest = scaled & (2 * half - 1);
    uint64_t units = (uint64_t)(scaled >> shift);
    units += rest > half || (rest == half && units & 1);

    if (signbit(value)) *out = '-';
    return signbit(value) + decimal2string(out + signbit(value), units, places);
}

size_t ld2string(char *out, size_t size, long double value, bool humanfriendly) {
    if (isnan(value)) return copyText(out, size, "nan");
    if (isinf(value)) return copyText(out, size, value < 0 ? "-inf" : "inf");
    /* 17 digits keep the 15 significant decimals of a double, without the noise that all 21 digits of a long double
     * would show (0.1 stays 0.1). */
    int n = snprintf(out, size, humanfriendly ? "%.17Lf" : "%.17Lg", value);
    if (n < 0 || (size_t)n >= size) return 0;
    size_t len = (size_t)n;
    if (humanfriendly) {
        while (out[len - 1] == '0') len--;
        if (out[len - 1] == '.') len--;
        out[len] = '\0';
        if (strcmp(out, "-0") == 0) return copyText(out, size, "0");
    }
    return len;
}

/* ---- Amounts of memory ------------------------------------------------------------------------------------------- */

bool memory2ull(const char *s, size_t len, unsigned long long *bytes) {
    static const struct {
        const char *name;
        unsigned long long size;
    } units[] = {{"", 1},        {"b", 1},        {"k", 1000},       {"kb", 1024},
                 {"m", 1000000}, {"mb", 1 << 20}, {"g", 1000000000}, {"gb", 1 << 30}};
    size_t digits = 0;
    unsigned long long v = 0;
    for (; digits < len && s[digits] >= '0' && s[digits] <= '9'; digits++) {
        unsigned digit = (unsigned)(s[digits] - '0');
        if (__builtin_mul_overflow(v, 10u, &v) || __builtin_add_overflow(v, digit, &v)) return false;
    }
    for (size_t i = 0; i < array_len(units); i++) {
        if (strlen(units[i].name) != len - digits || strncasecmp(s + digits, units[i].name, len - digits) != 0)
            continue;
        if (__builtin_mul_overflow(v, units[i].size, &v)) return false;
        *bytes = v;
        return true;
    }
    return false;
}

void bytes2human(char *out, size_t size, unsigned long long bytes) {
    static const char units[] = "KMGTP";
    if (bytes < 1024 || bytes >> 60) {
        snprintf(out, size, "%lluB", bytes);
        return;
    }
    int unit = 0;
    double v = (double)bytes / 1024;
    while (bytes >> (10 * (unit + 2))) {
        unit++;
        v /= 1024;
    }
    char text[FIXED_SHORT_SIZE + 1];
    size_t len = d2fixed(text, v, 2);
    text[len++] = units[unit];
    text[len] = '\0';
    if (len < size) memcpy(out, text, len + 1);
    else copyText(out, size, text);
}
