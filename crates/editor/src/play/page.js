"use strict";
(() => {
  const one = selector => document.querySelector(selector);
  const all = selector => [...document.querySelectorAll(selector)];
  const data = JSON.parse(one("#data").textContent);
  const [text, numbers, marks, frame, said] = ["#text", ".numbers", ".marks", "#page", "#said"].map(one);
  const [example, language, model] = ["#example", "#language", "#model"].map(one);
  const [verdict, note] = ["#verdict", "#note"].map(one);
  const boxes = all("fieldset input");
  // Which page this is: a new question of the same page ends the one before.
  const client = crypto.randomUUID();

  for (const name of data.models) model.append(new Option(name, name));
  data.examples.forEach((one, index) => example.append(new Option(one.name, String(index))));

  // A program as a link, as `fencepost play` reads it.
  const pack = program => {
    const bytes = new TextEncoder().encode(JSON.stringify(program));
    let binary = "";
    for (const byte of bytes) binary += String.fromCharCode(byte);
    return "#p=" + btoa(binary).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  };
  const unpack = hash => {
    const binary = atob(hash.slice(3).replace(/-/g, "+").replace(/_/g, "/"));
    return JSON.parse(new TextDecoder().decode(Uint8Array.from(binary, c => c.charCodeAt(0))));
  };
  const current = () => ({
    text: text.value,
    language: language.value,
    model: model.value || null,
    options: boxes.filter(box => box.checked).map(box => box.value),
  });
  const show = program => {
    text.value = String(program.text || "");
    language.value = program.language || "fp";
    model.value = program.model || "";
    const options = program.options || [];
    for (const box of boxes) box.checked = options.includes(box.value);
    number([]);
  };

  // Line numbers, those with messages marked.
  let marked = [];
  const number = found => {
    marked = found;
    const level = new Map();
    for (const mark of found) if (level.get(mark.line) !== "error") level.set(mark.line, mark.level);
    const lines = text.value.split("\n").length;
    const parts = [];
    for (let line = 1; line <= lines; line++) {
      const span = document.createElement("span");
      span.textContent = String(line);
      if (level.has(line)) span.className = level.get(line);
      parts.push(span, "\n");
    }
    numbers.replaceChildren(...parts);
    numbers.scrollTop = text.scrollTop;
  };
  text.addEventListener("scroll", () => { numbers.scrollTop = text.scrollTop; });
  const goTo = (line, column) => {
    const before = text.value.split("\n").slice(0, line - 1);
    const at = before.reduce((sum, line) => sum + line.length + 1, 0) + Math.max(0, (column || 1) - 1);
    text.focus();
    text.setSelectionRange(at, at);
  };

  const say = (name, words) => {
    verdict.textContent = name;
    verdict.className = "badge " + name;
    note.textContent = words || "";
  };
  const result = answer => {
    say(answer.verdict, "");
    const found = answer.marks || [];
    number(found);
    marks.replaceChildren(...found.map(mark => {
      const item = document.createElement("li");
      item.className = mark.level;
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = (mark.line ? "line " + mark.line + ": " : "") + mark.message;
      button.addEventListener("click", () => { if (mark.line) goTo(mark.line, mark.column); });
      item.append(button);
      return item;
    }));
    said.textContent = answer.text || "";
    frame.hidden = !answer.page || answer.verdict === "error";
    if (answer.page && frame.srcdoc !== answer.page) frame.srcdoc = answer.page;
  };

  let asked = null, timer = null;
  const check = async () => {
    if (asked) asked.abort();
    const mine = asked = new AbortController();
    const program = current();
    history.replaceState(null, "", location.pathname + location.search + pack(program));
    if (new TextEncoder().encode(program.text).length > data.most)
      return say("error", "the program is too large: " + (data.most >> 10) + " KiB is the most");
    if (!program.text.trim()) {
      result({ verdict: "–", text: "Write a program, or choose an example." });
      return;
    }
    note.textContent = "checking, at most " + data.seconds + " s …";
    verdict.classList.add("checking");
    try {
      const reply = await fetch("/check?token=" + data.token, {
        method: "POST", body: JSON.stringify({ client, ...program }), signal: mine.signal,
        headers: { "Content-Type": "application/json" },
      });
      const answer = await reply.json();
      if (mine !== asked) return;
      if (reply.ok) result(answer);
      else if (reply.status !== 409) say("error", answer.error || "the server refuses: " + reply.status);
    } catch (error) {
      if (error.name !== "AbortError" && mine === asked)
        say("error", "the server does not answer: is `fencepost play` still running?");
    }
  };
  const soon = () => {
    clearTimeout(timer);
    timer = setTimeout(check, 300);
  };

  text.addEventListener("input", () => { number(marked.filter(() => false)); soon(); });
  // Tab indents; after Escape it moves on, as everywhere.
  let leaving = false;
  text.addEventListener("keydown", event => {
    if (event.key === "Tab" && !event.shiftKey && !leaving) {
      event.preventDefault();
      text.setRangeText("    ", text.selectionStart, text.selectionEnd, "end");
      text.dispatchEvent(new Event("input"));
    }
    leaving = event.key === "Escape";
  });
  for (const control of [language, model, ...boxes]) control.addEventListener("change", check);
  example.addEventListener("change", () => {
    const chosen = data.examples[Number(example.value)];
    if (example.value === "" || !chosen) return;
    show(chosen.program);
    check();
  });
  one("#link").addEventListener("click", async event => {
    // Without the token: whoever gets the link has a playground of their own.
    const link = location.origin + "/" + pack(current());
    const button = event.currentTarget, copied = one("#copied");
    // Where copying is forbidden it can be done by hand.
    copied.value = link;
    copied.hidden = false;
    copied.select();
    try {
      await navigator.clipboard.writeText(link);
      button.textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy link"; }, 1500);
    } catch {
      copied.focus();
    }
  });

  const start = () => {
    if (location.hash.startsWith("#p=")) {
      try {
        show(unpack(location.hash));
        return check();
      } catch {
        show({ text: "" });
        return say("error", "the link is damaged: a part of it is missing or was changed");
      }
    }
    show(data.start || data.examples[0].program);
    check();
  };
  addEventListener("hashchange", start);
  start();
})();
