/* outgoing.c -- sessions on connections that this server has opened.
 *
 * Once created they are like those of clients: an owner thread reads, parses and hashes, main executes in batches.
 *
 * Not here    opening the connection, what its session may do (repl/replica/primary_link.c).
 * Owns        nothing.
 * Threads     main's own.
 * Tests       tests/repl/sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "outgoing.h"

#include "anet.h"
#include "client_io.h"
#include "panic.h"
#include "rebalance.h"

client *outgoingAdopt(connection *conn) {
    assertMainThread();
    char peer[ANET_ADDR_LEN + 128], local[ANET_ADDR_LEN + 128], addr[ANET_ADDR_LEN + 64];
    int port = 0;
    anetFdToString(conn->fd, addr, sizeof(addr), &port, true);
    anetFormatAddr(peer, sizeof(peer), addr, port);
    anetFdToString(conn->fd, addr, sizeof(addr), &port, false);
    anetFormatAddr(local, sizeof(local), addr, port);
    clientIo *s = clientIoCreateTrusted(conn);
    client *c = clientCreate(s, conn->fd, peer, local, false);
    c->authenticated = c->known = true;
    s->session = c;
    rebalanceAdopt(s);
    return c;
}
