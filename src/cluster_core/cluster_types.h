/* cluster_types.h -- names of nodes and sets of slots, as frames, the nodes file and the cluster's machine have them.
 *
 * Threads     any: there is no state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_TYPES_H
#define CLUSTER_TYPES_H

#include "slice.h"

#define CLUSTER_SLOTS 16384
#define NODE_ID_LEN 40
#define NODE_IP_LEN 46 /* bytes of an address in a frame: text and at least one NUL */

/* The name of a node, or of a shard: 40 characters, no NUL. All NULs: none. */
typedef struct nodeId {
    char text[NODE_ID_LEN];
} nodeId;

static inline bool nodeIdEqual(const nodeId *a, const nodeId *b) { return !memcmp(a, b, sizeof(*a)); }
static inline bool nodeIdIsNone(const nodeId *id) { return id->text[0] == 0; }
/* Returns whether all characters are of a-z and 0-9. */
bool nodeIdIsValid(const nodeId *id);
/* Returns whether a text, such as an address or a name, has only characters that the nodes file and replies can hold:
 * printable ones of ASCII, without blanks and what separates fields. */
bool nodeTextIsPlain(slice text);

/* Bit n % 8 of byte n / 8 is slot n. */
typedef struct slotSet {
    uint8_t bytes[CLUSTER_SLOTS / 8];
} slotSet;

static inline bool slotSetHas(const slotSet *s, unsigned slot) { return s->bytes[slot >> 3] >> (slot & 7) & 1; }
static inline void slotSetAdd(slotSet *s, unsigned slot) { s->bytes[slot >> 3] |= (uint8_t)(1 << (slot & 7)); }
static inline void slotSetRemove(slotSet *s, unsigned slot) { s->bytes[slot >> 3] &= (uint8_t) ~(1 << (slot & 7)); }
size_t slotSetCount(const slotSet *s);
/* Sets *first and *last to the first run of slots that begins at or after *first. Returns false if there is none. */
bool slotSetRun(const slotSet *s, unsigned *first, unsigned *last);

#endif
