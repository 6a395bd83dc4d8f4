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

command -v node >/dev/null && command -v npm >/dev/null || skip "Node is not installed (Debian: nodejs npm)"
[ "$(node -p 'process.versions.node.split(".")[0]')" -ge 18 ] || skip "Node is older than 18: $(node --version)"

installed=$root/tests/tmp/node
if ! cmp -s "$here/node/package-lock.json" "$installed/installed-lock.json"; then
    rm -rf "$installed"
    mkdir -p "$installed"
    cp "$here/node/package.json" "$here/node/package-lock.json" "$installed/"
    # Not "npm ci", which also needs the packages for other platforms in the lock file: registries may lack some.
    (cd "$installed" && npm install --no-save --ignore-scripts --no-audit --no-fund) >"$root/tests/tmp/node.log" 2>&1 ||
        skip "the Node clients cannot be installed (see tests/tmp/node.log)"
    cp "$installed/package-lock.json" "$installed/installed-lock.json"
fi

# In the folder of its modules, where Node looks for them.
cp "$here"/node/*.mjs "$installed/"
plain_and_tls "${1:-22912}" timeout 300 node "$installed/types.mjs"
