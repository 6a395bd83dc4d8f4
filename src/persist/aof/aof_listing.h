/* aof_listing.h -- the files of the append-only file that a backup copies, with the bytes of each.
 *
 * Runs on: any thread; a listing is used by one at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_LISTING_H
#define PERSIST_AOF_LISTING_H

#include "aof_manifest.h"

#include <sys/types.h>

typedef struct aofListed {
    sds name;   /* owns; a name without a path */
    off_t size; /* bytes to copy; the file may grow beyond them */
} aofListed;

typedef struct aofListing {
    sds folder;        /* owns: absolute path */
    sds manifest_name; /* owns: the file in that folder which the copy needs with the text below */
    sds manifest;      /* owns */
    aofListed *files;  /* owns: base and increments, in the order of the manifest */
    size_t count;
    off_t bytes; /* of all files, without the manifest */
} aofListing;

/* Returns the files of `m` that a start would load. With `sealed` the last increment, which has no bytes yet, is left
 * out; otherwise it counts with its first `last_size` bytes. Returns NULL with errno if the size of a file cannot be
 * read. Waits for the disk. */
aofListing *aofListingMake(const char *folder, const char *stem, const aofManifest *m, bool sealed,
                           off_t last_size) must_check;
void aofListingFree(aofListing *l); /* NULL is allowed */

#endif
