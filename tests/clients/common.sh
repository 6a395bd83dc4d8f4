# common.sh -- shared by the client tests: finds, starts and stops the server, counts results. Sourced, not run.
#
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash

server=${VALKEY_SERVER:-$root/build/release/bin/valkey-server}
server_pid=""
directory=""
port=""
tls=()

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

# Makes certificates in the folder, and prints the options with which a server uses them at the port. Their names are
# localhost, 127.0.0.1 and ::1.
tls_options() {
    local folder=$1 port=$2 key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30" name
    mkdir -p "$folder"
    # shellcheck disable=SC2086
    openssl req -x509 $key -subj "/CN=Authority" -keyout "$folder/ca.key" -out "$folder/ca.crt"
    for name in server client; do
        # shellcheck disable=SC2086
        openssl req -x509 $key -subj "/CN=$name" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" \
            -addext "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1" -addext "basicConstraints=CA:false" \
            -keyout "$folder/$name.key" -out "$folder/$name.crt"
    done 2>/dev/null
    tls=(--tls-port "$port" --tls-cert-file "$folder/server.crt" --tls-key-file "$folder/server.key"
        --tls-ca-cert-file "$folder/ca.crt")
}

# Runs COMMAND... PORT, and over TLS COMMAND... PORT FOLDER. Fails if one of them fails.
plain_and_tls() {
    local port=$1 folder failed=0
    shift
    folder=$root/tests/tmp/certificates-$port
    if command -v openssl >/dev/null; then
        tls_options "$folder" $((port + 50)) 2>/dev/null
    else
        echo "over TLS: skipped, there is no openssl program"
        tls=()
    fi
    start_server "$port" "${tls[@]}"
    "$@" "$port" || failed=1
    if [ ${#tls[@]} -gt 0 ]; then
        echo "over TLS:"
        "$@" $((port + 50)) "$folder" || failed=1
    fi
    return $failed
}

# Starts the server on PORT with more OPTIONS and waits until it accepts connections.
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
