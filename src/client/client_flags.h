/* client_flags.h -- what kind of client this is and what state it is in: client.flags, a bit each.
 *
 * Bits 36 to 63 are free. A layer that needs a bit takes the lowest free one, with a line in this list that names the
 * layer if the client layer has no use for it; a value that is more than a bit is stored in a slot of the layer
 * (clientSlotRegister() in client.h). Bits that GET and SET test stay below 31: an instruction has them as a constant.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_CLIENT_FLAGS_H
#define CLIENT_CLIENT_FLAGS_H

#include "platform.h"

#define CLIENT_FLAG(bit) (UINT64_C(1) << (bit))

#define CLIENT_CLOSE_AFTER_REPLY CLIENT_FLAG(0) /* No further command is executed; it is closed when all is written. */
#define CLIENT_CLOSE_ASAP CLIENT_FLAG(1)        /* It is to be freed, and was put on the list of clients to close. */
#define CLIENT_REPLY_OFF CLIENT_FLAG(2)         /* CLIENT REPLY OFF is in force. */
#define CLIENT_REPLY_SKIP_NEXT CLIENT_FLAG(3)   /* CLIENT REPLY SKIP has run: the next command gets no reply. */
#define CLIENT_REPLY_SKIP CLIENT_FLAG(4)        /* The current command gets no reply. */
#define CLIENT_BLOCKED CLIENT_FLAG(5)           /* Its command is blocked; the commands after it wait. */
#define CLIENT_PAUSED CLIENT_FLAG(6)            /* Its next command is postponed by CLIENT PAUSE. */
#define CLIENT_MULTI CLIENT_FLAG(7)             /* MULTI has run: commands are queued until EXEC. */
#define CLIENT_DIRTY_CAS CLIENT_FLAG(8)         /* A watched key has changed: EXEC returns null. */
#define CLIENT_DIRTY_EXEC CLIENT_FLAG(9)        /* A command was refused in MULTI: EXEC is refused as well. */
#define CLIENT_SLICED CLIENT_FLAG(10)           /* Others were served while its command ran (engine/sliced.h). */
#define CLIENT_NO_TOUCH CLIENT_FLAG(11)         /* Its commands leave the access time of keys as it is. */
#define CLIENT_POSTPONED CLIENT_FLAG(12)        /* Its command has done nothing yet and runs again (engine/sliced.h). */
#define CLIENT_FAKE CLIENT_FLAG(13)             /* It has no connection. */
#define CLIENT_PUBSUB CLIENT_FLAG(14)           /* It is subscribed to at least one channel or pattern. */
#define CLIENT_MONITOR CLIENT_FLAG(15)          /* It gets a copy of all commands; CLIENT_REPLICA is set, too. */
#define CLIENT_REPLICA CLIENT_FLAG(16)          /* It is a replica, or a monitor. */
#define CLIENT_PRIMARY CLIENT_FLAG(17)          /* Its commands are the replication stream of this server's primary. */
#define CLIENT_PENDING_WRITE CLIENT_FLAG(18)    /* It is on the list of clients with output for their I/O half. */
#define CLIENT_READY CLIENT_FLAG(19)            /* It is on net's list of clients with commands to execute. */
#define CLIENT_PROTOCOL_ERROR CLIENT_FLAG(20)   /* It sent a request that could not be parsed. */
#define CLIENT_DENY_BLOCKING CLIENT_FLAG(21)    /* Its commands may not block (in EXEC, in a script, from a primary). */
#define CLIENT_TRACKING CLIENT_FLAG(22)         /* CLIENT TRACKING is on. */
#define CLIENT_READONLY CLIENT_FLAG(23)         /* READONLY has run: a replica serves its reads. */
#define CLIENT_PUSHING CLIENT_FLAG(24)          /* A push message is being added; it is sent even with replies off. */
#define CLIENT_ASKING CLIENT_FLAG(25)           /* ASKING has run: its next command may use a slot being imported. */
#define CLIENT_IMPORT_SOURCE CLIENT_FLAG(26)    /* It imports the dataset of another server (import-mode). */
#define CLIENT_OUTPUT_FULL CLIENT_FLAG(27)      /* Commands wait until enough output is written (output_limits.h). */
#define CLIENT_RESERVED CLIENT_FLAG(28)         /* Memory is reserved for its command (command_memory.h). */
#define CLIENT_REPLAYS CLIENT_FLAG(29)     /* It replays the append-only file, whose commands were executed before. */
#define CLIENT_ARGS_TAKEN CLIENT_FLAG(30)  /* Its command has taken large arguments (clientEntryOfArg()). */
#define CLIENT_PUSHES_HELD CLIENT_FLAG(31) /* Push messages wait for the end of its command (reply.h). */
#define CLIENT_NO_EVICT CLIENT_FLAG(32)    /* maxmemory-clients does not close it. */
#define CLIENT_UNIX_SOCKET CLIENT_FLAG(33) /* It is connected to the Unix socket. */
#define CLIENT_IN_CLOSING CLIENT_FLAG(34)  /* It is on the list of clients to close. */
#define CLIENT_TLS CLIENT_FLAG(35)         /* It is connected by TLS. */

#endif
