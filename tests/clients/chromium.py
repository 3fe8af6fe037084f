"""A headless Chromium, controlled by its debugging protocol over a pipe: without a port, and without a library."""

import base64
import json
import os
import select
import shutil
import subprocess
import time

PROGRAM = shutil.which("chromium")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--no-first-run", "--no-proxy-server", "--hide-scrollbars", "--remote-debugging-pipe",
)  # fmt: skip
WAIT_S = 60


class Browser:
    def __init__(self, folder):
        there, self.writes = os.pipe()
        self.reads, back = os.pipe()

        def place():
            """Puts the pipes at descriptors 3 and 4, where the browser reads and writes."""
            for fd, wanted in ((os.dup(there), 3), (os.dup(back), 4)):
                os.dup2(fd, wanted)

        self.log = open(folder / "chromium.log", "wb")
        self.process = subprocess.Popen(
            [PROGRAM, *OPTIONS, f"--user-data-dir={folder / 'profile'}", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(3, 4), close_fds=True, preexec_fn=place,
        )  # fmt: skip
        os.close(there)
        os.close(back)
        self.buffer, self.number, self.events = b"", 0, []

    def close(self):
        os.close(self.writes)
        os.close(self.reads)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.log.close()

    def message(self, end):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.reads], [], [], max(0, end - time.monotonic()))
            assert ready, "the browser says nothing"
            piece = os.read(self.reads, 1 << 20)
            assert piece, "the browser has ended"
            self.buffer += piece
        one, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(one)

    def send(self, method, session=None, **parameters):
        """Sends a command, and does not wait for its answer."""
        self.number += 1
        order = {"id": self.number, "method": method, "params": parameters} | ({"sessionId": session} if session else {})
        os.write(self.writes, json.dumps(order).encode() + b"\0")

    def call(self, method, session=None, **parameters):
        self.send(method, session, **parameters)
        end = time.monotonic() + WAIT_S
        while True:
            message = self.message(end)
            if message.get("id") == self.number:
                assert "error" not in message, (method, message["error"])
                return message["result"]
            if "id" not in message:
                self.events.append(message)

    def event(self, session, name):
        """Waits for an event of a page. @return its parameters"""
        end = time.monotonic() + WAIT_S
        while True:
            for i, message in enumerate(self.events):
                if message.get("method") == name and message.get("sessionId") == session:
                    del self.events[i]
                    return message["params"]
            self.events.append(self.message(end))

    def tab(self):
        """Opens a new tab, with cookies of its own."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        return Tab(self, self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"])


class Tab:
    def __init__(self, browser, session):
        self.browser, self.session = browser, session
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def look(self, width=1440, height=900, dark=False):
        self.resize(width, height)
        self.darken(dark)

    def resize(self, width, height=900):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def darken(self, dark):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def set_script(self, on):
        self.call("Emulation.setScriptExecutionDisabled", value=not on)

    def open(self, url):
        self.forget("Page.loadEventFired")
        self.call("Page.navigate", url=url)
        self.loaded()

    def forget(self, name):
        self.browser.events = [m for m in self.browser.events if not (m.get("method") == name and m.get("sessionId") == self.session)]

    def loaded(self):
        self.browser.event(self.session, "Page.loadEventFired")

    def said(self, name):
        """The events of this name that have come so far."""
        return [m["params"] for m in self.browser.events if m.get("method") == name and m.get("sessionId") == self.session]

    def run(self, expression):
        """Evaluates an expression of JavaScript. @return its value, or that of its promise"""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def press_tab(self, n):
        """Presses Tab n times, and waits only for the last one."""
        key = {"key": "Tab", "code": "Tab", "windowsVirtualKeyCode": 9}
        for _ in range(n - 1):
            self.browser.send("Input.dispatchKeyEvent", self.session, type="rawKeyDown", **key)
            self.browser.send("Input.dispatchKeyEvent", self.session, type="keyUp", **key)
        self.press("Tab")

    def press(self, key, code=None, text="", shift=False):
        more = {"key": key, "code": code or key, "windowsVirtualKeyCode": {"Tab": 9, "Enter": 13, " ": 32}.get(key, 0), "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", text={"Enter": "\r", " ": " "}.get(key, text), **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", **more)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, fromSurface=True)
        path.write_bytes(base64.b64decode(shot["data"]))
