'use strict';
// What the panel says of a value and of a cut edge.

function stepLinks(graph, steps) {
  if (steps.length === 0) return null;
  return html('ul', {class: 'plain'}, limited(steps,
      (s) => html('li', {}, link('step', s, graph.steps[s].name || graph.steps[s].kind))));
}

function opDetails(graph, k) {
  const op = graph.ops[k];
  const {trace} = graph;
  const site = trace.sites[op.site];
  const cuts = cutsWhere(graph, (cut) => cut.producer === k || cut.consumer === k);
  const operands = [...new Set(op.operands)];
  const steps = graph.stepsOf[k];
  return [
    heading(`t${k} = ${op.op}`, op.name && html('span', {class: 'given-name'}, op.name)),
    facts([
      ['name', op.name],
      ['dtype', op.dtype],
      ['shape', `(${op.shape.join(', ')})`],
      ['size', formatBytes(graph.bytes(k))],
      ['state', valueState(graph, k)],
      ['site', site && html('span', {class: 'place', title: site.file},
          `${site.file}:${site.line}`)],
      ['function', site?.function],
      ['scope', trace.scopes[op.scope]],
    ]),
    operands.length > 0 && section('operands', 'Operands', valueLinks(graph, operands)),
    graph.usersOf[k].length > 0 && section('users', 'Read by', valueLinks(graph, graph.usersOf[k])),
    steps.length > 0 && section('computed',
        steps.length > 1 ? `Computed in ${steps.length} steps` : 'Computed in',
        stepLinks(graph, steps)),
    graph.readersOf[k].length > 0 && section('loaded', 'Read from memory in',
        stepLinks(graph, graph.readersOf[k])),
    cuts.length > 0 && section('cuts', 'Cut edges', cutList(graph, cuts)),
  ];
}

function cutDetails(graph, c) {
  const cut = graph.cuts[c];
  const writer = graph.isInput(cut.producer) ? [] : [graph.writerOf[cut.producer]];
  const readers = cut.consumer >= 0 ? graph.stepsOf[cut.consumer] : [];
  return [
    heading('Cut edge', badge(cut.reason, 'cut')),
    html('p', {'class': 'note cut', 'data-reason': cut.reason}, cut.text),
    facts([
      ['producer', valueLink(graph, cut.producer)],
      ['consumer', cut.consumer >= 0 ? valueLink(graph, cut.consumer) : 'nothing in this window'],
      ['value', graph.type(cut.producer)],
      ['would save', cut.bytes > 0 ? formatBytes(cut.bytes) : ''],
      ['site', graph.siteText(cut.producer)],
    ]),
    writer[0] >= 0 && section('writer', 'Written by', stepLinks(graph, writer)),
    readers.length > 0 && section('readers', 'Read by', stepLinks(graph, readers)),
  ];
}
