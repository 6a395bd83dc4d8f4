#!/usr/bin/env bash
# metrics.sh -- checks the metrics port with the published parsers of both formats (prometheus_client).
#
# Installs them from PyPI into tests/tmp/venv-metrics once, starts a server, runs metrics.py. If they cannot be
# installed (no network) the test is skipped with a message. VALKEY_SERVER names another binary.
#
# SPDX-License-Identifier: BSD-3-Clause

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/clients/common.sh
. "$here/common.sh"

version=0.26.0
venv=$root/tests/tmp/venv-metrics
if [ ! -x "$venv/bin/python" ] || [ ! -e "$venv/has-$version" ]; then
    mkdir -p "$root/tests/tmp"
    { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check prometheus_client==$version &&
        touch "$venv/has-$version"; } >"$root/tests/tmp/venv-metrics.log" 2>&1 ||
        skip "the Python package 'prometheus_client' cannot be installed (see tests/tmp/venv-metrics.log)"
fi

first=${1:-${METRICS_PORT:-22960}}
start_server "$first" --metrics-port $((first + 1)) --io-threads 2 --appendonly yes --repl-diskless-sync-delay 0
"$venv/bin/python" "$here/metrics.py" "$first" $((first + 1))
