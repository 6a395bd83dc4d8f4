/* aof_load.h -- read the append-only files and execute what they hold.
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
    off_t last_size;             /* of the last file, as it is now */
} aofLoaded;

/* Load the files of the manifest into the dataset, which is empty. A last file that ends early is cut to its last whole
 * unit if aof-load-truncated allows it. False with lines in the log that say what is wrong (no names of keys with
 * `hide_user_data`): the dataset is of no use then. Clients are served meanwhile (loading.h). */
bool aofLoad(const char *folder, const aofManifest *m, bool hide_user_data, aofLoaded *loaded) must_check;
#endif
