/* setting_test.c -- options as text: values, files, the command line, changes all or none, rewriting.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "acl.h"
#include "admin_settings.h"
#include "config.h"
#include "setting_rewrite.h"
#include "unit.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- A layer of its own --------------------------------------------------------------------------- */

static struct {
    bool on;
    long long number, bytes, share, mode, signed_bytes;
    int color, flags;
    char *text, *word;
    sds list;
    int applied;
    bool refuse_apply;
} conf;

static const settingName colors[] = {{"red", 1}, {"green", 2}, {"crimson", 1}, {NULL, 0}};
static const settingName flag_names[] = {{"none", 0}, {"a", 1}, {"b", 2}, {"c", 4}, {NULL, 0}};

static bool setList(const setting *s, char **words, int count, const char **err) {
    unused(s);
    for (int i = 0; i < count; i++)
        if (!*words[i]) {
            *err = "empty item";
            return false;
        }
    sdsFree(conf.list);
    conf.list = sdsJoin(words, count, " ");
    return true;
}

static sds getList(const setting *s) {
    unused(s);
    return conf.list ? sdsDup(conf.list) : sdsEmpty();
}

static bool applyCount(const char **err) {
    conf.applied++;
    *err = "no";
    return !conf.refuse_apply;
}

static bool checkWord(const char *text, long long number, const char **err) {
    unused(number);
    *err = "no x please";
    return !strchr(text, 'x');
}

static const setting test_settings[] = {
    {.name = "on", .type = SETTING_BOOL, .value = &conf.on, .default_number = true},
    {.name = "number",
     .alias = "zahl",
     .type = SETTING_INT,
     .value = &conf.number,
     .default_number = 5,
     .min = -1,
     .max = 10,
     .apply = applyCount},
    {.name = "bytes",
     .type = SETTING_MEMORY,
     .value = &conf.bytes,
     .default_number = 100 << 20,
     .max = LLONG_MAX,
     .apply = applyCount},
    {.name = "signed", .type = SETTING_MEMORY, .value = &conf.signed_bytes, .min = -1, .max = LLONG_MAX},
    {.name = "share", .type = SETTING_PERCENT_OR_MEMORY, .value = &conf.share, .max = LLONG_MAX},
    {.name = "mode", .type = SETTING_OCTAL, .value = &conf.mode, .max = 0777},
    {.name = "color", .type = SETTING_ENUM, .value = &conf.color, .default_number = 1, .names = colors},
    {.name = "flags", .type = SETTING_FLAGS, .value = &conf.flags, .names = flag_names},
    {.name = "text", .type = SETTING_STRING, .value = &conf.text},
    {.name = "word", .type = SETTING_STRING, .value = &conf.word, .empty_is_null = true, .check = checkWord},
    {.name = "list",
     .type = SETTING_SPECIAL,
     .flags = SETTING_MULTI_ARG | SETTING_ACCUMULATES,
     .default_text = "one two",
     .set = setList,
     .get = getList},
    {.name = "secret-knob", .type = SETTING_INT, .value = &conf.mode, .flags = SETTING_HIDDEN, .max = 9},
    SETTINGS_END,
};

static void start(void) {
    if (!*settingTables()) {
        settingRegister(test_settings);
        settingOnApply("share", applyCount);
        aclInit();
    }
    settingTableInit();
    conf.applied = 0;
    conf.refuse_apply = false;
}

/* Sets an option and returns its text afterwards, or the error. */
static const char *set(const char *name, const char *value) {
    static char answer[512];
    const char *err = NULL;
    sds given = sdsNew(value);
    const setting *s = settingFind(name)->entry->def;
    bool taken = settingSetText(s, given, &err);
    sdsFree(given);
    if (!taken) return err;
    sds text = settingText(s);
    snprintf(answer, sizeof(answer), "%s", text);
    sdsFree(text);
    return answer;
}

static const char *get(const char *name) {
    static char answer[512];
    sds text = settingText(settingFind(name)->entry->def);
    snprintf(answer, sizeof(answer), "%s", text);
    sdsFree(text);
    return answer;
}

/* ---- Values --------------------------------------------------------------------------------------- */

TEST(setting_values_numbers) {
    start();
    CHECK_EQ_STR(set("number", "-1"), "-1");
    CHECK_EQ_STR(set("ZAHL", "7"), "7");
    CHECK_EQ_STR(set("number", "11"), "argument must be between -1 and 10 inclusive");
    CHECK_EQ_STR(set("number", "07"), "argument couldn't be parsed into an integer");
    CHECK_EQ_STR(set("number", " 7"), "argument couldn't be parsed into an integer");
    CHECK_EQ_STR(set("number", ""), "argument couldn't be parsed into an integer");
    CHECK_EQ_STR(get("number"), "7");
    CHECK_EQ_STR(set("mode", "755"), "755");
    CHECK_EQ_INT(conf.mode, 0755);
    CHECK_EQ_STR(set("mode", "999"), "argument couldn't be parsed as an octal number");
    CHECK_EQ_STR(set("mode", "1000"), "argument must be between 0 and 777 inclusive");
    CHECK_EQ_STR(set("mode", ""), "0");
    CHECK_EQ_STR(set("on", "NO"), "no");
    CHECK_EQ_STR(set("on", "1"), "argument must be 'yes' or 'no'");
}

TEST(setting_values_memory) {
    static const struct {
        const char *in, *out;
    } cases[] = {{"1g", "1000000000"},
                 {"1gb", "1073741824"},
                 {"1GB", "1073741824"},
                 {"3k", "3000"},
                 {"3kb", "3072"},
                 {"5b", "5"},
                 {"", "0"},
                 {"gb", "0"},
                 {"01", "1"}};
    static const char *const bad[] = {"1tb", " 1", "1.5gb", "-1", "0x10", "+5", "1 gb", "18446744073709551616"};
    start();
    CHECK_EQ_STR(get("bytes"), "104857600");
    for (size_t i = 0; i < array_len(cases); i++) CHECK_EQ_STR(set("bytes", cases[i].in), cases[i].out);
    for (size_t i = 0; i < array_len(bad); i++) CHECK_EQ_STR(set("bytes", bad[i]), "argument must be a memory value");
    CHECK_EQ_STR(set("bytes", "9223372036854775808"), "argument must be between 0 and 9223372036854775807 inclusive");
    CHECK_EQ_STR(set("signed", "-1"), "-1");
    CHECK_EQ_STR(set("signed", "-2"), "argument must be between -1 and 9223372036854775807 inclusive");
    CHECK_EQ_STR(set("signed", "-1b"), "argument must be a memory value");
    CHECK_EQ_STR(set("share", "25%"), "25%");
    CHECK_EQ_INT(conf.share, -25);
    CHECK_EQ_STR(set("share", "0%"), "0");
    CHECK_EQ_STR(set("share", "101%"), "percentage argument must be less or equal to 100");
    CHECK_EQ_STR(set("share", "%"), "argument must be a memory or percent value");
    CHECK_EQ_STR(set("share", "x"), "argument must be a memory or percent value");
    CHECK_EQ_STR(set("share", "2mb"), "2097152");
}

TEST(setting_values_names) {
    start();
    CHECK_EQ_STR(set("color", "GREEN"), "green");
    CHECK_EQ_STR(set("color", "crimson"), "red");
    CHECK_EQ_STR(set("color", "blue"), "argument(s) must be one of the following: red, green, crimson");
    CHECK_EQ_STR(set("flags", "c a"), "a c");
    CHECK_EQ_STR(set("flags", "none b"), "b");
    CHECK_EQ_STR(set("flags", "a  b"), "argument(s) must be one of the following: none, a, b, c");
    CHECK_EQ_STR(set("flags", "none"), "none");
}

TEST(setting_values_strings) {
    start();
    CHECK_EQ_STR(set("text", "a b"), "a b");
    CHECK_EQ_STR(set("text", ""), "");
    CHECK(conf.text != NULL);
    CHECK_EQ_STR(set("word", "hello"), "hello");
    CHECK_EQ_STR(set("word", "x"), "no x please");
    CHECK_EQ_STR(set("word", ""), "");
    CHECK(conf.word == NULL);
    CHECK_EQ_STR(set("list", "a b c"), "a b c");
    CHECK_EQ_STR(set("list", "a  b"), "empty item");
    CHECK_EQ_STR(set("list", ""), "");
}

/* ---- Changing ------------------------------------------------------------------------------------- */

static bool change(char **texts, int count, const char **culprit, const char **err) {
    sds pairs[6];
    for (int i = 0; i < 2 * count; i++) pairs[i] = sdsNew(texts[i]);
    bool ok = configChange(pairs, count, culprit, err);
    for (int i = 0; i < 2 * count; i++) {
        if (!ok && *culprit == pairs[i]) *culprit = texts[i];
        sdsFree(pairs[i]);
    }
    return ok;
}

TEST(setting_change_is_all_or_none) {
    const char *culprit = NULL, *err = NULL;
    char *good[] = {"number", "6", "bytes", "1kb", "color", "green"};
    char *bad[] = {"number", "7", "color", "red", "bytes", "nonsense"};
    start();
    CHECK(change(good, 3, &culprit, &err));
    CHECK_EQ_INT(conf.applied, 1); /* one function, two options */
    CHECK(!change(bad, 3, &culprit, &err));
    CHECK_EQ_STR(culprit, "bytes");
    CHECK_EQ_STR(err, "argument must be a memory value");
    CHECK_EQ_STR(get("number"), "6");
    CHECK_EQ_STR(get("color"), "green");
    CHECK_EQ_INT(conf.applied, 1);
}

TEST(setting_change_that_fails_in_force_comes_back) {
    const char *culprit = NULL, *err = NULL;
    char *pairs[] = {"list", "x y", "number", "8"};
    start();
    conf.refuse_apply = true;
    CHECK(!change(pairs, 2, &culprit, &err));
    CHECK_EQ_STR(culprit, "number");
    CHECK_EQ_STR(err, "no");
    CHECK_EQ_STR(get("number"), "5");
    CHECK_EQ_STR(get("list"), "one two");
    CHECK_EQ_INT(conf.applied, 2);
}

TEST(setting_change_to_the_same_value_applies_nothing) {
    const char *culprit = NULL, *err = NULL;
    char *pairs[] = {"number", "5"};
    start();
    CHECK(change(pairs, 1, &culprit, &err));
    CHECK_EQ_INT(conf.applied, 0);
}

TEST(setting_change_applies_by_a_function_registered_by_name) {
    const char *culprit = NULL, *err = NULL;
    char *pairs[] = {"share", "7%", "number", "3"};
    start();
    CHECK(change(pairs, 1, &culprit, &err));
    CHECK_EQ_INT(conf.applied, 1);
    pairs[1] = "8%";
    CHECK(change(pairs, 2, &culprit, &err));
    CHECK_EQ_INT(conf.applied, 2); /* one function, two options */
}

/* ---- Files ---------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/setting_test.XXXXXX";

static void enterFolder(void) {
    static bool made;
    if (!made) CHECK(mkdtemp(folder) != NULL);
    made = true;
    CHECK_EQ_INT(chdir(folder), 0);
}

static void write_(const char *name, const char *text) {
    FILE *f = fopen(name, "w");
    if (!CHECK(f != NULL)) return;
    fputs(text, f);
    fclose(f);
}

static void load(char **words) {
    int count = 0;
    while (words[count]) count++;
    start();
    settingFileLoad(count, words);
}
#define LOAD(...) load((char *[]){__VA_ARGS__, NULL})

TEST(setting_file_lines) {
    enterFolder();
    write_("a.conf", "# comment\n\n  number\t7  \r\nTEXT \"a \\x41\\n\"\nword 'it\\'s'\nlist x y\nbytes 2mb");
    LOAD("a.conf");
    CHECK_EQ_STR(get("number"), "7");
    CHECK_EQ_STR(get("text"), "a A\n");
    CHECK_EQ_STR(get("word"), "it's");
    CHECK_EQ_STR(get("list"), "x y");
    CHECK_EQ_STR(get("bytes"), "2097152");
    sds path = sdsCatPrintf(sdsEmpty(), "%s/a.conf", folder);
    CHECK_EQ_STR(settingFilePath(), path);
    sdsFree(path);
}

TEST(setting_file_lines_that_add_up) {
    enterFolder();
    write_("a.conf", "list a\nlist b c\n");
    LOAD("a.conf");
    CHECK_EQ_STR(get("list"), "a b c");
    LOAD("a.conf", "--list", "d");
    CHECK_EQ_STR(get("list"), "a b c d");
    LOAD("a.conf", "--list", "");
    CHECK_EQ_STR(get("list"), "");
    write_("b.conf", "list a\nlist \"\"\nlist z\n");
    LOAD("b.conf");
    CHECK_EQ_STR(get("list"), "z");
    write_("b.conf", "include a.conf\nlist z\n");
    LOAD("b.conf");
    CHECK_EQ_STR(get("list"), "z");
    write_("b.conf", "list z\ninclude a.conf\n");
    LOAD("b.conf");
    CHECK_EQ_STR(get("list"), "z a b c");
}

TEST(setting_file_lines_without_a_value) {
    enterFolder();
    write_("a.conf", "list \n");
    LOAD("a.conf");
    CHECK_EQ_STR(get("list"), "");
    write_("a.conf", "list a\nlist\nlist b\n");
    LOAD("a.conf");
    CHECK_EQ_STR(get("list"), "a b");
    write_("a.conf", "flags \"a  c\"\nlist \" x  y \"\nsentinel\n");
    LOAD("a.conf");
    CHECK_EQ_STR(get("flags"), "a c");
    CHECK_EQ_STR(get("list"), "x y");
}

TEST(setting_file_includes) {
    enterFolder();
    CHECK(mkdir("sub", 0700) == 0);
    write_("sub/10.inc", "number 1\n");
    write_("sub/20.inc", "number 2\ntext twenty\n");
    write_("sub/.30.inc", "number 3\n");
    write_("a.conf", "include sub/*.inc\ninclude nothing-*.conf\ninclude s?b/1[0-9].inc\n");
    LOAD("a.conf");
    CHECK_EQ_STR(get("number"), "1");
    CHECK_EQ_STR(get("text"), "twenty");
}

TEST(setting_command_line) {
    enterFolder();
    write_("a.conf", "number 7\n");
    LOAD("--number", "3", "--flags", "a", "b", "--text", "--odd", "--on", "no", "--word", "");
    CHECK_EQ_STR(get("number"), "3");
    CHECK_EQ_STR(get("flags"), "a b");
    CHECK_EQ_STR(get("text"), "--odd");
    CHECK_EQ_STR(get("on"), "no");
    CHECK(settingFilePath() == NULL);
    LOAD("a.conf", "--number", "-1");
    CHECK_EQ_STR(get("number"), "-1");
    LOAD("--number 4");
    CHECK_EQ_STR(get("number"), "4");
}

static void loadInChild(void *arg) { load(arg); }

/* Returns what a load prints that ends the process. */
static const char *fatal(char **words) {
    static char output[1024];
    int status = unitInChild(loadInChild, words, output, sizeof(output));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    return output;
}
#define FATAL(...) fatal((char *[]){__VA_ARGS__, NULL})

TEST(setting_errors_end_the_process) {
    enterFolder();
    CHECK_EQ_STR(FATAL("--number", "x"), "\n*** FATAL CONFIG FILE ERROR (Version 9.1.2) ***\n"
                                         "Reading the configuration file, at line 2\n>>> 'number \"x\"'\n"
                                         "argument couldn't be parsed into an integer\n");
    CHECK_EQ_STR(FATAL("--number", "--on", "no"), "\n*** FATAL CONFIG FILE ERROR (Version 9.1.2) ***\n"
                                                  "Reading the configuration file, at line 2\n"
                                                  ">>> 'number \"--on\" \"no\"'\nwrong number of arguments\n");
    write_("bad.conf", "number 1\n# x\n  nosuch 1 \n");
    CHECK_EQ_STR(FATAL("bad.conf"), "\n*** FATAL CONFIG FILE ERROR (Version 9.1.2) ***\n"
                                    "Reading the configuration file, at line 3\n>>> 'nosuch 1'\n"
                                    "Bad directive or wrong number of arguments\n");
    write_("bad.conf", "text \"abc\n");
    CHECK(strstr(FATAL("bad.conf"), "Unbalanced quotes in configuration line\n") != NULL);
    write_("bad.conf", "flags\n");
    CHECK(strstr(FATAL("bad.conf"), "argument(s) must be one of the following: none, a, b, c\n") != NULL);
    write_("bad.conf", "sentinel x\n");
    CHECK(strstr(FATAL("bad.conf"), "sentinel directive while not in sentinel mode\n") != NULL);
    write_("bad.conf", "include bad.conf\n");
    CHECK(strstr(FATAL("bad.conf"), "Too many nested includes\n") != NULL);
    CHECK(strstr(FATAL("--number"), ">>> 'number'\nwrong number of arguments\n") != NULL);
    CHECK(strstr(FATAL("--include", "nosuch.conf"), "Fatal error, can't open config file 'nosuch.conf': No such") !=
          NULL);
}

/* ---- Rewriting ------------------------------------------------------------------------------------ */

static const char *rewritten(const char *old) {
    static char answer[2048];
    sds why, text = sdsNew(old), fresh = settingRewriteText(text, &why);
    snprintf(answer, sizeof(answer), "%s", fresh ? fresh : why);
    sdsFree(why);
    sdsFree(text);
    sdsFree(fresh);
    return answer;
}

TEST(setting_rewrite_keeps_what_it_need_not_change) {
    start();
    CHECK_EQ_STR(rewritten("# head\n\nINCLUDE  *.nothing\n\n\nzahl 9\n"),
                 "# head\n\nINCLUDE  *.nothing\n\n\nnumber 5\n");
    CHECK_EQ_STR(rewritten(""), "");
}

TEST(setting_rewrite_replaces_removes_and_appends) {
    start();
    set("number", "7"), set("list", "p q"), set("text", "a\"b"), set("share", "5%"), set("flags", "a b");
    CHECK_EQ_STR(rewritten("list a\nlist b\nlist c\nword gone\n# tail\nbytes 1\n"),
                 "list p q\n\n# tail\nbytes 100mb\n\n# Generated by CONFIG REWRITE\nnumber 7\nshare 5%\nflags a b\n"
                 "text \"a\\\"b\"\n");
    sds once = sdsNew(rewritten("list a\n"));
    CHECK_EQ_STR(rewritten(once), once);
    sdsFree(once);
    CHECK_EQ_STR(rewritten("io-threads-do-reads yes\nnumber 7\nshare 0\nflags a\ntext z\nlist y\n"),
                 "# ??? io-threads-do-reads yes\nnumber 7\nshare 5%\nflags a b\ntext \"a\\\"b\"\nlist p q\n");
}

TEST(setting_rewrite_is_refused_where_the_file_would_not_start) {
    start();
    CHECK_EQ_STR(
        rewritten("number 5\nunknown thing\n"),
        "the server would not start with the new file: line 2 of it: Bad directive or wrong number of arguments");
    CHECK_EQ_STR(rewritten("include /nosuch-folder/x\n"), "the server would not start with the new file: can't open "
                                                          "config file '/nosuch-folder/x': No such file or directory");
    CHECK_EQ_STR(
        rewritten("loadmodule m\n"),
        "the server would not start with the new file: line 1 of it: Modules are not supported by this version");
    CHECK_EQ_STR(rewritten("user x on\nrename-command nosuch x\n"),
                 "the server would not start with the new file: line 2 of it: No such command in rename-command");
    enterFolder();
    write_("sub/10.inc", "number 99\n");
    const char *refusal = rewritten("include sub/10.inc\n");
    CHECK(strstr(refusal, "the server would not start with the new file: line 1 of it, which includes '") == refusal);
    CHECK(strstr(refusal, "/sub/10.inc': argument must be between -1 and 10 inclusive") != NULL);
    CHECK_EQ_STR(get("number"), "5");
}

TEST(setting_rewrite_has_the_last_word_after_includes) {
    enterFolder();
    write_("sub/10.inc", "number 9\nlist x y\ntext included\nword included\nflags a\n");
    write_("a.conf", "number 1\ninclude sub/10.inc\nlist z\n");
    LOAD("a.conf");
    CHECK_EQ_STR(get("number"), "9");
    CHECK_EQ_STR(get("list"), "z");
    set("number", "5"), set("word", ""), set("flags", "none");
    CHECK_EQ_STR(rewritten("number 1\ninclude sub/10.inc\nlist z\n"),
                 "\ninclude sub/10.inc\nlist z\n\n# Generated by CONFIG REWRITE\ntext \"included\"\nnumber 5\n"
                 "flags none\nword \"\"\n");
    set("text", "a\"\n\\\xff b");
    sds once = sdsNew(rewritten("number 1\ninclude sub/10.inc\nlist z\n"));
    CHECK_EQ_STR(rewritten(once), once);
    write_("b.conf", once);
    sdsFree(once);
    LOAD("b.conf");
    CHECK_EQ_STR(get("number"), "5");
    CHECK_EQ_STR(get("word"), "");
    CHECK_EQ_STR(get("flags"), "none");
    CHECK_EQ_STR(get("text"), "a\"\n\\\xff b");
    CHECK_EQ_STR(get("list"), "z");
}

TEST(setting_rewrite_of_a_file_keeps_its_mode) {
    struct stat st;
    enterFolder();
    write_("a.conf", "number 7\n");
    CHECK_EQ_INT(chmod("a.conf", 0600), 0);
    LOAD("a.conf");
    set("number", "8");
    sds why;
    CHECK(settingRewrite(settingFilePath(), &why));
    CHECK_EQ_INT(stat("a.conf", &st), 0);
    CHECK_EQ_INT(st.st_mode & 0777, 0600);
    LOAD("a.conf");
    CHECK_EQ_STR(get("number"), "8");
    CHECK(!settingRewrite("/nosuch-folder/x.conf", &why));
    CHECK_EQ_STR(why, "No such file or directory");
    sdsFree(why);
}

TEST(setting_test_folder_is_removed) {
    static const char *const names[] = {"a.conf", "b.conf", "bad.conf", "sub/10.inc", "sub/20.inc", "sub/.30.inc"};
    enterFolder();
    for (size_t i = 0; i < array_len(names); i++) unlink(names[i]);
    CHECK_EQ_INT(rmdir("sub"), 0);
    CHECK_EQ_INT(chdir("/"), 0);
    CHECK_EQ_INT(rmdir(folder), 0);
}
