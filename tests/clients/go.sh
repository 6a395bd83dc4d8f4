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

have_go . go-client
plain_and_tls "${1:-22913}" timeout 300 "$go_program"
