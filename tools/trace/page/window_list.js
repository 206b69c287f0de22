'use strict';
// The list of windows, those that repeat folded. Only what is in sight is there as elements: a
// trace may have ten thousand windows and more.

const ROW_HEIGHT = 74;
const LINE_HEIGHT = 26;

class WindowList {
  constructor(root, trace, onSelect) {
    this.root = root;
    this.trace = trace;
    this.onSelect = onSelect;
    this.rows = foldWindows(trace.windows);
    this.rowOf = [];
    this.rows.forEach((row, r) => {
      for (const window of row.windows) this.rowOf[window.index] = r;
    });
    this.unfolded = new Set();
    this.selected = -1;
    this.sheet = html('div', {class: 'sheet'});
    root.append(this.sheet);
    this.arrange();
    root.addEventListener('scroll', () => this.draw());
    new ResizeObserver(() => this.draw()).observe(root);
    root.addEventListener('click', (event) => {
      const fold = event.target.closest('[data-fold]');
      const item = event.target.closest('[data-window]');
      if (fold) {
        this.toggle(Number(fold.dataset.fold));
      } else if (item) {
        this.onSelect(Number(item.dataset.window));
      }
    });
  }

  // Items are what the list shows: a row, or a single window of an unfolded one.
  arrange() {
    this.items = [];
    let y = 0;
    this.rows.forEach((row, r) => {
      this.items.push({row: r, window: null, y});
      y += ROW_HEIGHT;
      if (!this.unfolded.has(r)) return;
      for (const window of row.windows) {
        this.items.push({row: r, window, y});
        y += LINE_HEIGHT;
      }
    });
    this.sheet.style.height = `${y}px`;
    this.draw();
  }

  toggle(row) {
    if (!this.unfolded.delete(row)) this.unfolded.add(row);
    this.arrange();
  }

  // The first item that ends below a height.
  itemAt(y) {
    let low = 0, high = this.items.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const next = this.items[middle + 1]?.y ?? Infinity;
      if (next <= y) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  draw() {
    const top = this.root.scrollTop - 200, bottom = top + this.root.clientHeight + 400;
    const drawn = [];
    for (let n = this.itemAt(Math.max(0, top)); n < this.items.length; n++) {
      const item = this.items[n];
      if (item.y > bottom) break;
      const element = item.window ? this.drawLine(item) : this.drawRow(item);
      element.style.top = `${item.y}px`;
      drawn.push(element);
    }
    this.sheet.replaceChildren(...drawn);
  }

  drawRow({row: r}) {
    const row = this.rows[r];
    const {windows} = row;
    const graph = this.trace.graphs[windows[0].graph];
    const folded = windows.length > 1;
    const last = windows.at(-1);
    row.sums ??= sumUp(windows);
    const {hits, host, device, causes} = row.sums;
    const isOpen = this.unfolded.has(r);
    const number = folded ? `#${windows[0].number} – ${last.number}` : `#${windows[0].number}`;
    return html('div', {
      'class': `window-row${this.rowOf[this.selected] === r ? ' selected' : ''}`,
      'data-window': windows[0].index, 'data-row': r, 'data-graph': graph.index,
      'title': folded && row.period > 1 ?
          `one of ${row.period} windows that repeat ${formatCount(windows.length)} times` : null,
    },
    row.period > 1 && html('span', {class: `bracket ${this.bracketEnd(row)}`}),
    html('div', {class: 'line'},
        folded ? html('button', {
          'class': `fold${isOpen ? ' open' : ''}`, 'data-fold': r,
          'title': isOpen ? 'Fold these windows' : 'Show each of these windows',
          'aria-expanded': String(isOpen),
        }, html('span', {class: 'chevron'})) : null,
        html('span', {class: 'number'}, number),
        folded && html('span', {class: 'times'}, `×${formatCount(windows.length)}`),
        html('span', {class: 'cause ops', title: last.cause_text || null},
            causes.size === 1 ? last.cause : `${causes.size} causes`),
        html('span', {class: 'spacer'}),
        html('span', {class: 'device', title: folded ? 'device time, median' : 'device time'},
            device ? formatTime(device.median) : '–')),
    html('div', {class: 'line'},
        html('span', {class: 'ops'}, `${plural(graph.recorded, 'op')} → ${stepCount(graph)}`),
        html('span', {class: 'spacer'}),
        html('span', {class: 'muted', title: folded ? 'host time, median' : 'host time'},
            `host ${formatTime(host.median)}`)),
    html('div', {class: 'line muted'},
        html('span', {title: 'temporaries that were never written to memory'},
            graph.elided() ? `−${graph.elided()}` : 'no temporaries'),
        html('span', {class: 'spacer'}),
        planMark(hits, windows.length)));
  }

  drawLine({row: r, window}) {
    const device = deviceTime(window);
    return html('div', {
      'class': `window-line${window.index === this.selected ? ' selected' : ''}`,
      'data-window': window.index, 'title': window.cause_text || null,
    },
    html('span', {class: 'number'}, `#${window.number}`),
    html('span', {class: 'cause'}, window.cause),
    html('span', {class: 'spacer'}),
    window.plan_hit ? null : planMark(0, 1),
    html('span', {class: 'muted'}, `host ${formatTime(hostTime(window))}`),
    html('span', {class: 'device'}, device === null ? '–' : formatTime(device)));
  }

  bracketEnd(row) {
    if (row.phase === 0) return 'first';
    return row.phase === row.period - 1 ? 'last' : '';
  }

  select(index) {
    if (this.selected === index) return;
    this.selected = index;
    const row = this.rowOf[index];
    const wanted = this.unfolded.has(row) ? ({window}) => window?.index === index :
        (item) => item.row === row;
    const shown = this.items.find(wanted);
    if (shown) {
      const height = shown.window ? LINE_HEIGHT : ROW_HEIGHT;
      const {scrollTop, clientHeight} = this.root;
      if (shown.y < scrollTop || shown.y + height > scrollTop + clientHeight) {
        this.root.scrollTop = shown.y - clientHeight / 3;
      }
    }
    this.draw();
  }
}

function sumUp(windows) {
  return {
    hits: windows.filter((window) => window.plan_hit).length,
    host: summarize(windows.map(hostTime)),
    device: summarize(windows.map(deviceTime).filter((time) => time !== null)),
    causes: new Set(windows.map((window) => window.cause)),
  };
}

function stepCount(graph) {
  const kernels = graph.steps.length - graph.libraryCalls;
  const parts = [];
  if (kernels > 0 || graph.libraryCalls === 0) parts.push(plural(kernels, 'kernel'));
  if (graph.libraryCalls > 0) parts.push(plural(graph.libraryCalls, 'call'));
  return parts.join(' + ');
}

function planMark(hits, all) {
  if (hits === all) return html('span', {class: 'plan hit'}, 'plan hit');
  const label = all === 1 ? 'plan miss' : `${plural(all - hits, 'plan miss')}`;
  return html('span', {class: 'plan miss'}, label);
}
