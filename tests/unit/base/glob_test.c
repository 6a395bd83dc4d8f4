/* glob_test.c -- compares glob patterns with a recursive reference.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slice.h"
#include "unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool matches(const char *pattern, const char *text) {
    return globMatch(sliceStr(pattern), sliceStr(text), false);
}

TEST(plain_patterns) {
    CHECK(matches("", ""));
    CHECK(!matches("", "a"));
    CHECK(matches("*", "abc"));
    CHECK(matches("*", ""));
    CHECK(!matches("**", ""));
    CHECK(matches("h?llo", "hello"));
    CHECK(!matches("h?llo", "hllo"));
    CHECK(matches("h*llo", "heeeello"));
    CHECK(matches("h[ae]llo", "hallo"));
    CHECK(!matches("h[ae]llo", "hillo"));
    CHECK(matches("h[^e]llo", "hallo"));
    CHECK(!matches("h[^e]llo", "hello"));
    CHECK(matches("h[a-b]llo", "hbllo"));
    CHECK(matches("h[b-a]llo", "hallo"));
    CHECK(matches("\\*", "*"));
    CHECK(!matches("\\*", "a"));
    CHECK(matches("*a*b*c*", "xxaxxbxxcxx"));
    CHECK(!matches("*a*b*c*d", "xxaxxbxxcxx"));
    CHECK(matches("a***", "a"));
}

TEST(malformed_patterns_have_a_meaning) {
    CHECK(matches("[ab", "a"));
    CHECK(!matches("[ab", "c"));
    CHECK(!matches("[", "["));
    CHECK(matches("[^", "x"));
    CHECK(!matches("[]", "]"));
    CHECK(matches("\\", "\\"));
    CHECK(matches("[\\", "\\"));
    CHECK(matches("[a-]", "^"));
    CHECK(matches("[a-", "-"));
    CHECK(matches("[\\]]", "]"));
}

TEST(case_is_ignored_on_demand) {
    CHECK(globMatch(sliceStr("MAX*"), sliceStr("maxmemory"), true));
    CHECK(globMatch(sliceStr("[L-N]ax*"), sliceStr("Maxmemory"), true));
    CHECK(!globMatch(sliceStr("MAX*"), sliceStr("maxmemory"), false));
}

TEST(many_stars_stay_cheap) {
    char text[3001], pattern[201];
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (size_t i = 0; i < sizeof(pattern) - 1; i += 2) memcpy(pattern + i, "a*", 2);
    pattern[sizeof(pattern) - 2] = 'b';
    pattern[sizeof(pattern) - 1] = '\0';
    CHECK(!matches(pattern, text));
}

/* A matcher that takes the product of the lengths would run for an hour here. */
TEST(long_parts_stay_cheap) {
    const size_t len = 4000000;
    char *text = malloc(len), *pattern = malloc(len);
    memset(text, 'a', len);
    memset(pattern, 'a', len);
    pattern[0] = '*';
    pattern[len / 2] = 'b';
    slice last = sliceOf(pattern, len / 2 + 1);
    CHECK(!globMatch(last, sliceOf(text, len), false));
    pattern[len / 2 + 1] = '*';
    CHECK(!globMatch(sliceOf(pattern, len / 2 + 2), sliceOf(text, len), false));
    for (size_t i = 1; i < len / 2; i += 2) pattern[i] = '?';
    CHECK(!globMatch(last, sliceOf(text, len), false));
    CHECK(globMatch(sliceOf(pattern, len / 2), sliceOf(text, len), false));
    free(text);
    free(pattern);
}

static bool slowClass(const char *p, const char *end, char c, const char **next) {
    bool negated = p < end && *p == '^', found = false;
    if (negated) p++;
    while (p < end && *p != ']') {
        unsigned char lo = (unsigned char)*p, hi = lo;
        if (*p == '\\' && p + 1 < end) {
            lo = hi = (unsigned char)p[1];
            p += 2;
        } else if (p + 2 < end && p[1] == '-') {
            hi = (unsigned char)p[2];
            p += 3;
        } else {
            p++;
        }
        unsigned char u = (unsigned char)c;
        if ((lo <= u && u <= hi) || (hi <= u && u <= lo)) found = true;
    }
    *next = p < end ? p + 1 : end;
    return found != negated;
}

/* Matches a pattern by trying every possibility. */
static bool slowMatch(const char *p, const char *p_end, const char *t, const char *t_end) {
    if (p == p_end) return t == t_end;
    if (*p == '*') return slowMatch(p + 1, p_end, t, t_end) || (t < t_end && slowMatch(p, p_end, t + 1, t_end));
    if (t == t_end) return false;
    const char *next = p + 1;
    bool one = false;
    if (*p == '?') {
        one = true;
    } else if (*p == '[') {
        one = slowClass(p + 1, p_end, *t, &next);
    } else {
        if (*p == '\\' && p + 1 < p_end) p++;
        next = p + 1;
        one = *p == *t;
    }
    return one && slowMatch(next, p_end, t + 1, t_end);
}

TEST(random_patterns_equal_the_recursive_form) {
    uint64_t seed = unitRandomSeed();
    const char pattern_bytes[] = "aab**??[[]]^-\\", text_bytes[] = "aabb[]^-\\*?";
    for (int round = 0; round < 200000; round++) {
        char p[10], t[8];
        size_t pn = unitRandom(&seed) % sizeof(p), tn = 1 + unitRandom(&seed) % (sizeof(t) - 1);
        for (size_t i = 0; i < pn; i++) p[i] = pattern_bytes[unitRandom(&seed) % (sizeof(pattern_bytes) - 1)];
        for (size_t i = 0; i < tn; i++) t[i] = text_bytes[unitRandom(&seed) % (sizeof(text_bytes) - 1)];
        if (!CHECK_EQ_INT(globMatch(sliceOf(p, pn), sliceOf(t, tn), false), slowMatch(p, p + pn, t, t + tn))) {
            printf("    pattern %.*s text %.*s\n", (int)pn, p, (int)tn, t);
            return;
        }
    }
}
