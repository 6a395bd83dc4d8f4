/* server_info.c -- the INFO fields about the process in its system.
 *
 * Threads     main; also a thread that crashes.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_settings.h"

#include "banner.h"
#include "daemon.h"
#include "info_table.h"
#include "shutdown.h"

static void buildId(infoOut *o) { infoLine(o, "redis_build_id:%s", bannerBuildId()); }

static void supervisor(infoOut *o) { infoLine(o, "process_supervised:%s", daemonSupervisedName()); }

static void hz(infoOut *o) {
    infoLine(o, "hz:%lld", server_settings.hz);
    infoLine(o, "configured_hz:%lld", server_settings.hz);
    infoLine(o, "clients_hz:%lld", server_settings.hz);
}

static void executable(infoOut *o) { infoLine(o, "executable:%s", daemonExecutable()); }

static void endingSoon(infoOut *o) {
    if (shutdownInMs() >= 0) infoLine(o, "shutdown_in_milliseconds:%lld", (long long)shutdownInMs());
}

static const infoMetric metrics[] = {
    {"redis_build_id", NULL, INFO_LABEL, 0, NULL},
    {"hz", NULL, INFO_GAUGE, 0, "Times a second that the server looks after itself."},
    {"configured_hz", NULL, INFO_GAUGE, 0, "The setting hz."},
    {"clients_hz", NULL, INFO_GAUGE, 0, "Times a second that clients are looked after."},
    {"executable", NULL, INFO_LABEL, 0, NULL},
    {"shutdown_in_milliseconds", "shutdown_in_seconds", INFO_GAUGE, 3,
     "Time that is left for replicas before a shutdown that waits for them."},
    {.field = NULL},
};

void serverInfoRegister(void) {
    static const infoFields fields[] = {{"server", 70, .write = buildId},     {"server", 150, .write = supervisor},
                                        {"server", 210, .write = hz},         {"server", 250, .write = executable},
                                        {"server", 285, .write = endingSoon}, {.section = NULL}};
    infoTableAddFields(fields);
    infoTableAddMetrics(metrics);
}
