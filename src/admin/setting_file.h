/* setting_file.h -- settings from the file, from stdin and from the command line.
 *
 * Runs on: main, at boot.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_FILE_H
#define ADMIN_SETTING_FILE_H

#include "sds.h"

/* Load what the command line says, without the program's name:  [file] [--option value ...] [-]
 * The first word is a file unless it starts with '-'. "-" as first or last word reads stdin. Options come after
 * both, so they win. A mistake is reported on stderr and ends the process with 1. */
void settingFileLoad(int count, char **words);
/* Absolute path of the loaded file; NULL when there was none. */
const char *settingFilePath(void);
/* One log line that names the loaded settings that have no effect yet; nothing when there are none. */
void settingFileWarnPending(void);
/* What the start read after the file: lines of stdin and of the command line. */
sds settingFileBeside(void);
/* The folder in which the process started. */
const char *settingFileFolder(void);

#endif
