/* svg_report.c -- the results of a run as an SVG picture: latencies and rate over time of each test.
 *
 *     +------------------------------------------------------------+
 *     | what was measured, and how                                 |  HEAD_HEIGHT
 *     | test: its figures                                          |  \
 *     |   latency |      __/          rate | __-----____           |   TEST_HEIGHT each
 *     |           |_____/                  |/                      |  /
 *     |            percentile                seconds               |
 *     +------------------------------------------------------------+
 *
 * The scale of percentiles is logarithmic in the share of slower requests: from 90 to 99 is as far as from 99 to 99.9,
 * as the slowest requests matter most to users. Latencies get a logarithmic scale if they differ by a large factor.
 *
 * Tests       tests/unit/tools/result_reports_test.c, tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "result_files.h"
#include "version.h"
#include <math.h>

#define WIDTH 1000
#define HEAD_HEIGHT 92
#define TEST_HEIGHT 312
#define FOOT_HEIGHT 16
#define EDGE 32
#define PLOT_WIDTH 400
#define PLOT_HEIGHT 170
#define LEFT_PLOT (EDGE + 60)
#define RIGHT_PLOT (WIDTH - EDGE - PLOT_WIDTH)
#define PLOT_TOP 88 /* from the top of a test's part */

#define INK "#1f2328"
#define PALE "#59636e"
#define GRID "#e4e7eb"
#define LATENCY_COLOUR "#8250df"
#define RATE_COLOUR "#0969da"
#define WANTED_COLOUR "#bc4c00"

#define TITLE_BYTES 95
#define TICKS_MAX 6
#define LOG_FROM 25     /* ratio of latencies above which their scale is logarithmic */
#define LABEL_NINES 0.8 /* minimum distance of marks on the curve from the mark of the slowest request */
#define CURVE_STEPS 12  /* points of the curve for each halving of the remaining share */

/* ---- Numbers as people read them -------------------------------------------------------------------------------- */

/* Appends a number with separators: 1,234,567. */
static sds catGrouped(sds out, double value) {
    char digits[32];
    int len = snprintf(digits, sizeof(digits), "%.0f", value);
    for (int i = 0; i < len; i++) {
        if (i > 0 && (len - i) % 3 == 0) out = sdsCat(out, ",");
        out = sdsCatLen(out, &digits[i], 1);
    }
    return out;
}

static sds catCompact(sds out, double value) {
    if (value >= 1e6) return sdsCatPrintf(out, "%gM", value / 1e6);
    if (value >= 1e3) return sdsCatPrintf(out, "%gk", value / 1e3);
    return sdsCatPrintf(out, "%g", value);
}

static sds catDuration(sds out, double ms) {
    if (ms >= 1000) return sdsCatPrintf(out, "%.3g s", ms / 1000);
    return sdsCatPrintf(out, ms < 1 ? "%.2g ms" : "%.3g ms", ms);
}

static sds catPlain(sds out, double value) { return sdsCatPrintf(out, "%g", value); }

/* ---- Scales ----------------------------------------------------------------------------------------------------- */

/* Maps a value to a position on an axis: 0 is its start, 1 its end. */
typedef struct scale {
    double low, high, step; /* step: between two ticks; a factor if logarithmic */
    bool logarithmic;
} scale;

static double shareOf(const scale *s, double value) {
    double share = s->logarithmic ? log(value / s->low) / log(s->high / s->low) : (value - s->low) / (s->high - s->low);
    return share < 0 ? 0 : share > 1 ? 1 : share;
}

/* Returns the smallest of ... 1, 2, 5, 10, 20 ... that is not below `least`. */
static double roundStep(double least) {
    double power = pow(10, floor(log10(least)));
    double digit = least / power;
    return power * (digit <= 1 ? 1 : digit <= 2 ? 2 : digit <= 5 ? 5 : 10);
}

/* Returns a scale from 0 to a round number above `high`. */
static scale linearScale(double high) {
    if (high <= 0) high = 1;
    double step = roundStep(high / (TICKS_MAX - 1));
    return (scale){0, step * ceil(high / step - 1e-9), step, false};
}

/* Like linearScale(), but ends at `high` exactly. */
static scale exactScale(double high) {
    scale s = linearScale(high);
    if (high > 0) s.high = high;
    return s;
}

/* Returns a logarithmic scale between the powers of ten around `low` and `high`. */
static scale logScale(double low, double high) {
    double first = floor(log10(low)), last = ceil(log10(high));
    if (last <= first) last = first + 1;
    double step = pow(10, ceil((last - first) / (TICKS_MAX - 1)));
    return (scale){pow(10, first), pow(10, last), step, true};
}

static double nextTick(const scale *s, double tick) { return s->logarithmic ? tick * s->step : tick + s->step; }

/* ---- Drawing ---------------------------------------------------------------------------------------------------- */

/* A diagram with two axes. */
typedef struct plot {
    double x, y; /* its upper left corner */
    scale across, up;
} plot;

static double atX(const plot *p, double value) { return p->x + PLOT_WIDTH * shareOf(&p->across, value); }
static double atY(const plot *p, double value) { return p->y + PLOT_HEIGHT * (1 - shareOf(&p->up, value)); }

static sds catLine(sds out, double x1, double y1, double x2, double y2, const char *style) {
    return sdsCatPrintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
}

/* Begins a text; append its content and call endText(). `anchor` is start, middle or end. */
static sds beginText(sds out, double x, double y, const char *anchor, const char *class) {
    return sdsCatPrintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
}

static sds endText(sds out) { return sdsCat(out, "</text>\n"); }

static sds catUpAxis(sds out, const plot *p, sds (*label)(sds, double)) {
    for (double tick = p->up.low; tick <= p->up.high * (1 + 1e-9); tick = nextTick(&p->up, tick)) {
        double y = atY(p, tick);
        out = catLine(out, p->x, y, p->x + PLOT_WIDTH, y, "class=\"grid\"");
        out = endText(label(beginText(out, p->x - 8, y + 4, "end", "tick"), tick));
    }
    return out;
}

static sds catSecondsAxis(sds out, const plot *p) {
    for (double tick = 0; tick <= p->across.high * (1 + 1e-9); tick = nextTick(&p->across, tick)) {
        double x = atX(p, tick);
        out = catLine(out, x, p->y + PLOT_HEIGHT, x, p->y + PLOT_HEIGHT + 4, "class=\"edge\"");
        out = endText(catPlain(beginText(out, x, p->y + PLOT_HEIGHT + 18, "middle", "tick"), tick));
    }
    return catLine(out, p->x, p->y + PLOT_HEIGHT, p->x + PLOT_WIDTH, p->y + PLOT_HEIGHT, "class=\"edge\"");
}

static sds catCaption(sds out, const plot *p, const char *text, const char *below) {
    out = endText(sdsCat(beginText(out, p->x, p->y - 12, "start", "caption"), text));
    return endText(sdsCat(beginText(out, p->x + PLOT_WIDTH, p->y + PLOT_HEIGHT + 36, "end", "tick"), below));
}

/* ---- Latencies -------------------------------------------------------------------------------------------------- */

/* Returns the number of nines of a percentile: 0 at 0, 1 at 90, 2 at 99; `most` at 100, where it would be infinite. */
static double nines(double percentile, double most) {
    return percentile >= 100 ? most : fmin(-log10(1 - percentile / 100), most);
}

typedef struct curve {
    sds path;
    const plot *plot;
} curve;

static void addStep(void *arg, double percentile, int64_t us, int64_t cumulative) {
    curve *c = arg;
    double x = atX(c->plot, nines(percentile, c->plot->across.high)), y = atY(c->plot, (double)us / 1000);
    unused(cumulative);
    if (sdsLen(c->path) == 0) c->path = sdsCatPrintf(c->path, "M%.1f %.1f", x, y);
    else c->path = sdsCatPrintf(c->path, "L%.1f %.1f", x, y);
}

static sds catPercentileAxis(sds out, const plot *p) {
    static const double ticks[] = {0, 50, 90, 99, 99.9, 99.99, 99.999, 99.9999, 99.99999};
    for (size_t i = 0; i < array_len(ticks); i++) {
        double where = nines(ticks[i], INFINITY);
        if (where > p->across.high) break;
        double x = atX(p, where);
        out = catLine(out, x, p->y, x, p->y + PLOT_HEIGHT, "class=\"grid\"");
        out = endText(catPlain(beginText(out, x, p->y + PLOT_HEIGHT + 18, "middle", "tick"), ticks[i]));
    }
    return catLine(out, p->x, p->y + PLOT_HEIGHT, p->x + PLOT_WIDTH, p->y + PLOT_HEIGHT, "class=\"edge\"");
}

/* Draws a dot on the curve with its latency, beside the curve, which rises from left to right. */
static sds catMark(sds out, const plot *p, const histogram *h, double percentile) {
    double ms = (double)(percentile < 100 ? histogramPercentile(h, percentile) : histogramMax(h)) / 1000;
    double x = atX(p, nines(percentile, p->across.high)), y = atY(p, ms);
    out = sdsCatPrintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"" LATENCY_COLOUR "\"/>\n", x, y);
    bool below = percentile <= 50 && y + 18 < p->y + PLOT_HEIGHT;
    out = below ? beginText(out, x + 6, y + 15, "start", "mark")
                : beginText(out, percentile <= 50 ? x - 10 : x - 6, y - 7, percentile <= 50 ? "start" : "end", "mark");
    return endText(catDuration(out, ms));
}

static sds catLatencies(sds out, const testResult *r, double top) {
    const histogram *h = r->latencies;
    double low = (double)histogramMin(h) / 1000, high = (double)histogramMax(h) / 1000;
    double most = fmax(log10((double)histogramTotal(h)), 1);
    plot p = {.x = LEFT_PLOT, .y = top + PLOT_TOP, .across = {0, most, 1, false}};
    p.up = low > 0 && high / low > LOG_FROM ? logScale(low, high) : linearScale(high);
    out = catPercentileAxis(catUpAxis(out, &p, catDuration), &p);
    out = catCaption(out, &p, p.up.logarithmic ? "Latency by percentile (logarithmic)" : "Latency by percentile",
                     "percentile of the requests");
    curve c = {sdsEmpty(), &p};
    histogramIterPercentiles(h, CURVE_STEPS, addStep, &c);
    out = sdsCatPrintf(out, "<path d=\"%s\" class=\"curve\" stroke=\"" LATENCY_COLOUR "\"/>\n", c.path);
    sdsFree(c.path);
    out = catMark(out, &p, h, 50);
    if (most - 2 >= LABEL_NINES) out = catMark(out, &p, h, 99);
    if (most - 3 >= LABEL_NINES) out = catMark(out, &p, h, 99.9);
    return catMark(out, &p, h, 100);
}

/* ---- Rate ------------------------------------------------------------------------------------------------------- */

static double pointRate(const ratePoint *p) {
    return p->to_us > p->from_us ? (double)p->requests * 1e6 / (double)(p->to_us - p->from_us) : 0;
}

/* Returns the number of points to show: the last one is left out if it is too short for a meaningful rate. */
static int pointsToShow(const rateSeries *s) {
    if (s->count < 2) return s->count;
    const ratePoint *last = &s->points[s->count - 1];
    return s->count - (last->to_us - last->from_us < s->step_us / 2);
}

static sds catRates(sds out, const benchOptions *o, const testResult *r, double top) {
    const rateSeries *s = &r->rates;
    int count = pointsToShow(s);
    double high = (double)o->rate, end_s = count ? (double)s->points[count - 1].to_us / 1e6 : 1;
    for (int i = 0; i < count; i++) high = fmax(high, pointRate(&s->points[i]));
    plot p = {RIGHT_PLOT, top + PLOT_TOP, exactScale(end_s), linearScale(high)};
    out = catSecondsAxis(catUpAxis(out, &p, catCompact), &p);
    out = catCaption(out, &p, "Requests per second", "seconds since the test began");
    if (count == 0) return out;
    sds path = sdsEmpty();
    for (int i = 0; i < count; i++) {
        const ratePoint *point = &s->points[i];
        double y = atY(&p, pointRate(point));
        path = sdsCatPrintf(path, "%c%.1f %.1fH%.1f", i ? 'L' : 'M', atX(&p, (double)point->from_us / 1e6), y,
                            atX(&p, (double)point->to_us / 1e6));
    }
    double bottom = p.y + PLOT_HEIGHT;
    out = sdsCatPrintf(out, "<path d=\"%sV%.1fH%.1fZ\" fill=\"" RATE_COLOUR "\" fill-opacity=\"0.1\"/>\n", path, bottom,
                       p.x);
    out = sdsCatPrintf(out, "<path d=\"%s\" class=\"curve\" stroke=\"" RATE_COLOUR "\"/>\n", path);
    sdsFree(path);
    if (o->rate == 0) return out;
    double wanted = atY(&p, (double)o->rate);
    out = catLine(out, p.x, wanted, p.x + PLOT_WIDTH, wanted, "class=\"wanted\"");
    out = sdsCat(beginText(out, p.x + PLOT_WIDTH, p.y - 12, "end", "wanted-text"), "--rps ");
    return endText(catGrouped(out, (double)o->rate));
}

/* ---- The document ----------------------------------------------------------------------------------------------- */

static sds catFigure(sds out, const char *name, int64_t us) {
    return catDuration(sdsCatPrintf(out, " \xc2\xb7 %s ", name), (double)us / 1000);
}

/* Appends a title. A custom command may be longer than the line; cutting it may split a character, which catXmlText()
 * replaces. */
static sds catTitle(sds out, const char *title, double y) {
    bool cut = strlen(title) > TITLE_BYTES;
    sds shown = sdsNewLen(title, cut ? TITLE_BYTES : strlen(title));
    if (cut) shown = sdsCat(shown, " \xe2\x80\xa6");
    out = endText(catXmlText(beginText(out, EDGE, y, "start", "name"), shown));
    sdsFree(shown);
    return out;
}

static sds catTest(sds out, const benchOptions *o, const testResult *r, double top) {
    const histogram *h = r->latencies;
    out = catLine(out, EDGE, top, WIDTH - EDGE, top, "class=\"grid\"");
    out = catTitle(out, r->title, top + 28);
    out = catGrouped(beginText(out, EDGE, top + 50, "start", "text"), testResultRate(r));
    out = sdsCat(out, " requests per second");
    if (histogramTotal(h) == 0) return endText(sdsCat(out, ": no replies"));
    out = sdsCatPrintf(out, " \xc2\xb7 %.2f s", (double)r->elapsed_us / 1e6);
    out = catFigure(out, "p50", histogramPercentile(h, 50));
    out = catFigure(out, "p99", histogramPercentile(h, 99));
    out = catFigure(out, "slowest", histogramMax(h));
    if (r->unsent) out = sdsCat(catGrouped(sdsCat(out, " \xc2\xb7 "), (double)r->unsent), " not sent in time");
    out = endText(out);
    return catRates(catLatencies(out, r, top), o, r, top);
}

static sds catServerName(sds out, const benchOptions *o, const hostSettings *host) {
    if (host->name && host->version) {
        out = sdsCat(catXmlText(out, host->name), " ");
        out = sdsCat(catXmlText(out, host->version), " at ");
    }
    if (o->target.unix_path) return catXmlText(out, o->target.unix_path);
    return sdsCatPrintf(catXmlText(out, o->target.host), ":%d", o->target.port);
}

static sds catHow(sds out, const benchOptions *o) {
    out = sdsCatPrintf(out, "%d connection%s%s", o->clients, o->clients == 1 ? "" : "s",
                       o->keep_alive ? "" : ", a new one for each request");
    if (o->threads > 1) out = sdsCatPrintf(out, " by %d threads", o->threads);
    if (o->pipeline > 1) out = sdsCatPrintf(out, ", pipelines of %d", o->pipeline);
    out = sdsCatPrintf(out, ", values of %d byte%s", o->data_size, o->data_size == 1 ? "" : "s");
    if (o->key_range) out = sdsCat(catGrouped(sdsCat(out, ", "), (double)o->key_range), " keys");
    if (o->tls.on) out = sdsCat(out, ", TLS");
    return sdsCat(out, o->rate ? "; latencies count from the scheduled time" : "");
}

static sds catHead(sds out, const benchOptions *o, const hostSettings *host, const resultList *results) {
    char started[64];
    struct tm local;
    localtime_r(&results->started, &local);
    strftime(started, sizeof(started), "%Y-%m-%d %H:%M", &local);
    out = endText(sdsCat(beginText(out, EDGE, 38, "start", "title"), "valkey-benchmark"));
    out = endText(sdsCat(beginText(out, WIDTH - EDGE, 38, "end", "text"), started));
    out = endText(catServerName(beginText(out, EDGE, 60, "start", "text"), o, host));
    return endText(catHow(beginText(out, EDGE, 78, "start", "text"), o));
}

sds svgReport(const benchOptions *o, const hostSettings *host, const resultList *results) {
    int height = HEAD_HEIGHT + TEST_HEIGHT * results->count + FOOT_HEIGHT;
    sds out = sdsCatPrintf(sdsEmpty(),
                           "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
                           "viewBox=\"0 0 %d %d\" role=\"img\">\n",
                           WIDTH, height, WIDTH, height);
    out = sdsCat(out, "<title>Results of valkey-benchmark " VALKEY_VERSION "</title>\n"
                      "<style>\n"
                      "text { font-family: system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; fill: " INK "; "
                      "font-variant-numeric: tabular-nums }\n"
                      ".title { font-size: 22px; font-weight: 600 }\n"
                      ".name { font-size: 16px; font-weight: 600 }\n"
                      ".text { font-size: 13px; fill: " PALE " }\n"
                      ".caption { font-size: 13px }\n"
                      ".tick { font-size: 11px; fill: " PALE " }\n"
                      ".mark { font-size: 11px; paint-order: stroke; stroke: #ffffff; stroke-width: 3px }\n"
                      ".grid { stroke: " GRID "; stroke-width: 1 }\n"
                      ".edge { stroke: " PALE "; stroke-width: 1 }\n"
                      ".curve { fill: none; stroke-width: 2; stroke-linejoin: round }\n"
                      ".wanted { stroke: " WANTED_COLOUR "; stroke-width: 1.5; stroke-dasharray: 6 4 }\n"
                      ".wanted-text { font-size: 11px; fill: " WANTED_COLOUR " }\n"
                      "</style>\n"
                      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n");
    out = catHead(out, o, host, results);
    for (int i = 0; i < results->count; i++) out = catTest(out, o, results->tests[i], HEAD_HEIGHT + TEST_HEIGHT * i);
    return sdsCat(out, "</svg>\n");
}
