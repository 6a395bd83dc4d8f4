/* expire.h -- the cycle that finds expired keys; db.h decides whether a key is expired.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_EXPIRE_H
#define STORE_EXPIRE_H

#include "db.h"

/* Runs the cycle. Slow, from cron: at most 25 % of a tick's time in all (more with active-expire-effort), in slices of
 * a millisecond so that no client waits longer. Returns true if there is more to do and time left; then a timer calls
 * with REST, between requests, until that returns false. Fast, before sleeping: at most one slice, and only if the last
 * slow cycle ran out of time. */
typedef enum { EXPIRE_CYCLE_SLOW, EXPIRE_CYCLE_REST, EXPIRE_CYCLE_FAST } expireCycleKind;
bool activeExpireCycle(expireCycleKind kind);
void expireSetActive(bool on); /* DEBUG SET-ACTIVE-EXPIRE */

#endif
