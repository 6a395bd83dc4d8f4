/* pubsub_commands.h -- SUBSCRIBE, PUBLISH and their kin, PUBSUB, and what a subscriber may ask for.
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

/* The entry of GATE_SUBSCRIBED, armed for each client that is subscribed: in RESP2, where a message cannot be told from
 * a reply, it may only change its subscriptions and end the connection. */
gateResult subscribedGate(client *c);

/* Boot: behind the sealing of the command table. */
void pubsubCommandsInit(void);

#endif
