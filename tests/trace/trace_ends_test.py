"""A program leaves its trace however it ends.

    trace_ends_test.py TRACE_PROGRAM
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest

PROGRAM = None


class TraceEnds(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "trace.json")

    def start(self, *arguments):
        # The shell ignores SIGINT of what it starts in the background, and so would the program.
        return subprocess.Popen(
            [PROGRAM, *arguments], env=dict(os.environ, SLUICE_TRACE=str(self.path)),
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))

    def check(self, process, status, message=""):
        _, errors = process.communicate(timeout=120)
        self.assertEqual(process.returncode, status, errors)
        self.assertIn(message, errors)
        trace = json.loads(self.path.read_text())
        self.assertEqual(sum(len(trace["graphs"][w["graph"]]["ops"]) > 1000
                             for w in trace["windows"]), 1)

    def test_returning(self):
        self.check(self.start(), 0)

    def test_an_uncaught_error(self):
        self.check(self.start("throw"), -signal.SIGABRT, "add: shapes do not broadcast")

    def test_abort(self):
        self.check(self.start("abort"), -signal.SIGABRT)

    def test_signals_from_outside(self):
        for number in signal.SIGINT, signal.SIGTERM:
            with self.subTest(number):
                process = self.start("wait")
                self.assertEqual(process.stdout.readline(), "ready\n")
                process.send_signal(number)
                self.check(process, -number)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
