/* lolwut.c -- the LOLWUT command: draws a picture and shows the version.
 *
 * The picture is a row of hills at night, different at each call: each range is a sum of three waves of random length
 * and phase, nearer ranges are lower and denser, and above them are stars and a moon.
 *
 * Threads     main.
 * Cost        columns x rows, both of which are bounded.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin.h"

#include "reply.h"
#include "rng.h"
#include "version.h"

#include <math.h>

#define COLUMNS_MAX 200
#define ROWS_MAX 100
#define RANGES 4
#define WAVES 3

typedef struct hillRange {
    double height, amplitude;           /* fractions of the picture's height */
    double length[WAVES], phase[WAVES]; /* columns, radians */
} hillRange;

static hillRange drawRange(rng *r, int index) {
    hillRange range = {.height = 0.55 - 0.13 * index, .amplitude = 0.14 - 0.025 * index};
    for (int w = 0; w < WAVES; w++) {
        range.length[w] = (60.0 - 8.0 * index) / (1 << w) * (0.7 + 0.6 * rngDouble(r));
        range.phase[w] = 6.2832 * rngDouble(r);
    }
    return range;
}

/* Returns the number of rows that the range covers in that column, from the ground. */
static int rangeTop(const hillRange *range, int column, int rows) {
    double y = range->height;
    for (int w = 0; w < WAVES; w++)
        y += range->amplitude / (1 << w) * sin(6.2832 * column / range->length[w] + range->phase[w]);
    return (int)(y * rows);
}

/* `tops` has the heights of the ranges in this column. */
static char pixel(const int tops[RANGES], rng *r, int column, int row, int columns, int rows) {
    static const char shades[RANGES] = {'.', ':', '+', '#'};
    int above = rows - row; /* rows above the ground */
    for (int i = RANGES - 1; i >= 0; i--)
        if (above <= tops[i]) return shades[i];
    /* A character is about twice as high as it is wide. */
    double dx = (column - columns * 0.78) / 2, dy = row - rows * 0.2, radius = rows * 0.09;
    if (dx * dx + dy * dy <= radius * radius) return 'O';
    return rngBelow(r, 60) == 0 ? '*' : ' ';
}

static sds drawHills(int columns, int rows) {
    rng *r = rngThread();
    int tops[COLUMNS_MAX][RANGES];
    for (int i = 0; i < RANGES; i++) {
        hillRange range = drawRange(r, i);
        for (int column = 0; column < columns; column++) tops[column][i] = rangeTop(&range, column, rows);
    }
    sds picture = sdsEmpty();
    char line[COLUMNS_MAX + 1];
    for (int row = 0; row < rows; row++) {
        for (int column = 0; column < columns; column++)
            line[column] = pixel(tops[column], r, column, row, columns, rows);
        line[columns] = '\n';
        picture = sdsCatLen(picture, line, (size_t)columns + 1);
    }
    return picture;
}

static int clamp(long long n, int most) { return n < 1 ? 1 : n > most ? most : (int)n; }

void lolwutCommand(client *c) {
    uint32_t at = 1;
    long long version, columns = 80, rows = 24;
    if (at + 1 < c->argc && sliceIs(c->argv[at], "version")) {
        if (!getLongLongFromArg(c, at + 1, &version, NULL)) return;
        at += 2;
    }
    if (at < c->argc && !getLongLongFromArg(c, at, &columns, NULL)) return;
    if (at + 1 < c->argc && !getLongLongFromArg(c, at + 1, &rows, NULL)) return;
    sds text = drawHills(clamp(columns, COLUMNS_MAX), clamp(rows, ROWS_MAX));
    text = sdsCat(text, "\nHills by night. Valkey ver. " VALKEY_VERSION "\n");
    addReplyVerbatim(c, sdsSlice(text), "txt");
    sdsFree(text);
}
