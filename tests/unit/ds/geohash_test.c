/* geohash_test.c -- geohashes of positions, and searches compared with a scan of all positions.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "geohash.h"
#include "unit.h"
#include <math.h>
#include <string.h>

static double uniform(uint64_t *rng, double low, double high) {
    return low + (high - low) * (double)(unitRandom(rng) >> 11) / 0x1p53;
}

TEST(geo_known_places) {
    geoPoint palermo = {13.361389, 38.115556}, catania = {15.087269, 37.502669};
    char text[GEO_TEXT_LEN + 1] = "";
    CHECK_EQ_INT(geoEncode(palermo), 3479099956230698);
    CHECK_EQ_INT(geoEncode(catania), 3479447370796909);
    CHECK_EQ_DOUBLE(round(geoDistance(geoDecode(3479099956230698), geoDecode(3479447370796909)) * 10000), 1662741516);
    geoText(text, geoEncode(palermo));
    CHECK_EQ_STR(text, "sqc8b49rny0");
    geoText(text, geoEncode(catania));
    CHECK_EQ_STR(text, "sqdtr74hyu0");
}

TEST(geo_the_ends_of_the_map) {
    CHECK(geoPointIsValid((geoPoint){180, 85.05112878}) && geoPointIsValid((geoPoint){-180, -85.05112878}));
    CHECK(!geoPointIsValid((geoPoint){180.0001, 0}) && !geoPointIsValid((geoPoint){0, -85.0512}));
    CHECK(!geoPointIsValid((geoPoint){NAN, 0}) && !geoPointIsValid((geoPoint){0, INFINITY}));
    CHECK_EQ_INT(geoEncode((geoPoint){-180, -85.05112878}), 0);
    uint64_t numbers[] = {0, 1, ((uint64_t)1 << 52) - 1, (uint64_t)1 << 52, (uint64_t)1 << 53, UINT64_MAX};
    for (size_t i = 0; i < array_len(numbers); i++) CHECK(geoPointIsValid(geoDecode(numbers[i])));
}

TEST(geo_a_place_comes_back_near) {
    uint64_t rng = unitRandomSeed();
    for (int i = 0; i < 20000; i++) {
        geoPoint p = {uniform(&rng, -180, 180), uniform(&rng, -85.05, 85.05)}, q = geoDecode(geoEncode(p));
        CHECK(fabs(p.lon - q.lon) < 180 / 0x1p26 + 1e-12 && fabs(p.lat - q.lat) < 86 / 0x1p26);
        CHECK_EQ_INT(geoEncode(q), geoEncode(p));
        CHECK(fabs(geoDistance(p, q) - geoDistance(q, p)) < 1e-6);
    }
}

static bool inRanges(const geoRange *ranges, int count, uint64_t number) {
    int found = 0;
    for (int i = 0; i < count; i++) found += number >= ranges[i].first && number < ranges[i].end;
    CHECK(found <= 1); /* otherwise it would be returned twice */
    return found;
}

/* Checks that all positions within a shape are in its ranges. (Shapes that reach over a pole or around half the earth
 * are excluded: the map has no positions beyond its edges.) */
static void checkShape(const geoShape *shape, uint64_t *rng, double spread) {
    geoRange ranges[GEO_RANGES_MAX];
    int count = geoShapeRanges(shape, ranges);
    CHECK(count >= 1 && count <= GEO_RANGES_MAX);
    for (int i = 0; i < 300; i++) {
        double lon = shape->center.lon + uniform(rng, -spread, spread), distance;
        if (lon > 180) lon -= 360;
        if (lon < -180) lon += 360;
        geoPoint p = geoDecode(geoEncode((geoPoint){lon, shape->center.lat + uniform(rng, -spread, spread) / 4}));
        if (geoShapeHas(shape, p, &distance)) CHECK(inRanges(ranges, count, geoEncode(p)));
    }
}

TEST(geo_ranges_hold_the_shape) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 3000; round++) {
        double spread = pow(10, uniform(&rng, -4, 1));
        double lon = round % 5 ? uniform(&rng, -180, 180) : uniform(&rng, 179.9, 180);
        geoShape shape = {.center = {lon, uniform(&rng, -75, 75)}};
        double reach = spread * 111000 * uniform(&rng, 0.01, 0.25);
        if (round % 2) {
            shape.kind = GEO_CIRCLE;
            shape.radius = reach;
        } else {
            shape.kind = GEO_BOX;
            shape.width = 2 * reach;
            shape.height = 2 * reach * uniform(&rng, 0.1, 1);
        }
        checkShape(&shape, &rng, spread);
    }
}

TEST(geo_polygons) {
    uint64_t rng = unitRandomSeed();
    geoPoint square[] = {{10, 10}, {20, 10}, {20, 20}, {10, 20}};
    geoShape shape = {.kind = GEO_POLYGON, .vertices = square, .vertex_count = 4};
    double distance;
    shape.center = geoPolygonCenter(square, 4);
    CHECK(fabs(shape.center.lon - 15) < 1e-9);
    CHECK(geoShapeHas(&shape, (geoPoint){11, 19}, &distance) && !geoShapeHas(&shape, (geoPoint){9, 15}, &distance));
    CHECK(!geoShapeHas(&shape, (geoPoint){15, 21}, &distance) && !geoShapeHas(&shape, (geoPoint){21, 15}, &distance));
    for (int round = 0; round < 1000; round++) {
        geoPoint vertices[6], middle = {uniform(&rng, -150, 150), uniform(&rng, -70, 70)};
        double spread = pow(10, uniform(&rng, -3, 1));
        shape.vertices = vertices;
        shape.vertex_count = 3 + unitRandom(&rng) % 4;
        for (size_t i = 0; i < shape.vertex_count; i++) {
            vertices[i].lon = middle.lon + uniform(&rng, -spread, spread);
            vertices[i].lat = middle.lat + uniform(&rng, -spread, spread);
        }
        shape.center = geoPolygonCenter(vertices, shape.vertex_count);
        checkShape(&shape, &rng, 2 * spread);
    }
}

TEST(geo_shapes_without_end) {
    geoRange ranges[GEO_RANGES_MAX];
    double distance;
    geoShape all = {.kind = GEO_CIRCLE, .center = {15, 37}, .radius = INFINITY};
    CHECK(geoShapeRanges(&all, ranges) == 4 && geoShapeHas(&all, (geoPoint){-170, -80}, &distance));
    all = (geoShape){.kind = GEO_BOX, .center = {15, 37}, .width = INFINITY, .height = INFINITY};
    CHECK(geoShapeRanges(&all, ranges) == 4 && geoShapeHas(&all, (geoPoint){-170, -80}, &distance));
    all = (geoShape){.kind = GEO_CIRCLE, .center = {180, 85.05112878}, .radius = 0};
    CHECK(geoShapeRanges(&all, ranges) >= 1);
    geoPoint beyond[] = {{6, 85}, {72, -85}, {-144, 85}};
    all = (geoShape){.kind = GEO_POLYGON, .vertices = beyond, .vertex_count = 3};
    all.center = geoPolygonCenter(beyond, 3);
    CHECK(!geoPointIsValid(all.center));
    CHECK_EQ_INT(geoShapeRanges(&all, ranges), 1);
    CHECK(ranges[0].first == 0 && ranges[0].end > geoEncode((geoPoint){179.999, 85.05}));
    CHECK(geoShapeHas(&all, (geoPoint){15, 37}, &distance) && !geoShapeHas(&all, (geoPoint){100, 37}, &distance));
}
