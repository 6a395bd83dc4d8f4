/* expire.h -- the cycle that finds keys whose time is over; whether a key counts as gone is in db.h.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_EXPIRE_H
#define STORE_EXPIRE_H

#include "db.h"

/* Slow cycle, from cron: at most 25 % of a tick's CPU time (more with active-expire-effort). Fast
 * cycle, before sleeping: at most 1 ms, and only while the last slow one ran out of time. */
typedef enum { EXPIRE_CYCLE_SLOW, EXPIRE_CYCLE_FAST } expireCycleKind;
void activeExpireCycle(expireCycleKind kind);
void expireSetActive(bool on); /* DEBUG SET-ACTIVE-EXPIRE */

#endif
