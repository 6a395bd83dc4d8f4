/* dataset.h -- the dataset that a start finds on disk.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_DATASET_H
#define SERVER_DATASET_H

#include "platform.h"

/* Load what there is, when listeners are open and before the server is ready. False: it is there and cannot be loaded,
 * which the log has said; the process is to end, and nothing on disk has been touched but for what an earlier process
 * has left unfinished. */
bool datasetLoadAtStart(void) must_check;

#endif
