/* pending_settings.c -- settings of subsystems that do not exist yet: accepted, stored and shown, without effect.
 *
 * A configuration written for Valkey must load, and CONFIG GET, SET and REWRITE must reply as Valkey does. Each entry
 * has the flag SETTING_PENDING; settingFileWarnPending() names those that were set to a value that should have an
 * effect. A subsystem that is added moves its entries to a table of its own.
 *
 * Not here    settings that have an effect; they are in the tables of their layers.
 * Owns        `pending_settings`, the values. Only CONFIG reads them.
 * Threads     main.
 * Tests       tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_settings.h"

#include "setting_text.h"
#include "zmalloc.h"

#include <limits.h>

#define PORT_MAX 65535

/* One value for each setting below; its type is in the table. */
static struct {
    /* RDMA. */
    char *rdma_bind;
    long long rdma_completion_vector, rdma_port, rdma_rx_size;
    /* Replies by reference. */
    long long min_io_threads_avoid_copy_reply, min_string_size_avoid_copy_reply, min_string_size_avoid_copy_threaded;
} pending_settings;

/* ---- Checks --------------------------------------------------------------------------------------- */

static bool pendingSettingsRefuse(const char **err, const char *text) {
    *err = text;
    return false;
}

/* ---- Applying a value ------------------------------------------------------------------------------- */

static bool applyRdmaBind(const char **err) { return pendingSettingsRefuse(err, "No RDMA building support."); }

static bool applyRdmaPort(const char **err) {
    return !pending_settings.rdma_port || pendingSettingsRefuse(err, "No RDMA building support.");
}

/* ---- rdma-bind --------------------------------------------------------------------------------- */

static bool setRdmaBind(const setting *s, char **words, int count, const char **err) {
    unused(s), unused(err);
    sds joined = sdsJoin(words, count, " ");
    zfree(pending_settings.rdma_bind);
    pending_settings.rdma_bind = zstrdup(joined);
    sdsFree(joined);
    return true;
}

static sds getRdmaBind(const setting *s) {
    unused(s);
    return sdsNew(pending_settings.rdma_bind ? pending_settings.rdma_bind : "");
}

/* ---- Table ---------------------------------------------------------------------------------------- */

/* The flags of a row. CONFIG SET accepts KEPT and refuses FIXED; no pattern of CONFIG GET matches HIDDEN. */
enum { KEPT = SETTING_PENDING, FIXED = SETTING_PENDING | SETTING_IMMUTABLE, HIDDEN = SETTING_PENDING | SETTING_HIDDEN };

static const setting rows[] = {
    /* RDMA. */
    {.name = "rdma-bind",
     .type = SETTING_SPECIAL,
     .flags = SETTING_PENDING | SETTING_MULTI_ARG | SETTING_VOLATILE,
     .set = setRdmaBind,
     .get = getRdmaBind,
     .apply = applyRdmaBind},
    INT_SETTING("rdma-port", pending_settings.rdma_port, 0, 0, PORT_MAX, .flags = KEPT, .apply = applyRdmaPort),
    INT_SETTING("rdma-rx-size", pending_settings.rdma_rx_size, 1048576, 65536, 16777216, .flags = FIXED),
    INT_SETTING("rdma-completion-vector", pending_settings.rdma_completion_vector, -1, -1, 1024, .flags = FIXED),

    /* Valkey's thresholds for replies by reference. */
    INT_SETTING("min-io-threads-avoid-copy-reply", pending_settings.min_io_threads_avoid_copy_reply, 7, 0, INT_MAX,
                .flags = HIDDEN),
    INT_SETTING("min-string-size-avoid-copy-reply", pending_settings.min_string_size_avoid_copy_reply, 16384, 0,
                INT_MAX, .flags = HIDDEN),
    INT_SETTING("min-string-size-avoid-copy-reply-threaded", pending_settings.min_string_size_avoid_copy_threaded,
                65536, 0, INT_MAX, .flags = HIDDEN),
    SETTINGS_END,
};

void pendingSettingsRegister(void) { settingRegister(rows); }
