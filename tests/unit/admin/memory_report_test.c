/* memory_report_test.c -- where resident memory is that is not in use.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "memory_report.h"

#include "unit.h"

#define MB (1LL << 20)

/* Returns the cause, with parts in MB beside 100 MB that are in use. */
static memoryWaste causeOf(long long gaps, long long pages, long long outside, long long *bytes) {
    memoryReport r = {.used = 100 * MB,
                      .frag_bytes = gaps * MB,
                      .rss_bytes = pages * MB,
                      .rss_overhead_bytes = outside * MB,
                      .total_bytes = (gaps + pages + outside) * MB};
    r.total_ratio = (float)(r.total_bytes + 100 * MB) / (float)(100 * MB);
    return memoryWasteOf(&r, bytes);
}

TEST(waste_is_named_by_its_largest_part) {
    long long bytes;
    CHECK_EQ_INT(causeOf(70, 10, 5, &bytes), WASTE_GAPS);
    CHECK_EQ_INT(bytes, 70 * MB);
    CHECK_EQ_INT(causeOf(10, 70, 5, &bytes), WASTE_FREE_PAGES);
    CHECK_EQ_INT(bytes, 70 * MB);
    CHECK_EQ_INT(causeOf(30, 30, 31, &bytes), WASTE_OUTSIDE);
    CHECK_EQ_INT(bytes, 31 * MB);
    CHECK_EQ_INT(causeOf(80, -10, 5, &bytes), WASTE_GAPS); /* pages in swap, or returned meanwhile */
}

TEST(little_waste_has_no_cause) {
    long long bytes;
    CHECK_EQ_INT(causeOf(0, 0, 0, &bytes), WASTE_NONE);
    CHECK_EQ_INT(bytes, 0);
    CHECK_EQ_INT(causeOf(39, 0, 0, &bytes), WASTE_NONE); /* not 1.4 times */
    CHECK_EQ_INT(causeOf(60, 0, 0, &bytes), WASTE_NONE); /* not 64 MB */
    CHECK_EQ_INT(causeOf(65, 0, 0, &bytes), WASTE_GAPS);
}
