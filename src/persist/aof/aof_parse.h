/* aof_parse.h -- parses the bytes of an append-only file into commands, more strictly than requests of clients.
 *
 *   #TS:1700000000\r\n                      an annotation: at most 1024 bytes, skipped
 *   *2\r\n$4\r\nINCR\r\n$1\r\nk\r\n         a command: arrays of bulk strings, nothing else
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_PARSE_H
#define PERSIST_AOF_PARSE_H

#include "slice.h"

#include <limits.h>

#define AOF_ANNOTATION_MAX 1024
#define AOF_ARGC_MAX ((uint64_t)INT_MAX)
#define AOF_BULK_MAX ((uint64_t)1 << 40)

typedef enum {
    AOF_COMMAND,    /* a whole command */
    AOF_ANNOTATION, /* a whole annotation line */
    AOF_MORE,       /* the bytes end within the item */
    AOF_BAD         /* neither a command nor an annotation */
} aofItemKind;

typedef struct aofItem {
    size_t bytes; /* if COMMAND or ANNOTATION: its length. If MORE: its minimum length */
    size_t argc;  /* if COMMAND */
    slice *args;  /* if COMMAND: owns; grown as needed, reused by the next call */
    size_t capacity;
} aofItem;

/* Parses the item that begins at the first byte of `in`, which is not empty. Arguments point into `in`. */
aofItemKind aofParse(aofItem *item, slice in);
/* Parses the line "<mark><number>\r\n" at *at. Returns AOF_COMMAND if it is complete; *at is the offset after it
 * then. */
aofItemKind aofParseHeader(slice in, size_t *at, char mark, uint64_t *number);
void aofItemFree(aofItem *item);

#endif
