/* cluster_settings_test.c -- what the settings of a node refuse, and when others are notified of a change.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_settings.h"

#include "sds.h"
#include "setting.h"
#include "unit.h"
#include "zmalloc.h"

#include <string.h>

static const setting *row(const char *name) {
    static bool registered;
    if (!registered) clusterSettingsRegister();
    registered = true;
    for (const setting *s = settingTables()[0]; s->name; s++)
        if (!strcmp(s->name, name)) return s;
    return NULL;
}

/* Returns the reason why a text is refused, or "". */
static const char *refused(const char *name, slice text) {
    const char *err = "";
    sds value = sdsFromSlice(text);
    bool good = row(name)->check(value, 0, &err);
    sdsFree(value);
    CHECK(good == (*err == '\0'));
    return err;
}

TEST(cluster_settings_refuse_what_valkey_refuses) {
    CHECK_EQ_STR(refused("cluster-config-file", sliceStr("")), "cluster-config-file can't be empty");
    CHECK_EQ_STR(refused("cluster-config-file", sliceStr("n")), "");
    char address[] = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
    CHECK_EQ_INT(strlen(address), 46);
    CHECK_EQ_STR(refused("cluster-announce-ip", sliceStr(address)), "cluster-announce-ip is too long");
    CHECK_EQ_STR(refused("cluster-announce-ip", sliceStr(address + 1)), "");
    CHECK_EQ_STR(refused("cluster-announce-ip", sliceStr("999.1.1.1")), "");
    CHECK_EQ_STR(refused("cluster-announce-ip", sliceOf("a\0b", 3)), "cluster-announce-ip contains invalid character");
    CHECK_EQ_STR(refused("cluster-announce-ip", sliceStr("a,b")), "cluster-announce-ip contains invalid character");
    CHECK_EQ_STR(refused("cluster-announce-human-nodename", sliceStr("a.b-c/d:e")), "");
    /* Each character that Valkey 9.1 refuses, and its neighbors, which it accepts. */
    for (int c = 0; c < 256; c++) {
        bool bad = c <= ',' || c == 127 || (c && strchr(";<=>?@[\\]^{|}~", c));
        CHECK_EQ_STR(refused("cluster-announce-human-nodename", sliceOf((char[]){(char)c}, 1)),
                     bad ? "Announced human node name contained invalid character" : "");
    }
    CHECK_EQ_INT(row("cluster-message-gossip-perc")->default_number, 10);
    CHECK_EQ_INT(row("cluster-message-gossip-perc")->min, 1);
    CHECK_EQ_INT(row("cluster-message-gossip-perc")->max, 100);
}

static int changes;
static void countChange(void) { changes++; }

/* Stores a text as the zone and applies it. Returns the reason why that is refused, or "". */
static const char *zoneRefused(slice text) {
    const char *err = "";
    sdsFree(cluster_settings.availability_zone);
    cluster_settings.availability_zone = sdsFromSlice(text);
    bool good = row("availability-zone")->apply(&err);
    CHECK(good == (*err == '\0'));
    return err;
}

#define BAD_ZONE "availability-zone contains invalid character"

/* One test, because cluster mode does not end. */
TEST(cluster_settings_fit_into_the_nodes_file_in_cluster_mode) {
    const char *err = "";
    CHECK_EQ_STR(zoneRefused(sliceOf("a b,\0", 5)), "");
    CHECK_EQ_INT(changes, 0);
    CHECK(!clusterSettingsBegin(countChange, &err));
    CHECK_EQ_STR(err, BAD_ZONE);
    CHECK_EQ_STR(zoneRefused(sliceStr("az-1")), "");
    CHECK_EQ_INT(changes, 0);

    CHECK(clusterSettingsBegin(countChange, &err));
    CHECK_EQ_STR(zoneRefused(sliceStr("az-2")), "");
    CHECK_EQ_INT(changes, 1);
    CHECK_EQ_STR(zoneRefused(sliceStr("az,2")), BAD_ZONE);
    CHECK_EQ_STR(zoneRefused(sliceStr("az 2")), BAD_ZONE);
    CHECK_EQ_STR(zoneRefused(sliceOf("az\0", 3)), BAD_ZONE);
    CHECK_EQ_STR(zoneRefused(sliceOf("", 0)), "");
    CHECK_EQ_INT(changes, 2);
    cluster_settings.human_name = zstrdup("a b");
    CHECK(!row("cluster-announce-human-nodename")->apply(&err));
    CHECK_EQ_STR(err, "Announced human node name contained invalid character");
    zfree(cluster_settings.human_name);
    cluster_settings.human_name = NULL;
    CHECK_EQ_INT(changes, 2);
    for (const setting *s = settingTables()[0]; s->name; s++) CHECK(s->apply || s->flags & SETTING_IMMUTABLE);
    sdsFree(cluster_settings.availability_zone);
    cluster_settings.availability_zone = NULL;
}
