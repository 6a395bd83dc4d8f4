#!/usr/bin/env bash
# redis_tools.sh -- the redis-cli and redis-benchmark of the distribution against our server.
#
# Tools that users have installed must continue to work. Skipped with a message if they are not installed.
# VALKEY_SERVER names another binary.
#
# SPDX-License-Identifier: BSD-3-Clause

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/clients/common.sh
. "$here/common.sh"

command -v redis-cli >/dev/null || skip "redis-cli is not installed (Debian: redis-tools)"
command -v redis-benchmark >/dev/null || skip "redis-benchmark is not installed (Debian: redis-tools)"
start_server "${1:-22911}"

passed=0 failed=0

# check NAME PATTERN COMMAND...: the output of COMMAND must contain PATTERN (an extended regular expression).
check() {
    local name=$1 pattern=$2 output
    shift 2
    output=$(timeout 60 "$@" 2>&1)
    if grep -Eq -- "$pattern" <<<"$output"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "[fail] $name: no '$pattern' in the output of: $*"
        head -c 2000 <<<"$output"
        echo
    fi
}

cli=(redis-cli -p "$port")
check "SET" '^OK$' "${cli[@]}" SET key "a value"
check "GET" '^a value$' "${cli[@]}" GET key
check "RESP3" '^a value$' "${cli[@]}" -3 GET key
check "an error" "wrong number of arguments for 'get' command" "${cli[@]}" GET
check "INFO" '^redis_version:' "${cli[@]}" INFO server
check "a map in RESP3" '^1# "maxmemory" => "0"' "${cli[@]}" -3 --no-raw CONFIG GET maxmemory
check "another database" "^OK$" "${cli[@]}" -n 2 SET key x
check "commands from a pipe" '^errors: 0, replies: 1000$' bash -c \
    "for i in \$(seq 1000); do echo SET pipe:\$i \$i; done | redis-cli -p $port --pipe"
check "--scan" '^pipe:1000$' "${cli[@]}" --scan --pattern 'pipe:1*'
check "--bigkeys" 'Sampled 1001 keys in the keyspace' "${cli[@]}" --bigkeys
check "--memkeys" 'Sampled 1001 keys in the keyspace' "${cli[@]}" --memkeys
check "--stat" 'keys +mem +clients' timeout 2 stdbuf -oL "${cli[@]}" -i 0.2 --stat
check "--latency" '^[0-9.]+ [0-9.]+ [0-9.]+ [0-9]+' timeout 10 "${cli[@]}" --latency --raw -i 1
check "a large value from standard input" '^OK$' bash -c "head -c 3000000 /dev/zero | redis-cli -p $port -x SET big"
check "its length" '^3000000$' "${cli[@]}" STRLEN big

benchmark=(redis-benchmark -p "$port" -q)
check "benchmark of PING, GET and SET" 'GET: [0-9.]+ requests per second' \
    "${benchmark[@]}" -n 5000 -c 20 -t ping_inline,ping_mbulk,get,set
check "benchmark in pipelines" 'SET: [0-9.]+ requests per second' "${benchmark[@]}" -n 20000 -c 20 -P 16 -r 1000 -t set,get,incr
check "benchmark with large values" 'GET: [0-9.]+ requests per second' "${benchmark[@]}" -n 1000 -c 10 -d 20000 -t set,get
check "benchmark of MSET" 'MSET.*: [0-9.]+ requests per second' "${benchmark[@]}" -n 2000 -c 10 -t mset
check "benchmark with threads" 'GET: [0-9.]+ requests per second' "${benchmark[@]}" -n 5000 -c 20 --threads 2 -t get
check "the server is well" '^PONG$' "${cli[@]}" PING

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
