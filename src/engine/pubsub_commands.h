/* pubsub_commands.h -- SUBSCRIBE, PUBLISH, PUBSUB and related commands, and the commands that a subscriber may use.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_PUBSUB_COMMANDS_H
#define ENGINE_PUBSUB_COMMANDS_H

#include "command_table.h"
#include "gates.h"

commandHandler subscribeCommand, unsubscribeCommand, psubscribeCommand, punsubscribeCommand, ssubscribeCommand,
    sunsubscribeCommand, publishCommand, spublishCommand;
commandHandler pubsubChannelsCommand, pubsubNumpatCommand, pubsubNumsubCommand, pubsubShardchannelsCommand,
    pubsubShardnumsubCommand;

/* The check function of GATE_SUBSCRIBED, which is enabled for each client with subscriptions. In RESP2, where a message
 * looks like a reply, such a client may only change its subscriptions, ping, reset and end the connection. */
gateResult subscribedGate(client *c);

/* Call at startup, after commandTableSeal(). */
void pubsubCommandsInit(void);

#endif
