/* engine_settings_test.c -- latency-tracking-info-percentiles, the one setting of this layer with its own parser.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine_settings.h"
#include "sds.h"
#include "setting.h"
#include "unit.h"

/* Returns the layer's table. */
static const setting *rows(void) {
    if (!*settingTables()) engineSettingsRegister();
    return *settingTables();
}

static const setting *percentiles(void) {
    const setting *s = rows();
    while (s->name && strcmp(s->name, "latency-tracking-info-percentiles") != 0) s++;
    return s;
}

static bool set(char **words, int count, const char **err) {
    sds own[8];
    for (int i = 0; i < count; i++) own[i] = sdsNew(words[i]);
    bool ok = percentiles()->set(percentiles(), own, count, err);
    for (int i = 0; i < count; i++) sdsFree(own[i]);
    return ok;
}

static void checkShown(const char *want) {
    sds got = percentiles()->get(percentiles());
    CHECK_EQ_STR(got, want);
    sdsFree(got);
}

TEST(percentiles_are_shown_as_given) {
    const char *err = NULL;
    CHECK(set((char *[]){"99.9", "5", "99.9999", "50.123456789", "5"}, 5, &err));
    checkShown("99.9 5 99.9999 50.123457 5");
    CHECK(set((char *[]){"0", "100"}, 2, &err));
    checkShown("0 100");
    CHECK(set((char *[]){""}, 1, &err));
    checkShown("");
    CHECK(set(NULL, 0, &err));
    checkShown("");
}

TEST(percentiles_that_are_none_change_nothing) {
    const char *err = NULL;
    CHECK(set((char *[]){"50"}, 1, &err));
    CHECK(!set((char *[]){"1", "a"}, 2, &err));
    CHECK_EQ_STR(err, "Invalid latency-tracking-info-percentiles parameters");
    CHECK(!set((char *[]){"1", "100.1"}, 2, &err));
    CHECK_EQ_STR(err, "latency-tracking-info-percentiles parameters should sit between [0.0,100.0]");
    checkShown("50");
}
