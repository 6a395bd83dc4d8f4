/* writer_brake.h -- writers are slowed before a replica is sent away for its output limit (repl-slow-writers).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_WRITER_BRAKE_H
#define REPL_WRITER_BRAKE_H

/* Before output leaves, and at each tick: hold writers back if what is kept for a replica grows too fast. */
void writerBrakeLook(void);
void writerBrakeInit(void); /* boot only */

#endif
