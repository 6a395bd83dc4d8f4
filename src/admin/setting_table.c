/* setting_table.c -- all settings of all layers under their names.
 *
 * Not here    values and their text (setting_text.c); the layers' tables, which are only pointed at.
 * Owns        the entries and the sorted rows.
 * Threads     main.
 * Invariants  rows are sorted by name, case ignored, and no two are equal.
 * Cost        a lookup is a binary search over some 330 names.
 * Tests       tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setting_table.h"

#include "panic.h"
#include "zmalloc.h"

#include <stdlib.h>

static struct {
    settingEntry *entries; /* owns */
    settingRow *rows;      /* owns */
    size_t nentries, nrows;
} table;

static int compareRows(const void *a, const void *b) {
    return strcasecmp(((const settingRow *)a)->name, ((const settingRow *)b)->name);
}

static void forgetAll(void) {
    for (size_t i = 0; i < table.nentries; i++) sdsFree(table.entries[i].default_value);
    zfree(table.entries);
    zfree(table.rows);
    table.nentries = table.nrows = 0;
}

static void addEntry(const setting *s) {
    settingEntry *e = &table.entries[table.nentries++];
    settingSetDefault(s);
    *e = (settingEntry){.def = s, .default_value = settingText(s)};
    table.rows[table.nrows++] = (settingRow){s->name, e};
    if (s->alias) table.rows[table.nrows++] = (settingRow){s->alias, e};
}

void settingTableInit(void) {
    const setting *const *tables = settingTables();
    size_t count = 0;
    forgetAll();
    for (const setting *const *t = tables; *t; t++)
        for (const setting *s = *t; s->name; s++) count++;
    table.entries = zcalloc(count + 1, sizeof(settingEntry));
    table.rows = zcalloc(2 * count + 1, sizeof(settingRow));
    for (const setting *const *t = tables; *t; t++)
        for (const setting *s = *t; s->name; s++) addEntry(s);
    qsort(table.rows, table.nrows, sizeof(settingRow), compareRows);
    for (size_t i = 1; i < table.nrows; i++)
        if (!compareRows(&table.rows[i - 1], &table.rows[i]))
            serverPanic("Two settings are named '%s'", table.rows[i].name);
}

settingRow *settingFind(const char *name) {
    settingRow wanted = {name, NULL};
    if (!table.nrows) return NULL;
    return bsearch(&wanted, table.rows, table.nrows, sizeof(settingRow), compareRows);
}

const settingRow *settingRows(size_t *count) {
    *count = table.nrows;
    return table.rows;
}

settingEntry *settingEntries(size_t *count) {
    *count = table.nentries;
    return table.entries;
}

bool settingIsDefault(const settingEntry *e) {
    sds text = settingText(e->def);
    bool same = !sdsCmp(text, e->default_value);
    sdsFree(text);
    return same;
}
