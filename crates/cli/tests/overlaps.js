(() => {
  // Names of edges that lie on another edge's name, on a node or on a thread's name, in drawings that are shown; and
  // threads' names that lie on each other. Each with the texts that meet.
  const meets = (a, b) => a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5;
  const found = [];
  let names = 0, nameless = 0;
  for (const svg of document.querySelectorAll(".finding svg.execution")) {
    if (!svg.checkVisibility()) continue;
    const all = selector => [...svg.querySelectorAll(selector)].filter(e => e.checkVisibility())
      .map(e => [e.textContent, e.getBoundingClientRect()]);
    const labels = all(".edge text"), heads = all("text.lane"), nodes = all(".node rect");
    const where = svg.closest(".finding").id;
    names += labels.length;
    nameless += [...svg.querySelectorAll(".edge")].filter(e => e.checkVisibility() && !e.querySelector("text")).length;
    labels.forEach(([text, box], index) => {
      for (const [other, there] of [...labels.slice(index + 1), ...heads, ...nodes])
        if (meets(box, there)) found.push(`${where}: ${text} on ${other || "a node"}`);
    });
    heads.forEach(([text, box], index) => {
      for (const [other, there] of [...heads.slice(index + 1), ...nodes])
        if (meets(box, there)) found.push(`${where}: ${text} on ${other || "a node"}`);
    });
  }
  return { found, names, nameless };
})()
