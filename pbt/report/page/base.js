"use strict";
// Helpers of the page: elements, numbers, colours, and data from the server or the file.

// h makes an element. Texts become text nodes, never markup, because names come from files.
function h(tag, attributes, ...children) {
  return build(document.createElement(tag), attributes, children);
}

// svg makes an SVG element.
function svg(tag, attributes, ...children) {
  return build(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);
}

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "style") Object.entries(value).forEach(([k, v]) => element.style.setProperty(k, v));
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : clean(value));
  }
  for (const child of children.flat()) {
    if (child === undefined || child === null || child === false) continue;
    element.append(child instanceof Node ? child : clean(child));
  }
  return element;
}

// clean replaces control characters, such as those that change the direction of text.
function clean(text) {
  return String(text).replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g, "\ufffd");
}

// sync makes children the children of parent. Equal elements are kept, so that nothing flickers and the focus is not
// lost.
function sync(parent, children) {
  children = children.flat().filter((c) => c instanceof Node);
  const focused = document.activeElement?.getAttribute("data-key");
  children.forEach((child, i) => {
    const old = parent.childNodes[i];
    if (!old) parent.append(child);
    else if (old !== child && !old.isEqualNode(child)) old.replaceWith(child);
  });
  while (parent.childNodes.length > children.length) parent.lastChild.remove();
  if (focused && document.activeElement?.getAttribute("data-key") !== focused) {
    parent.querySelector(`[data-key="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  }
}

// table syncs a table: header cells are texts or {text, left}, rows are elements.
function table(container, header, rows) {
  let t = container.querySelector("table");
  if (!t) {
    t = h("table", null, h("thead"), h("tbody"));
    container.replaceChildren(t);
  }
  sync(t.tHead, [h("tr", null, header.map((c) => c instanceof Node ? c
    : h("th", { scope: "col", class: c.left && "left" }, c.text ?? c)))]);
  sync(t.tBodies[0], rows);
}

// cell and left make cells of numbers and of words.
const cell = (...content) => h("td", null, ...content);
const left = (...content) => h("td", { class: "left" }, ...content);
const wide = (...content) => h("td", { class: "wide" }, ...content);

// num writes a number with at most five digits.
function num(v) {
  if (v === null || v === undefined || !Number.isFinite(v)) return "–";
  const a = Math.abs(v);
  if (a !== 0 && (a < 1e-3 || a >= 1e7)) return v.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  if (a < 1 && 1 - a < 0.01) return String(+v.toPrecision(7));
  return Number.isInteger(v) ? count(v) : String(+v.toPrecision(5));
}

// count writes a whole number with separators, and si a short one: 12k, 1.5M.
const count = (n) => Math.round(n).toLocaleString("en-US");
function si(n) {
  const unit = [[1e9, "G"], [1e6, "M"], [1e3, "k"]].find(([size]) => Math.abs(n) >= size);
  return unit ? +(n / unit[0]).toPrecision(4) + unit[1] : String(+n.toPrecision(4));
}

// duration writes seconds.
function duration(s) {
  if (!Number.isFinite(s) || s < 0) return "–";
  if (s < 90) return `${Math.round(s)} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  if (s < 172800) return `${(s / 3600).toFixed(1)} h`;
  return `${(s / 86400).toFixed(1)} d`;
}

// The colours of Okabe and Ito, which colour-blind readers can distinguish, adapted to light and dark pages.
const dark = matchMedia("(prefers-color-scheme: dark)");
const palette = {
  light: ["#0072b2", "#d08000", "#00845f", "#b8578f", "#d55e00", "#2f8fc0", "#7a6a3a", "#4c5fb0"],
  dark: ["#4aa8e0", "#f0a830", "#2fc79b", "#df8fba", "#ff8440", "#7cccf0", "#bfae7c", "#8f9fe8"],
};
function color(k) {
  const own = palette[dark.matches ? "dark" : "light"];
  if (k < own.length) return own[k];
  return `hsl(${((k * 137.508) % 360).toFixed(0)} 55% ${dark.matches ? 66 : 42}%)`; // the golden angle
}
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// embedded is the data of a page in one file; undefined if a server answers.
const embedded = (() => {
  const element = document.getElementById("data");
  return element ? JSON.parse(element.textContent) : undefined;
})();

// get asks the server. Errors have the server's message.
async function get(path, parameters) {
  const query = new URLSearchParams();
  for (const [key, value] of Object.entries(parameters ?? {})) {
    for (const v of [value].flat()) if (v !== "" && v !== undefined) query.append(key, v);
  }
  const answer = await fetch(`api/${path}?${query}`);
  if (!answer.ok) throw new Error((await answer.text()).trim());
  return answer.json();
}

// The page's state is in its address, so that it can be bookmarked and shared.
const place = {
  all: () => new URLSearchParams(location.hash.slice(1)),
  get: (key) => place.all().get(key) ?? "",
  list: (key) => place.all().getAll(key),
  // with returns the address with changed keys. A value is a list, a text, or "" to remove the key.
  with(changes) {
    const next = place.all();
    for (const [key, value] of Object.entries(changes)) {
      next.delete(key);
      for (const v of [value].flat()) if (v !== "" && v !== false) next.append(key, v);
    }
    return "#" + next;
  },
  set(changes) {
    history.replaceState(null, "", place.with(changes));
    render();
  },
};
