/* loading.h -- the dataset is being read: clients are told so, and how far it is.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_LOADING_H
#define PERSIST_LOADING_H

#include "gates.h"

/* From here on commands that do not know CMD_LOADING are refused, until the end. `total_bytes`: of all files, 0 when
 * nobody knows. */
void loadingBegin(uint64_t total_bytes);
/* The same for one that does not touch the dataset there is: only what could not go together with it is refused
 * (CMD_NO_ASYNC_LOADING). */
void loadingBeginBeside(uint64_t total_bytes);
void loadingEnd(void);
bool loadingIsActive(void);

/* So many bytes of all files have been loaded. */
void loadingProgress(uint64_t bytes);
/* What a file tells about the server that has written it. */
void loadingSetUsedMemory(long long bytes);
/* What this load has done so far, for INFO, which shows it also when it is over. */
void loadingSetKeys(long long loaded, long long expired);
/* Serve clients, and do what is to be done at intervals, if some milliseconds have gone. May not return: the process
 * can be told to end. */
void loadingServe(void);

/* Reply with the error of it. */
void loadingRefuse(client *c);
/* The entry of GATE_LOADING. */
gateResult loadingGate(client *c);
/* What is done ten times a second while a dataset is read. Boot only. */
void loadingOnTick(void (*tick)(void));
/* Boot only. */
void loadingInfoRegister(void);

#endif
