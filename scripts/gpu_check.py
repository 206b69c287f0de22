"""The check of scripts/gpu-check: gpu_check.py <bundle> [options], or --can-run [options]."""

import argparse
import ctypes
import datetime
import glob
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import gpu_suites
import gpu_table
from gpu_suites import Clock, Outcome
from gpu_table import Row

PARTS = ("tests", "sanitizer", "bench")
TEST_LIMIT = 150  # seconds of one process
BENCH_LIMIT = 100  # of one group
PROBE_LIMIT = 90
TESTS_SHARE = 0.62  # of the time, where the bench is to follow
# Suites run once in each mode. Without settings most of their programs run once, interpreted by the
# generic kernel; compiled, each runs on a kernel of its own.
MODES = {"": {}, "compiled": {"SLUICE_COMPILE": "blocking"},
         "own products": {"SLUICE_COMPILE": "blocking", "SLUICE_CUBLASLT": "off",
                          "SLUICE_CUDNN": "off"}}
WITH_PRODUCTS = ("convolution_test", "digits_step_test", "epilogue_test", "fused_programs_test",
                 "fuzz_test")
# A kernel for every op and dtype takes the host's compiler minutes.
NOT_REHEARSED_COMPILED = ("ops_test", "reduction_test")
FUZZ_PIECES, FUZZ_PROGRAMS = 8, 25
# What a sanitizer slows down too much is left out.
SANITIZED = {"fused_programs_test": "*", "ops_test": "Ops.*", "reduction_test": "*Sum*",
             "digits_step_test": "*"}
SANITIZERS = ("memcheck", "racecheck")
FINDING = re.compile(r"^=+ (Invalid|Misaligned|Error: Race|Warning: Race)", re.M)
SUMMARY = re.compile(r"(?:ERROR|RACECHECK) SUMMARY: (\d+)")
RIGHT, ALL_PASS, NO_ERRORS = "right", "all pass", "no errors"  # goals that decide the exit code


class CannotRun(Exception):
    """One sentence for the user."""
    exit_code = 2  # arguments


class NotForThisMachine(CannotRun):
    exit_code = 4


class NoGpu(CannotRun):
    exit_code = 5


class GpuCannotCompute(CannotRun):
    exit_code = 6


def say(text):
    print(f"gpu-check: {text}", file=sys.stderr, flush=True)


def require_gpu():
    """Raises NoGpu unless the driver lists a device for this process."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        cuda = ctypes.CDLL("libcuda.so.1")
    except OSError:
        raise NoGpu("there is no NVIDIA driver here: libcuda.so.1 cannot be loaded") from None
    result, count = cuda.cuInit(0), ctypes.c_int(0)
    if result == 0:
        result = cuda.cuDeviceGetCount(ctypes.byref(count))
    if result == 0 and count.value > 0:
        return
    if hidden is not None and result in (0, 100):
        raise NoGpu(f"the driver lists no GPU under CUDA_VISIBLE_DEVICES='{hidden}'")
    if result in (0, 100):
        raise NoGpu("there is an NVIDIA driver here, but it lists no GPU")
    if result == 34:
        raise NoGpu("there is no NVIDIA driver here, only the toolkit's stub of it")
    raise NoGpu(f"the NVIDIA driver does not start: error {result} of cuInit")


def require_machine(manifest):
    """Raises NotForThisMachine if the bundle's programs cannot start here."""
    if platform.machine() != manifest["machine"]:
        raise NotForThisMachine(
            f"the bundle is for {manifest['machine']}, this machine is "
            f"{platform.machine()}: build it here, scripts/gpu-check --bundle")
    have = os.confstr("CS_GNU_LIBC_VERSION").split()[-1]
    if [int(n) for n in have.split(".")] < [int(n) for n in manifest["glibc"].split(".")]:
        raise NotForThisMachine(
            f"the bundle needs glibc {manifest['glibc']} and here is {have}: build it "
            "here or on an older system, scripts/gpu-check --bundle")


def driver_text():
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
        return done.stdout.split("\n")[0].strip()
    except (OSError, subprocess.SubprocessError):
        return "unknown"


def environment(bundle, rehearse):
    """What the programs get: settings of the engine's that would change what is checked go."""
    kept = ("SLUICE_NVRTC", "SLUICE_CUBLASLT", "SLUICE_CUDNN", "SLUICE_CUSOLVER",
            "SLUICE_EMULATED_CUDA")
    env = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_") or k in kept}
    # Tests count compilations and windows, and the bench times them.
    env.update(SLUICE_DISK_CACHE="off", SLUICE_DETERMINISTIC="1", SLUICE_DEVICE="cuda",
               SLUICE_GOLDEN=str(bundle / "golden"))
    if rehearse:
        env.setdefault("SLUICE_EMULATED_CUDA", "1")
    else:
        env.pop("SLUICE_EMULATED_CUDA", None)
    if sys.prefix != sys.base_prefix:  # NVIDIA's libraries may be among this Python's packages
        env.setdefault("VIRTUAL_ENV", sys.prefix)
    return env


def name_of(suite, mode):
    return f"{suite}, {mode}" if mode else suite


def find_sanitizer():
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    paths = [shutil.which("compute-sanitizer"), f"{home}/bin/compute-sanitizer",
             *sorted(glob.glob("/usr/local/cuda*/bin/compute-sanitizer"), reverse=True)]
    return next((p for p in paths if p and os.access(p, os.X_OK)), None)


class Check:
    def __init__(self, bundle, options):
        self.bundle, self.options = pathlib.Path(bundle), options
        self.manifest = json.loads((self.bundle / "manifest.json").read_text())
        self.env = environment(self.bundle, options.rehearse)
        self.clock = Clock(options.minutes * 60)
        self.rows, self.outcomes, self.findings, self.results = [], [], [], []
        self.device = {}

    def program(self, name):
        return str(self.bundle / "bin" / name)

    def suites(self):
        return self.options.suite or self.manifest["suites"]

    # --- The device itself.

    def probe(self):
        """Adds a row. Raises GpuCannotCompute if nothing can work without what is missing."""
        device = "cpu" if self.options.rehearse else "cuda"
        code, output, timed_out = gpu_suites.run(
            [self.program("gpu_bench"), "--probe", "--device", device],
            min(PROBE_LIMIT, self.clock.left()), self.env)
        lines = output.splitlines()
        if lines and lines[0].startswith("{"):
            self.device = json.loads(lines[0])
        said = " ".join(line.replace("gpu_bench: ", "") for line in lines if line[:1] != "{")
        if code == 3 and not timed_out:
            raise GpuCannotCompute(said)
        if code == 0:
            self.rows.append(Row("a first sum", "right", goal=RIGHT, met=True))
            return
        text = "hangs" if timed_out else said or f"ended {gpu_suites.describe_exit(code)}"
        self.rows.append(Row("a first sum", "FAILED", text[:80], RIGHT, False))
        self.findings.append(("a first sum", text))

    # --- Tests and sanitizers.

    def runs(self):
        """(suite, mode) of everything to run."""
        for mode in MODES:
            for suite in self.suites():
                if mode == "own products" and suite not in WITH_PRODUCTS:
                    continue
                if mode and self.options.rehearse and suite in NOT_REHEARSED_COMPILED:
                    continue
                yield suite, mode

    def env_of(self, mode):
        return dict(self.env, **MODES[mode])

    def pieces(self):
        """(program, tests, mode, environment) of everything to run; adds rows for what does not
        start."""
        result = []
        for suite, mode in self.runs():
            program = self.program(suite)
            tests, said = gpu_suites.list_tests(program, self.env)
            if tests is None:
                self.outcomes.append(Outcome(suite, "(the program)", "crashed", said, mode=mode))
                continue
            if suite == "fuzz_test" and not self.options.rehearse:
                for n in range(FUZZ_PIECES):
                    env = dict(self.env_of(mode), SLUICE_FUZZ_SEED=str(1 + n * FUZZ_PROGRAMS),
                               SLUICE_FUZZ_PROGRAMS=str(FUZZ_PROGRAMS))
                    result.append((program, tests if n == 0 else tests[:1], mode, env))
                continue
            result += [(*piece, mode, self.env_of(mode))
                       for piece in gpu_suites.pieces_of(program, tests, 12)]
        return result

    def run_tests(self, pool, clock):
        def run_piece(program, tests, mode, env):
            outcomes = gpu_suites.run_piece(program, tests, env, TEST_LIMIT, clock)
            for outcome in outcomes:
                outcome.mode = mode
            say(f"{name_of(os.path.basename(program), mode)}: "
                f"{gpu_suites.count_states(outcomes)}")
            return outcomes

        futures = [(mode, env, pool.submit(run_piece, p, tests, mode, env))
                   for p, tests, mode, env in self.pieces()]

        def finish():
            confirmable = {mode: [] for mode in MODES}
            for mode, env, future in futures:
                self.outcomes += future.result()
                if env == self.env_of(mode):  # what fails with settings of its own says them
                    confirmable[mode] += future.result()
            programs = {s: self.program(s) for s in self.suites()}
            for mode, outcomes in confirmable.items():
                gpu_suites.confirm_failures(outcomes, programs, self.env_of(mode), TEST_LIMIT,
                                            clock, pool)
            for suite, mode in self.runs():
                self.rows.append(self.suite_row(suite, mode))
        return finish

    def suite_row(self, suite, mode):
        mine = [o for o in self.outcomes if (o.suite, o.mode) == (suite, mode)]
        bad = [o for o in mine if o.is_bad()]
        self.findings += [(f"{name_of(suite, mode)}: {o.test} {o.state} {o.note}".rstrip(), o.text)
                          for o in bad if o.state != "not run"]
        text = gpu_suites.count_states(mine)
        names = ", ".join(o.test for o in bad)
        return Row(name_of(suite, mode), text or "nothing ran", names[:60], ALL_PASS, bool(mine) and not bad)

    def sanitize(self, tool, sanitizer, suite, clock):
        program, outputs = self.program(suite), []
        tests, said = gpu_suites.list_tests(program, self.env)
        what = f"{sanitizer} of {suite}"
        pattern = re.compile(re.escape(SANITIZED[suite]).replace(r"\*", ".*"))
        tests = [t for t in tests or [] if pattern.fullmatch(t)]
        if not tests:
            return Row(what, "nothing to run", said[:60])
        wrapper = (tool, "--tool", sanitizer, "--report-api-errors", "no", "--print-limit", "20")
        outcomes = gpu_suites.run_piece(program, tests, self.env, clock.left(), clock, wrapper,
                                        outputs)
        output = "\n".join(outputs)
        ran = sum(o.state in ("passed", "skipped", "failed") for o in outcomes)
        figure = f"{ran} of {len(tests)} tests"
        summaries = [int(n) for n in SUMMARY.findall(output)]
        found = max(sum(summaries), len(FINDING.findall(output)))
        if found > 0:
            self.findings.append((what, gpu_suites.shorten("\n".join(
                line for line in output.splitlines() if line.startswith("=")))))
            return Row(what, f"{found} errors", figure, NO_ERRORS, False)
        if ran == 0:
            reason = re.search(r"^=+ (Error|Internal).*", output, re.M)
            return Row(what, "did not run",
                       reason.group(0).strip("= ")[:60] if reason else "out of time", NO_ERRORS)
        if ran < len(tests):
            figure += "; the others did not end"
        return Row(what, "0 errors", figure, NO_ERRORS, True)

    def run_sanitizers(self, pool, clock):
        tool = find_sanitizer()
        if tool is None or self.options.rehearse:
            row = Row("compute-sanitizer", "left out", "not found" if tool is None else "no GPU")
            return lambda: self.rows.append(row)
        futures = [pool.submit(self.sanitize, tool, sanitizer, suite, clock)
                   for sanitizer in SANITIZERS for suite in SANITIZED if suite in self.suites()]
        return lambda: self.rows.extend(future.result() for future in futures)

    def test_and_sanitize(self):
        clock = self.clock.part(TESTS_SHARE if "bench" in self.options.only else 0.97)
        slow = max(1, self.options.jobs // 3)  # sanitizers at a time
        with gpu_suites.make_pool(max(1, self.options.jobs - slow)) as tests, \
                gpu_suites.make_pool(slow) as sanitizers:
            finishers = []
            if "tests" in self.options.only:
                finishers.append(self.run_tests(tests, clock))
            if "sanitizer" in self.options.only:
                finishers.append(self.run_sanitizers(sanitizers, clock))
            for finish in finishers:
                finish()

    # --- The bench.

    def bench_command(self, name, command, env, limit):
        """Adds the results that the command wrote, and a row if it did not end as it should."""
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "results"
            say(name)
            code, output, timed_out = gpu_suites.run(
                [*command, "--json", str(path)], min(limit, self.clock.left() - 2), env)
            lines = path.read_text().splitlines() if path.exists() else []
        for line in lines:
            try:
                self.results.append(json.loads(line))
            except ValueError:
                pass  # cut short
        if timed_out:
            self.rows.append(Row(name, "ran out of time", f"{len(lines)} results"))
        elif code not in (0, 1, 4):
            self.rows.append(
                Row(name, f"ended {gpu_suites.describe_exit(code)}", f"{len(lines)} results"))
            self.findings.append((name, gpu_suites.shorten(output)))
        return code

    def bench(self):
        env = dict(self.env)
        env.pop("SLUICE_EMULATED_CUDA", None)
        device = ["--device", "cpu", "--quick"] if self.options.rehearse else ["--device", "cuda"]
        if self.options.rehearse:
            env["SLUICE_DEVICE"] = "cpu"
        program = self.program("gpu_bench")
        _, output, _ = gpu_suites.run([program, "--list"], 20, env)
        wanted = self.options.group
        groups = [group for group in output.split() if wanted is None or group in wanted]
        for group in groups:
            self.bench_command(f"bench: {group}", [program, "--only", group, *device], env,
                               BENCH_LIMIT)
        if "matmul" in groups:
            self.bench_command("bench: own matmul", [program, "--only", "matmul", *device],
                               dict(env, SLUICE_CUBLASLT="off"), BENCH_LIMIT)
        peers = list(gpu_table.PEERS)
        for number, peer in enumerate(peers):
            limit = self.clock.left() / (len(peers) - number)
            code = self.bench_command(
                f"bench: {gpu_table.PEERS[peer]}",
                [sys.executable, str(self.bundle / "peers.py"), "--who", peer, "--only",
                 ",".join(groups), *device], env, limit)
            if code == 4:
                self.rows.append(Row(f"bench: {gpu_table.PEERS[peer]}", "not installed"))
        self.rows += gpu_table.bench_rows(self.results, judge=not self.options.rehearse,
                                          device=self.device.get("device", ""))

    # --- All of it.

    def heading(self):
        device = self.device
        if not self.options.rehearse:
            self.device["driver"] = driver_text()
        facts = [device.get("device", "unknown device")]
        if "cuda" in device:
            facts += [f"compute capability {device['compute_capability']}",
                      f"driver {device['driver']} (CUDA {device['cuda']})",
                      f"NVRTC {device['nvrtc']}", f"cuBLASLt {device['cublaslt']}"]
        return ", ".join(facts)

    def run(self):
        require_machine(self.manifest)
        for suite in self.options.suite or []:
            if suite not in self.manifest["suites"]:
                raise CannotRun(f"the bundle has no suite '{suite}'; it has "
                                + ", ".join(self.manifest["suites"]))
        if not self.options.rehearse:
            require_gpu()
        date = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        self.probe()
        heading = self.heading()
        say(f"{heading}; bundle of {self.manifest['commit']}")
        if {"tests", "sanitizer"} & set(self.options.only):
            self.test_and_sanitize()
        if "bench" in self.options.only:
            self.bench()
        right = not any(row.met is False for row in self.rows
                        if row.goal in (RIGHT, ALL_PASS, NO_ERRORS))
        for what, text in self.findings:
            print(f"--- {what}\n{text}\n")
        print(f"{heading}\nbundle of {self.manifest['commit']}, {date}, "
              f"{self.options.minutes * 60 - self.clock.left():.0f} s\n")
        gpu_table.print_table(self.rows)
        if self.options.json:
            pathlib.Path(self.options.json).write_text(json.dumps({
                "date": date, "device": self.device, "bundle": self.manifest,
                "rehearsal": self.options.rehearse, "correct": right,
                "rows": [row.to_json() for row in self.rows],
                "tests": [o.to_json() for o in self.outcomes],
                "findings": [{"what": what, "text": text} for what, text in self.findings],
                "bench": self.results}, indent=1) + "\n")
        return 0 if right else 1


def parse(arguments):
    parser = argparse.ArgumentParser(prog="scripts/gpu-check", add_help=False)
    parser.add_argument("--only", default=",".join(PARTS), type=lambda t: t.split(","))
    parser.add_argument("--suite", type=lambda t: t.split(","))
    parser.add_argument("--group", type=lambda t: t.split(","))
    parser.add_argument("--minutes", type=float, default=9.5)
    parser.add_argument("--jobs", type=int,
                        default=max(1, min(8, len(os.sched_getaffinity(0)) // 2)))
    parser.add_argument("--json")
    parser.add_argument("--rehearse", action="store_true")
    options = parser.parse_args(arguments)
    unknown = sorted(set(options.only) - set(PARTS))
    if unknown:
        parser.error(f"--only: '{unknown[0]}' is none of {', '.join(PARTS)}")
    if options.minutes <= 0 or options.jobs < 1:
        parser.error("--minutes and --jobs take positive numbers")
    return options


def main():
    bundle, *arguments = sys.argv[1:]
    options = parse(arguments)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, gpu_suites.end_all)
    try:
        if bundle == "--can-run":
            if not options.rehearse:
                require_gpu()
            return 0
        return Check(bundle, options).run()
    except CannotRun as reason:
        say(reason)
        return reason.exit_code


if __name__ == "__main__":
    sys.exit(main())
