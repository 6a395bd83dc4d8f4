/* geo_args.h -- arguments and replies that the files of geo commands share.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_GEO_ARGS_H
#define COMMANDS_GEO_ARGS_H

#include "geohash.h"
#include "reply.h"

/* Parses longitude and latitude in argument `index` and the next. Returns false after an error reply. */
bool getPointFromArgs(client *c, uint32_t index, geoPoint *out) must_check;
/* Parses the unit in argument `index`; *metres is its length in meters. Returns false after an error reply. */
bool getUnitFromArg(client *c, uint32_t index, double *metres) must_check;
/* Converts a score to the number of a position, its geohash (ds/geohash.h). Any score gives some number. */
uint64_t geoNumberOfScore(double score);

/* Adds an array of longitude and latitude. */
void addReplyPoint(client *c, geoPoint p);
/* Adds the distance with four decimals, as a bulk string. */
void addReplyDistance(client *c, double distance);

#endif
