/* script.h -- startup of the script layer: its interpreters, and what it registers with the layers below.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_H
#define SCRIPT_SCRIPT_H

/* Register the commands and the INFO fields of the layer. Call at startup. */
void scriptCommandsRegister(void);
void scriptInfoRegister(void);
/* Creates the interpreters and the state around them. Call after commandTableSeal(). `product` is that of
 * scriptContextInit(). */
void scriptInit(const char *(*product)(void));

#endif
