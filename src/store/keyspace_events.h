/* keyspace_events.h -- what happens to keys, told to those who asked at boot.
 *
 * Observers are called on main, in the order of registration, at most 8 of each kind. They must not change the
 * keyspace.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_KEYSPACE_EVENTS_H
#define STORE_KEYSPACE_EVENTS_H

#include "slice.h"

typedef struct serverDb serverDb;

typedef void keyModifiedFn(serverDb *db, slice key);
typedef void keyspaceEventFn(int type, const char *event, slice key, int dbid);
/* Expired or evicted: to be propagated as DEL or UNLINK. */
typedef void keyRemovedFn(serverDb *db, slice key, bool evicted);
typedef void dbFlushedFn(int dbid, bool async); /* -1: all; called before the keys go */
void storeObserveModified(keyModifiedFn *fn);
void storeObserveEvents(keyspaceEventFn *fn); /* only classes that notify-keyspace-events names */
void storeObserveRemoved(keyRemovedFn *fn);
void storeObserveFlushed(dbFlushedFn *fn);

/* Keyspace event classes, as notify-keyspace-events names them: $ g l s h z t x e m n d K E */
enum {
    NOTIFY_KEYSPACE = 1,
    NOTIFY_KEYEVENT = 2,
    NOTIFY_GENERIC = 4,
    NOTIFY_STRING = 8,
    NOTIFY_LIST = 16,
    NOTIFY_SET = 32,
    NOTIFY_HASH = 64,
    NOTIFY_ZSET = 128,
    NOTIFY_EXPIRED = 256,
    NOTIFY_EVICTED = 512,
    NOTIFY_STREAM = 1024,
    NOTIFY_KEY_MISS = 2048,
    NOTIFY_LOADED = 4096,
    NOTIFY_MODULE = 8192,
    NOTIFY_NEW = 16384
};

/* Tell the observers. signalModifiedKey for each key a command changes. */
void signalModifiedKey(serverDb *db, slice key);
void notifyKeyspaceEvent(int type, const char *event, slice key, int dbid);
/* An expired or evicted key has been taken out of the db. */
void keyspaceTellRemoved(serverDb *db, slice key, bool evicted);
void keyspaceTellFlushed(int dbid, bool async);

/* The setting's text to class bits; false at a character that names none. And back, in the order in which CONFIG
 * GET shows it, with a NUL; `out` has NOTIFY_TEXT_SIZE bytes. */
#define NOTIFY_TEXT_SIZE 20
bool notifyParseClasses(slice text, int *classes) must_check;
size_t notifyPrintClasses(char *out, int classes);

#endif
