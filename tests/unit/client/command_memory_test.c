/* command_memory_test.c -- the memory that a command reserves: granted, refused, returned.
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
    CHECK_EQ_INT(zmallocUsed(), used); /* nothing is evicted for it */
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

/* A long command yields to other clients and keeps its reservation. Whether it has kept it shows at the next request,
 * which is not an allocation then. */
TEST(memory_of_a_long_command_outlasts_those_in_between) {
    client *c = fixtureClient(2), *other = fixtureClient(2);
    CHECK(commandMemoryReserve(c, 10 * COMMAND_MEMORY_LARGE));
    CHECK(commandMemoryReserve(other, 2 * COMMAND_MEMORY_LARGE));
    commandMemoryEnd(other);
    zmallocFailAfter(1);
    CHECK(zmallocReserve(12 * COMMAND_MEMORY_LARGE));
    CHECK(!zmallocReserve(13 * COMMAND_MEMORY_LARGE));
    CHECK(!commandMemoryTry(other, SIZE_MAX));
    CHECK(!(other->flags & CLIENT_RESERVED));
    commandMemoryEnd(c);
    zmallocFailAfter(1);
    CHECK(!zmallocReserve(COMMAND_MEMORY_LARGE));
    zmallocFailAfter(0);
    clientFree(c);
    clientFree(other);
}
