/* script_flags.h -- what a script or function says of itself: its first line, its flags, and whether it may run.
 *
 *   #!lua flags=no-writes,allow-oom
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_FLAGS_H
#define SCRIPT_SCRIPT_FLAGS_H

#include "client.h"

enum {
    SCRIPT_NO_WRITES = 1,
    SCRIPT_ALLOW_OOM = 2,
    SCRIPT_ALLOW_STALE = 4,
    SCRIPT_NO_CLUSTER = 8,
    SCRIPT_ALLOW_CROSS_SLOT_KEYS = 16,
    SCRIPT_UNDECLARED = 32 /* it says nothing of itself: each of its commands is asked */
};

#define SCRIPT_FLAGS 5
/* The name of flag 1 << i, for functions, which may write it in any case. */
const char *scriptFlagName(unsigned i);

/* A first line is not longer: what it says is copied, and errors quote it. */
#define SCRIPT_HEAD_BYTES (64 * 1024)

typedef struct scriptHead {
    uint32_t flags;
    slice code; /* the text without its first line, but with the end of it, so that lines keep their numbers */
} scriptHead;

/* Read the first line of a script. One without "#!" is SCRIPT_UNDECLARED and all code. NULL, or the text of an error,
 * which is the caller's. */
sds scriptReadHead(slice text, scriptHead *head) must_check;

/* The flags of a command that runs a script with these flags, made of those of the command alone. Only of a
 * script that says nothing of itself it is unknown whether it replicates (CMD_MAY_REPLICATE). */
uint32_t scriptCommandFlags(uint32_t command_flags, uint32_t flags);
/* May what has these flags run for `c` now? False after an error. `memory_full`: maxmemory is reached. */
bool scriptMayRun(client *c, uint32_t flags, bool read_only, bool memory_full) must_check;

#endif
