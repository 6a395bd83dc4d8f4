/* client_describe.h -- what CLIENT LIST and the log show of a client.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_CLIENT_DESCRIBE_H
#define CLIENT_CLIENT_DESCRIBE_H

#include "client.h"

/* Information about a client that only the layers above have. The fields start with the values of a client that none of
 * these layers has changed; each registered function sets its own part. */
typedef struct clientInfoExtra {
    size_t subscribed_channels, subscribed_patterns, subscribed_shard_channels; /* sub= psub= ssub= */
    long long multi;                                                            /* queued commands; -1: not in MULTI */
    size_t watched;
    long long redirect; /* -1: no tracking; 0: tracking without redirection; else the client's id */
    bool tracking_broken_redirect, tracking_bcast;
    bool pause_ended;              /* it is still on the list of paused clients, but its pause has ended */
    const char *user;              /* "default" */
    size_t query_used, query_free; /* qbuf= qbuf-free= */
    uint64_t fanned_bytes;         /* bytes sent of messages for many clients (fan_out.h), which net_output does not
                                    * count */
    monotime last_bytes;           /* when part of a request was read or part of a reply written; 0 for never */
    size_t multi_bytes;            /* multi-mem= */
    size_t other_bytes;            /* memory that no other field covers */
} clientInfoExtra;
typedef void clientInfoFn(const client *c, clientInfoExtra *extra);

/* Registers a function that sets its part. At startup only, at most 8. */
void clientOnInfo(clientInfoFn *fn);

/* Returns the nanoseconds since a command ran or a byte was read or written (idle= shows seconds). */
uint64_t clientIdleNs(const client *c);
/* Appends the line of CLIENT LIST to `s`, without newline. */
sds clientCatInfo(sds s, const client *c);
/* Appends to `s` what the log shows of a client that has asked for something; `hidden` replaces its name and user. */
sds clientCatIdentity(sds s, const client *c, bool hidden);
/* Writes the letters of flags= and a NUL to `out`, and returns it. */
const char *clientFlagLetters(const client *c, char out[24]);
/* Returns the bytes of memory that the client costs (CLIENT LIST tot-mem, maxmemory-clients). */
size_t clientMemUsage(const client *c);

/* Call when a blocked client is unblocked. CLIENT LIST shows it as unblocked until its next command runs or the loop
 * iteration ends. */
void clientNoteUnblocked(client *c);
/* Returns true if the client waits for a key or for the end of a pause. */
bool clientIsBlocked(const client *c);

/* A reply peak (CLIENT LIST rbp) is kept for a period. The number of the period is part of the value, so that one
 * change of client_state.peak_tag resets the peaks of all clients. */
#define CLIENT_PEAK_BITS 36
#define CLIENT_PEAK_PERIOD_MS 5000
/* Call at each tick of the server: begins the next period if the current one has lasted long enough. */
void clientPeaksTick(monotime now);
/* Sets the length of a period (DEBUG REPLYBUFFER PEAK-RESET-TIME); a negative one never ends. */
void clientPeaksSetPeriod(long long ms);

#endif
