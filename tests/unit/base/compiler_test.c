/* compiler_test.c -- a fault of a compiler that would break this program without a word.
 *
 * gcc 12.2 writes the address of an element as an offset from NULL if a loop walks arrays of different strides in one
 * static struct, later takes the access for one through NULL, ignores the rest of the block, and so removes calls of a
 * function that it now believes to have no effects. The flag -fno-delete-null-pointer-checks of the Makefile prevents
 * it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "unit.h"

enum { ENTRIES = 24 };

static struct {
    void *open[ENTRIES];
    int number[ENTRIES];
    char *text[ENTRIES];
    bool ready[ENTRIES];
} entries;

static int visits;

__attribute__((noinline)) static void openEntry(int i, void *p) {
    entries.open[i] = p;
    entries.ready[i] = true;
}

__attribute__((noinline)) static bool visit(int number, char **text) {
    __asm__ volatile("" ::: "memory"); /* callers are not to know what this function does */
    visits++;
    return number == 0 && *text == NULL;
}

__attribute__((noinline)) static void visitAll(void) {
    for (int i = 0; i < ENTRIES; i++)
        if (entries.open[i] && entries.ready[i]) visit(entries.number[i], &entries.text[i]);
}

TEST(calls_in_a_loop_over_arrays_are_kept) {
    openEntry(0, &visits);
    openEntry(23, &visits);
    visitAll();
    CHECK_EQ_INT(visits, 2);
}
