/* web_access_test.c -- access to the metrics port: users on and off, passwords, INFO allowed or not.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "web_access.h"

#include "unit.h"
#include "web_fixture.h"

static bool may_see_keys; /* result of the last request */

static int ask(const char *name, const char *password) {
    webAccess *a = webAccessMake(true);
    int status = webAccessCheck(a, sliceStr(name), sliceStr(password), &may_see_keys);
    webAccessFree(a);
    return status;
}

static int askAnonymous(void) {
    webAccess *a = webAccessMake(true);
    int status = webAccessCheckAnonymous(a, &may_see_keys);
    webAccessFree(a);
    return status;
}

static bool isLocal(bool is_protected) {
    webAccess *a = webAccessMake(is_protected);
    bool local = webAccessIsLocal(a);
    webAccessFree(a);
    return local;
}

TEST(web_access_of_the_default_user) {
    webFixture();
    CHECK_EQ_INT(askAnonymous(), 200);
    CHECK(may_see_keys);
    CHECK_EQ_INT(ask("default", "anything"), 200);
    CHECK(may_see_keys);
    CHECK(isLocal(true) && !isLocal(false));
    setUser("default", ">secret");
    CHECK_EQ_INT(askAnonymous(), 401);
    CHECK_EQ_INT(ask("default", "secret"), 200);
    CHECK_EQ_INT(ask("default", "Secret"), 401);
    CHECK_EQ_INT(ask("default", ""), 401);
    CHECK(!isLocal(true));
    setUser("default", "nopass -hotkeys");
    CHECK_EQ_INT(askAnonymous(), 200);
    CHECK(!may_see_keys);
    setUser("default", "nopass -info");
    CHECK_EQ_INT(askAnonymous(), 403);
    setUser("default", "off");
    CHECK_EQ_INT(askAnonymous(), 401);
    CHECK_EQ_INT(ask("default", "x"), 401);
    setUser("default", "on resetpass nopass +@all");
    CHECK_EQ_INT(askAnonymous(), 200);
}

TEST(web_access_of_others) {
    webFixture();
    setUser("default", ">secret");
    setUser("collector", "on >one >two +info");
    CHECK_EQ_INT(ask("collector", "one"), 200);
    CHECK(!may_see_keys); /* permission to see figures does not include names of keys */
    setUser("collector", "+hotkeys|get");
    CHECK_EQ_INT(ask("collector", "two"), 200);
    CHECK(may_see_keys);
    CHECK_EQ_INT(ask("collector", "none"), 401);
    CHECK(!may_see_keys);
    CHECK_EQ_INT(ask("collector", "three"), 401);
    CHECK_EQ_INT(ask("Collector", "one"), 401);
    setUser("collector", "<one");
    CHECK_EQ_INT(ask("collector", "one"), 401);
    setUser("collector", "-info +get");
    CHECK_EQ_INT(ask("collector", "two"), 403);
    setUser("collector", "(+info)"); /* a selector may allow it */
    CHECK_EQ_INT(ask("collector", "two"), 200);
    setUser("collector", "off");
    CHECK_EQ_INT(ask("collector", "two"), 401);
    CHECK_EQ_INT(ask("", ""), 401);
    slice name = sliceStr("collector");
    uint64_t before = webAccessVersion();
    CHECK_EQ_INT(aclDeleteUsers(&name, 1), 1);
    CHECK(webAccessVersion() > before);
    CHECK_EQ_INT(ask("collector", "two"), 401);
    setUser("default", "nopass");
}

TEST(web_access_version_grows) {
    webFixture();
    uint64_t before = webAccessVersion();
    setUser("another", "on");
    CHECK(webAccessVersion() > before);
    before = webAccessVersion();
    setUser("another", "off");
    CHECK(webAccessVersion() > before);
    before = webAccessVersion();
    aclSetDefaultPassword(sliceStr("x"));
    CHECK(webAccessVersion() > before);
    before = webAccessVersion();
    aclReplaceUsers(raxCreate());
    CHECK(webAccessVersion() > before);
    CHECK_EQ_INT(askAnonymous(), 200); /* as at the start */
}
