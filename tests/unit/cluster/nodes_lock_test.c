/* nodes_lock_test.c -- one process at a time has the lock of a cluster-config-file, whatever happens to the file.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "nodes_lock.h"

#include "cluster_fixture.h"
#include "unit.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define REFUSED                                                                                             \
    "Sorry, the cluster configuration file nodes.conf is already used by a different Cluster node. Please " \
    "make sure that different nodes use different cluster configuration files."

static void tryInChild(void *name) {
    sds error = NULL;
    if (!nodesLockTake(name, &error)) printf("%s", error);
}

/* Returns the error that a new process gets, or "". */
static const char *tried(const char *name) {
    static char output[500];
    unitInChild(tryInChild, (void *)name, output, sizeof(output));
    return output;
}

/* Starts a process that calls prepare() and then waits to be killed. Returns its id after prepare() has returned. */
static pid_t startProcess(void (*prepare)(void)) {
    int fds[2];
    char byte = 0;
    if (!CHECK(pipe(fds) == 0)) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        prepare();
        if (write(fds[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    CHECK(read(fds[0], &byte, 1) == 1);
    close(fds[0]);
    close(fds[1]);
    return pid;
}

static void killProcess(pid_t pid) {
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
}

static void beServer(void) {
    sds error = NULL;
    if (!nodesLockTake("nodes.conf", &error)) _exit(1);
}

TEST(nodes_lock_outlasts_the_replacement_of_the_file) {
    enterEmptyFolder();
    pid_t server = startProcess(beServer);
    CHECK_EQ_STR(tried("nodes.conf"), REFUSED);
    CHECK(strstr(tried("./nodes.conf"), "./nodes.conf is already used by a different Cluster node."));
    CHECK_EQ_STR(tried("other.conf"), "");
    putFile("new", "");
    CHECK(rename("new", "nodes.conf") == 0);
    CHECK_EQ_STR(tried("nodes.conf"), REFUSED);
    killProcess(server);
    CHECK_EQ_STR(tried("nodes.conf"), "");
    CHECK_EQ_STR(tried("nodes.conf"), "");
    CHECK_EQ_INT(filesInFolder(), 3);
}

/* A server with a child, as one that writes a snapshot, and a program that it has executed. */
static void beServerWithChildren(void) {
    beServer();
    pid_t child = fork();
    if (child == 0)
        for (;;) pause();
    pid_t program = fork();
    if (program == 0) {
        execlp("sleep", "sleep", "1000", (char *)NULL);
        _exit(1);
    }
    FILE *f = fopen("children", "w");
    fprintf(f, "%d %d", (int)child, (int)program);
    fclose(f);
}

TEST(nodes_lock_ends_with_the_server_and_not_with_its_children) {
    int child = 0, program = 0;
    enterEmptyFolder();
    pid_t server = startProcess(beServerWithChildren);
    CHECK_EQ_STR(tried("nodes.conf"), REFUSED);
    CHECK_EQ_INT(sscanf(fileText("children"), "%d %d", &child, &program), 2);
    killProcess(server);
    CHECK(kill(child, 0) == 0);
    CHECK(kill(program, 0) == 0);
    CHECK_EQ_STR(tried("nodes.conf"), "");
    kill(child, SIGKILL);
    kill(program, SIGKILL);
}

/* A Valkey before its first save. */
static void beValkey(void) {
    int fd = open("nodes.conf", O_WRONLY | O_CREAT, 0644);
    if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) != 0) _exit(1);
}

TEST(nodes_lock_respects_a_valkey) {
    enterEmptyFolder();
    pid_t valkey = startProcess(beValkey);
    CHECK_EQ_STR(tried("nodes.conf"), REFUSED);
    killProcess(valkey);
    CHECK_EQ_STR(tried("nodes.conf"), "");
}

TEST(nodes_lock_needs_a_file_of_its_own) {
    enterEmptyFolder();
    CHECK_EQ_STR(tried("absent/nodes.conf"),
                 "Can't open absent/nodes.conf.lock in order to acquire a lock: No such file or directory");
    putFile("target", "");
    CHECK(symlink("target", "nodes.conf.lock") == 0);
    CHECK(strstr(tried("nodes.conf"), "Can't open nodes.conf.lock in order to acquire a lock: ") != NULL);
    CHECK(mkdir("b.conf.lock", 0755) == 0);
    CHECK_EQ_STR(tried("b.conf"), "Can't open b.conf.lock in order to acquire a lock: Is a directory");
}
