"""Drives a headless Chromium through chromedriver: just what the tests of the trace page need."""

import base64
import json
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"  # the key of an element in the protocol


class WebDriverError(Exception):
    pass


def find_programs():
    """The paths of chromedriver and of a browser, or None if one is missing."""
    driver = shutil.which("chromedriver")
    browsers = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    browser = next(filter(None, map(shutil.which, browsers)), None)
    return (driver, browser) if driver and browser else None


class Browser:
    """A context manager: leaving it ends the browser and the driver."""

    def __init__(self, programs, width=1500, height=950, dark=False):
        self._programs = programs
        self._arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--hide-scrollbars", "--force-device-scale-factor=1", "--no-first-run",
            f"--window-size={width},{height}"]
        if dark:
            self._arguments.append("--force-dark-mode")
        self._size = (width, height)

    def __enter__(self):
        self._profile = tempfile.TemporaryDirectory(prefix="webdriver_")
        self._process = subprocess.Popen(
            [self._programs[0], "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True)
        try:
            self._address = f"http://127.0.0.1:{self._read_port()}"
            answer = self._send("POST", "/session", {"capabilities": {"alwaysMatch": {
                "goog:loggingPrefs": {"browser": "ALL"},
                "goog:chromeOptions": {
                    "binary": self._programs[1],
                    "args": [*self._arguments, f"--user-data-dir={self._profile.name}"]}}}})
            self._session = f"/session/{answer['sessionId']}"
            self._command("POST", "/window/rect", {"width": self._size[0], "height": self._size[1]})
        except BaseException:
            self._end_driver()
            raise
        return self

    def __exit__(self, *_):
        try:
            self._send("DELETE", self._session)
        finally:
            self._end_driver()

    def _end_driver(self):
        self._process.terminate()
        self._process.wait()
        self._process.stdout.close()
        self._profile.cleanup()

    def _read_port(self):
        for line in self._process.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip().rstrip(".").rsplit(" ", 1)[1])
        raise WebDriverError("chromedriver did not start")

    def _send(self, method, path, body=None):
        data = json.dumps(body if body is not None else {}).encode() if method == "POST" else None
        request = urllib.request.Request(self._address + path, data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.load(error)["value"]
            raise WebDriverError(f"{value['error']}: {value['message']}") from None

    def _command(self, method, path, body=None):
        return self._send(method, self._session + path, body)

    def open(self, url):
        self._command("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """Runs a function body in the page; `return` gives the value."""
        return self._command("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def find_all(self, selector):
        return [found[ELEMENT] for found in self._command(
            "POST", "/elements", {"using": "css selector", "value": selector})]

    def find(self, selector):
        found = self.find_all(selector)
        if not found:
            raise WebDriverError(f"no element matches {selector}")
        return found[0]

    def text(self, selector):
        return self._command("GET", f"/element/{self.find(selector)}/text")

    def texts(self, selector):
        return [self._command("GET", f"/element/{found}/text") for found in self.find_all(selector)]

    def count(self, selector):
        return len(self.find_all(selector))

    def type(self, text):
        """To whatever has the focus."""
        keys = [{"type": kind, "value": key} for key in text for kind in ("keyDown", "keyUp")]
        self._command("POST", "/actions",
                      {"actions": [{"type": "key", "id": "keyboard", "actions": keys}]})

    def _pointer(self, x, y, actions):
        move = {"type": "pointerMove", "duration": 0, "x": round(x), "y": round(y)}
        self._command("POST", "/actions", {"actions": [{
            "type": "pointer", "id": "mouse", "parameters": {"pointerType": "mouse"},
            "actions": [move, *actions]}]})

    def hover_at(self, x, y):
        self._pointer(x, y, [])

    def click_at(self, x, y, times=1):
        press = [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._pointer(x, y, press * times)

    def drag(self, x, y, dx, dy):
        to = {"type": "pointerMove", "duration": 50, "x": round(x + dx), "y": round(y + dy)}
        self._pointer(x, y, [{"type": "pointerDown", "button": 0}, to,
                             {"type": "pointerUp", "button": 0}])

    def wheel(self, x, y, dy):
        self._command("POST", "/actions", {"actions": [{"type": "wheel", "id": "wheel", "actions": [
            {"type": "scroll", "x": round(x), "y": round(y), "deltaX": 0, "deltaY": dy}]}]})

    def point_of(self, selector):
        """Where to point at to hit an element: lines have points, boxes a middle."""
        point = self.run("""
            const element = document.querySelector(arguments[0]);
            if (!element) return null;
            if (element instanceof HTMLElement) element.scrollIntoView({block: 'nearest'});
            const hit = (x, y) => element.contains(document.elementFromPoint(x, y));
            for (const line of element.querySelectorAll('path')) {
              const at = line.getScreenCTM();
              for (let n = 1; n < 20; n++) {
                const p = line.getPointAtLength(line.getTotalLength() * n / 20).matrixTransform(at);
                if (hit(p.x, p.y)) return [p.x, p.y];
              }
            }
            const rect = element.getBoundingClientRect();
            return [rect.left + rect.width / 2, rect.top + rect.height / 2];""", selector)
        if point is None:
            raise WebDriverError(f"no element matches {selector}")
        return point

    def hover(self, selector):
        self.hover_at(*self.point_of(selector))

    def click(self, selector, times=1):
        self.click_at(*self.point_of(selector), times)

    def wait_for(self, what, seconds=10):
        """Until what() is true; false if it never is."""
        end = time.monotonic() + seconds
        while not what():
            if time.monotonic() > end:
                return False
            time.sleep(0.05)
        return True

    def errors(self):
        """What the page complained of since the last call."""
        return [entry["message"] for entry in self._command("POST", "/se/log", {"type": "browser"})
                if entry["level"] == "SEVERE"]

    def emulate_dark(self, dark):
        self._command("POST", "/goog/cdp/execute", {"cmd": "Emulation.setEmulatedMedia", "params": {
            "features": [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]}})

    def screenshot(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self._command("GET", "/screenshot")))
