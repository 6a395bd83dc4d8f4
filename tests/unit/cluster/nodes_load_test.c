/* nodes_load_test.c -- cluster-config-file at startup: absent, empty, whole, damaged, not readable.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_load.h"

#include "cluster_fixture.h"
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE "97436f47bee8d088ae197596a1a96060068614ff 127.0.0.1:22001@32001 myself,master - 0 0 1 connected 0-5460\n"

/* Returns the error of a file, or "". *count is the number of its nodes. */
static const char *loaded(const char *name, size_t *count) {
    static char text[300];
    nodesFile file;
    sds error = NULL;
    bool good = nodesLoad(name, false, &file, &error);
    CHECK(good == (error == NULL));
    snprintf(text, sizeof(text), "%s", error ? error : "");
    *count = file.count;
    nodesFileFree(&file);
    sdsFree(error);
    return text;
}

TEST(nodes_load_reads_what_is_there) {
    size_t count;
    enterEmptyFolder();
    CHECK_EQ_STR(loaded("nodes.conf", &count), "");
    CHECK_EQ_INT(count, 0);
    CHECK_EQ_INT(filesInFolder(), 0);
    putFile("nodes.conf", "");
    CHECK_EQ_STR(loaded("nodes.conf", &count), "");
    CHECK_EQ_INT(count, 0);
    putFile("nodes.conf", LINE "vars currentEpoch 1 lastVoteEpoch 0\n");
    CHECK_EQ_STR(loaded("nodes.conf", &count), "");
    CHECK_EQ_INT(count, 1);
    CHECK(symlink("nodes.conf", "link") == 0);
    CHECK_EQ_STR(loaded("link", &count), "");
    CHECK_EQ_INT(count, 1);
}

TEST(nodes_load_refuses_a_damaged_file_and_leaves_it) {
    size_t count;
    enterEmptyFolder();
    putFile("nodes.conf", LINE "vars currentEpoch 0 la\n");
    CHECK_EQ_STR(loaded("nodes.conf", &count),
                 "Unrecoverable error: corrupted cluster config file nodes.conf, line 2: a name without number.");
    CHECK_EQ_STR(fileText("nodes.conf"), LINE "vars currentEpoch 0 la\n");
    putFile("nodes.conf", "97436f47\n");
    CHECK_EQ_STR(loaded("nodes.conf", &count),
                 "Unrecoverable error: corrupted cluster config file nodes.conf, line 1: too few fields.");
    putFile("nodes.conf", "vars currentEpoch 3 lastVoteEpoch 2\n");
    CHECK_EQ_STR(
        loaded("nodes.conf", &count),
        "Unrecoverable error: corrupted cluster config file nodes.conf, line 1: no node with the flag myself.");
    putFile("nodes.conf", "\n");
    CHECK_EQ_STR(
        loaded("nodes.conf", &count),
        "Unrecoverable error: corrupted cluster config file nodes.conf, line 1: no node with the flag myself.");
    CHECK_EQ_INT(filesInFolder(), 1);
}

TEST(nodes_load_refuses_what_is_no_file) {
    size_t count;
    enterEmptyFolder();
    CHECK(mkdir("folder", 0755) == 0);
    CHECK(mkfifo("pipe", 0644) == 0);
    CHECK_EQ_STR(loaded("folder", &count), "Can't read the cluster configuration file folder: Is a directory");
    CHECK_EQ_STR(loaded("pipe", &count), "Can't read the cluster configuration file pipe: Invalid argument");
    CHECK_EQ_STR(loaded("folder/x/y", &count), "");
    putFile("large", "");
    CHECK(truncate("large", ((off_t)256 << 20) + 1) == 0);
    CHECK_EQ_STR(loaded("large", &count), "Can't read the cluster configuration file large: File too large");
}

static void loadBesideDataset(void *arg) {
    nodesFile file;
    sds error = NULL;
    CHECK(nodesLoad(arg, true, &file, &error));
}

TEST(nodes_load_warns_of_an_empty_file_beside_a_dataset) {
    char log[500];
    enterEmptyFolder();
    CHECK_EQ_INT(unitInChild(loadBesideDataset, "nodes.conf", log, sizeof(log)), 0);
    CHECK_EQ_STR(log, "");
    putFile("nodes.conf", "");
    CHECK_EQ_INT(unitInChild(loadBesideDataset, "nodes.conf", log, sizeof(log)), 0);
    CHECK(strstr(log, " # WARNING: THE CLUSTER CONFIGURATION FILE nodes.conf IS EMPTY, BUT THERE IS A DATASET") !=
          NULL);
    putFile("nodes.conf", LINE);
    CHECK_EQ_INT(unitInChild(loadBesideDataset, "nodes.conf", log, sizeof(log)), 0);
    CHECK_EQ_STR(log, "");
}
