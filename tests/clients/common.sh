# common.sh -- what the client tests share: find the server, start it, stop it, count. Sourced, not run.
#
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

server=${VALKEY_SERVER:-$root/build/release/bin/valkey-server}
server_pid=""
directory=""
port=""

skip() {
    echo "skipped: $*"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
}

stop_server() {
    if [ -n "$server_pid" ]; then
        kill -TERM "$server_pid" 2>/dev/null
        wait "$server_pid" 2>/dev/null
        server_pid=""
    fi
    [ -n "$directory" ] && rm -rf "$directory"
}

# Start the server on PORT with more OPTIONS and wait until it accepts connections.
start_server() {
    port=$1
    shift
    [ -x "$server" ] || { echo "no server binary at $server" >&2; exit 2; }
    mkdir -p "$root/tests/tmp"
    directory=$(mktemp -d "$root/tests/tmp/clients-XXXXXX")
    trap stop_server EXIT
    "$server" --port "$port" --bind 127.0.0.1 --save "" --dir "$directory" "$@" >"$directory/log" 2>&1 &
    server_pid=$!
    for _ in $(seq 2400); do # a server that ends is seen at once; a busy machine has two minutes
        grep -q "Ready to accept connections" "$directory/log" && return
        kill -0 "$server_pid" 2>/dev/null || break
        sleep 0.05
    done
    echo "the server did not start:" >&2
    cat "$directory/log" >&2
    exit 1
}
