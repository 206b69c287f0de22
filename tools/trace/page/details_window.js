'use strict';
// What the panel says of the whole trace and of a window.

const HOT_STEPS = 20;

// Steps of all graphs by the time that they took together.
function hotSteps(trace) {
  const found = [];
  for (const graph of trace.graphs) {
    graph.steps.forEach((step, s) => {
      let time = 0;
      for (const window of graph.windows) time += window.steps[s]?.duration ?? 0;
      if (time > 0) found.push({graph, step, s, time, runs: graph.windows.length});
    });
  }
  return found.sort((a, b) => b.time - a.time);
}

// As long as its part of the longest one; the share of all is said when asked for.
function shareBar(time, longest, all) {
  return html('span', {class: 'share', title: `${threeDigits(time / all * 100)} % of the time`},
      html('span', {style: `width: ${Math.max(2, Math.round(time / longest * 100))}%`}));
}

// What was given up for want of memory, and computed again: of all these windows.
function evictions(windows) {
  const sum = (member) => windows.reduce((total, window) => total + window[member], 0);
  const evicted = sum('values_evicted'), recomputed = sum('values_recomputed');
  return evicted + recomputed === 0 ? '' :
    `${plural(evicted, 'value')}, ${formatBytes(sum('bytes_evicted'))}; ` +
    `${formatCount(recomputed)} computed again`;
}

function traceDetails(trace) {
  const hits = trace.windows.filter((window) => window.plan_hit).length;
  const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);
  const device = sum(trace.windows.map(deviceTime));
  const elided = sum(trace.windows.map((window) => trace.graphs[window.graph].bytes_elided));
  const origins = new Map();
  for (const {origin} of trace.kernels) {
    if (origin) origins.set(origin, (origins.get(origin) ?? 0) + 1);
  }
  const hot = hotSteps(trace);
  const lost = trace.windows_recorded - trace.windows.length;
  return [
    heading(trace.program || 'Trace'),
    trace.windows.length === 0 && html('p', {class: 'note'}, 'No window was flushed.'),
    facts([
      ['windows', formatCount(trace.windows.length) +
          (lost > 0 ? ` (the newest of ${formatCount(trace.windows_recorded)})` : '')],
      ['plans', `${formatCount(hits)} hits, ${formatCount(trace.windows.length - hits)} misses`],
      ['distinct graphs', formatCount(trace.graphs.length)],
      ['kernels', [...origins].map(([origin, n]) => `${formatCount(n)} ${origin}`).join(', ') ||
          formatCount(trace.kernels.length)],
      ['host time', formatTime(sum(trace.windows.map(hostTime)))],
      ['device time', device > 0 ? formatTime(device) : ''],
      ['bytes elided', formatBytes(elided)],
      ['given up', evictions(trace.windows)],
      ['threads', trace.threads.join(', ')],
      ['deterministic', trace.deterministic ? 'yes' : ''],
      ['build', trace.build && html('div', {class: 'lines'}, trace.build)],
    ]),
    hot.length > 0 && section('hot', 'Where the device time went',
        table('hot', ['step', 'in all', 'runs', ''], limited(hot, ({graph, step, s, time, runs}) =>
          html('tr', {},
              html('td', {}, html('button', {
                'class': 'link', 'data-goto': `graph ${graph.index} ${s}`,
              }, step.name), html('span', {class: 'muted'}, ` step ${s + 1}`)),
              html('td', {class: 'n'}, formatTime(time)),
              html('td', {class: 'n'}, formatCount(runs)),
              html('td', {}, shareBar(time, hot[0].time, device))), HOT_STEPS))),
    allWords(),
  ];
}

function stagesOf(window, graph) {
  const stages = [['record', Math.max(0, window.flushed - window.begin)],
    ...STAGES.map((stage) => [stage, window[`${stage}_duration`]])];
  const whole = Math.max(1, ...stages.map(([, time]) => time));
  return html('div', {class: 'stages'}, stages.map(([stage, time]) => [
    html('span', {}, stage),
    html('span', {class: 'n', 'data-stage': stage}, formatTime(time)),
    html('span', {class: 'track'},
        html('span', {class: `bar ${stage}`, style: `width: ${(time / whole * 100).toFixed(2)}%`})),
  ]));
}

function windowDetails(graph, window) {
  const device = deviceTime(window);
  const thread = graph.trace.threads[window.thread];
  const alike = graph.windows.length;
  const all = graph.medianOfAll();
  const known = all > 0;
  const steps = [...graph.steps.keys()];
  const longest = Math.max(...steps.map((s) => graph.medianOf(s)));
  const row = (s) => {
    const step = graph.steps[s];
    const time = graph.medianOf(s);
    return html('tr', {'class': 'body', 'data-goto': `step ${s}`, 'data-step-row': s},
        html('td', {}, html('span', {class: `step-name ${step.kind}`}, step.name)),
        known && html('td', {class: 'n'}, formatTime(time)),
        known && html('td', {}, shareBar(time, longest, all)),
        html('td', {class: 'n'}, formatBytes(step.bytes_read + step.bytes_written)),
        known && html('td', {class: 'n'},
            formatRate(step.bytes_read + step.bytes_written, time, 'B').replace(' GB/s', '')));
  };
  // Steps that repeat, as those of a loop's body, stand once.
  const keys = graph.steps.map(
      ({kind, name, bytes_read, bytes_written}) => `${kind} ${name} ${bytes_read} ${bytes_written}`);
  const stepRows = ({begin, length, count}, row) => {
    const all = [...Array(length * count).keys()].map((k) => row(begin + k));
    if (count === 1) return all.length > LIST_LIMIT ? limited(all, (made) => made) : all;
    const time = steps.slice(begin, begin + length * count).reduce(
        (sum, s) => sum + graph.medianOf(s), 0);
    const line = html('tr', {'class': 'repeat', 'data-repeat': count},
        html('td', {colspan: 5}, `${formatCount(count)} times ` +
            (length === 1 ? 'this step' : `these ${formatCount(length)} steps`) +
            (known ? `, ${formatTime(time)} in all ` : ' '),
            unfolding(length * (count - 1), () => {
              line.parentElement.querySelector(`[data-step-row="${begin + length - 1}"]`).after(
                  ...all.slice(length));
              return [];
            })));
    return [line, ...all.slice(0, length)];
  };
  return [
    heading(`Window #${window.number}`, badge(window.cause),
        badge(window.plan_hit ? 'plan hit' : 'plan miss', window.plan_hit ? 'good' : 'bad')),
    window.cause_text && html('p', {class: 'note', 'data-cause': window.cause}, window.cause_text),
    facts([
      ['ops', formatCount(graph.recorded)],
      ['steps', stepCount(graph)],
      ['elided', graph.elided()],
      ['given up', evictions([window])],
      ['device', graph.device],
      ['device time', device === null ? 'not known' : formatTime(device)],
      ['thread', thread],
      ['flushed at', formatTime(window.flushed)],
      ['same graph', alike > 1 ? plural(alike, 'window') : ''],
    ]),
    section('stages', 'Host time', stagesOf(window, graph)),
    section('steps', known && alike > 1 ? `Steps, median of ${plural(alike, 'window')}` : 'Steps',
        table('steps', known ? ['step', 'time', '', 'bytes', 'GB/s'] : ['step', 'bytes'],
            limited(findRepeats(keys), (part) => stepRows(part, row)).flat())),
    graph.cuts.length > 0 && section('cuts', `Cut edges (${formatCount(graph.cuts.length)})`,
        cutList(graph, [...graph.cuts.keys()])),
  ];
}
