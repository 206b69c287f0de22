'use strict';
// The panel that says all about what is selected. The parts that it is built of are here, the kinds
// of selections in details_*.js.

// Lists are cut at this length, with a button for the rest.
const LIST_LIMIT = 60;

class Details {
  // onSelect is given what to select: {window}, {op}, {step}, {cut} or {kernel}.
  constructor(root, crumbs, trace, onSelect) {
    this.root = root;
    this.crumbs = crumbs;
    this.trace = trace;
    const follow = (event) => {
      const link = event.target.closest('[data-goto]');
      if (!link) return;
      const [kind, ...indices] = link.dataset.goto.split(' ');
      const [index, step] = indices.map(Number);
      if (kind === 'trace') {
        onSelect({window: -1});
      } else if (kind === 'graph') {
        // The newest, which is the likeliest to have run compiled code.
        onSelect({window: trace.graphs[index].windows.at(-1)?.index ?? -1, step});
      } else {
        onSelect({[kind]: index});
      }
    };
    root.addEventListener('click', follow);
    crumbs.addEventListener('click', follow);
  }

  show(selection) {
    const {window: w, step, op, cut, kernel} = selection;
    const window = this.trace.windows[w];
    const graph = window && this.trace.graphs[window.graph];
    const crumbs = [['trace', this.trace.program || 'trace']];
    if (window) crumbs.push([`window ${w}`, `window #${window.number}`]);
    let content;
    if (kernel >= 0) {
      crumbs.push([`kernel ${kernel}`, `kernel ${this.trace.kernels[kernel].name}`]);
      content = kernelDetails(this.trace, kernel);
    } else if (!window) {
      content = traceDetails(this.trace);
    } else if (cut >= 0) {
      crumbs.push([`cut ${cut}`, 'cut edge']);
      content = cutDetails(graph, cut);
    } else if (op >= 0) {
      const within = graph.stepsOf[op].includes(step) ? step : graph.stepsOf[op][0];
      if (within >= 0) crumbs.push([`step ${within}`, graph.steps[within].name]);
      crumbs.push([`op ${op}`, `t${op}`]);
      content = opDetails(graph, op);
    } else if (step >= 0) {
      crumbs.push([`step ${step}`, graph.steps[step].name]);
      content = stepDetails(graph, step, window);
    } else {
      content = windowDetails(graph, window);
    }
    this.crumbs.replaceChildren(...crumbs.map(([goto, label], n) => html('button', {
      'class': `crumb${n === crumbs.length - 1 ? ' last' : ''}`, 'data-goto': goto, 'title': label,
    }, shorten(label, 28))));
    this.root.replaceChildren(...content.flat().filter(Boolean));
    this.root.scrollTop = 0;
  }
}

function heading(title, ...more) {
  return html('h2', {'data-title': title}, html('span', {class: 'title-text'}, title), ...more);
}

function badge(label, kind = '') {
  return html('span', {class: `badge ${kind}`, ...meaning(label)}, label);
}

// `id` is for the test and for links from elsewhere.
function section(id, title, ...content) {
  return html('section', {'data-section': id}, html('h3', {}, title), ...content);
}

// Rows of a name and a value; those without a value are left out.
function facts(rows) {
  const shown = rows.filter(([, value]) => value !== null && value !== '' && value !== undefined);
  return html('dl', {class: 'facts'}, shown.map(([name, value]) => [
    html('dt', meaning(name), name),
    html('dd', {'data-fact': name}, ...[value].flat()),
  ]));
}

function link(kind, index, label, className = '') {
  return html('button', {
    'class': `link ${className}`, 'data-goto': `${kind} ${index}`,
  }, label);
}

// A button for a value: t12, with its name if it has one.
function valueLink(graph, k, isCut = false) {
  const op = graph.ops[k];
  const state = graph.isInput(k) ? 'input' : op.live ? 'live' : '';
  return html('button', {
    'class': `value ${state}${isCut ? ' cut' : ''}`, 'data-goto': `op ${k}`,
    'title': `${op.op} ${graph.type(k)}`,
  }, op.name ? `${op.name} ` : '', html('span', {class: 'tag'}, `t${k}`));
}

function valueLinks(graph, values, isCut = () => false) {
  if (values.length === 0) return null;
  return html('div', {class: 'values'},
      limited(values, (k) => valueLink(graph, k, isCut(k))));
}

// Elements for the first of many items, and a button that brings the others.
function limited(items, make, limit = LIST_LIMIT) {
  const shown = items.slice(0, limit).map(make);
  if (items.length <= limit) return shown;
  const more = html('button', {
    'class': 'link more', 'data-more': items.length - limit,
    'click': (event) => {
      event.stopPropagation();
      more.replaceWith(...items.slice(limit).map((item, n) => make(item, n + limit)).flat());
    },
  }, `${formatCount(items.length - limit)} more`);
  return [...shown, more];
}

function table(id, head, rows) {
  return html('table', {'data-table': id},
      html('thead', {}, html('tr', {}, head.map((cell) => html('th', {}, cell)))),
      html('tbody', {}, rows));
}

// Text that is long: made when it is opened first.
function code(kind, label, content) {
  if (!content) return null;
  const lines = content.trimEnd().split('\n').length;
  const block = html('details', {'class': 'code', 'data-code': kind},
      html('summary', {}, label, html('span', {class: 'muted'}, ` ${plural(lines, 'line')}`)));
  block.addEventListener('toggle', () => {
    if (block.childElementCount === 1) block.append(html('pre', {tabindex: 0}, content));
  });
  return block;
}

// Cuts that differ in the numbers of values alone, as those of a loop's body, are one row.
function cutList(graph, cuts) {
  const groups = new Map();
  for (const c of cuts) {
    const {reason, text} = graph.cuts[c];
    const key = `${reason} ${text.replace(/\bt\d+\b/g, 't')}`;
    groups.set(key, [...(groups.get(key) ?? []), c]);
  }
  return html('ul', {class: 'cuts'}, limited([...groups.values()], (group) => {
    const row = (c, count = 1) => {
      const cut = graph.cuts[c];
      const bytes = group.slice(0, count).reduce((sum, k) => sum + graph.cuts[k].bytes, 0);
      const to = cut.consumer >= 0 ? graph.label(cut.consumer) : 'later windows';
      return html('li', {'data-goto': `cut ${c}`, 'data-cut-row': c, 'tabindex': 0},
          html('div', {class: 'line'},
              html('span', {class: 'ends'}, `${graph.label(cut.producer)} → ${to}`),
              badge(cut.reason, 'cut'), count > 1 && badge(`× ${formatCount(count)}`),
              html('span', {class: 'spacer'}),
              html('span', {class: 'muted'}, count > 1 || cut.bytes > 0 ?
                  formatBytes(count > 1 ? bytes : cut.bytes) : '')),
          html('div', {class: 'muted'}, cut.text));
    };
    if (group.length < FEWEST_REPEATS) return group.map((c) => row(c));
    return [row(group[0], group.length), unfolding(group.length - 1,
        () => group.slice(1).map((c) => row(c)))];
  }).flat());
}

// A button in the place of what it brings.
function unfolding(count, make) {
  const button = html('button', {
    'class': 'link more', 'data-unfold': count,
    'click': (event) => {
      event.stopPropagation();
      button.replaceWith(...make().flat());
    },
  }, `${formatCount(count)} alike`);
  return button;
}

function cutsWhere(graph, test) {
  return [...graph.cuts.keys()].filter((c) => test(graph.cuts[c]));
}
