/* script_flags.h -- what a script or function declares: its first line, its flags, and whether they let it run.
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
    SCRIPT_UNDECLARED = 32 /* it has no first line with flags: each of its commands is checked by itself */
};

#define SCRIPT_FLAGS 5
/* Returns the name of flag 1 << i. Functions may write it in any case. */
const char *scriptFlagName(unsigned i);

/* Longest first line: its words are copied, and errors quote it. */
#define SCRIPT_HEAD_BYTES (64 * 1024)

typedef struct scriptHead {
    uint32_t flags;
    slice code; /* the text from the end of its first line on, so that lines keep their numbers */
} scriptHead;

/* Parses the first line of a script. A script without "#!" is SCRIPT_UNDECLARED, and all of it is code. Returns NULL,
 * or the text of an error, which the caller frees. */
sds scriptReadHead(slice text, scriptHead *head) must_check;

/* Returns the flags of a command that runs a script with these flags, from the flags that the command has in the table.
 * CMD_MAY_REPLICATE stays only for a script that declares nothing, because then it is unknown whether it writes. */
uint32_t scriptCommandFlags(uint32_t command_flags, uint32_t flags);
/* Returns true if a script with these flags may run for `c` now; otherwise an error was sent. `memory_full` means that
 * maxmemory is reached. */
bool scriptMayRun(client *c, uint32_t flags, bool read_only, bool memory_full) must_check;

#endif
