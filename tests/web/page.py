"""page.py -- the page of the metrics port in a headless Chromium: compares its figures with INFO, and checks its
behavior.

    page.py --server PATH [--base-port N]       "N passed, N failed" is its last line

The load is a number of commands and not a time, and each test waits for the readings that it needs.

SPDX-License-Identifier: BSD-3-Clause"""

import argparse
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import traceback

from browser import Browser

PATIENCE_S = 60


# ---- The server, and a connection to it -----------------------------------------------------------------------------

class Server:
    def __init__(self, program, port, *options):
        self.program, self.port, self.web, self.options = program, port, port + 1, options
        self.folder = tempfile.mkdtemp(prefix="valkey-page-")
        self.start()

    def start(self):
        with open(os.path.join(self.folder, "log"), "wb") as log:
            self.process = subprocess.Popen(
                [self.program, "--port", str(self.port), "--metrics-port", str(self.web), "--bind", "127.0.0.1",
                 "--io-threads", "3", "--save", "", "--dir", self.folder, *self.options], stdout=log, stderr=log)
        until = time.monotonic() + PATIENCE_S
        while "Ready to accept connections" not in self.log():
            if self.process.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the server did not start ({self.process.poll()}):\n{self.log()}")
            time.sleep(0.02)

    def log(self):
        with open(os.path.join(self.folder, "log"), encoding="utf-8", errors="replace") as f:
            return f.read()

    def stop(self):
        self.process.terminate()
        self.process.wait(PATIENCE_S)

    def end(self):
        if self.process.poll() is None:
            self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Client:
    """Implements enough of the protocol for this test. An error is a string that begins with "-"."""

    def __init__(self, server, *login):
        self.file = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S).makefile("rwb")
        if login:
            self("AUTH", *login)

    def __call__(self, *words):
        self.send(*words)
        return self.read()

    def send(self, *words):
        encoded = [str(w).encode() for w in words]
        self.file.write(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
        self.file.flush()

    def pipeline(self, commands):
        for words in commands:
            encoded = [str(w).encode() for w in words]
            self.file.write(b"*%d\r\n" % len(encoded) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in encoded))
        self.file.flush()
        return [self.read() for _ in commands]

    def read(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:]
        if kind in b"*~":
            return [self.read() for _ in range(int(rest))]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode(errors="replace")
        return int(rest) if kind == b":" else (line if kind == b"-" else rest).decode(errors="replace")

    def info(self, *sections):
        return dict(line.split(":", 1) for line in self("INFO", *sections).splitlines() if ":" in line)


# ---- Contents of the page --------------------------------------------------------------------------------------------

def text(page, selector):
    return page.eval(f"document.querySelector({json.dumps(selector)}).textContent").replace("\u202f", " ")


def rows(page, panel):
    """Returns the rows of a panel's table: {text of the first cell: texts of the others}."""
    found = page.eval(f"[...document.querySelectorAll('#{panel} tbody tr')].map(r => "
                      "[...r.cells].map(c => c.textContent.replaceAll('\\u202f', ' ')))")
    return {cells[0]: cells[1:] for cells in found}


def readings(page, n):
    """Waits until n more readings have arrived and are shown."""
    last = page.eval("page.history.last?.at ?? 0")
    page.wait(f"page.history.readings.filter(r => r.at > {last}).length >= {n} && !page.asking")


def opened(browser, server):
    page = browser.page()
    page.open(f"http://127.0.0.1:{server.web}/")
    page.wait("page.phase === 'live' && page.history.readings.length >= 2")
    return page


def calls_of(stats, name):
    found = re.match(r"calls=(\d+)", stats.get(f"cmdstat_{name}", ""))
    return int(found[1]) if found else 0


def same(got, expected, what):
    if got != expected:
        raise AssertionError(f"{what}: {got!r} is not {expected!r}")


def true(value, what):
    if not value:
        raise AssertionError(what)


# ---- Tests: each has a browser and a server that runs ----------------------------------------------------------------

def figures_are_those_of_info(browser, server):
    page, client = opened(browser, server), Client(server)
    more = [Client(server) for _ in range(7)]
    for c in more[:3]:
        c.send("BLPOP", "nothing", 0)
    client.pipeline([("SET", f"k{i}", "v" * 100) for i in range(1000)])
    client.pipeline([("GET", f"k{i}") for i in range(300)] + [("GET", f"none{i}") for i in range(100)])
    client.pipeline([("LPUSH", "k1", "x")] * 6)
    client.pipeline([("SELECT", 3)] + [("SET", f"x{i}", "v", "EX", 1000) for i in range(12)] + [("SELECT", 0)])
    # Everything in one reading happened before the command that comes with it.
    page.wait("page.history.last.commands.get('set')?.calls === 1012 && page.history.last.n.blocked === 3")
    readings(page, 1)
    info, stats = client.info("everything"), client.info("commandstats")

    table = rows(page, "commands")
    for name, calls in (("set", 1012), ("get", 400), ("lpush", 6), ("select", 2)):
        cells = table[name]
        same(cells[0], f"{calls:,}", f"calls of {name}")
        usec = re.search(r"usec=(\d+)", stats[f"cmdstat_{name}"])[1]
        mean = page.eval(f"duration({usec} / 1e6 / {calls})").replace("\u202f", " ")
        same(cells[3], mean, f"mean of {name}")
        exact = float(re.search(r"p99=([\d.]+)", client.info("latencystats")[f"latency_percentiles_usec_{name}"])[1])
        # A bucket spans a factor of two; the first one extends down to 0.
        shown = page.eval(f"quantile(page.history.last.commands.get('{name}').buckets, 0.99)") * 1e6
        true(shown / 2 <= max(0.5, exact) <= shown * 2, f"p99 of {name}: {shown}, INFO says {exact}")

    same(text(page, "#tile-keys .figure"), "1,012", "keys")
    same(rows(page, "databases"), {"db0": ["1,000", "0"], "db3": ["12", "12"]}, "databases")
    same(rows(page, "errors")["WRONGTYPE"], ["6", "6"], "errors")
    same(text(page, "#tile-clients .figure"), info["connected_clients"], "clients")
    true(text(page, "#tile-clients .beside").startswith("3 blocked"), "blocked clients")
    used = page.eval("page.history.last.n.used")
    true(abs(used - int(info["used_memory"])) < 0.2 * used, f"memory: {used}, INFO says {info['used_memory']}")
    same(text(page, "#tile-memory .figure"), page.eval("bytes(page.history.last.n.used)").replace("\u202f", " "),
         "memory in words")

    parts = page.eval("[...document.querySelectorAll('#parts .bar i')].reduce((sum, i) => sum + +i.style.flexGrow, 0)")
    true(abs(parts - used) < 1024, f"memory by kind: {parts} of {used}")

    # The values of a chart, added up over its time, equal the counter.
    for name, total in (("hits", info["keyspace_hits"]), ("misses", info["keyspace_misses"]), ("read", 400),
                        ("write", 1012 + 6 + calls_of(stats, "blpop"))):
        drawn = page.eval("page.history.pairs(0, FINE_MS).filter(p => p.a)"
                          f".reduce((sum, p) => sum + rate('{name}')(p) * p.dt, 0)")
        true(abs(drawn - int(total)) < 0.001, f"{name}: {drawn}, not {total}")
    same(page.eval("share(per('hits', 'hits', 'misses')(page.history.span(0)))"), "75%", "hit rate")
    names = page.eval("[...page.history.last.threads.keys()]")
    same([n for n in ("main", "io1", "io2") if n in names], ["main", "io1", "io2"], "threads")
    same(page.eval("document.querySelectorAll('#threads .strips .plot').length"), len(names), "strips of threads")
    missing = page.eval("Object.entries(FIELDS).filter(([name]) => page.history.last.n[name] === undefined)"
                        ".map(field => field[1])")
    same(missing, [], "metrics that the page wants and the server has not")


def kinds_are_those_of_the_command_table(browser, server):
    page, client, wrong = opened(browser, server), Client(server), []
    commands = [(c[0], c[2]) for c in client("COMMAND")]
    commands += [(sub[0], sub[2]) for c in client("COMMAND") for sub in c[9]]
    kinds = page.eval(f"{json.dumps([name for name, _ in commands])}.map(kindOf)")
    for (name, flags), kind in zip(commands, kinds):
        right = "write" if "write" in flags else "read" if "readonly" in flags else "other"
        # A container is never called.
        if kind != right and not any(n.startswith(name + "|") for n, _ in commands):
            wrong.append(f"{name} is {right}, not {kind}")
    same(wrong, [], "kinds")


def works_by_keyboard(browser, server):
    page = opened(browser, server)
    for key, range_ms in (("3", 3600e3), ("1", 60e3), ("2", 300e3)):
        page.press(key)
        same(page.eval("page.range"), range_ms, f"range after {key}")
        same(page.eval("+document.querySelector('[name=range]:checked').value"), range_ms, f"button after {key}")
    page.press("?")
    true(page.eval("byId('keys').open"), "? shows the keys")
    page.press("t")
    same(page.eval("page.theme"), "auto", "theme: a key while the list is shown")
    page.press("Escape")
    true(not page.eval("byId('keys').open"), "Escape closes the list")

    seen = []
    for _ in range(12):
        page.press("Tab")
        seen.append(page.eval("document.activeElement.id || document.activeElement.className || "
                              "document.activeElement.textContent"))
        style = page.eval("(e => getComputedStyle(e.matches('[type=radio]') ? e.parentNode : e).outlineStyle)"
                          "(document.activeElement)")
        same(style, "solid", f"outline of {seen[-1]}")
    for wanted in ("pause", "theme", "help", "plot", "Table"):
        true(wanted in seen, f"Tab does not reach {wanted}: {seen}")

    readings(page, 2)
    page.eval("document.querySelector('#rate .plot').focus()")
    page.press("ArrowLeft")
    same(page.eval("[...document.querySelectorAll('.cursor')].every(c => !c.hidden)"), True, "cursor in all charts")
    at = page.eval("page.cursor")
    page.press("ArrowLeft")
    true(page.eval("page.cursor") <= at, "the cursor goes back")
    page.press("Escape")
    same(page.eval("page.cursor ?? null"), None, "cursor after Escape")

    page.press("v")
    true(page.eval("document.querySelectorAll('#rate .rows tr').length") >= 2, "v shows tables")
    page.press("v")
    true(page.eval("document.querySelector('#rate .rows').hidden"), "v hides them again")
    page.eval("byId('letters').click()")
    page.press("3")
    same(page.eval("page.range"), 300e3, "range: digits that are no keys")
    page.eval("byId('letters').click()")


def charts_have_words(browser, server):
    page = opened(browser, server)
    page.wait("/Commands per second, last 5 minutes: reads .* from /.test("
              "document.querySelector('#rate .plot').getAttribute('aria-label'))")
    unnamed = page.eval("[...document.querySelectorAll('button, input, section, [role=img], [tabindex]')].filter(e => "
                        "!(e.textContent.trim() || e.getAttribute('aria-label') || e.labels?.length)).length")
    same(unnamed, 0, "controls without a name")
    same(page.eval("[...document.querySelectorAll('[aria-live]')].map(e => e.textContent)"), [""], "what is read out")


def themes(browser, server):
    page = opened(browser, server)
    ground = "getComputedStyle(document.body).backgroundColor"
    seen = {}
    for system in ("light", "dark"):
        page.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": system}])
        seen[system] = page.eval(ground)
    true(seen["light"] != seen["dark"], "the system's theme is followed")
    page.press("t")  # the system's theme is dark now
    same(page.eval(ground), seen["light"], "the light theme")
    page.call("Page.reload")
    page.wait("document.readyState === 'complete' && page.phase === 'live'")
    same(page.eval(ground), seen["light"], "the light theme, loaded again")
    page.press("t")
    same(page.eval(ground), seen["dark"], "the dark theme")
    page.press("t")
    same(page.eval("document.documentElement.dataset.theme ?? 'auto'"), "auto", "theme")


def fits_a_phone(browser, server):
    page = opened(browser, server)
    for width in (360, 320, 768, 1280):
        page.size(width, 740)
        page.eval("refresh()")
        same(page.eval("document.documentElement.scrollWidth"), width, "width of what is shown")
    page.size(360, 740)
    low = page.eval("[...document.querySelectorAll('nav button, nav label')].filter(e => e.offsetHeight < 24).length")
    same(low, 0, "controls too low for a finger")


def says_when_the_server_is_gone_and_when_it_is_back(browser, server):
    page, client = opened(browser, server), Client(server)
    client.pipeline([("SET", "k", "v")] * 500)
    readings(page, 2)
    marks = "document.querySelectorAll('#rate .mark').length"
    marked = page.eval(marks)  # its first figures may be older than the counters of this test
    server.stop()
    page.wait("page.phase === 'gone'")
    true(text(page, "#state").startswith("No answer"), "state")
    true("does not answer" in text(page, "#banner") and not page.eval("byId('banner').hidden"), "banner")
    true("does not answer" in text(page, "#news"), "what is read out")
    true(page.eval("document.title").startswith("(no figures)"), "title")
    server.start()
    Client(server).pipeline([("GET", "k")] * 20)
    page.wait("page.phase === 'live'")
    readings(page, 2)
    true(page.eval("byId('banner').hidden"), "banner after the restart")
    true("restarted" in text(page, "#news"), "what is read out after the restart")
    same(page.eval(marks), marked + 1, "marks of a restart")
    same(page.eval("page.history.pairs(0, FINE_MS).flatMap(p => PANELS.flatMap(panel => (panel.series ?? [])"
                   ".map(([, , of]) => of(p)))).filter(v => v < 0).length"), 0, "figures below 0")
    same(rows(page, "commands").get("set"), None, "commands from before the restart")

    Client(server)("CONFIG", "RESETSTAT")
    page.wait("/set to zero/.test(byId('news').textContent)")
    # While the server is down, the browser itself reports errors.
    page.complaints = [c for c in page.complaints if "ERR_CONNECTION_REFUSED" not in c and "ERR_EMPTY_RESPONSE" not in c
                       and "ERR_CONNECTION_RESET" not in c]


def does_not_ask_while_hidden_or_paused(browser, server):
    page = opened(browser, server)
    page.press("p")
    same(text(page, "#state"), "Paused", "state")
    page.wait("!page.asking")
    asked = len(page.requests)
    same(page.eval("(ask(), page.asking)"), False, "asks while paused")
    page.press("p")
    page.wait("page.phase === 'live'")
    readings(page, 1)
    true(len(page.requests) > asked, "asks after the pause")
    page.eval("Object.defineProperty(document, 'hidden', { get: () => true, configurable: true })")
    page.wait("!page.asking")
    asked = page.eval("page.history.readings.length")
    same(page.eval("(ask(), page.asking)"), False, "asks while hidden")
    page.eval("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    page.wait(f"page.history.readings.length > {asked}")


def what_the_server_says_is_no_markup(browser, server):
    page, client = opened(browser, server), Client(server)
    client("EVAL", "return redis.error_reply('<b>bold</b> <script>')", 0)
    page.wait("page.history.last.errors.size > 0")
    readings(page, 1)
    same(list(rows(page, "errors")), ["<b>bold</b>"], "errors")
    same(page.eval("document.querySelectorAll('#panels b').length"), 0, "elements of the server's making")


def asks_for_a_login(browser, server):
    client = Client(server)
    client("ACL", "SETUSER", "default", ">secret", "resetpass", ">secret")
    page = browser.page()
    page.open(f"http://default:secret@127.0.0.1:{server.web}/")
    page.wait("page.phase === 'live'")
    page.eval("document.title")
    client("ACL", "SETUSER", "default", "nopass")


TESTS = [figures_are_those_of_info, kinds_are_those_of_the_command_table, works_by_keyboard, charts_have_words, themes,
         fits_a_phone, does_not_ask_while_hidden_or_paused, what_the_server_says_is_no_markup, asks_for_a_login,
         says_when_the_server_is_gone_and_when_it_is_back]


def run(browser, server, test):
    """Runs one test with a fresh state of the server, then checks the page's errors and requests."""
    client = Client(server)
    client("FLUSHALL")
    client("CONFIG", "RESETSTAT")
    test(browser, server)
    for page in list(browser.pages.values()):
        while browser.take(0):
            pass
        same(page.complaints, [], "complaints of the page")
        ours = re.compile(rf"(data:|http://(default:secret@)?127\.0\.0\.1:{server.web}/(metrics\?names=valkey)?$)")
        same([url for url in page.requests if not ours.match(url)], [], "requests elsewhere")
        true(page.requests, "the page has asked for nothing")


def run_all(browser, server, only):
    passed = failed = 0
    for test in TESTS:
        if only not in test.__name__:
            continue
        try:
            run(browser, server, test)
            passed += 1
        except Exception:  # a test may fail in any way; the others run all the same
            failed += 1
            print(f"FAIL {test.__name__.replace('_', ' ')}\n{traceback.format_exc()}")
            if server.process.poll() is not None:
                server.start()
        for page in list(browser.pages.values()):
            page.close()
    return passed, failed


def main():
    words = argparse.ArgumentParser()
    words.add_argument("--server", required=True)
    words.add_argument("--base-port", type=int, default=22900)
    words.add_argument("--only", default="")
    given = words.parse_args()
    answer = subprocess.run([given.server, "--metrics-port", "x"], capture_output=True, text=True, timeout=PATIENCE_S)
    if "Bad directive" in answer.stdout + answer.stderr:
        print(f"skipped: {given.server} has no metrics port")
        print("0 passed, 0 failed")
        return 0
    server = Server(given.server, given.base_port)
    try:
        with Browser() as browser:
            passed, failed = run_all(browser, server, given.only)
    finally:
        server.end()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
