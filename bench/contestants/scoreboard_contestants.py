"""The contestants of bench/scoreboard: processes that speak the protocol of bench/contestants/contestant.h."""

import os
import pathlib
import select
import subprocess
import sys
import time

from scoreboard_rows import FRESH

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PEERS = ROOT / "build" / "peers"
BUILD = ROOT / "build" / "release"
VENV_PYTHON = PEERS / "venv" / "bin" / "python"
PYTHON = str(VENV_PYTHON) if VENV_PYTHON.exists() else sys.executable
TIMEOUT = 120  # seconds that an answer may take


class Failure(Exception):
    pass


class Contestant:
    def __init__(self, name, command, is_peer=True, has_fresh=True, preload=None):
        self.name, self.command, self.is_peer, self.has_fresh = name, command, is_peer, has_fresh
        self.preload = preload
        self.process, self.version, self.programs = None, "", set()
        self.buffer = b""

    def start(self, environment, log_folder, cpus):
        self.environment, self.cpus = environment, cpus
        if self.preload:
            self.environment["LD_PRELOAD"] = str(self.preload)
        self.log = log_folder / f"{self.name}.log"
        self.restart()
        self.version = self.ask("version")
        self.programs = set(self.ask("programs").split())

    def restart(self):
        self.buffer = b""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
                env=self.environment, preexec_fn=self.pin)

    def pin(self):
        if hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, self.cpus)

    def ask(self, line):
        if self.process is None:
            self.restart()
        try:
            self.process.stdin.write(line.encode() + b"\n")
            self.process.stdin.flush()
            answer = self.read_line(time.monotonic() + TIMEOUT)
        except (OSError, Failure) as error:
            reason = str(error) if isinstance(error, Failure) else f"ended: {self.last_words()}"
            self.stop()
            raise Failure(reason) from None
        if answer.startswith("error"):
            raise Failure(answer[len("error "):])
        return answer

    def read_line(self, until):
        descriptor = self.process.stdout.fileno()
        while b"\n" not in self.buffer:
            if not select.select([descriptor], [], [], max(0.0, until - time.monotonic()))[0]:
                raise Failure(f"no answer in {TIMEOUT} s")
            data = os.read(descriptor, 1 << 16)
            if not data:
                raise Failure("ended: " + self.last_words())
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode().strip()

    def settle(self):
        """Waits until its threads sleep, since some busy-wait for a while."""
        def runs(task):
            try:
                return (task / "stat").read_text().rsplit(")", 1)[1].split()[0] == "R"
            except OSError:  # it has ended
                return False

        until = time.monotonic() + 0.5
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task")
        while time.monotonic() < until and any(runs(task) for task in tasks.glob("*")):
            time.sleep(0.002)

    def last_words(self):
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"code {self.process.wait()}"

    def stop(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()
            self.process = None

    def run_fresh(self, cache):
        """Seconds and counts by name, measured in a separate process."""
        folders = {name: str(cache / name.lower()) for name in (
            "SLUICE_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")}
        begin = time.perf_counter()
        with open(self.log, "ab") as log, subprocess.Popen(
                [*self.command, "once", FRESH.program, str(FRESH.count), *FRESH.inputs],
                stdout=subprocess.PIPE, stderr=log, env={**self.environment, **folders},
                preexec_fn=self.pin) as process:
            line = process.stdout.readline().decode()
            seconds = time.perf_counter() - begin
            line += process.stdout.read().decode()
        if process.returncode != 0 or "first=" not in line:
            raise Failure(self.last_words())
        found = {key: float(value) for key, value in (w.split("=") for w in line.split())}
        return {**found, "start": seconds - found["inputs"]}


def contestants():
    def built(name, *options):
        return [str(BUILD / "bench" / f"scoreboard_{name}"), *options]

    def scripted(name, *options):
        return [PYTHON, str(ROOT / "bench" / "peers" / f"with_{name}.py"), *options]

    # MLX's package bundles the unoptimised reference BLAS; OpenBLAS replaces it.
    openblas = next(PEERS.glob("openblas/usr/lib/*/openblas-pthread/libopenblas.so.0"), None)
    return [
        Contestant("sluice", built("sluice"), is_peer=False),
        Contestant("interpreted", built("sluice", "--interpreted"), is_peer=False,
                   has_fresh=False),
        Contestant("hand", built("hand"), is_peer=False),
        Contestant("oneDNN", built("onednn"), has_fresh=False),
        Contestant("Eigen", built("eigen")),
        Contestant("libtorch", built("libtorch")),
        Contestant("torch", scripted("torch")),
        Contestant("torch.compile", scripted("torch", "--compile")),
        Contestant("MLX", scripted("mlx"), preload=openblas),
        Contestant("mx.compile", scripted("mlx", "--compile"), preload=openblas),
        Contestant("JAX", scripted("jax")),
        Contestant("NumPy", scripted("numpy")),
        Contestant("numexpr", scripted("numexpr")),
    ]
