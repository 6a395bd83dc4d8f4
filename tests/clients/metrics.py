#!/usr/bin/env python3
"""metrics.py -- checks the output of the metrics port with the parsers of prometheus_client.

Usage: metrics.py PORT METRICS_PORT        PORT is the server's own

SPDX-License-Identifier: BSD-3-Clause
"""
import re
import socket
import sys
import time
import urllib.request

from prometheus_client.openmetrics.parser import text_string_to_metric_families as read_open
from prometheus_client.parser import text_string_to_metric_families as read_text

PORT, METRICS_PORT = int(sys.argv[1]), int(sys.argv[2])
passed = failed = 0


def check(what, held):
    global passed, failed
    passed, failed = passed + bool(held), failed + (not held)
    if not held:
        print(f"FAIL {what}")


def ask(*commands):
    """Returns the replies of inline commands, as bytes until the connection ends."""
    with socket.create_connection(("127.0.0.1", PORT)) as s:
        s.sendall(b"".join(c.encode() + b"\r\n" for c in commands) + b"QUIT\r\n")
        parts = []
        while part := s.recv(65536):
            parts.append(part)
    return b"".join(parts)


def scrape(accept="", query=""):
    request = urllib.request.Request(f"http://127.0.0.1:{METRICS_PORT}/metrics{query}", headers={"Accept": accept})
    with urllib.request.urlopen(request) as answer:
        return answer.read().decode("utf-8")


def newest(accept=""):
    """Returns a scrape of figures taken after this call began."""
    begun = time.time()
    while True:
        text = scrape(accept)
        if float(re.search(r"^valkey_snapshot_timestamp_seconds (\S+)", text, re.M).group(1)) > begun:
            return text
        time.sleep(0.05)


def samples(families):
    return {(s.name, tuple(sorted(s.labels.items()))): s.value for f in families for s in f.samples}


# ---- Something of each kind: commands that fail, errors with odd names, databases, scripts, a replica, an odd address ----
ask("SET a 1", "SET b 2 EX 100", "SELECT 3", "SET c 3", "GET a", "HSET h f v", "CONFIG GET port", "NOSUCH", "GET", "INCR h",
    "XGROUP CREATE s g $ MKSTREAM", "DEBUG NOSUCH", "EVAL \"return {err='odd\\\"name\\\\\\\\ x'}\" 0",
    "EVAL \"return {err='\\xff\\xc3\\xa4 x'}\" 0", "SCRIPT LOAD \"return 1\"", "CONFIG SET latency-tracking yes")
follower = socket.create_connection(("127.0.0.1", PORT))
address = b"is\"quoted\\name"
follower.sendall(b"REPLCONF listening-port 7777\r\n*3\r\n$8\r\nREPLCONF\r\n$10\r\nip-address\r\n$%d\r\n%s\r\n" %
                 (len(address), address))
replies = b""
while replies.count(b"\r\n") < 2:
    replies += follower.recv(100)
follower.sendall(b"SYNC\r\n")
follower.setblocking(False)
while b"state=online" not in ask("INFO replication"):
    try:
        if not follower.recv(65536):
            sys.exit("the server has let its replica go")
    except BlockingIOError:
        pass
    follower.send(b"REPLCONF ACK 0\r\n")
    time.sleep(0.05)

text, opened = newest(), newest("application/openmetrics-text;version=1.0.0")
text_families, open_families = list(read_text(text)), list(read_open(opened))
check("both formats have as many families", len(text_families) == len(open_families) > 150)
check("no family is there twice", len({f.name for f in open_families}) == len(open_families))
check("each has a sentence", all(f.documentation for f in open_families))
check("no sample is there twice", len(samples(open_families)) == sum(len(f.samples) for f in open_families))

values = samples(open_families)
check("a replica", any(name == "valkey_connected_replica_lag_seconds" for name, _ in values))
check("a quoted address", any("quoted" in dict(labels).get("addr", "") for _, labels in values))
check("databases", values[("valkey_db_keys", (("db", "3"),))] == 3)
check("a command's calls", values[("valkey_command_calls_total", (("cmd", "set"),))] == 3)
check("a subcommand's calls", values[("valkey_command_calls_total", (("cmd", "config|get"),))] == 1)
check("a refused command", values[("valkey_command_rejected_calls_total", (("cmd", "get"),))] == 1)
check("an odd error", any("odd\"name\\" in dict(labels).get("err", "") for _, labels in values))
check("an error that is no UTF-8", any("?\u00e4" in dict(labels).get("err", "") for _, labels in values))
for cmd in ("set", "hset"):
    calls = values[("valkey_command_calls_total", (("cmd", cmd),))]
    check(f"the histogram of {cmd}", values[("valkey_command_duration_seconds_count", (("cmd", cmd),))] == calls)
    spent = values[("valkey_command_seconds_total", (("cmd", cmd),))]
    total = values[("valkey_command_duration_seconds_sum", (("cmd", cmd),))]
    check(f"its sum, but for parts of microseconds: {total} {spent}", abs(total - spent) <= 0.02 * spent + calls * 1e-6)
counters = [f for f in open_families if f.type == "counter"]
check("counters are known", len(counters) > 80)
check("counters are not negative", all(s.value >= 0 for f in counters for s in f.samples))

# Names that promtool's lint rejects.
bad = re.compile(r"(_gauge|_counter|_milliseconds|_microseconds|_ms|_us|_sec|_kb|_mb)(_|$)|_(count|sum|bucket)$|^total_")
check("names as they are written elsewhere: " + ", ".join(f.name for f in open_families if bad.search(f.name)),
      not any(bad.search(f.name) for f in open_families))
check("_total is for counters", not any(f.name.endswith("_total") for f in open_families if f.type != "counter"))

# ---- The names of the exporter ----

theirs = [list(read_text(scrape(query="?names=redis"))),
          list(read_open(scrape("application/openmetrics-text", "?names=redis")))]
check("both formats have as many families of the exporter", len(theirs[0]) == len(theirs[1]) >= len(open_families))
for families in theirs:
    check("no family of the exporter is there twice", len({f.name for f in families}) == len(families))
    check("each of the exporter's has a sentence", all(f.documentation for f in families))
    check("no sample of the exporter is there twice", len(samples(families)) == sum(len(f.samples) for f in families))
    check("each has the prefix", all(f.name.startswith("redis_") for f in families))
    values = samples(families)
    for name, labels in (("redis_up", {}), ("redis_memory_used_bytes", {}), ("redis_commands_total", {"cmd": "set"}),
                         ("redis_commands_duration_seconds_total", {"cmd": "set"}), ("redis_db_keys", {"db": "db3"}),
                         ("redis_commands_latencies_usec_count", {"cmd": "set"}), ("redis_errors_total", {"err": "ERR"})):
        check(f"{name} {labels}", values.get((name, tuple(sorted(labels.items()))), 0) > 0)
    check("a replica of the exporter", any(name == "redis_connected_slave_offset_bytes" and
          {"slave_ip", "slave_port", "slave_state"} <= set(dict(labels)) for name, labels in values))
    check("what the server is", any(name == "redis_instance_info" and dict(labels)["role"] == "master"
                                    for name, labels in values))
check("_total is for counters of the exporter", not any(f.name.endswith("_total") for f in theirs[1] if f.type != "counter"))

later = samples(read_open(newest("application/openmetrics-text")))
for f in counters:
    for s in f.samples:
        key = (s.name, tuple(sorted(s.labels.items())))
        check(f"{s.name} grows", later.get(key, -1) >= s.value)
print(f"{passed} passed, {failed} failed, 0 skipped")
sys.exit(failed > 0)
