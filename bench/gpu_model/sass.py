"""Compiles kernels by NVRTC and reads their machine code, without a GPU."""

import ctypes
import dataclasses
import functools
import glob
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

OPTIONS = ("--std=c++17", "--device-as-default-execution-space")
ROOT = pathlib.Path(__file__).resolve().parents[2]


class Missing(Exception):
    """A tool is not installed: one sentence for the user."""


def find_nvrtc():
    named = os.environ.get("SLUICE_NVRTC")
    places = [named] if named else sorted(glob.glob(f"{ROOT}/build/nvrtc/*/libnvrtc.so.*"),
                                          reverse=True)
    places += sorted(glob.glob("/usr/local/cuda*/lib64/libnvrtc.so.*"), reverse=True)
    for place in places:
        if place and os.path.exists(place):
            return place
    raise Missing("no libnvrtc.so is found: SLUICE_NVRTC names one")


def find_tool(name):
    """cuobjdump or nvdisasm, of the CUDA toolkit."""
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    path = shutil.which(name) or shutil.which(name, path=f"{home}/bin")
    if path is None:
        raise Missing(f"{name} is not found: it comes with the CUDA toolkit")
    return path


class Nvrtc:
    def __init__(self, path):
        self.lib = ctypes.CDLL(path)

    def compile(self, source, architecture, contracts=False):
        """The machine code of a source, for sm_<architecture>."""
        lib, program = self.lib, ctypes.c_void_p()
        lib.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None)
        options = [f"-arch=sm_{architecture}", *OPTIONS,
                   "--fmad=true" if contracts else "--fmad=false"]
        array = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
        result = lib.nvrtcCompileProgram(program, len(options), array)
        size = ctypes.c_size_t()
        try:
            if result != 0:
                lib.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                lib.nvrtcGetProgramLog(program, log)
                raise RuntimeError(log.value.decode())
            lib.nvrtcGetCUBINSize(program, ctypes.byref(size))
            code = ctypes.create_string_buffer(size.value)
            lib.nvrtcGetCUBIN(program, code)
            return code.raw
        finally:
            lib.nvrtcDestroyProgram(ctypes.byref(program))


@functools.lru_cache(maxsize=None)
def nvrtc():
    return Nvrtc(find_nvrtc())


@dataclasses.dataclass
class Instruction:
    address: int
    guard: str   # "@!P0", or ""
    name: str    # "LDG.E.128"
    operands: str

    @property
    def base(self):
        return self.name.split(".")[0]

    @property
    def target(self):
        """Where a branch goes, or None."""
        match = re.search(r"(?:^|\s)`?\(?\.?L?_?x?_?\d*\)?0x([0-9a-f]+)$", self.operands)
        return int(match[1], 16) if match else None


@dataclasses.dataclass
class Kernel:
    name: str
    instructions: list
    registers: int
    stack_bytes: int   # of a thread: spilled registers among them
    shared_bytes: int  # of a block


LINE = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(@!?U?P\w+\s+)?([A-Z][\w.]*)\s*([^;]*);")
USAGE = re.compile(r"Function (\w+):\s*\n\s*REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)")


def disassemble(code):
    """The kernels of machine code, by name."""
    tool = find_tool("cuobjdump")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(code)
        file.flush()
        run = lambda *options: subprocess.run([tool, *options, file.name], check=True, text=True,
                                              capture_output=True).stdout
        text, usage = run("-sass"), run("-res-usage")
    kernels = {}
    resources = {name: [int(n) for n in numbers] for name, *numbers in USAGE.findall(usage)}
    name, instructions = None, []
    for line in text.splitlines():
        if "Function :" in line:
            name, instructions = line.split(":")[1].strip(), []
            registers, stack, shared, local = resources.get(name, (0, 0, 0, 0))
            kernels[name] = Kernel(name, instructions, registers, stack + local, shared)
        elif match := LINE.match(line):
            instructions.append(Instruction(int(match[1], 16), (match[2] or "").strip(), match[3],
                                            match[4].strip()))
    return kernels


def kernels_of(source, architecture, contracts=False):
    return disassemble(nvrtc().compile(source, architecture, contracts))
