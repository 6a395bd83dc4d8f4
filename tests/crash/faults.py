#!/usr/bin/env python3
"""faults.py -- tests a server with files that cannot be written, synced, renamed or opened, or only slowly.

A server runs under disk_shim.c, which lets the calls of some of its files fail or wait. Each case checks the replies
and log lines meanwhile, that service continues after the fault, and that after kill -9 all writes acknowledged with OK
are present and none refused with an error.

    faults.py --server PATH --shim disk_shim.so [--only WORD] [--list]

Exit code 0: each case has passed.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import errno
import hashlib
import mmap
import os
import shutil
import socket
import struct
import sys
import tempfile
import threading
import time

import contents
from server import DidNotStart, Server, free_port

FIELDS = ("write_error", "write_bytes_left", "sync_error", "rename_error", "open_error", "unlink_error",
          "write_delay_us", "sync_delay_us", "short_write", "times", "count")
FILTER_AT, SIZE = 128, 256
PATIENCE_S = 30
# The writes of so many seconds may be lost by kill -9 under everysec.
PROMISED_S = 2.1
FULL = "No space left on device"
MEMORY_MORE_KB = 400 * 1024
# A temporary file that always has the same name takes no additional space if it is left.
REUSED = ("temp-appendonly.aof.manifest",)
CASES = []


class Wrong(Exception):
    """The server behaved differently from a case."""


def case(*arguments):
    """Declares a case: a function of a Stage, with additional arguments for the server."""
    def declare(function):
        CASES.append((function.__name__, arguments, function))
        return function
    return declare


class Stage:
    """A server with control of faults, and its replies."""

    def __init__(self, options, name, arguments):
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="fault-%s-" % name))
        self.path = os.path.join(self.top, "control")
        with open(self.path, "wb") as file:
            file.write(b"\0" * SIZE)
        with open(self.path, "r+b") as file:
            self.control = mmap.mmap(file.fileno(), SIZE)
        self.folder = os.path.join(self.top, "data")
        self.server = Server(options.server, self.folder, options.port, arguments)
        self.environment = {"LD_PRELOAD": options.shim, "DISK_SHIM_ROOT": self.folder, "DISK_SHIM_CONTROL": self.path}
        self.link = None
        self.answered, self.refused, self.unknown, self.when = [], [], [], {}
        self.next = 0

    def start(self):
        self.link = self.server.start(self.environment).await_ready()
        self.memory = self.server.resident_kb()

    def fault(self, filter_text="", times=-1, **fields):
        """Makes calls fail on files whose path contains FILTER_TEXT."""
        self.put("times", 0)
        self.control[FILTER_AT:SIZE] = filter_text.encode().ljust(SIZE - FILTER_AT, b"\0")
        for name in FIELDS:
            self.put(name, fields.get(name, 0))
        self.put("times", times)

    def put(self, name, value):
        struct.pack_into("<q", self.control, 8 * FIELDS.index(name), value)

    def hits(self):
        return struct.unpack_from("<q", self.control, 8 * FIELDS.index("count"))[0]

    def mend(self):
        if not self.hits():
            raise Wrong("the fault has met no call")
        self.put("times", 0)

    # ---- Clients ----

    def ask(self, *words):
        return self.link.ask([word if isinstance(word, bytes) else str(word).encode() for word in words])

    def set(self, size=100):
        """Writes a new key and returns whether it was accepted. Exceptions of the connection are passed on."""
        key = b"k%d" % self.next
        self.next += 1
        self.unknown.append(key)
        raw = self.ask("SET", key, b"x" * size)[0]
        self.unknown.pop()
        (self.refused if raw.startswith(b"-") else self.answered).append(key)
        self.when[key] = time.monotonic()
        self.last = raw
        return raw == b"+OK\r\n"

    def write_until_refused(self, size=100):
        deadline = time.monotonic() + PATIENCE_S
        while self.set(size):
            if time.monotonic() > deadline:
                raise Wrong("writes are not refused")
            time.sleep(0.001)
        return self.last

    def await_writes(self, rewrite_after=None):
        """Waits until a write succeeds again."""
        begun = time.monotonic()
        while not self.set():
            if time.monotonic() > begun + PATIENCE_S:
                raise Wrong("writes are still refused: %r" % self.last)
            if rewrite_after is not None and time.monotonic() > begun + rewrite_after:
                self.ask("BGREWRITEAOF")
            time.sleep(0.1)

    def info(self, name):
        for line in self.ask("INFO", "persistence")[1].decode().split("\r\n"):
            if line.startswith(name + ":"):
                return line.partition(":")[2]
        raise Wrong("INFO has no %s" % name)

    def await_info(self, name, value):
        deadline = time.monotonic() + PATIENCE_S
        while self.info(name) != value:
            if time.monotonic() > deadline:
                raise Wrong("%s is %s and not %s" % (name, self.info(name), value))
            time.sleep(0.02)

    def expect(self, raw, text):
        if text.encode() not in raw:
            raise Wrong("the answer is %r and not %r" % (raw, text))

    def expect_log(self, *texts):
        """Waits for one of the texts in the log."""
        deadline = time.monotonic() + 5
        while not any(text in self.server.log_text() for text in texts):
            if time.monotonic() > deadline:
                raise Wrong("the log has no %r" % " or ".join(texts))
            time.sleep(0.02)

    def expect_end(self):
        """Waits until the server exits by itself with status 1."""
        code = self.server.reap(PATIENCE_S)
        if code != 1:
            raise Wrong("it ends with %d and not 1" % code)

    def expect_bounded(self):
        if self.server.resident_kb() > self.memory + MEMORY_MORE_KB:
            raise Wrong("it has taken %d KB" % (self.server.resident_kb() - self.memory))

    def expect_no_strays(self):
        strays = [os.path.join(base, name) for base, _, names in os.walk(self.folder) for name in names
                  if name.startswith("temp") and name not in REUSED]
        if strays:
            raise Wrong("left behind: %s" % strays)

    # ---- The state afterwards --------

    def await_handed_over(self):
        """Waits two seconds, or until the whole log is written: a write may wait for a running sync."""
        end = time.monotonic() + PROMISED_S
        while time.monotonic() < end:
            info = self.ask("INFO", "persistence")[1]
            if b"aof_enabled:0" in info or (b"aof_buffer_length:0\r" in info and b"aof_last_write_status:ok" in info):
                break
            time.sleep(0.02)

    def again(self, kill=True, lost_s=0):
        """Restarts without faults: all acknowledged writes must be present, except those of the last LOST_S seconds,
        and no refused one."""
        if kill and self.server.is_alive():
            if not lost_s:
                self.await_handed_over()
            self.server.kill()
            self.server.reap()
        before = time.monotonic() - lost_s
        self.put("times", 0)
        self.link = self.server.start().await_ready()
        found = {key for _, key in contents.read(self.link)}
        missing = [key for key in self.answered if key not in found and self.when[key] < before]
        if missing:
            raise Wrong("%d answered writes are lost: %s" % (len(missing), missing[:5]))
        if found & set(self.refused):
            raise Wrong("there is what was refused: %s" % sorted(found & set(self.refused))[:5])
        self.answered = [key for key in self.answered if key in found]
        if found - set(self.answered) - set(self.refused) - set(self.unknown):
            raise Wrong("nobody wrote %s" % sorted(found)[:5])

    def end(self):
        self.server.end()
        self.control.close()


def until_gone(stage, size=100):
    """Writes until the connection breaks, as the server has ended."""
    deadline = time.monotonic() + PATIENCE_S
    try:
        while stage.set(size):
            if time.monotonic() > deadline:
                raise Wrong("it goes on")
        raise Wrong("a refusal: %r" % stage.last)
    except (ConnectionError, OSError):
        pass


ALWAYS = ("--appendonly", "yes", "--appendfsync", "always", "--save", "")
EVERYSEC = ("--appendonly", "yes", "--appendfsync", "everysec", "--save", "")
NO_SYNC = ("--appendonly", "yes", "--appendfsync", "no", "--save", "")
SNAPSHOTS = ("--appendonly", "no", "--save", "3600 1000000")


# ---- The append-only file ----------------------------------------------------------------------------------------


def full_disk(stage, **fault):
    stage.set()
    stage.fault(".incr.", write_error=errno.ENOSPC, **fault)
    stage.expect(stage.write_until_refused(), "-MISCONF Errors writing to the AOF file: " + FULL)
    stage.expect(stage.ask("PING")[0], "-MISCONF Errors writing to the AOF file: " + FULL)
    stage.expect(stage.ask("GETEX", stage.answered[0], "PERSIST")[0], "-MISCONF")
    stage.expect(stage.ask("GET", stage.answered[0])[0], "x")
    stage.expect(stage.ask("PUBLISH", "channel", "m")[0], ":0")
    if stage.info("aof_last_write_status") != "err":
        raise Wrong("aof_last_write_status is not err")
    stage.expect_log("Error writing to the AOF file: " + FULL, "Short write while writing to the AOF file")
    stage.ask("MULTI")
    stage.expect(stage.ask("SET", "in-multi", "x")[0], "-MISCONF")
    stage.expect(stage.ask("EXEC")[0], "-EXECABORT")
    stage.mend()
    stage.await_writes()
    stage.await_info("aof_last_write_status", "ok")
    stage.expect_log("AOF write error looks solved")
    stage.again()


@case(*EVERYSEC)
def everysec_full_disk(stage):
    full_disk(stage)


@case(*EVERYSEC)
def everysec_full_disk_in_the_middle_of_a_write(stage):
    full_disk(stage, write_bytes_left=1234)


@case(*NO_SYNC)
def no_full_disk(stage):
    full_disk(stage, write_bytes_left=777)


@case(*EVERYSEC)
def everysec_full_disk_then_kill(stage):
    """Only writes acknowledged before the fault was noticed are in memory alone, and are lost with the server."""
    stage.fault(".incr.", write_error=errno.ENOSPC, write_bytes_left=3001)
    stage.write_until_refused()
    stage.again(lost_s=PROMISED_S)
    if len(stage.answered) < 3001 // 150:
        raise Wrong("what was written is lost as well: only %d are there" % len(stage.answered))
    stage.set()
    stage.again()


@case(*EVERYSEC)
def everysec_short_writes(stage):
    """Short writes without an error, for a while."""
    stage.set()
    stage.fault(".incr.", short_write=7)
    deadline = time.monotonic() + 1
    while time.monotonic() < deadline:
        stage.set()
        time.sleep(0.005)
    stage.mend()
    stage.await_writes()
    stage.again()


@case(*EVERYSEC)
def everysec_failing_sync(stage):
    """Service continues when syncs work again, or after a new base was written."""
    stage.fault(".incr.", sync_error=errno.EIO)
    stage.expect(stage.write_until_refused(), "-MISCONF Errors writing to the AOF file: Input/output error")
    stage.expect(stage.ask("GET", stage.answered[0])[0], "x")
    stage.mend()
    stage.await_writes(rewrite_after=3)
    stage.again()


@case(*EVERYSEC)
def everysec_failing_write(stage):
    stage.fault(".incr.", write_error=errno.EIO)
    stage.expect(stage.write_until_refused(), "-MISCONF Errors writing to the AOF file: Input/output error")
    stage.mend()
    stage.await_writes()
    stage.again()


@case(*EVERYSEC)
def everysec_off_and_on_while_full(stage):
    """Turning it off ends the refusals; turning it on writes a new base."""
    stage.fault(".incr.", write_error=errno.ENOSPC)
    stage.write_until_refused()
    stage.expect(stage.ask("CONFIG", "SET", "appendonly", "no")[0], "+OK")
    if not stage.set():
        raise Wrong("still refused: %r" % stage.last)
    stage.mend()
    stage.expect(stage.ask("CONFIG", "SET", "appendonly", "yes")[0], "+OK")
    stage.await_info("aof_rewrite_scheduled", "0")
    stage.await_info("aof_rewrite_in_progress", "0")
    stage.set()
    stage.again()


@case(*ALWAYS)
def always_full_disk(stage):
    stage.set()
    stage.fault(".incr.", write_error=errno.ENOSPC, write_bytes_left=2000)
    until_gone(stage)
    stage.expect_end()
    stage.expect_log("Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...")
    stage.again(kill=False)


@case(*ALWAYS)
def always_failing_write(stage):
    stage.fault(".incr.", write_error=errno.EIO)
    until_gone(stage)
    stage.expect_end()
    if stage.answered:
        raise Wrong("a write was answered")
    stage.again(kill=False)


@case(*ALWAYS)
def always_failing_sync(stage):
    stage.set()
    stage.fault(".incr.", sync_error=errno.EIO)
    until_gone(stage)
    stage.expect_end()
    if len(stage.answered) != 1:
        raise Wrong("a write was answered whose sync has failed")
    stage.expect_log("Can't persist AOF for fsync error when the AOF fsync policy is 'always'")
    stage.again(kill=False)


@case(*ALWAYS)
def always_short_writes(stage):
    """The server may finish the write or exit, but no reply may be false."""
    stage.fault(".incr.", short_write=7)
    try:
        for _ in range(20):
            stage.set()
    except (ConnectionError, OSError):
        stage.expect_end()
    stage.again()


@case(*ALWAYS)
def always_slow_sync(stage):
    """No reply is sent before its sync has ended."""
    stage.fault(".incr.", sync_delay_us=200000)
    for _ in range(8):
        begun = time.monotonic()
        stage.set()
        if time.monotonic() - begun < 0.19:
            raise Wrong("an answer after %.3f s of a sync that takes 0.2" % (time.monotonic() - begun))
    stage.mend()
    stage.again()


@case(*ALWAYS)
def always_very_slow_sync(stage):
    """The data waiting for a sync is bounded, and waiting clients are served."""
    stage.fault(".incr.", sync_delay_us=5000000, times=-1)
    begun = time.monotonic()
    stage.set(1000)
    if time.monotonic() - begun < 4.9:
        raise Wrong("an answer after %.3f s of a sync that takes 5" % (time.monotonic() - begun))
    stage.mend()
    for _ in range(100):
        stage.set(1000)
    stage.expect_bounded()
    stage.again()


def slow_everysec(stage, **fault):
    stage.fault(".incr.", **fault)
    end, longest = time.monotonic() + 7, 0.0
    while time.monotonic() < end:
        begun = time.monotonic()
        for _ in range(20):
            stage.set(10000)
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.01)
    stage.expect_bounded()
    stage.mend()
    # Unwritten bytes may be lost by kill -9 for two seconds only.
    time.sleep(PROMISED_S if "write_delay_us" not in fault else 6)
    stage.again()
    return "20 writes took %.0f ms at most" % (longest * 1000)


@case(*EVERYSEC)
def everysec_slow_sync(stage):
    return slow_everysec(stage, sync_delay_us=200000)


@case(*EVERYSEC)
def everysec_very_slow_sync(stage):
    return slow_everysec(stage, sync_delay_us=5000000)


@case(*EVERYSEC)
def everysec_slow_write(stage):
    return slow_everysec(stage, write_delay_us=200000)


@case(*EVERYSEC)
def everysec_very_slow_write(stage):
    """For any duration of a write, kill -9 loses no write acknowledged more than two seconds before."""
    stage.fault(".incr.", write_delay_us=4000000)
    end = time.monotonic() + 9
    while time.monotonic() < end:
        stage.set(1000)
    stage.again(lost_s=PROMISED_S)


@case(*EVERYSEC)
def everysec_flood_on_a_slow_disk(stage):
    """A client that sends without reading replies is slowed down: the data waiting for the disk is bounded, and nothing
    is lost."""
    stage.fault(".incr.", write_delay_us=300000)
    sets = b"".join(b"*3\r\n$3\r\nSET\r\n$3\r\nf%02d\r\n$1000000\r\n%s\r\n" % (i, b"x" * 1000000) for i in range(20))
    flood = socket.create_connection(("127.0.0.1", stage.server.port), timeout=60)
    sender = threading.Thread(target=lambda: [flood.sendall(sets) for _ in range(20)])
    sender.start()
    paused = False
    while sender.is_alive() and not paused:
        paused = b"paused_reason:slow_disk" in stage.ask("INFO", "clients")[1]
        stage.expect_bounded()
        time.sleep(0.01)
    stage.mend()
    if not paused:
        raise Wrong("writes were never paused")
    replies = b""
    while len(replies) < 20 * 20 * len(b"+OK\r\n"):
        replies += flood.recv(100000)
    sender.join()
    for i in range(20):
        stage.answered.append(b"f%02d" % i)
        stage.when[b"f%02d" % i] = time.monotonic()
    if replies != b"+OK\r\n" * 400 or b"paused_reason:none" not in stage.ask("INFO", "clients")[1]:
        raise Wrong("it does not go on as before")
    stage.again()


# ---- Rewrites ----------------------------------------------------------------------------------------------------


def failing_rewrite(stage, where, **fault):
    for _ in range(50):
        stage.set()
    stage.fault(where, **fault)
    stage.ask("BGREWRITEAOF")
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline and not stage.hits():
        stage.set()
    for _ in range(20):
        stage.set()
    stage.await_info("aof_rewrite_in_progress", "0")
    stage.mend()
    stage.await_writes()
    stage.expect_no_strays()
    stage.again()
    stage.ask("BGREWRITEAOF")
    stage.await_info("aof_rewrite_in_progress", "0")
    stage.await_info("aof_last_bgrewrite_status", "ok")
    stage.set()
    stage.again()


@case(*EVERYSEC)
def rewrite_full_disk(stage):
    failing_rewrite(stage, "temp-rewriteaof", write_error=errno.ENOSPC)


@case(*EVERYSEC, "--aof-use-rdb-preamble", "no")
def rewrite_full_disk_commands(stage):
    failing_rewrite(stage, "temp-rewriteaof", write_error=errno.ENOSPC)


@case(*EVERYSEC)
def rewrite_failing_sync(stage):
    failing_rewrite(stage, "temp-rewriteaof", sync_error=errno.EIO)


@case(*ALWAYS)
def rewrite_always_failing_sync(stage):
    failing_rewrite(stage, "temp-rewriteaof", sync_error=errno.EIO)


@case(*EVERYSEC)
def rewrite_failing_rename(stage):
    failing_rewrite(stage, "temp-rewriteaof", rename_error=errno.EIO)


@case(*EVERYSEC)
def rewrite_failing_open(stage):
    failing_rewrite(stage, "temp-rewriteaof", open_error=errno.EACCES)


@case(*EVERYSEC)
def rewrite_increment_cannot_be_made(stage):
    failing_rewrite(stage, ".2.incr", open_error=errno.ENOSPC)


@case(*EVERYSEC)
def rewrite_manifest_cannot_be_written(stage):
    failing_rewrite(stage, "manifest", write_error=errno.ENOSPC)


@case(*EVERYSEC)
def rewrite_manifest_cannot_be_synced(stage):
    failing_rewrite(stage, "manifest", sync_error=errno.EIO)


@case(*EVERYSEC)
def rewrite_manifest_cannot_be_renamed(stage):
    failing_rewrite(stage, "temp-appendonly.aof.manifest", rename_error=errno.EIO)


@case(*EVERYSEC, "--auto-aof-rewrite-percentage", "1", "--auto-aof-rewrite-min-size", "1kb")
def rewrite_fails_again_and_again(stage):
    """Automatic rewrites wait longer after each failure, and leave no files."""
    stage.fault("temp-rewriteaof", write_error=errno.ENOSPC)
    deadline = time.monotonic() + 4
    while time.monotonic() < deadline:
        stage.set(1000)
        time.sleep(0.01)
    if int(stage.info("aof_rewrites")) > 4:
        raise Wrong("%s rewrites were tried" % stage.info("aof_rewrites"))
    stage.await_info("aof_rewrite_in_progress", "0")
    stage.expect_no_strays()
    stage.mend()
    stage.ask("BGREWRITEAOF")
    stage.await_info("aof_rewrite_in_progress", "0")
    stage.await_info("aof_last_bgrewrite_status", "ok")
    stage.again()


# ---- Snapshots ---------------------------------------------------------------------------------------------------


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def failing_snapshot(stage, **fault):
    path = os.path.join(stage.folder, "dump.rdb")
    for _ in range(50):
        stage.set(1000)
    stage.expect(stage.ask("SAVE")[0], "+OK")
    old, safe = digest(path), list(stage.answered)
    stage.fault("temp-", **fault)
    for _ in range(20):
        stage.set()
    stage.expect(stage.ask("SAVE")[0], "-ERR")
    stage.expect(stage.ask("BGSAVE")[0], "+Background saving started")
    stage.await_info("rdb_last_bgsave_status", "err")
    stage.expect(stage.write_until_refused(), "-MISCONF Valkey is configured to save RDB snapshots")
    stage.expect(stage.ask("PING")[0], "-MISCONF")
    stage.expect(stage.ask("GET", stage.answered[0])[0], "x")
    if digest(path) != old:
        raise Wrong("the old snapshot has changed")
    stage.expect_no_strays()
    stage.expect(stage.ask("SHUTDOWN", "SAVE")[0], "-ERR Errors trying to SHUTDOWN. Check logs.")
    stage.mend()
    stage.expect(stage.ask("BGSAVE")[0], "+Background saving started")
    stage.await_info("rdb_last_bgsave_status", "ok")
    stage.await_writes()
    stage.expect(stage.ask("SAVE")[0], "+OK")
    if not set(safe) < set(stage.answered):
        raise Wrong("the case is empty")
    stage.again()


@case(*SNAPSHOTS)
def snapshot_full_disk(stage):
    failing_snapshot(stage, write_error=errno.ENOSPC, write_bytes_left=1000)


@case(*SNAPSHOTS)
def snapshot_failing_write(stage):
    failing_snapshot(stage, write_error=errno.EIO)


@case(*SNAPSHOTS)
def snapshot_failing_sync(stage):
    failing_snapshot(stage, sync_error=errno.EIO)


@case(*SNAPSHOTS)
def snapshot_failing_rename(stage):
    failing_snapshot(stage, rename_error=errno.EIO)


@case(*SNAPSHOTS)
def snapshot_failing_open(stage):
    failing_snapshot(stage, open_error=errno.EACCES)


@case(*SNAPSHOTS)
def snapshot_slow_sync(stage):
    """While a child waits for the disk, clients do not."""
    stage.set()
    stage.fault("temp-", sync_delay_us=2000000)
    stage.expect(stage.ask("BGSAVE")[0], "+Background saving started")
    longest, end = 0.0, time.monotonic() + 1
    while time.monotonic() < end:
        begun = time.monotonic()
        stage.set()
        longest = max(longest, time.monotonic() - begun)
        time.sleep(0.01)
    if longest > 0.9:
        raise Wrong("a write took %.3f s" % longest)
    stage.await_info("rdb_bgsave_in_progress", "0")
    stage.mend()
    stage.expect(stage.ask("SAVE")[0], "+OK")
    stage.again()


# ---- All of them -------------------------------------------------------------------------------------------------


def run_case(options, name, arguments, function):
    """Runs a case and returns None or the error."""
    stage = Stage(options, name, [*arguments, *(options.server_arguments or [])])
    begun = time.monotonic()
    try:
        stage.start()
        remark = function(stage)
    except (Wrong, DidNotStart, ConnectionError, OSError) as problem:
        print("FAIL %s: %s: %s\n  folder: %s" % (name, type(problem).__name__, problem, stage.top), flush=True)
        return False
    finally:
        stage.end()
    print("ok   %s (%.1f s)%s" % (name, time.monotonic() - begun, ": " + remark if remark else ""), flush=True)
    shutil.rmtree(stage.top)
    return True


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--shim", required=True)
    parser.add_argument("--port", type=int, default=24600)
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--quick", action="store_true", help="without those that take more than some seconds")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--server-arguments", nargs="*")
    options = parser.parse_args()
    options.server, options.shim = os.path.abspath(options.server), os.path.abspath(options.shim)
    options.port = free_port(options.port)
    chosen = [c for c in CASES if options.only in c[0] and not (options.quick and "slow" in c[0])]
    if options.list:
        print("\n".join(name for name, _, _ in chosen))
        return 0
    failed = [name for name, arguments, function in chosen if not run_case(options, name, arguments, function)]
    print("%d of %d cases failed%s" % (len(failed), len(chosen), ": " + " ".join(failed) if failed else ""))
    return 1 if failed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
