/* pending_settings.h -- settings and INFO fields of subsystems that do not exist yet.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_PENDING_SETTINGS_H
#define SERVER_PENDING_SETTINGS_H

/* Registers the settings. Call at startup only. */
void pendingSettingsRegister(void);
/* Logs a warning for each of these settings that was configured and whose missing effect a user may rely on. Call at
 * the end of startup. */
void pendingSettingsWarn(void);

/* Registers the INFO fields and sections. Call at startup only. */
void pendingInfoRegister(void);

#endif
