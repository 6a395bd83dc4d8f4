#!/bin/bash
# utils/demo.sh -- measure the effect of batched prefetching and replies by reference on this machine, in about a minute.
#
# Run it with `make demo`. It starts a server of its own in a temporary folder, fills it, measures SET and GET
# with both features on and then off, prints a table, and stops the server.
#
#   DEMO_REQUESTS   requests per test (default 1000000)
#   DEMO_KEYS       number of keys (default 3000000, fewer if they need more than a third of the free memory)
#   DEMO_THREADS    --io-threads of the server (default 9: main and eight I/O threads)
#   VALKEY_BIN_DIR  where valkey-server, valkey-benchmark and valkey-cli are (default: src/)
#
# Exit code 0 when every step succeeded.
#
# SPDX-License-Identifier: BSD-3-Clause
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
bin=${VALKEY_BIN_DIR:-$root/src}
requests=${DEMO_REQUESTS:-1000000}
keys=${DEMO_KEYS:-}
threads=${DEMO_THREADS:-9}
server_pid=
dir=

fail() {
    echo "demo: $*" >&2
    if [ -n "$dir" ] && [ -s "$dir/server.log" ]; then
        echo "demo: the server's last words:" >&2
        tail -n 15 "$dir/server.log" >&2
    fi
    exit 1
}

finish() {
    local code=$?
    if [ -n "$server_pid" ]; then
        kill -TERM "$server_pid" 2>/dev/null || true
        wait "$server_pid" 2>/dev/null || true
    fi
    if [ -n "$dir" ]; then rm -rf "$dir"; fi
    exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

# ---- Programs ------------------------------------------------------------------------------------------------------
if [ -z "${VALKEY_BIN_DIR:-}" ]; then
    echo "Building (libraries first, if some are missing) ..."
    "$root/deps/install"
    make -C "$root" >/dev/null
fi
for program in valkey-server valkey-benchmark valkey-cli; do
    [ -x "$bin/$program" ] || fail "there is no $bin/$program: run \`make\` first"
done

# ---- Server --------------------------------------------------------------------------------------------------------
free_port() {
    local port
    for port in $(seq "${DEMO_PORT:-16379}" $((${DEMO_PORT:-16379} + 200))); do
        if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            echo "$port"
            return
        fi
    done
    return 1
}

dir=$(mktemp -d "${TMPDIR:-/tmp}/valkey-demo.XXXXXX")
port=$(free_port) || fail "no free port was found"
cli() { "$bin/valkey-cli" -p "$port" -e "$@"; }

start_server() {
    "$bin/valkey-server" --port "$port" --bind 127.0.0.1 --io-threads "$threads" --save "" --dir "$dir" \
        >"$dir/server.log" 2>&1 &
    server_pid=$!
    for _ in $(seq 2400); do
        if ! kill -0 "$server_pid" 2>/dev/null; then
            server_pid=
            fail "the server did not start"
        fi
        if [ "$(cli ping 2>/dev/null)" = PONG ]; then return; fi
        sleep 0.05
    done
    fail "the server did not answer within two minutes"
}

# A number of INFO; 0 if the server has no such INFO field.
info_field() {
    local value
    value=$(cli info all | tr -d '\r' | awk -F: -v name="$1" '$1 == name { print $2 }') || fail "INFO failed"
    echo "${value:-0}"
}

# Nanoseconds that the main thread has run so far.
main_cpu_ns() { awk '{ print $1 }' "/proc/$server_pid/task/$server_pid/schedstat"; }

# 3 million keys of 600 bytes are far more than any cache holds; so are the fewer that fit into a small machine.
choose_keys() {
    local free_kib
    free_kib=$(awk '/^MemAvailable/ { print $2 }' /proc/meminfo)
    keys=$((${free_kib:-4000000} / 3 * 1024 / 600))
    if [ "$keys" -gt 3000000 ]; then keys=3000000; fi
}
if [ -z "$keys" ]; then choose_keys; fi

# ---- Measuring -----------------------------------------------------------------------------------------------------
# measure LABEL TEST: one row of the table.
measure() {
    local label=$1 test=$2 output cpu commands batches entries active=0 seen row
    cpu=$(main_cpu_ns)
    commands=$(info_field total_commands_processed)
    batches=$(info_field io_threaded_total_prefetch_batches)
    entries=$(info_field io_threaded_total_prefetch_entries)
    "$bin/valkey-benchmark" -p "$port" -t "$test" -d 512 -r "$keys" -P 16 -c 50 -n "$requests" --csv \
        >"$dir/result.csv" 2>"$dir/result.err" &
    local load=$!
    # The number of active threads follows the load, so it is read during the load.
    while kill -0 "$load" 2>/dev/null; do
        seen=$(info_field io_threads_active)
        if [ "$seen" -gt "$active" ]; then active=$seen; fi
        sleep 0.3
    done
    wait "$load" || fail "valkey-benchmark failed: $(cat "$dir/result.err")"
    cpu=$(($(main_cpu_ns) - cpu))
    commands=$(($(info_field total_commands_processed) - commands))
    batches=$(($(info_field io_threaded_total_prefetch_batches) - batches))
    entries=$(($(info_field io_threaded_total_prefetch_entries) - entries))
    row=$(tail -n 1 "$dir/result.csv" | tr -d '"')
    [ "$commands" -gt 0 ] || fail "the server counted no commands"
    awk -F, -v label="$label" -v cpu="$cpu" -v n="$commands" -v b="$batches" -v e="$entries" -v active="$active" '{
        printf "%-5s %-5s %10.0f %7.3f %7.3f %7.3f %8.3f %9d %10d %9s %8d %10.0f\n", label, $1, $2, $5, $6, $7, $8,
               b, e, b ? sprintf("%.1f", e / b) : "-", active, cpu / n }' <<<"$row"
}

set_both() {
    cli config set prefetch-batch-max-size "$1" >/dev/null || fail "CONFIG SET prefetch-batch-max-size $1 was refused"
    cli config set io-threads-reply-offload "$2" >/dev/null || fail "CONFIG SET io-threads-reply-offload $2 was refused"
}

echo "Starting a server on port $port with --io-threads $threads (this machine has $(nproc) processors) ..."
start_server
batch=$(cli config get prefetch-batch-max-size | tail -n 1)
if [ -z "$batch" ] || [ "$batch" = 0 ]; then batch=16; fi

echo "Filling it with $keys keys, so that every GET finds one ..."
"$bin/valkey-benchmark" -p "$port" -t set -d 512 -r "$keys" -n "$keys" --sequential -P 64 -c 10 --csv \
    >/dev/null 2>"$dir/result.err" || fail "valkey-benchmark failed: $(cat "$dir/result.err")"
echo "Each row: $requests requests, 512 byte values, $keys keys, 50 connections, pipelines of 16."
echo
printf '%-5s %-5s %10s %31s %20s %9s %8s %10s\n' "" "" "requests" "latency in milliseconds" "prefetch" "keys per" \
    "active" "main CPU"
printf '%-5s %-5s %10s %7s %7s %7s %8s %9s %10s %9s %8s %10s\n' on/off test "per s" p50 p95 p99 max batches \
    entries batch threads "ns/command"
printf -- '-%.0s' $(seq 106)
echo
set_both "$batch" yes
measure on set
measure on get
set_both 0 no
measure off set
measure off get
echo
cat <<END
on   keys are looked up in batches of up to $batch, their memory asked for ahead of use
     (prefetch-batch-max-size $batch), and values are sent from where they lie (io-threads-reply-offload yes)
off  one command at a time, values copied into replies (prefetch-batch-max-size 0, io-threads-reply-offload no)
active threads: the most that were seen at work. The benchmark shares the processors with the server: on a small
machine, look at the last column, what the main thread pays per command, rather than at requests per second.
END
kill -0 "$server_pid" 2>/dev/null || fail "the server has ended on the way"
