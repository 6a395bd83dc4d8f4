/* script.h -- what the script layer does at boot: its interpreters, and what it registers with the layers below.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_H
#define SCRIPT_SCRIPT_H

void scriptCommandsRegister(void);
void scriptInfoRegister(void);
/* Makes the interpreters and what they need. Call after commandTableSeal(). `product`: as in programInit(). */
void scriptInit(const char *(*product)(void));

#endif
