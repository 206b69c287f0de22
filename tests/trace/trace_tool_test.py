#!/usr/bin/env python3
"""Drives sluice-trace: every command, on good files and on bad ones.

usage: trace_tool_test.py SLUICE_TRACE FOLDER    FOLDER is tests/traces
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TOOL = ""
FOLDER = ""


def run(*arguments, stdout=subprocess.PIPE):
    return subprocess.run(
        [TOOL, *arguments],
        stdout=stdout,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        timeout=60,
        check=False,
    )


def sample(name):
    return os.path.join(FOLDER, name + ".json")


class TraceToolTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.addCleanup(self.directory.cleanup)

    def path(self, name):
        return os.path.join(self.directory.name, name)

    def write(self, name, text):
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def expect(self, *arguments, code=0):
        """What a call prints that must succeed."""
        result = run(*arguments)
        self.assertEqual((result.returncode, result.stderr), (code, ""), arguments)
        return result.stdout

    def expect_written(self, path, *arguments):
        """What such a call writes to `path`; it prints nothing."""
        self.assertEqual(self.expect(*arguments), "")
        with open(path, encoding="utf-8") as file:
            return file.read()

    def expect_refusal(self, part, *arguments, stdout=subprocess.PIPE):
        """One line on stderr that has `part` in it, nothing on stdout, exit code 2."""
        result = run(*arguments, stdout=stdout)
        self.assertEqual(result.returncode, 2, arguments)
        self.assertRegex(result.stderr, r"\Asluice-trace: [^\n]+\n\Z", arguments)
        self.assertIn(part, result.stderr, arguments)
        self.assertIn(result.stdout, ("", None), arguments)

    def test_help(self):
        text = self.expect("--help")
        self.assertLess(text.count("\n"), 25)
        self.assertLessEqual(max(map(len, text.splitlines())), 100)
        for command in ("show", "top", "diff", "kernels", "dot", "html", "perfetto"):
            self.assertIn(f"\n  {command} ", text)
            self.assertEqual(self.expect(command, "--help"), text)

    def test_show(self):
        text = self.expect("show", sample("held"))
        self.assertIn("windows 0-9 (x10), read: 3 ops -> 2 kernels on cpu", text)
        self.assertIn("  not fused  8.00 MiB  observed: ", text)
        self.assertIn("GB/s", text)
        self.assertEqual(text, self.expect("show", sample("held")))
        for arguments in (["--no-times", sample("held")], [sample("held"), "--no-times"]):
            text = self.expect("show", *arguments)
            self.assertNotIn("GB/s", text)
            self.assertIn("  kernel   12.0 MiB  mul  net.cpp:12\n", text)

    def test_top(self):
        text = self.expect("top", sample("held"))
        self.assertLess(text.index("  mul  net.cpp:12"), text.index("  exp+sum  net.cpp:13-14"))
        self.assertNotIn("exp+sum", self.expect("top", sample("held"), "-n", "1"))
        self.assertNotIn("mul", self.expect("top", "-n", "0", sample("held")))

    def test_diff(self):
        self.assertEqual(self.expect("diff", sample("held"), sample("held")), "no difference\n")
        text = self.expect("diff", sample("fused"), sample("held"), code=1)
        self.assertIn("\nlost fusions: 1 cut edge, 80.0 MiB\n", text)
        self.assertIn("\n  split  mul+exp+sum -> mul | exp+sum\n", text)
        text = self.expect("diff", sample("held"), sample("fused"), code=1)
        self.assertIn("\nfusions won: 1 cut edge, 80.0 MiB\n", text)

    def test_diff_of_a_cold_and_a_warm_cache(self):
        with open(sample("fused"), encoding="utf-8") as file:
            text = file.read()
        self.assertIn('"origin":"compiled"', text)
        warm = self.write("warm", text.replace('"origin":"compiled"', '"origin":"disk"'))
        for traces in ((sample("fused"), warm), (warm, sample("fused"))):
            self.assertRegex(self.expect("diff", *traces), r"\Akernels compiled +\d -> \d\n\Z")

    def test_kernels(self):
        text = self.expect("kernels", sample("every_member"))
        self.assertEqual(text.count("\n"), 5)
        by_number = self.expect("kernels", sample("every_member"), "--source", "0")
        self.assertIn("== source, cuda-c++\nextern", by_number)
        self.assertIn("== assembly\n.version", by_number)
        self.assertEqual(by_number, self.expect("kernels", "--source", "aa", sample("every_member")))
        for kernel in ("3", "ab", "zz", ""):
            self.expect_refusal("kernel", "kernels", sample("every_member"), "--source", kernel)

    def test_dot(self):
        text = self.expect("dot", sample("every_member"))
        self.assertTrue(text.startswith("digraph sluice {\n"))
        out = self.path("graph.dot")
        self.assertEqual(self.expect_written(out, "dot", sample("every_member"), out), text)

    def test_html(self):
        out = self.path("page.html")
        text = self.expect_written(out, "html", sample("every_member"), out)
        self.assertIn("sluice-trace", text)
        self.assertIn("<html", text)

    def test_perfetto(self):
        out = self.path("time.json")
        text = self.expect_written(out, "perfetto", sample("every_member"), out)
        events = json.loads(text)["traceEvents"]
        self.assertTrue({"M", "X", "s", "f"} <= {event["ph"] for event in events})
        for event in events:
            self.assertTrue(event["ph"] == "M" or event["ts"] >= 0, event)

    def test_bad_calls(self):
        good = sample("held")
        self.expect_refusal("COMMAND")
        self.expect_refusal("there is no command 'list'", "list", good)
        self.expect_refusal("show needs a FILE", "show")
        self.expect_refusal("diff needs two FILEs", "diff", good)
        self.expect_refusal("html needs OUT", "html", good)
        self.expect_refusal("perfetto needs OUT", "perfetto", good)
        self.expect_refusal("show does not take", "show", good, good)
        self.expect_refusal("show does not take '--color'", "show", "--color", good)
        self.expect_refusal("-n needs a value", "top", good, "-n")
        self.expect_refusal("-n: 'many' is not a number", "top", good, "-n", "many")
        self.expect_refusal("-n: '-1' is not a number", "top", good, "-n", "-1")
        self.expect_refusal("--source needs a value", "kernels", good, "--source")

    def test_bad_files(self):
        with open(sample("held"), "rb") as file:
            text = file.read()
        later = text.replace(b'"version":2', b'"version":3')
        wrong = text.replace(b'"graph":0', b'"graph":17', 1)
        bad = {
            self.path("no such file"): "No such file",
            self.directory.name: "directory",
            self.write("empty", ""): "it is empty",
            self.write("half", text[: len(text) // 2]): "ends too early",
            self.write("all but the end", text[:-3]): "ends too early",
            self.write("text", "windows 0-9 (x10)\n"): "not JSON: line 1, column 1",
            self.write("binary", b"\x7fELF\x00\xff\xfe" * 100): "not JSON: line 1, column 1",
            self.write("tail", text + b"}"): "not JSON",
            self.write("foreign", '{"name": "x", "version": "1.0"}'): "it has no format",
            self.write("list", "[1, 2]"): "not a trace, but a list",
            self.write("version 1", '{"version": 1, "windows": []}'): "reads version 2 only",
            self.write("version 3", later): "it is 3",
            self.write("wrong", wrong): "windows[0].graph: 17 is not a graph",
        }
        for path, part in bad.items():
            for command in ("show", "top", "kernels", "dot"):
                self.expect_refusal(part, command, path)
            for command in ("html", "perfetto"):
                self.expect_refusal(part, command, path, self.path("out"))
                self.assertFalse(os.path.exists(self.path("out")))
            self.expect_refusal(part, "diff", path, sample("held"))
            self.expect_refusal(part, "diff", sample("held"), path)

    def test_bad_outputs(self):
        bad = [self.directory.name, self.path("no such folder/out")]
        if os.path.exists("/dev/full"):
            bad.append("/dev/full")
            with open("/dev/full", "wb") as full:
                self.expect_refusal("No space left", "show", sample("held"), stdout=full)
        for path in bad:
            for command in ("dot", "html", "perfetto"):
                self.expect_refusal("cannot write " + path, command, sample("held"), path)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    TOOL, FOLDER = map(os.path.abspath, sys.argv[1:])
    unittest.main(argv=sys.argv[:1])
