/* expire.h -- the cycle that finds keys whose time is over; whether a key counts as gone is in db.h.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_EXPIRE_H
#define STORE_EXPIRE_H

#include "db.h"

/* Slow cycle, from cron: in all at most 25 % of a tick's time (more with active-expire-effort), in slices of a
 * millisecond so that no client waits longer. True: there is more to do and time left; a timer calls with REST, between
 * what clients send, until that is false. Fast cycle, before sleeping: one slice at most, and only while the last slow
 * one ran out of its time. */
typedef enum { EXPIRE_CYCLE_SLOW, EXPIRE_CYCLE_REST, EXPIRE_CYCLE_FAST } expireCycleKind;
bool activeExpireCycle(expireCycleKind kind);
void expireSetActive(bool on); /* DEBUG SET-ACTIVE-EXPIRE */

#endif
