"""A program on machines with a driver's library that is of no use.

    driver_library_test.py <first_sum program> <driver.def>

The libraries are made here, with the functions that the engine looks for; SLUICE_TEST_LIBCUDA is the
folder of a real one, such as Debian's libcuda1, for a machine without a GPU. Without a GPU a program
that asks for no device runs on the CPU, and one that asks for it is told what is wrong.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

DEFINITIONS = pathlib.Path(sys.argv.pop()).read_text()
PROGRAM = sys.argv.pop()
SYMBOLS = re.findall(r"SLUICE_CUDA_CALL\(\w+, (\w+)", DEFINITIONS)
NOT_INITIALIZED, STUB, NO_DEVICE, UNKNOWN = 3, 34, 100, 999
FAILED_PRECONDITION = 9
HAS_GPU = pathlib.Path("/proc/driver/nvidia").exists()


@unittest.skipIf(shutil.which("cc") is None, "there is no C compiler")
class DriverLibrary(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()

    def tearDown(self):
        self.folder.cleanup()

    def make(self, init=NO_DEVICE, version=12020, without=None):
        functions = {name: f"int {name}(void) {{ return {NOT_INITIALIZED}; }}"
                     for name in SYMBOLS if name != without}
        functions["cuInit"] = f"int cuInit(unsigned flags) {{ return {init} + 0 * flags; }}"
        functions["cuDriverGetVersion"] = (
            f"int cuDriverGetVersion(int* version) {{ *version = {version}; return 0; }}")
        functions["cuDeviceGetCount"] = (
            "int cuDeviceGetCount(int* count) { *count = 0; return 0; }")
        source = pathlib.Path(self.folder.name) / "driver.c"
        source.write_text("\n".join(functions.values()))
        subprocess.run(["cc", "-shared", "-fPIC", "-o", f"{self.folder.name}/libcuda.so.1", source],
                       check=True)
        return self.folder.name

    def expect_no_gpu(self, folder, sentence):
        env = {k: v for k, v in os.environ.items() if not k.startswith("SLUICE_")}
        env.update(LD_LIBRARY_PATH=folder, SLUICE_DISK_CACHE="off")
        run = lambda **more: subprocess.run([PROGRAM], env=dict(env, **more), capture_output=True,
                                            text=True, timeout=60)
        for variables in ({}, {"SLUICE_DEVICE": "cpu"}):
            done = run(**variables)
            self.assertEqual((done.returncode, done.stdout), (0, "cpu 2000\n"), done.stderr)
        done = run(SLUICE_DEVICE="cuda")
        self.assertEqual(done.returncode, 1, done.stdout)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        self.assertTrue(done.stderr.startswith(f"{FAILED_PRECONDITION}: "), done.stderr)
        self.assertIn(sentence, done.stderr)

    def test_no_device(self):
        self.expect_no_gpu(self.make(NO_DEVICE), "the CUDA driver lists no device")
        self.expect_no_gpu(self.make(0), "the CUDA driver lists no device")

    def test_the_toolkits_stub(self):
        self.expect_no_gpu(self.make(STUB), "only the toolkit's stub of it")

    def test_does_not_start(self):
        self.expect_no_gpu(self.make(UNKNOWN), "the CUDA driver cannot start: CUDA error 999")

    def test_is_too_old(self):
        self.expect_no_gpu(self.make(version=11080), "it supports CUDA 11.8")
        self.expect_no_gpu(self.make(without="cuGraphAddKernelNode_v2"),
                           "the CUDA driver is too old")

    def test_is_no_library(self):
        (pathlib.Path(self.folder.name) / "libcuda.so.1").write_text("text")
        self.expect_no_gpu(self.folder.name, "there is no CUDA driver")

    def test_a_real_one(self):
        folder = os.environ.get("SLUICE_TEST_LIBCUDA")
        if not folder or HAS_GPU:
            self.skipTest("SLUICE_TEST_LIBCUDA is not set, or there is a GPU")
        self.expect_no_gpu(folder, "the CUDA driver lists no device")


if __name__ == "__main__":
    unittest.main()
