/* pubsub_patterns.h -- the patterns that somebody is subscribed to, found by their text and by what they match.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_PATTERNS_H
#define ENGINE_PUBSUB_PATTERNS_H

#include "pubsub_topic.h"

#define PATTERN_BYTES 96 /* what a pattern costs beside a topic and its name: its group, its place in the tree */

/* The pattern with this text, or NULL. */
topic *patternsFind(hashedKey text);
/* Add one that is not there. NULL when there is no memory for the text. */
topic *patternsAdd(hashedKey text) must_check;
/* Take out and free a pattern that nobody is subscribed to any more. */
void patternsRemove(topic *t);
/* Call `fn` with each pattern that matches the channel: those with a short literal beginning first, else in no order.
 * `fn` must not add or remove patterns. */
void patternsMatch(slice channel, void (*fn)(void *arg, topic *t), void *arg);
/* How many there are, different ones. */
size_t patternsCount(void);
/* Assert what holds of the index. */
void patternsCheck(void);

#endif
