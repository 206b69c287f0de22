'use strict';
// What the picture of a graph is made of, with sizes and places, before it is drawn.

const FONT = {op: 12, small: 10.5, title: 12};
const OP_LINE = 16;
const MAX_TITLE = 44;
const PAD = 12;
const HEADER = 30;
const PILL = {height: 20, gap: 5, arrow: 30, maxText: 20};
// A step has room for so many at least.
const MIN_PILLS = 3;
// Steps with more ops than this are shown as a summary at first; of large graphs, smaller ones as
// well.
const OPEN_OPS = 40;
const OPEN_OPS_TIMES_ALL = 12000;
// Beyond these many edges between steps their labels would fill the picture.
const LABELLED_EDGES = 80;

const OP_LAYOUT = {
  nodeGap: 14, rankGap: 18, aspect: 1.7, chain: 6, chainGap: 22, chainAspect: 6, chainMin: 4,
};
// The ops of one step are a small graph, of which there may be a hundred.
const STEP_LAYOUT = {
  nodeGap: 34, rankGap: 38, aspect: 1.8, chain: 5, chainGap: 60, chainAspect: 1.8, chainMin: 1,
};

// Which steps are open before anyone has opened or closed one.
function initiallyOpen(graph) {
  const most = Math.min(OPEN_OPS, Math.max(1, Math.floor(OPEN_OPS_TIMES_ALL / graph.recorded)));
  return new Set([...graph.steps.keys()].filter((s) => graph.steps[s].ops.length <= most));
}

function makeOpNode(graph, step, k) {
  const op = graph.ops[k];
  const stored = step.outputs.includes(k);
  const node = {
    op: k, kind: op.op, tag: `t${k}`, name: op.name ? shorten(op.name, 24) : '', chips: [],
    live: op.live, stored, removed: op.removed,
  };
  const loads = graph.operandsIn(step, k).filter((operand) => !step.computes.has(operand));
  const shown = loads.length > 4 ? 3 : loads.length;
  node.chips = loads.slice(0, shown).map(
      (value) => ({value, text: shorten(graph.label(value), 16)}));
  if (shown < loads.length) node.chips.push({value: -1, text: `+${loads.length - shown}`});
  let chipX = 8;
  for (const chip of node.chips) {
    chip.x = chipX;
    chip.width = textWidth(chip.text, FONT.small) + 10;
    chipX += chip.width + 4;
  }
  const titleWidth = textWidth(node.kind, FONT.op, 600) + 8 + textWidth(node.tag, FONT.small) +
      (op.live ? 14 : 0);
  node.nameY = node.name ? OP_LINE + 9 : 0;
  node.chipsY = node.chips.length ? (node.name ? 2 : 1) * OP_LINE + 8 : 0;
  const lines = 1 + (node.name ? 1 : 0) + (node.chips.length ? 1.3 : 0);
  node.width = Math.ceil(
      Math.max(52, titleWidth + 18, textWidth(node.name, FONT.op) + 18, chipX + 4));
  node.height = Math.round(lines * OP_LINE + 8);
  return node;
}

// Steps of a loop that was unrolled look alike: their inner layout is made once. Of sizes and
// edges.
const innerLayouts = new Map();

function layoutOps(nodes, edges) {
  const key = JSON.stringify([nodes.map((n) => [n.width, n.height]),
    edges.map((e) => [e.from, e.to])]);
  if (!innerLayouts.has(key)) {
    const size = layoutGraph(nodes, edges, OP_LAYOUT);
    innerLayouts.set(key, {
      size, places: nodes.map(({x, y}) => ({x, y})),
      paths: edges.map(({path, loose}) => ({path, loose})),
    });
  }
  const known = innerLayouts.get(key);
  nodes.forEach((node, n) => Object.assign(node, known.places[n]));
  edges.forEach((edge, e) => Object.assign(edge, known.paths[e]));
  return known.size;
}

function makeInner(graph, step) {
  const nodes = step.ops.map((k) => makeOpNode(graph, step, k));
  const at = new Map(step.ops.map((k, n) => [k, n]));
  const edges = [];
  nodes.forEach((node, n) => {
    for (const operand of graph.operandsIn(step, node.op)) {
      if (!at.has(operand)) continue;
      const cut = graph.cutWithin(step, operand, node.op);
      edges.push({from: at.get(operand), to: n, value: operand, cut});
    }
  });
  return {nodes, edges, ...layoutOps(nodes, edges)};
}

// Inputs, or results, in a column beside a step: {value, text, cut, width}.
function makePills(graph, edges, room) {
  const order = [...edges].sort((a, b) => (b.cut >= 0) - (a.cut >= 0) || a.value - b.value);
  const most = Math.max(MIN_PILLS, Math.floor((room - PILL.gap) / (PILL.height + PILL.gap)));
  const shown = order.length > most ? most - 1 : order.length;
  const pills = order.slice(0, shown).map(({value, cut}) =>
    ({value, cut, text: shorten(graph.label(value), PILL.maxText)}));
  if (shown < order.length) {
    pills.push({value: -1, cut: -1, text: `+${order.length - shown} more`});
  }
  for (const pill of pills) pill.width = Math.ceil(textWidth(pill.text, FONT.small) + 16);
  return pills;
}

function columnWidth(pills) {
  return pills.length ? Math.max(...pills.map((pill) => pill.width)) + PILL.arrow : 0;
}

// A step as a box with a column of its inputs on its left and of its results on its right.
function makeStepNode(graph, step, s, isOpen) {
  const time = graph.times(s).all ? formatTime(graph.medianOf(s)) : '';
  const title = shorten(step.name || step.kind, MAX_TITLE);
  const box = {name: step.name, title, time, open: isOpen, inner: null};
  const toggles = step.ops.length > 1;
  const header = PAD * 2 + textWidth(box.title, FONT.title, 600) + (toggles ? 20 : 0) +
      (step.kind === 'kernel' ? 0 : textWidth(step.kind, FONT.small) + 18) +
      (time ? textWidth(time, FONT.small) + 14 : 0);
  let content = {width: 0, height: 0};
  if (isOpen) {
    content = box.inner = makeInner(graph, step);
  } else {
    box.summary = [
      plural(step.ops.length, 'op') + (step.kernels.length > 1 ?
          `, ${step.kernels.length} kernels side by side` : ''),
      `reads ${formatBytes(step.bytes_read)}, writes ${formatBytes(step.bytes_written)}`,
    ];
    content.width = Math.max(...box.summary.map((line) => textWidth(line, FONT.small)));
    content.height = 34;
  }
  box.width = Math.ceil(Math.max(header, content.width + 2 * PAD));
  box.contentX = isOpen ? (box.width - content.width) / 2 : PAD;
  const inputs = graph.inputEdges[s] ?? [], results = graph.resultEdges[s] ?? [];
  const pills = Math.min(MIN_PILLS, Math.max(inputs.length, results.length));
  const room = Math.max(content.height + 2 * PAD, pills * (PILL.height + PILL.gap) + PILL.gap);
  box.height = Math.ceil(HEADER + room);
  const left = makePills(graph, inputs, room), right = makePills(graph, results, room);
  const boxX = columnWidth(left);
  const place = (pills, x) => {
    const height = pills.length * (PILL.height + PILL.gap) - PILL.gap;
    let y = HEADER + Math.max(0, (room - height) / 2);
    for (const pill of pills) {
      pill.x = x(pill);
      pill.y = y;
      y += PILL.height + PILL.gap;
    }
  };
  place(left, (pill) => boxX - PILL.arrow - pill.width);
  place(right, () => boxX + box.width + PILL.arrow);
  return {
    step: s, kind: step.kind, box, boxX, inputs: left, results: right, toggles,
    width: boxX + box.width + columnWidth(right),
    height: box.height,
    left: boxX, right: boxX + box.width, top: 0, bottom: box.height,
  };
}

// What no kernel computes, in a box of its own.
function makeRemovedNode(graph) {
  const ops = graph.ops.map((_, k) => k).filter((k) => graph.ops[k].removed);
  if (ops.length === 0) return null;
  const step = {
    name: 'removed', kind: 'removed', ops, inputs: [], outputs: [], kernels: [],
    computes: new Set(ops), reads: new Set(graph.ops.keys()), ownCuts: [], bytes_read: 0,
    bytes_written: 0,
  };
  const inner = makeInner(graph, step);
  const box = {name: 'removed', title: 'removed', time: '', open: true, inner};
  box.width = Math.ceil(Math.max(140, inner.width + 2 * PAD));
  box.height = Math.ceil(HEADER + inner.height + 2 * PAD);
  box.contentX = (box.width - inner.width) / 2;
  return {
    step: -1, kind: 'removed', box, boxX: 0, inputs: [], results: [], toggles: false,
    width: box.width, height: box.height,
  };
}

// {nodes, edges, width, height}: nodes of steps, edges that go through memory between them.
function makeScene(graph, open, showRemoved) {
  const nodes = graph.steps.map((step, s) => makeStepNode(graph, step, s, open.has(s)));
  const edges = graph.edges.filter((edge) => edge.from >= 0 && edge.to >= 0)
      .map((edge) => ({...edge}));
  if (edges.length <= LABELLED_EDGES) {
    for (const edge of edges) {
      const reason = edge.cut >= 0 ? graph.cuts[edge.cut].reason : '';
      const text = shorten(graph.label(edge.value), PILL.maxText) + (reason ? ` · ${reason}` : '');
      edge.label = {text, width: Math.ceil(textWidth(text, FONT.small) + 14), height: 18};
      const from = nodes[edge.from];
      from.gapAfter = Math.max(from.gapAfter ?? 0, edge.label.width + 44);
    }
  }
  const removed = showRemoved ? makeRemovedNode(graph) : null;
  if (removed) nodes.push(removed);
  const parts = nodes.reduce((sum, node) => sum + 1 + node.inputs.length + node.results.length +
      (node.box.inner?.nodes.length ?? 0), 0);
  return {nodes, edges, parts, ...layoutGraph(nodes, edges, STEP_LAYOUT)};
}

// Where an op is in a scene, or where it is read as an input. Null if it is not to be seen.
function findOp(scene, op) {
  for (const node of scene.nodes) {
    const inner = node.box.inner?.nodes.find((candidate) => candidate.op === op);
    if (inner) {
      return {
        x: node.x + node.boxX + node.box.contentX + inner.x, y: node.y + HEADER + PAD + inner.y,
        width: inner.width, height: inner.height,
      };
    }
  }
  for (const node of scene.nodes) {
    const pill = node.inputs.find((candidate) => candidate.value === op);
    if (pill) return {x: node.x + pill.x, y: node.y + pill.y, width: pill.width, height: 20};
  }
  return null;
}
