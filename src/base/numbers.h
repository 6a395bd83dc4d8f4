/* numbers.h -- converts numbers to text and back, with exactly the digits that clients expect.
 *
 * Parsing is strict: the whole input is one number, no spaces, no overflow; integers have no plus
 * sign and no leading zeros (except "0"). Threads: any. Nothing here allocates.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_NUMBERS_H
#define BASE_NUMBERS_H

#include "platform.h"

#define LONG_STR_SIZE 21          /* fits any 64-bit integer and a NUL */
#define DOUBLE_STR_SIZE 128       /* fits the output of d2string() */
#define LONG_DOUBLE_STR_SIZE 5200 /* fits the output of ld2string() in any mode: LDBL_MAX in %.17Lf has 4932+18 */

/* Parse an integer. Return false, and leave *out unchanged, if [s, s+len) is not exactly one number. */
bool string2ll(const char *s, size_t len, long long *out) must_check;
bool string2ull(const char *s, size_t len, unsigned long long *out) must_check;
/* Parse a decimal or exponent form with an optional sign, inf or infinity in any case; leading zeros and a bare point
 * (".5", "5.") are allowed; nan and spaces are not. Return false if out of range, or too small to differ from zero.
 * string2ld() also accepts hexadecimal ("0x1p3"), as INCRBYFLOAT does. */
bool string2d(const char *s, size_t len, double *out) must_check;
bool string2ld(const char *s, size_t len, long double *out) must_check;

/* Write digits and a NUL, and return the number of digits. `out` has LONG_STR_SIZE bytes. */
size_t ll2string(char *out, long long value);
size_t ull2string(char *out, unsigned long long value);
/* Returns the number of digits that ll2string() would write. */
size_t sdigits10(long long value);
/* Writes a short text that reads back as the same double, as in RESP and ZSCORE ("inf", "-inf", "nan"; 1e21 -> "1e+21",
 * 1.5e-7 -> "1.5e-7", 3 -> "3", 0.1 -> "0.1", -0.0 -> "-0"). Returns its length. */
size_t d2string(char *out, size_t size, double value);
/* Like d2string(), without the exception for integers: 1e15 -> "1e+15". */
size_t d2shortest(char *out, size_t size, double value);
/* Writes the output of printf for "%.*f", to the last digit, with at most 4 digits after the point. Returns the length.
 * `out` has FIXED_STR_SIZE bytes; for an absolute value below FIXED_SHORT_BELOW, FIXED_SHORT_SIZE bytes suffice. */
#define FIXED_STR_SIZE 320
#define FIXED_SHORT_BELOW 1e15
#define FIXED_SHORT_SIZE 24
size_t d2fixed(char *out, double value, unsigned places);
/* Writes a number of units of 1, 0.1, 0.01 ..., by the number of digits after the point, at most 4: 12345 with 2 is
 * "123.45". `out` has FIXED_SHORT_SIZE bytes. */
size_t decimal2string(char *out, unsigned long long units, unsigned places);
/* Writes a long double as INCRBYFLOAT shows it: %.17Lf without trailing zeros (and point) if `humanfriendly`, else
 * %.17Lg; "inf" or "-inf" for infinities; "-0" becomes "0". */
size_t ld2string(char *out, size_t size, long double value, bool humanfriendly);

/* Parses an amount of memory as in the configuration: "1gb" "100mb" "3k" "512" "5b"; k=1000, kb=1024, m, mb, g, gb; any
 * case. No digits are zero ("", "kb"). Returns false for anything else and on overflow. */
bool memory2ull(const char *s, size_t len, unsigned long long *bytes) must_check;
/* Writes a size as in INFO's *_human fields: 1048576 -> "1.00M" (below 1024: "512B"). */
void bytes2human(char *out, size_t size, unsigned long long bytes);

#endif
