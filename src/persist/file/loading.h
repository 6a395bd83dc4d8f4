/* loading.h -- the state of loading a dataset: refuses commands with -LOADING, and reports progress to INFO.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_LOADING_H
#define PERSIST_LOADING_H

#include "gates.h"

/* Begins a load that replaces the dataset: until loadingEnd() commands without CMD_LOADING are refused. With `beside`
 * the present dataset stays in use, and only commands with CMD_NO_ASYNC_LOADING are refused. `total_bytes` is the size
 * of all files, 0 if unknown. */
void loadingBegin(uint64_t total_bytes, bool beside);
/* Ends the load, successful or not: no command is refused any more. */
void loadingEnd(void);
/* Returns true between loadingBegin() and loadingEnd(). */
bool loadingIsActive(void);

/* Sets how many bytes of all files have been loaded. */
void loadingProgress(uint64_t bytes);
/* Sets the memory that the server used when it wrote the file, as the file reports it. */
void loadingSetUsedMemory(long long bytes);
/* Sets how many keys this load has inserted, and how many it left out as expired or as of a type that is not known.
 * INFO shows them after the load too. */
void loadingSetKeys(long long loaded, long long expired, long long left_out);
/* Serves clients, and calls the tick function if 100 ms have passed since its last call. May not return: a client can
 * shut the process down. */
void loadingServe(void);

/* Replies with the -LOADING error. */
void loadingRefuse(client *c);
/* The function of GATE_LOADING in the table of gates. */
gateResult loadingGate(client *c);
/* Sets a function that runs ten times a second during a load. Startup only. */
void loadingOnTick(void (*tick)(void));
/* Registers the INFO fields of loading. Startup only. */
void loadingInfoRegister(void);

#endif
