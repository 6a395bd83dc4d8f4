/* setting_lines.h -- the language of the configuration file: lines of words, includes, and what each line is.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_LINES_H
#define ADMIN_SETTING_LINES_H

#include "setting_table.h"

#include <stdio.h>

/* The caller's functions, each called with `arg`. Those that return a text return NULL, or why the line is refused,
 * which is valid until the next call. */
typedef struct lineTaker {
    const char *(*setting)(void *arg, settingEntry *e, sds *words, int count); /* words of the value: may be none */
    const char *(*user)(void *arg, sds *words, int count);                     /* "user", the name, rules */
    const char *(*rename)(void *arg, const sds from, const sds to);
    void (*text_ends)(void *arg);     /* the given text, and each included one */
    const char *(*folder)(void *arg); /* where relative includes are; NULL: the process's folder */
    void *arg;
} lineTaker;

/* The first line that was refused. */
typedef struct lineFault {
    sds path;   /* owns: the included file; NULL: the text that was given */
    int number; /* from 1; 0: the file could not be opened */
    sds line;   /* owns; NULL when the file could not be opened */
    sds why;    /* owns; NULL: no line was refused */
} lineFault;

/* Read all lines of a text, with its includes. False with *fault, which the caller frees. */
bool settingLinesRead(const sds text, const lineTaker *taker, lineFault *fault) must_check;
void lineFaultFree(lineFault *fault);
/* All that the stream has. The caller owns it. */
sds settingReadAll(FILE *f);
/* Names of the past, which the file may hold with one value and which do nothing. */
bool settingNameIsObsolete(const char *name);

#endif
