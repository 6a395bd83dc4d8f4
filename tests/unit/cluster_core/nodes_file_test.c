/* nodes_file_test.c -- cluster-config-file: files of Valkey, files that are damaged, and those that this server writes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_file.h"
#include "bus_frame.h"
#include "unit.h"
#include <stdio.h>

#define A "97436f47bee8d088ae197596a1a96060068614ff"
#define B "a67e27812e6866911d38c8afa5c3d5e3246ebf65"
#define SHARD "9aa12535c04660905a2288b21c1801244c6d499d"
#define NODE_A                                                                                                        \
    A " 127.0.0.1:22001@32001,h1.example,availability-zone=az-a,client-tcp-port=32001,client-ipv4=10.1.1.1,tls-port=" \
      "0,"                                                                                                            \
      "nodename=alpha,shard-id=" SHARD " myself,master - 0 0 1 connected 0-5460\n"
#define NODE_B B " 127.0.0.1:22004@32004,,tls-port=0,shard-id=" SHARD " slave " A " 0 1795277072586 1 connected\n"
#define VARS "vars currentEpoch 6 lastVoteEpoch 5\n"

/* Returns the error of a file, or its text as this server writes it. */
static const char *again(const char *text) {
    static char result[4096];
    nodesFile file;
    sds error;
    sds out = nodesFileParse(sliceStr(text), &file, &error) ? nodesFileText(&file) : error;
    snprintf(result, sizeof(result), "%s", out);
    sdsFree(out);
    nodesFileFree(&file);
    return result;
}

TEST(nodes_file_of_valkey_is_written_alike) {
    CHECK_EQ_STR(again(NODE_A NODE_B VARS), NODE_A NODE_B VARS);
    CHECK_EQ_STR(again(A " :0@0,,tls-port=0,shard-id=" SHARD " myself,master - 0 0 2 connected 1 5461-10921 [5-<-" B
                         "] [6->-" B "]\n" VARS),
                 A " :0@0,,tls-port=0,shard-id=" SHARD " myself,master - 0 0 2 connected 1 5461-10921 [5-<-" B
                   "] [6->-" B "]\n" VARS);
    CHECK_EQ_STR(again(A " ::1:22001@32001,,tls-port=0 myself,slave,fail?,fail,handshake,noaddr,nofailover " B
                         " 7 8 9 disconnected\n" VARS),
                 A " ::1:22001@32001,,tls-port=0 myself,slave,fail?,fail,handshake,noaddr,nofailover " B
                   " 7 8 9 disconnected\n" VARS);
}

TEST(nodes_file_reads_old_and_incomplete_files) {
    CHECK_EQ_STR(again(""), "vars currentEpoch 0 lastVoteEpoch 0\n");
    /* No bus port, no host name, other names of roles, no line of epochs, no newline at the end, empty lines. */
    CHECK_EQ_STR(again("\n" A " 10.0.0.1:7000 myself,primary - 0 0 3 connected 16383\n  \n" B
                       " 10.0.0.2:7001@17009 noflags - 0 0 0 connected"),
                 A " 10.0.0.1:7000@17000,,tls-port=0 myself,master - 0 0 3 connected 16383\n" B
                   " 10.0.0.2:7001@17009,,tls-port=0 noflags - 0 0 0 connected\nvars currentEpoch 0 lastVoteEpoch 0\n");
    CHECK_EQ_STR(again(NODE_A "vars future 1 currentEpoch 7\n"), NODE_A "vars currentEpoch 7 lastVoteEpoch 0\n");
}

TEST(nodes_file_that_is_damaged_is_refused_with_its_line) {
    CHECK_EQ_STR(again(NODE_B VARS), "line 2: no node with the flag myself");
    CHECK_EQ_STR(again(NODE_A NODE_A), "line 2: a second line of this node");
    CHECK_EQ_STR(again(NODE_A "vars currentEpoch 0 la\n"), "line 2: a name without number");
    CHECK_EQ_STR(again(NODE_A "vars currentEpoch -1\n"), "line 2: invalid number");
    CHECK_EQ_STR(again(NODE_A "va"), "line 2: too few fields");
    CHECK_EQ_STR(again(VARS NODE_A), "line 2: text after the line that begins with vars");
    CHECK_EQ_STR(again("\"" NODE_A), "line 1: unbalanced quotes");
#define DAMAGED(id, address, flags, rest) again(id " " address " " flags " - 0 0 1 " rest "\n")
    CHECK_EQ_STR(DAMAGED("abc", "1.1.1.1:1@2", "myself", "connected"), "line 1: invalid node id");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1", "myself", "connected"), "line 1: invalid port");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:70000@2", "myself", "connected"), "line 1: invalid port");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@x", "myself", "connected"), "line 1: invalid bus port");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2,,shard-id=1", "myself", "connected"), "line 1: invalid shard-id");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2,,colour=red", "myself", "connected"), "line 1: unknown name before \"=\"");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2", "myself,lord", "connected"), "line 1: unknown flag");
    CHECK_EQ_STR(DAMAGED(A, "\"1.1 1.1:1@2\"", "myself", "connected"), "line 1: invalid address");
    CHECK_EQ_STR(DAMAGED(A, "\"1.1.1.1:1@2,a b\"", "myself", "connected"), "line 1: invalid host name");
    CHECK_EQ_STR(DAMAGED(A, "\"1.1.1.1:1@2,,nodename=a\\n\"", "myself", "connected"),
                 "line 1: invalid character in a value");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2", "myself", "maybe"), "line 1: neither connected nor disconnected");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2", "myself", "connected 16384"), "line 1: invalid slot");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2", "myself", "connected 1-"), "line 1: invalid slot");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2", "myself", "connected 5-4"), "line 1: invalid range of slots");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2", "myself", "connected 1-5 5"), "line 1: a slot that has an owner");
    CHECK_EQ_STR(DAMAGED(A, "1.1.1.1:1@2", "myself", "connected [5-" B "]"), "line 1: invalid open slot");
    CHECK_EQ_STR(again(NODE_A B " 1.1.1.1:1@2 myself - 0 0 1 connected"), "line 2: a second node with the flag myself");
}

/* A file is cut or one byte of it differs: it is refused, or what is read is written and read alike. */
TEST(nodes_file_cut_and_changed_anywhere) {
    uint64_t rng = unitRandomSeed();
    sds whole = sdsNew(NODE_A NODE_B VARS);
    for (int round = 0; round < 4000; round++) {
        sds text = sdsDup(whole), error;
        nodesFile file;
        if (round % 4 == 0) sdsRange(text, 0, (ptrdiff_t)(unitRandom(&rng) % sdsLen(text)));
        else text[unitRandom(&rng) % sdsLen(text)] = (char)unitRandom(&rng);
        if (nodesFileParse(sdsSlice(text), &file, &error)) {
            sds first = nodesFileText(&file);
            CHECK_EQ_STR(again(first), first);
            sdsFree(first);
        }
        sdsFree(error);
        nodesFileFree(&file);
        sdsFree(text);
    }
    sdsFree(whole);
}
