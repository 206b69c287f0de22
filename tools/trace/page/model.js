'use strict';
// The trace as the page uses it: defaults filled in, and what follows from it looked up once.

const DEFAULTS = {
  trace: {
    program: '', build: '', deterministic: false, threads: [], scopes: [], sites: [], kernels: [],
    graphs: [], windows: [], events: [], windows_recorded: 0, events_recorded: 0,
  },
  site: {file: '', line: 0, function: ''},
  kernel: {
    name: '', key: '', program: '', language: '', source: '', assembly: '', origin: '',
    compile_duration: 0, registers: -1, spilled_bytes: -1, shared_bytes: -1,
  },
  graph: {device: '', ops: [], steps: [], cuts: [], temporaries_elided: 0, bytes_elided: 0},
  op: {
    op: '', dtype: '', shape: [], operands: [], live: false, removed: false, name: '', site: -1,
    scope: -1,
  },
  step: {
    kind: 'kernel', name: '', ops: [], inputs: [], outputs: [], kernels: [], bytes_read: 0,
    bytes_written: 0, flops: 0,
  },
  cut: {producer: -1, consumer: -1, reason: '', text: '', bytes: 0},
  window: {
    number: 0, graph: -1, thread: -1, cause: '', cause_text: '', plan_hit: false, begin: 0,
    flushed: 0, plan_duration: 0, compile_duration: 0, bind_duration: 0, submit_duration: 0,
    values_evicted: 0, bytes_evicted: 0, values_recomputed: 0, steps: [],
  },
  run: {begin: 0, duration: 0, generic: false},
  event: {lane: '', name: '', begin: 0, duration: 0, kernel: -1},
};

const STAGES = ['plan', 'compile', 'bind', 'submit'];

const ELEMENT_BYTES = {
  bool: 1, int8: 1, uint8: 1, int16: 2, uint16: 2, float16: 2, bfloat16: 2, int32: 4, uint32: 4,
  float32: 4, int64: 8, uint64: 8, float64: 8, complex64: 8, complex128: 16,
};

function fill(kind, objects) {
  return objects.map((object) => ({...DEFAULTS[kind], ...object}));
}

// The ops, steps and cuts that windows of one plan share.
class GraphModel {
  constructor(trace, index, json) {
    Object.assign(this, DEFAULTS.graph, json);
    this.trace = trace;
    this.index = index;
    this.ops = fill('op', this.ops);
    this.steps = fill('step', this.steps);
    this.cuts = fill('cut', this.cuts);
    this.recorded = this.ops.filter((op) => op.op !== 'input').length;
    this.libraryCalls = this.steps.filter((step) => step.kind === 'library').length;
    this.stepsOf = this.ops.map(() => []);   // that compute an op
    this.readersOf = this.ops.map(() => []); // steps that read a value from memory
    this.writerOf = this.ops.map(() => -1);
    this.usersOf = this.ops.map(() => []);   // ops
    this.steps.forEach((step, s) => {
      step.computes = new Set(step.ops);
      step.reads = new Set(step.inputs);
      step.ownCuts = [];  // between ops that it computes: of values that it writes as well
      for (const k of step.ops) this.stepsOf[k].push(s);
      for (const k of step.inputs) this.readersOf[k].push(s);
      for (const k of step.outputs) this.writerOf[k] = s;
    });
    this.ops.forEach((op, k) => {
      for (const operand of new Set(op.operands)) this.usersOf[operand].push(k);
    });
    this.findEdges();
    this.windows = [];  // that run it; readTrace() fills them in
  }

  isInput(k) {
    return this.ops[k].op === 'input';
  }

  label(k) {
    return this.ops[k].name || `t${k}`;
  }

  type(k) {
    return `${this.ops[k].dtype}(${this.ops[k].shape.join(', ')})`;
  }

  bytes(k) {
    const size = ELEMENT_BYTES[this.ops[k].dtype] ?? 0;
    return this.ops[k].shape.reduce((product, extent) => product * extent, size);
  }

  // Empty if nothing was.
  elided() {
    return this.temporaries_elided === 0 ? '' :
      `${plural(this.temporaries_elided, 'temporary')}, ${formatBytes(this.bytes_elided)}`;
  }

  siteText(k) {
    const site = this.trace.sites[this.ops[k].site];
    return site ? `${fileName(site.file)}:${site.line}` : '';
  }

  // What stands for an operand in a step that does not have it, as the operand was removed: an
  // equal op, or what the operand itself was made of. -1 if the step has neither.
  standIn(step, operand) {
    const has = (k) => step.computes.has(k) || step.reads.has(k);
    for (let k = operand, depth = 0; depth < 16; depth++) {
      if (has(k)) return k;
      const op = this.ops[k];
      const same = (other) => other.op === op.op && other.dtype === op.dtype &&
          String(other.shape) === String(op.shape) &&
          String(other.operands) === String(op.operands);
      const twin = op.removed ? this.ops.findIndex((other, j) => has(j) && same(other)) : -1;
      if (twin >= 0) return twin;
      if (!op.removed || op.operands.length === 0) return -1;
      k = op.operands[0];
    }
    return -1;
  }

  // An op's operands as a step sees them, each once.
  operandsIn(step, k) {
    const found = this.ops[k].operands.map((operand) => this.standIn(step, operand));
    return [...new Set(found.filter((operand) => operand >= 0 && operand !== k))];
  }

  // The cut between two ops that the step computes; -1: none.
  cutWithin(step, producer, consumer) {
    return step.ownCuts.find((c) => this.cuts[c].producer === producer &&
        this.cuts[c].consumer === consumer) ?? -1;
  }

  // Values that go through memory: {value, from, to, cut}, `from` and `to` being steps, -1 for an
  // input or for what reads it after the window.
  findEdges() {
    const edges = new Map();
    const add = (value, to, cut) => {
      const from = this.isInput(value) ? -1 : this.writerOf[value];
      if (from === to) return;
      const key = `${value} ${to}`;
      if (!edges.has(key)) edges.set(key, {value, from, to, cut: -1});
      if (cut >= 0) edges.get(key).cut = cut;
    };
    this.steps.forEach((step, s) => step.inputs.forEach((value) => add(value, s, -1)));
    this.cuts.forEach((cut, c) => {
      if (cut.consumer < 0) {
        add(cut.producer, -1, c);
        return;
      }
      for (const s of this.stepsOf[cut.consumer]) {
        if (!this.steps[s].computes.has(cut.producer)) add(cut.producer, s, c);
        else if (this.writerOf[cut.producer] === s) this.steps[s].ownCuts.push(c);
      }
    });
    this.ops.forEach((op, k) => {
      if (op.live && this.writerOf[k] >= 0) add(k, -1, -1);
    });
    this.edges = [...edges.values()];
    // Of each step: from inputs, and to what is after the window.
    this.inputEdges = [];
    this.resultEdges = [];
    for (const edge of this.edges) {
      if (edge.from === -1) (this.inputEdges[edge.to] ??= []).push(edge);
      else if (edge.to === -1) (this.resultEdges[edge.from] ??= []).push(edge);
    }
  }

  // How long a step took, over all windows that say so.
  times(s) {
    this.timesOf ??= [];
    if (!this.timesOf[s]) {
      const runs = this.windows.map((w) => w.steps[s]).filter((run) => run !== undefined);
      const of = (some) => summarize(some.map((run) => run.duration));
      this.timesOf[s] = {
        all: of(runs),
        compiled: of(runs.filter((run) => !run.generic)),
        generic: of(runs.filter((run) => run.generic)),
      };
    }
    return this.timesOf[s];
  }

  medianOf(s) {
    const times = this.times(s);
    return (times.compiled ?? times.all)?.median ?? 0;
  }

  medianOfAll() {
    this.medianTotal ??= this.steps.reduce((sum, _, s) => sum + this.medianOf(s), 0);
    return this.medianTotal;
  }
}

function hostTime(window) {
  return STAGES.reduce((sum, stage) => sum + window[`${stage}_duration`], 0);
}

// Null where the steps' times are not known.
function deviceTime(window) {
  if (window.steps.length === 0) return null;
  return window.steps.reduce((sum, run) => sum + run.duration, 0);
}

function readTrace(json) {
  const trace = {...DEFAULTS.trace, ...json};
  trace.sites = fill('site', trace.sites);
  trace.kernels = fill('kernel', trace.kernels);
  trace.events = fill('event', trace.events);
  trace.graphs = trace.graphs.map((graph, index) => new GraphModel(trace, index, graph));
  trace.windows = fill('window', trace.windows).filter((window) => trace.graphs[window.graph]);
  trace.windows.forEach((window, index) => {
    window.index = index;
    window.steps = fill('run', window.steps);
    trace.graphs[window.graph].windows.push(window);
  });
  return trace;
}

// Windows that repeat, one row for each: of A B A B A B, a row of the As and one of the Bs. A row
// is {windows, period, phase}: every `period`th window from its first one.
function foldWindows(windows) {
  const kMaxPeriod = 12;
  const rows = [];
  const repeats = (begin, period) => {
    let end = begin + period;
    while (end < windows.length && windows[end].graph === windows[end - period].graph) end++;
    return Math.floor((end - begin) / period);
  };
  for (let begin = 0; begin < windows.length;) {
    let period = 1;
    let times = repeats(begin, 1);
    for (let p = 2; p <= kMaxPeriod; p++) {
      const n = repeats(begin, p);
      if (n >= 3 && n * p > times * period) [period, times] = [p, n];
    }
    for (let phase = 0; phase < period; phase++) {
      const row = {windows: [], period, phase};
      for (let n = 0; n < times; n++) row.windows.push(windows[begin + n * period + phase]);
      rows.push(row);
    }
    begin += period * times;
  }
  return rows;
}
