/* setting_table.h -- the settings of all layers, by name.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_SETTING_TABLE_H
#define ADMIN_SETTING_TABLE_H

#include "setting_text.h"

typedef struct settingEntry {
    const setting *def; /* borrowed: the layer's table */
    sds default_value;  /* owns: as CONFIG GET would show it */
    bool loaded;        /* set by the file or the command line */
    bool accumulating;  /* the text that is being loaded has set it before */
} settingEntry;

/* A name of an entry: its own or its alias. Rows are sorted by name. */
typedef struct settingRow {
    const char *name;
    settingEntry *entry; /* borrowed */
} settingRow;

/* Collects the registered tables (settingRegister()) and sets each setting to its default. Ends the process if two
 * settings have the same name. May be called again. */
void settingTableInit(void);

/* Returns the row with that name, in any case of letters; NULL if there is none. */
settingRow *settingFind(const char *name);
/* Returns all rows, sorted by name. */
const settingRow *settingRows(size_t *count);
/* Returns all entries, in the order of the tables. */
settingEntry *settingEntries(size_t *count);
bool settingIsDefault(const settingEntry *e);

#endif
