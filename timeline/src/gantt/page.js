"use strict";
// The data in columns, as `data.rs` writes it. Times are ns since the 0 of the axis.
const data = JSON.parse(document.getElementById("data").textContent);
const { about, kinds, lanes, marks, arrows, sums, texts } = data;
const count = data.duration.length;
const start = new Float64Array(count), end = new Float64Array(count);
for (let i = 0, at = 0; i < count; i++) {
  at += data.start[i];
  start[i] = at;
  end[i] = at + data.duration[i];
}
// Items by lane, by start. Items of one lane never overlap.
const byLane = lanes.map(() => []);
for (let i = 0; i < count; i++) byLane[data.lane[i]].push(i);

const canvas = document.getElementById("picture"), pen = canvas.getContext("2d");
const tip = document.getElementById("tip"), find = document.getElementById("find");
const LEFT = 176, RIGHT = 16, TOP = 26, MARK = 19, CHART = 54, GAP = 10;
const markLanes = [...new Set(marks.map((mark) => mark.lane))];
const markColours = { "side window": "#6c7a91", "main dominator": "#4a5870", "overlap": "#b8860b", "barrier": "#d23f57" };
const charts = sums.length ? [["cube blocks", 1, "#3b6fd4"], ["vector blocks", 2, "#1f8a70"]] : [];

const SPAN = about.last - about.first;
let view = { from: about.first, to: about.last };
let scroll = 0, width = 0, height = 0, found = null, pointed = -1, range = null;

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const plot = () => width - LEFT - RIGHT;
const x = (ns) => LEFT + ((ns - view.from) / (view.to - view.from)) * plot();
const ns = (px) => view.from + ((px - LEFT) / plot()) * (view.to - view.from);
const lanesTop = () => TOP + markLanes.length * MARK + (markLanes.length ? 6 : 0);
const chartsHeight = () => charts.length * (CHART + GAP);
const lanesRoom = () => height - lanesTop() - chartsHeight() - 4;
const lanesHeight = () => Math.min(lanesRoom(), lanes.length * laneHeight());
const chartsTop = () => lanesTop() + lanesHeight() + GAP;
const laneHeight = () => Math.max(18, Math.min(40, Math.floor(lanesRoom() / Math.max(1, lanes.length))));
const laneY = (lane) => lanesTop() + lane * laneHeight() - scroll;

/** The first item of a lane that ends after a time. */
function firstAfter(items, time) {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (end[items[middle]] <= time) low = middle + 1; else high = middle;
  }
  return low;
}

function length(ns) {
  if (ns >= 1e7) return (ns / 1e6).toFixed(3) + " ms";
  return Math.floor(ns / 1000) + "." + String(Math.round(ns) % 1000).padStart(3, "0") + " µs";
}

function ticks() {
  const wanted = Math.max(1, (view.to - view.from) / (plot() / 110)), power = 10 ** Math.floor(Math.log10(wanted));
  const step = Math.max(1, [1, 2, 5, 10].map((n) => n * power).find((n) => n >= wanted));
  const [unit, name] = step >= 1e6 ? [1e6, "ms"] : step >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  const all = [];
  for (let at = Math.ceil(view.from / step) * step; at <= view.to; at += step) {
    all.push([at, (at / unit).toLocaleString("en", { maximumFractionDigits: 3 }).replaceAll(",", "\u2009") + " " + name]);
  }
  return all;
}

/** Diagonal lines for bars in which a stream waits. */
const hatch = (() => {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const on = tile.getContext("2d");
  on.fillStyle = "rgb(210 63 87 / .14)";
  on.fillRect(0, 0, 8, 8);
  on.strokeStyle = "rgb(210 63 87 / .8)";
  on.lineWidth = 2;
  for (const shift of [-8, 0, 8]) {
    on.beginPath();
    on.moveTo(shift, 8);
    on.lineTo(shift + 8, 0);
    on.stroke();
  }
  return pen.createPattern(tile, "repeat");
})();
const fills = kinds.map((kind) => (kind.wait ? hatch : kind.colour));

function label(text, left, top, room) {
  const visible = Math.min(room, width - RIGHT - left) - 8;
  if (visible < 22) return;
  let shown = text;
  const fits = Math.floor(visible / 5.9);
  if (shown.length > fits) shown = fits < 4 ? "" : shown.slice(0, fits - 1) + "…";
  pen.fillText(shown, left + 4, top);
}

function draw() {
  const ratio = window.devicePixelRatio || 1, box = canvas.getBoundingClientRect();
  [width, height] = [box.width, box.height];
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = '11px system-ui, -apple-system, "Segoe UI", sans-serif';
  scroll = Math.max(0, Math.min(scroll, lanes.length * laneHeight() - lanesRoom()));
  const theme = {};
  for (const name of ["page", "text", "muted", "line", "shade", "found"]) theme[name] = colour("--" + name);

  const high = laneHeight(), bottom = lanesTop() + lanesHeight();
  pen.fillStyle = theme.shade;
  clip(0, lanesTop(), width, bottom - lanesTop(), () => {
    for (let lane = 0; lane < lanes.length; lane += 2) pen.fillRect(8, laneY(lane), width - 16, high);
  });
  pen.fillStyle = theme.muted;
  pen.strokeStyle = theme.line;
  pen.textAlign = "center";
  for (const [at, text] of ticks()) {
    const px = Math.round(x(at)) + 0.5;
    pen.fillText(text, px, 14);
    pen.beginPath();
    pen.moveTo(px, TOP - 6);
    pen.lineTo(px, chartsTop() + chartsHeight());
    pen.stroke();
  }
  drawMarks(theme, bottom);
  const drawn = drawLanes(theme, bottom, high);
  drawCharts(theme);
  if (range) {
    pen.fillStyle = "rgb(59 111 212 / .18)";
    pen.fillRect(Math.min(...range), TOP - 6, Math.abs(range[1] - range[0]), height);
  }
  document.getElementById("range").textContent =
    `${length(view.from)} to ${length(view.to)}: ${length(view.to - view.from)} of ${length(SPAN)}`;
  document.body.dataset.drawn = drawn;
}

function clip(left, top, wide, high, inside) {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, wide, high);
  pen.clip();
  inside();
  pen.restore();
}

function drawMarks(theme, bottom) {
  pen.textAlign = "right";
  pen.fillStyle = theme.muted;
  markLanes.forEach((lane, row) => pen.fillText(lane, LEFT - 10, TOP + row * MARK + 11));
  pen.textAlign = "left";
  clip(LEFT, 0, plot(), height, () => {
    for (const mark of marks) {
      const left = x(mark.start), wide = Math.max(1, x(mark.start + mark.duration) - left);
      if (left > width || left + wide < LEFT) continue;
      if (mark.lane === "overlap") {
        pen.fillStyle = "rgb(230 180 34 / .17)";
        pen.fillRect(left, lanesTop(), wide, bottom - lanesTop());
      }
      const top = TOP + markLanes.indexOf(mark.lane) * MARK;
      pen.fillStyle = markColours[mark.lane] || theme.muted;
      pen.fillRect(left, top, wide, 14);
      pen.fillStyle = "#fff";
      label(mark.text, Math.max(left, LEFT), top + 11, left + wide - Math.max(left, LEFT));
    }
  });
}

/** Draws what is in view; whatever is narrower than a pixel shares it with its neighbours. Returns the number of bars. */
function drawLanes(theme, bottom, high) {
  let drawn = 0;
  clip(0, lanesTop(), width, bottom - lanesTop(), () => {
    lanes.forEach((lane, index) => {
      const top = laneY(index);
      if (top + high < lanesTop() || top > bottom) return;
      pen.textAlign = "right";
      pen.fillStyle = theme.text;
      pen.fillText(lane.name.replace("Communication (no stream)", "no stream"), LEFT - 10, top + high / 2 + 4);
      if (lane.note) {
        pen.textAlign = "left";
        pen.fillStyle = theme.muted;
        pen.fillText(lane.note, 16, top + high / 2 + 4);
      }
    });
    pen.textAlign = "left";
    clip(LEFT, lanesTop(), plot(), bottom - lanesTop(), () => {
      byLane.forEach((items, lane) => {
        const top = laneY(lane) + 3;
        if (top + high >= lanesTop() && top <= bottom) drawn += drawLane(items, top, high - 6, theme);
      });
      drawArrows(high);
    });
  });
  return drawn;
}

function drawLane(items, top, high, theme) {
  let drawn = 0, pixel = -1;
  for (let at = firstAfter(items, view.from); at < items.length; at++) {
    const item = items[at];
    if (start[item] > view.to) break;
    const left = x(start[item]), right = x(end[item]), wide = right - left;
    // One bar a pixel is enough; the longest operators come through because they are wider.
    if (wide < 1 && Math.floor(left) === pixel) continue;
    pixel = Math.floor(Math.max(left, right - 1e-6));
    const hit = found && found[item];
    pen.globalAlpha = found && !hit ? 0.25 : 1;
    pen.fillStyle = fills[data.kind[item]];
    pen.fillRect(left, top, Math.max(0.8, wide > 3 ? wide - 0.6 : wide), high);
    if (hit) {
      pen.fillStyle = theme.found;
      pen.fillRect(left, top + high - 3, Math.max(2, wide), 3);
    }
    if (item === pointed) {
      pen.strokeStyle = theme.text;
      pen.lineWidth = 1.5;
      pen.strokeRect(left, top, Math.max(1, wide), high);
      pen.lineWidth = 1;
    }
    if (wide > 24 && !kinds[data.kind[item]].wait) {
      pen.fillStyle = "#fff";
      const from = Math.max(left, LEFT);
      label(texts[data.type[item]] || texts[data.name[item]], from, top + high / 2 + 4, right - from);
    }
    drawn++;
  }
  pen.globalAlpha = 1;
  return drawn;
}

function drawArrows(high) {
  const shown = arrows.filter(([, leaves, , arrives]) => arrives >= view.from && leaves <= view.to);
  // More than that hides what it is to show; zooming in brings them back.
  if (shown.length > 400) return;
  pen.strokeStyle = pen.fillStyle = "rgb(210 63 87 / .85)";
  for (const [from, leaves, to, arrives] of shown) {
    const down = to > from, left = x(leaves), right = x(arrives);
    const top = laneY(from) + (down ? high - 3 : 3), bottom = laneY(to) + (down ? 3 : high - 3);
    // A bend in a short arrow would point back.
    const bend = right - left > 14 ? (right - left) / 2 : 0, turn = bend ? 0 : Math.atan2(bottom - top, right - left);
    pen.beginPath();
    pen.moveTo(left, top);
    pen.bezierCurveTo(left + bend, top, right - bend, bottom, right, bottom);
    pen.stroke();
    pen.save();
    pen.translate(right, bottom);
    pen.rotate(turn);
    pen.beginPath();
    pen.moveTo(0, 0);
    pen.lineTo(-6, -3);
    pen.lineTo(-6, 3);
    pen.fill();
    pen.restore();
  }
}

function drawCharts(theme) {
  charts.forEach(([name, column, fill], row) => {
    const top = chartsTop() + row * (CHART + GAP), bottom = top + CHART;
    const cap = data.cores && data.cores[column - 1];
    const peak = sums.reduce((most, sum) => Math.max(most, sum[column]), 0), most = Math.max(peak, cap || 1);
    pen.textAlign = "right";
    pen.fillStyle = theme.text;
    pen.fillText(name, LEFT - 10, top + 22);
    pen.fillStyle = theme.muted;
    pen.fillText(`up to ${peak}` + (cap ? `; chip: ${cap}` : ""), LEFT - 10, top + 37);
    pen.textAlign = "left";
    clip(LEFT, top, plot(), CHART + 1, () => {
      pen.fillStyle = fill;
      pen.globalAlpha = 0.75;
      chartColumns(column).forEach((value, px) => {
        const high = (value / most) * CHART;
        if (high > 0) pen.fillRect(LEFT + px, bottom - high, 1, high);
      });
      pen.globalAlpha = 1;
      pen.strokeStyle = theme.muted;
      if (cap) {
        const line = bottom - (cap / most) * CHART + 0.5;
        pen.setLineDash([3, 3]);
        pen.beginPath();
        pen.moveTo(LEFT, line);
        pen.lineTo(width - RIGHT, line);
        pen.stroke();
        pen.setLineDash([]);
      }
      pen.strokeStyle = theme.line;
      pen.strokeRect(LEFT, top + 0.5, plot(), CHART);
    });
  });
}

/** The average of a core sum over each pixel. */
function chartColumns(column) {
  const columns = new Float64Array(Math.ceil(plot()));
  let low = 0, high = sums.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sums[middle][0] <= view.from) low = middle + 1; else high = middle;
  }
  for (let at = Math.max(0, low - 1); at < sums.length && sums[at][0] < view.to; at++) {
    if (!sums[at][column]) continue;
    const left = Math.max(0, x(sums[at][0]) - LEFT);
    const right = Math.min(columns.length, (at + 1 < sums.length ? x(sums[at + 1][0]) : left + LEFT) - LEFT);
    for (let px = Math.floor(left); px < right; px++) {
      columns[px] += sums[at][column] * (Math.min(right, px + 1) - Math.max(left, px));
    }
  }
  return columns;
}

let waiting = false;
function redraw() {
  if (waiting) return;
  waiting = true;
  requestAnimationFrame(() => {
    waiting = false;
    draw();
  });
}

function show(from, to) {
  const least = 20, span = Math.min(SPAN, Math.max(least, to - from));
  from = Math.max(about.first, Math.min(from, about.last - span));
  view = { from, to: from + span };
  const all = span >= SPAN;
  history.replaceState(null, "", all ? "#" : `#${Math.round(from)}-${Math.round(from + span)}`);
  redraw();
}

function zoom(factor, px) {
  const at = ns(px);
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

/** The item under a point, or -1. An item narrower than a pixel is found within three. */
function itemAt(px, py) {
  const lane = Math.floor((py - lanesTop() + scroll) / laneHeight());
  if (px < LEFT || py < lanesTop() || py > lanesTop() + lanesRoom() || !byLane[lane]) return -1;
  const items = byLane[lane], at = firstAfter(items, ns(px));
  const near = [at - 1, at].filter((i) => i >= 0 && i < items.length).map((i) => items[i]);
  const far = (item) => Math.max(x(start[item]) - px, px - x(end[item]), 0);
  near.sort((a, b) => far(a) - far(b));
  return near.length && far(near[0]) <= 3 ? near[0] : -1;
}

function line(name, value) {
  const row = document.createElement("div"), head = document.createElement("span");
  head.textContent = name;
  row.append(head, value);
  return row;
}

function describe(item) {
  const lane = lanes[data.lane[item]], kind = kinds[data.kind[item]];
  const title = document.createElement("b");
  title.textContent = texts[data.name[item]];
  const rows = [title];
  if (!kind.wait) rows.push(line("type", `${texts[data.type[item]]} (${kind.name})`));
  rows.push(line("on", lane.name), line("start", length(start[item])), line("took", length(end[item] - start[item])));
  if (data.work[item]) rows.push(line("cores worked", length(data.work[item])));
  const blocks = [data.cube[item] && data.cube[item] + " cube", data.vector[item] && data.vector[item] + " vector"];
  if (blocks.some(Boolean)) rows.push(line("blocks", blocks.filter(Boolean).join(", ")));
  if (texts[data.shapes[item]] && !kind.wait) rows.push(line("inputs", texts[data.shapes[item]]));
  return rows;
}

function markAt(px, py) {
  const row = Math.floor((py - TOP) / MARK);
  return marks.find((mark) => markLanes.indexOf(mark.lane) === row && x(mark.start) - 2 <= px && px <= x(mark.start + mark.duration) + 2);
}

function point(event) {
  const box = canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
  const item = itemAt(px, py), mark = item < 0 && px >= LEFT && markAt(px, py);
  if (item !== pointed) {
    pointed = item;
    redraw();
  }
  tip.hidden = item < 0 && !mark;
  if (tip.hidden) return;
  if (mark) {
    const title = document.createElement("b");
    title.textContent = mark.text;
    tip.replaceChildren(title, line(mark.lane, `${length(mark.start)} to ${length(mark.start + mark.duration)}`), line("long", length(mark.duration)));
  } else tip.replaceChildren(...describe(item));
  const wide = tip.offsetWidth, tall = tip.offsetHeight;
  tip.style.left = Math.min(event.clientX + 14, innerWidth - wide - 8) + "px";
  tip.style.top = (event.clientY + 18 + tall > innerHeight ? event.clientY - tall - 10 : event.clientY + 18) + "px";
}

canvas.addEventListener("wheel", (event) => {
  event.preventDefault();
  const px = event.clientX - canvas.getBoundingClientRect().left;
  if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
    const by = (event.deltaX / plot()) * (view.to - view.from);
    show(view.from + by, view.to + by);
  } else if (event.altKey) {
    scroll += event.deltaY;
    redraw();
  } else zoom(Math.exp(Math.max(-50, Math.min(50, event.deltaY)) * 0.006), Math.max(LEFT, px));
}, { passive: false });

let held = null;
canvas.addEventListener("pointerdown", (event) => {
  canvas.setPointerCapture(event.pointerId);
  held = { px: event.offsetX, py: event.offsetY, ...view, scroll };
  if (event.shiftKey) range = [event.offsetX, event.offsetX];
  else canvas.classList.add("held");
});
canvas.addEventListener("pointermove", (event) => {
  if (range) {
    range[1] = event.offsetX;
    redraw();
  } else if (held) {
    const by = ((held.px - event.offsetX) / plot()) * (held.to - held.from);
    scroll = held.scroll + held.py - event.offsetY;
    show(held.from + by, held.to + by);
  } else point(event);
});
canvas.addEventListener("pointerup", () => {
  if (range && Math.abs(range[1] - range[0]) > 4) show(ns(Math.min(...range)), ns(Math.max(...range)));
  [held, range] = [null, null];
  canvas.classList.remove("held");
  redraw();
});
canvas.addEventListener("pointerleave", () => {
  tip.hidden = true;
  pointed = -1;
  redraw();
});
canvas.addEventListener("dblclick", () => show(about.first, about.last));
document.getElementById("fit").addEventListener("click", () => show(about.first, about.last));

addEventListener("keydown", (event) => {
  if (event.target === find || event.ctrlKey || event.metaKey) return;
  const middle = LEFT + plot() / 2, step = (view.to - view.from) / 5;
  const keys = {
    w: () => zoom(0.7, middle), "+": () => zoom(0.7, middle), s: () => zoom(1 / 0.7, middle), "-": () => zoom(1 / 0.7, middle),
    a: () => show(view.from - step, view.to - step), ArrowLeft: () => show(view.from - step, view.to - step),
    d: () => show(view.from + step, view.to + step), ArrowRight: () => show(view.from + step, view.to + step),
    ArrowDown: () => { scroll += 40; redraw(); }, ArrowUp: () => { scroll -= 40; redraw(); },
    0: () => show(about.first, about.last), "/": () => { event.preventDefault(); find.focus(); },
  };
  if (keys[event.key]) keys[event.key]();
});

find.addEventListener("input", () => {
  const wanted = find.value.trim().toLowerCase();
  const hits = texts.map((text) => text.toLowerCase().includes(wanted));
  found = wanted ? data.name.map((name, i) => hits[name] || hits[data.type[i]] || hits[data.shapes[i]]) : null;
  document.body.dataset.found = found ? found.filter(Boolean).length : "";
  redraw();
});

const used = new Set(data.kind);
document.getElementById("title").textContent = document.title = about.title || "timeline";
document.getElementById("verdict").textContent = about.verdict;
document.getElementById("legend").replaceChildren(...kinds.filter((_, kind) => used.has(kind)).map((kind) => {
  const entry = document.createElement("span"), patch = document.createElement("i");
  patch.style.background = kind.wait ? `repeating-linear-gradient(135deg, ${kind.colour} 0 2px, transparent 2px 5px)` : kind.colour;
  entry.append(patch, kind.name);
  return entry;
}), `${count.toLocaleString("en").replaceAll(",", "\u2009")} bars`);

const asked = /^#(\d+)-(\d+)$/.exec(location.hash);
if (asked && +asked[1] < +asked[2]) view = { from: +asked[1], to: Math.min(+asked[2], about.last) };
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
// Before the next frame, so that the old picture is never stretched to the new size.
new ResizeObserver(draw).observe(canvas);
draw();
