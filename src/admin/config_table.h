/* config_table.h -- all options of all layers under their names.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_CONFIG_TABLE_H
#define ADMIN_CONFIG_TABLE_H

#include "config_values.h"

typedef struct configEntry {
    const setting *def; /* borrowed: the layer's table */
    sds default_value;  /* owns: as CONFIG GET would show it */
    bool loaded;        /* by the file or the command line */
    bool accumulating;  /* the text being loaded has set it before */
} configEntry;

/* A name under which an entry is found: its own or its alias. Rows are sorted by name. */
typedef struct configRow {
    const char *name;
    configEntry *entry; /* borrowed */
} configRow;

/* Gather tables (a list ended by NULL; each ended by SETTINGS_END, all valid for good) and store each default. Two
 * options of one name end the process. May be called again, with other tables. */
void configInit(const setting *const *tables);

/* NULL when there is no option of that name, in any case of letters. */
configRow *configFind(const char *name);
const configRow *configRows(size_t *count);
/* In the order of the tables. */
configEntry *configEntries(size_t *count);
bool configIsDefault(const configEntry *e);

/* The tables of this layer and of subsystems that are still to come. */
extern const setting server_settings[];
extern const setting pending_settings[];

#endif
