/* programs.c -- other programs in the server's binary, which run if it is started under their names.
 *
 * Links with these names lead to the binary, so that the programs have the server's code for its files. A name may
 * contain more than the program's (valkey-check-rdb-9.1), and the old names with redis are accepted.
 *
 * Threads     main, before there are others.
 * Tests       tests/persist/check_rdb.tcl, tests/tools/check_aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "startup.h"

#include "check.h"
#include "command_table.h"

#include <string.h>

typedef struct program {
    const char *name, *old_name;
    int (*main)(int argc, char **argv);
} program;

/* Registers the commands first: the check distinguishes commands that this server knows from others. */
static int checkAof(int argc, char **argv) {
    wiringCommands();
    commandTableSeal();
    return checkAofMain(argc, argv);
}

static const program programs[] = {
    {"valkey-check-rdb", "redis-check-rdb", checkRdbMain},
    {"valkey-check-aof", "redis-check-aof", checkAof},
};

static const program *programNamed(const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    for (size_t i = 0; i < array_len(programs); i++)
        if (strstr(name, programs[i].name) || strstr(name, programs[i].old_name)) return &programs[i];
    return NULL;
}

bool programsRun(int argc, char **argv, int *exit_code) {
    const program *p = argc > 0 ? programNamed(argv[0]) : NULL;
    if (!p) return false;
    *exit_code = bannerVersion(p->name, argc, argv) ? 0 : p->main(argc, argv);
    return true;
}
