'use strict';
// Makes elements, and writes numbers the way people read them.

// Attributes that are functions become listeners; null and false leave an attribute out.
function addTo(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (typeof value === 'function') {
      element.addEventListener(name, value);
    } else {
      element.setAttribute(name, value === true ? '' : value);
    }
  }
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) element.append(child);
  }
  return element;
}

function html(tag, attributes = {}, ...children) {
  return addTo(document.createElement(tag), attributes, children);
}

function svg(tag, attributes = {}, ...children) {
  return addTo(document.createElementNS('http://www.w3.org/2000/svg', tag), attributes, children);
}

function byId(id) {
  return document.getElementById(id);
}

function formatCount(n) {
  return n.toLocaleString('en-US');
}

function plural(n, noun) {
  const many = noun.endsWith('y') ? `${noun.slice(0, -1)}ies` :
      /(s|ch)$/.test(noun) ? `${noun}es` : `${noun}s`;
  return `${formatCount(n)} ${n === 1 ? noun : many}`;
}

// Three significant digits, but no exponent.
function threeDigits(x) {
  const size = Math.abs(x);
  return size >= 99.95 ? formatCount(Math.round(x)) : x.toFixed(size >= 9.995 ? 1 : 2);
}

function withUnit(x, units, step) {
  let n = 0;
  while (n + 1 < units.length && Math.abs(x) >= step * 0.9995) {
    x /= step;
    n++;
  }
  return `${n === 0 ? formatCount(Math.round(x)) : threeDigits(x)} ${units[n]}`;
}

function formatTime(ns) {
  return withUnit(ns, ['ns', 'µs', 'ms', 's'], 1000);
}

function formatBytes(bytes) {
  return withUnit(bytes, ['B', 'KiB', 'MiB', 'GiB', 'TiB'], 1024);
}

// Of amounts per nanosecond: bytes or arithmetic operations.
function formatRate(amount, ns, unit) {
  return ns > 0 ? `${threeDigits(amount / ns)} G${unit}/s` : '–';
}

function shorten(text, length) {
  return text.length <= length ? text : text.slice(0, length - 1) + '…';
}

function fileName(path) {
  return path.slice(path.lastIndexOf('/') + 1);
}

function median(sorted) {
  const middle = sorted.length >> 1;
  return sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Null if there is nothing to sum up.
function summarize(values) {
  if (values.length === 0) return null;
  const sorted = Float64Array.from(values).sort();
  return {
    count: sorted.length,
    min: sorted[0],
    median: median(sorted),
    max: sorted[sorted.length - 1],
  };
}

// The width of text in the graph, which is drawn in the page's monospaced font.
const textWidth = (() => {
  const context = document.createElement('canvas').getContext('2d');
  const family = getComputedStyle(document.documentElement).getPropertyValue('--mono');
  const widths = new Map();
  return (text, size, weight = 400) => {
    const font = `${weight} ${size}px ${family}`;
    if (!widths.has(font)) widths.set(font, new Map());
    const known = widths.get(font);
    if (!known.has(text)) {
      context.font = font;
      known.set(text, context.measureText(text).width);
    }
    return known.get(text);
  };
})();
