#!/usr/bin/env python3
"""Uses the trace page as people do, in a headless browser.

usage: trace_page_test.py SLUICE_TRACE FOLDER PROGRAM [DIGITS]

SLUICE_TRACE is the program that makes pages, FOLDER has traces that have to open without an error.
PROGRAM, tests/trace/trace_program.cpp, and DIGITS, the example, are run and write pages of themselves.
Exits with 77 if there is no Chromium or no chromedriver.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

import trace_page_samples as samples
import webdriver

SKIPPED = 77


class PageTest(unittest.TestCase):
    browsers = None
    sluice_trace = None
    folder = None
    program = None
    digits = None

    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="trace_page_")
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.browser = webdriver.Browser(cls.browsers).__enter__()
        cls.addClassCleanup(cls.browser.__exit__, None, None, None)
        cls.pages = {}

    def open(self, name, address=""):
        # A page that differs in its fragment alone would not be loaded again.
        self.browser.open("about:blank")
        self.browser.open(self.pages[name] + address)

    def tearDown(self):
        self.assertEqual(self.browser.errors(), [])

    def wait(self, what):
        self.assertTrue(self.browser.wait_for(what), "it does not happen")

    def exists(self, selector):
        return self.browser.count(selector) > 0

    def facts(self):
        return dict(zip(self.browser.texts("#details dt"), self.browser.texts("#details dd")))

    def view(self):
        return self.browser.run("return page.graphView.view;")

    def search(self, query):
        """What is found, as op numbers."""
        self.browser.run("byId('search').value = ''; byId('search').focus();")
        self.browser.type(query)
        return self.browser.run("""
            return [...document.querySelectorAll('[data-result-op]')].map(
                (result) => Number(result.dataset.resultOp));""")


class MadeUpTraceTest(PageTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        for name, make in (
                ("small", samples.small), ("loop", samples.loop), ("large", samples.large),
                ("repeating", samples.repeating)):
            cls.pages[name] = cls.make_page(name, json.dumps(make()))

    @classmethod
    def make_page(cls, name, text):
        folder = pathlib.Path(cls.temporary.name)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
        page = folder / f"{name}.html"
        subprocess.run([cls.sluice_trace, "html", folder / f"{name}.json", page], check=True)
        return page.as_uri()

    def test_every_trace_opens(self):
        traces = sorted(pathlib.Path(self.folder).glob("*.json"))
        self.assertTrue(traces)
        for path in traces:
            with self.subTest(path.name):
                trace = json.loads(path.read_text(encoding="utf-8"))
                self.pages[path.stem] = self.make_page(path.stem, path.read_text(encoding="utf-8"))
                for n, window in enumerate(trace.get("windows", [])[:20]):
                    self.open(path.stem, f"#window={n}")
                    graph = trace["graphs"][window.get("graph", -1)]
                    self.assertEqual(self.browser.count("[data-step]"), len(graph.get("steps", [])))
                    self.assertEqual(self.browser.errors(), [])

    def test_step(self):
        self.open("small")
        self.browser.click('[data-step="0"] .title')
        self.assertEqual(self.browser.text("#details h2 .title-text"), "mul+exp")
        facts = self.facts()
        self.assertEqual(facts["read"], "16.0 KiB")
        self.assertEqual(facts["bandwidth"], "3.07 GB/s")
        self.assertEqual(facts["registers"], "40")
        self.assertEqual(facts["spilled"], "8 B")
        self.assertEqual(self.browser.texts('[data-tier="compiled"] td'),
                         ["compiled", "8.00 µs", "8.00 µs", "8.01 µs", "5"])
        self.assertEqual(self.browser.texts("[data-site] .place"), ["net.cpp:12", "net.cpp:120"])
        self.assertFalse(self.exists("#details pre"))
        for kind, text in (("program", "v0 = load\nv1 = exp v0"), ("source", samples.HOSTILE),
                           ("assembly", "ret")):
            self.browser.click(f'[data-code="{kind}"] summary')
            self.wait(lambda kind=kind: self.exists(f'[data-code="{kind}"] pre'))
            self.assertEqual(self.browser.text(f'[data-code="{kind}"] pre'), text)
        self.assertTrue(self.exists('.step.selected[data-step="0"]'))

    def test_what_repeats_is_shown_once(self):
        self.open("repeating", "#window=0")
        self.assertEqual(self.browser.count("[data-step-row]"), 2)
        self.assertIn("50 times these 2 steps", self.browser.text("[data-repeat]"))
        self.assertEqual(self.browser.count("[data-cut-row]"), 1)
        self.assertIn("× 100", self.browser.text("[data-cut-row]"))
        self.browser.click("[data-repeat] [data-unfold]")
        self.wait(lambda: self.browser.count("[data-step-row]") == 100)
        self.browser.click(".cuts [data-unfold]")
        self.wait(lambda: self.browser.count("[data-cut-row]") == 100)

    def test_words_and_build(self):
        self.open("repeating", "#window=0")
        for word in "steps", "plan miss", "cut":
            self.assertTrue(self.exists(f'[data-word="{word}"][title]'), word)
        self.browser.click("#home")
        self.assertEqual(self.facts()["build"], "compiler: one\nkernels: another")
        self.assertTrue(self.exists(".words dt"))

    def test_op(self):
        self.open("small")
        self.browser.click('[data-op="3"]')
        facts = self.facts()
        self.assertEqual(facts["name"], "scaled")
        self.assertEqual(facts["dtype"], "float32")
        self.assertEqual(facts["shape"], "(64, 32)")
        self.assertEqual(facts["size"], "8.00 KiB")
        self.assertEqual(facts["site"], "/src/net.cpp:12")
        self.assertEqual(facts["function"], "forward")
        self.assertEqual(facts["scope"], "encoder/layer1")
        # From there to its operand, which is an input, and back by the trail.
        self.browser.click('[data-section="operands"] [data-goto="op 0"]')
        self.assertIn("input", self.facts()["state"])
        self.browser.click('#crumbs [data-goto^="window"]')
        self.assertEqual(self.browser.text("#details h2 .title-text"), "Window #1")
        self.assertEqual(self.browser.text("[data-cause]"), "item() of loss at main.cpp:7")

    def test_marks(self):
        self.open("small")
        classes = {k: self.browser.run(
            "return document.querySelector(`.op[data-op='${arguments[0]}']`).classList[1];", k)
            for k in (3, 4, 6)}
        self.assertEqual(classes, {3: "temporary", 4: "stored", 6: "live"})
        self.assertEqual(self.browser.texts('[data-op="3"] .name'), ["scaled"])
        self.assertEqual(self.browser.texts('[data-result="8"] .label'), ["loss"])
        # What stands for a removed op is drawn in its place.
        self.assertTrue(self.exists('[data-step="2"] .edge.flow[data-value="6"]'))

    def test_cut_edge(self):
        self.open("small")
        for cut, reason, text in ((0, "library", "t5 (matmul) is a library call"),
                                  (2, "observed", "an earlier window had to write x"),
                                  (3, "observed", "a handle to hidden is held")):
            self.browser.hover(f'.edge.cut[data-cut="{cut}"]')
            self.assertIn(text, self.browser.text("#tip"))
            self.assertIn(reason, self.browser.text("#tip"))
            self.browser.click(f'.edge.cut[data-cut="{cut}"]')
            self.assertEqual(self.browser.text(f'#details [data-reason="{reason}"]'), text)
            self.assertTrue(self.exists(f'.edge.cut.selected[data-cut="{cut}"]'))
        self.browser.hover_at(700, 600)
        self.assertFalse(self.browser.run("return !byId('tip').hidden;"))

    def test_removed_ops(self):
        self.open("small")
        self.assertFalse(self.exists('.op[data-op="7"]'))
        self.browser.click("#show-removed")
        self.wait(lambda: self.exists('[data-removed] .op.removed[data-op="7"]'))
        self.browser.click("#show-removed")
        self.wait(lambda: not self.exists('.op[data-op="7"]'))

    def test_fold_windows(self):
        self.open("small")
        self.assertEqual(self.browser.count(".window-row"), 2)
        self.assertEqual(self.browser.text('[data-row="1"] .times'), "×5")
        row = self.browser.text('[data-row="1"]')
        self.assertIn("6 ops → 2 kernels + 1 call", row)
        self.assertIn("1 temporary, 8.00 KiB", row)
        self.browser.click('[data-fold="1"]')
        self.assertEqual(self.browser.count(".window-line"), 5)
        self.browser.click('.window-line[data-window="3"]')
        self.assertEqual(self.browser.text("#details h2 .title-text"), "Window #3")
        self.browser.click('[data-fold="1"]')
        self.assertEqual(self.browser.count(".window-line"), 0)
        self.browser.click('.window-row[data-row="0"]')
        self.assertEqual(self.browser.count("[data-step]"), 1)

    def test_fold_steps(self):
        self.open("small")
        self.browser.click('[data-toggle="0"]')
        self.wait(lambda: not self.exists('[data-op="3"]'))
        self.assertIn("2 ops", self.browser.text('[data-step="0"] .summary'))
        self.browser.click('[data-step="0"] .title', times=2)
        self.wait(lambda: self.exists('[data-op="3"]'))
        self.browser.click("#fold-all")
        self.wait(lambda: not self.exists('[data-op]'))
        self.browser.click("#open-all")
        self.wait(lambda: self.browser.count("[data-op]") == 5)

    def test_search(self):
        self.open("small", "#window=1")
        self.assertEqual(self.search("scaled"), [3])
        self.assertEqual(self.search("relu"), [6, 7])
        self.assertEqual(self.search("t1"), [1, 1])  # of both graphs, and not t10
        self.assertEqual(self.search("net.cpp:12"), [3])  # and not line 120
        self.assertEqual(self.search("cpp:12"), [3, 8])
        self.assertEqual(self.search("encoder"), [3, 4])
        self.assertEqual(self.search("encoder exp"), [4])
        self.assertEqual(self.search("nothing like it"), [])
        self.assertEqual(self.browser.text("#search-count"), "Nothing found")

    def test_search_moves_to_matches(self):
        self.open("small", "#window=0")
        self.browser.click("#fit")
        self.assertEqual(self.search("layer1"), [3, 4])
        self.browser.type("\ue007")  # Enter: goes to the other graph
        self.wait(lambda: self.exists('.op.match.selected[data-op="3"]'))
        self.assertIn("1 of 2 matches", self.browser.text("#search-count"))
        self.browser.run("page.graphView.toggle(0, false);")
        self.assertTrue(self.exists('.step.match[data-step="0"]'))
        self.browser.type("\ue007")  # opens the step
        self.wait(lambda: self.exists('.op.match.selected[data-op="4"]'))
        self.assertEqual(self.browser.count(".op.match"), 2)
        self.browser.type("\ue00c")  # Escape
        self.wait(lambda: not self.exists(".match"))

    def test_keys(self):
        self.open("small")
        self.browser.type("/")
        self.assertEqual(self.browser.run("return document.activeElement.id;"), "search")
        self.browser.type("\ue00c")
        self.browser.type("k")
        self.assertEqual(self.browser.text("#details h2 .title-text"), "Window #0")
        self.browser.type("j")
        self.assertEqual(self.browser.text("#details h2 .title-text"), "Window #1")
        self.browser.run("page.graphView.zoom(3);")
        self.browser.type("f")
        view = self.view()
        self.browser.click("#zoom-in")
        self.assertAlmostEqual(self.view()["scale"] / view["scale"], 1.3, places=2)

    def test_pan_and_zoom(self):
        self.open("small")
        before = self.view()
        x, y = 720, 600
        self.browser.drag(x, y, 80, -40)
        after = self.view()
        self.assertAlmostEqual(after["x"] - before["x"], 80, places=1)
        self.assertAlmostEqual(after["y"] - before["y"], -40, places=1)
        self.browser.wheel(x, y, -300)
        self.wait(lambda: self.view()["scale"] > before["scale"] * 1.2)
        self.browser.wheel(x, y, 3000)
        self.wait(lambda: self.browser.run(
            "return page.graphView.svg.classList.contains('far');"))

    def test_timeline(self):
        self.open("small")
        self.wait(lambda: self.browser.run("return !page.timeline.pending;"))

        def click_bar(test):
            place = self.browser.run(f"return page.timeline.locate((bar) => {test});")
            self.browser.click_at(place["x"], place["y"])

        click_bar("bar.window === 0 && bar.kind === 'record'")
        self.assertEqual(self.browser.text("#details h2 .title-text"), "Window #0")
        click_bar("bar.window === 4 && bar.step === 1")
        self.assertEqual(self.browser.text("#details h2 .title-text"), "matmul")
        self.assertTrue(self.exists('.step.selected[data-step="1"]'))
        click_bar("bar.kind === 'event'")
        self.assertEqual(self.browser.text("#details h2 .title-text"), "mul+exp")
        self.assertTrue(self.exists('#details [data-kernel="0"]'))
        self.browser.click("#timeline-window")
        span = self.browser.run("return page.timeline.to - page.timeline.from;")
        self.assertLess(span, 60_000)
        self.browser.click("#timeline-all")
        self.assertGreater(
            self.browser.run("return page.timeline.to - page.timeline.from;"), 500_000)

    def test_address(self):
        self.open("small", "#window=2&cut=1")
        self.assertEqual(self.browser.text("#details [data-reason]"),
                         "t5 (matmul) is written by a library call")
        self.browser.click('[data-step="1"] .title')
        self.assertEqual(self.browser.run("return location.hash;"), "#window=2&step=1")

    def test_dark(self):
        grounds = []
        for dark in (False, True):
            self.browser.emulate_dark(dark)
            self.open("small")
            grounds.append(
                self.browser.run("return getComputedStyle(document.body).backgroundColor;"))
        self.browser.emulate_dark(False)
        self.assertNotEqual(*grounds)

    def test_many_windows(self):
        begin = time.monotonic()
        self.open("loop")
        self.assertLess(time.monotonic() - begin, 20)
        # Two rows, of the windows that run each graph; unfolded, only those in sight are drawn.
        self.assertEqual(self.browser.texts(".times"), ["×5,000", "×5,000"])
        self.browser.click('[data-fold="0"]')
        self.assertLess(self.browser.count(".window-line"), 100)
        self.browser.run("byId('windows').scrollTop = 60000;")
        self.wait(lambda: self.exists('[data-window="4600"]'))
        slowest = self.browser.run("""
            const begin = performance.now();
            for (let n = 0; n < 10; n++) page.timeline.drawNow();
            return (performance.now() - begin) / 10;""")
        self.assertLess(slowest, 200)

    def test_many_ops(self):
        begin = time.monotonic()
        self.open("large")
        self.browser.click("#fit")
        self.wait(lambda: self.browser.count("[data-step]") == 80)
        self.assertLess(time.monotonic() - begin, 30)
        self.assertFalse(self.exists("[data-op]"))
        self.assertEqual(self.search("t1234"), [1234])
        self.browser.type("\ue007")
        self.wait(lambda: self.exists('.op.selected[data-op="1234"]'))


class RecordedTraceTest(PageTest):
    """Pages that programs have written when they ended."""

    def record(self, name, *command):
        page = pathlib.Path(self.temporary.name) / f"{name}.html"
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "SLUICE_TRACE": str(page)})
        self.pages[name] = page.as_uri()
        begin = time.monotonic()
        self.open(name)
        self.assertLess(time.monotonic() - begin, 20)

    def graph(self):
        """What is shown, as the trace has it."""
        return self.browser.run("""
            const {graphs} = JSON.parse(byId('trace').textContent);
            return graphs[page.graphView.graph.index];""")

    def point_at_cut(self, selector):
        """Of the first cut edge that can be pointed at: which it is, and where."""
        cut = self.browser.run("""
            for (const edge of document.querySelectorAll(arguments[0])) {
              const line = edge.querySelector('.hit'), at = line.getScreenCTM();
              for (let n = 1; n < 20; n++) {
                const p = line.getPointAtLength(line.getTotalLength() * n / 20).matrixTransform(at);
                if (edge.contains(document.elementFromPoint(p.x, p.y))) {
                  return {index: Number(edge.dataset.cut), x: p.x, y: p.y};
                }
              }
            }
            return null;""", selector)
        self.assertIsNotNone(cut, f"no {selector} is in sight")
        return cut

    def read_reason(self, selector):
        found = self.point_at_cut(selector)
        cut = self.graph()["cuts"][found["index"]]
        self.browser.hover_at(found["x"], found["y"])
        self.assertIn(cut["reason"], self.browser.text("#tip .tip-title"))
        self.assertIn(cut["text"], self.browser.text("#tip"))
        self.browser.click_at(found["x"], found["y"])
        self.assertEqual(self.browser.text(f'#details [data-reason="{cut["reason"]}"]'),
                         cut["text"])
        self.assertTrue(self.exists(f'.edge.cut.selected[data-cut="{found["index"]}"]'))
        return cut

    def bring_into_sight(self, step):
        self.browser.click(f'#crumbs [data-goto="step {step}"]')

    def click_step(self, step):
        self.bring_into_sight(step)
        self.browser.click('#crumbs [data-goto^="window"]')
        self.assertFalse(self.exists(".step.selected"))
        self.browser.click(f'[data-step="{step}"] .frame')
        self.assertEqual(self.browser.text("#details h2 .title-text"),
                         self.graph()["steps"][step]["name"])
        self.assertTrue(self.exists(f'.step.selected[data-step="{step}"]'))

    def fold_and_unfold(self, step):
        ops = self.browser.count(f'[data-step="{step}"] [data-op]')
        self.assertGreater(ops, 1)
        self.browser.click(f'[data-step="{step}"] .frame', times=2)
        self.wait(lambda: not self.exists(f'[data-step="{step}"] [data-op]'))
        self.bring_into_sight(step)
        self.assertIn(f"{ops} ops", self.browser.text(f'[data-step="{step}"] .summary'))
        self.browser.click(f'[data-toggle="{step}"]')
        self.wait(lambda: self.browser.count(f'[data-step="{step}"] [data-op]') == ops)

    def show_op(self, query):
        """The step of the only op, or the first, that is found; it is unfolded."""
        self.assertTrue(self.search(query))
        self.browser.type("\ue007")
        self.wait(lambda: self.exists(".op.match.selected"))
        return int(self.browser.run(
            "return document.querySelector('.op.selected').dataset.ofStep;"))

    def test_digits(self):
        if self.digits is None:
            self.skipTest("the examples are not built")
        self.record("digits", self.digits, "--network", "perceptron", "--epochs", "1",
                    "--no-compare", "--quiet")
        # The training step, which is nearly all windows.
        row = self.browser.run("""
            const {rows} = page.list;
            return rows.indexOf(rows.reduce(
                (most, row) => (row.windows.length > most.windows.length ? row : most)));""")
        self.browser.click(f'.window-row[data-row="{row}"]')
        steps = self.graph()["steps"]
        self.assertEqual(self.browser.count("[data-step]"), len(steps))
        self.assertIn("library", self.read_reason(".edges .edge.cut")["reason"])

        step = self.show_op("optimizers.cpp sub")  # the update of a weight
        # Of Adam's moments, which are held, and which the same kernel goes on to use.
        self.assertEqual(self.read_reason(".content .edge.cut")["reason"], "observed")
        self.show_op("optimizers.cpp sub")
        self.click_step(step)
        facts = self.facts()
        self.assertRegex(facts["bandwidth"], r"GB/s\Z")
        self.assertTrue(any("optimizers.cpp:" in place
                            for place in self.browser.texts("[data-site] .place")))
        self.fold_and_unfold(step)

        self.browser.click(f'[data-fold="{row}"]')
        self.assertGreater(self.browser.count(".window-line"), 1)
        self.browser.click(f'[data-fold="{row}"]')
        self.wait(lambda: not self.exists(".window-line"))

    def test_program_of_2000_ops(self):
        self.record("program", self.program)
        graph = self.graph()
        self.assertEqual(sum(op["op"] != "input" for op in graph["ops"]), 2000)
        self.browser.click("#fit")
        self.wait(lambda: self.browser.count("[data-step]") == len(graph["steps"]))

        self.assertEqual(len(self.search("layer123")), 10)
        step = self.show_op("layer123 tanh")
        self.assertIn("layer123", self.facts()["scope"])
        self.click_step(step)
        self.assertIn(self.read_reason(".edges .edge.cut")["reason"], ("shape", "reduction"))
        self.fold_and_unfold(step)
        self.show_op("h129")
        self.assertIn("live", self.facts()["state"])

        self.browser.click("#fold-all")
        self.wait(lambda: not self.exists("[data-op]"))


def main():
    browsers = webdriver.find_programs()
    if browsers is None:
        print("skipped: there is no Chromium or no chromedriver")
        return SKIPPED
    PageTest.browsers = browsers
    PageTest.sluice_trace, PageTest.folder, PageTest.program = sys.argv[1:4]
    PageTest.digits = sys.argv[4] if len(sys.argv) > 4 else None
    unittest.main(argv=sys.argv[:1])
    return 0


if __name__ == "__main__":
    sys.exit(main())
