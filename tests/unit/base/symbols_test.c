/* symbols_test.c -- function names in this program, and in damaged files.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "symbols.h"
#include "unit.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static int namedOnlyHere(int x) { return x * x + 1; }

TEST(symbols_of_static_functions_have_names) {
    symbolFile file;
    symbol s;
    CHECK(symbolsOpen(&file));
    int (*volatile f)(int) = namedOnlyHere;
    CHECK_EQ_INT(f(2), 5);
    const char *start = (const char *)(uintptr_t)f;
    CHECK(symbolsFind(&file, start, &s));
    CHECK(strncmp(s.name, "namedOnlyHere", strlen("namedOnlyHere")) == 0);
    CHECK_EQ_INT(s.offset, 0);
    CHECK(symbolsFind(&file, start + 1, &s));
    CHECK(strncmp(s.name, "namedOnlyHere", strlen("namedOnlyHere")) == 0);
    CHECK_EQ_INT(s.offset, 1);
}

TEST(symbols_of_others_are_not_found) {
    symbolFile file;
    symbol s;
    int local;
    CHECK(symbolsOpen(&file));
    CHECK(!symbolsFind(&file, NULL, &s));
    CHECK(!symbolsFind(&file, &local, &s));
    CHECK(!symbolsFind(&file, (const void *)UINTPTR_MAX, &s));
    int (*volatile of_libc)(const char *) = puts;
    CHECK(!symbolsFind(&file, (const void *)(uintptr_t)of_libc, &s));
}

/* Returns a copy in its own allocation, so that AddressSanitizer detects reads beyond it. */
static symbolFile copyOf(const symbolFile *file, size_t size) {
    symbolFile copy = {.image = malloc(size ? size : 1), .size = size, .base = file->base};
    CHECK(copy.image != NULL);
    if (copy.image) memcpy((char *)(uintptr_t)copy.image, file->image, size);
    return copy;
}

TEST(symbols_of_broken_files_are_not_read) {
    symbolFile file;
    symbol s;
    int (*volatile f)(int) = namedOnlyHere;
    const void *address = (const void *)(uintptr_t)f;
    CHECK(symbolsOpen(&file));
    const size_t sizes[] = {0, 1, 4, 63, 64, 65, 4096, file.size / 2, file.size - 1};
    for (size_t i = 0; i < array_len(sizes); i++) {
        symbolFile cut = copyOf(&file, sizes[i]);
        CHECK(!symbolsFind(&cut, address, &s)); /* the table of sections is at the end of the file */
        free((char *)(uintptr_t)cut.image);
    }
    uint64_t seed = unitRandomSeed();
    symbolFile broken = copyOf(&file, file.size);
    char *bytes = (char *)(uintptr_t)broken.image;
    for (int i = 0; i < 200; i++) {
        /* Changes a byte of the header or of the table of sections. */
        size_t at = i % 2 ? (size_t)(unitRandom(&seed) % 64) : file.size - 1 - (size_t)(unitRandom(&seed) % 2048);
        bytes[at] = (char)unitRandom(&seed);
        if (symbolsFind(&broken, address, &s)) CHECK(memchr(s.name, 0, (size_t)(bytes + broken.size - s.name)) != NULL);
        if (i % 8 == 7) memcpy(bytes, file.image, file.size);
    }
    free(bytes);
}

/* All symbols get names beyond the end of their table. */
TEST(symbols_with_lost_names_are_not_found) {
    symbolFile file;
    symbol s;
    int (*volatile f)(int) = namedOnlyHere;
    CHECK(symbolsOpen(&file));
    symbolFile broken = copyOf(&file, file.size);
    char *bytes = (char *)(uintptr_t)broken.image;
    const ElfW(Ehdr) *header = (const void *)bytes;
    const ElfW(Shdr) *sections = (const void *)(bytes + header->e_shoff);
    for (size_t i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        ElfW(Sym) *symbols = (void *)(bytes + sections[i].sh_offset);
        for (size_t k = 0; k < sections[i].sh_size / sizeof(*symbols); k++) symbols[k].st_name = 0xfffffff0;
    }
    CHECK(!symbolsFind(&broken, (const void *)(uintptr_t)f, &s));
    free(bytes);
}
