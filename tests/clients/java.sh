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

have_java Sessions
start_server "${1:-22915}"
timeout 300 "${java[@]}" "$port"
