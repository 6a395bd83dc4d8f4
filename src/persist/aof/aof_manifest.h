/* aof_manifest.h -- the list of the files that make the append-only file: read, written, moved on.
 *
 *   file appendonly.aof.3.base.rdb seq 3 type b      what all begins with; at most one
 *   file appendonly.aof.2.incr.aof seq 2 type h      history: not needed any more, to be deleted; newest first
 *   file appendonly.aof.3.incr.aof seq 3 type i      increments, in the order in which they are loaded
 *
 * Runs on: any thread; a manifest belongs to one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_MANIFEST_H
#define PERSIST_AOF_MANIFEST_H

#include "sds.h"

#define AOF_MANIFEST_LINE_MAX 1024 /* bytes of a line, its end included */

typedef enum { AOF_FILE_BASE = 'b', AOF_FILE_HISTORY = 'h', AOF_FILE_INCR = 'i' } aofFileType;

typedef struct aofFile {
    sds name; /* owns; no path */
    long long seq;
    aofFileType type;
} aofFile;

/* Files stand as in the drawing above: base, history, increments. */
typedef struct aofManifest {
    aofFile *files; /* owns */
    size_t count, capacity;
    size_t history, incrs;        /* index of the first of each; `count` when there is none */
    long long base_seq, incr_seq; /* the last number given to each kind; 0: none yet */
} aofManifest;

/* What is wrong with a manifest. */
typedef struct aofManifestFault {
    int line;          /* from 1; 0: with none of them */
    sds text;          /* owns: the line, or NULL */
    const char *error; /* as the log says it */
} aofManifestFault;

aofManifest *aofManifestCreate(void);
aofManifest *aofManifestDup(const aofManifest *m);
void aofManifestFree(aofManifest *m); /* NULL is fine */

/* Read the bytes of a manifest file. NULL with *fault filled in (free its text). Comments alone give one without
 * files. */
aofManifest *aofManifestParse(slice bytes, aofManifestFault *fault) must_check;
/* The bytes to be written. NULL when a line would be longer than a reader takes. */
sds aofManifestText(const aofManifest *m) must_check;

/* NULL when there is none. Borrowed until the next change. */
const aofFile *aofManifestBase(const aofManifest *m);
const aofFile *aofManifestLastIncr(const aofManifest *m);

/* Add the next increment. `stem` is appendfilename. */
void aofManifestAddIncr(aofManifest *m, const char *stem);
/* Put the next base (`ending` is "rdb" or "aof") in the place of the one there is. That one, and all increments but the
 * last `keep` ones, become history. */
void aofManifestSwitchBase(aofManifest *m, const char *stem, const char *ending, size_t keep);
/* A base with a name of its own: an old single file that becomes the first base. */
void aofManifestAdoptBase(aofManifest *m, const char *name);
/* Forget history: its files have been deleted. */
void aofManifestDropHistory(aofManifest *m);

/* appendfilename.manifest */
sds aofManifestName(const char *stem);
/* "folder/name"; the one place where paths of the append-only file are joined. */
sds aofPath(const char *folder, const char *name);
/* Whether names made of `stem` fit into a line of the manifest and into what systems take as a file's name. */
bool aofNameFits(const char *stem);

#endif
