/* call_after.h -- work to do after a command besides its accounting: one variable, so that call() has one branch.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CALL_AFTER_H
#define ENGINE_CALL_AFTER_H

#define CALL_AFTER_WIPE 1u       /* call redactWipe() */
#define CALL_AFTER_HOT_KEYS 2u   /* call hotKeysRan() */
#define CALL_AFTER_SLOT_STATS 4u /* call slotStatsRan() */

extern unsigned call_after; /* CALL_AFTER_ bits; defined in call.c */

#endif
