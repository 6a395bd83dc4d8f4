/* bus_frame.h -- the frames of the cluster bus: decoding what a peer has sent, encoding what is sent.
 *
 * A frame is a header of 2,256 bytes and a body that depends on the type. The light form, of messages only, has a
 * header of 16 bytes. Numbers are big-endian, text is padded with NULs. The format is that of Valkey 9.1 (version 1 of
 * the bus).
 *
 *   0 signature | 4 length | 8 version | 10 port | 12 type | 14 gossip entries | 16 epochs, offset | 40 sender
 *   80 slots | 2128 primary | 2168 address | 2214 extensions | 2246 ports, flags, state, marks | 2256 body
 *
 * Threads     any: there is no state.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_FRAME_H
#define CLUSTER_BUS_FRAME_H

#include "cluster_types.h"
#include "sds.h"

#define BUS_HEAD_BYTES 16 /* what busFrameLength() needs */
#define BUS_HEADER_BYTES 2256
#define BUS_GOSSIP_BYTES 104

typedef enum busType {
    BUS_PING,
    BUS_PONG,
    BUS_MEET,
    BUS_FAIL,
    BUS_PUBLISH,
    BUS_VOTE_REQUEST,
    BUS_VOTE,
    BUS_UPDATE,
    BUS_FAILOVER_START,
    BUS_MODULE,
    BUS_PUBLISH_SHARD,
    BUS_TYPES
} busType;
/* Returns the type's name in statistics and logs ("auth-req"). */
const char *busTypeName(unsigned type);

enum { /* flags of nodes, in headers and gossip */
       NODE_PRIMARY = 0x0001,
       NODE_REPLICA = 0x0002,
       NODE_SUSPECTED = 0x0004, /* "fail?" */
       NODE_FAILED = 0x0008,
       NODE_MYSELF = 0x0010,
       NODE_HANDSHAKE = 0x0020,
       NODE_NO_ADDRESS = 0x0040,
       NODE_MEET = 0x0080,
       NODE_MIGRATE_TO = 0x0100, /* a primary that has or had replicas */
       NODE_NO_FAILOVER = 0x0200,
       NODE_EXTENSIONS = 0x0400,
       NODE_LIGHT_PUBLISH = 0x0800,
       NODE_LIGHT_MODULE = 0x1000,   /* also: takes more than one MEET */
       NODE_PRIMARY_FAILED = 0x2000, /* its primary is FAIL in its own view */
};
enum { /* marks of a frame */
       BUS_MARK_PAUSED = 0x01,
       BUS_MARK_FORCE_VOTE = 0x02,
       BUS_MARK_EXTENSIONS = 0x04,
};

typedef struct busHeader {
    nodeId sender;
    nodeId primary; /* of a replica; otherwise none */
    slotSet slots;  /* of the sender, or of its primary */
    uint64_t current_epoch, config_epoch, offset;
    uint16_t flags;                      /* NODE_... */
    uint16_t port, other_port, bus_port; /* `port` is of TLS if the bus uses TLS, and `other_port` the plain one */
    uint8_t state;                       /* 0 ok, 1 fail */
    uint8_t marks;                       /* BUS_MARK_... */
    char ip[NODE_IP_LEN];                /* NUL-terminated; empty: that of the connection */
} busHeader;

typedef struct busGossip {
    nodeId id;
    uint32_t ping_sent_s, pong_received_s; /* seconds since 1970; 0: none */
    uint16_t port, other_port, bus_port, flags;
    char ip[NODE_IP_LEN]; /* NUL-terminated */
} busGossip;

#define BUS_FORGOTTEN_MAX 64 /* extensions of that kind that are read; any more are left */
typedef struct busForgotten {
    nodeId id;
    uint64_t left_s; /* for how long it is still to be forgotten */
} busForgotten;

typedef struct busExtensions {
    slice hostname, human_name, client_ipv4, client_ipv6, zone; /* borrowed from the frame; empty: not sent */
    uint16_t client_port, client_tls_port;                      /* 0: not sent */
    nodeId shard;                                               /* none: not sent */
    size_t forgotten_count;
    busForgotten forgotten[BUS_FORGOTTEN_MAX];
    size_t unknown; /* extensions of a type that this version does not know */
    uint16_t last_unknown_type;
} busExtensions;

typedef struct busFrame {
    busType type;
    bool light;       /* there is no header: the sender is known by the link alone */
    busHeader header; /* of a frame that is not light */
    slice gossip;     /* borrowed: entries for busGossipAt() */
    size_t gossip_count;
    size_t gossip_invalid; /* entries with an invalid id: then gossip_count is 0 */
    busExtensions extensions;
    nodeId subject;         /* FAIL, UPDATE: the node that it is about */
    uint64_t subject_epoch; /* UPDATE: its config epoch */
    slotSet subject_slots;  /* UPDATE: its slots */
    slice channel, message; /* PUBLISH, PUBLISH_SHARD: borrowed */
    uint64_t module_id;     /* MODULE; bytes as the sender had them in memory */
    uint8_t module_type;
    slice payload; /* MODULE: borrowed */
} busFrame;

/* Returns the length of the frame that begins with these BUS_HEAD_BYTES bytes; 0 if it is no frame, or longer than
 * `max`: the link has to be closed. */
size_t busFrameLength(const uint8_t *head, size_t max);

typedef enum {
    BUS_READ,    /* the frame is valid */
    BUS_IGNORED, /* it is not, and `why` says what is wrong; the link goes on */
    BUS_OTHER_VERSION,
} busVerdict;
/* Decodes a whole frame, whose length is that of busFrameLength(). The frame is checked before the first result is
 * used: all lengths, NULs that end texts, and characters of names. `why` gets a line for the log, of up to `size`
 * bytes. */
busVerdict busFrameRead(slice bytes, busFrame *frame, char *why, size_t size);
/* Decodes entry `i` < gossip_count. */
busGossip busGossipAt(const busFrame *frame, size_t i);

/* --- Encoding: append a header, then the body of its type, and call busEnd() ---------- */
/* Appends a header to an empty string. */
sds busBegin(sds out, busType type, const busHeader *header);
sds busAddGossip(sds out, const busGossip *entry); /* before all extensions */
/* Appends those extensions that are not empty, in the order in which Valkey sends them. */
sds busAddExtensions(sds out, const busExtensions *extensions);
sds busAddSubject(sds out, const nodeId *failed); /* FAIL */
sds busAddUpdate(sds out, uint64_t epoch, const nodeId *node, const slotSet *slots);
sds busAddPublish(sds out, slice channel, slice message);
sds busAddModule(sds out, uint64_t module_id, uint8_t type, slice payload);
/* Completes the frame: its length. */
void busEnd(sds frame);
/* Makes a whole message with a light header, which has no sender. */
sds busLightPublish(busType type, slice channel, slice message);
sds busLightModule(uint64_t module_id, uint8_t type, slice payload);

#endif
