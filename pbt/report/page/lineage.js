"use strict";
// The picture of lineages: a lane for every member over its own environment steps, and a curve from the lane of a copied
// member to the lane of the member that copied its weights.

const signs = { "failed": "✕", "diverged": "◇", "self-mutate": "○", "apply-failed": "□" };
const words = { "failed": "training failed", "diverged": "diverged", "self-mutate": "mutated itself",
  "apply-failed": "decision not applied", "replace": "copied", "keep": "kept", "start": "started", "final": "finished",
  "hopeless": "given up" };

// lineage draws population p into the element; chosen is a member, and choose is called with one.
function lineage(element, p, chosen, choose) {
  const width = Math.max(element.clientWidth, 300), narrow = width < 560;
  const gap = 14 + 7.5 * Math.max(3, ...p.lanes.map((l) => num(l.last).length));
  const [x0, x1, top] = [narrow ? 34 : 66, width - gap, 26];
  const n = p.lanes.length, tall = n > 100 ? 6 : Math.min(Math.max(560 / n, 9), 30);
  const lane = new Map(p.lanes.map((l, i) => [l.member, i]));
  const x = (steps) => x0 + (x1 - x0) * Math.min(Math.max(steps, 0), p.span) / p.span;
  const y = (member) => top + (lane.get(member) + 0.5) * tall;
  const bottom = top + n * tall, turn = Math.min(14, 0.55 * (x1 - x0) / Math.max(1, p.intervals));
  const out = svg("svg", { width, height: bottom + 38, role: "group", "aria-label": `Lineage of ${n} members` });
  const add = (...nodes) => out.append(...nodes);
  const line = (attributes) => svg("line", attributes);
  const tick = nice(p.span / (narrow ? 3 : 7));
  for (let v = 0; v <= p.span; v += tick) {
    add(line({ class: "grid", x1: x(v), x2: x(v), y1: top, y2: bottom }), svg("text", { class: "muted", x: x(v),
      y: bottom + 15, "text-anchor": "middle" }, si(v)));
  }
  add(svg("text", { class: "muted", x: (x0 + x1) / 2, y: bottom + 32, "text-anchor": "middle" },
    "environment steps of the member"));
  if (p.interval_steps > 0 && !narrow) {
    const every = Math.ceil(nice(p.intervals / 16));
    for (let k = 0; k <= p.intervals && k * p.interval_steps <= p.span; k += every) {
      add(svg("text", { class: "muted", x: x(k * p.interval_steps), y: top - 8, "text-anchor": "middle" }, k));
    }
    add(svg("text", { class: "muted", x: x0 - 12, y: top - 8, "text-anchor": "end" }, "interval"));
  }
  const each = Math.ceil(11 / tall); // the number of lanes that share a label
  const entry = lane.has(chosen) ? chosen : p.lanes[0].member; // Tab focuses it, up and down move to the others
  for (const [i, l] of p.lanes.entries()) {
    const best = p.best?.member === l.member, label = best || i % each === 0 && !(Math.abs(i - lane.get(p.best?.member)) < each);
    const act = () => choose(chosen === l.member ? "" : l.member);
    const g = svg("g", { class: "lane" + (chosen === l.member ? " chosen" : ""), tabindex: l.member === entry ? 0 : -1, role: "button",
      "data-key": "lane " + l.member, "aria-pressed": String(chosen === l.member),
      "aria-label": `member ${l.member}, ${p.objective} ${num(l.last)}, copied others ${l.took} times`,
      onclick: act, onkeydown: (e) => {
        const to = { ArrowUp: -1, ArrowDown: 1 }[e.key];
        if (to || e.key === "Enter" || e.key === " ") e.preventDefault();
        if (to) e.currentTarget.parentNode.querySelectorAll(".lane")[i + to]?.focus();
        else if (e.key === "Enter" || e.key === " ") act();
      } },
    svg("rect", { x: 1, y: y(l.member) - tall / 2, width: width - 2, height: tall, rx: 3 }),
    label && svg("text", { x: x0 - 12, y: y(l.member) + 4, "text-anchor": "end", class: best && "best" }, l.member),
    label && svg("text", { x: x1 + 8, y: y(l.member) + 4, class: best && "best" }, num(l.last)));
    add(g);
  }
  const landing = (s) => s.parent < 0 ? x(s.from) : x(s.from) + Math.min(turn, Math.max(0.6 * (x(s.to) - x(s.from)), 3));
  const arc = (member, s) => {
    const fx = x(s.parent_steps ?? 0), fy = y(s.parent), tx = landing(s), ty = y(member), reach = Math.max(tx - x(s.from), 3);
    return `M${fx} ${fy}C${fx + reach} ${fy} ${tx - reach} ${ty} ${tx} ${ty}`;
  };
  const copies = p.lanes.reduce((sum, l) => sum + l.took, 0), arcs = copies <= 3000, pale = p.path?.length ? 0.6 : 0.95;
  const pathOf = new Map();
  for (const l of p.lanes) {
    for (const s of l.stretches) {
      const from = landing(s), stroke = color(s.color);
      if (s.parent >= 0 && lane.has(s.parent) && arcs) {
        add(svg("path", { class: "path", d: arc(l.member, s), stroke, "stroke-width": 1.2, opacity: n > 40 ? 0.4 : pale },
          svg("title", null, `interval ${s.interval}: member ${l.member} copied member ${s.parent}. ${s.cause ?? ""}`)));
      }
      add(svg("line", { x1: from, x2: Math.max(from, x(s.to)), y1: y(l.member), y2: y(l.member), stroke,
        "stroke-width": Math.min(Math.max(tall / 8, 1.4), 3), opacity: pale, "pointer-events": "none" }));
      pathOf.set(l.member + " " + s.from, s);
    }
  }
  let best = "";
  for (const piece of p.path ?? []) {
    const s = pathOf.get(piece.member + " " + piece.from);
    if (!s) continue;
    best += s.parent >= 0 && lane.has(s.parent) ? arc(piece.member, s) : `M${landing(s)} ${y(piece.member)}`;
    best += `L${Math.max(x(piece.to), landing(s))} ${y(piece.member)}`;
  }
  if (best) {
    const founder = pathOf.get(p.path[0].member + " " + p.path[0].from);
    for (const [stroke, width] of [["var(--text)", 5], [color(founder?.color ?? 0), 2.6]]) {
      add(svg("path", { class: "path", d: best, stroke, "stroke-width": width, "pointer-events": "none" }));
    }
  }
  const sign = (at, member, text, fill, title, size = 12) => add(svg("text", { x: x(at), y: y(member) + size / 3,
    "text-anchor": "middle", style: { fill, "font-size": size + "px", "font-weight": 700 } }, text, svg("title", null, title)));
  for (const l of p.lanes) {
    for (const m of l.marks ?? []) {
      sign(m.steps, l.member, signs[m.kind] ?? "!", m.kind === "self-mutate" ? "var(--text)" : "var(--bad)",
        `member ${l.member}, interval ${m.interval}: ${words[m.kind] ?? m.kind}. ${m.cause ?? ""}`, Math.min(tall + 2, 13));
    }
  }
  if (p.ever && lane.has(p.ever.member)) {
    sign(p.ever.steps, p.ever.member, "★", "var(--best)",
      `best member so far: member ${p.ever.member}, interval ${p.ever.interval}, ${num(p.ever.value)}`, 17);
  }
  sync(element, [out]);
}

// sizes draws how many members each lineage has after every interval, one above the other.
function sizes(element, p) {
  const l = p.lineages, width = Math.max(element.clientWidth, 300), [x0, x1, top, bottom] = [46, width - 12, 8, 168];
  const n = l.lines[0].members.length, x = (k) => n > 1 ? x0 + (x1 - x0) * k / (n - 1) : x0;
  const sum = (k) => l.lines.reduce((s, line) => s + line.members[k], 0), most = Math.max(1, ...Array.from({ length: n }, (_, k) => sum(k)));
  const y = (members) => bottom - (bottom - top) * members / most, below = Array(n).fill(0);
  const out = svg("svg", { width, height: bottom + 38, role: "img", "aria-label": "Members of each lineage over time" });
  for (const line of l.lines) {
    const lower = below.map((b, k) => `${x(k)} ${y(b)}`).reverse();
    line.members.forEach((m, k) => { below[k] += m; });
    const name = line.founder < 0 ? "all other lineages" : `lineage of member ${line.founder}`;
    out.append(svg("path", { d: "M" + [...below.map((b, k) => `${x(k)} ${y(b)}`), ...lower].join("L") + "Z",
      fill: line.founder < 0 ? "var(--rule)" : color(line.color), stroke: "var(--paper)", "stroke-width": 0.5 },
    svg("title", null, `${name}: ${count(line.members[n - 1])} members now`)));
  }
  for (const v of [0, most]) out.append(svg("text", { class: "muted", x: x0 - 8, y: y(v) + 4, "text-anchor": "end" }, count(v)));
  const tick = nice((n - 1) * l.every / 8);
  for (let k = 0; k <= (n - 1) * l.every; k += tick) {
    out.append(svg("text", { class: "muted", x: x(k / l.every), y: bottom + 15, "text-anchor": "middle" }, count(k)));
  }
  out.append(svg("text", { class: "muted", x: (x0 + x1) / 2, y: bottom + 32, "text-anchor": "middle" }, "interval"));
  sync(element, [out]);
}

// nice rounds up to 1, 2 or 5 times a power of ten.
function nice(v) {
  const power = 10 ** Math.floor(Math.log10(Math.max(v, 1)));
  return power * ([1, 2, 5].find((k) => k * power >= v) ?? 10);
}
