/* What meets what in a figure that matplotlib has drawn as SVG: an array of sentences.
 *
 * Texts are groups that begin with a comment (their words). Data are what stands directly in a group
 * of axes: lines, markers, bars. The ground and the ticks of axes are none.
 */
(svg) => {
  document.body.style.margin = "0";
  document.body.innerHTML = svg;
  const root = document.querySelector("svg");
  const box = (e) => e.getBoundingClientRect();
  const shrunk = (r, by) => ({ left: r.left + by, right: r.right - by, top: r.top + by, bottom: r.bottom - by });
  const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const within = (a, b) => a.left >= b.left && a.right <= b.right && a.top >= b.top && a.bottom <= b.bottom;
  const comments = (g) => [...g.childNodes].filter((n) => n.nodeType === Node.COMMENT_NODE);
  const texts = [...root.querySelectorAll("g")].filter((g) => comments(g).length).map((g) => ({
    words: comments(g).map((n) => n.data.trim()).join(" "),
    box: box(g),
    axes: g.closest('g[id^="axes_"]'),
    legend: g.closest('g[id^="legend_"]'),
    tick: g.closest('g[id*="tick_"]'),
    axis: g.closest('g[id^="matplotlib.axis_"]'),
  }));
  const found = new Set();
  const says = (text, what) => found.add(`"${text.words}" ${what}`);

  /* Texts: with each other, and with the edge of the picture. */
  const edge = shrunk(box(root), -1);
  texts.forEach((text, i) => {
    if (!within(text.box, edge)) says(text, "is cut by the edge");
    for (const other of texts.slice(i + 1)) {
      if (meet(shrunk(text.box, 1), shrunk(other.box, 1))) says(text, `meets "${other.words}"`);
    }
  });

  /* Segments [x, y, x, y] of a path on the screen, within `clip` if there is one. */
  const segments = (path, clip) => {
    const matrix = path.getScreenCTM();
    const lines = [];
    let last = null;
    for (const [, command, rest] of (path.getAttribute("d") ?? "").matchAll(/([MLCQZz])([^MLCQZz]*)/g)) {
      const n = rest.trim().split(/[\s,]+/).filter(Boolean).map(Number);
      if (n.length < 2) continue;
      const p = new DOMPoint(n[n.length - 2], n[n.length - 1]).matrixTransform(matrix);
      if (last && command !== "M") lines.push([last.x, last.y, p.x, p.y]);
      last = p;
    }
    return lines.map((line) => (clip ? cut(line, clip) : line)).filter(Boolean);
  };
  /* The part of a segment inside a box, or null (Liang and Barsky). */
  const cut = ([x, y, u, v], b) => {
    let [from, to] = [0, 1];
    for (const [p, q] of [[x - u, x - b.left], [u - x, b.right - x], [y - v, y - b.top], [v - y, b.bottom - y]]) {
      if (p === 0 && q < 0) return null;
      if (p < 0) from = Math.max(from, q / p);
      if (p > 0) to = Math.min(to, q / p);
    }
    return from <= to ? [x + from * (u - x), y + from * (v - y), x + to * (u - x), y + to * (v - y)] : null;
  };

  const filled = (e) => !["none", ""].includes(getComputedStyle(e).fill) && getComputedStyle(e).fillOpacity > 0.5;
  for (const axes of root.querySelectorAll('g[id^="axes_"]')) {
    const children = [...axes.children];
    const ground = children.find((g) => g.id.startsWith("patch_"));
    const area = ground && box(ground);
    for (const text of texts) {
      if (area && text.axes !== axes && meet(shrunk(text.box, 1), area)
          && !(text.axes && meet(shrunk(box(text.axes.querySelector('g[id^="patch_"]')), 2), area))) says(text, "stands in other axes");
    }
    const own = texts.filter((t) => t.axes === axes && !t.axis || (!t.axes && t.legend));
    for (const group of children) {
      if (group === ground || comments(group).length || /^(legend_|matplotlib\.axis_|FillBetween|QuadMesh|image)/.test(group.id)) continue;
      for (const shape of group.querySelectorAll("use")) {
        const at = box(shape);
        if (shape.closest("[clip-path]") && !meet(at, area)) continue; // is not drawn
        for (const text of own) if (meet(shrunk(text.box, 1.5), at)) says(text, "stands on a marker");
      }
      for (const path of group.querySelectorAll("path:not(defs path)")) {
        const clip = path.closest("[clip-path]") && area;
        if (filled(path)) {
          const at = box(path);
          for (const text of own) {
            const inside = !text.legend && within(shrunk(text.box, 1), at);
            if (meet(shrunk(text.box, 1.5), at) && !inside) says(text, "stands on a bar");
          }
        } else {
          for (const line of segments(path, clip)) {
            for (const text of own) if (cut(line, shrunk(text.box, 1.5))) says(text, "is crossed by a line");
          }
        }
      }
    }
  }
  return [...found];
}
