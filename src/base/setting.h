/* setting.h -- what a setting is: how a layer declares it, so that one place can read, set and print them all.
 *
 * To add a setting, add a field to the struct of the layer that needs it (`netSettings` in net_settings.h ...) and one
 * row, with the default, to the table in the .c file. CONFIG GET, SET and REWRITE, the configuration file and the
 * command line find it there. The layer reads the field by plain access. If CONFIG SET has to do more than store the
 * value, the row names a function, or the file that owns the effect registers one by settingOnApply().
 *
 * Threads     values are written by main only. A value that an I/O thread reads is either const after
 *             startup or an _Atomic field that `apply` stores.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_SETTING_H
#define BASE_SETTING_H

#include "platform.h"

#include <limits.h>

typedef enum {
    SETTING_BOOL,              /* bool */
    SETTING_INT,               /* long long, `min`..`max` */
    SETTING_MEMORY,            /* long long bytes, units in input, plain bytes in output */
    SETTING_PERCENT_OR_MEMORY, /* long long: "25%" is stored negative (-25); else bytes */
    SETTING_OCTAL,             /* long long, octal in input and output */
    SETTING_ENUM,              /* int, names in `names` */
    SETTING_FLAGS,             /* int, one or more names joined by spaces */
    SETTING_STRING,            /* char *, zmalloc'ed; "" or NULL when empty as `empty_is_null` says */
    SETTING_BYTES,             /* char *, an sds of any bytes, NULL when empty: passwords */
    SETTING_SPECIAL            /* parsed and printed by the functions below */
} settingType;

enum {
    SETTING_IMMUTABLE = 1,    /* only in the file or on the command line */
    SETTING_SENSITIVE = 2,    /* never logged */
    SETTING_HIDDEN = 4,       /* not in CONFIG GET with a pattern, only by exact name */
    SETTING_PROTECTED = 8,    /* CONFIG SET only with enable-protected-configs */
    SETTING_MULTI_ARG = 16,   /* several words make one value (save, client-output-buffer-limit) */
    SETTING_ACCUMULATES = 32, /* several lines in the file add up */
    SETTING_PENDING = 64,     /* valid and kept, but its subsystem is still to come: one warning at start */
    SETTING_DENY_LOADING = 128,
    SETTING_VOLATILE = 256 /* apply is called even when the value is the same */
};

/* Makes the server use a stored value. Returns false with *err if that fails. */
typedef bool settingApplyFn(const char **err);

typedef struct settingName {
    const char *name;
    int value;
} settingName;

typedef struct setting {
    const char *name;
    const char *alias; /* second name, or NULL */
    unsigned flags;
    settingType type;
    void *value;              /* bool * / long long * / int * / char ** by type; NULL for SPECIAL */
    long long default_number; /* of all types but STRING, BYTES, SPECIAL */
    const char *default_text; /* STRING, BYTES, SPECIAL: as it would stand in the file; NULL: empty string */
    long long min, max;       /* INT, MEMORY, OCTAL */
    const settingName *names; /* ENUM, FLAGS; ended by a NULL name */
    bool empty_is_null; /* STRING: "" is stored as NULL. STRING, SPECIAL: CONFIG REWRITE leaves an empty one out */
    /* Check a new value that is in range before it is stored; false with *err set refuses it. `text`, an sds, is given
     * for STRING, `number` for the others but BYTES and SPECIAL (BOOL: 0 or 1). Not called for defaults. */
    bool (*check)(const char *text, long long number, const char **err);
    /* Called after CONFIG SET has stored a new value, not at startup, and once for all settings of one CONFIG SET that
     * share the function. If it fails, the old values are stored again and it is called again. NULL if nothing is to be
     * done, or if the function is in a file that includes this table's: see settingOnApply(). */
    settingApplyFn *apply;
    /* SPECIAL. set: words of the value, false with *err and nothing changed. With MULTI_ARG an empty value comes as
     * count 0; without, count is 1. Also called at boot with the words of default_text (not when that is NULL). get:
     * returns a new sds; what it gives, split at blanks for MULTI_ARG, is what set takes. Words are sds. */
    bool (*set)(const struct setting *s, char **words, int count, const char **err);
    char *(*get)(const struct setting *s);
    /* SPECIAL whose `set` acts at once (dir), or whose value others point at: the text that `get` would give after
     * `set`, a new sds; NULL with *err. Nothing is changed. Without it, a value may be tried by setting it and setting
     * the old one back. */
    char *(*preview)(const struct setting *s, char **words, int count, const char **err);
    const char *unset_words; /* a value in the file that unsets it; NULL: the empty value does */
    /* SPECIAL that is written in more than one line (save, user ...): appends "name value\n" lines to an sds; else
     * NULL. */
    char *(*rewrite)(const struct setting *s, char *out);
} setting;

/* The rows of a table:
 *
 *     static const setting rows[] = {
 *         INT_SETTING("timeout", net_settings.timeout_s, 0, 0, INT_MAX),
 *         BOOL_SETTING("mptcp", net_settings.mptcp, false, .flags = SETTING_IMMUTABLE),
 *         SETTINGS_END,
 *     };
 *
 * Each is the name, the variable, whose C type the compiler checks, its default, then its range or its names. Other
 * fields of `setting` may follow by name. A setting of another type is written with all its fields by name. */
#define BOOL_SETTING(name_, variable, ... /* default */) \
    SETTING_ROW(name_, SETTING_BOOL, bool, variable, .default_number = __VA_ARGS__)
#define INT_SETTING(name_, variable, default_, min_, ... /* max */) \
    SETTING_ROW(name_, SETTING_INT, long long, variable, .default_number = default_, .min = min_, .max = __VA_ARGS__)
#define MEMORY_SETTING(name_, variable, default_, ... /* min */)                                          \
    SETTING_ROW(name_, SETTING_MEMORY, long long, variable, .default_number = default_, .max = LLONG_MAX, \
                .min = __VA_ARGS__)
#define ENUM_SETTING(name_, variable, default_, ... /* names */) \
    SETTING_ROW(name_, SETTING_ENUM, int, variable, .default_number = default_, .names = __VA_ARGS__)
#define STRING_SETTING(name_, variable, ... /* default */) \
    SETTING_ROW(name_, SETTING_STRING, char *, variable, .default_text = __VA_ARGS__)
#define BYTES_SETTING(name_, variable, ... /* default */) \
    SETTING_ROW(name_, SETTING_BYTES, char *, variable, .default_text = __VA_ARGS__)
#define SETTINGS_END \
    { .name = NULL }

#define SETTING_ROW(name_, type_, c_type, variable, ...) \
    { .name = name_, .type = type_, .value = _Generic((variable), c_type : &(variable)), __VA_ARGS__ }

/* Follows the table of a layer whose values are read by tests and tools that register nothing: stores the numbers of
 * its defaults before main() begins, so that the struct needs no initializer with the same numbers. */
#define SETTINGS_START_AT_DEFAULTS(rows) \
    __attribute__((constructor)) static void startAtDefaults(void) { settingStoreNumbers(rows); }
/* Stores the defaults of all rows that are numbers. */
void settingStoreNumbers(const setting *rows);
/* Stores the number of a setting that has one, unchecked. Returns false if its type is STRING, BYTES or SPECIAL. */
bool settingStoreNumber(const setting *s, long long number);

/* Adds a layer's table, which is borrowed for good. Call once for each table, at startup, before the configuration is
 * read. */
void settingRegister(const setting *rows);
/* Makes `apply` the function of the setting `name`, whose row has none. Borrows `name` for good. Call at startup, at
 * most once for each setting. */
void settingOnApply(const char *name, settingApplyFn *apply);
/* Returns the setting's function, that of its row or the registered one; NULL if there is none. */
settingApplyFn *settingApply(const setting *s);
/* Ends the process if settingOnApply() was called with a name that no registered table has. Call at startup, after all
 * layers have registered. */
void settingCheckAppliers(void);
/* Returns the registered tables in their order, ended by NULL. */
const setting *const *settingTables(void);

#endif
