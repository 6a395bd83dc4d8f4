/* setting_lines.h -- parses the configuration file: lines of words, includes, directives and settings.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_LINES_H
#define ADMIN_SETTING_LINES_H

#include "setting_table.h"

#include <stdio.h>

/* The functions that a reader of the file passes, each called with `arg`. Those that return a text return NULL, or the
 * reason why the line is refused, which is valid until the next call. */
typedef struct lineTaker {
    const char *(*setting)(void *arg, settingEntry *e, sds *words, int count); /* words of the value, maybe none */
    const char *(*user)(void *arg, sds *words, int count);                     /* "user", the name, rules */
    const char *(*rename)(void *arg, const sds from, const sds to);
    void (*text_ends)(void *arg);     /* at the end of the text and of each included file */
    const char *(*folder)(void *arg); /* folder of relative includes; NULL: the working directory */
    void *arg;
} lineTaker;

/* The first line that was refused. */
typedef struct lineFault {
    sds path;   /* owns: the included file; NULL if it is the given text */
    int number; /* from 1; 0: the file could not be opened */
    sds line;   /* owns; NULL if the file could not be opened */
    sds why;    /* owns; NULL if no line was refused */
} lineFault;

/* Parses all lines of a text, with its includes. Returns false with *fault, which the caller frees. */
bool settingLinesRead(const sds text, const lineTaker *taker, lineFault *fault) must_check;
void lineFaultFree(lineFault *fault);
/* Reads the stream to its end. The caller owns the text. */
sds settingReadAll(FILE *f);
/* Returns whether this is an old name that the file may have with one value, and that has no effect. */
bool settingNameIsObsolete(const char *name);

#endif
