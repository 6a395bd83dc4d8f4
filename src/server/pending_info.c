/* pending_info.c -- INFO fields of subsystems that do not exist yet, with the values of an idle one.
 *
 * Programs read these INFO fields, so they must be present. A subsystem that is added moves its fields and sections to
 * a table of its own.
 *
 * Threads     main; sections in crash reports also a thread that crashes.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pending_settings.h"

#include "info_table.h"

static const infoSection sections[] = {
    {"persistence", "Persistence", 50, INFO_DEFAULT | INFO_IN_CRASH},
    {"module_list", "Modules", 90, 0},
    {"modules", "Modules", 100, INFO_DEFAULT},
    {"cluster", "Cluster", 140, INFO_DEFAULT | INFO_IN_CRASH},
    {"cluster_info", "Cluster Info", 150, 0}, /* empty outside a cluster */
    {"scriptingengines", "Scripting Engines", 160, 0},
    {.name = NULL},
};

#define LINES(...) \
    .lines = (const char *const[]) { __VA_ARGS__, NULL }
#define MODULES                                             \
    LINES("module:name=lua,ver=1,api=1,filters=0,usedby=[]" \
          ",using=[],options=[handle-repl-async-load|handle-atomic-slot-migration]")

static const infoFields fields[] = {
    {"clients", 20, LINES("cluster_connections:0")},

    {"memory", 480, LINES("mem_cluster_links:0", "mem_cluster_slot_import:0", "mem_cluster_slot_export:0")},

    {"persistence", 290,
     LINES("module_fork_in_progress:0", "module_fork_last_cow_size:0", "slot_migration_fork_in_progress:0")},

    {"stats", 80, LINES("total_net_cluster_slot_import_bytes:0", "total_net_cluster_slot_export_bytes:0")},
    {"stats", 490, LINES("dump_payload_sanitizations:0")},

    {"module_list", 10, MODULES},
    {"modules", 10, MODULES},
    {"cluster", 10, LINES("cluster_enabled:0")},
    {.section = NULL},
};

static const infoMetric metrics[] = {
    {"cluster_connections", NULL, INFO_GAUGE, 0, "Connections of the cluster's own bus."},
    {"mem_cluster_links", "mem_cluster_links_bytes", INFO_GAUGE, 0, "Memory of links of the cluster's bus."},
    {"mem_cluster_slot_import", "mem_cluster_slot_import_bytes", INFO_GAUGE, 0,
     "Memory of slots that come from another server."},
    {"mem_cluster_slot_migration_input_buffer", "mem_cluster_slot_migration_input_buffer_bytes", INFO_GAUGE, 0,
     "Memory of what comes from another server while slots migrate."},
    {"mem_cluster_slot_migration_input_buffer_peak", "mem_cluster_slot_migration_input_buffer_peak_bytes", INFO_GAUGE,
     0, "Most memory of what came from another server while slots migrated."},
    {"mem_cluster_slot_migration_output_buffer", "mem_cluster_slot_migration_output_buffer_bytes", INFO_GAUGE, 0,
     "Memory of what goes to another server while slots migrate."},
    {"mem_cluster_slot_export", "mem_cluster_slot_export_bytes", INFO_GAUGE, 0,
     "Memory of slots that go to another server."},
    {"module_fork_in_progress", NULL, INFO_GAUGE, 0, "Whether a module has forked a child."},
    {"module_fork_last_cow_size", "module_fork_last_cow_size_bytes", INFO_GAUGE, 0,
     "Memory that was copied for a module's last child."},
    {"slot_migration_fork_in_progress", NULL, INFO_GAUGE, 0, "Whether a child is sending slots to another server."},
    {"total_net_cluster_slot_import_bytes", "net_cluster_slot_import_bytes", INFO_COUNTER, 0,
     "Bytes of slots that have come from another server."},
    {"total_net_cluster_slot_export_bytes", "net_cluster_slot_export_bytes", INFO_COUNTER, 0,
     "Bytes of slots that have gone to another server."},
    {"dump_payload_sanitizations", NULL, INFO_COUNTER, 0, "Values of RESTORE that were checked in depth."},
    {"cluster_enabled", NULL, INFO_GAUGE, 0, "Whether the server is part of a cluster."},
    {.field = NULL},
};

void pendingInfoRegister(void) {
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableAddMetrics(metrics);
}
