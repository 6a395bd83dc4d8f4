/* reply_args.c -- numbers in arguments, with an error reply if an argument is not a number.
 *
 * Not here    the parsing of digits (base/numbers.c); option words, which each command knows.
 * Threads     main.
 * Tests       tests/unit/client/reply_error_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply.h"
#include "panic.h"
#include <limits.h>

/* Sends the error for an argument: `msg`, or the usual one if that is NULL. Returns false. */
static bool refuseArg(client *c, const char *msg, bool (*usual)(client *c)) {
    return msg ? addReplyError(c, msg) : usual(c);
}

bool getLongLongFromArg(client *c, uint32_t index, long long *out, const char *msg) {
    assertMainRole();
    slice arg = c->argv[index];
    return string2ll(arg.ptr, arg.len, out) || refuseArg(c, msg, addReplyNotIntegerError);
}

bool getRangeLongFromArg(client *c, uint32_t index, long long min, long long max, long long *out, const char *msg) {
    assertMainRole();
    long long value;
    if (!getLongLongFromArg(c, index, &value, msg)) return false;
    if (value < min || value > max) {
        if (msg) addReplyError(c, msg);
        else addReplyErrorFormat(c, "value is out of range, value must between %lld and %lld", min, max);
        return false;
    }
    *out = value;
    return true;
}

bool getPositiveLongFromArg(client *c, uint32_t index, long long *out, const char *msg) {
    assertMainRole();
    return getRangeLongFromArg(c, index, 0, LONG_MAX, out, msg ? msg : "value is out of range, must be positive");
}

bool getDoubleFromArg(client *c, uint32_t index, double *out, const char *msg) {
    assertMainRole();
    slice arg = c->argv[index];
    return string2d(arg.ptr, arg.len, out) || refuseArg(c, msg, addReplyNotFloatError);
}

bool getLongDoubleFromArg(client *c, uint32_t index, long double *out, const char *msg) {
    assertMainRole();
    slice arg = c->argv[index];
    return string2ld(arg.ptr, arg.len, out) || refuseArg(c, msg, addReplyNotFloatError);
}

bool getIntFromArg(client *c, uint32_t index, int *out, const char *msg) {
    assertMainRole();
    long long value;
    if (!getRangeLongFromArg(c, index, INT_MIN, INT_MAX, &value, msg)) return false;
    *out = (int)value;
    return true;
}
