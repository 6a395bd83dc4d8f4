/* aof_listing.c -- the files of the append-only file that a backup copies, with the bytes of each.
 *
 * The manifest of the copy names the listed files and no other. So files that a copy of the whole folder has beside
 * them (a newer increment, history) do no harm once that manifest is in its place.
 *
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/persist/aof/aof_thread_test.c, tests/persist/backup.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_listing.h"

#include "aof_system.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>

/* Returns false with errno if the file's size cannot be read. */
static bool addFile(aofListing *l, const aofFile *file, off_t size) {
    sds path = aofPath(l->folder, file->name);
    if (size < 0) size = aofSystemNow()->size(path);
    int error = errno;
    sdsFree(path);
    errno = error;
    if (size < 0) return false;
    l->files[l->count++] = (aofListed){sdsDup(file->name), size};
    l->bytes += size;
    return true;
}

aofListing *aofListingMake(const char *folder, const char *stem, const aofManifest *m, bool sealed, off_t last_size) {
    aofManifest *copied = aofManifestDup(m);
    aofManifestDropHistory(copied);
    debugAssert(aofManifestBase(copied) && aofManifestLastIncr(copied));
    if (sealed) aofManifestDropLastIncr(copied);
    aofListing *l = zcalloc(1, sizeof(*l));
    l->folder = sdsNew(folder);
    l->manifest_name = aofManifestName(stem);
    l->manifest = aofManifestText(copied);
    l->files = zcalloc(copied->count + 1, sizeof(*l->files));
    bool ok = l->manifest != NULL;
    if (!ok) errno = ENAMETOOLONG;
    for (size_t i = 0; ok && i < copied->count; i++) {
        bool grows = !sealed && i + 1 == copied->count;
        ok = addFile(l, &copied->files[i], grows ? last_size : -1);
    }
    int error = errno;
    aofManifestFree(copied);
    if (!ok) aofListingFree(l), l = NULL;
    errno = error;
    return l;
}

void aofListingFree(aofListing *l) {
    if (!l) return;
    for (size_t i = 0; i < l->count; i++) sdsFree(l->files[i].name);
    zfree(l->files);
    sdsFree(l->folder);
    sdsFree(l->manifest_name);
    sdsFree(l->manifest);
    zfree(l);
}
