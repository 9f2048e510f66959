"use strict";
// A figure of curves over one axis. uPlot draws axes and zooms. The curves are drawn here, because their points have
// different positions on the axis.

// smooth is the exponential moving average that TensorBoard shows.
function smooth(values, weight) {
  let average = 0, missing = 1;
  return values.map((v) => {
    if (v === null) return v;
    average = weight * average + (1 - weight) * v;
    missing *= weight;
    return average / (1 - missing);
  });
}

// limits returns the range of values without a few extreme ones, beside which the others would not be visible, and the
// number of those.
function limits(values) {
  const sorted = values.filter((v) => v !== null && Number.isFinite(v)).sort((a, b) => a - b), n = sorted.length;
  if (n === 0) return [0, 1, 0];
  let [low, high] = [sorted[0], sorted[n - 1]];
  if (n >= 20) {
    const [a, b] = [sorted[Math.floor(n / 20)], sorted[n - 1 - Math.floor(n / 20)]], room = 10 * (b - a);
    if (room > 0) {
      if (low < a - room) low = a - room / 10;
      if (high > b + room) high = b + room / 10;
    }
  }
  return [low, high, sorted.filter((v) => v < low || v > high).length];
}

class Chart {
  constructor(key, broad) {
    this.key = key;
    this.log = null; // chosen by the reader
    this.box = h("input", { type: "checkbox", onchange: () => { this.log = this.box.checked; this.draw(true); } });
    this.title = h("h3");
    this.plot = h("div", { class: "plot", tabindex: 0, role: "img", onkeydown: (e) => this.keys(e) });
    this.legend = h("ul", { class: "legend" });
    this.caption = h("figcaption");
    this.element = h("figure", { class: broad && "broad" }, h("div", { class: "head" }, this.title,
      h("label", null, this.box, " log")), this.plot, this.legend, this.caption);
    new ResizeObserver(() => this.u?.setSize(this.size())).observe(this.plot);
  }

  size() { return { width: Math.max(this.plot.clientWidth, 120), height: this.plot.clientHeight || 240 }; }

  // show draws data: {title, axis, range, curves: [{name, color, x, y, low, high, faint, strong}], constant, marks, note}.
  show(data) {
    const text = JSON.stringify(data) + dark.matches;
    if (text === this.text) return;
    const axis = this.data?.axis;
    [this.text, this.data] = [text, data];
    sync(this.title, [document.createTextNode(clean(data.title))]);
    sync(this.legend, data.curves.filter((c) => c.name).map((c) => h("li", null,
      h("span", { class: "swatch", style: { background: color(c.color) } }), c.name)));
    this.draw(axis !== data.axis);
  }

  draw(again) {
    const { data } = this, values = data.curves.flatMap((c) => [...c.y, ...(c.low ?? []), ...(c.high ?? [])]);
    const positive = values.filter((v) => v !== null).every((v) => v > 0) && values.length > 0;
    const [low, high, beyond] = limits(values);
    const log = positive && (this.log ?? (data.constant && high / low >= 5));
    this.box.checked = log;
    this.box.disabled = !positive;
    const ends = data.curves.flatMap((c) => c.x.length ? [c.x[0], c.x[c.x.length - 1]] : []);
    const [from, to] = data.range ?? (ends.length ? [Math.min(...ends), Math.max(...ends)] : [0, 1]);
    this.ranges = { y: log ? pad(Math.log(low), Math.log(high)).map(Math.exp) : pad(low, high), x: [from, to > from ? to : from + 1] };
    this.note = [data.note, beyond > 0 && `${count(beyond)} values far outside are not shown.`].filter(Boolean).join(" ");
    this.caption.textContent = clean(this.note);
    this.plot.setAttribute("aria-label", clean(`${data.title} over ${data.axis}: ${data.curves.length} curves, from ` +
      `${num(low)} to ${num(high)}. Arrow keys move along the axis.`));
    const theme = dark.matches;
    if (!this.u || again || this.scale !== log || this.theme !== theme) {
      this.u?.destroy();
      [this.scale, this.theme] = [log, theme];
      this.u = new uPlot(this.options(log), [[from, to], [null, null]], this.plot);
    } else if (!this.zoomed) this.u.setData([[from, to], [null, null]]);
    else this.u.redraw();
  }

  options(log) {
    const axis = (label, values, extra) => ({
      stroke: css("--muted"), grid: { stroke: css("--rule"), width: 1 }, ticks: { stroke: css("--rule"), width: 1 },
      font: "12px system-ui", labelFont: "12px system-ui", label, values, ...extra,
    });
    return {
      ...this.size(), legend: { show: false }, padding: [8, 22, 0, 0],
      cursor: { drag: { x: true, y: false, setScale: true }, points: { show: false } },
      scales: {
        x: { time: false, range: (u, low, high) => this.zoomed ?? this.ranges.x },
        y: { range: () => this.ranges.y, distr: log ? 3 : 1 },
      },
      series: [{}, { paths: () => null, points: { show: false } }],
      axes: [axis(this.data.axis, (u, s) => s.map((v) => this.data.seconds ? duration(v) : si(v)), { size: 34,
        labelSize: 16, space: 70 }), axis(undefined, (u, s) => s.map((v) => v === null ? "" : num(v)), { size: 58,
        ...(log && { splits: () => decades(...this.ranges.y), filter: (u, s) => s }) })],
      hooks: {
        draw: [(u) => this.curves(u)], setCursor: [(u) => this.readout(u)],
        setSelect: [(u) => {
          if (u.select.width > 4) {
            this.zoomed = [u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x")];
          }
        }],
        ready: [(u) => u.over.addEventListener("dblclick", () => { this.zoomed = undefined; u.redraw(true, true); })],
      },
    };
  }

  // curves draws all curves, the strong ones last.
  curves(u) {
    const { ctx } = u, ratio = devicePixelRatio;
    const at = (x, y) => [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
    const trace = (x, y, constant) => {
      let before = null;
      x.forEach((v, i) => {
        if (y[i] === null || this.scale && y[i] <= 0) { before = null; return; }
        const [px, py] = at(v, y[i]);
        if (before === null) ctx.moveTo(px, py);
        else if (constant) ctx.lineTo(px, before);
        ctx.lineTo(px, py);
        before = py;
      });
    };
    ctx.save();
    ctx.beginPath();
    ctx.rect(u.bbox.left, u.bbox.top, u.bbox.width, u.bbox.height);
    ctx.clip();
    ctx.lineJoin = "round";
    for (const c of [...this.data.curves].sort((a, b) => !!a.strong - !!b.strong)) {
      const line = color(c.color);
      if (c.low) {
        ctx.beginPath();
        c.x.forEach((x, i) => { if (c.low[i] !== null) ctx.lineTo(...at(x, c.low[i])); });
        [...c.x.keys()].reverse().forEach((i) => { if (c.high[i] !== null) ctx.lineTo(...at(c.x[i], c.high[i])); });
        ctx.globalAlpha = 0.18;
        ctx.fillStyle = line;
        ctx.fill();
      }
      ctx.globalAlpha = c.faint ? 0.45 : 1;
      for (const [width, stroke] of c.strong ? [[4, css("--text")], [2.6, line]] : [[c.faint ? 1.2 : 1.7, line]]) {
        ctx.beginPath();
        trace(c.x, c.y, this.data.constant);
        ctx.lineWidth = width * ratio;
        ctx.strokeStyle = stroke;
        ctx.stroke();
      }
      if (c.y.length === 1 && c.y[0] !== null) { // a line of one point is invisible
        ctx.beginPath();
        ctx.arc(...at(c.x[0], c.y[0]), 2.5 * ratio, 0, 7);
        ctx.fillStyle = line;
        ctx.fill();
      }
    }
    ctx.restore();
    ctx.save();
    for (const m of this.data.marks ?? []) {
      ctx.fillStyle = css(m.bad ? "--bad" : "--best");
      ctx.font = `${15 * ratio}px system-ui`;
      ctx.textAlign = "center";
      ctx.textBaseline = "middle";
      const [x, y] = at(m.x, m.y ?? this.ranges.y[0]);
      ctx.fillText(m.sign, x, m.y === undefined ? u.bbox.top + u.bbox.height - 8 * ratio : y);
    }
    ctx.restore();
  }

  // readout writes the values under the cursor into the caption.
  readout(u) {
    const left = u.cursor.left;
    if (left === undefined || left < 0) {
      this.caption.textContent = clean(this.note);
      return;
    }
    const x = u.posToVal(left, "x"), near = u.posToVal(left + 6, "x") - x, parts = [];
    for (const c of this.data.curves) {
      if (c.faint && !c.say || !c.x.length || x < c.x[0] - near || x > c.x[c.x.length - 1] + near) continue;
      let i = c.x.findIndex((v) => v > x);
      i = i < 0 ? c.x.length - 1 : i;
      if (i > 0 && (this.data.constant || x - c.x[i - 1] < c.x[i] - x)) i--;
      const text = `${c.say ?? c.name ?? ""} ${num(c.y[i])}`;
      if (!parts.includes(text)) parts.push(text);
    }
    const more = parts.length - 6;
    this.caption.textContent = clean(`at ${this.data.seconds ? duration(x) : count(x)}: ` +
      parts.slice(0, 6).join(", ") + (more > 0 ? ` and ${more} more` : ""));
  }

  keys(event) {
    const { u } = this, step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!u || !step && event.key !== "Escape") return;
    event.preventDefault();
    if (event.key === "Escape") {
      this.zoomed = undefined;
      u.redraw(true, true);
      u.setCursor({ left: -10, top: -10 });
      return;
    }
    const width = u.bbox.width / devicePixelRatio, now = u.cursor.left >= 0 ? u.cursor.left : step > 0 ? 0 : width;
    u.setCursor({ left: Math.min(Math.max(now + step * width / 40, 0), width), top: 10 });
  }
}

// decades returns the ticks of a logarithmic axis.
function decades(low, high) {
  const list = [];
  for (let power = 10 ** Math.floor(Math.log10(low)); power <= high; power *= 10) {
    for (const k of high / low > 1e4 ? [1] : high / low > 8 ? [1, 2, 5] : [1, 2, 3, 4, 5, 7]) {
      if (k * power >= low && k * power <= high) list.push(k * power);
    }
  }
  return list;
}

// pad widens a range, so that curves do not touch the frame.
function pad(low, high) {
  const room = high > low ? (high - low) * 0.06 : Math.abs(low) * 0.1 || 1;
  return [low - room, high + room];
}

// charts keeps the figures of a container by key, and shows a list of data in their order.
function charts(container, list, figures) {
  const elements = list.map(({ key, broad, ...data }) => {
    if (!figures.has(key)) figures.set(key, new Chart(key, broad));
    return [figures.get(key), data];
  });
  const same = elements.length === container.children.length &&
    elements.every(([c], i) => container.children[i] === c.element);
  if (!same) container.replaceChildren(...elements.map(([c]) => c.element));
  elements.forEach(([c, data]) => c.show(data));
}
