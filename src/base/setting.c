/* setting.c -- the tables of settings that layers have registered, in their order.
 *
 * Not here    names, values and their text: the administration's (setting_table.c, setting_text.c).
 * Owns        the list; the tables are their layers'.
 * Threads     main, at boot.
 * Tests       tests/unit/admin/setting_test.c, tests/unit/server/setting_defaults_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setting.h"

#include "panic.h"

#define TABLES_MAX 32

static const setting *tables[TABLES_MAX + 1]; /* the last stays NULL */

void settingRegister(const setting *rows) {
    int at = 0;
    while (tables[at] && tables[at] != rows) at++;
    serverAssert(!tables[at]);
    serverAssert(at < TABLES_MAX);
    tables[at] = rows;
}

const setting *const *settingTables(void) {
    return tables;
}
