/* geohash.c -- encodes points on earth as 52-bit numbers, close together for points that are, and searches by them.
 *
 * A search uses cells that are about as wide as the shape: the one with the shape's center and its eight neighbours
 * then contain it; those that its bounds do not touch are left out. Near the poles, where degrees of longitude are
 * short, cells are larger. Each point found is tested by distance in any case: cells decide the cost, and the order of
 * an unsorted reply, which is why they are chosen as Valkey does.
 *
 * Not here    sorted sets, in which the numbers are scores (commands/zset/geo.c).
 * Threads     any: functions use only their arguments.
 * Tests       tests/unit/ds/geohash_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "geohash.h"

#include <math.h>

#define STEP_MAX 26 /* bits of each scale */
#define LON_MAX 180.0
#define LAT_MAX 85.05112878
#define EARTH_RADIUS 6372797.560856
#define MAP_HALF 20037726.37 /* metres, half of the map's width */

static double radians(double degrees) { return degrees * (M_PI / 180.0); }
static double degrees(double radians) { return radians / (M_PI / 180.0); }

bool geoPointIsValid(geoPoint p) {
    return p.lon >= -LON_MAX && p.lon <= LON_MAX && p.lat >= -LAT_MAX && p.lat <= LAT_MAX;
}

/* ---- Numbers ----------------------------------------------------------------------------------------------------- */

/* Moves the bits of a 32-bit number apart, with a clear bit above each. geohashGather() is the inverse. */
static uint64_t spread(uint64_t v) {
    v = (v | v << 16) & 0x0000ffff0000ffff;
    v = (v | v << 8) & 0x00ff00ff00ff00ff;
    v = (v | v << 4) & 0x0f0f0f0f0f0f0f0f;
    v = (v | v << 2) & 0x3333333333333333;
    return (v | v << 1) & 0x5555555555555555;
}

static uint32_t geohashGather(uint64_t v) {
    v &= 0x5555555555555555;
    v = (v | v >> 1) & 0x3333333333333333;
    v = (v | v >> 2) & 0x0f0f0f0f0f0f0f0f;
    v = (v | v >> 4) & 0x00ff00ff00ff00ff;
    v = (v | v >> 8) & 0x0000ffff0000ffff;
    return (uint32_t)(v | v >> 16);
}

/* A cell of a map of 2^step by 2^step cells. */
typedef struct cell {
    uint32_t x, y; /* counted from the west and the south */
} cell;

static uint64_t numberOf(cell c) { return spread(c.x) << 1 | spread(c.y); }

/* Returns in which of 2^step parts of a scale from -max to max the value is. */
static uint32_t partOf(double v, double max, int step) {
    return (uint32_t)((v + max) / (max + max) * (double)((uint64_t)1 << step));
}

static cell cellAt(geoPoint p, double lat_max, int step) {
    return (cell){partOf(p.lon, LON_MAX, step), partOf(p.lat, lat_max, step)};
}

static double edgeOf(uint32_t part, double max, int step) {
    return -max + part * 1.0 / (double)((uint64_t)1 << step) * (max + max);
}

uint64_t geoEncode(geoPoint p) { return numberOf(cellAt(p, LAT_MAX, STEP_MAX)); }

static double middle(uint32_t part, double max) {
    double m = (edgeOf(part, max, STEP_MAX) + edgeOf(part + 1, max, STEP_MAX)) / 2;
    return m > max ? max : m < -max ? -max : m;
}

geoPoint geoDecode(uint64_t number) {
    return (geoPoint){middle(geohashGather(number >> 1), LON_MAX), middle(geohashGather(number), LAT_MAX)};
}

void geoText(char out[GEO_TEXT_LEN], uint64_t number) {
    static const char letters[] = "0123456789bcdefghjkmnpqrstuvwxyz";
    uint64_t bits = numberOf(cellAt(
        geoDecode(number), 90, STEP_MAX)); /* a standard geohash maps all latitudes, not only those of the square */

    for (int i = 0; i < GEO_TEXT_LEN - 1; i++) out[i] = letters[bits >> (2 * STEP_MAX - 5 * (i + 1)) & 31];
    out[GEO_TEXT_LEN - 1] = letters[0];
}

/* ---- Distances --------------------------------------------------------------------------------------------------- */

static double latDistance(double a, double b) { return EARTH_RADIUS * fabs(radians(b) - radians(a)); }

/* By the haversine formula. */
double geoDistance(geoPoint a, geoPoint b) {
    double v = sin((radians(b.lon) - radians(a.lon)) / 2);

    if (v == 0.0) return latDistance(a.lat, b.lat);
    double lat_a = radians(a.lat), lat_b = radians(b.lat), u = sin((lat_b - lat_a) / 2);
    return 2.0 * EARTH_RADIUS * asin(sqrt(u * u + cos(lat_a) * cos(lat_b) * v * v));
}

/* ---- Shapes ------------------------------------------------------------------------------------------------------ */

/* The direction of the sum of the vertices as vectors. The sum is not divided by their number: that would keep the
 * direction, but change the last bits of distances, which clients see when they are stored. */
geoPoint geoPolygonCenter(const geoPoint *vertices, size_t count) {
    double x = 0, y = 0, z = 0;

    for (size_t i = 0; i < count; i++) {
        double lon = radians(vertices[i].lon), lat = radians(vertices[i].lat);
        x += cos(lat) * cos(lon);
        y += cos(lat) * sin(lon);
        z += sin(lat);
    }
    return (geoPoint){degrees(atan2(y, x)), degrees(atan2(z, sqrt(x * x + y * y)))};
}

/* Casts a ray from the point to the east: it crosses the polygon's edges an odd number of times exactly if the point is
 * inside. */
static bool polygonHas(const geoShape *shape, geoPoint p) {
    bool inside = false;

    for (size_t i = 0, before = shape->vertex_count - 1; i < shape->vertex_count; before = i++) {
        geoPoint a = shape->vertices[i], b = shape->vertices[before];
        if ((a.lat > p.lat) == (b.lat > p.lat)) continue;
        if (p.lon < (b.lon - a.lon) * (p.lat - a.lat) / (b.lat - a.lat) + a.lon) inside = !inside;
    }
    return inside;
}

/* Compares the distance to the north or south, and the one to the east or west at the latitude of the point. */
static bool boxHas(const geoShape *shape, geoPoint p) {
    if (latDistance(p.lat, shape->center.lat) > shape->height / 2) return false;
    return geoDistance(p, (geoPoint){shape->center.lon, p.lat}) <= shape->width / 2;
}

/* Returns whether the point is so far north or south of a circle's center that rounding cannot make it part of the
 * circle. */
static bool farFromCircle(const geoShape *shape, geoPoint p) {
    return latDistance(p.lat, shape->center.lat) > shape->radius * 1.000001 + 1;
}

bool geoShapeHas(const geoShape *shape, geoPoint p, double *distance) {
    if (shape->kind == GEO_CIRCLE && farFromCircle(shape, p)) return false;
    if (shape->kind == GEO_BOX && !boxHas(shape, p)) return false;
    if (shape->kind == GEO_POLYGON && !polygonHas(shape, p)) return false;
    *distance = geoDistance(shape->center, p);
    return shape->kind != GEO_CIRCLE || *distance <= shape->radius;
}

/* ---- The cells of a search --------------------------------------------------------------------------------------- */

typedef struct bounds {
    double west, south, east, north;
} bounds;

static bounds boundsOfPolygon(const geoShape *shape) {
    bounds b = {INFINITY, INFINITY, -INFINITY, -INFINITY};

    for (size_t i = 0; i < shape->vertex_count; i++) {
        geoPoint v = shape->vertices[i];
        b = (bounds){fmin(b.west, v.lon), fmin(b.south, v.lat), fmax(b.east, v.lon), fmax(b.north, v.lat)};
    }
    return b;
}

/* Degrees of longitude are shortest at the edge that is nearer to a pole. */
static bounds boundsOf(const geoShape *shape) {
    if (shape->kind == GEO_POLYGON) return boundsOfPolygon(shape);
    double width = shape->kind == GEO_CIRCLE ? shape->radius : shape->width / 2;
    double height = shape->kind == GEO_CIRCLE ? shape->radius : shape->height / 2;
    geoPoint c = shape->center;
    double lat_delta = degrees(height / EARTH_RADIUS);
    double outer = c.lat < 0 ? c.lat - lat_delta : c.lat + lat_delta;
    double lon_delta = degrees(width / EARTH_RADIUS / cos(radians(outer)));
    return (bounds){c.lon - lon_delta, c.lat - lat_delta, c.lon + lon_delta, c.lat + lat_delta};
}

/* Returns the radius of a circle around the center that contains the shape, or a polygon's bounds. */
static double reachOf(const geoShape *shape, const bounds *b) {
    geoPoint corners[] = {{b->west, b->south}, {b->west, b->north}, {b->east, b->south}, {b->east, b->north}};
    double reach = 0;

    if (shape->kind == GEO_CIRCLE) return shape->radius;
    if (shape->kind == GEO_BOX)
        return sqrt(shape->width / 2 * (shape->width / 2) + shape->height / 2 * (shape->height / 2));
    for (size_t i = 0; i < array_len(corners); i++) reach = fmax(reach, geoDistance(shape->center, corners[i]));
    return reach;
}

/* Returns the number of halvings of the map for which a cell and its neighbours cover all within `reach` metres. */
static int stepFor(double reach, double lat) {
    int step = STEP_MAX + 2;

    if (reach > 0) {
        for (step = 1; reach < MAP_HALF && step < 2 * STEP_MAX; step++) reach *= 2;
    }
    step -= 2;
    if (fabs(lat) > 66) step--;
    if (fabs(lat) > 80) step--;
    return step < 1 ? 1 : step > STEP_MAX ? STEP_MAX : step;
}

/* The map wraps around in both directions. (A point at the very end of a scale is in a cell after the last.) */
static cell neighbour(cell c, int east, int north, int step) {
    uint32_t mask = (uint32_t)((1u << step) - 1);
    if (east) c.x = (c.x + (uint32_t)east) & mask;
    if (north) c.y = (c.y + (uint32_t)north) & mask;
    return c;
}

/* Returns whether the neighbours reach as far as the bounds. */
static bool covers(cell c, int step, const bounds *b) {
    return edgeOf(neighbour(c, 0, 1, step).y + 1, LAT_MAX, step) >= b->north &&
           edgeOf(neighbour(c, 0, -1, step).y, LAT_MAX, step) <= b->south &&
           edgeOf(neighbour(c, 1, 0, step).x + 1, LON_MAX, step) >= b->east &&
           edgeOf(neighbour(c, -1, 0, step).x, LON_MAX, step) <= b->west;
}

/* Returns whether that neighbour is out of bounds, because they end within the middle cell. */
static bool excluded(cell c, int step, const bounds *b, int east, int north) {
    return (north < 0 && edgeOf(c.y, LAT_MAX, step) < b->south) ||
           (north > 0 && edgeOf(c.y + 1, LAT_MAX, step) > b->north) ||
           (east < 0 && edgeOf(c.x, LON_MAX, step) < b->west) || (east > 0 && edgeOf(c.x + 1, LON_MAX, step) > b->east);
}

int geoShapeRanges(const geoShape *shape, geoRange out[GEO_RANGES_MAX]) {
    static const struct {
        int east, north;
    } order[GEO_RANGES_MAX] = {{0, 0}, {0, 1}, {0, -1}, {1, 0}, {-1, 0}, {1, 1}, {-1, 1}, {1, -1}, {-1, -1}};
    if (!geoPointIsValid(
            shape->center)) { /* the center of a polygon may be off the map: then all of the map is searched */
        out[0] = (geoRange){0, (uint64_t)1 << (2 * STEP_MAX)};
        return 1;
    }
    bounds b = boundsOf(shape);
    int step = stepFor(reachOf(shape, &b), shape->center.lat), count = 0;
    cell c = cellAt(shape->center, LAT_MAX, step);

    if (step > 1 && !covers(c, step, &b)) c = cellAt(shape->center, LAT_MAX, --step);
    for (int i = 0; i < GEO_RANGES_MAX; i++) {
        if (step >= 2 && excluded(c, step, &b, order[i].east, order[i].north)) continue;
        uint64_t number = numberOf(neighbour(c, order[i].east, order[i].north, step));
        int shift = 2 * (STEP_MAX - step);
        geoRange range = {number << shift, (number + 1) << shift};
        /* On a map of four cells, one cell is a neighbour in several directions. */
        if (count == 0 || out[count - 1].first != range.first) out[count++] = range;
    }
    return count;
}
