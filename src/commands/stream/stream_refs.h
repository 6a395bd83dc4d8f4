/* stream_refs.h -- deletes entries of a stream with regard to the groups that refer to them.
 *
 * A group refers to an entry if the entry is pending in it, or if the group has not read it yet.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_STREAM_REFS_H
#define COMMANDS_STREAM_REFS_H

#include "client.h"
#include "value_stream.h"

typedef enum {
    STREAM_REFS_UNSET, /* no option was given: as KEEP */
    STREAM_REFS_KEEP,  /* pending entries stay */
    STREAM_REFS_DROP,  /* pending entries are removed from all groups with the entry */
    STREAM_REFS_ACKED, /* an entry stays while a group refers to it */
} streamRefs;

/* Parses KEEPREF, DELREF or ACKED. Returns false if the word is something else, or if one was given before. */
bool streamRefsParse(slice word, streamRefs *refs);
/* Trims as streamTrim() does, but with DROP or ACKED, entry by entry, and propagates what else is needed: XACK before
 * the command with DROP; XDEL in place of the trimming with ACKED. Returns the number of deleted entries. */
uint64_t streamTrimRefs(client *c, stream *s, const streamTrimSpec *spec, streamRefs refs);

#endif
