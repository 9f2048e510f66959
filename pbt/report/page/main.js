"use strict";
// Chooses the view, and refreshes it.

const world = { rows: [], root: "", now: 0 };

function view() {
  const alone = embedded && !(embedded.runs?.length > 1) && embedded.populations && Object.keys(embedded.populations).length === 1;
  return place.get("population") || alone ? populationView : runsView;
}

// ago says how long ago a time in milliseconds was, by the server's clock.
const ago = (time) => `${duration(Math.max(0, (world.now - time) / 1000))} ago`;

function render() {
  const now = view(), main = document.getElementById("main");
  document.getElementById("title").textContent = clean(now === populationView ? populationView.data?.title ?? "Population"
    : `Runs in the folder ${world.root}`);
  document.title = document.getElementById("title").textContent;
  now.render(main);
}

let busy = false, again = false;

// refresh loads the data of the view. Further calls wait until it has finished.
async function refresh() {
  if (busy) { again = true; return; }
  busy = true;
  const live = document.getElementById("live");
  try {
    const list = embedded ? { runs: [], root: "", now: Date.now(), ...embedded } : await get("runs");
    [world.rows, world.root, world.now] = [list.runs ?? [], list.root, list.now];
    if (view() === runsView && !runsView.curves) render(); // the list first
    await view().load();
    render();
    live.classList.remove("lost");
    live.textContent = embedded ? "saved" + (embedded.now ? " " + new Date(embedded.now).toLocaleString() : "") : "live";
  } catch (e) {
    live.textContent = clean(e instanceof TypeError ? "The server does not answer; the page tries again." : e.message);
    live.classList.add("lost");
  }
  busy = false;
  if (again) { again = false; refresh(); }
}

window.addEventListener("hashchange", () => { populationView.all = false; render(); refresh(); });
dark.addEventListener("change", render);
document.getElementById("skip").addEventListener("click", (e) => {
  e.preventDefault();
  document.getElementById("main").focus();
});
place.set = ((set) => (changes) => { set(changes); if (view() === runsView) refresh(); })(place.set);

refresh();
if (!embedded) {
  // A browser opens six connections to a server. A page that is not seen holds none, or the seventh tab would wait.
  let events;
  const listen = () => {
    events?.close();
    if (document.hidden) return;
    events = new EventSource("api/events");
    events.onmessage = events.onopen = refresh;
    events.onerror = () => {
      const live = document.getElementById("live");
      live.textContent = "The server does not answer; the page tries again.";
      live.classList.add("lost");
    };
  };
  listen();
  document.addEventListener("visibilitychange", listen);
}
