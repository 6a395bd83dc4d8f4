#!/usr/bin/env bash
# job_queue.sh -- a job queue as programs use it: RQ with a real worker process, against our server.
#
# RQ uses BLMOVE, WATCH with MULTI, channels, and keys of each type, and no scripts. (Celery does: its lock and its
# table of reply queues use EVALSHA.) Installs RQ from PyPI into tests/tmp/rq once. If it cannot be installed (no
# network) the test is skipped with a message. VALKEY_SERVER names another binary.
#
# SPDX-License-Identifier: BSD-3-Clause

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/clients/common.sh
. "$here/common.sh"

versions=(rq==3.0.0 redis==8.1.0)
venv=$root/tests/tmp/rq
if [ "$(cat "$venv/installed" 2>/dev/null)" != "${versions[*]}" ]; then
    mkdir -p "$root/tests/tmp"
    rm -rf "$venv"
    { python3 -m venv "$venv" && "$venv/bin/pip" install --quiet --disable-pip-version-check "${versions[@]}"; } \
        >"$root/tests/tmp/rq.log" 2>&1 ||
        skip "RQ cannot be installed (see tests/tmp/rq.log)"
    echo "${versions[*]}" >"$venv/installed"
fi

start_server "${1:-22914}"
cd "$here" || exit 2
export PYTHONDONTWRITEBYTECODE=1
timeout 300 "$venv/bin/python" "$here/job_queue.py" "$port" "$venv/bin/rq" "$directory/worker.log"
status=$?
[ $status = 0 ] || tail -40 "$directory/worker.log"
exit $status
