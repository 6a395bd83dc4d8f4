/* dataset.h -- loads the dataset from disk at startup.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_DATASET_H
#define SERVER_DATASET_H

#include "platform.h"

/* Loads the dataset, if there is one. Call when listeners are open, before the server is ready. Returns false, after
 * logging the reason, if it exists but cannot be loaded: the process must end. Files on disk stay as they are, except
 * that unfinished files of an earlier process are removed. */
bool datasetLoadAtStart(void) must_check;

#endif
