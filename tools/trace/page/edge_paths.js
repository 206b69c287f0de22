'use strict';
// Edges as SVG paths. Each edge gets a function of the offset of the part that it is in, as parts
// are packed after they are laid out.

function pathOf(commands) {
  return (dx, dy) => commands.map(([letter, ...points]) =>
    letter + points.map((value, n) => round1(value + (n % 2 ? dy : dx))).join(' ')).join('');
}

function round1(x) {
  return Math.round(x * 10) / 10;
}

// From one height to another, leaving and arriving vertically.
function bend(x0, y0, x1, y1) {
  if (Math.abs(x0 - x1) < 0.5) return ['L', x1, y1];
  const middle = (y0 + y1) / 2;
  return ['C', x0, middle, x1, middle, x1, y1];
}

// Through the stops on its way, which are straight as high as their rank is.
function drawThroughRanks(line, lanes) {
  const {edge, from, to, start, end} = line;
  let {x, y} = start;
  const commands = [['M', x, y]];
  const goTo = (toX, toY) => {
    // A last line of no length would leave the arrow without a direction.
    if (toX === x && Math.abs(toY - y) < 0.1) return;
    commands.push(bend(x, y, toX, toY));
    [x, y] = [toX, toY];
  };
  const pass = (stop) => {
    if (stop.y - stop.half <= y) return;
    goTo(stop.x, stop.y - stop.half);
    goTo(stop.x, stop.y + stop.half);
  };
  goTo(x, Math.max(y, from.rankBottom));
  line.stops.filter((stop) => stop.column === from.column).forEach(pass);
  if (line.jump) {
    const offset = line.lane * LANE;
    const below = lanes.below + offset, above = lanes.above - offset;
    const gutter = lanes.columns[to.column].gutter - offset % (GUTTER * 0.8);
    const stops = line.stops.filter((stop) => stop.column === to.column);
    const down = stops.length ? stops[0].x : end.x;
    commands.push(...rounded([[x, y], [x, below], [gutter, below], [gutter, above], [down, above],
      [down, above + 12]]));
    [x, y] = [down, above + 12];
    stops.forEach(pass);
  }
  goTo(end.x, to.rankTop);
  goTo(end.x, end.y);
  edge.path = pathOf(commands);
  if (edge.label) Object.assign(edge.label, {x: line.label.x, y: line.label.y});
}

// Straight lines between points, with round corners. The first point is where the path already is.
function rounded(points) {
  const commands = [];
  for (let n = 1; n < points.length; n++) {
    const [x, y] = points[n];
    const [fromX, fromY] = points[n - 1];
    const next = points[n + 1];
    if (!next) {
      commands.push(['L', x, y]);
      break;
    }
    const length = Math.hypot(x - fromX, y - fromY);
    const nextLength = Math.hypot(next[0] - x, next[1] - y);
    const r = Math.min(6, length / 2, nextLength / 2);
    const towards = (toX, toY, distance) => (distance > 0 ?
        [x + (toX - x) * r / distance, y + (toY - y) * r / distance] : [x, y]);
    commands.push(['L', ...towards(fromX, fromY, length)],
        ['Q', x, y, ...towards(...next, nextLength)]);
  }
  return commands;
}

function drawDown(edge, from, to) {
  const x = from.x + (from.left + from.right) / 2, y0 = from.y + from.bottom, y1 = to.y + to.top;
  edge.path = pathOf([['M', x, y0], ['L', x, y1]]);
  if (edge.label) Object.assign(edge.label, {x, y: (y0 + y1) / 2});
}

// To the next box on the right, or at the end of a row around to the start of the next one.
function drawInRows(edge, from, to, rowGap) {
  const lineY = (node) => node.y + node.top + Math.min(12, (node.bottom - node.top) / 2);
  const x0 = from.x + from.right, x1 = to.x + to.left, y0 = lineY(from), y1 = lineY(to);
  if (from.row === to.row) {
    edge.path = pathOf([['M', x0, y0], ['L', x1, y1]]);
    if (edge.label) Object.assign(edge.label, {x: (x0 + x1) / 2, y: y0});
    return;
  }
  const turn = to.y - rowGap / 2;
  const out = from.x + from.width + 12, back = to.x - 12;
  edge.path = pathOf([['M', x0, y0], ...rounded(
      [[x0, y0], [out, y0], [out, turn], [back, turn], [back, y1], [x1, y1]])]);
  if (edge.label) Object.assign(edge.label, {x: (out + back) / 2, y: turn});
}

// Nodes in the order in which they run, from left to right in rows. Edges to others than the next
// one run across what lies between.
function layoutAsParagraph(blocks, between, options) {
  const rowGap = options.rankGap * 1.4;
  const limit = paragraphWidth(blocks, options.rankGap, options.aspect);
  const size = setInRows(blocks, limit, () => options.rankGap, rowGap);
  blocks.forEach((block, b) => {
    block.id = b;
    block.first.row = block.row;
  });
  const draw = () => {
    for (const {edge, from, to} of between) {
      edge.loose = to.id !== from.id + 1;
      if (edge.label) Object.assign(edge.label, {x: 0, y: 0, hidden: edge.loose});
      if (edge.loose) edge.path = pathOf(acrossRows(from.first, to.first));
      else drawInRows(edge, from.first, to.first, rowGap);
    }
  };
  return {...size, draw};
}

function acrossRows(from, to) {
  const x0 = from.x + (from.left + from.right) / 2, x1 = to.x + (to.left + to.right) / 2;
  const y0 = from.y + from.bottom, y1 = to.y + to.top;
  if (y1 > y0) return [['M', x0, y0], bend(x0, y0, x1, y1)];
  const up = Math.min(from.y + from.top, y1);
  return [['M', x0, from.y + from.top], ['C', x0, up - 30, x1, up - 30, x1, y1]];
}
