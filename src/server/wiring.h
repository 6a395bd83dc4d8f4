/* wiring.h -- registers the layers with each other at startup, in one place.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_WIRING_H
#define SERVER_WIRING_H

/* Registers the settings of all layers, and sets them to their defaults. */
void wiringSettings(void);
/* Registers the INFO fields of all layers, which the crash report has as well. */
void wiringInfo(void);
/* Registers the commands of all layers. Call before settingFileLoad(), which may rename commands. */
void wiringCommands(void);
/* Closes the command table and connects hooks: authentication, HELLO, titles. Call after settingFileLoad(). */
void wiringHooks(void);

#endif
