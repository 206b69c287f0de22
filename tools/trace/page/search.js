'use strict';
// Finds ops by kind, name, t<number>, file:line and scope.

const RESULTS_SHOWN = 200;

class Search {
  // shownGraph gives the graph that is shown. onGo is given a match: {graph, op}. onMatches is told
  // when the matches have changed.
  constructor(input, panel, trace, shownGraph, onGo, onMatches) {
    this.input = input;
    this.panel = panel;
    this.trace = trace;
    this.shownGraph = shownGraph;
    this.onGo = onGo;
    this.onMatches = onMatches;
    this.matches = [];
    this.current = -1;
    input.addEventListener('input', () => this.run());
    input.addEventListener('focus', () => this.show(this.input.value.trim() !== ''));
    input.addEventListener('keydown', (event) => {
      if (event.key === 'Enter') {
        event.preventDefault();
        this.go(this.current + (event.shiftKey ? -1 : 1));
      } else if (event.key === 'Escape') {
        this.clear();
        input.blur();
      }
    });
    panel.addEventListener('click', (event) => {
      const result = event.target.closest('[data-result-index]');
      if (result) this.go(Number(result.dataset.resultIndex));
    });
    document.addEventListener('pointerdown', (event) => {
      if (!event.target.closest('#search-area')) this.show(false);
    });
  }

  // The graph that is shown comes first.
  run() {
    const query = this.input.value.trim().toLowerCase();
    this.matches = [];
    this.current = -1;
    if (query) {
      const words = query.split(/\s+/);
      const graphs = [...this.trace.graphs];
      const first = this.shownGraph();
      graphs.sort((a, b) => (b === first) - (a === first) || a.index - b.index);
      for (const graph of graphs) {
        graph.ops.forEach((_, op) => {
          if (words.every((word) => matchesWord(graph, op, word))) this.matches.push({graph, op});
        });
      }
    }
    this.show(query !== '');
    this.draw();
    this.onMatches();
  }

  matchesIn(graph) {
    return new Set(this.matches.filter((match) => match.graph === graph).map(({op}) => op));
  }

  go(n) {
    const {length} = this.matches;
    if (length === 0) return;
    this.current = (n + length) % length;
    this.draw();
    this.onGo(this.matches[this.current]);
  }

  clear() {
    this.input.value = '';
    this.run();
  }

  show(shown) {
    this.panel.hidden = !shown;
  }

  draw() {
    const count = this.matches.length;
    const place = this.current >= 0 ? `${formatCount(this.current + 1)} of ` : '';
    const first = Math.max(0, Math.min(this.current - RESULTS_SHOWN / 2, count - RESULTS_SHOWN));
    const shown = this.matches.slice(first, first + RESULTS_SHOWN);
    let graph = null;
    const items = shown.flatMap((match, n) => {
      const head = match.graph === graph ? [] : [html('div', {class: 'result-graph'},
          `${windowsOf(match.graph)}`)];
      graph = match.graph;
      return [...head, this.drawResult(match, first + n)];
    });
    this.panel.replaceChildren(
        html('div', {'class': 'result-count', 'id': 'search-count', 'data-count': count},
            count === 0 ? 'Nothing found' : `${place}${plural(count, 'match')}`,
            count > 0 && html('span', {class: 'muted'}, '  Enter goes to the next')),
        html('div', {class: 'results'}, items,
            count > shown.length && html('div', {class: 'result-count muted'},
                `${formatCount(count - shown.length)} more`)));
    this.panel.querySelector('.result.current')?.scrollIntoView({block: 'nearest'});
  }

  drawResult({graph, op: k}, n) {
    const op = graph.ops[k];
    return html('button', {
      'class': `result${n === this.current ? ' current' : ''}`, 'data-result-index': n,
      'data-result-op': k,
    },
    html('span', {class: 'tag'}, `t${k}`), html('span', {class: 'kind'}, op.op),
    html('span', {class: 'name'}, op.name), html('span', {class: 'spacer'}),
    html('span', {class: 'muted'}, op.removed ? 'removed' : ''),
    html('span', {class: 'muted place'}, graph.siteText(k)));
  }
}

function windowsOf(graph) {
  const {windows} = graph;
  if (windows.length === 0) return 'no window';
  const [first] = windows;
  return windows.length === 1 ? `window #${first.number}` :
      `window #${first.number} and ${formatCount(windows.length - 1)} like it`;
}

// t12 is that op alone, and so is name:12 a line of a file: not t123, not line 120.
function matchesWord(graph, k, word) {
  const op = graph.ops[k];
  if (/^t\d+$/.test(word)) return word === `t${k}`;
  const has = (text) => text.toLowerCase().includes(word);
  const site = graph.trace.sites[op.site];
  if (site) {
    const place = `${site.file}:${site.line}`.toLowerCase();
    if (/:\d+$/.test(word) ? place.endsWith(word) : place.includes(word)) return true;
  }
  return has(op.op) || has(op.name) || has(graph.trace.scopes[op.scope] ?? '');
}
