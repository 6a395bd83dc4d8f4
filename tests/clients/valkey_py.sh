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

version=6.1.1
venv=$root/tests/tmp/venv
if [ ! -x "$venv/bin/python" ] ||
    ! "$venv/bin/python" -c "import sys, valkey; sys.exit(valkey.__version__ != '$version')" 2>/dev/null; then
    mkdir -p "$root/tests/tmp"
    { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check valkey==$version; } \
        >"$root/tests/tmp/venv.log" 2>&1 ||
        skip "the Python client 'valkey' cannot be installed (see tests/tmp/venv.log)"
fi

plain_and_tls "${1:-${VALKEY_PY_PORT:-22910}}" "$venv/bin/python" "$here/valkey_py.py"
