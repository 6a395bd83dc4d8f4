/* banner.c -- the log lines at startup, for people and for programs that wait for them.
 *
 * Process managers and test tools wait for "PID: <pid>", "Server initialized" and "Ready to accept
 * connections"; their wording is fixed.
 *
 * Threads     main.
 * Tests       tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "startup.h"

#include "cluster_settings.h"
#include "hash.h"
#include "log.h"
#include "listen.h"
#include "net.h"
#include "server_settings.h"
#include "tls_settings.h"
#include "setting_file.h"
#include "version.h"
#include "zmalloc.h"

#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Stores a hash of the linker's build note in the uint64_t at `id`. The first object is the program itself; the walk
 * ends after it. */
static int takeBuildNote(struct dl_phdr_info *program, size_t size, void *id) {
    (void)size;
    for (int i = 0; i < program->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &program->dlpi_phdr[i];
        if (part->p_type != PT_NOTE) continue;
        const char *at = (const char *)(program->dlpi_addr + part->p_vaddr), *end = at + part->p_memsz;
        while (at + sizeof(ElfW(Nhdr)) < end) {
            const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)(const void *)at;
            const char *name = at + sizeof(*note), *text = name + ((note->n_namesz + 3U) & ~3U);
            if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == sizeof("GNU") &&
                !memcmp(name, "GNU", sizeof("GNU")))
                *(uint64_t *)id = crc64(0, text, note->n_descsz);
            at = text + ((note->n_descsz + 3U) & ~3U);
        }
    }
    return 1;
}

const char *bannerBuildId(void) {
    static char id[17];
    if (!*id) {
        /* If the linker has left no note, the version is hashed. The time of the build is not used, so that equal
         * sources give equal builds. */
        uint64_t hash = crc64(0, VALKEY_VERSION, sizeof(VALKEY_VERSION));
        dl_iterate_phdr(takeBuildNote, &hash);
        snprintf(id, sizeof(id), "%016" PRIx64, hash);
    }
    return id;
}

bool bannerVersion(const char *program, int argc, char **argv) {
    if (argc < 2 || (strcmp(argv[1], "-v") && strcmp(argv[1], "--version"))) return false;
    printf("%s v=%s sha=00000000:0 malloc=%s bits=%zu build=%s\n", program, VALKEY_VERSION, zmallocLibrary(),
           sizeof(long) * 8, bannerBuildId());
    return true;
}

void bannerStart(int argc) {
    serverLog(LL_NOTICE, "Valkey is starting");
    serverLog(LL_NOTICE, "Valkey version=%s, bits=%zu, commit=00000000, modified=0, pid=%d, just started",
              VALKEY_VERSION, sizeof(long) * 8, (int)getpid());
    if (argc == 1)
        serverLog(LL_WARNING,
                  "Neither a configuration file nor an option was given: every setting has its default. To name a "
                  "file: valkey-server /path/to/valkey.conf");
    else serverLog(LL_NOTICE, "Configuration loaded");
}

static void showLogo(void) {
    char text[1024];
    snprintf(text, sizeof(text),
             "\n"
             "       .--=====--.\n"
             "    .-'  _   _   '-.       Valkey %s, %zu bit\n"
             "   /    / \\ / \\     \\\n"
             "  |     \\_/ \\_/      |     Running in %s mode\n"
             "  |    .--. .--.     |     Port: %lld\n"
             "   \\    '-._.-'     /      PID: %d\n"
             "    '-.          .-'\n"
             "       '--=====--'\n\n",
             VALKEY_VERSION, sizeof(long) * 8, cluster_settings.enabled ? "cluster" : "standalone", net_settings.port,
             (int)getpid());
    serverLogRaw(text);
}

void bannerShow(void) {
    bool terminal = !*logFile() && !server_settings.syslog_enabled && isatty(STDOUT_FILENO);
    if (terminal || server_settings.always_show_logo) {
        showLogo();
        return;
    }
    serverLog(LL_NOTICE, "Running mode=%s, port=%lld.", cluster_settings.enabled ? "cluster" : "standalone",
              net_settings.port ? net_settings.port : tls_settings.port);
    serverLog(LL_NOTICE, "PID: %d", (int)getpid());
}

void bannerReady(void) {
    char line[512];
    for (int i = 0; i < LISTENER_KINDS; i++)
        if (listenInfo(i, line, sizeof(line)))
            serverLog(LL_NOTICE, "Ready to accept connections %.*s", (int)strcspn(line + 5, ","), line + 5);
}
