/* aof_load.h -- loads the append-only files: reads their commands and executes them.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_LOAD_H
#define PERSIST_AOF_LOAD_H

#include "aof_manifest.h"

#include <sys/types.h>

typedef struct aofLoaded {
    off_t base_size, incrs_size; /* bytes of the base, and of all increments */
    off_t last_size;             /* of the last file, after it was truncated */
} aofLoaded;

/* Loads the files of the manifest into the dataset, which must be empty. If a file ends early and aof-load-truncated is
 * yes, it is truncated after its last whole unit, and the load goes on if it is the last file. Returns false, after
 * logging why (with `hide_user_data` without names of keys), on failure; the dataset is unusable then. Clients are
 * served meanwhile (loading.h). */
bool aofLoad(const char *folder, const aofManifest *m, bool hide_user_data, aofLoaded *loaded) must_check;
#endif
