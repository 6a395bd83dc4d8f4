/* expire.h -- the cycle that finds expired keys; db.h decides whether a key is expired.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_EXPIRE_H
#define STORE_EXPIRE_H

#include "due_keys.h"

/* Runs the cycle. Slow, from cron: at most 25 % of a tick's time in all (more with active-expire-effort), in slices of
 * a millisecond so that no client waits longer. Returns true if there is more to do and time left; then a timer calls
 * with REST, between requests, until that returns false. Fast, before sleeping: at most one slice, and only if the last
 * slow cycle ran out of time. Due, at expireNextDueMs(): keys that the index by time has as due, within the
 * time of the tick that the other calls have left; true as above. */
typedef enum { EXPIRE_CYCLE_SLOW, EXPIRE_CYCLE_REST, EXPIRE_CYCLE_FAST, EXPIRE_CYCLE_DUE } expireCycleKind;
bool activeExpireCycle(expireCycleKind kind);
/* Returns when the first key that the index has may be due; INT64_MAX if it has none for the next seconds, or no key is
 * to be deleted before the next tick. It changes with slow and due calls, and when dueKeysOnEarlier() reports it. */
int64_t expireNextDueMs(void);
/* Returns how late the latest key was that the cycle deleted in this second or the last one. */
long long expireLagMs(void);
void expireSetActive(bool on); /* DEBUG SET-ACTIVE-EXPIRE */

#endif
