/* geo_args.h -- arguments and replies that the files of geo commands share.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_GEO_ARGS_H
#define COMMANDS_GEO_ARGS_H

#include "geohash.h"
#include "reply.h"

/* Longitude and latitude in arguments `index` and the next. False after an error. */
bool getPointFromArgs(client *c, uint32_t index, geoPoint *out) must_check;
/* How many metres the unit in argument `index` has. False after an error. */
bool getUnitFromArg(client *c, uint32_t index, double *metres) must_check;
/* A score as a place's number; what no place has is some number, too. */
uint64_t geoNumberOfScore(double score);

void addReplyPoint(client *c, geoPoint p);
/* With four digits behind the point, as a bulk. */
void addReplyDistance(client *c, double distance);

#endif
