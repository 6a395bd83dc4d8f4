/* slot_jobs_words_test.c -- the words of MIGRATESLOTS, with the errors of Valkey 9.1.2 in its order of checks.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_fixture.h"
#include "slot_jobs.h"

static clusterMachine *machine;
static slotJobs *jobs;

/* Reads words that are separated by blanks. Returns the error, which the next call frees; "" if there is none. */
static const char *parse(const char *text) {
    static sds error;
    static slice words[64];
    size_t count = 0, requests_count = 0;
    slice rest = sliceStr(text);
    while (rest.len) words[count++] = sliceTakeUntil(&rest, ' ');
    slotJobRequest *requests;
    slotSet *sets;
    sdsFree(error);
    error = slotJobsParse(jobs, machine, words, count, &requests, &sets, &requests_count);
    if (error) return error;
    slotJobActions actions = {0};
    slotJobsStep(jobs, machine, fixture_now,
                 &(slotJobsEvent){.kind = SLOT_JOBS_MIGRATE, .requests = requests, .request_count = requests_count},
                 &actions);
    slotJobActionsFree(&actions);
    zfree(requests);
    zfree(sets);
    return "";
}

static void start(const char *file) {
    machine = fixtureMachine(file, 7001);
    jobs = slotJobsCreate(1, &(slotJobsConfig){.log_length = 10});
}

static void end(void) {
    slotJobsFree(jobs);
    clusterFree(machine);
}

TEST(slot_jobs_words_of_migrateslots) {
    static const char *const cases[][2] = {
        {"x 1 2", "-ERR syntax error"},
        {"NODE " ID_B, "-ERR syntax error"},
        {"SLOTSRANGE", "-ERR No slot ranges specified"},
        {"SLOTSRANGE NODE " ID_B, "-ERR No slot ranges specified"},
        {"SLOTSRANGE x 1 NODE " ID_B, "-ERR No slot ranges specified"},
        {"SLOTSRANGE 1", "-ERR No end slot for final slot range"},
        {"SLOTSRANGE 0 0 1", "-ERR No end slot for final slot range"},
        {"SLOTSRANGE 1 NODE " ID_B, "-ERR Invalid or out of range slot"},
        {"SLOTSRANGE 1 16384 NODE " ID_B, "-ERR Invalid or out of range slot"},
        {"SLOTSRANGE -1 1 NODE " ID_B, "-ERR Invalid or out of range slot"},
        {"SLOTSRANGE 1 b NODE " ID_B, "-ERR Invalid or out of range slot"},
        {"SLOTSRANGE 2 1 NODE " ID_B, "-ERR Start slot number 2 is greater than end slot number 1."},
        {"SLOTSRANGE 0 1 1 2 NODE " ID_B, "-ERR Slot range 1-2 overlaps with previous range 0-1."},
        {"SLOTSRANGE 0 0 a b NODE " ID_B, "-ERR syntax error"},
        {"SLOTSRANGE 0 0", "-ERR syntax error"},
        {"SLOTSRANGE 0 0 NODE", "-ERR syntax error"},
        {"SLOTSRANGE 0 10 NODE " ID_B, "-ERR Requested slots span multiple shards"},
        {"SLOTSRANGE 9 10 NODE " ID_B, "-ERR Slot 9 has no node served."},
        {"SLOTSRANGE 9 9 3 3 NODE x", "-ERR Slot 9 has no node served."},
        {"SLOTSRANGE 3 3 NODE x", "-ERR Slots are not served by this node."},
        {"SLOTSRANGE 0 0 NODE xyz", "-ERR Invalid node name: xyz"},
        {"SLOTSRANGE 0 0 NODE " SHARD_A, "-ERR Unknown node name: " SHARD_A},
        {"SLOTSRANGE 0 0 NODE " ID_A, "-ERR Target node can not be this node."},
        {"SLOTSRANGE 0 0 NODE " ID_B " x", "-ERR syntax error"},
        {"SLOTSRANGE 0 0 NODE " ID_B " SLOTSRANGE 0 1 NODE xyz", "-ERR Slot ranges in migrations overlap"},
        {"slotsrange 0 0 node " ID_B " slotsrange 2 2 node " ID_C, ""},
        {"SLOTSRANGE 1 2 NODE xyz", "-ERR I am already migrating slot 2."},
        {"SLOTSRANGE 1 1 NODE " ID_B " SLOTSRANGE 0 1 NODE " ID_B, "-ERR I am already migrating slot 0."},
    };
    start(FILE_OF_A);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) CHECK_EQ_STR(parse(cases[i][0]), cases[i][1]);
    CHECK(slotJobsRun(jobs, true) && !slotJobsRun(jobs, false));
    const slotJob *newest = slotJobsNext(jobs, NULL);
    CHECK_EQ_STR(newest->ranges, "2-2");
    CHECK(!memcmp(newest->target.text, ID_C, NODE_ID_LEN));
    end();
}

TEST(slot_jobs_words_where_none_may_move) {
    start(FILE_OF_R);
    CHECK_EQ_STR(parse("x"), "-ERR Slot migration can only be used on primary nodes.");
    end();
    start(AT_A "myself,master - 0 0 2 connected 0-2 [1->-" ID_B "]\n" LINE_B LINE_C LINE_R LINE_VARS);
    CHECK_EQ_STR(parse("x"), "-ERR Slots are being manually migrated");
    end();
    start(AT_A "myself,master - 0 0 2 connected 0-2 [1->-" ID_B "] [3-<-" ID_B "]\n" LINE_B LINE_C LINE_R LINE_VARS);
    CHECK_EQ_STR(parse("x"), "-ERR Slots are being manually imported");
    end();
}

TEST(slot_jobs_words_of_syncslots) {
    for (slotJobWord w = JOB_WORD_ACK; w < JOB_WORD_UNKNOWN; w++)
        CHECK_EQ_INT(slotJobWordOf(sliceStr(slotJobWordName(w))), w);
    CHECK_EQ_INT(slotJobWordOf(sliceStr("request-pause")), JOB_WORD_REQUEST_PAUSE);
    CHECK_EQ_INT(slotJobWordOf(sliceStr("ACKS")), JOB_WORD_UNKNOWN);
    CHECK_EQ_INT(slotJobWordOf(sliceStr("")), JOB_WORD_UNKNOWN);
    for (slotJobState s = JOB_CONNECTING; s <= JOB_FAILED; s++) CHECK(slotJobStateName(s)[0] != 0);
}
