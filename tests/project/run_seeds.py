#!/usr/bin/env python3
"""Runs tests of the engine on the emulated device, each in many orders of its streams.

usage: run_seeds.py SEEDS PROGRAM...
"""
import os
import subprocess
import sys


def main():
    seeds = int(sys.argv[1])
    failures = 0
    for program in sys.argv[2:]:
        for seed in range(1, seeds + 1):
            environment = dict(
                os.environ,
                SLUICE_DEVICE="cuda",
                SLUICE_DISK_CACHE="off",
                SLUICE_DETERMINISTIC="1",
                SLUICE_EMULATED_CUDA=str(seed),
            )
            result = subprocess.run(
                [program, "--gtest_brief=1"],
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                check=False,
            )
            if result.returncode != 0:
                failures += 1
                name = os.path.basename(program)
                print(f"{name}, SLUICE_EMULATED_CUDA={seed}, exit code {result.returncode}:")
                print(result.stdout[-4000:])
    runs = seeds * len(sys.argv[2:])
    print(f"{runs} runs, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
