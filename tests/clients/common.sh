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

# Each of these has the clients of a language in tests/tmp, installed once, or skips. They set variables:
# python   an interpreter that has the named packages, in the folder tests/tmp/FOLDER.
have_python() {
    local folder=$root/tests/tmp/$1
    shift
    python=$folder/bin/python
    [ "$(cat "$folder/installed" 2>/dev/null)" = "$*" ] && return
    mkdir -p "$root/tests/tmp"
    rm -rf "$folder"
    { python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check "$@"; } \
        >"$folder.log" 2>&1 || skip "the Python packages $* cannot be installed (see tests/tmp/${folder##*/}.log)"
    echo "$*" >"$folder/installed"
}

# node_folder   the folder of the modules, with the programs of tests/clients/node.
have_node() {
    node_folder=$root/tests/tmp/node
    command -v node >/dev/null && command -v npm >/dev/null || skip "Node is not installed (Debian: nodejs npm)"
    [ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "Node is older than 18: $(node --version)"
    if ! cmp -s "$here/node/package-lock.json" "$node_folder/installed-lock.json"; then
        rm -rf "$node_folder"
        mkdir -p "$node_folder"
        cp "$here/node/package.json" "$here/node/package-lock.json" "$node_folder/"
        # Not "npm ci", which also needs the packages for other platforms in the lock file: registries may lack some.
        (cd "$node_folder" && npm install --no-save --ignore-scripts --no-audit --no-fund) >"$root/tests/tmp/node.log" 2>&1 ||
            skip "the Node clients cannot be installed (see tests/tmp/node.log)"
        cp "$node_folder/package-lock.json" "$node_folder/installed-lock.json"
    fi
    # In the folder of its modules, where Node looks for them.
    cp "$here"/node/*.mjs "$node_folder/"
}

# go_program   the program of the package in the folder of tests/clients/go.
have_go() {
    go_program=$root/tests/tmp/$2
    command -v go >/dev/null || skip "Go is not installed (deps/install --dev)"
    mkdir -p "$root/tests/tmp"
    (cd "$here/go" && go mod download) >"$root/tests/tmp/go.log" 2>&1 ||
        skip "the Go clients cannot be had (see tests/tmp/go.log)"
    (cd "$here/go" && go vet "$1" && go build -o "$go_program" "$1") || exit 1
}

# java   a command that runs the class of the file in tests/clients/java.
have_java() {
    local folder=$root/tests/tmp/java
    command -v java >/dev/null && command -v javac >/dev/null || skip "there is no JDK (Debian: default-jdk-headless)"
    command -v mvn >/dev/null || skip "Maven is not installed (Debian: maven)"
    if ! cmp -s "$here/java/pom.xml" "$folder/pom.xml"; then
        rm -rf "$folder"
        mkdir -p "$folder"
        timeout 300 mvn -q -B -f "$here/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$folder/lib" \
            >"$root/tests/tmp/java.log" 2>&1 </dev/null ||
            skip "the Java clients cannot be had (see tests/tmp/java.log)"
        cp "$here/java/pom.xml" "$folder/"
    fi
    javac -cp "$folder/lib/*" -d "$folder/classes" "$here/java/$1.java" || exit 1
    java=(java -cp "$folder/lib/*:$folder/classes" "$1")
}
