/* setting_table.c -- the settings of all layers, by name.
 *
 * Not here    values and their text (setting_text.c); the layers' tables, to which the entries point.
 * Owns        the entries and the sorted rows.
 * Threads     main.
 * Invariants  1. Rows are sorted by name, ignoring case, and no two are equal.
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
} settings;

static int compareRows(const void *a, const void *b) {
    return strcasecmp(((const settingRow *)a)->name, ((const settingRow *)b)->name);
}

static void freeAll(void) {
    for (size_t i = 0; i < settings.nentries; i++) sdsFree(settings.entries[i].default_value);
    zfree(settings.entries);
    zfree(settings.rows);
    settings.nentries = settings.nrows = 0;
}

static void settingTableAddEntry(const setting *s) {
    settingEntry *e = &settings.entries[settings.nentries++];
    settingSetDefault(s);
    *e = (settingEntry){.def = s, .default_value = settingText(s)};
    settings.rows[settings.nrows++] = (settingRow){s->name, e};
    if (s->alias) settings.rows[settings.nrows++] = (settingRow){s->alias, e};
}

void settingTableInit(void) {
    const setting *const *tables = settingTables();
    size_t count = 0;
    freeAll();
    for (const setting *const *t = tables; *t; t++)
        for (const setting *s = *t; s->name; s++) count++;
    settings.entries = zcalloc(count + 1, sizeof(settingEntry));
    settings.rows = zcalloc(2 * count + 1, sizeof(settingRow));
    for (const setting *const *t = tables; *t; t++)
        for (const setting *s = *t; s->name; s++) settingTableAddEntry(s);
    qsort(settings.rows, settings.nrows, sizeof(settingRow), compareRows);
    for (size_t i = 1; i < settings.nrows; i++)
        if (!compareRows(&settings.rows[i - 1], &settings.rows[i]))
            serverPanic("Two settings are named '%s'", settings.rows[i].name);
}

settingRow *settingFind(const char *name) {
    settingRow key = {name, NULL};
    if (!settings.nrows) return NULL;
    return bsearch(&key, settings.rows, settings.nrows, sizeof(settingRow), compareRows);
}

const settingRow *settingRows(size_t *count) {
    *count = settings.nrows;
    return settings.rows;
}

settingEntry *settingEntries(size_t *count) {
    *count = settings.nentries;
    return settings.entries;
}

bool settingIsDefault(const settingEntry *e) {
    sds text = settingText(e->def);
    bool same = !sdsCmp(text, e->default_value);
    sdsFree(text);
    return same;
}
