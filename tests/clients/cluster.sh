#!/usr/bin/env bash
# cluster.sh -- the cluster clients of published libraries, each against a cluster of six servers of its own.
#
#     tests/clients/cluster.sh [--port N] [LIBRARY...]
#
# cluster/run.py has what happens to the cluster while a library writes. Libraries run two at a time, as they mostly
# wait for the failover; those of one language share packages and run one after another. Their packages are installed as for the other scripts of this folder; a library that cannot be
# installed is skipped with a message. VALKEY_SERVER names another binary.
#
# SPDX-License-Identifier: BSD-3-Clause

set -u
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# shellcheck source=tests/clients/common.sh
. "$here/common.sh"

first=25400
if [ "${1:-}" = --port ]; then
    first=$2
    shift 2
fi
libraries=(valkey-py go-redis redis-py valkey-go jedis ioredis lettuce node-redis glide)
[ $# -gt 0 ] && libraries=("$@")
output=$root/tests/tmp/cluster-$first
mkdir -p "$output"

# Runs the library number N in a subshell, so that a skip ends only this one.
run() {
    local name=$1 port=$2 program more=()
    case $name in
    valkey-py) have_python venv valkey==6.1.1 && program=("$python" "$here/cluster/python.py" valkey) ;;
    redis-py) have_python venv-redis redis==8.1.0 && program=("$python" "$here/cluster/python.py" redis) ;;
    glide) have_python venv-glide valkey-glide-sync==2.6.0 && program=("$python" "$here/cluster/glide.py") ;;
    go-redis | valkey-go) have_go ./cluster "cluster-$name" && program=("$go_program" "$name") ;;
    jedis | lettuce) have_java Clusters && program=("${java[@]}" "$name") ;;
    ioredis | node-redis) have_node && program=(node "$node_folder/cluster_${name#node-}.mjs") ;;
    *) echo "unknown library: $name" >&2 && exit 2 ;;
    esac
    # Commands to a node that is down wait in the client, and nothing else makes it ask the others.
    [ "$name" = node-redis ] && more=(--only-moved)
    export PYTHONDONTWRITEBYTECODE=1
    timeout 300 python3 "$here/cluster/run.py" --server "$server" --port "$port" --name "$name" \
        "${more[@]}" -- "${program[@]}"
}

# Runs every second library, from number N on.
lane() {
    local n=$1 name
    while [ "$n" -lt ${#libraries[@]} ]; do
        name=${libraries[$n]}
        (run "$name" $((first + 10 * n))) >"$output/$name" 2>&1 || touch "$output/failed"
        { echo "$name:" && sed 's/^/    /' "$output/$name"; }
        n=$((n + 2))
    done
}

rm -f "$output/failed"
lane 0 &
lane 1
wait
if [ -e "$output/failed" ]; then exit 1; fi
rm -rf "$output"
