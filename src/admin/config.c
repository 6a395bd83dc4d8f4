/* config.c -- the CONFIG command: reads settings, and changes several of them together or none.
 *
 * A change has three steps, each of which may fail: checking whether the settings may be changed now; storing each
 * value if it is valid; calling the functions that apply them. If it fails, the texts that were saved before the second
 * step are stored again, and the functions that had been called are called again.
 *
 * Not here    the table of settings (setting_table.c), values as text (setting_text.c), files (setting_file.c,
 *             setting_rewrite.c).
 * Threads     main.
 * Invariants  1. After a refused CONFIG SET each setting has its old value.
 * Cost        CONFIG GET of a pattern matches each name once per pattern.
 * Tests       tests/unit/admin/setting_test.c, tests/differential/config_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "config.h"

#include "admin_settings.h"
#include "command_memory.h"
#include "slice.h"
#include "info_table.h"
#include "loading.h"
#include "log.h"
#include "memory_gate.h"
#include "panic.h"
#include "redact.h"
#include "reply.h"
#include "setting_rewrite.h"
#include "zmalloc.h"

/* Finds a setting by name. A name with a NUL byte is unknown. */
static settingRow *findWhole(const sds name) { return strlen(name) == sdsLen(name) ? settingFind(name) : NULL; }

/* ---- SET ------------------------------------------------------------------------------------------ */

typedef struct change {
    settingRow *row;  /* borrowed */
    const char *name; /* borrowed: as the client spelled it */
    char *value;      /* borrowed */
    sds old;          /* owns: the text before the change */
} change;

static bool textDiffers(const change *ch) {
    sds now = settingText(ch->row->entry->def);
    bool differs = sdsCmp(now, ch->old) != 0;
    sdsFree(now);
    return differs;
}

/* Returns whether an earlier change has the same apply function. It is called once for both. */
static bool appliedBefore(const change *changes, int index) {
    for (int i = 0; i < index; i++)
        if (settingApply(changes[i].row->entry->def) == settingApply(changes[index].row->entry->def)) return true;
    return false;
}

static const change *storeAll(const change *changes, int count, const char **err) {
    for (int i = 0; i < count; i++) {
        if (!settingSetText(changes[i].row->entry->def, changes[i].value, err)) return &changes[i];
    }
    return NULL;
}

static const change *applyAll(const change *changes, int count, const bool *must_apply, const char **err) {
    for (int i = 0; i < count; i++) {
        settingApplyFn *apply = settingApply(changes[i].row->entry->def);
        if (must_apply[i] && apply && !appliedBefore(changes, i) && !apply(err)) return &changes[i];
    }
    return NULL;
}

/* Marks the changes whose apply function must run. A function may serve several settings: it runs if any of them has
 * changed. */
static void markChanged(const change *changes, int count, bool *must_apply) {
    for (int i = 0; i < count; i++) {
        const setting *s = changes[i].row->entry->def;
        if (!(s->flags & SETTING_VOLATILE) && !textDiffers(&changes[i])) continue;
        for (int j = 0; j < count; j++)
            if (settingApply(changes[j].row->entry->def) == settingApply(s)) must_apply[j] = true;
    }
}

static void restoreAll(const change *changes, int count, const bool *must_apply, bool apply) {
    const char *err = NULL;
    for (int i = count - 1; i >= 0; i--) settingRestore(changes[i].row->entry->def, changes[i].old);
    if (apply && applyAll(changes, count, must_apply, &err))
        serverLog(LL_WARNING, "CONFIG SET failed, and the previous values could not be restored: %s", err);
}

static const change *changeAll(const change *changes, int count, const char **err) {
    bool *must_apply = zcalloc((size_t)count, sizeof(bool));
    const change *culprit = storeAll(changes, count, err);
    if (culprit) {
        restoreAll(changes, (int)(culprit - changes), must_apply, false);
    } else {
        markChanged(changes, count, must_apply);
        culprit = applyAll(changes, count, must_apply, err);
        if (culprit) {
            serverLog(LL_WARNING, "CONFIG SET: %s cannot be applied. Restoring the previous values.", culprit->name);
            restoreAll(changes, count, must_apply, true);
        }
    }
    zfree(must_apply);
    return culprit;
}

static void notePending(const change *changes, int count) {
    for (int i = 0; i < count; i++)
        if ((changes[i].row->entry->def->flags & SETTING_PENDING) && textDiffers(&changes[i]))
            serverLog(LL_NOTICE, "CONFIG SET: '%s' is stored but has no effect in this version", changes[i].name);
}

bool configChange(sds *pairs, int count, const char **culprit, const char **err) {
    change *changes = zcalloc((size_t)count + 1, sizeof(change));
    for (int i = 0; i < count; i++) {
        settingRow *row = settingFind(pairs[2 * i]);
        serverAssert(row != NULL);
        changes[i] = (change){row, pairs[2 * i], pairs[2 * i + 1], settingText(row->entry->def)};
    }
    const change *bad = changeAll(changes, count, err);
    if (bad) *culprit = bad->name;
    else notePending(changes, count);
    for (int i = 0; i < count; i++) sdsFree(changes[i].old);
    zfree(changes);
    return !bad;
}

/* Returns why this client may not change the setting, or NULL. */
static const char *whyForbidden(const client *c, const setting *s) {
    if (s->flags & SETTING_IMMUTABLE) return "can't set immutable config";
    if (!(s->flags & SETTING_PROTECTED) || admin_settings.enable_protected_configs == ACCESS_YES) return NULL;
    if (admin_settings.enable_protected_configs == ACCESS_LOCAL && clientIsLocal(c)) return NULL;
    return "can't set protected config";
}

static void replyRefused(client *c, const char *name, const char *err) {
    addReplyErrorFormat(c, "CONFIG SET failed (possibly related to argument '%s') - %s", name, err);
}

/* Returns whether the same name comes earlier. A name and its alias count as two names. */
static bool namedBefore(char **pairs, int index, const settingRow *row) {
    for (int i = 0; i < index; i++)
        if (settingFind(pairs[2 * i]) == row) return true;
    return false;
}

/* Returns false after an error reply. */
static bool allowedAll(client *c, sds *pairs, int count) {
    for (int i = 0; i < count; i++) {
        const settingRow *row = findWhole(pairs[2 * i]);
        if (!row) {
            addReplyErrorFormat(c, "Unknown option or number of arguments for CONFIG SET - '%s'", pairs[2 * i]);
            return false;
        }
        if (row->entry->def->flags & SETTING_DENY_LOADING && loadingIsActive()) {
            loadingRefuse(c);
            return false;
        }
        const char *err = whyForbidden(c, row->entry->def);
        if (!err && namedBefore(pairs, i, row)) err = "duplicate parameter";
        if (err) {
            replyRefused(c, pairs[2 * i], err);
            return false;
        }
    }
    return true;
}

void configSetCommand(client *c) {
    const char *culprit = NULL, *err = NULL;
    if (c->argc & 1) {
        addReplySyntaxError(c);
        return;
    }
    /* Reserves memory for old and new values, both stored and as texts. */
    if (c->req && !commandMemoryReserve(c, 8 * (size_t)c->req->wire_len)) return;
    int count = (int)(c->argc - 2) / 2;
    sds *pairs = zmalloc(2 * (size_t)count * sizeof(sds));
    for (int i = 0; i < 2 * count; i++) pairs[i] = sdsFromSlice(c->argv[2 + i]);
    for (int i = 0; i < 2 * count; i += 2) {
        const settingRow *row = settingFind(pairs[i]);
        if (row && row->entry->def->flags & SETTING_SENSITIVE) redactArgument(c, (uint32_t)(3 + i));
    }
    if (allowedAll(c, pairs, count)) {
        if (configChange(pairs, count, &culprit, &err)) addReplyOk(c);
        else replyRefused(c, culprit, err);
        memoryGateUpdate(); /* a new limit is effective for the next command of the batch */
    }
    sdsFreeSplitRes(pairs, 2 * count);
}

/* ---- GET ------------------------------------------------------------------------------------------ */

/* The rows that a CONFIG GET has found, each with the name that it is shown under. */
typedef struct found {
    slice *names; /* owns the array; len 0: not found */
    size_t count;
} found;

static void findPattern(found *f, slice pattern, const settingRow *rows, size_t nrows) {
    for (size_t i = 0; i < nrows; i++) {
        slice name = sliceStr(rows[i].name);
        if (f->names[i].len || (rows[i].entry->def->flags & SETTING_HIDDEN)) continue;
        if (!globMatch(pattern, name, true)) continue;
        f->names[i] = name;
        f->count++;
    }
}

static void findExact(found *f, slice asked, const settingRow *rows) {
    sds name = sdsFromSlice(asked);
    const settingRow *row = findWhole(name);
    sdsFree(name);
    if (!row || f->names[row - rows].len) return;
    f->names[row - rows] = asked;
    f->count++;
}

static bool isPattern(slice s) {
    for (size_t i = 0; i < s.len; i++)
        if (strchr("*?[", s.ptr[i])) return true;
    return false;
}

void configGetCommand(client *c) {
    size_t nrows;
    const settingRow *rows = settingRows(&nrows);
    found f = {zcalloc(nrows + 1, sizeof(slice)), 0};
    for (uint32_t i = 2; i < c->argc; i++) {
        /* A pattern ends at a NUL byte. A plain name with a NUL byte is unknown. */
        slice pattern = sliceOf(c->argv[i].ptr, strnlen(c->argv[i].ptr, c->argv[i].len));
        if (isPattern(pattern)) findPattern(&f, pattern, rows, nrows);
        else findExact(&f, c->argv[i], rows);
    }
    addReplyMapLen(c, (long long)f.count);
    for (size_t i = 0; i < nrows; i++) {
        if (!f.names[i].len) continue;
        addReplyBulk(c, f.names[i]);
        addReplyBulkSds(c, settingText(rows[i].entry->def));
    }
    zfree(f.names);
}

/* ---- The rest ------------------------------------------------------------------------------------- */

void configResetstatCommand(client *c) {
    infoTableReset();
    addReplyOk(c);
}

void configRewriteCommand(client *c) {
    if (!settingFilePath()) {
        addReplyError(c, "The server is running without a config file");
        return;
    }
    sds why;
    if (settingRewrite(settingFilePath(), &why)) {
        serverLog(LL_NOTICE, "CONFIG REWRITE executed with success.");
        addReplyOk(c);
        return;
    }
    serverLog(LL_WARNING, "CONFIG REWRITE failed: %s", why);
    addReplyErrorFormat(c, "Rewriting config file: %s", why);
    sdsFree(why);
}
