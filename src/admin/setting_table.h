/* setting_table.h -- all settings of all layers under their names.
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
    bool loaded;        /* by the file or the command line */
    bool accumulating;  /* the text being loaded has set it before */
} settingEntry;

/* A name under which an entry is found: its own or its alias. Rows are sorted by name. */
typedef struct settingRow {
    const char *name;
    settingEntry *entry; /* borrowed */
} settingRow;

/* Gather the registered tables (settingRegister()) and store each default. Two settings of one name end the process.
 * May be called again. */
void settingTableInit(void);

/* NULL when there is no setting of that name, in any case of letters. */
settingRow *settingFind(const char *name);
const settingRow *settingRows(size_t *count);
/* In the order of the tables. */
settingEntry *settingEntries(size_t *count);
bool settingIsDefault(const settingEntry *e);

#endif
