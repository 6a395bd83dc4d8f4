/* function_table_test.c -- libraries that are added, deleted, replaced and collide, in a language for tests.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "function_table.h"
#include "toy_engine.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>

static const libraryFunction *find(const functionTable *t, const char *name) {
    return functionTableFind(t, sliceStr(name));
}

static functionTable *begin(void) {
    toyEngineUse();
    return functionTableCreate();
}

/* Frees the table and checks that nothing is left. */
static void end(functionTable *t) {
    CHECK_EQ_INT(toy_functions, (long long)t->count);
    functionTableFree(t, true);
    CHECK_EQ_INT(toy_functions, 0);
}

TEST(first_lines_that_are_none) {
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"", "Missing library metadata"},
        {"toy", "Missing library metadata"},
        {"#!toy name=a", "Invalid library metadata"},
        {"#!toy name=\"a\nf", "Invalid library metadata"},
        {"#!toy\nf", "Library name was not given"},
        {"#!\nf", "Library name was not given"},
        {"#!toy a\nf", "Invalid metadata value given: a"},
        {"#!toy name=a name=b\nf", "Invalid metadata value, name argument was given multiple times"},
        {"#!toy name=a-b\nf",
         "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"},
        {"#!toy name=\nf",
         "Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"},
        {"#!lua name=a\nf", "Engine 'lua' not found"},
        {"#!toy name=a\n", "No functions registered"},
        {"#!toy name=a\nf !wrong", "wrong"},
        {"#!toy name=a\nf f", "Function already exists in the library"},
        {"#!toy name=a\nf f-g",
         "Function names can only contain letters, numbers, or underscores(_) and must be at least one character long"},
    };
    functionTable *t = begin();
    for (size_t i = 0; i < array_len(cases); i++) toyLoad(t, cases[i].text, false, cases[i].error);
    CHECK_EQ_INT(t->count, 0);
    end(t);
}

TEST(functions_are_found_in_any_case_and_libraries_are_not) {
    functionTable *t = begin();
    toyLoad(t, "#!TOY NAME=lib\nfirst Second", false, NULL);
    toyLoad(t, "#!toy name=LIB\nthird", false, NULL);
    toyLoad(t, "#!toy name=lib\nfourth", false, "Library 'lib' already exists");
    toyLoad(t, "#!toy name=other\nSECOND", false, "Function SECOND already exists");
    CHECK_EQ_INT(t->count, 3);
    if (CHECK(find(t, "FIRST") != NULL)) CHECK_EQ_STR(find(t, "FIRST")->library->name, "lib");
    CHECK(find(t, "second") && find(t, "second")->description);
    CHECK(!find(t, "firs") && !find(t, "") && !find(t, "fourth"));
    CHECK(!functionTableDelete(t, sliceStr("Lib")));
    CHECK(functionTableDelete(t, sliceStr("lib")));
    CHECK(!find(t, "first") && find(t, "third"));
    end(t);
}

TEST(two_of_one_library_may_differ_by_case) {
    functionTable *t = begin();
    toyLoad(t, "#!toy name=lib\nf F", false, NULL);
    CHECK_EQ_INT(t->count, 2);
    CHECK(find(t, "f") != NULL);
    CHECK(functionTableDelete(t, sliceStr("lib")));
    CHECK(!find(t, "f"));
    end(t);
}

TEST(a_library_that_is_refused_leaves_the_one_before) {
    functionTable *t = begin();
    toyLoad(t, "#!toy name=lib\nf g", false, NULL);
    toyLoad(t, "#!toy name=two\nh", false, NULL);
    toyLoad(t, "#!toy name=lib\nx !wrong", true, "wrong");
    toyLoad(t, "#!toy name=lib\nx H", true, "Function H already exists");
    CHECK(find(t, "f") && find(t, "g") && !find(t, "x"));
    toyLoad(t, "#!toy name=lib\ng x", true, NULL);
    CHECK(!find(t, "f") && find(t, "g") && find(t, "x"));
    end(t);
}

static void join(functionTable *t, functionTable *from, bool replace, const char *want) {
    sds error = functionTableJoin(t, from, replace);
    CHECK_EQ_STR(error ? error : "", want);
    sdsFree(error);
}

TEST(all_of_several_libraries_or_none) {
    functionTable *t = begin(), *from = functionTableCreate();
    toyLoad(t, "#!toy name=a\nf1 f2", false, NULL);
    toyLoad(t, "#!toy name=b\ng1", false, NULL);
    toyLoad(from, "#!toy name=new\nh1", false, NULL);
    toyLoad(from, "#!toy name=a\nf1", false, NULL);
    join(t, from, false, "Library a already exists");
    toyLoad(from, "#!toy name=new\ng1", true, NULL);
    join(t, from, true, "Function g1 already exists");
    CHECK(find(t, "f2") && !find(t, "h1"));
    CHECK_EQ_INT(t->count + from->count, 5);
    /* Functions of a replaced library may return in another one. */
    toyLoad(from, "#!toy name=new\nF2", true, NULL);
    join(t, from, true, "");
    CHECK_EQ_INT(from->count, 0);
    CHECK_EQ_INT(t->count, 3);
    if (CHECK(find(t, "f2") != NULL)) CHECK_EQ_STR(find(t, "f2")->library->name, "new");
    functionTableFree(from, true);
    end(t);
}

TEST(many_libraries_keep_their_books) {
    enum { LIBRARIES = 40, STEPS = 4000 };
    functionTable *t = begin();
    size_t empty = functionTableMemory(t);
    bool there[LIBRARIES] = {false};
    for (int i = 0; i < STEPS; i++) {
        unsigned n = (unsigned)i * 7919u % LIBRARIES;
        char text[100], name[20];
        snprintf(name, sizeof(name), "lib%u", n);
        snprintf(text, sizeof(text), "#!toy name=%s\nf%u g%u_%d", name, n, n, i % 3);
        if (i % 5 == 0) CHECK(functionTableDelete(t, sliceStr(name)) == there[n]);
        else toyLoad(t, text, true, NULL);
        there[n] = i % 5 != 0;
        CHECK_EQ_INT(t->count % 2, 0);
    }
    size_t count = 0;
    for (unsigned n = 0; n < LIBRARIES; n++) {
        char name[20];
        snprintf(name, sizeof(name), "F%u", n);
        CHECK((find(t, name) != NULL) == there[n]);
        count += there[n] ? 2 : 0;
        snprintf(name, sizeof(name), "lib%u", n);
        functionTableDelete(t, sliceStr(name));
    }
    CHECK(count > 0);
    CHECK_EQ_INT(t->count, 0);
    CHECK_EQ_INT(t->bytes, 0);
    CHECK(functionTableMemory(t) >= empty);
    end(t);
}
