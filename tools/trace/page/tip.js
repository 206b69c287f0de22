'use strict';
// The small box beside the pointer.

class Tip {
  constructor(element) {
    this.element = element;
    this.hide();
  }

  // `content`: elements or strings.
  show(event, content) {
    this.element.replaceChildren(...content);
    this.element.hidden = false;
    const {offsetWidth: width, offsetHeight: height} = this.element;
    const gap = 14;
    const x = Math.min(event.clientX + gap, innerWidth - width - 6);
    const below = event.clientY + gap;
    const y = below + height > innerHeight - 6 ? event.clientY - height - gap : below;
    this.element.style.transform = `translate(${Math.max(6, x)}px, ${Math.max(6, y)}px)`;
  }

  hide() {
    this.element.hidden = true;
  }
}

function tipLine(...content) {
  return html('div', {class: 'tip-line'}, ...content);
}

function cutTip(graph, c) {
  const cut = graph.cuts[c];
  const consumer = cut.consumer >= 0 ? graph.label(cut.consumer) : 'later windows';
  return [
    html('div', {class: 'tip-title cut'},
        `${graph.label(cut.producer)} → ${consumer}: ${cut.reason}`),
    tipLine(cut.text),
    cut.bytes > 0 && tipLine(html('span', {class: 'muted'},
        `a fusion would save ${formatBytes(cut.bytes)}`)),
  ].filter(Boolean);
}

function valueState(graph, k) {
  const op = graph.ops[k];
  if (graph.isInput(k)) return 'input: in memory before the window';
  if (op.removed) return 'removed: no kernel computes it';
  if (op.live) return 'live: a handle to it was left';
  if (graph.writerOf[k] >= 0) return 'goes through memory between steps';
  return 'temporary: never in memory';
}

function valueTip(graph, k) {
  const op = graph.ops[k];
  return [
    html('div', {class: 'tip-title'}, `t${k} = ${op.op}`,
        op.name && html('span', {class: 'name'}, ` ${op.name}`)),
    tipLine(`${graph.type(k)}, ${formatBytes(graph.bytes(k))}`),
    tipLine(html('span', {class: 'muted'}, valueState(graph, k))),
    op.site >= 0 && tipLine(html('span', {class: 'muted'}, graph.siteText(k))),
  ].filter(Boolean);
}
