/* setting_file.h -- loads settings from the configuration file, stdin and the command line.
 *
 * Runs on: main, at startup.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_FILE_H
#define ADMIN_SETTING_FILE_H

#include "sds.h"

/* Loads the command line, given without the program's name: [file] [--option value ...] [-]. The first word is a file
 * unless it begins with '-'. "-" as first or last word reads stdin. Options are applied last, so they win. An error is
 * printed to stderr and ends the process with status 1. */
void settingFileLoad(int count, char **words);
/* Returns the absolute path of the loaded file; NULL if there was none. */
const char *settingFilePath(void);
/* Logs one line that names the loaded settings that have no effect yet, if there are any. */
void settingFileWarnPending(void);
/* Returns the lines of stdin and of the command line, which startup read after the file; NULL before that. */
sds settingFileExtra(void);
/* Returns the folder in which the process started. */
const char *settingFileFolder(void);

#endif
