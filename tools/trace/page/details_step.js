'use strict';
// What the panel says of a step and of a kernel.

function timesTable(graph, s, window) {
  const times = graph.times(s);
  if (!times.all) return html('p', {class: 'muted'}, 'No window says how long it took.');
  const row = (label, sum) => sum && html('tr', {'data-tier': label}, html('td', {}, label),
      [sum.min, sum.median, sum.max].map((time) => html('td', {class: 'n'}, formatTime(time))),
      html('td', {class: 'n'}, formatCount(sum.count)));
  const run = window.steps[s];
  return [
    table('times', ['tier', 'min', 'median', 'max', 'runs'],
        [row('compiled', times.compiled), row('generic', times.generic)].filter(Boolean)),
    run && html('p', {class: 'muted'}, `in this window ${formatTime(run.duration)}` +
        (run.generic ? ', on the generic tier: its kernel was not compiled yet' : '')),
  ];
}

// The lines of the program that a step's ops come from.
function callSites(graph, step) {
  const sites = new Map();
  for (const k of step.ops) {
    const {site} = graph.ops[k];
    if (!sites.has(site)) sites.set(site, []);
    sites.get(site).push(k);
  }
  const known = [...sites].filter(([site]) => site >= 0);
  if (known.length === 0) return null;
  return section('sites', 'Call sites', html('ul', {class: 'sites'}, limited(known, ([s, ops]) => {
    const site = graph.trace.sites[s];
    return html('li', {'data-site': `${site.file}:${site.line}`},
        html('div', {class: 'line'},
            html('span', {class: 'place', title: `${site.file}:${site.line}`},
                `${fileName(site.file)}:${site.line}`),
            html('span', {class: 'muted'}, site.function)),
        html('div', {class: 'values'}, limited(ops, (k) => html('button', {
          'class': `value${graph.ops[k].live ? ' live' : ''}`, 'data-goto': `op ${k}`,
          'title': graph.type(k),
        }, `${graph.ops[k].op} `, html('span', {class: 'tag'}, `t${k}`)), 12)));
  })));
}

function kernelFacts(kernel) {
  const known = (value) => (value >= 0 ? formatCount(value) : '');
  return facts([
    ['origin', kernel.origin || 'not compiled'],
    ['compile time', kernel.compile_duration > 0 ? formatTime(kernel.compile_duration) : ''],
    ['registers', known(kernel.registers)],
    ['spilled', kernel.spilled_bytes >= 0 ? formatBytes(kernel.spilled_bytes) : ''],
    ['shared', kernel.shared_bytes >= 0 ? formatBytes(kernel.shared_bytes) : ''],
    ['key', html('span', {class: 'place'}, kernel.key)],
  ]);
}

function kernelCode(kernel) {
  return [
    code('program', 'Program', kernel.program),
    code('source', `Source${kernel.language ? `, ${kernel.language}` : ''}`, kernel.source),
    code('assembly', 'Assembly', kernel.assembly),
  ];
}

function kernelSections(trace, step) {
  const distinct = new Map();
  for (const k of step.kernels) distinct.set(k, (distinct.get(k) ?? 0) + 1);
  if (distinct.size === 0) return null;
  if (distinct.size === 1) {
    const [[k, times]] = distinct;
    const kernel = trace.kernels[k];
    return section('kernels', times > 1 ? `Kernel, ${times} times side by side` : 'Kernel',
        html('div', {'data-kernel': k}, kernelFacts(kernel), kernelCode(kernel)));
  }
  return section('kernels', `Kernels (${step.kernels.length} side by side)`,
      limited([...distinct], ([k, times]) => {
        const kernel = trace.kernels[k];
        return html('details', {'class': 'kernel', 'data-kernel': k},
            html('summary', {}, kernel.name, times > 1 ? ` ×${times}` : '',
                html('span', {class: 'muted'}, ` ${kernel.key.slice(0, 8)}`)),
            kernelFacts(kernel), kernelCode(kernel));
      }));
}

function stepDetails(graph, s, window) {
  const step = graph.steps[s];
  const bytes = step.bytes_read + step.bytes_written;
  const time = graph.medianOf(s);
  const share = graph.medianOfAll() > 0 ? time / graph.medianOfAll() : 0;
  const isCut = new Set(graph.edges.filter((edge) => edge.cut >= 0 && edge.to === s)
      .map((edge) => edge.value));
  const isCutAfter = new Set([
    ...graph.edges.filter((edge) => edge.cut >= 0 && edge.from === s).map((edge) => edge.value),
    ...step.ownCuts.map((c) => graph.cuts[c].producer)]);
  const cuts = cutsWhere(graph, (cut) => step.computes.has(cut.producer) ||
      step.computes.has(cut.consumer));
  return [
    heading(step.name || step.kind, badge(step.kind === 'library' ? 'library call' : 'kernel',
        step.kind)),
    html('p', {class: 'muted'},
        `step ${s + 1} of ${graph.steps.length} on ${graph.device || 'its device'}, ` +
        plural(step.ops.length, 'op')),
    section('figures', 'Time', timesTable(graph, s, window), facts([
      ['of the window', share > 0 ? `${threeDigits(share * 100)} %` : ''],
      ['read', formatBytes(step.bytes_read)],
      ['written', formatBytes(step.bytes_written)],
      ['bandwidth', time > 0 ? formatRate(bytes, time, 'B') : ''],
      ['arithmetic', time > 0 && step.flops > 0 ? formatRate(step.flops, time, 'FLOP') : ''],
      ['ops per byte', bytes > 0 && step.flops > 0 ? threeDigits(step.flops / bytes) : ''],
    ])),
    step.inputs.length > 0 && section('reads', `Reads (${step.inputs.length})`,
        valueLinks(graph, step.inputs, (k) => isCut.has(k))),
    step.outputs.length > 0 && section('writes', `Writes (${step.outputs.length})`,
        valueLinks(graph, step.outputs, (k) => isCutAfter.has(k))),
    cuts.length > 0 && section('cuts', `Cut edges (${cuts.length})`, cutList(graph, cuts)),
    callSites(graph, step),
    kernelSections(graph.trace, step),
  ];
}

function kernelDetails(trace, k) {
  const kernel = trace.kernels[k];
  const users = [];
  for (const graph of trace.graphs) {
    graph.steps.forEach((step, s) => {
      if (step.kernels.includes(k)) users.push({graph, step, s});
    });
  }
  return [
    heading(kernel.name || 'kernel', badge('kernel', 'kernel')),
    html('div', {'data-kernel': k}, kernelFacts(kernel), kernelCode(kernel)),
    users.length > 0 && section('users', 'Steps that run it', html('ul', {class: 'plain'},
        limited(users, ({graph, step, s}) => html('li', {}, html('button', {
          'class': 'link', 'data-goto': `graph ${graph.index} ${s}`,
        }, step.name), html('span', {class: 'muted'},
            ` in ${plural(graph.windows.length, 'window')}`))))),
  ];
}
