'use strict';
// The timeline: drawn on a canvas, the bars in sight only, and of those that fall on one pixel the
// first.

const AXIS_HEIGHT = 22;
const LANE_HEIGHT = 24;
const BAR_HEIGHT = 17;
const LANE_NAMES = 116;
const MAX_HEIGHT = 240;  // at first
const MIN_SPAN = 50;  // nanoseconds

class Timeline {
  // onSelect is given {window, step} or {kernel}.
  constructor(canvas, tip, trace, onSelect) {
    this.canvas = canvas;
    this.tip = tip;
    this.trace = trace;
    this.onSelect = onSelect;
    this.lanes = makeLanes(trace);
    this.selection = {};
    const bars = this.lanes.flatMap((lane) => [lane.bars[0], lane.bars.at(-1)]);
    this.begin = Math.min(...bars.map((bar) => bar.begin), Infinity);
    this.end = Math.max(...this.lanes.map((lane) => this.lastEnd(lane)), -Infinity);
    if (this.begin > this.end) [this.begin, this.end] = [0, 1];
    this.all();
    const wanted = AXIS_HEIGHT + this.lanes.length * LANE_HEIGHT + 12;
    document.body.style.setProperty('--timeline-size',
        `${Math.min(Math.max(wanted, 90), MAX_HEIGHT)}px`);
    new ResizeObserver(() => this.resize()).observe(canvas.parentElement);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
      this.colors = null;
      this.draw();
    });
    this.listen();
    this.resize();
  }

  lastEnd(lane) {
    return lane.bars.reduce((end, bar) => Math.max(end, bar.end), -Infinity);
  }

  resize() {
    const {clientWidth, clientHeight} = this.canvas.parentElement;
    this.width = clientWidth;
    this.height = Math.max(clientHeight, AXIS_HEIGHT + this.lanes.length * LANE_HEIGHT + 4);
    const ratio = devicePixelRatio || 1;
    this.canvas.width = Math.round(this.width * ratio);
    this.canvas.height = Math.round(this.height * ratio);
    this.canvas.style.height = `${this.height}px`;
    this.draw();
  }

  setSpan(from, to) {
    const whole = (this.end - this.begin) * 1.2;
    const span = Math.min(Math.max(to - from, MIN_SPAN), Math.max(whole, MIN_SPAN));
    const middle = (from + to) / 2;
    const centre = Math.min(Math.max(middle, this.begin), this.end);
    this.from = centre - span / 2;
    this.to = centre + span / 2;
    this.draw();
  }

  all() {
    const margin = (this.end - this.begin) * 0.01;
    this.setSpan(this.begin - margin, this.end + margin);
  }

  // From when a window was recorded until its last step was done.
  extentOf(window) {
    const ends = window.steps.map((run) => run.begin + run.duration);
    return [window.begin, Math.max(window.flushed + hostTime(window), ...ends)];
  }

  zoomToWindow(index) {
    const window = this.trace.windows[index];
    if (!window) return;
    const [begin, end] = this.extentOf(window);
    const margin = (end - begin) * 0.06;
    this.setSpan(begin - margin, end + margin);
  }

  select(selection) {
    this.selection = selection;
    const window = this.trace.windows[selection.window];
    if (window) {
      const [begin, end] = this.extentOf(window);
      if (end < this.from || begin > this.to) {
        const span = this.to - this.from;
        const middle = (begin + end) / 2;
        this.setSpan(middle - span / 2, middle + span / 2);
        return;
      }
    }
    this.draw();
  }

  x(time) {
    return LANE_NAMES + (time - this.from) / (this.to - this.from) * (this.width - LANE_NAMES);
  }

  time(x) {
    return this.from + (x - LANE_NAMES) / (this.width - LANE_NAMES) * (this.to - this.from);
  }

  // The first bar that ends after a time; bars of a lane don't overlap.
  firstBar(bars, time) {
    let low = 0, high = bars.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (bars[middle].end <= time) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  readColors() {
    const style = getComputedStyle(document.documentElement);
    const names = ['panel', 'text', 'muted', 'line', 'accent', 'bar-record', 'bar-plan',
      'bar-compile', 'bar-bind', 'bar-submit', 'bar-event', 'bar-kernel', 'bar-library',
      'bar-generic', 'bar-text', 'band', 'mono', 'sans'];
    this.colors = Object.fromEntries(
        names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  }

  draw() {
    if (this.pending || !this.width) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.drawNow();
    });
  }

  drawNow() {
    if (!this.colors) this.readColors();
    const context = this.canvas.getContext('2d');
    const ratio = devicePixelRatio || 1;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = this.colors.panel;
    context.fillRect(0, 0, this.width, this.height);
    if (this.lanes.length === 0) return;
    this.drawAxis(context);
    this.drawBand(context);
    this.lanes.forEach((lane, n) => this.drawLane(context, lane, n));
    this.drawNames(context);
  }

  drawAxis(context) {
    const span = this.to - this.from;
    const rough = span / Math.max(2, (this.width - LANE_NAMES) / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const tick = [1, 2, 5, 10].map((n) => n * power).find((step) => step >= rough);
    context.font = `10.5px ${this.colors.sans}`;
    context.textBaseline = 'middle';
    for (let n = Math.max(0, Math.ceil(this.from / tick)); n * tick <= this.to; n++) {
      const x = Math.round(this.x(n * tick)) + 0.5;
      context.fillStyle = this.colors.line;
      context.fillRect(x - 0.5, AXIS_HEIGHT - 5, 1, this.height);
      context.fillStyle = this.colors.muted;
      context.fillText(axisLabel(n * tick, tick), x + 4, AXIS_HEIGHT / 2);
    }
  }

  drawBand(context) {
    const window = this.trace.windows[this.selection.window];
    if (!window) return;
    const [begin, end] = this.extentOf(window);
    const x0 = Math.max(LANE_NAMES, this.x(begin)), x1 = Math.min(this.width, this.x(end));
    if (x1 < LANE_NAMES || x0 > this.width) return;
    context.fillStyle = this.colors.band;
    context.fillRect(x0, 0, Math.max(2, x1 - x0), this.height);
    context.fillStyle = this.colors.accent;
    context.fillRect(x0, 0, Math.max(2, x1 - x0), 2);
  }

  laneY(n) {
    return AXIS_HEIGHT + n * LANE_HEIGHT + (LANE_HEIGHT - BAR_HEIGHT) / 2;
  }

  drawLane(context, lane, n) {
    const y = this.laneY(n);
    context.font = `10.5px ${this.colors.sans}`;
    let drawnTo = LANE_NAMES;
    for (let b = this.firstBar(lane.bars, this.from); b < lane.bars.length; b++) {
      const bar = lane.bars[b];
      if (bar.begin > this.to) break;
      const x0 = Math.max(LANE_NAMES, this.x(bar.begin));
      const x1 = Math.min(this.width, this.x(bar.end));
      if (x1 < drawnTo + 0.5 && x1 - x0 < 0.8) continue;
      const width = Math.max(0.8, x1 - x0 - (x1 - x0 > 4 ? 1 : 0));
      drawnTo = x0 + width;
      const low = bar.kind === 'record';
      context.fillStyle = this.colors[`bar-${bar.kind}`];
      context.fillRect(x0, low ? y + 3 : y, width, low ? BAR_HEIGHT - 6 : BAR_HEIGHT);
      if (this.isSelected(bar)) {
        context.strokeStyle = this.colors.text;
        context.lineWidth = 1.5;
        context.strokeRect(x0 + 0.75, y + 0.75, Math.max(0.8, width - 1.5), BAR_HEIGHT - 1.5);
      }
      const middle = y + BAR_HEIGHT / 2 + 0.5;
      if (width > 26) this.drawLabel(context, bar.label, x0 + 5, middle, width - 9, low);
    }
  }

  isSelected(bar) {
    const {window, step, kernel} = this.selection;
    if (kernel >= 0) return bar.kernel === kernel;
    return step >= 0 && bar.window === window && bar.step === step;
  }

  drawLabel(context, label, x, y, room, faint) {
    let shown = label;
    const width = context.measureText(label).width;
    if (width > room) {
      const fitting = Math.floor(label.length * room / width) - 1;
      if (fitting < 2) return;
      shown = label.slice(0, fitting) + '…';
    }
    context.fillStyle = faint ? this.colors.text : this.colors['bar-text'];
    context.fillText(shown, x, y);
  }

  drawNames(context) {
    context.fillStyle = this.colors.panel;
    context.fillRect(0, 0, LANE_NAMES, this.height);
    context.fillStyle = this.colors.line;
    context.fillRect(LANE_NAMES - 1, 0, 1, this.height);
    context.font = `11px ${this.colors.sans}`;
    this.lanes.forEach((lane, n) => {
      const y = AXIS_HEIGHT + n * LANE_HEIGHT;
      if (n === 0 || this.lanes[n - 1].group !== lane.group) {
        context.fillStyle = this.colors.line;
        context.fillRect(0, y, this.width, 1);
      }
      context.fillStyle = this.colors.text;
      context.fillText(shorten(lane.name, 17), 12, y + LANE_HEIGHT / 2 + 0.5);
    });
  }

  barAt(x, y) {
    const lane = this.lanes[Math.floor((y - AXIS_HEIGHT) / LANE_HEIGHT)];
    if (!lane || x < LANE_NAMES) return null;
    // Small bars are hit from a few pixels away.
    const slack = (this.to - this.from) / this.width * 2;
    const time = this.time(x);
    const n = this.firstBar(lane.bars, time - slack);
    const near = [lane.bars[n], lane.bars[n + 1]].filter(
        (bar) => bar && bar.begin <= time + slack && bar.end >= time - slack);
    return near.find((bar) => bar.begin <= time && time <= bar.end) ?? near[0] ?? null;
  }

  // The middle of a bar in the page, for the test.
  locate(test) {
    for (let n = 0; n < this.lanes.length; n++) {
      const bar = this.lanes[n].bars.find(test);
      if (!bar) continue;
      const rect = this.canvas.getBoundingClientRect();
      return {
        x: rect.left + this.x((bar.begin + bar.end) / 2),
        y: rect.top + this.laneY(n) + BAR_HEIGHT / 2,
      };
    }
    return null;
  }

  listen() {
    const {canvas} = this;
    const at = (event) => {
      const rect = canvas.getBoundingClientRect();
      return [event.clientX - rect.left, event.clientY - rect.top];
    };
    let drag = null;
    canvas.addEventListener('pointerdown', (event) => {
      drag = {x: event.clientX, from: this.from, to: this.to, moved: false};
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener('pointermove', (event) => {
      if (drag) {
        const dx = event.clientX - drag.x;
        drag.moved ||= Math.abs(dx) > 3;
        if (!drag.moved) return;
        const shift = dx / (this.width - LANE_NAMES) * (drag.to - drag.from);
        this.tip.hide();
        this.setSpan(drag.from - shift, drag.to - shift);
        return;
      }
      const bar = this.barAt(...at(event));
      canvas.style.cursor = bar ? 'pointer' : '';
      if (bar) this.tip.show(event, barTip(this.trace, bar));
      else this.tip.hide();
    });
    canvas.addEventListener('pointerup', (event) => {
      const bar = drag && !drag.moved ? this.barAt(...at(event)) : null;
      drag = null;
      if (bar?.kernel >= 0) this.onSelect({kernel: bar.kernel});
      else if (bar?.window >= 0) this.onSelect({window: bar.window, step: bar.step ?? -1});
    });
    canvas.addEventListener('pointercancel', () => (drag = null));
    canvas.addEventListener('pointerleave', () => this.tip.hide());
    canvas.addEventListener('wheel', (event) => {
      if (event.shiftKey) return;
      event.preventDefault();
      const span = this.to - this.from;
      const pixels = (delta) => delta * (event.deltaMode === 1 ? 16 : 1);
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
        const shift = pixels(event.deltaX) / (this.width - LANE_NAMES) * span;
        this.setSpan(this.from + shift, this.to + shift);
        return;
      }
      const factor = Math.exp(pixels(event.deltaY) * (event.ctrlKey ? 0.01 : 0.002));
      const centre = this.time(at(event)[0]);
      this.setSpan(centre - (centre - this.from) * factor, centre + (this.to - centre) * factor);
    }, {passive: false});
  }
}

function axisLabel(time, tick) {
  const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs'], [1, 'ns']];
  const [size, unit] = units.find(([scale]) => tick >= scale * 0.999) ?? units[3];
  return `${formatCount(Math.round(time / size) || 0)} ${unit}`;
}

function barTip(trace, bar) {
  const window = trace.windows[bar.window];
  const names = {
    record: `#${window?.number} is recorded`, kernel: bar.label, library: `${bar.label} (library)`,
    generic: `${bar.label} (generic tier)`, event: `compile ${bar.label}`,
  };
  return [
    html('div', {class: 'tip-title'}, names[bar.kind] ?? `${bar.label} #${window.number}`),
    tipLine(formatTime(bar.end - bar.begin),
        html('span', {class: 'muted'}, ` at ${formatTime(bar.begin)}`)),
    window && tipLine(html('span', {class: 'muted'}, `window #${window.number}, ${window.cause}`)),
  ].filter(Boolean);
}
