'use strict';
// Where the boxes of a graph go. Used at both levels: for the ops in a step, and for the steps.
//
// The parts that are not connected are laid out one by one and packed. In each, long chains are
// folded into rows; what remains is dagre's work, as long as it is little: dagre takes seconds for
// some hundred nodes. Beyond that the nodes are set like words in a paragraph.

// dagre takes about 1 ms a node at this size, and grows faster than linearly.
const DAGRE_NODES = 160;
const DAGRE_EDGES = 420;

// nodes: {width, height} and, where edges don't meet the whole of it, {left, right, top, bottom} of
// the part that they do meet; gapAfter if a chain needs more than options.chainGap after it. edges:
// {from, to} and perhaps {label: {width, height}}. options: {nodeGap, rankGap, aspect, chain: the
// longest that is not folded}, and of those that are {chainGap, chainAspect, chainMin: how many a
// row has at least}. Sets x and y of nodes (their upper left corner), and of edges `path` and the
// label's x and y (its middle). An edge that the layout did not make room for has `loose` set.
// Returns {width, height}.
function layoutGraph(nodes, edges, options) {
  nodes.forEach((node, n) => {
    node.index = n;
    node.left ??= 0;
    node.top ??= 0;
    node.right ??= node.width;
    node.bottom ??= node.height;
  });
  const parts = connectedParts(nodes, edges);
  for (const part of parts) {
    Object.assign(part, layoutPart(part, options));
  }
  return packParts(parts, options);
}

function connectedParts(nodes, edges) {
  const parent = nodes.map((_, n) => n);
  const root = (n) => {
    while (parent[n] !== n) n = parent[n] = parent[parent[n]];
    return n;
  };
  for (const {from, to} of edges) parent[root(to)] = root(from);
  const parts = new Map();
  nodes.forEach((node, n) => {
    if (!parts.has(root(n))) parts.set(root(n), {nodes: [], edges: []});
    parts.get(root(n)).nodes.push(node);
  });
  for (const edge of edges) parts.get(root(edge.from)).edges.push(edge);
  for (const part of parts.values()) part.edges.forEach((edge) => (edge.ends = part));
  return [...parts.values()];
}

// The width at which things of these sizes, set in rows, fill about a screen.
function paragraphWidth(boxes, gap, aspect) {
  const area = boxes.reduce((sum, box) => sum + (box.width + gap) * (box.height + gap), 0);
  return Math.max(Math.sqrt(area * aspect), ...boxes.map((box) => box.width));
}

// Sets x and y of boxes, from left to right in rows. `gap` may depend on the box. Boxes of a row
// are aligned at their top. Returns {width, height}, and sets `row` of each box.
function setInRows(boxes, limit, gap, rowGap) {
  let x = 0, y = 0, rowHeight = 0, width = 0, row = 0;
  for (const box of boxes) {
    if (x > 0 && x + box.width > limit) {
      x = 0;
      y += rowHeight + rowGap;
      rowHeight = 0;
      row++;
    }
    Object.assign(box, {x, y, row});
    x += box.width + gap(box);
    width = Math.max(width, box.x + box.width);
    rowHeight = Math.max(rowHeight, box.height);
  }
  return {width, height: y + rowHeight};
}

function packParts(parts, options) {
  const gap = options.nodeGap * 2;
  // Smaller parts beside each other, but in the order in which things happen.
  const size = setInRows(parts, paragraphWidth(parts, gap, options.aspect), () => gap, gap);
  for (const part of parts) {
    for (const node of part.nodes) {
      node.x += part.x;
      node.y += part.y;
    }
    for (const edge of part.edges) {
      edge.path = edge.path(part.x, part.y);
      if (edge.label) {
        edge.label.x += part.x;
        edge.label.y += part.y;
      }
    }
  }
  return size;
}

// Maximal runs of nodes in which each is the only one that reads the one before, and reads nothing
// else.
function findChains(part, longest) {
  const successors = new Map(part.nodes.map((node) => [node.index, new Set()]));
  const predecessors = new Map(part.nodes.map((node) => [node.index, new Set()]));
  for (const {from, to} of part.edges) {
    successors.get(from).add(to);
    predecessors.get(to).add(from);
  }
  const follows = (to) => {
    if (predecessors.get(to).size !== 1) return -1;
    const [from] = predecessors.get(to);
    return successors.get(from).size === 1 ? from : -1;
  };
  const byIndex = new Map(part.nodes.map((node) => [node.index, node]));
  const chains = [];
  for (const node of part.nodes) {
    if (follows(node.index) >= 0) continue;
    const chain = [node];
    for (let n = node.index; successors.get(n).size === 1;) {
      const [next] = successors.get(n);
      if (follows(next) !== n) break;
      chain.push(byIndex.get(next));
      n = next;
    }
    if (chain.length > longest) {
      chains.push(chain);
    } else {
      for (const link of chain) chains.push([link]);
    }
  }
  return chains;
}

function at(block, index) {
  return block.nodes.find((node) => node.index === index);
}

// Blocks are what is laid out as one: a node, or a chain in rows.
function layoutPart(part, options) {
  const fits = (chains, edges) => chains.length <= DAGRE_NODES && edges <= DAGRE_EDGES;
  let chains = findChains(part, options.chain);
  const isChain = findChains(part, 1).length === 1;
  if (isChain || !fits(chains, part.edges.length)) chains = findChains(part, 1);
  const isSmall = fits(chains, part.edges.length - (part.nodes.length - chains.length));
  if (!isSmall) chains = part.nodes.map((node) => [node]);
  const blocks = chains.map((chain) => makeBlock(chain, options));
  const blockOf = new Map();
  blocks.forEach((block) => block.nodes.forEach((node) => blockOf.set(node.index, block)));
  const between = [];
  for (const edge of part.edges) {
    const from = blockOf.get(edge.from), to = blockOf.get(edge.to);
    if (from === to) {
      part.inner ??= [];
      part.inner.push({edge, block: from});
    } else {
      between.push({edge, from, to});
    }
  }
  const result = isSmall ? layoutByDagre(blocks, between, options) :
      layoutAsParagraph(blocks, between, options);
  for (const block of blocks) {
    for (const node of block.nodes) {
      node.x += block.x;
      node.y += block.y;
    }
  }
  for (const {edge, block} of part.inner ?? []) {
    const draw = block.isColumn ? drawDown : drawInRows;
    draw(edge, at(block, edge.from), at(block, edge.to), block.rowGap);
  }
  result.draw();
  return {width: result.width, height: result.height};
}

// The first node's upper side is where edges enter a block, the last one's lower side where they
// leave.
function makeBlock(chain, options) {
  const block = {nodes: chain, first: chain[0], last: chain[chain.length - 1], rowGap: 0};
  if (chain.length === 1) {
    Object.assign(chain[0], {x: 0, y: 0});
    block.width = chain[0].width;
    block.height = chain[0].height;
    return block;
  }
  block.rowGap = options.rankGap;
  const gap = (node) => Math.max(options.chainGap, node.gapAfter ?? 0);
  const few = chain.slice(0, options.chainMin)
      .reduce((sum, node) => sum + node.width + gap(node), 0);
  const limit = Math.max(few, paragraphWidth(chain, options.chainGap, options.chainAspect));
  Object.assign(block, setInRows(chain, limit, gap, block.rowGap));
  if (block.last.row === chain.length - 1) centre(block);
  return block;
}

// One below the other, with their middles at one place.
function centre(block) {
  const middle = (node) => (node.left + node.right) / 2;
  const most = Math.max(...block.nodes.map(middle));
  for (const node of block.nodes) node.x = most - middle(node);
  block.width = Math.max(...block.nodes.map((node) => node.x + node.width));
  block.isColumn = true;
}

function layoutByDagre(blocks, between, options) {
  if (blocks.length === 1) {
    Object.assign(blocks[0], {x: 0, y: 0});
    return {width: blocks[0].width, height: blocks[0].height, draw: () => {}};
  }
  const graph = new dagre.graphlib.Graph({multigraph: true});
  graph.setGraph({
    rankdir: 'TB', ranker: 'network-simplex', nodesep: options.nodeGap,
    edgesep: options.nodeGap / 2, ranksep: options.rankGap,
  });
  blocks.forEach((block, b) => {
    block.id = b;
    graph.setNode(b, {width: block.width, height: block.height});
  });
  between.forEach(({edge, from, to}, e) => {
    const label = edge.label ?? {width: 0, height: 0};
    graph.setEdge(from.id, to.id, {width: label.width, height: label.height, labelpos: 'c'}, e);
  });
  dagre.layout(graph);

  // Boxes of a rank have their middles at one height; edges pass the rank straight.
  const halves = new Map();
  for (const block of blocks) {
    const {x, y} = graph.node(block.id);
    Object.assign(block, {x: x - block.width / 2, y: y - block.height / 2, rank: Math.round(y)});
    halves.set(block.rank, Math.max(halves.get(block.rank) ?? 0, block.height / 2));
  }
  const lines = between.map((line, e) => {
    const {points, x, y} = graph.edge(line.from.id, line.to.id, e);
    const stops = points.slice(1, -1).map((point) =>
      ({x: point.x, y: point.y, half: halves.get(Math.round(point.y)) ?? 0}));
    return {...line, stops, label: line.edge.label ? {x, y} : null};
  });
  const {width, height} = graph.graph();
  const size = moveIntoColumns(blocks, lines, halves, {width, height}, options);
  const draw = () => {
    spreadEnds(lines);
    for (const line of lines) drawThroughRanks(line, size.lanes);
  };
  return {...size, draw};
}

// Blocks and lines get the column that they are in; what they are drawn at moves there.
function moveIntoColumns(blocks, lines, halves, {width, height}, options) {
  const ranks = [...halves].sort(([a], [b]) => a - b);
  const rankOf = new Map(ranks.map(([y], r) => [y, r]));
  const tops = ranks.map(([y, half]) => ({top: y - half, bottom: y + half}));
  const spans = lines.map(({from, to}) => ({from: rankOf.get(from.rank), to: rankOf.get(to.rank)}));
  const begins = findColumns(width, height, tops, spans, options.aspect);
  const columnOf = (y) => columnAt(begins, y);
  const stops = lines.flatMap((line) => line.stops);
  const jumps = lines.filter(({from, to}) => columnOf(from.rank) !== columnOf(to.rank))
      .map((line) => Object.assign(line, {jump: true}))
      .map(({from, to}) => ({from: columnOf(from.rank), to: columnOf(to.rank)}));
  const boxes = [...blocks, ...stops.map(({x, y}) => ({x, y, width: 0, height: 0}))];
  const placed = placeColumns(begins, boxes, jumps);
  const move = (thing, y) => {
    thing.column = columnOf(y);
    const {dx, dy} = placed.columns[thing.column];
    thing.x += dx;
    thing.y += dy;
  };
  stops.forEach((stop) => move(stop, stop.y));
  for (const {label} of lines) {
    if (label) move(label, label.y);
  }
  for (const block of blocks) {
    const half = halves.get(block.rank);
    const y = block.rank;
    move(block, y);
    const {dy} = placed.columns[block.column];
    Object.assign(block, {rankTop: y - half + dy, rankBottom: y + half + dy});
  }
  let lane = 0;
  for (const line of lines) {
    if (line.jump) line.lane = lane++;
  }
  return {width: placed.width, height: placed.height, lanes: placed};
}

// The ends of edges that meet at one side of a node are spread along it, in the order in which they
// go off.
function spreadEnds(lines) {
  const sides = new Map();
  const add = (node, side, line, towards) => {
    const key = `${node.index} ${side}`;
    if (!sides.has(key)) sides.set(key, {node, ends: []});
    sides.get(key).ends.push({line, side, towards});
  };
  for (const line of lines) {
    const centre = (node) => node.x + (node.left + node.right) / 2;
    add(line.from.last, 'start', line, line.stops[0]?.x ?? centre(line.to.first));
    add(line.to.first, 'end', line, line.stops.at(-1)?.x ?? centre(line.from.last));
  }
  for (const {node, ends} of sides.values()) {
    ends.sort((a, b) => a.towards - b.towards);
    const room = (node.right - node.left) * 0.8;
    const gap = ends.length > 1 ? Math.min(28, room / (ends.length - 1)) : 0;
    const middle = node.x + (node.left + node.right) / 2;
    ends.forEach(({line, side}, n) => {
      line[side] = {
        x: middle + (n - (ends.length - 1) / 2) * gap,
        y: node.y + (side === 'start' ? node.bottom : node.top),
      };
    });
  }
}
