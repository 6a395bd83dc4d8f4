/* pending_settings.h -- settings whose subsystem is still to come.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_PENDING_SETTINGS_H
#define SERVER_PENDING_SETTINGS_H

/* Boot only. */
void pendingSettingsRegister(void);
/* The last words of a start: for each of these settings that somebody may rely on, what is not to be had. */
void pendingSettingsWarn(void);

/* Put what this layer shows and offers into the tables of the layers below. Boot only. */
void pendingInfoRegister(void);

#endif
