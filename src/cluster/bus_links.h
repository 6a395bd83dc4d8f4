/* bus_links.h -- the links of the bus: accepted, connected, read, written, closed.
 *
 *     accepted --> HANDSHAKE --+
 *                              +--> UP --> closed
 *     CONNECTING -> HANDSHAKE -+
 *
 * A link is closed from any state; HANDSHAKE lasts only with TLS. A link is named by its number (machine.h). An
 * accepted link is a stranger until the machine knows the node at its other end: there are few of them, each for a
 * limited time, with frames of the size of a ping at most.
 *
 * Runs on: the bus thread, except where a function says otherwise.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_LINKS_H
#define CLUSTER_BUS_LINKS_H

#include "ae.h"
#include "bus_stats.h"
#include "machine.h"
#include "tls_context.h"

#define BUS_STRANGERS_MAX 128
#define BUS_STRANGER_FRAME_MAX (256 * 1024) /* a ping with more than 2,000 entries */

typedef struct busSettings {
    uint64_t node_timeout_ms;
    size_t link_limit;    /* cluster-link-sendbuf-limit: bytes of unsent output at which a link is dropped; 0: none */
    size_t message_limit; /* bytes of unsent messages of a link from which on more of them are dropped; 0: none */
    size_t frame_max;     /* the longest frame that is accepted */
    char source_ip[NODE_IP_LEN];          /* address from which links are made; empty: any */
    tlsContext *accept_tls, *connect_tls; /* counted; NULL: without TLS. accept_tls must demand a certificate */
} busSettings;

/* Called for what happens on links. The first two may close any link. */
typedef struct busLinkHooks {
    void *arg;
    /* A link is up, which busLinksConnect() has made, or which was accepted: then its number is above
     * CLUSTER_LINK_ACCEPTED. */
    void (*up)(void *arg, uint64_t link, const char *ip, const char *peer_ip);
    /* A valid frame has arrived, maybe of a stranger. Returns whether the stranger is known now. The bytes of the frame
     * may be taken by busLinksTakeFrame() during the call. */
    bool (*frame)(void *arg, uint64_t link, const busFrame *frame, bool of_stranger);
    /* A link has been lost or could not be made. Called from busLinksReportLost() only. */
    void (*lost)(void *arg, uint64_t link);
} busLinkHooks;

typedef struct busLinks busLinks;

/* Takes the listening sockets over, and references to the TLS contexts. Returns NULL with errno on failure; the sockets
 * are the caller's then. */
busLinks *busLinksCreate(aeEventLoop *loop, const busSettings *settings, const busLinkHooks *hooks, busStats *stats,
                         const int *listeners, size_t count);
/* Closes all links, and the listening sockets as well if `listeners_too`. No hook is called. */
void busLinksFree(busLinks *s, bool listeners_too);
/* Closes the listening sockets, and takes others over; none: nothing is accepted until the next call. Logs if the loop
 * cannot wait for one. */
void busLinksListen(busLinks *s, const int *listeners, size_t count);
/* Applies to existing links as well, but for TLS, which is of new ones. Takes references to the contexts. */
void busLinksConfigure(busLinks *s, const busSettings *settings);

/* Connects to an address. `up` or `lost` follows. */
void busLinksConnect(busLinks *s, uint64_t link, const char *ip, uint16_t port);
/* Sends a frame, of which it takes the reference. Drops it if there is no such link. */
void busLinksSendTake(busLinks *s, uint64_t link, frameBlock *frame);
/* Closes a link, if there is one of that number. After busLinksLose() `lost` follows, as if the peer had closed it. */
void busLinksClose(busLinks *s, uint64_t link);
void busLinksLose(busLinks *s, uint64_t link);

/* Returns the bytes of the frame with which the hook `frame` has been called, valid beyond that call. The caller owns
 * them. Call at most once in the hook. */
sds busLinksTakeFrame(busLinks *s);

/* Calls `lost` for each link that has been lost since the last call. */
void busLinksReportLost(busLinks *s);
/* Writes what was added, and frees closed links. Returns whether there are lost links to report. Call before each
 * wait. */
bool busLinksFlush(busLinks *s);
/* Gives up what has taken too long. Call each 100 ms. */
void busLinksTick(busLinks *s, uint64_t now_ms);

/* A link as CLUSTER LINKS shows it. */
typedef struct busLinkFigures {
    uint64_t link;
    int64_t created_ms; /* wall time */
    bool is_inbound, is_up, waits_to_write;
    size_t output_bytes, output_memory, memory; /* unsent; with blocks in full; that, the input and the link itself */
} busLinkFigures;
/* Sets *list to all links, in the order in which they were made, and returns their number. The caller frees it by
 * zfree(). Any thread. */
size_t busLinksList(busLinks *s, busLinkFigures **list);

#endif
