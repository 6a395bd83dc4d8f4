/* setting.c -- the tables of settings that layers have registered, in their order, and what puts values into force.
 *
 * Not here    names, values and their text: the administration's (setting_table.c, setting_text.c).
 * Owns        the list; the tables are their layers'.
 * Threads     main, at boot.
 * Tests       tests/unit/admin/setting_test.c, tests/unit/server/setting_defaults_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setting.h"

#include "panic.h"

#include <string.h>

#define TABLES_MAX 32
#define APPLIERS_MAX 32

static const setting *tables[TABLES_MAX + 1]; /* the last stays NULL */
static struct {
    const char *name;
    settingApplyFn *apply;
} appliers[APPLIERS_MAX + 1]; /* the last has no name */

bool settingStoreNumber(const setting *s, long long number) {
    switch (s->type) {
    case SETTING_BOOL: *(bool *)s->value = number; return true;
    case SETTING_ENUM:
    case SETTING_FLAGS: *(int *)s->value = (int)number; return true;
    case SETTING_INT:
    case SETTING_MEMORY:
    case SETTING_PERCENT_OR_MEMORY:
    case SETTING_OCTAL: *(long long *)s->value = number; return true;
    case SETTING_STRING:
    case SETTING_BYTES:
    case SETTING_SPECIAL: break;
    }
    return false;
}

void settingStoreNumbers(const setting *rows) {
    for (const setting *s = rows; s->name; s++) (void)settingStoreNumber(s, s->default_number);
}

void settingRegister(const setting *rows) {
    int at = 0;
    while (tables[at] && tables[at] != rows) at++;
    serverAssert(!tables[at]);
    serverAssert(at < TABLES_MAX);
    tables[at] = rows;
}

const setting *const *settingTables(void) { return tables; }

static settingApplyFn *registeredFor(const char *name) {
    int at = 0;
    while (appliers[at].name && strcmp(appliers[at].name, name)) at++;
    return appliers[at].apply;
}

void settingOnApply(const char *name, settingApplyFn *apply) {
    int at = 0;
    serverAssert(!registeredFor(name));
    while (appliers[at].name) at++;
    serverAssert(at < APPLIERS_MAX);
    appliers[at].name = name;
    appliers[at].apply = apply;
}

settingApplyFn *settingApply(const setting *s) { return s->apply ? s->apply : registeredFor(s->name); }

static bool isApplicable(const char *name) {
    for (const setting *const *table = tables; *table; table++)
        for (const setting *s = *table; s->name; s++)
            if (!strcmp(s->name, name)) return !s->apply;
    return false;
}

void settingCheckAppliers(void) {
    for (int i = 0; appliers[i].name; i++)
        if (!isApplicable(appliers[i].name))
            serverPanic("settingOnApply(): no setting has the name '%s'", appliers[i].name);
}
