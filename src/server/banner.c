/* banner.c -- the lines of the log by which people and scripts see the server start.
 *
 * Process managers and test tools wait for "PID: <pid>", "Server initialized" and "Ready to accept
 * connections"; their wording is fixed.
 *
 * Threads     main.
 * Tests       tests/server/process.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "banner.h"

#include "hash.h"
#include "log.h"
#include "net.h"
#include "server_settings.h"
#include "setting_file.h"
#include "version.h"

#include <stdio.h>
#include <unistd.h>

const char *bannerBuildId(void) {
    static char id[17];
    static const char what[] = VALKEY_VERSION " " __DATE__ " " __TIME__;
    if (!*id) snprintf(id, sizeof(id), "%llx", (unsigned long long)crc64(0, what, sizeof(what)));
    return id;
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
             "  |     \\_/ \\_/      |     Running in standalone mode\n"
             "  |    .--. .--.     |     Port: %lld\n"
             "   \\    '-._.-'     /      PID: %d\n"
             "    '-.          .-'\n"
             "       '--=====--'\n\n",
             VALKEY_VERSION, sizeof(long) * 8, net_settings.port, (int)getpid());
    serverLogRaw(text);
}

void bannerShow(void) {
    bool terminal = !*logFile() && !server_settings.syslog_enabled && isatty(STDOUT_FILENO);
    if (terminal || server_settings.always_show_logo) {
        showLogo();
        return;
    }
    serverLog(LL_NOTICE, "Running mode=standalone, port=%lld.", net_settings.port);
    serverLog(LL_NOTICE, "PID: %d", (int)getpid());
}

void bannerReady(void) {
    char line[512];
    for (int i = 0; netListenerInfo(i, line, sizeof(line)); i++)
        serverLog(LL_NOTICE, "Ready to accept connections %s", line[5] == 'u' ? "unix" : "tcp");
}
