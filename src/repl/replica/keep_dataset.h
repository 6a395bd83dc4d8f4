/* keep_dataset.h -- whether a replica keeps its dataset rather than take the empty one of a primary that has lost it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_KEEP_DATASET_H
#define REPL_KEEP_DATASET_H

#include "platform.h"

/* Call when an operator has named the primary: the next dataset from it is taken, also an empty one. */
void keepDatasetConsent(void);
/* Call when the dataset is that of the primary's stream, or this server no longer follows the primary: forgets what was
 * decided about it, and the consent. */
void keepDatasetForget(void);
/* Returns whether the dataset would be kept from an empty one, if the identity of the primary is a new one too. */
bool keepDatasetMatters(void);
/* Decides about an empty dataset with that replication ID, "" without one. Returns true if the present
 * dataset is to be kept, and logs that when it is new. */
bool keepDatasetFrom(const char *id);
/* Call when the dataset of a primary with keys is taken. */
void keepDatasetYields(void);
/* Returns whether there is a key in any database. */
bool keepDatasetHasKeys(void);

typedef struct keepFigures {
    bool keeps;        /* the last attempt to synchronize ended with that decision */
    long long since_s; /* seconds since the first such attempt with this identity; -1 without one */
    uint64_t until_ms; /* monotonic: when an empty dataset is taken; if `keeps` */
} keepFigures;
keepFigures keepDatasetFigures(void);

#endif
