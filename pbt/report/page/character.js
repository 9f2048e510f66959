"use strict";
// The newest checkpoint of a run plays on its page, in the viewer of gorl view.

// playable returns the ID of a run whose environment is known, and otherwise "".
const playable = (id) => world.rows.some((r) => r.id === id && r.environment) ? id : "";

// character returns a section with a button, and a function that sets whose checkpoint it plays: "" for none. The server
// starts a process for it, so it plays by a click only, and not in a page that nobody sees for a minute.
function character(words) {
  let id = "", frame;
  const stage = h("div"), section = h("section", { "aria-label": "Character", hidden: true });
  const button = h("button", { "data-key": "play", onclick: () => { frame ? close() : open(); } });
  const alone = h("a", { target: "_blank", rel: "noopener" }, "Open in a new tab");
  const close = () => {
    frame = undefined;
    stage.replaceChildren();
    button.textContent = words;
  };
  const open = () => {
    frame = h("iframe", { class: "character", title: `the character of ${id}`, src: alone.getAttribute("href") });
    stage.replaceChildren(frame);
    button.textContent = "Close";
  };
  let hidden;
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(close, 60e3);
  });
  section.append(h("h2", null, "Character"), h("div", { class: "controls" }, button, alone), stage);
  close();
  const show = (now) => {
    if (now === id) return;
    id = now;
    section.hidden = id === "";
    alone.href = "character/?" + new URLSearchParams({ run: id });
    close();
  };
  return { section, show };
}
