/* aof_manifest.h -- the list of the files of the append-only file: reads, writes and changes it.
 *
 *   file appendonly.aof.3.base.rdb seq 3 type b      base: loaded first; at most one
 *   file appendonly.aof.2.incr.aof seq 2 type h      history: not needed any more, to be deleted; newest first
 *   file appendonly.aof.3.incr.aof seq 3 type i      increments, in the order in which they are loaded
 *
 * Runs on: any thread; a manifest is used by one at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_MANIFEST_H
#define PERSIST_AOF_MANIFEST_H

#include "sds.h"

#define AOF_MANIFEST_LINE_MAX 1024 /* bytes of a line, its end included */

typedef enum { AOF_FILE_BASE = 'b', AOF_FILE_HISTORY = 'h', AOF_FILE_INCR = 'i' } aofFileType;

typedef struct aofFile {
    sds name; /* owns; a name without a path */
    long long seq;
    aofFileType type;
} aofFile;

/* Files are in the order of the drawing above: base, history, increments. */
typedef struct aofManifest {
    aofFile *files; /* owns */
    size_t count, capacity;
    size_t history, incrs;        /* index of the first of each kind; `count` if there is none */
    long long base_seq, incr_seq; /* last number given to each kind; 0: none yet */
} aofManifest;

/* The reason why a manifest cannot be read. */
typedef struct aofManifestFault {
    int line;          /* from 1; 0: no particular line */
    sds text;          /* owns: the line, or NULL */
    const char *error; /* text for the log */
} aofManifestFault;

/* Returns a manifest without files. */
aofManifest *aofManifestCreate(void);
/* Returns a copy, which has names of its own. */
aofManifest *aofManifestDup(const aofManifest *m);
void aofManifestFree(aofManifest *m); /* NULL is allowed */

/* Parses the bytes of a manifest file. If they are invalid, returns NULL and fills in *fault; the caller frees its
 * text. If all lines are comments the manifest has no files. */
aofManifest *aofManifestParse(slice bytes, aofManifestFault *fault) must_check;
/* Logs the reason, in Valkey's words, and frees the fault's text. */
void aofManifestLogFault(aofManifestFault *fault);
/* Returns the text of the manifest file. Returns NULL if a line would be longer than readers accept. */
sds aofManifestText(const aofManifest *m) must_check;

/* Both return NULL if there is none. The result is borrowed until the next change. */
const aofFile *aofManifestBase(const aofManifest *m);
const aofFile *aofManifestLastIncr(const aofManifest *m);

/* Adds the next increment. `stem` is appendfilename. */
void aofManifestAddIncr(aofManifest *m, const char *stem);
/* Makes the next base (`ending` is "rdb" or "aof") replace the present one. That one, and all increments but the last
 * `keep` ones, become history. */
void aofManifestSwitchBase(aofManifest *m, const char *stem, const char *ending, size_t keep);
/* Adds a base with a name of its own: an old single file that becomes the first base. */
void aofManifestAdoptBase(aofManifest *m, const char *name);
/* Removes the last increment, which must exist, from the list; its number stays given. */
void aofManifestDropLastIncr(aofManifest *m);
/* Removes history from the list, after its files have been deleted. */
void aofManifestDropHistory(aofManifest *m);

/* Returns the name of the manifest file, appendfilename.manifest. */
sds aofManifestName(const char *stem);
/* Returns "folder/name". All paths of the append-only file are joined here. */
sds aofPath(const char *folder, const char *name);
/* Returns whether names made of `stem` fit into a line of the manifest and are valid file names. */
bool aofNameFits(const char *stem);

#endif
