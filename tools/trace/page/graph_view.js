'use strict';
// The picture of one graph: pan and zoom, folding, what is selected, what belongs together.

const MIN_SCALE = 0.02;
const MAX_SCALE = 4;
// Below this a step shows its name alone, in large letters.
const FAR_SCALE = 0.45;
// A graph that only fits below the first of these is shown at the second instead.
const OVERVIEW_SCALE = 0.15;
const READING_SCALE = 0.6;
const LEGIBLE_SCALE = 0.75;
// Graphs that show no more ops, steps, inputs and results than this are drawn as a whole.
const ALWAYS_DRAWN = 1500;
// Kept free around the graph, for the buttons above and the legend below.
const MARGIN = {left: 24, right: 24, top: 52, bottom: 50};

class GraphView {
  // onSelect is given {step}, {op, step} or {cut}.
  constructor(root, tip, onSelect) {
    this.root = root;
    this.tip = tip;
    this.onSelect = onSelect;
    this.world = svg('g', {id: 'world'});
    this.svg = svg('svg', {id: 'graph', tabindex: 0}, drawMarkers(), this.world);
    this.root.append(this.svg);
    this.open = new Map();   // by graph: the steps that are open
    this.views = new Map();  // by graph: where the user was
    this.showRemoved = false;
    this.matches = new Set();
    this.matchingSteps = new Set();
    this.selection = {};
    this.listen();
  }

  show(graph) {
    if (this.graph === graph) return;
    if (this.graph) this.views.set(this.graph.index, this.view);
    this.graph = graph;
    if (!this.open.has(graph.index)) this.open.set(graph.index, initiallyOpen(graph));
    this.redraw();
    const view = this.views.get(graph.index);
    if (view) {
      this.moveTo(view);
      return;
    }
    this.fit();
    // What would be too small begins at its first step.
    if (this.view.scale >= OVERVIEW_SCALE || graph.steps.length === 0) return;
    const scale = READING_SCALE;
    const [first] = this.scene.nodes;
    const centred = this.root.clientWidth / 2 - (first.x + first.width / 2) * scale;
    this.moveTo({scale, x: Math.min(centred, MARGIN.left), y: MARGIN.top - first.y * scale});
  }

  redraw() {
    const open = this.open.get(this.graph.index);
    this.scene = makeScene(this.graph, open, this.showRemoved);
    const all = this.graph.medianOfAll();
    this.shares = this.graph.steps.map((_, s) => (all > 0 ? this.graph.medianOf(s) / all : 0));
    this.steps = svg('g', {class: 'steps'});
    this.drawn = new Map();  // by node: {element, isNear}
    this.world.replaceChildren(...drawEdges(this.scene, this.steps));
    this.dress(this.world);
    if (this.view) this.drawSteps();
  }

  // Steps that are far from what is in sight are not there as elements, and without what is in them
  // if that is too small to see; but those of small graphs always are.
  drawSteps() {
    const {nodes} = this.scene;
    const {x, y, scale} = this.view;
    const {clientWidth: width, clientHeight: height} = this.root;
    const isSmall = this.scene.parts <= ALWAYS_DRAWN;
    const isNear = isSmall || scale >= FAR_SCALE;
    nodes.forEach((node, n) => {
      const left = x + node.x * scale, top = y + node.y * scale;
      const inSight = isSmall || (left < 2 * width && left + node.width * scale > -width &&
          top < 2 * height && top + node.height * scale > -height);
      const drawn = this.drawn.get(n);
      if (drawn && inSight && drawn.isNear >= isNear) return;
      drawn?.element.remove();
      this.drawn.delete(n);
      if (!inSight) return;
      const element = drawStep(node, this.shares[node.step] ?? 0, isNear);
      this.drawn.set(n, {element, isNear});
      this.steps.append(element);
      this.dress(element);
    });
  }

  // Marks what is selected and what was found.
  dress(root) {
    const {step, op, cut} = this.selection;
    const isSelected = ({dataset}) => {
      if (cut >= 0) return Number(dataset.cut) === cut;
      if (op >= 0) return Number(dataset.value) === op;
      return step >= 0 && Number(dataset.step) === step;
    };
    const isMatch = ({dataset}) => (dataset.step ? this.matchingSteps.has(Number(dataset.step)) :
      this.matches.has(Number(dataset.value)));
    const mark = (element) => {
      element.classList.toggle('selected', isSelected(element));
      element.classList.toggle('match', isMatch(element));
    };
    if (root.matches('.step')) mark(root);
    root.querySelectorAll('.step, .op, .pill, .edge[data-cut], .edge-label[data-cut]')
        .forEach(mark);
  }

  isOpen(step) {
    return this.open.get(this.graph.index).has(step);
  }

  // Keeps the step's corner where it is on the screen.
  toggle(step, open = !this.isOpen(step)) {
    const known = this.open.get(this.graph.index);
    if (known.has(step) === open) return;
    const before = this.scene.nodes[step];
    if (open) {
      known.add(step);
    } else {
      known.delete(step);
    }
    this.redraw();
    const after = this.scene.nodes[step];
    const {x, y, scale} = this.view;
    this.moveTo({
      x: x + (before.x + before.boxX - after.x - after.boxX) * scale,
      y: y + (before.y - after.y) * scale, scale,
    });
  }

  toggleAll(open) {
    this.open.set(this.graph.index, new Set(open ? this.graph.steps.keys() : []));
    this.redraw();
    this.fit();
  }

  setShowRemoved(show) {
    this.showRemoved = show;
    if (this.graph) this.redraw();
  }

  moveTo(view) {
    this.view = view;
    this.world.setAttribute('transform',
        `translate(${round1(view.x)} ${round1(view.y)}) scale(${view.scale.toFixed(4)})`);
    this.svg.classList.toggle('far', view.scale < FAR_SCALE);
    if (this.drawing) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      this.drawSteps();
    });
  }

  fit() {
    if (!this.graph) return;
    const {clientWidth: width, clientHeight: height} = this.root;
    const {left, right, top, bottom} = MARGIN;
    const roomX = width - left - right, roomY = height - top - bottom;
    const scale = Math.max(MIN_SCALE,
        Math.min(1.15, roomX / this.scene.width, roomY / this.scene.height));
    this.moveTo({
      scale, x: left + (roomX - this.scene.width * scale) / 2,
      y: top + Math.max(0, (roomY - this.scene.height * scale) / 2),
    });
  }

  zoom(factor, x = this.root.clientWidth / 2, y = this.root.clientHeight / 2) {
    const before = this.view;
    const scale = Math.max(MIN_SCALE, Math.min(MAX_SCALE, before.scale * factor));
    const ratio = scale / before.scale;
    this.moveTo({scale, x: x - (x - before.x) * ratio, y: y - (y - before.y) * ratio});
  }

  // Moves as little as brings {x, y, width, height} of the scene into sight, large enough to read.
  reveal(rect, scale) {
    if (scale !== this.view.scale) this.moveTo({...this.view, scale});
    const {clientWidth, clientHeight} = this.root;
    const place = (from, size, offset, begin, end) => {
      const low = from * scale + offset, high = low + size * scale;
      if (low >= begin && high <= end) return null;
      // Of what is larger than the view, its upper left part.
      return (begin + end) / 2 - (from * scale + Math.min(size * scale, end - begin) / 2);
    };
    const x = place(rect.x, rect.width, this.view.x, MARGIN.left, clientWidth - MARGIN.right);
    const y = place(rect.y, rect.height, this.view.y, MARGIN.top, clientHeight - MARGIN.bottom);
    if (x === null && y === null) return;
    this.moveTo({scale, x: x ?? this.view.x, y: y ?? this.view.y});
  }

  revealStep(step) {
    const node = this.scene.nodes[step];
    if (node) this.reveal(node, this.view.scale);
  }

  // Opens the step that the op is in, if need be.
  revealOp(op) {
    const [step] = this.graph.stepsOf[op];
    if (step >= 0) this.toggle(step, true);
    const rect = findOp(this.scene, op);
    if (rect) this.reveal(rect, Math.max(this.view.scale, LEGIBLE_SCALE));
  }

  select(selection) {
    this.selection = selection;
    this.dress(this.world);
  }

  setMatches(ops) {
    this.matches = ops;
    this.matchingSteps = new Set([...ops].flatMap((op) => this.graph.stepsOf[op]));
    this.dress(this.world);
  }

  relate(value) {
    if (value === this.related) return;
    this.world.querySelectorAll('.related')
        .forEach((element) => element.classList.remove('related'));
    this.related = value;
    this.world.querySelectorAll(`[data-value="${value}"]`)
        .forEach((element) => element.classList.add('related'));
  }

  clicked(target) {
    const find = (name) => {
      const element = target.closest(`[data-${name}]`);
      return element ? Number(element.getAttribute(`data-${name}`)) : -1;
    };
    if (find('toggle') >= 0) {
      this.toggle(find('toggle'));
    } else if (find('cut') >= 0) {
      this.onSelect({cut: find('cut')});
    } else if (find('value') >= 0) {
      this.onSelect({op: find('value'), step: find('step')});
    } else if (find('step') >= 0) {
      this.onSelect({step: find('step')});
    } else if (!target.closest('[data-removed]')) {
      this.onSelect({});
    }
  }

  hovered(event) {
    const valued = event.target.closest('[data-value]');
    const value = valued ? Number(valued.dataset.value) : undefined;
    this.relate(value);
    const cut = event.target.closest('[data-cut]');
    if (cut) {
      this.tip.show(event, cutTip(this.graph, Number(cut.dataset.cut)));
    } else if (valued) {
      this.tip.show(event, valueTip(this.graph, value));
    } else {
      this.tip.hide();
    }
  }

  listen() {
    const root = this.svg;
    let drag = null;
    root.addEventListener('pointerdown', (event) => {
      if (event.button !== 0 || !this.graph) return;
      drag = {x: event.clientX, y: event.clientY, view: this.view, moved: false};
    });
    root.addEventListener('pointermove', (event) => {
      if (!this.graph) return;
      if (!drag) {
        this.hovered(event);
        return;
      }
      const dx = event.clientX - drag.x, dy = event.clientY - drag.y;
      if (!drag.moved && Math.hypot(dx, dy) < 4) return;
      if (!drag.moved) {
        // Only now: with the pointer captured, a click would go to the whole picture.
        root.setPointerCapture(event.pointerId);
        root.classList.add('dragging');
        this.tip.hide();
      }
      drag.moved = true;
      this.moveTo({...drag.view, x: drag.view.x + dx, y: drag.view.y + dy});
    });
    const end = () => {
      root.classList.remove('dragging');
      drag = null;
    };
    root.addEventListener('pointerup', (event) => {
      const click = drag && !drag.moved;
      end();
      if (click) this.clicked(event.target);
    });
    root.addEventListener('pointercancel', end);
    root.addEventListener('pointerleave', () => {
      this.tip.hide();
      this.relate(undefined);
    });
    root.addEventListener('dblclick', (event) => {
      const step = event.target.closest('[data-step]');
      if (step && !event.target.closest('[data-toggle]')) this.toggle(Number(step.dataset.step));
    });
    root.addEventListener('wheel', (event) => {
      event.preventDefault();
      if (!this.graph) return;
      const inside = this.root.getBoundingClientRect();
      const pixels = event.deltaY * (event.deltaMode === 1 ? 16 : 1);
      this.zoom(Math.exp(-pixels * (event.ctrlKey ? 0.01 : 0.0015)), event.clientX - inside.left,
          event.clientY - inside.top);
    }, {passive: false});
  }
}
