/* result_files.c -- --json and --plot: writes the results to files.
 *
 * The file is replaced after each test, so that a run that is ended early leaves the results so far. Stdout and pipes,
 * which cannot be replaced, get the document once, at the end of the run.
 *
 * Tests       tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "result_files.h"
#include "output_file.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static void printWriteError(const char *name) {
    fprintf(stderr, "Cannot write the results to '%s': %s\n", name, strerror(errno));
}

/* Returns true if the name is that of a regular file, or of no file yet. */
static bool isReplaceable(const char *name) {
    struct stat there;
    return strcmp(name, "-") != 0 && (stat(name, &there) != 0 || S_ISREG(there.st_mode));
}

static void check(const char *name) {
    outputFile f;
    if (!name || !isReplaceable(name)) return;
    if (!outputFileOpen(&f, name)) {
        printWriteError(name);
        exit(1);
    }
    outputFileAbandon(&f);
}

void resultFilesCheck(const benchOptions *o) {
    check(o->json_file);
    check(o->plot_file);
}

/* Replaces the file and takes ownership of `text`. */
static bool writeFile(const char *name, sds text) {
    outputFile f;
    bool opened = outputFileOpen(&f, name);
    bool written = opened && outputFileWrite(&f, text, sdsLen(text)) && outputFileKeep(&f);
    if (!written) printWriteError(name);
    if (opened && !written) outputFileAbandon(&f);
    sdsFree(text);
    return written;
}

bool resultFilesWrite(const benchOptions *o, const hostSettings *host, const resultList *results, bool last) {
    bool json = o->json_file && (last || isReplaceable(o->json_file));
    bool plot = o->plot_file && (last || isReplaceable(o->plot_file));
    fflush(stdout);
    bool written = !json || writeFile(o->json_file, jsonReport(o, host, results));
    return (!plot || writeFile(o->plot_file, svgReport(o, host, results))) && written;
}
