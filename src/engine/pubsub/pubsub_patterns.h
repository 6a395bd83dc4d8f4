/* pubsub_patterns.h -- the patterns that have subscribers, found by their text or by a channel that they match.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_PATTERNS_H
#define ENGINE_PUBSUB_PATTERNS_H

#include "pubsub_topic.h"

#define PATTERN_BYTES 96 /* size of a pattern in addition to its topic and name: its group and its part of the tree */

/* Returns the pattern with this text, or NULL. */
topic *patternsFind(hashedKey text);
/* Adds a pattern, which must be absent. Returns NULL if there is no memory for the text. */
topic *patternsAdd(hashedKey text) must_check;
/* Removes and frees a pattern that has no subscribers any more. */
void patternsRemove(topic *t);
/* Calls `fn` for each pattern that matches the channel: those with a shorter literal prefix first, otherwise in no
 * order. `fn` must not add or remove patterns. */
void patternsMatch(slice channel, void (*fn)(void *arg, topic *t), void *arg);
/* Returns the number of different patterns. */
size_t patternsCount(void);
/* Asserts the invariants of the index. */
void patternsCheck(void);

#endif
