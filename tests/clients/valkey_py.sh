#!/usr/bin/env bash
# valkey_py.sh -- the published Python client of Valkey against our server.
#
# Installs the client from PyPI into tests/tmp/venv once, starts a server, runs valkey_py.py, plain and over TLS. If the
# client cannot be installed (no network) the test is skipped with a message. VALKEY_SERVER names another binary.
#
# SPDX-License-Identifier: BSD-3-Clause

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/clients/common.sh
. "$here/common.sh"

have_python venv valkey==6.1.1
plain_and_tls "${1:-${VALKEY_PY_PORT:-22910}}" "$python" "$here/valkey_py.py"
