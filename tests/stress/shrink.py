#!/usr/bin/env python3
# shrink.py -- resident memory after values have shrunk by half: are free pages given back?
#
#   tests/stress/shrink.py [--server FILE] [--port N] [--mb N] [--only WORD] [--defrag yes|no|both] [--peer]
#
# For each case the keyspace is filled with values of about 2 KB (--mb in total), each value, or every second one, is made
# half as large, and the server gets time: free pages of jemalloc decay within ten seconds, and active defragmentation works
# until it rests. The table has resident by used memory after the fill, after the shrinking, at the end, and after MEMORY
# PURGE. A case fails if the end is above 1.6 with every value shrunk, or above 1.25 with defragmentation. --peer only
# prints (another server may need other limits).
#
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
LIMIT, LIMIT_DEFRAG, SETTLE_S, DEFRAG_S = 1.6, 1.25, 14, 120


def request(*words):
    words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Client:
    def __init__(self, port):
        for _ in range(200):
            try:
                self.socket = socket.create_connection(("127.0.0.1", port))
                break
            except OSError:
                time.sleep(0.05)
        self.replies = self.socket.makefile("rb")

    def reply(self):
        line = self.replies.readline()
        if line[:1] == b"-":
            sys.exit(f"shrink: {line.decode()}")
        if line[:1] != b"$":
            return line[1:-2]
        return self.replies.read(int(line[1:]) + 2)[:-2]

    def pipeline(self, requests):
        """Sends requests in batches whose replies are single lines."""
        batch = []
        for one in requests:
            batch.append(one)
            if len(batch) == 500:
                self.send(batch)
                batch = []
        self.send(batch)

    def send(self, batch):
        self.socket.sendall(b"".join(batch))
        for _ in batch:
            self.reply()

    def call(self, *words):
        self.socket.sendall(request(*words))
        return self.reply()

    def memory(self):
        fields = dict(line.split(":", 1) for line in self.call("INFO", "memory").decode().split("\r\n") if ":" in line)
        return {name: float(value) for name, value in fields.items() if value.replace(".", "", 1).isdigit()}


def text(size, i):
    return b"%012d" % i + b"v" * (size - 12)


# Each case makes the requests for key i: one that fills, and one that makes the value half as large.
def string(i, half):
    return [request("SET", f"k:{i}", text(1000 if half else 2000, i))]


def hash_fields(i, half):
    pairs = [word for f in range(10) for word in (f"field:{f}", text(100 if half else 200, i))]
    return [request("HSET", f"k:{i}", *pairs)]


def list_elements(i, half):
    if not half:
        return [request("RPUSH", f"k:{i}", *[text(200, i) for _ in range(10)])]
    return [request("LSET", f"k:{i}", n, text(100, i)) for n in range(10)]


CASES = {"string": string, "hash": hash_fields, "list": list_elements}


def ratio(c):
    m = c.memory()
    return m["used_memory_rss"] / m["used_memory"]


def run(server, port, make, every, defrag, keys):
    folder = tempfile.mkdtemp()
    process = subprocess.Popen([server, "--port", str(port), "--save", "", "--dir", folder, "--daemonize", "no"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        c = Client(port)
        c.pipeline(r for i in range(keys) for r in make(i, False))
        figures = [ratio(c)]
        if defrag:
            c.call("CONFIG", "SET", "active-defrag-ignore-bytes", "10mb")
            c.call("CONFIG", "SET", "activedefrag", "yes")
        c.pipeline(r for i in range(0, keys, every) for r in make(i, True))
        figures.append(ratio(c))
        time.sleep(SETTLE_S)
        end = time.time() + DEFRAG_S
        while defrag and c.memory()["active_defrag_running"] and time.time() < end:
            time.sleep(0.5)
        figures.append(ratio(c))
        c.call("MEMORY", "PURGE")
        figures.append(ratio(c))
        m = c.memory()
        return figures, m["allocator_frag_ratio"], m["allocator_rss_ratio"], m["used_memory"] / 1048576
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--server", default=os.path.join(HERE, "../../src/valkey-server"))
    parser.add_argument("--port", type=int, default=21990)
    parser.add_argument("--mb", type=int, default=400)
    parser.add_argument("--only", default="")
    parser.add_argument("--defrag", default="both", choices=("yes", "no", "both"))
    parser.add_argument("--peer", action="store_true")
    args = parser.parse_args()
    keys, bad = args.mb * 1048576 // 2048, 0
    print("case                        filled  shrunk     end  purged    gaps   pages  used MB")
    for name, make in CASES.items():
        for every, which in ((1, "all"), (2, "every second")):
            for defrag in [d for d in (False, True) if args.defrag in ("both", "yes" if d else "no")]:
                label = f"{name}, {which}" + (", defrag" if defrag else "")
                if args.only not in label:
                    continue
                figures, gaps, pages, used = run(args.server, args.port, make, every, defrag, keys)
                limit = LIMIT_DEFRAG if defrag else LIMIT if every == 1 else 9
                failed = not args.peer and figures[2] > limit
                bad += failed
                print(f"{label:<26}" + "".join(f"{f:8.2f}" for f in figures) + f"{gaps:8.2f}{pages:8.2f}{used:9.0f}" +
                      (f"  above {limit}" if failed else ""), flush=True)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
