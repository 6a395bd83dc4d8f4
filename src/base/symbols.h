/* symbols.h -- what the function at an address is called.
 *
 * Threads     any; async-signal-safe.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_SYMBOLS_H
#define BASE_SYMBOLS_H

#include "platform.h"

#define SYMBOL_TEXT_SIZE 256

/* The symbols of a program file that lies in memory. */
typedef struct symbolFile {
    const char *image; /* borrowed */
    size_t size;
    uintptr_t base; /* what its addresses count from, in the running process */
} symbolFile;

typedef struct symbol {
    const char *name; /* borrowed from the image */
    size_t offset;    /* of the address, in bytes from the function's start */
} symbol;

/* Map the file of the running program, for good. False when it cannot be read. */
bool symbolsOpen(symbolFile *file) must_check;
/* The function that holds `address`. False when it is not the program's, or the file has no table of symbols (it was
 * stripped) or a broken one. */
bool symbolsFind(const symbolFile *file, const void *address, symbol *out) must_check;
/* Write "program(function+0xoffset)[address]" for a frame of a stack; `is_return`: the address is where a call returns
 * to, which may already lie in the next function. False as symbolsFind(). */
bool symbolsDescribe(const symbolFile *file, const void *frame, bool is_return, char text[SYMBOL_TEXT_SIZE]) must_check;

#endif
