/* setting_trial.c -- loads a configuration without effect, to see which settings and users it would give.
 *
 * Each line is checked as at startup, but values are kept as texts: nothing of the running server changes. Commands are
 * renamed in a list of names, users are kept as lines, and a relative include is resolved as at startup.
 *
 * Not here    the syntax of lines (setting_lines.c), the text of values (setting_text.c), users (acl_lines.c).
 * Owns        nothing: the caller owns a trial.
 * Threads     main.
 * Tests       tests/server/config_rewrite.tcl, tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "setting_trial.h"

#include "acl.h"
#include "command_table.h"
#include "engine_settings.h"
#include "rax.h"
#include "setting_file.h"
#include "setting_lines.h"
#include "zmalloc.h"

#include <string.h>

struct settingTrial {
    sds *texts;         /* owns: by index of the entry */
    bool *accumulating; /* owns: by index of the entry: the text that is being loaded has set it before */
    rax *names;         /* owns: the present names of commands, in lower case */
    aclLines *users;    /* owns */
    sds folder;         /* owns: the working directory at this line */
    bool in_extra;      /* the file is done: further values are checked and not stored */
};

/* ---- Lines ---------------------------------------------------------------------------------------- */

/* Returns the value of an accumulating setting after these words were added to those of earlier lines. */
static sds previewAdded(const setting *s, const sds before, sds *words, int count, const char **err) {
    sds joined = sdsDup(before);
    for (int i = 0; i < count; i++) joined = sdsCatPrintf(joined, "%s%s", sdsLen(joined) ? " " : "", words[i]);
    sds text = settingPreview(s, before, &joined, 1, err);
    sdsFree(joined);
    return text;
}

static void enterFolder(settingTrial *t, const sds folder) {
    sdsFree(t->folder);
    t->folder = sdsDup(folder);
}

static const char *trySetting(void *arg, settingEntry *e, sds *words, int count) {
    settingTrial *t = arg;
    size_t total, i = (size_t)(e - settingEntries(&total));
    const char *err = NULL;
    bool is_folder = !strcmp(e->def->name, "dir");
    bool adds = (e->def->flags & SETTING_ACCUMULATES) && t->accumulating[i] && !(count == 1 && !*words[0]);
    t->accumulating[i] = true;
    sds path = is_folder && count == 1 && *words[0] && *words[0] != '/'
                   ? sdsCatPrintf(sdsEmpty(), "%s/%s", t->folder, words[0])
                   : NULL;
    sds text = adds ? previewAdded(e->def, t->texts[i], words, count, &err)
                    : settingPreview(e->def, t->texts[i], path ? &path : words, count, &err);
    sdsFree(path);
    if (!text) return err;
    if (is_folder) enterFolder(t, text);
    sdsFree(t->in_extra ? text : t->texts[i]);
    if (!t->in_extra) t->texts[i] = text;
    return NULL;
}

static const char *tryUser(void *arg, sds *words, int count) {
    return aclLinesAdd(((settingTrial *)arg)->users, words, count);
}

static const char *tryRename(void *arg, const sds from, const sds to) {
    settingTrial *t = arg;
    const char *err = NULL;
    sds old = sdsNew(from), new = sdsNew(to);
    sdsToLower(old), sdsToLower(new);
    if (!raxFind(t->names, sdsSlice(old), NULL)) err = "No such command in rename-command";
    else if (sdsLen(new) && raxFind(t->names, sdsSlice(new), NULL)) err = "Target command name already exists";
    if (!err) {
        raxRemove(t->names, sdsSlice(old), NULL);
        if (sdsLen(new)) raxInsert(t->names, sdsSlice(new), NULL, NULL);
    }
    sdsFree(old), sdsFree(new);
    return err;
}

static void endText(void *arg) {
    settingTrial *t = arg;
    size_t count;
    settingEntries(&count);
    memset(t->accumulating, 0, count * sizeof(bool));
}

static const char *folderOf(void *arg) { return ((settingTrial *)arg)->folder; }

/* ---- A trial -------------------------------------------------------------------------------------- */

static void addName(void *arg, const serverCommand *cmd) { raxInsert(arg, sliceStr(cmd->fullname), NULL, NULL); }

static settingTrial *settingTrialCreate(void) {
    size_t count;
    const settingEntry *entries = settingEntries(&count);
    settingTrial *t = zcalloc(1, sizeof(*t));
    t->texts = zcalloc(count + 1, sizeof(sds));
    t->accumulating = zcalloc(count + 1, sizeof(bool));
    for (size_t i = 0; i < count; i++) t->texts[i] = sdsDup(entries[i].default_value);
    t->names = raxCreate();
    commandEachRegistered(addName, t->names);
    t->users = aclLinesCreate();
    t->folder = sdsNew(settingFileFolder());
    return t;
}

void settingTrialFree(settingTrial *t) {
    size_t count;
    settingEntries(&count);
    for (size_t i = 0; i < count; i++) sdsFree(t->texts[i]);
    zfree(t->texts);
    zfree(t->accumulating);
    raxRelease(t->names, NULL);
    aclLinesFree(t->users);
    sdsFree(t->folder);
    zfree(t);
}

/* Returns the error text for a user. It has no word of the line, which may be a password. */
static sds faultText(const lineFault *fault, bool in_extra) {
    sds out = sdsNew("the server would not start with the new file: ");
    if (!fault->number) return sdsCatPrintf(out, "can't open config file '%s': %s", fault->path, fault->why);
    out = sdsCatPrintf(out, "line %d of %s", fault->number, in_extra ? "the command line" : "it");
    if (fault->path) out = sdsCatPrintf(out, ", which includes '%s'", fault->path);
    return sdsCatPrintf(out, ": %s", fault->why);
}

settingTrial *settingTrialRun(const sds text, sds *why) {
    settingTrial *t = settingTrialCreate();
    const lineTaker taker = {trySetting, tryUser, tryRename, endText, folderOf, t};
    lineFault fault;
    bool ok = settingLinesRead(text, &taker, &fault);
    if (ok && settingFileExtra()) {
        t->in_extra = true;
        ok = settingLinesRead(settingFileExtra(), &taker, &fault);
    }
    if (ok) return t;
    *why = faultText(&fault, t->in_extra);
    lineFaultFree(&fault);
    settingTrialFree(t);
    return NULL;
}

sds settingTrialText(const settingTrial *t, size_t entry) { return t->texts[entry]; }

const aclLines *settingTrialUsers(const settingTrial *t) { return t->users; }

static sds usersDiffer(const settingTrial *t) {
    if (!engine_settings.aclfile) return aclLinesDiffer(t->users);
    return aclLinesEmpty(t->users) ? NULL : sdsNew("users would be defined outside the aclfile");
}

sds settingTrialDiffer(const settingTrial *t) {
    size_t count;
    const settingEntry *entries = settingEntries(&count);
    for (size_t i = 0; i < count; i++) {
        sds now = settingText(entries[i].def);
        bool same = !sdsCmp(now, t->texts[i]);
        sdsFree(now);
        if (!same)
            return sdsCatPrintf(sdsEmpty(), "option '%s' would have another value than now", entries[i].def->name);
    }
    return usersDiffer(t);
}
