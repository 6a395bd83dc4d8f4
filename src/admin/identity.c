/* identity.c -- the names by which this run of the server and its stream of writes are known.
 *
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "identity.h"

#include "admin_settings.h"
#include "rng.h"
#include "sds.h"
#include "version.h"

#define ID_DIGITS 40

static char run_id[ID_DIGITS + 1], repl_id[ID_DIGITS + 1];

static const char *drawOnce(char *id) {
    if (!*id) rngSecureHex(id, ID_DIGITS);
    return id;
}

const char *identityRunId(void) {
    return drawOnce(run_id);
}

const char *identityReplId(void) {
    return drawOnce(repl_id);
}

void identityChangeReplId(void) {
    rngSecureHex(repl_id, ID_DIGITS);
}

const char *identityProduct(void) {
    return admin_settings.extended_redis_compatibility ? "Redis" : "Valkey";
}

serverIdentity identityForHello(void) {
    bool compatible = admin_settings.extended_redis_compatibility;
    sds zone = admin_settings.availability_zone;
    return (serverIdentity){
        .name = compatible ? "redis" : "valkey",
        .version = compatible ? REDIS_COMPATIBLE_VERSION : VALKEY_VERSION,
        .mode = "standalone",
        .role = "master",
        .availability_zone = zone ? sdsSlice(zone) : sliceOf(NULL, 0),
    };
}
