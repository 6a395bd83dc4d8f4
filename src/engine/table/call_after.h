/* call_after.h -- what is to be done behind a command, beyond its accounting: one branch for all of it.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_CALL_AFTER_H
#define ENGINE_CALL_AFTER_H

#define CALL_AFTER_WIPE 1u     /* redactWipe() */
#define CALL_AFTER_HOT_KEYS 2u /* hotKeysRan() */

extern unsigned call_after; /* CALL_AFTER_ bits; in call.c */

#endif
