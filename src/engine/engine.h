/* engine.h -- registers this layer in the tables of the layers below; handlers of its own files.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_ENGINE_H
#define ENGINE_ENGINE_H

#include "command_table.h"
#include "gates.h"
#include "pubsub.h"

/* Call at startup. */
void engineCommandsRegister(void);
void engineInfoRegister(void);

/* --- MULTI, EXEC, DISCARD, WATCH, UNWATCH (transaction.c) --------------------------------------------------------- */

commandHandler multiCommand, execCommand, discardCommand, watchCommand, unwatchCommand;

/* --- ASKING (slot_check.c) ---------------------------------------------------------------------------------------- */

commandHandler askingCommand;

/* --- SUBSCRIBE, PUBLISH, PUBSUB and related commands (pubsub_commands.c) ------------------------------------------ */

commandHandler subscribeCommand, unsubscribeCommand, psubscribeCommand, punsubscribeCommand, ssubscribeCommand,
    sunsubscribeCommand, publishCommand, spublishCommand;
commandHandler pubsubChannelsCommand, pubsubNumpatCommand, pubsubNumsubCommand, pubsubShardchannelsCommand,
    pubsubShardnumsubCommand;

/* The check function of GATE_SUBSCRIBED, which is enabled for each client with subscriptions. In RESP2, where a message
 * looks like a reply, such a client may only change its subscriptions, ping, reset and end the connection. */
gateResult subscribedGate(client *c);

/* Ends all subscriptions to the shard channels for which `left` returns true; each subscriber gets a push message. Do
 * not call while a message is being delivered. */
void pubsubLeaveShardChannels(bool (*left)(slice channel));

/* Call at startup, after commandTableSeal(). */
void pubsubCommandsInit(void);
/* Sets the function that passes what clients publish on to other nodes. Call at startup, in cluster mode. */
typedef void pubsubForward(pubsubKind kind, slice channel, slice message);
void pubsubSetForward(pubsubForward *fn);

#endif
