(() => {
  // Text whose contrast with what is behind it is below 4.5: what it is, and how low. Colours are what the browser
  // computed, half transparent ones are laid over what is behind them, and text of drawings stands on its node.
  const parse = color => {
    const parts = (color.match(/[\d.]+/g) || []).map(Number);
    return parts.length === 4 ? parts : parts.length === 3 ? [...parts, 1] : [0, 0, 0, 0];
  };
  const over = ([r, g, b, a], [R, G, B]) => [r * a + R * (1 - a), g * a + G * (1 - a), b * a + B * (1 - a), 1];
  const luminance = ([r, g, b]) => {
    const f = v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
    return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b);
  };
  const behind = element => {
    if (!element) return [255, 255, 255, 1];
    const color = parse(getComputedStyle(element).backgroundColor);
    return color[3] > 0.99 ? color : over(color, behind(element.parentElement));
  };
  const paperOf = text => {
    const node = text.closest(".node");
    const below = behind(text.closest("svg"));
    if (!node) return below;
    const fill = parse(getComputedStyle(node.querySelector("rect")).fill);
    return over(fill, below);
  };
  const poor = new Set();
  for (const element of document.querySelectorAll("body *")) {
    const own = [...element.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
    if (!own || element.closest("script, style, title, defs") || !element.checkVisibility()) continue;
    const drawn = element.closest("svg");
    const style = getComputedStyle(element);
    const paper = drawn ? paperOf(element) : behind(element);
    let ink = parse(drawn ? style.fill : style.color);
    let opacity = 1;
    for (let e = element; e; e = e.parentElement) opacity *= Number(getComputedStyle(e).opacity);
    ink = over([ink[0], ink[1], ink[2], ink[3] * opacity], paper);
    const [a, b] = [luminance(ink), luminance(paper)];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5)
      poor.add(element.tagName + "." + (element.getAttribute("class") || "") + " in "
        + (element.parentElement.getAttribute("class") || "") + " " + ratio.toFixed(2));
  }
  return [...poor];
})()
