"use strict";
// The page works without this; it adds switches, a player, and the light and dark themes.
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const one = (selector, root = document) => root.querySelector(selector);
  const make = (name, className, ...children) => {
    const element = document.createElement(name);
    if (className) element.className = className;
    element.append(...children);
    return element;
  };

  // Inside another page, which has a heading of its own.
  if (window.top !== window) document.documentElement.classList.add("embedded");

  // Everything is printed, also what is folded up.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = all("details:not([open])");
    for (const details of folded) details.open = true;
  });
  addEventListener("afterprint", () => { for (const details of folded) details.open = false; });

  // Theme: the system's, unless the reader chooses.
  const theme = one("#theme");
  const themes = ["auto", "dark", "light"];
  let chosen = 0;
  theme.hidden = false;
  theme.addEventListener("click", () => {
    chosen = (chosen + 1) % themes.length;
    theme.textContent = "Theme: " + themes[chosen];
    if (chosen === 0) delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = themes[chosen];
  });

  // The table: only rows with a verdict.
  const filters = one(".filters");
  filters.hidden = all("tbody tr").length < 2;
  filters.addEventListener("click", event => {
    const wanted = event.target.dataset.filter;
    if (!wanted) return;
    for (const button of all("button", filters))
      button.setAttribute("aria-pressed", String(button.dataset.filter === wanted));
    for (const row of all(".summary tbody tr"))
      row.hidden = wanted !== "all" && row.dataset.verdict !== wanted;
  });

  // A link to a file opens it.
  const open = () => {
    const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
    const details = target && target.closest("details");
    if (details) { details.open = true; target.scrollIntoView(); }
  };
  addEventListener("hashchange", open);
  open();

  const players = [];

  for (const finding of all(".finding")) {
    const lines = one(".lines", finding);
    // The drawing, once for wide and once for narrow pages.
    const svgs = all("svg.execution", finding);

    // Scrolls the source so that something stands at a part of its height.
    const show = (element, part) => {
      const [inner, outer] = [element, lines].map(e => e.getBoundingClientRect().top);
      lines.scrollTop += inner - outer - lines.clientHeight * part;
    };

    const light = (line, scroll) => {
      for (const row of all(".ln.lit", finding)) row.classList.remove("lit");
      if (!lines || !line) return;
      const row = one(`.ln[data-line="${line}"]`, lines);
      if (!row) return;
      row.classList.add("lit");
      if (scroll) show(row, 1 / 3);
    };

    // Edges to show.
    const main = lines && one(".ann.main", lines);
    if (main) show(main, 0.6);

    const toggles = one(".toggles", finding);
    if (toggles && svgs.length) {
      toggles.hidden = false;
      toggles.addEventListener("change", event => {
        const kind = event.target.dataset.edge;
        for (const edge of all(`.edge[data-kind="${kind}"]`, finding))
          edge.classList.toggle("off", !event.target.checked);
      });
    }

    // An event knows its line, and a line its events.
    if (svgs.length) {
      for (const node of all(".node", finding)) {
        node.addEventListener("mouseenter", () => light(node.dataset.line, true));
        node.addEventListener("mouseleave", () => light(null));
        node.addEventListener("focus", () => light(node.dataset.line, true));
        node.addEventListener("blur", () => light(null));
      }
      for (const row of all(".ln", finding)) {
        const nodes = () => all(`.node[data-line="${row.dataset.line}"]`, finding);
        row.addEventListener("mouseenter", () => nodes().forEach(n => n.classList.add("lit")));
        row.addEventListener("mouseleave", () => nodes().forEach(n => n.classList.remove("lit")));
      }
    }
    for (const link of all(".at", finding))
      link.addEventListener("click", () => light(link.dataset.line, true));

    const pane = one(".player", finding);
    if (pane) players.push(player(pane, svgs, light));
  }

  function player(pane, svgs, light) {
    const data = JSON.parse(one("script", pane).textContent);
    const total = data.steps.length;
    const controls = one(".controls", pane);
    const slider = one("input", controls);
    const output = one("output", controls);
    const playing = one("[data-do=play]", controls);
    const panel = one(".state", pane);
    let at = total, timer = null;
    controls.hidden = false;

    // Everything that holds after so many steps.
    const after = count => {
      const memory = new Map(data.memory);
      const locals = data.threads.map(thread => new Map(thread.locals));
      const buffers = data.threads.map(() => []);
      let stale = [], changed = new Set(), events = new Set();
      for (const step of data.steps.slice(0, count)) {
        changed = new Set();
        for (const event of step.v) events.add(event);
        if (step.a === "issue") {
          buffers[step.t].push([step.l, step.w]);
        } else if (step.l != null && step.w != null) {
          if (step.a === "commit") {
            const oldest = buffers[step.t].findIndex(([location]) => location === step.l);
            if (oldest >= 0) buffers[step.t].splice(oldest, 1);
          }
          memory.set(step.l, step.w);
          changed.add("m" + step.l);
        }
        for (const [local, value] of step.s) {
          locals[step.t].set(local, value);
          changed.add("t" + step.t + local);
        }
        if (step.k) stale = step.k;
      }
      return { memory, locals, buffers, stale, changed, events };
    };

    const chip = (name, value, className) =>
      make("span", "chip " + (className || ""), name + " = ", make("b", "", String(value)));
    const group = (label, chips) =>
      make("div", "", make("span", "label", label + " "), make("span", "cells", ...chips));

    const draw = () => {
      const state = after(at);
      const step = data.steps[at - 1];
      const parts = [];
      if (data.memory.length) {
        const chips = [...state.memory].map(([name, value]) =>
          chip(name, value, state.changed.has("m" + name) ? "changed" : ""));
        parts.push(make("div", "memory", make("h5", "", "Memory"), make("div", "cells", ...chips)));
      }
      data.threads.forEach((thread, index) => {
        const card = make("div", "thread" + (step && step.t === index ? " now" : ""), make("span", "name", thread.name));
        const own = [...state.locals[index]];
        if (own.length)
          card.append(group("locals", own.map(([name, value]) =>
            chip(name, value, state.changed.has("t" + index + name) ? "changed" : ""))));
        if (data.buffers) {
          const waiting = state.buffers[index].map(([name, value]) => chip(name, value, "buffered"));
          card.append(group("store buffer", waiting.length ? waiting : ["empty"]));
        }
        const old = state.stale.filter(entry => entry[0] === index);
        if (old.length)
          card.append(group("could still read", old.map(([, name, values, forbidden]) => {
            const one = chip(name, values, forbidden ? "stale forbidden" : "stale");
            one.title = forbidden
              ? "no interleaving explains reading this now"
              : "an interleaving with this read earlier explains it";
            return one;
          })));
        if (card.childElementCount > 1) parts.push(card);
      });
      if (step && step.a === "wrong")
        parts.push(make("div", "verdict", data.threads[step.t].name + ", line " + step.n + ": " + step.e));
      panel.replaceChildren(...parts);

      for (const cell of all(".cell", pane)) {
        const number = Number(cell.dataset.step);
        cell.classList.toggle("future", number > at);
        cell.classList.toggle("now", number === at);
        if (number === at) cell.setAttribute("aria-current", "step");
        else cell.removeAttribute("aria-current");
      }
      for (const svg of svgs) {
        const here = new Set(step ? step.v : []);
        const ids = node => (node.dataset.events || "").split(" ").map(Number);
        const gone = new Set();
        for (const node of all(".node", svg)) {
          const initial = node.classList.contains("k-initial");
          const future = at < total && !initial && !ids(node).some(id => state.events.has(id));
          node.classList.toggle("future", future);
          node.classList.toggle("now", at < total && ids(node).some(id => here.has(id)));
          if (future) gone.add(node.dataset.node);
        }
        for (const edge of all(".edge", svg))
          edge.classList.toggle("future", gone.has(edge.dataset.from) || gone.has(edge.dataset.to));
      }
      slider.value = at;
      output.textContent = "step " + at + " of " + total;
      light(at < total && step ? step.n : null, false);
    };

    const go = (to, scroll = true) => {
      at = Math.max(0, Math.min(total, to));
      draw();
      const now = one(".cell.now", pane);
      if (now && scroll && pane.contains(document.activeElement)) now.scrollIntoView({ block: "nearest" });
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      playing.textContent = "Play";
      playing.setAttribute("aria-label", "Play");
    };
    const play = () => {
      if (timer) return stop();
      if (at >= total) go(0);
      playing.textContent = "Pause";
      playing.setAttribute("aria-label", "Pause");
      timer = setInterval(() => { go(at + 1); if (at >= total) stop(); }, 900);
    };
    const actions = {
      first: () => go(0), back: () => go(at - 1), step: () => go(at + 1), last: () => go(total), play,
    };
    const act = name => { if (name !== "play") stop(); actions[name](); };

    controls.addEventListener("click", event => { if (event.target.dataset.do) act(event.target.dataset.do); });
    slider.addEventListener("input", () => { stop(); go(Number(slider.value)); });
    for (const cell of all(".cell", pane))
      cell.addEventListener("click", () => { stop(); go(Number(cell.dataset.step)); });
    draw();
    return { pane, act };
  }

  // Keys: for the player that has the focus, else for the first one to be seen.
  const keys = { ArrowRight: "step", ArrowLeft: "back", Home: "first", End: "last", " ": "play" };
  addEventListener("keydown", event => {
    const name = keys[event.key];
    if (!name || event.ctrlKey || event.altKey || event.metaKey) return;
    const focus = document.activeElement;
    const inside = players.find(({ pane }) => pane.contains(focus));
    if (focus.matches("input[type=range], input[type=checkbox], summary")) return;
    if (name === "play" && focus.matches("button, a")) return;
    // Elsewhere these keys scroll; on a page where nothing has the focus they are the player's.
    const fresh = focus === document.body || focus === document.documentElement;
    if (!inside && !fresh && (name === "first" || name === "last" || name === "play")) return;
    const shown = players.filter(({ pane }) => pane.checkVisibility ? pane.checkVisibility() : true);
    const inView = ({ pane }) => {
      const { top, bottom } = pane.getBoundingClientRect();
      return bottom > 0 && top < innerHeight;
    };
    const target = inside || shown.find(inView) || shown[0];
    if (!target) return;
    event.preventDefault();
    target.act(name);
  });
})();
