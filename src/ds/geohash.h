/* geohash.h -- places on earth as 52 bits that lie close together for places that do, and searches among them.
 *
 * A place's number has 26 bits each of its longitude and latitude, taken in turns. So a square cell of the map, and of
 * each quarter of it, is one range of numbers: a search for all places of a shape looks through the ranges of up to
 * nine cells and asks of each place in them whether it lies in the shape (docs/design/geohash.md).
 *
 * Degrees; metres on a sphere of the radius that Valkey computes with.
 *
 * Threads     any: a function knows only its arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_GEOHASH_H
#define DS_GEOHASH_H

#include "platform.h"

typedef struct geoPoint {
    double lon, lat;
} geoPoint;

/* Within the map, which ends at 85.05112878 degrees of latitude, where it is a square? */
bool geoPointIsValid(geoPoint p);
/* The number of a valid place. At the very end of a scale it is one more than 52 bits have. */
uint64_t geoEncode(geoPoint p);
/* The middle of the cell that a number stands for. */
geoPoint geoDecode(uint64_t number);
double geoDistance(geoPoint a, geoPoint b);

/* The place of a number as others write it, 10 letters and a "0" that stands for nothing. */
#define GEO_TEXT_LEN 11
void geoText(char out[GEO_TEXT_LEN], uint64_t number);

typedef enum { GEO_CIRCLE, GEO_BOX, GEO_POLYGON } geoShapeKind;
typedef struct geoShape {
    geoShapeKind kind;
    geoPoint center;          /* distances are measured from here */
    double radius;            /* circle */
    double width, height;     /* box */
    const geoPoint *vertices; /* polygon: borrowed, 3 at least */
    size_t vertex_count;
} geoShape;
/* The center of a polygon: the middle of its vertices on the sphere. */
geoPoint geoPolygonCenter(const geoPoint *vertices, size_t count);

/* Does the shape hold the place? Then *distance is from its center. */
bool geoShapeHas(const geoShape *shape, geoPoint p, double *distance);

#define GEO_RANGES_MAX 9
typedef struct geoRange {
    uint64_t first, end; /* numbers; the end is not in it */
} geoRange;
/* The ranges in which all places of the shape are, in the order in which clients are used to get them. */
int geoShapeRanges(const geoShape *shape, geoRange out[GEO_RANGES_MAX]);

#endif
