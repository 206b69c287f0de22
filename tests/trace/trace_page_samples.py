"""Traces for the test of the trace page, as plain data."""


def _op(kind, operands=(), shape=(64, 32), **members):
    return {"op": kind, "dtype": "float32", "shape": list(shape), "operands": list(operands),
            **members}


def _step(name, ops, inputs, outputs, **members):
    return {"name": name, "ops": ops, "inputs": inputs, "outputs": outputs, "bytes_read": 16384,
            "bytes_written": 8192, "flops": 4096, **members}


def _window(number, graph, steps, **members):
    begin = 10_000 + number * 100_000
    times = [{"begin": begin + 20_000 + s * 9_000, "duration": 8_000 + number,
              **({"generic": True} if number == 0 else {})} for s in range(steps)]
    return {"number": number, "graph": graph, "thread": 0, "cause": "read", "begin": begin,
            "flushed": begin + 5_000, "plan_duration": 3_000, "bind_duration": 1_000,
            "submit_duration": 2_000, "plan_hit": number > 0, "steps": times, **members}


def _trace(**members):
    return {"format": "sluice-trace", "version": 2, "program": "sample", "threads": ["main"],
            **members, "windows_recorded": len(members["windows"])}


HOSTILE = 'if (a </script><!--<script> b) { "&lt;" }'


def small():
    """A window of one op, then five of a graph that has one of everything."""
    layer = {
        "device": "cpu",
        "ops": [
            _op("input", name="x"), _op("input", shape=(32, 32), name="w"), _op("input"),
            _op("mul", [0, 2], name="scaled", site=0, scope=0),
            _op("exp", [3], site=1, scope=0),
            _op("matmul", [4, 1], site=2),
            _op("relu", [5], name="hidden", live=True, site=3, scope=1),
            _op("relu", [5], removed=True, site=3),
            _op("sum", [7], shape=(), name="loss", live=True, site=4, scope=1),
        ],
        "steps": [
            _step("mul+exp", [3, 4], [0, 2], [4], kernels=[0]),
            _step("matmul", [5], [1, 4], [5], kind="library"),
            _step("relu+sum", [6, 8], [5], [6, 8], kernels=[1]),
        ],
        "cuts": [
            {"producer": 4, "consumer": 5, "reason": "library",
             "text": "t5 (matmul) is a library call", "bytes": 16384},
            {"producer": 5, "consumer": 6, "reason": "library",
             "text": "t5 (matmul) is written by a library call", "bytes": 16384},
            {"producer": 0, "consumer": 3, "reason": "observed",
             "text": "an earlier window had to write x", "bytes": 8192},
            {"producer": 6, "reason": "observed", "text": "a handle to hidden is held"},
        ],
        "temporaries_elided": 1, "bytes_elided": 8192,
    }
    single = {"device": "cpu", "ops": [_op("input"), _op("neg", [0], live=True)],
              "steps": [_step("neg", [1], [0], [1])]}
    kernels = [
        {"name": "mul+exp", "key": "0123456789abcdef", "program": "v0 = load\nv1 = exp v0\n",
         "language": "cuda-c++", "source": HOSTILE, "assembly": "ret\n", "origin": "compiled",
         "compile_duration": 30_000, "registers": 40, "spilled_bytes": 8},
        {"name": "relu+sum", "key": "fedcba9876543210", "program": "v0 = load\n"}]
    sites = [{"file": "/src/net.cpp", "line": line, "function": "forward"}
             for line in (12, 120, 13, 14)] + [{"file": "/src/loss.cpp", "line": 12}]
    windows = [_window(0, 1, 1)] + [_window(n, 0, 3) for n in range(1, 6)]
    windows[1]["cause_text"] = "item() of loss at main.cpp:7"
    return _trace(
        sites=sites, scopes=["encoder/layer1", "decoder"], kernels=kernels, graphs=[layer, single],
        windows=windows, events_recorded=1, events=[{
            "lane": "compiler 1", "name": "mul+exp", "begin": 50_000, "duration": 30_000,
            "kernel": 0}])


def loop(windows=10_000):
    """Many windows, which run two graphs by turns."""
    graphs = [{"device": "cpu", "ops": [_op("input"), _op(kind, [0], live=True)],
               "steps": [_step(kind, [1], [0], [1])]} for kind in ("sin", "cos")]
    return _trace(graphs=graphs, windows=[_window(n, n % 2, 1) for n in range(windows)])


def repeating(bodies=50):
    """A window whose two steps repeat, each after a cut edge."""
    values = [_op("input", name="x")]
    steps, cuts = [], []
    for body in range(bodies):
        for kind in ("exp", "sum"):
            k = len(values)
            values.append(_op(kind, [k - 1]))
            steps.append(_step(kind, [k], [k - 1], [k]))
            cuts.append({"producer": k - 1, "consumer": k, "reason": "reduction",
                         "text": f"t{k - 1} is complete only when its kernel is", "bytes": 8192})
    graph = {"device": "cpu", "ops": values, "steps": steps, "cuts": cuts}
    return _trace(build="compiler: one\nkernels: another", graphs=[graph],
                  windows=[_window(0, 0, len(steps))])


def large(ops=2_000, in_step=25):
    """A window of many ops, in kernels of which each reads the last one's results."""
    values = [_op("input", name="x")]
    steps, cuts = [], []
    while len(values) <= ops:
        first = len(values)
        for k in range(first, first + in_step):
            far = max(first - 1, k - 1 - k * 7 % 5)
            values.append(_op("add" if k % 3 else "tanh", sorted({far, k - 1})))
        steps.append(_step(f"add+tanh {len(steps)}", list(range(first, first + in_step)),
                           [first - 1], [first + in_step - 1]))
        if first > 1:
            cuts.append({"producer": first - 1, "consumer": first, "reason": "budget",
                         "text": "the kernel would weigh too much", "bytes": 8192})
    values[-1]["live"] = True
    graph = {"device": "cpu", "ops": values, "steps": steps, "cuts": cuts}
    return _trace(graphs=[graph], windows=[_window(0, 0, len(steps))])
