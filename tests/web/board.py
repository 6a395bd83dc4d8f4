"""board.py -- checks that utils/grafana/valkey.json is a valid dashboard, and that each metric it uses exists.

    board.py --server PATH [--base-port N]      "N passed, N failed" is its last line

The metrics are those of a primary with a replica that have executed commands of all kinds.

SPDX-License-Identifier: BSD-3-Clause"""

import argparse
import json
import os
import re
import subprocess
import sys
import time
import urllib.request

from page import PATIENCE_S, Client, Server

BOARD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../utils/grafana/valkey.json")
FUNCTIONS = {"rate", "increase", "sum", "topk", "histogram_quantile", "by", "on", "group_right", "resets"}
UNITS = {"ops", "s", "percentunit", "short", "bytes", "Bps"}


def panels_of(board):
    return [inner for panel in board["panels"] for inner in [panel, *panel.get("panels", [])]]


def expressions(board):
    """Returns (where, expression) of all queries to the data source."""
    for panel in panels_of(board):
        for target in panel.get("targets", []):
            yield panel["title"], target["expr"]
    for note in board["annotations"]["list"]:
        yield note["name"], note["expr"]
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], re.fullmatch(r"label_values\((.*), \w+\)", variable["definition"])[1]


def metric_names(expression):
    bare = re.sub(r'"[^"]*"|\{\{[^}]*\}\}', '""', expression)
    return set(re.findall(r"\bvalkey_\w+", bare))


def faults_of_shape(board):
    """Returns what Grafana would miss or display badly."""
    for field, kind in (("title", str), ("uid", str), ("schemaVersion", int), ("panels", list), ("time", dict),
                        ("templating", dict), ("annotations", dict)):
        if not isinstance(board.get(field), kind):
            yield f"no {field}"
    variables = {v["name"]: v for v in board["templating"]["list"]}
    if variables.get("datasource", {}).get("type") != "datasource" or variables.get("instance", {}).get("type") != "query":
        yield "the variables datasource and instance are not there"
    ids, taken = set(), {}
    for panel in panels_of(board):
        title, at = panel["title"], panel["gridPos"]
        if panel["id"] in ids:
            yield f"{title}: another panel has its id"
        ids.add(panel["id"])
        if at["x"] < 0 or at["w"] < 1 or at["x"] + at["w"] > 24:
            yield f"{title}: not within 24 columns"
        for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])):
            if cell in taken:
                yield f"{title}: lies on {taken[cell]}"
                break
            taken[cell] = title
        if panel["type"] == "row":
            continue
        if panel["type"] not in ("timeseries", "stat", "table") or not panel["targets"]:
            yield f"{title}: no panel that is known here, or nothing that it asks for"
        if panel["fieldConfig"]["defaults"]["unit"] not in UNITS:
            yield f"{title}: unit {panel['fieldConfig']['defaults']['unit']}"
        letters = [t["refId"] for t in panel["targets"]]
        if len(set(letters)) != len(letters):
            yield f"{title}: two questions of one letter"
        for asked in [panel, *panel["targets"]]:
            if asked["datasource"] != {"type": "prometheus", "uid": "${datasource}"}:
                yield f"{title}: another source of data than the one chosen"


def faults_of_expressions(board):
    variables = {v["name"] for v in board["templating"]["list"]} | {"__rate_interval", "__range"}
    for where, expression in expressions(board):
        bare = re.sub(r'"[^"]*"', '""', expression)
        for opened, closed in ("()", "{}", "[]"):
            if bare.count(opened) != bare.count(closed):
                yield f"{where}: {opened} and {closed} are not as many"
        for name in re.findall(r"\$(\w+)", expression):
            if name not in variables:
                yield f"{where}: no variable {name}"
        for name in re.findall(r"(\w+) *\(", bare):
            if name not in FUNCTIONS:
                yield f"{where}: function {name}"
        if re.search(r"\b(rate|increase)\(valkey_\w+(?<!_total)(?<!_bucket)\{", bare):
            yield f"{where}: a rate of what is no counter"
        selectors = re.findall(r"valkey_\w+(\{[^}]*\})?", expression)
        if where != "instance" and any('instance=~"$instance"' not in s for s in selectors):
            yield f"{where}: figures of servers that were not chosen"


def sample_names(server):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.web}/metrics", timeout=PATIENCE_S) as answer:
        text = answer.read().decode()
    return {re.match(r"[\w:]+", line)[0] for line in text.splitlines() if line and not line.startswith("#")}


def faults_of_names(board, primary, replica):
    client = Client(primary)
    client.pipeline([("SET", "a", "b", "EX", 1000), ("GET", "a"), ("LPUSH", "a", "b")])
    Client(replica)("REPLICAOF", "127.0.0.1", primary.port)
    wanted = {name: where for where, expression in expressions(board) for name in metric_names(expression)}
    until = time.monotonic() + PATIENCE_S
    while missing := set(wanted) - sample_names(primary):
        if time.monotonic() > until:
            break
        time.sleep(0.2)
    for name in sorted(missing):
        yield f"{wanted[name]}: there is no {name}"


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--server", required=True)
    words.add_argument("--base-port", type=int, default=22910)
    given = words.parse_args()
    with open(BOARD, encoding="utf-8") as f:
        board = json.load(f)
    checks = [("the board's shape", faults_of_shape(board)), ("its expressions", faults_of_expressions(board))]
    servers = []
    answer = subprocess.run([given.server, "--metrics-port", "x"], capture_output=True, text=True, timeout=PATIENCE_S)
    if "Bad directive" in answer.stdout + answer.stderr:
        print(f"skipped: the board's names, for {given.server} has no metrics port")
    else:
        servers = [Server(given.server, given.base_port), Server(given.server, given.base_port + 2)]
        checks.append(("its names", faults_of_names(board, *servers)))
    passed = failed = 0
    try:
        for name, faults in checks:
            found = list(faults)
            passed, failed = passed + (not found), failed + bool(found)
            for fault in found:
                print(f"FAIL {name}: {fault}")
    finally:
        for server in servers:
            server.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
