"use strict";
// The view of runs: the list, curves, and a comparison of settings.

const runsView = {
  figures: new Map(), colors: new Map(), limit: 200, curves: undefined, settings: [], wanted: "",

  // chosen are the runs in the address, or else the latest few.
  chosen(rows) {
    const known = new Set(rows.filter((r) => !r.members).map((r) => r.id));
    const named = place.list("run").filter((id) => known.has(id));
    if (named.length || place.get("none")) return named;
    return rows.filter((r) => !r.members && !r.of).slice(0, 6).map((r) => r.id);
  },

  // listed are the rows that match the search. Members of populations are only listed in searches.
  listed(rows) {
    const words = place.get("find").toLowerCase().split(/\s+/).filter(Boolean);
    const text = (r) => [r.id, r.agent, r.environment, r.state].join(" ").toLowerCase();
    return rows.filter((r) => (words.length > 0 || !r.of) && words.every((w) => text(r).includes(w)));
  },

  // color returns the colour of a run. Joined seeds have the colour of their first run.
  color(id) {
    id = this.curves?.panels[0]?.curves.find((c) => c.runs.includes(id))?.runs[0] ?? id;
    if (!this.colors.has(id)) this.colors.set(id, this.colors.size);
    return this.colors.get(id);
  },

  choose(ids) { place.set({ run: ids, none: ids.length === 0 && "1" }); },

  skeleton(main) {
    this.parts = {
      find: h("input", { type: "search", placeholder: "name, agent, environment, state", "aria-label": "Search runs",
        oninput: (e) => place.set({ find: e.target.value }) }),
      found: h("span", { class: "note", role: "status" }), list: h("div", { class: "scroll list", tabindex: 0, role: "region", "aria-label": "Runs" }), more: h("div"),
      controls: h("div", { class: "controls" }), notes: h("div"), charts: h("div", { class: "charts" }),
      settings: h("div", { class: "scroll" }), settingsNote: h("p", { class: "note" }), all: h("input",
        { type: "checkbox", onchange: () => render() }),
    };
    const p = this.parts;
    p.character = !embedded && character("Play the newest checkpoint");
    main.replaceChildren(
      h("section", { "aria-label": "Runs" }, h("div", { class: "controls" }, p.find, p.found), p.list, p.more),
      ...(p.character ? [p.character.section] : []),
      h("section", null, h("h2", null, "Curves"), p.controls, p.notes, p.charts),
      h("section", null, h("h2", null, "Settings"), p.settingsNote, h("label", { class: "controls" }, p.all,
        "Show equal settings"), p.settings));
    this.figures.clear();
    p.find.value = place.get("find");
    p.seeds = h("input", { type: "checkbox", onchange: (e) => place.set({ seeds: e.target.checked && "1" }) });
    p.axis = h("select", { onchange: (e) => place.set({ x: e.target.value }) }, ["steps", "timesteps", "time"]
      .map((x) => h("option", { value: x }, { steps: "environment steps", timesteps: "timesteps", time: "time" }[x])));
    p.smooth = h("input", { type: "range", min: 0, max: 0.99, step: 0.01, oninput: (e) =>
      place.set({ smooth: +e.target.value && e.target.value }) });
    p.weight = h("output");
    p.tag = h("select", { onchange: (e) => place.set({ tag: e.target.value === "" ? "" : e.target.value }) });
    p.controls.append(...[
      h("label", null, "Figures ", p.tag), !embedded && h("label", null, "over ", p.axis),
      h("label", null, "smoothing ", p.smooth, " ", p.weight), h("label", null, p.seeds, " join seeds"),
    ].filter(Boolean));
  },

  async load() {
    const { rows } = world, ids = this.chosen(rows);
    const ask = { run: ids, x: place.get("x"), seeds: place.get("seeds"), tag: place.get("tag") };
    if (embedded) {
      const all = embedded.curves?.[ask.seeds ? "seeds" : ""] ?? { tags: [], panels: [] };
      this.curves = { ...all, panels: all.panels.filter((p) => !ask.tag || p.tag === ask.tag).map((p) =>
        ({ ...p, curves: p.curves.filter((c) => c.runs.some((id) => ids.includes(id))) })) };
      this.settings = (embedded.settings ?? []).filter((s) => ids.includes(s.id));
      return;
    }
    const wanted = JSON.stringify(ask);
    this.wanted = wanted;
    const [curves, settings] = await Promise.all([get("curves", ask), get("settings", { run: ids })]);
    if (this.wanted !== wanted) return; // the reader has chosen other runs meanwhile
    [this.curves, this.settings] = [curves, settings];
    if (curves.partial) setTimeout(refresh, 200);
  },

  render(main) {
    if (!this.parts?.list.isConnected) this.skeleton(main);
    this.renderList();
    if (this.parts.character) {
      const named = place.list("run");
      this.parts.character.show(named.length === 1 && this.chosen(world.rows).length === 1 ? playable(named[0]) : "");
    }
    this.renderCurves();
    this.renderSettings();
  },

  renderList() {
    const p = this.parts, rows = this.listed(world.rows), chosen = this.chosen(world.rows), shown = rows.slice(0, this.limit);
    const plain = shown.filter((r) => !r.members).map((r) => r.id), all = plain.every((id) => chosen.includes(id));
    p.found.textContent = `${count(rows.length)} of ${count(world.rows.filter((r) => !r.of).length)} runs and populations` +
      (world.rows.some((r) => r.of) ? "; members of populations are found by searching" : "");
    const box = h("input", { type: "checkbox", "data-key": "all", "aria-label": "choose all that are listed",
      checked: all && plain.length > 0, onchange: (e) => this.choose(e.target.checked
        ? [...new Set([...chosen, ...plain])].slice(0, 64) : chosen.filter((id) => !plain.includes(id))) });
    table(p.list, [h("th", { scope: "col", class: "left" }, box), { text: "run", left: true }, { text: "state", left: true },
      { text: "progress", left: true }, "steps", "remaining", "return", "steps/s", { text: "agent", left: true },
      { text: "environment", left: true }, "last written"], shown.map((r) => this.row(r, chosen)));
    sync(p.more, rows.length > shown.length ? [h("button", { "data-key": "more", onclick: () => {
      this.limit = Infinity;
      render();
    } }, `Show all ${count(rows.length)}`)] : []);
  },

  row(r, chosen) {
    const on = chosen.includes(r.id), busy = r.state === "training" || r.state === "starting";
    const part = r.total > 0 ? Math.min(r.step / r.total, 1) : undefined;
    return h("tr", { class: r.state === "failed" && "bad" },
      left(!r.members && h("input", { type: "checkbox", "data-key": "box " + r.id, checked: on, "aria-label": `draw ${r.id}`,
        onchange: (e) => {
          const now = this.chosen(world.rows);
          this.choose(e.target.checked ? [...now, r.id] : now.filter((id) => id !== r.id));
        } })),
      left(on && h("span", { class: "swatch", style: { background: color(this.color(r.id)) } }),
        h("a", { "data-key": "run " + r.id, href: r.members ? "#" + new URLSearchParams({ population: r.id })
          : "#" + new URLSearchParams({ run: r.id }), title: r.words }, r.id === "." ? world.root : r.id),
        r.members ? ` (population of ${count(r.members)})` : ""),
      left(h("span", { class: `state ${r.state}`, title: r.words }, r.state)),
      left(part !== undefined && h("span", { class: "bar", role: "img", "aria-label": `${Math.round(part * 100)} %` },
        h("i", { style: { width: `${part * 100}%` } })), part !== undefined && ` ${Math.floor(part * 100)} %`),
      cell(r.step ? count(r.step) : "–"),
      cell(busy && r.rate > 0 && r.total > r.step ? duration((r.total - r.step) / r.rate) : ""),
      cell(num(r.return)), cell(r.rate > 0 ? si(r.rate) : ""), left(r.agent ?? ""), left(r.environment ?? ""),
      cell(r.updated ? ago(r.updated) : ""));
  },

  renderCurves() {
    const p = this.parts, { curves } = this, weight = +place.get("smooth") || 0;
    p.axis.value = place.get("x") || "steps";
    p.smooth.value = weight;
    p.weight.textContent = weight ? weight.toFixed(2) : "off";
    p.seeds.checked = !!place.get("seeds");
    if (!curves) return;
    const tags = embedded ? curves.panels.map((x) => x.tag) : curves.tags;
    if (document.activeElement !== p.tag) {
      sync(p.tag, [h("option", { value: "" }, "default"), ...tags.map((t) => h("option", { value: t }, t))]);
      p.tag.value = place.get("tag");
    }
    const failed = world.rows.filter((r) => r.words && !r.members && this.chosen(world.rows).includes(r.id));
    sync(p.notes, [...(curves.notes ?? []), ...failed.map((r) => `${r.id}: ${r.words}`)].slice(0, 12)
      .map((n) => h("p", { class: "note lost" }, n)));
    const axis = { time: "time", timesteps: "timesteps" }[place.get("x")] ?? "environment steps";
    charts(p.charts, curves.panels.filter((x) => x.curves.length).map((panel, i) => {
      const per = Math.max(...panel.curves.map((c) => c.per)), list = [];
      for (const c of panel.curves) {
        const base = { name: c.name === "." ? world.root : c.name, color: this.color(c.runs[0]), x: c.x };
        if (weight > 0) list.push({ ...base, name: undefined, y: c.y, faint: true });
        list.push({ ...base, y: weight > 0 ? smooth(c.y, weight) : c.y, low: c.low, high: c.high });
      }
      return { key: panel.tag, broad: i === 0, title: panel.tag, axis, seconds: axis === "time", curves: list,
        note: [per > 1 && `Every point is the mean of up to ${count(per)} values.`,
          panel.curves.some((c) => c.low) && "Shaded: 95 % interval."].filter(Boolean).join(" ") };
    }), this.figures);
    if (!curves.panels.length) {
      p.charts.replaceChildren(h("p", { class: "note" }, "Choose runs in the list to draw their curves."));
    }
  },

  renderSettings() {
    const p = this.parts, list = this.settings.slice(0, 12), one = list.length === 1;
    const keys = [...new Set(list.flatMap((s) => Object.keys(s.values)))].sort();
    const differs = (k) => new Set(list.map((s) => s.values[k])).size > 1;
    const shown = one || p.all.checked ? keys : keys.filter(differs);
    p.all.parentElement.hidden = list.length < 2;
    p.settingsNote.textContent = list.length === 0 ? "No chosen run has a run.yaml." : one ? ""
      : `${count(keys.filter(differs).length)} of ${count(keys.length)} settings differ.` +
        (this.settings.length > 12 ? ` The first 12 of ${this.settings.length} runs are compared.` : "");
    const facts = [...new Set(list.flatMap((s) => (s.facts ?? []).map(([k]) => k)))];
    table(p.settings, [{ text: "setting", left: true }, ...list.map((s) => ({ text: s.id, left: true }))], [
      ...facts.map((k) => h("tr", { class: "kept" }, left(k), list.map((s) =>
        left((s.facts ?? []).find(([name]) => name === k)?.[1] ?? "")))),
      ...shown.map((k) => h("tr", null, left(k), list.map((s) => left(s.values[k] ?? "–"))))]);
  },
};
