'use strict';
// What the timeline shows, as lanes of bars: {begin, end, kind, label, window, step, kernel}, in
// the order of their begin.

function threadLanes(trace) {
  const lanes = new Map();
  for (const window of trace.windows) {
    const t = window.thread;
    if (!lanes.has(t)) {
      const name = trace.threads[t] ?? 'no thread';
      lanes.set(t, {name, group: 'host', bars: [], end: -Infinity});
    }
    const lane = lanes.get(t);
    // A window may hold ops that were recorded before the last one was flushed.
    const begin = Math.max(window.begin, lane.end);
    const add = (kind, from, to, label) => {
      if (to > from) lane.bars.push({begin: from, end: to, kind, label, window: window.index});
    };
    add('record', begin, window.flushed, `#${window.number}`);
    let time = Math.max(window.flushed, begin);
    for (const stage of STAGES) {
      const duration = window[`${stage}_duration`];
      add(stage, time, time + duration, stage);
      time += duration;
    }
    lane.end = time;
  }
  return [...lanes].sort(([a], [b]) => a - b).map(([, lane]) => lane);
}

// Bars that overlap go to lanes of their own.
function spread(name, group, bars) {
  const lanes = [];
  bars.sort((a, b) => a.begin - b.begin);
  for (const bar of bars) {
    let lane = lanes.find((candidate) => candidate.end <= bar.begin);
    if (!lane) {
      lane = {name: lanes.length ? `${name} (${lanes.length + 1})` : name, group, bars: []};
      lanes.push(lane);
    }
    lane.bars.push(bar);
    lane.end = bar.end;
  }
  return lanes;
}

function eventLanes(trace) {
  const byName = new Map();
  for (const {lane, name, begin, duration, kernel} of trace.events) {
    if (!byName.has(lane)) byName.set(lane, []);
    byName.get(lane).push({begin, end: begin + duration, kind: 'event', label: name, kernel});
  }
  return [...byName].sort(([a], [b]) => a.localeCompare(b, 'en', {numeric: true}))
      .flatMap(([name, bars]) => spread(name, 'compiler', bars));
}

function deviceLanes(trace) {
  const byDevice = new Map();
  for (const window of trace.windows) {
    const graph = trace.graphs[window.graph];
    if (!byDevice.has(graph.device)) byDevice.set(graph.device, []);
    const bars = byDevice.get(graph.device);
    window.steps.forEach(({begin, duration, generic}, s) => {
      const step = graph.steps[s];
      if (!step) return;
      bars.push({
        begin, end: begin + duration, kind: generic ? 'generic' : step.kind, label: step.name,
        window: window.index, step: s,
      });
    });
  }
  return [...byDevice].flatMap(([name, bars]) => spread(name || 'device', 'device', bars));
}

function makeLanes(trace) {
  return [...threadLanes(trace), ...eventLanes(trace), ...deviceLanes(trace)]
      .filter((lane) => lane.bars.length > 0);
}
