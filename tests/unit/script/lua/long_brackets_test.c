/* long_brackets_test.c -- long strings with "[[" in them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "long_brackets.h"
#include "sds.h"
#include "unit.h"

/* Returns the text as the parser gets it. */
static sds raised(const char *text) {
    slice all = sliceStr(text);
    sds out = sdsEmpty();
    size_t at = 0;
    longBracket b;
    while (longBracketsFind(all, at, &b)) {
        out = sdsCatLen(out, text + at, b.begin - at);
        for (int i = 0; i < b.level; i++) out = sdsCat(out, "=");
        out = sdsCatLen(out, text + b.begin, b.end - b.begin);
        for (int i = 0; i < b.level; i++) out = sdsCat(out, "=");
        at = b.end;
    }
    return sdsCatLen(out, text + at, all.len - at);
}

static const struct {
    const char *text, *raised;
} texts[] = {
    {"return [[a[[b]]", "return [=[a[[b]=]"},
    {"return [[[[b]]..[[c]]..[[d[[]]", "return [=[[[b]=]..[[c]]..[=[d[[]=]"},
    {"[[a[[x]=]]", "[==[a[[x]=]==]"},
    {"[[a[[x]=]y]]", "[==[a[[x]=]y]==]"},
    {"[[a[[x]]]", "[=[a[[x]=]]"},
    {"--[[ x[[1 ]] y", "--[=[ x[[1 ]=] y"},
    {"-- x[[ [[1\n[[ [[ ]]", "-- x[[ [[1\n[=[ [[ ]=]"},
    {"'[[' [[ ]] '[['", NULL},
    {"\"\\\"[[\" .. [[a]] .. '[['", NULL},
    {"'[[ \n[[a[[b]]", "'[[ \n[=[a[[b]=]"},
    {"[=[a[[b]]c]=] [[d[[e]]", "[=[a[[b]]c]=] [=[d[[e]=]"},
    {"t[t[1]] = [[a[b]]", NULL},
    {"[[a[[b", NULL},
    {"[[a[=[b]]", NULL},
    {"[========================================[ [[a[[b]] ]========================================]", NULL},
    {"'\\", NULL},
    {"a[", NULL},
    {"--", NULL},
    {"--[[", NULL},
    {"", NULL},
};

TEST(long_brackets_get_equals_signs_where_they_need_them) {
    for (size_t i = 0; i < array_len(texts); i++) {
        sds out = raised(texts[i].text);
        CHECK_EQ_STR(out, texts[i].raised ? texts[i].raised : texts[i].text);
        sdsFree(out);
    }
}

/* No text is read beyond its end (which sanitizers check), and every call ends. */
TEST(long_brackets_in_random_texts) {
    static const char *const words[] = {"[", "]", "[[", "]]", "=", "[=[", "]=]", "'", "\"", "\\", "--", "\n", "a"};
    uint64_t state = unitRandomSeed();
    for (int round = 0; round < 20000; round++) {
        sds text = sdsEmpty();
        for (uint64_t n = unitRandom(&state) % 20; n > 0; n--)
            text = sdsCat(text, words[unitRandom(&state) % array_len(words)]);
        sds once = raised(text), twice = raised(once);
        CHECK_EQ_STR(twice, once); /* no more brackets to raise */
        sdsFree(text);
        sdsFree(once);
        sdsFree(twice);
    }
}
