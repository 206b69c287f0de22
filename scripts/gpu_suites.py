"""Runs GoogleTest programs side by side, in pieces, so that a crash or a hang costs one test."""

import os
import re
import signal
import subprocess
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor

STARTED = re.compile(r"\[ RUN      \] (\S+)$")
ENDED = re.compile(r"\[ +(OK|FAILED|SKIPPED) +\] (\S+?)(?:,.*)? \(\d+ ms\)$")
MOST_TEXT = 4000

alive = set()  # process groups
alive_lock = threading.RLock()  # the handler may come while its own thread holds it


def end_all(*_):
    """A handler of signals: nothing stays on the GPU."""
    with alive_lock:
        for group in alive:
            kill(group)
    os._exit(130)


def kill(group):
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        pass


class Clock:
    """Counts down to when all has to be over."""

    def __init__(self, seconds):
        self.start = time.monotonic()
        self.end = self.start + seconds

    def left(self):
        return self.end - time.monotonic()

    def part(self, share):
        """A clock that ends when that share of what is left has gone."""
        return Clock(max(0.0, self.left() * share))


def run(command, seconds, env):
    """(exit code, output, timed out): the process and what it started are killed in the end."""
    if seconds <= 0:
        return None, "", True
    with tempfile.TemporaryFile() as output:
        try:
            with alive_lock:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                    env=env, start_new_session=True)
                alive.add(process.pid)
        except OSError as error:
            return 127, str(error), False
        timed_out = False
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            timed_out = True
        finally:
            with alive_lock:
                kill(process.pid)
                alive.discard(process.pid)
            process.wait()
        output.seek(0)
        return process.returncode, output.read().decode(errors="replace"), timed_out


def describe_exit(code):
    if code is not None and code < 0:
        try:
            return f"by {signal.Signals(-code).name}"
        except ValueError:
            return f"by signal {-code}"
    return f"with exit code {code}"


def shorten(text):
    text = text.strip("\n")
    return text if len(text) <= MOST_TEXT else "...\n" + text[-MOST_TEXT:]


def count_states(outcomes):
    """"12 passed, 1 failed"."""
    counts = {}
    for outcome in outcomes:
        counts[outcome.state] = counts.get(outcome.state, 0) + 1
    return ", ".join(f"{n} {state}" for state, n in counts.items())


class Outcome:
    """What became of one test: passed, skipped, failed, crashed, timed out or not run."""

    def __init__(self, suite, test, state, text="", note="", mode=""):
        self.suite, self.test, self.state = suite, test, state
        self.text, self.note, self.mode = text, note, mode

    def is_bad(self):
        return self.state not in ("passed", "skipped")

    def to_json(self):
        return {"suite": self.suite, "mode": self.mode, "test": self.test, "state": self.state,
                "note": self.note, "text": self.text}


def list_tests(program, env):
    """The full names, or None and what the program said."""
    code, output, _ = run([program, "--gtest_list_tests"], 60, env)
    if code != 0:
        return None, f"ended {describe_exit(code)}\n{shorten(output)}"
    tests, group = [], ""
    for line in output.splitlines():
        name = line.split("#")[0].rstrip()
        if line.startswith("  "):
            tests.append(group + name.strip())
        elif name.endswith("."):
            group = name
    return [t for t in tests if ".DISABLED_" not in t and not t.startswith("DISABLED_")], ""


def read_output(suite, output):
    """Outcomes of the tests that ended, and the name and the text of one that did not."""
    outcomes, current, text = [], None, []
    states = {"OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}
    for line in output.splitlines():
        started, ended = STARTED.search(line), ENDED.search(line)
        if started:
            current, text = started.group(1), []
        elif ended and ended.group(2) == current:
            state = states[ended.group(1)]
            outcomes.append(Outcome(suite, current, state,
                                    shorten("\n".join(text)) if state == "failed" else ""))
            current, text = None, []
        else:
            text.append(line)
    return outcomes, current, shorten("\n".join(text))


def run_piece(program, tests, env, limit, clock, wrapper=(), outputs=None):
    """Runs tests in one process; after a crash or a hang the rest of them in another."""
    suite = os.path.basename(program)
    outcomes, waiting = [], list(tests)
    while waiting:
        seconds = min(limit, clock.left())
        if seconds <= 1:
            return outcomes + [Outcome(suite, t, "not run", note="out of time") for t in waiting]
        command = [*wrapper, program, "--gtest_filter=" + ":".join(waiting)]
        code, output, timed_out = run(command, seconds, env)
        if outputs is not None:
            outputs.append(output)
        ended, culprit, text = read_output(suite, output)
        outcomes += ended
        seen = {o.test for o in ended}
        waiting = [t for t in waiting if t not in seen]
        if culprit is not None:
            if timed_out and clock.left() <= 1:
                return outcomes + [Outcome(suite, t, "not run", note="out of time")
                                   for t in waiting]
            state = "timed out" if timed_out else "crashed"
            note = f"after {seconds:.0f} s" if timed_out else describe_exit(code)
            outcomes.append(Outcome(suite, culprit, state, text, note))
            waiting = [t for t in waiting if t != culprit]
        elif waiting or (code != 0 and not any(o.is_bad() for o in ended)):
            # It did not get to its tests, or not to its end.
            state = "timed out" if timed_out else "crashed"
            outcomes.append(Outcome(suite, "(the program)", state, shorten(output),
                                    "" if timed_out else describe_exit(code)))
            return outcomes + [Outcome(suite, t, "not run") for t in waiting]
    return outcomes


def pieces_of(program, tests, most_tests):
    count = -(-len(tests) // most_tests)
    return [(program, tests[i::count]) for i in range(count)]


def confirm_failures(outcomes, programs, env, limit, clock, pool, most=20):
    """Says of failed tests whether they fail alone too: after a sticky error of the device, all
    later tests of a process fail."""
    failed = [o for o in outcomes if o.state == "failed"][:most]

    def alone(outcome):
        again = run_piece(programs[outcome.suite], [outcome.test], env, limit, clock)
        if all(o.state == "not run" for o in again):
            return
        outcome.note = "alone too" if any(o.is_bad() for o in again) else "passes alone"

    list(pool.map(alone, failed))


def make_pool(jobs):
    return ThreadPoolExecutor(max_workers=jobs)
