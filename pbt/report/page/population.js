"use strict";
// The view of a population: state, lineage, curves, members and decisions.

// inWords writes a strategy in the journal, pbt.IsaacLab{ThresholdStd:0.8}, as IsaacLab {threshold_std: 0.8}.
function inWords(strategy) {
  const [, name, fields] = strategy.match(/^[a-z]+\.([A-Z]\w*)\{(.*)\}$/) ?? [];
  if (!name) return strategy;
  return `${name} {${fields.replace(/ /g, ", ").replace(/([A-Z]\w*):/g, (_, key) =>
    key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase() + ": ")}}`;
}

const populationView = {
  data: undefined, id: undefined, figures: new Map(), all: false,

  async load() {
    const id = place.get("population") || Object.keys(embedded?.populations ?? {})[0];
    const data = embedded ? embedded.populations[id] : await get("population", { run: id });
    [this.id, this.data] = [id, data];
  },

  skeleton(main) {
    const p = this.parts = {
      back: h("p"), cards: h("dl", { class: "cards" }), hidden: h("p", { class: "note" }),
      member: h("select", { onchange: (e) => place.set({ member: e.target.value }) }),
      kept: h("input", { type: "checkbox", onchange: (e) => place.set({ kept: e.target.checked && "1" }) }),
      decisions: h("div", { class: "scroll" }), more: h("div"), lineage: h("div", { class: "scroll tall" }),
      sizes: h("div"), sizesNote: h("p", { class: "note" }),
      legend: h("p", { class: "note" }), charts: h("div", { class: "charts" }), members: h("div", { class: "scroll" }),
      schedule: h("div", { class: "scroll" }), scheduleNote: h("p", { class: "note" }), games: h("section"),
    };
    p.character = !embedded && character("Play the best checkpoint");
    main.replaceChildren(p.back, p.cards, p.hidden, ...(p.character ? [p.character.section] : []),
      h("section", null, h("h2", null, "Lineage"), p.sizesNote, p.sizes, p.legend, p.lineage),
      h("section", null, h("h2", null, "Decisions (latest first)"), h("div", { class: "controls" },
        h("label", null, "Member ", p.member), h("label", null, p.kept, " Show starts, ends and kept members")), p.decisions, p.more),
      h("section", null, h("h2", null, "Curves"), h("p", { class: "note" }, "A colour is a lineage: all weights that " +
        "descend from one founding member. The thick line is the path of the best member's weights."), p.charts),
      h("section", null, h("h2", null, "Members (best first)"), p.members),
      h("section", null, h("h2", null, "Hyperparameter schedule of the best member so far"), p.scheduleNote, p.schedule), p.games);
    this.figures.clear();
    new ResizeObserver(() => requestAnimationFrame(() => { if (this.width !== p.lineage.clientWidth) this.renderLineage(); }))
      .observe(p.lineage);
  },

  render(main) {
    if (!this.data) return;
    if (!this.parts?.cards.isConnected) this.skeleton(main);
    const p = this.parts, d = this.data;
    sync(p.back, world.rows.length > 1 ? [h("a", { "data-key": "back", href: "#" }, "← all runs")] : []);
    p.hidden.textContent = d.hidden ?? "";
    this.renderCards();
    if (p.character) p.character.show(playable(this.id));
    this.renderLineage();
    this.renderDecisions();
    this.renderCharts();
    this.renderMembers();
    this.renderSchedule();
    this.renderGames();
  },

  member() { return place.get("member") === "" ? "" : +place.get("member"); },

  renderCards() {
    const d = this.data, row = world.rows.find((r) => r.id === this.id);
    const card = (name, value, more, big) => h("div", null, h("dt", null, name), h("dd", { class: big && "big" }, value),
      more && h("dd", { class: "note" }, more));
    const at = (s) => s ? num(s.value) : "–", state = row?.state ?? d.state;
    const total = row?.total || 0, steps = Math.max(d.steps, row?.step ?? 0);
    const part = total > 0 ? `${Math.floor(100 * Math.min(steps / total, 1))} % of ${si(total)} steps` : "";
    const rest = state === "training" && row?.rate > 0 && total > steps ? `${duration((total - steps) / row.rate)} remaining` : "";
    const health = d.health ?? [], silent = health.filter((m) => m.phase === "silent" || m.phase === "failed");
    sync(this.parts.cards, [
      card("State", h("span", { class: `state ${row?.state ?? ""}` }, state), [d.state.startsWith("given up") && d.state, part, rest]
        .filter(Boolean).join("; "), true),
      card("Current best member", d.best ? `member ${d.best.member}` : "–", d.best && `${d.objective} ${at(d.best)}`, true),
      card("Best member so far", d.ever ? `member ${d.ever.member}` : "–",
        d.ever && `${d.objective} ${at(d.ever)}, interval ${d.ever.interval}`, true),
      card("Members", count(d.members), health.length ? `${count(health.length - silent.length)} healthy` +
        (silent.length ? `; silent or failed: ${silent.map((m) => m.member).join(", ")}` : "") : "", true),
      card("Trained", `${count(d.intervals)} ${d.intervals === 1 ? "interval" : "intervals"}`, `of ${count(d.interval_steps)} environment steps; ` +
        `at most ${count(d.steps)} per member`),
      card("Objective", d.objective, d.minimise ? "lower is better" : "higher is better"),
      ...(d.counts ?? []).map((c) => card(c.name[0].toUpperCase() + c.name.slice(1), count(c.n))),
      card("Strategy", inWords(d.strategy) || "–", `seed ${d.seed}`)]);
  },

  renderLineage() {
    const p = this.parts, d = this.data;
    if (!d || !p.lineage.isConnected) return;
    this.width = p.lineage.clientWidth;
    lineage(p.lineage, d, this.member(), (member) => place.set({ member }));
    if (d.lineages) sizes(p.sizes, d);
    p.sizesNote.textContent = d.lineages ? "Number of members in each lineage, by interval. Bottom: the lineage of the best member. Grey: all " +
      "small lineages." : "";
    const kinds = new Set(d.lanes.flatMap((l) => (l.marks ?? []).map((m) => m.kind)));
    p.legend.textContent = "Each lane is a member. A curve into a lane is a copy: the member's weights were replaced by those of " +
      "another member. The thick line is the path of the best member's weights. ★ best member so far. Right: last " +
      `objective.${[...kinds].map((k) => ` ${signs[k]} ${words[k]}.`).join("")} Select a lane to see its decisions. The arrow keys move between lanes.`;
  },

  // change says in words what an event changed.
  change(e) {
    const changed = (e.changed ?? []).map((c) => c.before === null ? `${c.key} ${num(c.after)}`
      : `${c.key} ${num(c.before)} → ${num(c.after)}`);
    if (e.mutation && !(e.changed ?? []).some((c) => e.mutation.split(", ").includes(c.key))) changed.unshift(e.mutation);
    return changed.join(", ");
  },

  renderDecisions() {
    const p = this.parts, d = this.data, member = this.member(), kept = !!place.get("kept");
    const options = [h("option", { value: "" }, "all members"), ...d.lanes.map((l) => h("option", { value: l.member },
      `member ${l.member}`))];
    if (document.activeElement !== p.member) sync(p.member, options);
    p.member.value = String(member);
    p.kept.checked = kept;
    const events = d.events.filter((e) => (member === "" || e.member === member) && (kept || !["keep", "start", "final"].includes(e.kind))).reverse();
    const shown = this.all ? events : events.slice(0, 12);
    table(p.decisions, ["environment steps", "member", { text: "decision", left: true }, { text: "reason", left: true },
      { text: "changes", left: true }, d.objective, "interval"], shown.map((e) => h("tr", {
      class: ["failed", "diverged", "apply-failed", "hopeless"].includes(e.kind) ? "bad" : e.kind === "keep" && "kept" },
    cell(count(e.steps)), cell(e.member), left(e.kind === "replace" ? `copied member ${e.from}` : words[e.kind] ?? e.kind),
    wide(e.cause ?? ""), wide(this.change(e)), cell(e.objective === undefined ? "" : num(e.objective)), cell(count(e.interval)))));
    const cut = d.events_total > d.events.length ? ` The page has ${count(d.events.length)} of ${count(d.events_total)} events.` : "";
    sync(p.more, [events.length > shown.length && h("button", { "data-key": "events", onclick: () => {
      this.all = true;
      render();
    } }, `Show all ${count(events.length)}`), (cut || events.length === 0) && h("span", { class: "note" },
      events.length === 0 ? "Nothing has changed yet." : cut)].filter(Boolean));
  },

  renderCharts() {
    const d = this.data, member = this.member();
    charts(this.parts.charts, d.panels.map((panel, i) => {
      const curves = panel.lines.map((l) => ({ say: `member ${l.member}`, color: l.color, x: l.points.map((q) => q[0]),
        y: l.points.map((q) => q[1]), faint: member === "" ? d.best !== null : l.member !== member,
        strong: member === l.member }));
      if (member === "" && panel.path?.length) {
        curves.push({ say: "weights of the best member", color: panel.lines.find((l) => l.member === d.path?.[0]?.member)?.color ?? 0,
          x: panel.path.map((q) => q[0]), y: panel.path.map((q) => q[1]), strong: true });
      }
      const marks = i > 0 ? [] : [...d.lanes.flatMap((l) => (l.marks ?? []).filter((m) => m.kind === "failed" ||
        m.kind === "diverged").map((m) => ({ x: m.steps, sign: signs[m.kind], bad: true }))),
      ...(d.ever ? [{ x: d.ever.steps, y: d.ever.value, sign: "★" }] : [])];
      return { key: panel.key + i, broad: i === 0, title: panel.key + (i === 0 && d.minimise ? " (lower is better)" : ""),
        axis: "environment steps", range: [0, d.span], curves, constant: panel.constant, marks };
    }), this.figures);
  },

  renderMembers() {
    const d = this.data, health = new Map((d.health ?? []).map((m) => [m.member, m])), evolves = d.lanes.some((l) => l.architecture);
    const worth = (l) => l.last === null ? -Infinity : d.minimise ? -l.last : l.last;
    const rows = [...d.lanes].sort((a, b) => worth(b) - worth(a) || a.member - b.member);
    table(this.parts.members, ["member", ...(health.size ? [{ text: "state", left: true }] : []), "lineage", d.objective,
      "best objective", "environment steps", "copies made", "times copied", ...d.keys, ...(evolves ? [{ text: "architecture", left: true }]
        : []), ...(health.size ? [{ text: "process", left: true }, { text: "note", left: true }] : [])], rows.map((l) => {
      const m = health.get(l.member);
      return h("tr", { class: d.best?.member === l.member && "best" },
        cell(h("a", { "data-key": "member " + l.member, href: place.with({ member: l.member }) }, l.member)),
        health.size ? left(h("span", { class: "state " + ({ silent: "failed", waiting: "training" }[m?.phase] ?? m?.phase ?? "") },
          m?.phase ?? "–")) : false,
        cell(h("span", { class: "swatch", style: { background: color(l.color) } }), l.founder),
        cell(num(l.last), l.stale ? " (before its last copy)" : ""), cell(num(l.best)), cell(count(m?.steps ?? l.steps)),
        cell(count(l.took)), cell(count(l.copied)), d.keys.map((k) => cell(num(l.values[k]))),
        evolves ? wide(l.architecture ?? "–") : false, health.size ? left(m?.owner ?? "") : false, health.size ? wide(m?.note ?? "") : false);
    }));
  },

  renderSchedule() {
    const p = this.parts, { schedule: s } = this.data, evolves = s.phases?.some((x) => x.architecture);
    p.scheduleNote.textContent = s.missing ?? `Hyperparameters that the weights of the best member so far were trained with, over ` +
      `${count(s.steps)} environment steps. gorl-pbt replay extracts them.` + (evolves ? " Architectures are not replayed." : "");
    if (s.missing) return;
    table(p.schedule, ["from environment step", "member", ...s.keys, ...(evolves ? [{ text: "architecture", left: true }] : [])],
      s.phases.map((x, i) => h("tr", null, cell(count(x.from)), cell(x.member), s.keys.map((k) => {
        const [before, now] = [s.phases[i - 1]?.hyperparameters[k], x.hyperparameters[k]];
        return cell(num(now), before !== undefined && now > before ? " ↑" : before !== undefined && now < before ? " ↓" : "");
      }), evolves ? wide(x.architecture ?? "") : false)));
  },

  renderGames() {
    const d = this.data, part = (t) => {
      const box = h("div", { class: "scroll" });
      table(box, t.header, t.rows.map((r) => h("tr", null, r.map((c) => cell(c)))));
      return box;
    };
    sync(this.parts.games, !d.met ? [] : [h("h2", null, "Games"), h("p", { class: "note" }, "Games of each member by " +
      "opponent. In brackets: shares won and drawn."), part(d.met), h("p", { class: "note" },
      "Elo ratings along the lineage of the best member, at the end of every interval."), part(d.ratings)]);
  },
};
