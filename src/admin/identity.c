/* identity.c -- the run ID, and the product name and version that clients see.
 *
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "identity.h"

#include "slot_table.h"
#include "admin_settings.h"
#include "cluster_settings.h"
#include "primary_link.h"
#include "rng.h"
#include "sds.h"
#include "version.h"

#define ID_DIGITS 40

static char run_id[ID_DIGITS + 1];

const char *identityRunId(void) {
    if (!*run_id) rngSecureHex(run_id, ID_DIGITS);
    return run_id;
}

const char *identityProduct(void) { return admin_settings.extended_redis_compatibility ? "Redis" : "Valkey"; }

serverIdentity identityForHello(void) {
    bool compatible = admin_settings.extended_redis_compatibility;
    sds zone = cluster_settings.availability_zone;
    return (serverIdentity){
        .name = compatible ? "redis" : "valkey",
        .version = compatible ? REDIS_COMPATIBLE_VERSION : VALKEY_VERSION,
        .mode = slots_enabled ? "cluster" : "standalone",
        .role = primaryLinkIsOn() ? "replica" : "master",
        .availability_zone = zone ? sdsSlice(zone) : sliceOf(NULL, 0),
    };
}
