/* command_memory_test.c -- what a command may take: granted, refused, given back.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_fixture.h"
#include "command_memory.h"
#include "unit.h"
#include "zmalloc.h"

TEST(little_memory_is_not_asked_for) {
    client *c = fixtureClient(2);
    zmallocFailAfter(1);
    CHECK(commandMemoryReserve(c, COMMAND_MEMORY_LARGE - 1));
    zmallocFailAfter(0);
    CHECK(!(c->flags & CLIENT_RESERVED));
    CHECK_REPLY(c, "");
    clientFree(c);
}

TEST(much_memory_is_reserved_until_the_command_ends) {
    client *c = fixtureClient(2);
    size_t used = zmallocUsed();
    CHECK(commandMemoryReserve(c, 10 * COMMAND_MEMORY_LARGE));
    CHECK(c->flags & CLIENT_RESERVED);
    CHECK_EQ_INT(zmallocUsed(), used); /* nobody is evicted for it */
    commandMemoryEnd(c);
    CHECK(!(c->flags & CLIENT_RESERVED));
    CHECK_REPLY(c, "");
    clientFree(c);
}

TEST(what_cannot_be_had_is_refused) {
    client *c = fixtureClient(2);
    zmallocFailAfter(1);
    CHECK(!commandMemoryReserve(c, COMMAND_MEMORY_LARGE));
    CHECK(!(c->flags & CLIENT_RESERVED));
    CHECK_REPLY(c, "-OOM command not allowed: there is not enough memory for it\r\n");
    clientFree(c);
}
