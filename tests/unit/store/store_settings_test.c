/* store_settings_test.c -- the table of settings is complete, and its functions work.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "evict.h"
#include "sds.h"
#include "setting.h"
#include "store_settings.h"
#include "store_support.h"

/* Returns the layer's table. */
static const setting *rows(void) {
    if (!*settingTables()) storeSettingsRegister();
    return *settingTables();
}

static const setting *find(const char *name) {
    for (const setting *s = rows(); s->name; s++)
        if (strcmp(s->name, name) == 0) return s;
    return NULL;
}

/* The defaults are set before main() begins, so no test of this layer has to set them. */
TEST(store_settings_have_their_defaults_from_the_start) {
    storeReset();
    CHECK_EQ_INT(store_settings.databases, 16);
    CHECK_EQ_INT(store_settings.active_defrag_ignore_bytes, 104857600);
    CHECK_EQ_INT(store_settings.maxmemory_policy, MAXMEMORY_NO_EVICTION);
    CHECK(store_settings.lazyfree_expire && !store_settings.activedefrag);
    CHECK(find("databases")->flags & SETTING_IMMUTABLE);
}

/* Pairs of a value for CONFIG SET and the value that CONFIG GET returns, from the reference server. */
TEST(store_settings_notify_sets_and_gets) {
    static const char *const pairs[][2] = {{"KEA", "AKE"},
                                           {"A", "A"},
                                           {"KE", "KE"},
                                           {"g", "g"},
                                           {"AKEmn", "AKEm"},
                                           {"g$lshzxetd", "A"},
                                           {"", ""},
                                           {"g$lshzxetdKEmn", "AKEm"},
                                           {"nmEKtdexzhsl$g", "AKEm"},
                                           {"mK", "Km"},
                                           {"KEg$n", "g$nKE"},
                                           {"An", "A"},
                                           {"ndtexg", "gxetdn"},
                                           {"mnd", "dnm"},
                                           {"xx", "x"}};
    storeReset();
    const setting *s = find("notify-keyspace-events");
    const char *err = NULL;
    for (size_t i = 0; i < array_len(pairs); i++) {
        sds word = sdsNew(pairs[i][0]);
        CHECK(s->set(s, &word, 1, &err));
        sds text = s->get(s);
        CHECK_EQ_STR(text, pairs[i][1]);
        sdsFree(text), sdsFree(word);
    }
    char bad[] = "KQ";
    char *words[] = {bad};
    CHECK(!s->set(s, words, 1, &err));
    CHECK_EQ_STR(err, "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.");
    sds text = s->get(s);
    CHECK_EQ_STR(text, "x");
    sdsFree(text);
}

TEST(store_settings_maxmemory_works_at_once) {
    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_ALLKEYS_RANDOM;
    store_settings.maxmemory_eviction_tenacity = 100;
    for (long i = 0; i < 500; i++) dbAddTake(dbGet(0), stringEntry(keyN("k", i), i, 600), keyN("k", i));
    store_settings.maxmemory = 1;
    const char *err;
    evictInit();
    CHECK(settingApply(find("maxmemory"))(&err));
    CHECK_EQ_INT(dbSize(dbGet(0)), 0);
    storeReset();
}
