/* pending_info.c -- INFO fields of subsystems that do not exist yet, with the values of an idle one.
 *
 * Programs read these INFO fields, so they must be present. A subsystem that is added moves its fields and sections to
 * a table of its own.
 *
 * Threads     main; sections in crash reports also a thread that crashes.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_settings.h"

#include "info_table.h"

static const infoSection sections[] = {
    {"persistence", "Persistence", 50, INFO_DEFAULT | INFO_IN_CRASH},
    {"module_list", "Modules", 90, 0},
    {"modules", "Modules", 100, INFO_DEFAULT},
    {"scriptingengines", "Scripting Engines", 160, 0},
    {.name = NULL},
};

static void memory(infoOut *o) {
    infoSize(o, "mem_cluster_slot_import", 0, "Memory of slots that come from another server.");
    infoSize(o, "mem_cluster_slot_export", 0, "Memory of slots that go to another server.");
}

static void children(infoOut *o) {
    infoGauge(o, "module_fork_in_progress", 0, "Whether a module has forked a child.");
    infoSize(o, "module_fork_last_cow_size", 0, "Memory that was copied for a module's last child.");
    infoGauge(o, "slot_migration_fork_in_progress", 0, "Whether a child is sending slots to another server.");
}

static void slotTraffic(infoOut *o) {
    infoCounter(o, "total_net_cluster_slot_import_bytes", 0, "Bytes of slots that have come from another server.",
                .family = "net_cluster_slot_import_bytes");
    infoCounter(o, "total_net_cluster_slot_export_bytes", 0, "Bytes of slots that have gone to another server.",
                .family = "net_cluster_slot_export_bytes");
}

static void sanitizations(infoOut *o) {
    infoCounter(o, "dump_payload_sanitizations", 0, "Values of RESTORE that were checked in depth.");
}

static void modules(infoOut *o) {
    infoLine(o, "module:name=lua,ver=1,api=1,filters=0,usedby=[],using=[],"
                "options=[handle-repl-async-load|handle-atomic-slot-migration]");
}

static const infoFields fields[] = {{"memory", 490, memory},
                                    {"persistence", 290, children},
                                    {"stats", 80, slotTraffic},
                                    {"stats", 490, sanitizations},
                                    {"module_list", 10, modules},
                                    {"modules", 10, modules},
                                    {.section = NULL}};

void pendingInfoRegister(void) {
    infoTableAddSections(sections);
    infoTableAddFields(fields);
}
