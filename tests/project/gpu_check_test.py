"""scripts/gpu-check where something is missing: gpu_check_test.py <root of the sources>.

Each stage that fails must end it at once, with a sentence and an exit code of its own, and must leave
nothing that a later call takes for a bundle. Compilers and their products are shell scripts here."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop())

CMAKE = """#!/bin/sh
case "$1" in
  --preset) exit {configure} ;;
  --build)
    mkdir -p build/gpu/tests build/gpu/bench
    shift 3
    for target in "$@"; do echo > "build/gpu/tests/$target"; done
    for target in gpu_bench cliffs_sluice; do echo > "build/gpu/bench/$target"; done
    echo > build/gpu/libsluice.so
    rm -f "build/gpu/tests/{lost}"
    exit {build} ;;
esac
"""
OBJDUMP = """#!/bin/sh
echo "0 DF *UND* 0 (GLIBC_2.34) memcpy"
"""
LDD = """#!/bin/sh
echo "libc.so.6 => /lib/libc.so.6 (0x0)"
"""
FAILS = "#!/bin/sh\nexit 1\n"
KERNEL_DRIVER = pathlib.Path("/proc/driver/nvidia")  # the driver's library makes /dev/nvidiactl itself
FAILED, BAD_ARGUMENTS, NO_BUNDLE, NOT_FOR_THIS_MACHINE, NO_GPU, CANNOT_COMPUTE = 1, 2, 3, 4, 5, 6


class GpuCheck(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name) / "checkout"
        self.tools = pathlib.Path(self.folder.name) / "tools"
        self.tools.mkdir()
        for folder in ("gpu", "cliffs", "contestants"):
            (self.root / "bench" / folder).mkdir(parents=True)
        (self.root / "tests/engine/golden").mkdir(parents=True)
        shutil.copytree(ROOT / "scripts", self.root / "scripts")
        shutil.copy(ROOT / "bench/gpu/peers.py", self.root / "bench/gpu")
        self.use(cmake=CMAKE.format(configure=0, build=0, lost="none"), objdump=OBJDUMP, ldd=LDD)
        self.bundle = self.root / "build/gpu-bundle"
        for version in ("12.9", "13.5"):
            major = version[:2]
            folder = self.root / "build/nvrtc" / major
            folder.mkdir(parents=True)
            for name in (f"libnvrtc.so.{major}", f"libnvrtc-builtins.so.{version}"):
                (folder / name).write_text("")

    def tearDown(self):
        self.folder.cleanup()

    def use(self, **tools):
        for name, text in tools.items():
            path = self.tools / name
            path.write_text(text)
            path.chmod(0o755)

    def run_check(self, *arguments, **variables):
        env = dict(os.environ, PATH=f"{self.tools}:{os.environ['PATH']}", **variables)
        env.pop("CUDA_VISIBLE_DEVICES", None)
        done = subprocess.run([self.root / "scripts/gpu-check", *arguments], cwd=self.root, env=env,
                              capture_output=True, text=True, timeout=100)
        return done.returncode, done.stderr

    def expect_no_bundle(self, sentence):
        code, said = self.run_check("--bundle")
        self.assertEqual(code, NO_BUNDLE, said)
        self.assertIn(sentence, said)
        self.assertFalse(self.bundle.exists())
        self.assertFalse(pathlib.Path(f"{self.bundle}.tar.gz").exists())

    def test_makes_a_bundle(self):
        code, said = self.run_check("--bundle")
        self.assertEqual(code, 0, said)
        self.assertIn('"glibc": "2.34"', (self.bundle / "manifest.json").read_text())
        programs = {path.name for path in (self.bundle / "bin").iterdir()}
        self.assertLessEqual({"ops_test", "gpu_bench", "libsluice.so", "libnvrtc.so.12", "libnvrtc.so.13",
                              "libnvrtc-builtins.so.12.9"}, programs)

    def test_configuring_fails(self):
        self.use(cmake=CMAKE.format(configure=1, build=0, lost="none"))
        self.expect_no_bundle("what builds Sluice is missing here")

    def test_the_build_fails(self):
        # After a bundle was made, which is no longer of these sources.
        self.assertEqual(self.run_check("--bundle")[0], 0)
        self.use(cmake=CMAKE.format(configure=0, build=1, lost="none"))
        self.expect_no_bundle("the build failed")

    def test_a_program_is_not_there(self):
        self.use(cmake=CMAKE.format(configure=0, build=0, lost="fuzz_test"))
        self.expect_no_bundle("copying the programs failed")

    def test_the_c_library_is_not_known(self):
        self.use(objdump=FAILS)
        self.expect_no_bundle("finding out which C library the programs need failed")

    def test_packing_fails(self):
        self.use(date=FAILS)
        self.expect_no_bundle("packing failed")

    def test_there_is_no_gpu(self):
        if KERNEL_DRIVER.exists():
            self.skipTest("there is one")
        for arguments in ((), ("--only", "bench")):  # without a bundle it is not built first
            code, said = self.run_check(*arguments)
            self.assertEqual(code, NO_GPU, said)
            self.assertRegex(said, "there is no NVIDIA driver here|lists no GPU|does not start")
            self.assertFalse(self.bundle.exists())

    def use_driver(self, init, devices=0):
        """A driver whose cuInit returns `init` and which lists so many devices."""
        if shutil.which("cc") is None:
            self.skipTest("there is no C compiler")
        source = self.tools / "driver.c"
        source.write_text(f"int cuInit(unsigned flags) {{ (void)flags; return {init}; }}\n"
                          f"int cuDeviceGetCount(int* count) {{ *count = {devices}; return 0; }}\n")
        subprocess.run(["cc", "-shared", "-fPIC", "-o", self.tools / "libcuda.so.1", source],
                       check=True)
        return {"LD_LIBRARY_PATH": str(self.tools)}

    def test_the_driver_lists_no_gpu(self):
        for made in (False, True):  # the check of a checkout, and of a bundle
            if made:
                self.assertEqual(self.run_check("--bundle")[0], 0)
            for result, sentence in ((0, "there is an NVIDIA driver here, but it lists no GPU"),
                                     (100, "there is an NVIDIA driver here, but it lists no GPU"),
                                     (34, "only the toolkit's stub of it"),
                                     (999, "the NVIDIA driver does not start: error 999")):
                driver = self.use_driver(result)
                for part in ("tests", "sanitizer", "bench"):
                    code, said = self.run_check("--only", part, **driver)
                    self.assertEqual(code, NO_GPU, said)
                    self.assertIn(sentence, said)
                self.assertEqual(self.bundle.exists(), made)

    def test_a_real_driver_lists_no_gpu(self):
        folder = os.environ.get("SLUICE_TEST_LIBCUDA")  # Debian's libcuda1, unpacked
        if not folder or KERNEL_DRIVER.exists():
            self.skipTest("SLUICE_TEST_LIBCUDA is not set, or there is a GPU")
        code, said = self.run_check(LD_LIBRARY_PATH=folder)
        self.assertEqual(code, NO_GPU, said)
        self.assertIn("there is an NVIDIA driver here, but it lists no GPU", said)

    def test_the_gpu_cannot_compute(self):
        self.assertEqual(self.run_check("--bundle")[0], 0)
        bench = self.bundle / "bin/gpu_bench"
        bench.write_text("#!/bin/sh\necho 'gpu_bench: there is no NVRTC'\nexit 3\n")
        bench.chmod(0o755)
        code, said = self.run_check(**self.use_driver(0, devices=1))
        self.assertEqual(code, CANNOT_COMPUTE, said)
        self.assertIn("gpu-check: there is no NVRTC", said)

    def test_suites_run_in_each_mode(self):
        self.assertEqual(self.run_check("--bundle")[0], 0)
        seen = pathlib.Path(self.folder.name) / "seen"
        suite = f"""#!/bin/sh
if [ "$1" = --gtest_list_tests ]; then printf 'Fuzz.\\n  All\\n'; exit; fi
echo "compile=$SLUICE_COMPILE cublaslt=$SLUICE_CUBLASLT deterministic=$SLUICE_DETERMINISTIC" >> {seen}
echo '[ RUN      ] Fuzz.All'
echo '[       OK ] Fuzz.All (1 ms)'
"""
        for name, text in (("gpu_bench", "#!/bin/sh\necho '{}'\n"), ("fusion_test", suite),
                           ("epilogue_test", suite)):
            program = self.bundle / "bin" / name
            program.write_text(text)
            program.chmod(0o755)
        code, said = self.run_check("--only", "tests", "--suite", "fusion_test,epilogue_test",
                                    SLUICE_COMPILE="off", **self.use_driver(0, devices=1))
        self.assertEqual(code, 0, said)
        usual, compiled, own_products = (
            f"compile={compile} cublaslt={cublaslt} deterministic=1" for compile, cublaslt in
            (("", ""), ("blocking", ""), ("blocking", "off")))
        self.assertEqual(sorted(seen.read_text().splitlines()),
                         sorted(2 * [usual, compiled] + [own_products]))

    def test_a_suite_fails(self):
        self.assertEqual(self.run_check("--bundle")[0], 0)
        for name, text in (("gpu_bench", "echo '{}'"), ("ops_test", "kill -SEGV $$")):
            program = self.bundle / "bin" / name
            program.write_text(f"#!/bin/sh\n{text}\n")
            program.chmod(0o755)
        code, said = self.run_check("--only", "tests", "--suite", "ops_test",
                                    **self.use_driver(0, devices=1))
        self.assertEqual(code, FAILED, said)

    def test_arguments_are_wrong(self):
        code, said = self.run_check("--rehearse", "--only", "nonsense")
        self.assertEqual(code, BAD_ARGUMENTS, said)
        self.assertIn("'nonsense' is none of", said)

    def test_the_bundle_is_for_another_machine(self):
        self.assertEqual(self.run_check("--bundle")[0], 0)
        manifest = self.bundle / "manifest.json"
        text = manifest.read_text()
        for old, new, sentence in (('"x86_64"', '"s390x"', "the bundle is for s390x"),
                                   ('"2.34"', '"9.99"', "the bundle needs glibc 9.99")):
            manifest.write_text(text.replace(f": {old}", f": {new}"))
            code, said = self.run_check("--rehearse")
            self.assertEqual(code, NOT_FOR_THIS_MACHINE, said)
            self.assertIn(sentence, said)


if __name__ == "__main__":
    unittest.main()
