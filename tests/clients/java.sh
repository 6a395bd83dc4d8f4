#!/usr/bin/env bash
# java.sh -- the published Java client Jedis against our server.
#
# Has Maven fetch what java/pom.xml names into tests/tmp/java once, compiles and runs java/Sessions.java. Without JDK or
# Maven, or if the client cannot be downloaded, the test is skipped with a message. VALKEY_SERVER names another binary.
#
# SPDX-License-Identifier: BSD-3-Clause

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/clients/common.sh
. "$here/common.sh"

command -v java >/dev/null && command -v javac >/dev/null || skip "there is no JDK (Debian: default-jdk-headless)"
command -v mvn >/dev/null || skip "Maven is not installed (Debian: maven)"

installed=$root/tests/tmp/java
if ! cmp -s "$here/java/pom.xml" "$installed/pom.xml"; then
    rm -rf "$installed"
    mkdir -p "$installed"
    timeout 300 mvn -q -B -f "$here/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$installed/lib" \
        >"$root/tests/tmp/java.log" 2>&1 </dev/null ||
        skip "the Java client cannot be had (see tests/tmp/java.log)"
    cp "$here/java/pom.xml" "$installed/"
fi
javac -cp "$installed/lib/*" -d "$installed/classes" "$here/java/Sessions.java" || exit 1

start_server "${1:-22915}"
timeout 300 java -cp "$installed/lib/*:$installed/classes" Sessions "$port"
