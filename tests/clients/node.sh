#!/usr/bin/env bash
# node.sh -- the published Node clients redis and ioredis against our server, and BullMQ, Redlock and a rate limiter.
#
# Installs what node/package-lock.json names into tests/tmp/node once, starts a server, runs node/types.mjs, plain and
# over TLS. Without Node, or if the clients cannot be installed (no network), the test is skipped with a message.
# VALKEY_SERVER names another binary.
#
# SPDX-License-Identifier: BSD-3-Clause

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/clients/common.sh
. "$here/common.sh"

have_node
plain_and_tls "${1:-22912}" timeout 300 node "$node_folder/types.mjs"
