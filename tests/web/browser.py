"""browser.py -- drives a headless Chromium over a pipe by its own protocol, with nothing but Python.

    with Browser() as browser:
        page = browser.page()
        page.open("http://127.0.0.1:8080/")
        page.eval("document.title")

SPDX-License-Identifier: BSD-3-Clause"""

import fcntl
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

PROGRAMS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
# Without the sandbox, for tests run as root in containers; without the requests that the browser sends by itself.
OPTIONS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-dev-shm-usage", "--no-first-run",
           "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
           "--hide-scrollbars", "--remote-debugging-pipe")
PATIENCE_S = 60


def program():
    """Returns the path of a Chromium, or None."""
    named = os.environ.get("CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, PROGRAMS)), None)


def high_pipe():
    """Returns a pipe whose ends are neither 3 nor 4."""
    ends = []
    for end in os.pipe():
        ends.append(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10))
        os.close(end)
    return ends


class Browser:
    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="valkey-page-")
        to_read, self.to_browser = high_pipe()
        self.from_browser, to_write = high_pipe()
        # The browser reads commands from descriptor 3 and replies on 4.
        command = f'exec "$@" 3<&{to_read} 4>&{to_write} {to_read}<&- {to_write}>&-'
        self.process = subprocess.Popen(
            ["bash", "-c", command, "chromium", program(), *OPTIONS, f"--user-data-dir={self.profile}"],
            pass_fds=(to_read, to_write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.number, self.answers, self.pages = 0, {}, {}
        self.arrived = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        return self

    def __exit__(self, *_):
        try:
            self.call("Browser.close")
        except (OSError, RuntimeError):
            pass
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.to_browser)
        shutil.rmtree(self.profile, ignore_errors=True)

    def _read(self):
        """Queues messages, which end with a zero byte. None means that the browser has ended."""
        rest = b""
        while chunk := os.read(self.from_browser, 1 << 16):
            *whole, rest = (rest + chunk).split(b"\0")
            for message in whole:
                self.arrived.put(json.loads(message))
        os.close(self.from_browser)
        self.arrived.put(None)

    def take(self, timeout):
        """Handles one message: stores a reply, passes an event to its page. Returns False if none came."""
        try:
            message = self.arrived.get(timeout=timeout)
        except queue.Empty:
            return False
        if message is None:
            raise RuntimeError("the browser has ended")
        if "id" in message:
            self.answers[message["id"]] = message
        elif message.get("sessionId") in self.pages:
            self.pages[message["sessionId"]].on_event(message["method"], message["params"])
        return True

    def call(self, method, session=None, **params):
        self.number += 1
        number = self.number
        message = {"id": number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + PATIENCE_S
        while number not in self.answers:
            if not self.take(1) and time.monotonic() > until:
                raise RuntimeError(f"no answer to {method}")
        answer = self.answers.pop(number)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def page(self):
        """Opens a page that shares no storage with others."""
        context = self.call("Target.createBrowserContext", disposeOnDetach=True)["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.pages[session] = Page(self, session, context)
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.pages[session].call(f"{domain}.enable")
        return self.pages[session]


class Page:
    """One page, with its requests and its error messages."""

    def __init__(self, browser, session, context):
        self.browser, self.session, self.context = browser, session, context
        self.requests, self.complaints = [], []

    def on_event(self, method, params):
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complaints.append(" ".join(str(a.get("value", a)) for a in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complaints.append(f"{params['entry']['source']}: {params['entry']['text']}")

    def call(self, method, **params):
        return self.browser.call(method, self.session, **params)

    def close(self):
        del self.browser.pages[self.session]
        self.browser.call("Target.disposeBrowserContext", browserContextId=self.context)

    def open(self, url):
        self.call("Page.navigate", url=url)
        self.wait("document.readyState === 'complete' && location.href !== 'about:blank'")

    def eval(self, expression):
        """Returns the value of an expression, awaited if it is a promise."""
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"].get("exception", {}).get("description", expression))
        return result["result"].get("value")

    def wait(self, expression, patience_s=PATIENCE_S):
        """Waits until the expression is true, and returns its value."""
        until = time.monotonic() + patience_s
        while not (value := self.eval(expression)):
            if time.monotonic() > until:
                raise RuntimeError(f"never came true: {expression}")
            self.browser.take(0.05)
        return value

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def press(self, key):
        """Presses a key: a letter, or Tab, Escape, ArrowLeft ..."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowRight": 39}
        text = {"text": key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=codes.get(key, 0), **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=codes.get(key, 0))
