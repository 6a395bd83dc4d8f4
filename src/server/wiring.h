/* wiring.h -- what the layers register with each other at boot, in one place.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_WIRING_H
#define SERVER_WIRING_H

/* Register the settings of all layers, each with its default stored. */
void wiringSettings(void);
/* Register what each layer says in INFO; the crash report has it too. */
void wiringInfo(void);
/* Register the commands of each layer. Before settingFileLoad(), which may rename. */
void wiringCommands(void);
/* Close the table of commands and connect hooks: authentication, HELLO, titles. After settingFileLoad(). */
void wiringHooks(void);

#endif
