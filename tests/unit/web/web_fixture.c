/* web_fixture.c -- a table of commands with INFO, and users.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "web_fixture.h"

#include "clock.h"
#include "panic.h"
#include "unit.h"

static void handler(client *c) { unused(c); }

static serverCommand hotkeys[] = {{.name = "get", .proc = handler, .arity = 2, .acl_categories = ACL_CATEGORY_SLOW}};
static serverCommand commands[] = {{.name = "get", .proc = handler, .arity = 2, .acl_categories = ACL_CATEGORY_READ},
                                   {.name = "info", .proc = handler, .arity = -1, .acl_categories = ACL_CATEGORY_SLOW},
                                   {.name = "hotkeys",
                                    .arity = -2,
                                    .acl_categories = ACL_CATEGORY_SLOW,
                                    .subcommands = hotkeys,
                                    .nsubcommands = array_len(hotkeys)}};

void webFixture(void) {
    static bool done;
    if (done) return;
    done = true;
    panicSetMainThread();
    clockInit();
    clientsInit();
    commandTableRegister(commands, array_len(commands));
    commandTableSeal();
    aclInit();
}

void setUser(const char *name, const char *words) {
    int count;
    sds *list = sdsSplitArgs(words, &count);
    slice slices[16];
    for (int i = 0; i < count; i++) slices[i] = sdsSlice(list[i]);
    sds err = aclSetUser(sliceStr(name), slices, count, false);
    CHECK(err == NULL);
    sdsFree(err);
    sdsFreeSplitRes(list, count);
}
