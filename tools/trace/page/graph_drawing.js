'use strict';
// A scene as SVG elements. What can be clicked says what it is in data- attributes: data-step,
// data-op, data-input, data-result, data-cut, data-toggle; data-value names the value that it
// shows.

const ARROWS = ['flow', 'memory', 'cut', 'live'];

function drawMarkers() {
  return svg('defs', {}, ARROWS.map((name) => svg('marker', {
    'id': `arrow-${name}`, 'class': `arrow ${name}`, 'viewBox': '0 0 8 8', 'refX': 7, 'refY': 4,
    'markerWidth': 8, 'markerHeight': 8, 'markerUnits': 'userSpaceOnUse', 'orient': 'auto',
  }, svg('path', {d: 'M0.5 0.5L7.5 4L0.5 7.5Z'}))));
}

function text(x, y, className, content) {
  return svg('text', {x, y, class: className}, content);
}

function box(x, y, width, height, radius, className) {
  return svg('rect', {x, y, width, height, rx: radius, class: className});
}

// An edge with a wide invisible twin that is easy to hit.
function drawLine(path, kind, data, loose) {
  return svg('g', {class: `edge ${kind}${loose ? ' loose' : ''}`, ...data},
      svg('path', {d: path, class: 'hit'}),
      svg('path', {d: path, class: 'line', 'marker-end': `url(#arrow-${kind})`}));
}

function drawOp(node, step) {
  const state = node.removed ? 'removed' : node.live ? 'live' :
      node.stored ? 'stored' : 'temporary';
  const kindWidth = textWidth(node.kind, FONT.op, 600);
  const group = svg('g', {
    'class': `op ${state}`, 'data-op': node.op, 'data-of-step': step, 'data-value': node.op,
    'transform': `translate(${round1(node.x)} ${round1(node.y)})`,
  }, box(0, 0, node.width, node.height, 5, 'body'));
  if (node.stored || node.live) {
    group.append(svg('path', {
      class: 'mark', d: `M5 ${node.height - 1.5}H${node.width - 5}`,
    }));
  }
  group.append(
      text(8, OP_LINE, 'kind', node.kind), text(8 + kindWidth + 6, OP_LINE, 'tag', node.tag));
  if (node.live) group.append(svg('circle', {class: 'dot', cx: node.width - 10, cy: 12, r: 3.5}));
  if (node.name) group.append(text(8, node.nameY + 7, 'name', node.name));
  for (const chip of node.chips) {
    const known = chip.value >= 0 ? {'data-value': chip.value, 'data-load': chip.value} : {};
    group.append(svg('g', {class: 'chip', ...known},
        box(chip.x, node.chipsY, chip.width, 15, 4, 'body'),
        text(chip.x + 5, node.chipsY + 11, 'label', chip.text)));
  }
  return group;
}

function drawInner(inner, step) {
  return [
    ...inner.edges.map(({path, value, cut, loose}) => drawLine(path, cut >= 0 ? 'cut' : 'flow',
        {'data-value': value, 'data-cut': cut >= 0 ? cut : null}, loose)),
    ...inner.nodes.map((node) => drawOp(node, step)),
  ];
}

function drawPill(pill, node, side) {
  const isInput = side === 'input';
  const cut = pill.cut >= 0;
  const kind = cut ? 'cut' : isInput ? 'memory' : 'live';
  const y = pill.y + PILL.height / 2;
  const edgeX = isInput ? node.boxX - 1 : node.boxX + node.box.width;
  const [from, to] = isInput ? [pill.x + pill.width, edgeX] : [edgeX, pill.x - 1];
  const known = pill.value >= 0 ? {[`data-${side}`]: pill.value, 'data-value': pill.value} : {};
  return svg('g', {}, drawLine(`M${from} ${y}L${to} ${y}`, kind, {
    ...known, [`data-${side}`]: null, 'data-cut': cut ? pill.cut : null,
  }), svg('g', {class: `pill ${side} ${kind}`, ...known},
      box(pill.x, pill.y, pill.width, PILL.height, PILL.height / 2, 'body'),
      text(pill.x + 8, pill.y + 14, 'label', pill.text)));
}

// Shown in place of what is in the box when it would be too small to read.
function drawFarTitle(node) {
  const {box: stepBox, boxX} = node;
  const words = stepBox.title.split(/(?<=\+)/);
  let best = {size: 0};
  for (let count = 1; count <= Math.min(words.length, 6); count++) {
    const lines = inLines(words, count);
    const longest = Math.max(...lines.map((line) => line.length));
    const size = Math.min(64, (stepBox.width - 16) / (longest * 0.62),
        (stepBox.height - 8) / (lines.length * 1.2));
    if (size > best.size) best = {size, lines};
  }
  const {size, lines} = best;
  const top = stepBox.height / 2 - (lines.length - 1) * size * 0.6 + size * 0.35;
  return svg('g', {class: 'far-title'}, lines.map((line, n) => svg('text', {
    x: round1(boxX + stepBox.width / 2), y: round1(top + n * size * 1.2),
    style: `font-size: ${round1(size)}px`,
  }, line)));
}

// Words in lines of about one length.
function inLines(words, count) {
  const whole = words.reduce((sum, word) => sum + word.length, 0);
  const lines = [''];
  for (const word of words) {
    const line = lines.at(-1);
    const isFull = line && line.length + word.length / 2 > whole / count;
    if (isFull && lines.length < count) lines.push(word);
    else lines[lines.length - 1] = line + word;
  }
  return lines;
}

function drawToggle(node) {
  const x = node.boxX + node.box.width - 24;
  const sign = node.box.open ? 'M-4 0H4' : 'M-4 0H4M0 -4V4';
  return svg('g', {
    'class': 'toggle', 'data-toggle': node.step, 'transform': `translate(${x + 8} ${HEADER / 2})`,
  }, svg('title', {}, node.box.open ? 'Fold' : 'Unfold'), box(-9, -9, 18, 18, 4, 'body'),
  svg('path', {d: sign, class: 'sign'}));
}

// Without what is in it and beside it if that is too far off to be seen.
function drawStep(node, share, isNear) {
  const {box: stepBox, boxX} = node;
  const name = textWidth(stepBox.title, FONT.title, 600);
  const group = svg('g', {
    'class': `step ${node.kind}${stepBox.open ? '' : ' folded'}`,
    'data-step': node.step >= 0 ? node.step : null,
    'data-removed': node.step < 0,
    'transform': `translate(${round1(node.x)} ${round1(node.y)})`,
  });
  const frame = svg('g', {class: 'frame'}, box(boxX, 0, stepBox.width, stepBox.height, 8, 'body'),
      svg('path', {
        class: 'header',
        d: `M${boxX} ${HEADER}V8a8 8 0 0 1 8 -8h${stepBox.width - 16}a8 8 0 0 1 8 8V${HEADER}Z`,
      }), text(boxX + PAD, 19.5, 'title', stepBox.title));
  if (stepBox.name.length > MAX_TITLE) frame.append(svg('title', {}, stepBox.name));
  if (node.kind === 'library') {
    const width = textWidth(node.kind, FONT.small) + 10;
    frame.append(svg('g', {class: 'badge'}, box(boxX + PAD + name + 8, 7, width, 16, 4, 'body'),
        text(boxX + PAD + name + 13, 18.5, 'label', node.kind)));
  }
  if (stepBox.time) {
    const right = boxX + stepBox.width - PAD - (node.toggles ? 22 : 0);
    frame.append(text(right, 19.5, 'time', stepBox.time));
  }
  frame.append(svg('path', {class: 'rule', d: `M${boxX} ${HEADER}h${stepBox.width}`}));
  if (share > 0) {
    const width = Math.max(2, stepBox.width * share);
    frame.append(svg('path', {class: 'heat', d: `M${boxX} ${HEADER}h${round1(width)}`}));
  }
  frame.append(box(boxX, 0, stepBox.width, stepBox.height, 8, 'outline'));
  group.append(frame);
  if (!isNear) {
    group.append(drawFarTitle(node));
    return group;
  }
  const content = svg('g', {
    class: 'content', transform: `translate(${round1(boxX + stepBox.contentX)} ${HEADER + PAD})`,
  });
  if (stepBox.inner) {
    content.append(...drawInner(stepBox.inner, node.step));
  } else {
    stepBox.summary.forEach((line, n) => content.append(text(0, 12 + n * 18, 'summary', line)));
  }
  group.append(content);
  if (node.toggles) group.append(drawToggle(node));
  group.append(...node.inputs.map((pill) => drawPill(pill, node, 'input')),
      ...node.results.map((pill) => drawPill(pill, node, 'result')), drawFarTitle(node));
  return group;
}

function drawMemoryEdge(edge) {
  const cut = edge.cut >= 0;
  return drawLine(edge.path, cut ? 'cut' : 'memory', {
    'data-value': edge.value, 'data-from': edge.from, 'data-to': edge.to,
    'data-cut': cut ? edge.cut : null,
  }, edge.loose);
}

function drawEdgeLabel(edge) {
  const {x, y, width, height, text: content} = edge.label;
  const cut = edge.cut >= 0;
  return svg('g', {
    'class': `edge-label ${cut ? 'cut' : 'memory'}`, 'data-value': edge.value,
    'data-cut': cut ? edge.cut : null,
    'transform': `translate(${round1(x - width / 2)} ${round1(y - height / 2)})`,
  }, box(0, 0, width, height, height / 2, 'body'), text(7, 12.5, 'label', content));
}

// The edges between steps, with the element of the steps among them: above lines, below labels.
function drawEdges(scene, steps) {
  const labelled = scene.edges.filter((edge) => edge.label && !edge.label.hidden);
  return [
    svg('g', {class: 'edges'}, scene.edges.map(drawMemoryEdge)), steps,
    svg('g', {class: 'labels'}, labelled.map(drawEdgeLabel)),
  ];
}
