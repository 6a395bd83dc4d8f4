/* crash_sections.c -- the sections of a crash report about the server and its clients.
 *
 * Runs on the thread that crashed, over data that may be corrupt: it allocates nothing, takes no lock, and bounds each
 * loop. With hide-user-data-from-log it leaves out data that users have stored or sent.
 *
 * Threads     any: the one that crashed.
 * Tests       tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin.h"

#include "admin_settings.h"
#include "call.h"
#include "info.h"
#include "log.h"
#include "panic.h"
#include "redact.h"

#define CLIENTS_SHOWN_MAX 1000
#define ARGUMENTS_SHOWN_MAX 32
#define ARGUMENT_BYTES_MAX 128

static const char *userText(const char *text) { return !text ? "" : log_hide_user_data ? "*redacted*" : text; }

static void printClient(const client *c) {
    panicPrint("id=%llu addr=%s laddr=%s fd=%d name=%s flags=0x%llx db=%d cmd=%s resp=%d omem=%zu imem=%zu "
               "tot-cmds=%lld\n",
               (unsigned long long)c->id, c->peer, c->local, c->fd, userText(c->name), (unsigned long long)c->flags,
               c->db ? dbId(c->db) : -1, c->cmd ? c->cmd->fullname : "NULL", c->resp, c->output_bytes, c->input_bytes,
               c->commands);
}

static void printClients(void) {
    if (!client_state.clients) return;
    const listNode *node = client_state.clients->head;
    for (int i = 0; node && i < CLIENTS_SHOWN_MAX; i++, node = node->next) printClient(node->value);
}

/* Prints an argument, with '?' for bytes that are not printable. */
static void printArgument(uint32_t index, slice arg) {
    char text[ARGUMENT_BYTES_MAX + 1];
    size_t n = arg.len < ARGUMENT_BYTES_MAX ? arg.len : ARGUMENT_BYTES_MAX;
    for (size_t i = 0; i < n; i++) text[i] = arg.ptr[i] >= ' ' && arg.ptr[i] <= '~' ? arg.ptr[i] : '?';
    text[n] = '\0';
    panicPrint("argv[%u]: \"%s\"%s\n", (unsigned)index, text, n < arg.len ? "..." : "");
}

static void printArguments(const client *c) {
    if (!c->argv) return;
    for (uint32_t i = 0; i < c->argc && i < ARGUMENTS_SHOWN_MAX; i++) {
        bool hidden = i > 0 && (log_hide_user_data || redactIsHidden(c, i));
        if (hidden) panicPrint("argv[%u]: %zu bytes\n", (unsigned)i, c->argv[i].len);
        else printArgument(i, c->argv[i]);
    }
    if (c->argc > ARGUMENTS_SHOWN_MAX) panicPrint("... and %u more\n", (unsigned)(c->argc - ARGUMENTS_SHOWN_MAX));
}

static void printCurrentClient(void) {
    const client *c = callCurrentClient();
    if (!c) return;
    printClient(c);
    panicPrint("argc: %u\n", (unsigned)c->argc);
    printArguments(c);
}

static void printInfo(void) {
    const char *context = admin_settings.debug_context;
    if (context && *context) panicPrint("debug-context: %s\n", context);
    infoPrintCrash();
}

void crashSectionsRegister(void) {
    panicAddSection("INFO OUTPUT", printInfo);
    panicAddSection("CLIENT LIST OUTPUT", printClients);
    panicAddSection("CURRENT CLIENT INFO", printCurrentClient);
}
