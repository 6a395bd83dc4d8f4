#!/usr/bin/env bash
# go.sh -- the published Go client go-redis against our server.
#
# Starts a server and runs go/main.go, plain and over TLS, for the first time with modules from the Go module proxy.
# Without Go, or if the modules cannot be downloaded, the test is skipped with a message. VALKEY_SERVER names another
# binary.
#
# SPDX-License-Identifier: BSD-3-Clause

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/clients/common.sh
. "$here/common.sh"

command -v go >/dev/null || skip "Go is not installed (deps/install --dev)"
mkdir -p "$root/tests/tmp"
(cd "$here/go" && go mod download) >"$root/tests/tmp/go.log" 2>&1 ||
    skip "the Go client cannot be had (see tests/tmp/go.log)"
(cd "$here/go" && go vet . && go build -o "$root/tests/tmp/go-client" .) || exit 1

plain_and_tls "${1:-22913}" timeout 300 "$root/tests/tmp/go-client"
