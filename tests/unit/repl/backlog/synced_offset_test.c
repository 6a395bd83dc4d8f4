/* synced_offset_test.c -- the synced offset that a replica reports, in random orders of events: links that break and
 * continue, other primaries, promotions, a log that is turned off, on and suspended, syncs at any time or none. A model
 * knows which bytes of the replication stream are on disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "synced_offset.h"

#include "unit.h"

#include <string.h>

#define STEPS 2000
#define COMMANDS_MAX (STEPS + 1)

typedef enum { LOG_OFF, LOG_TURNS_ON, LOG_ON } logState;

/* A command of the replication stream that the dataset has now. */
typedef struct command {
    uint64_t ends;     /* replication offset */
    uint64_t log_ends; /* offset in the log; 0: it was not appended */
} command;

static struct {
    /* The replication stream and the dataset. */
    command commands[COMMANDS_MAX];
    size_t count;
    uint64_t offset;      /* replication offset up to which the dataset is */
    uint64_t base_offset; /* the base on disk has all commands up to this offset; valid while the log is on */
    uint64_t fork_offset; /* the same for the base that is being written */
    /* The log. */
    logState log;
    uint64_t log_end, log_synced;
    /* The link. */
    bool session;
    uint64_t highest; /* highest offset that this link has reported */
} world;

static bool isSynced(uint64_t log_offset) { return world.log == LOG_ON && log_offset <= world.log_synced; }

/* The oracle: the last replication offset before which nothing is missing on disk. */
static uint64_t reallySynced(void) {
    uint64_t safe = world.base_offset;
    for (size_t i = 0; i < world.count; i++) {
        const command *c = &world.commands[i];
        if (c->ends <= safe) continue;
        if (!c->log_ends || c->log_ends > world.log_synced) return safe;
        safe = c->ends;
    }
    return safe;
}

static void apply(uint64_t *seed) {
    uint64_t bytes = 1 + unitRandom(seed) % 50;
    command *c = &world.commands[world.count++];
    *c = (command){.ends = world.offset += bytes};
    if (world.log == LOG_OFF) return;
    world.log_end += bytes + unitRandom(seed) % 10;
    c->log_ends = world.log_end;
}

/* A local write of a primary or of a writable replica: the log grows without the replication stream. */
static void writeLocally(uint64_t *seed) {
    if (world.log != LOG_OFF) world.log_end += 1 + unitRandom(seed) % 50;
}

static void turnOff(void) {
    world.log = LOG_OFF;
    world.log_synced = world.log_end; /* as main sees it: no client is waiting */
}

static void beginBase(void) {
    if (world.log != LOG_OFF) return;
    world.log = LOG_TURNS_ON;
    world.fork_offset = world.offset;
}

/* The new base is renamed into use; the increment was synced before. */
static void switchBase(void) {
    if (world.log != LOG_TURNS_ON) return;
    world.log = LOG_ON;
    world.base_offset = world.fork_offset;
    world.log_synced = world.log_end;
}

/* Installs the dataset of another replication stream, which may be shorter or longer. */
static void replaceDataset(uint64_t *seed) {
    if (world.log != LOG_OFF) turnOff();
    world.count = 0;
    world.offset = unitRandom(seed) % 3 ? unitRandom(seed) % 1000 : unitRandom(seed) % 1000000;
    world.base_offset = 0;
}

static void beginSession(syncedOffset *p) {
    syncedOffsetForget(p);
    world.session = true;
    world.highest = 0;
}

static void tell(syncedOffset *p) {
    if (!world.session || world.log != LOG_ON) return;
    uint64_t told = syncedOffsetUpdate(p, world.offset, world.log_end, isSynced);
    CHECK(told <= reallySynced());
    CHECK(told >= world.highest);
    world.highest = told;
}

static void step(syncedOffset *p, uint64_t *seed) {
    switch (unitRandom(seed) % 16) {
    case 0:
    case 1:
    case 2:
    case 3:
        if (world.session) apply(seed);
        break;
    case 4: writeLocally(seed); break;
    case 5:
    case 6: /* ends a sync that began at any time before */
        world.log_synced += unitRandom(seed) % (world.log_end - world.log_synced + 1);
        break;
    case 7: world.session = false; break;
    case 8: /* a partial synchronization, with the same primary or its successor */
        if (!world.session) beginSession(p);
        break;
    case 9:
        if (unitRandom(seed) % 8) break;
        world.session = false;
        replaceDataset(seed);
        beginSession(p);
        break;
    case 10:
        if (unitRandom(seed) % 4 == 0) turnOff();
        break;
    case 11: beginBase(); break;
    case 12: switchBase(); break;
    default: tell(p);
    }
}

TEST(synced_place_never_tells_more_than_is_on_the_disk) {
    uint64_t seed = unitRandomSeed();
    for (int round = 0; round < 200; round++) {
        syncedOffset p = {0};
        memset(&world, 0, sizeof(world));
        for (int i = 0; i < STEPS; i++) step(&p, &seed);
        /* The report does not lag: a synced offset is reported at the second call at the latest. */
        beginBase();
        switchBase();
        if (!world.session) beginSession(&p);
        tell(&p);
        world.log_synced = world.log_end;
        tell(&p);
        tell(&p);
        CHECK_EQ_INT(world.highest, world.offset);
    }
}
