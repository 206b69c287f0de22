'use strict';
// A graph that is much taller than wide, set in columns as a newspaper is. An edge from one column
// to another goes down to below all columns, over to the gutter before its reader's column, up, and
// down to the reader.

const TALL = 1.8;   // height by width from which on a graph is split
const LANE = 7;     // between edges that run side by side outside the columns
const GUTTER = 40;

// `ranks`: {top, bottom} from the top down. `spans`: of each edge, the ranks {from, to} it
// connects. Returns the heights at which columns begin; the first is -Infinity.
function findColumns(width, height, ranks, spans, aspect) {
  if (height < TALL * width) return [-Infinity];
  const count = Math.round(Math.sqrt(aspect * height / width));
  const crossing = new Array(ranks.length).fill(0);
  for (const {from, to} of spans) {
    for (let r = from + 1; r <= to; r++) crossing[r]++;
  }
  const begins = [-Infinity];
  let last = 0;
  for (let column = 1; column < count; column++) {
    const wanted = height * column / count;
    // An edge more across the break is worth this part of a column's height.
    const cost = (r) => Math.abs(ranks[r].top - wanted) / (height / count) + crossing[r] * 0.03;
    let best = -1;
    for (let r = last + 1; r < ranks.length; r++) {
      if (best < 0 || cost(r) < cost(best)) best = r;
    }
    if (best < 0) break;
    begins.push(ranks[best].top - 0.5);
    last = best;
  }
  return begins;
}

function columnAt(begins, y) {
  return begins.findLastIndex((begin) => y >= begin);
}

// Where columns go. `boxes`: {x, y, width, height} of all that is in them, `jumps`: {from, to}
// columns of each edge that leaves its column. Returns, for each column, what to add to x and y,
// and for the edges the place of the first lane below and above and in each gutter.
function placeColumns(begins, boxes, jumps) {
  const columns = begins.map(() => ({left: Infinity, right: -Infinity, top: Infinity, bottom: 0}));
  for (const box of boxes) {
    const column = columns[columnAt(begins, box.y + box.height / 2)];
    column.left = Math.min(column.left, box.x);
    column.right = Math.max(column.right, box.x + box.width);
    column.top = Math.min(column.top, box.y);
    column.bottom = Math.max(column.bottom, box.y + box.height);
  }
  const above = jumps.length ? 20 + jumps.length * LANE : 0;
  let x = 0, tallest = 0;
  columns.forEach((column, c) => {
    const lanes = jumps.filter(({to}) => to === c).length;
    if (c > 0) x += GUTTER + lanes * LANE;
    column.gutter = x - GUTTER / 2;
    column.dx = x - column.left;
    column.dy = above - column.top;
    x += column.right - column.left;
    tallest = Math.max(tallest, column.bottom - column.top);
  });
  return {
    columns, above: above - 16, below: above + tallest + 16, width: x,
    height: above + tallest + (jumps.length ? 20 + jumps.length * LANE : 0),
  };
}
