/* control_groups_test.c -- which control groups a process has.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "control_groups.h"
#include "unit.h"

TEST(control_groups_are_found_by_controller) {
    slice text = sliceStr("12:cpuset:/a\n4:cpu,cpuacct:/docker/b\n1:name=systemd:/c\n0::/user.slice/d\n");
    CHECK(sliceEq(controlGroupOf(text, NULL), sliceStr("/user.slice/d")));
    CHECK(sliceEq(controlGroupOf(text, "cpu"), sliceStr("/docker/b")));
    CHECK(sliceEq(controlGroupOf(text, "cpuacct"), sliceStr("/docker/b")));
    CHECK(sliceEq(controlGroupOf(text, "cpuset"), sliceStr("/a")));
    CHECK_EQ_INT(controlGroupOf(text, "memory").len, 0);
    CHECK_EQ_INT(controlGroupOf(sliceStr("nonsense\n\n::\n:\n7"), "cpu").len, 0);
    CHECK_EQ_INT(controlGroupOf(sliceStr("nonsense\n\n::\n:\n7"), NULL).len, 0);
    CHECK(sliceEq(controlGroupOf(sliceStr("0::/x:y"), NULL), sliceStr("/x:y"))); /* a name may contain a colon */
}
