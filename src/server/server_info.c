/* server_info.c -- the INFO fields about the process in its system.
 *
 * Threads     main; also a thread that crashes.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_settings.h"

#include "startup.h"
#include "daemon.h"
#include "info_table.h"
#include "shutdown.h"

static void buildId(infoOut *o) { infoLabel(o, "redis_build_id", bannerBuildId()); }

static void supervisor(infoOut *o) { infoLine(o, "process_supervised:%s", daemonSupervisedName()); }

static void hz(infoOut *o) {
    infoGauge(o, "hz", server_settings.hz, "Runs of the periodic tasks per second.");
    infoGauge(o, "configured_hz", server_settings.hz, "The setting hz.");
    infoGauge(o, "clients_hz", server_settings.hz, "Runs of the periodic checks of clients per second.");
}

static void executable(infoOut *o) { infoLabel(o, "executable", daemonExecutable()); }

static void endingSoon(infoOut *o) {
    if (shutdownInMs() >= 0)
        infoGauge(o, "shutdown_in_milliseconds", shutdownInMs(),
                  "Time that is left for replicas before a shutdown that waits for them.",
                  .family = "shutdown_in_seconds", .shift = 3);
}

void serverInfoRegister(void) {
    static const infoFields fields[] = {{"server", 70, buildId},     {"server", 150, supervisor}, {"server", 210, hz},
                                        {"server", 250, executable}, {"server", 285, endingSoon}, {.section = NULL}};
    infoTableAddFields(fields);
}
