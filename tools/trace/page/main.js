'use strict';
// Puts the parts together: what is selected, the keys, the address.

class Page {
  constructor(trace) {
    this.trace = trace;
    // step, op and cut are of the window's graph; -1 is none.
    this.selection = {window: -1, step: -1, op: -1, cut: -1, kernel: -1};
    const select = (change) => this.select(change);
    this.tip = new Tip(byId('tip'));
    this.list = new WindowList(byId('windows'), trace, (window) => select({window}));
    this.graphView = new GraphView(byId('graph-root'), this.tip, select);
    this.details = new Details(byId('details'), byId('crumbs'), trace, (change) => {
      select(change);
      if (change.op >= 0) this.graphView.revealOp(change.op);
      else if (change.step >= 0) this.graphView.revealStep(change.step);
    });
    this.timeline = new Timeline(byId('timeline'), this.tip, trace, (change) => {
      select(change);
      if (change.step >= 0) this.graphView.revealStep(change.step);
    });
    this.search = new Search(byId('search'), byId('search-panel'), trace,
        () => this.graphView.graph, (match) => this.goTo(match), () => this.markMatches());
    this.describe();
    this.listen();
    this.readAddress();
  }

  describe() {
    const {program} = this.trace;
    document.title = program ? `${program}: Sluice trace` : 'Sluice trace';
    byId('program').textContent = program;
    for (const element of document.querySelectorAll('[data-explain]')) {
      addTo(element, meaning(element.dataset.explain), []);
    }
    byId('window-count').textContent = formatCount(this.trace.windows.length);
  }

  // What a change leaves out is deselected, except the window.
  select(change) {
    const {window} = this.selection;
    this.selection = {window, step: -1, op: -1, cut: -1, kernel: -1, ...change};
    const shown = this.trace.windows[this.selection.window];
    document.body.classList.toggle('no-window', !shown);
    this.list.select(shown ? shown.index : -1);
    if (shown) {
      const graph = this.trace.graphs[shown.graph];
      const isNew = this.graphView.graph !== graph;
      this.graphView.show(graph);
      this.graphView.select(this.selection);
      if (isNew) this.markMatches();
    }
    this.details.show(this.selection);
    this.timeline.select(this.selection);
    this.writeAddress();
  }

  goTo({graph, op}) {
    const shown = this.trace.windows[this.selection.window];
    const window = shown?.graph === graph.index ? shown : graph.windows[0];
    if (!window) return;
    if (graph.ops[op].removed) {
      byId('show-removed').checked = true;
      this.graphView.setShowRemoved(true);
    }
    this.select({window: window.index, op});
    this.graphView.revealOp(op);
  }

  markMatches() {
    const {graph} = this.graphView;
    if (graph) this.graphView.setMatches(this.search.matchesIn(graph));
  }

  // #window=3&step=1: by their numbers in the trace file.
  writeAddress() {
    const parts = Object.entries(this.selection).filter(([, index]) => index >= 0)
        .map(([name, index]) => `${name}=${index}`);
    // A file's address can't be replaced in every browser.
    try {
      history.replaceState(null, '', `#${parts.join('&')}`);
    } catch {
      location.hash = parts.join('&');
    }
  }

  readAddress() {
    const wanted = new URLSearchParams(location.hash.slice(1));
    const number = (name) => (wanted.has(name) ? Number(wanted.get(name)) : -1);
    const window = this.trace.windows[number('window')] ?? this.busiestWindow();
    const graph = window && this.trace.graphs[window.graph];
    const within = (name, items) => (items?.[number(name)] ? number(name) : -1);
    const change = {
      window: window ? window.index : -1, step: within('step', graph?.steps),
      op: within('op', graph?.ops), cut: within('cut', graph?.cuts),
      kernel: within('kernel', this.trace.kernels),
    };
    this.select(change);
    if (change.op >= 0) this.graphView.revealOp(change.op);
  }

  // Where most of the work is: most is to be seen there.
  busiestWindow() {
    const graph = this.trace.graphs.filter(({windows}) => windows.length > 0)
        .reduce((best, next) => (next.recorded > (best?.recorded ?? -1) ? next : best), null);
    return graph?.windows[0];
  }

  // By rows of the list: windows that repeat count as one.
  moveInList(by) {
    const {rows, rowOf} = this.list;
    const row = rows[(rowOf[this.selection.window] ?? -by) + by];
    if (row) this.select({window: row.windows[0].index});
  }

  listen() {
    const click = (id, action) => byId(id).addEventListener('click', action);
    click('fit', () => this.graphView.fit());
    click('zoom-in', () => this.graphView.zoom(1.3));
    click('zoom-out', () => this.graphView.zoom(1 / 1.3));
    click('open-all', () => this.graphView.toggleAll(true));
    click('fold-all', () => this.graphView.toggleAll(false));
    click('timeline-all', () => this.timeline.all());
    click('timeline-window', () => this.timeline.zoomToWindow(this.selection.window));
    click('home', () => this.select({window: -1}));
    byId('show-removed').addEventListener('change', (event) =>
      this.graphView.setShowRemoved(event.target.checked));
    const keys = {
      '/': () => {
        byId('search').focus();
        byId('search').select();
      },
      'f': () => this.graphView.fit(),
      't': () => this.timeline.zoomToWindow(this.selection.window),
      'j': () => this.moveInList(1),
      'k': () => this.moveInList(-1),
      'Escape': () => this.search.clear(),
    };
    document.addEventListener('keydown', (event) => {
      if (event.target.matches('input') || event.ctrlKey || event.metaKey || event.altKey) return;
      const action = keys[event.key];
      if (!action) return;
      event.preventDefault();
      action();
    });
    for (const splitter of document.querySelectorAll('[data-splitter]')) listenToSplitter(splitter);
    addEventListener('hashchange', () => this.readAddress());
  }
}

// Drags the size that a splitter stands for, a variable of the page's grid.
function listenToSplitter(splitter) {
  const {splitter: name} = splitter.dataset;
  const {style} = document.body;
  splitter.addEventListener('pointerdown', (event) => {
    event.preventDefault();
    splitter.setPointerCapture(event.pointerId);
    const move = (to) => {
      const size = name === 'list' ? to.clientX : name === 'details' ? innerWidth - to.clientX :
          innerHeight - to.clientY;
      const most = name === 'timeline' ? innerHeight * 0.7 : innerWidth * 0.5;
      style.setProperty(`--${name}-size`, `${Math.round(Math.min(Math.max(size, 80), most))}px`);
    };
    splitter.addEventListener('pointermove', move);
    splitter.addEventListener('lostpointercapture',
        () => splitter.removeEventListener('pointermove', move), {once: true});
  });
}

const page = new Page(readTrace(JSON.parse(byId('trace').textContent)));
