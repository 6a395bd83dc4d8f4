/* geohash.h -- encodes points on earth as 52-bit numbers, close together for points that are, and searches by them.
 *
 * A point's number interleaves 26 bits each of its longitude and latitude. So a square cell of the map, and of
 * each quarter of it, is one range of numbers: a search for all points of a shape reads the ranges of up to
 * nine cells and tests each point in them against the shape (docs/design/geohash.md).
 *
 * Units are degrees, and metres on a sphere of the radius that Valkey uses.
 *
 * Threads     any: functions use only their arguments.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_GEOHASH_H
#define DS_GEOHASH_H

#include "platform.h"

typedef struct geoPoint {
    double lon, lat;
} geoPoint;

/* Returns whether the point is on the map, which ends at 85.05112878 degrees of latitude, so that it is a square. */
bool geoPointIsValid(geoPoint p);
/* Returns the number of a valid point. At the very end of a scale it is one more than fits into 52 bits. */
uint64_t geoEncode(geoPoint p);
/* Returns the middle of the cell that a number stands for. */
geoPoint geoDecode(uint64_t number);
/* Returns the distance of two points in metres. */
double geoDistance(geoPoint a, geoPoint b);

/* Writes a number as a standard geohash of 10 letters, then a "0" without meaning, as GEOHASH replies; not
 * NUL-terminated. */
#define GEO_TEXT_LEN 11
void geoText(char out[GEO_TEXT_LEN], uint64_t number);

typedef enum { GEO_CIRCLE, GEO_BOX, GEO_POLYGON } geoShapeKind;
typedef struct geoShape {
    geoShapeKind kind;
    geoPoint center;          /* distances are measured from here */
    double radius;            /* circle */
    double width, height;     /* box */
    const geoPoint *vertices; /* polygon: borrowed, at least 3 */
    size_t vertex_count;
} geoShape;
/* Returns the center of a polygon: the middle of its vertices on the sphere. */
geoPoint geoPolygonCenter(const geoPoint *vertices, size_t count);

/* Returns whether the shape contains the point; if so, *distance is its distance from the center in metres. */
bool geoShapeHas(const geoShape *shape, geoPoint p, double *distance);

#define GEO_RANGES_MAX 9
typedef struct geoRange {
    uint64_t first, end; /* numbers; end is exclusive */
} geoRange;
/* Writes the ranges that contain all points of the shape and returns how many. Their order is that in which GEOSEARCH
 * of Valkey returns unsorted results. */
int geoShapeRanges(const geoShape *shape, geoRange out[GEO_RANGES_MAX]);

#endif
