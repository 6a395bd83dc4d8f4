/* symbols.h -- finds the name of the function at an address.
 *
 * Threads     any; async-signal-safe.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_SYMBOLS_H
#define BASE_SYMBOLS_H

#include "platform.h"

#define SYMBOL_TEXT_SIZE 256

/* The symbols of a program file that is mapped into memory. */
typedef struct symbolFile {
    const char *image; /* borrowed */
    size_t size;
    uintptr_t base; /* the address in the running process that symbols are relative to */
} symbolFile;

typedef struct symbol {
    const char *name; /* borrowed from the image */
    size_t offset;    /* of the address, in bytes from the function's start */
} symbol;

/* Maps the file of the running program, for good. Returns false if it cannot be read. */
bool symbolsOpen(symbolFile *file) must_check;
/* Finds the function that contains `address`. Returns false if that is not in the program, or the file has no symbol
 * table (it was stripped) or a broken one. */
bool symbolsFind(const symbolFile *file, const void *address, symbol *out) must_check;
/* Maps the file of the running program for symbolsDescribe(), unless that was done before. Call at startup: a crash may
 * be caused by a lack of addresses. */
void symbolsLoad(void);
/* Writes "program(function+0xoffset)[address]" for a frame of a stack, with the path of the library in place of the
 * program if the function is in one, or only the address if no name is found. `is_return`: the address is a return
 * address, which may already be in the next function. */
void symbolsDescribe(const void *frame, bool is_return, char text[SYMBOL_TEXT_SIZE]);

#endif
