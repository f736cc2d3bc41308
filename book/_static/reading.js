/* What makes tables, bars and names easier to read; with scripts off they are as the notebooks have them.
 * It comes after site.js, which makes the cards and names the bars.
 */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const article = document.querySelector("article");
  if (!article) return;

  /* An interval stays in one line: "[0.9, 1.1]", "(paper: 290)". */
  const INTERVAL = /\[[^[\]]{1,28}\]|\(paper: [^()]{1,14}\)/g;
  for (const part of article.querySelectorAll("td, th, strong")) {
    for (const text of part.childNodes) {
      if (text.nodeType === Node.TEXT_NODE || text.nodeName === "SMALL") {
        const said = text.textContent;
        const kept = said.replace(INTERVAL, (interval) => interval.replaceAll(" ", "\u00a0"));
        if (kept !== said && !text.children?.length) text.textContent = kept;
      }
    }
  }

  /* So do a number and its interval: "60% [40%, 81%]". */
  for (const cell of article.querySelectorAll(".numbers td")) {
    if (/^\S{1,9}\s\[[^[\]]{1,20}\]$/.test(cell.textContent.trim())) cell.classList.add("value");
  }
  for (const around of article.querySelectorAll(".numbers:has(.value)")) {
    if (around.scrollWidth <= around.clientWidth) continue;
    around.querySelectorAll(".value").forEach((cell) => cell.classList.remove("value")); // no room for all of them
  }

  /* Columns of words begin at the left; numbers stay at the right. */
  const WORD = /\p{L}{3,}/u;
  const NUMBER = /\b(inf|nan|none|paper|more than)\b/gi;
  for (const table of article.querySelectorAll(".numbers:not(.written) table, table.dataframe")) {
    const rows = [...table.tBodies].flatMap((body) => [...body.rows]);
    const heads = table.tHead?.rows[0]?.cells ?? [];
    for (let i = 0; i < heads.length; i += 1) {
      const column = rows.map((row) => row.cells[i]).filter((cell) => cell);
      if (!column.some((cell) => WORD.test(cell.textContent.replace(NUMBER, "")))) continue;
      [heads[i], ...column].forEach((cell) => cell.classList.add("words"));
    }
  }

  /* A long table that an author wrote gives every column the room that its words need. */
  const length = (cell) => {
    const copy = cell.cloneNode(true);
    copy.querySelectorAll(".math").forEach((formula) => formula.replaceWith("formula"));
    return copy.textContent.length;
  };
  for (const table of article.querySelectorAll(".numbers.written table")) {
    const columns = [...table.tHead.rows[0].cells].map((head, i) => [
      head, [...table.tBodies[0].rows].map((row) => (row.cells[i] ? length(row.cells[i]) : 0)),
    ]);
    if (columns.length < 4 || !columns.some(([, lengths]) => Math.max(...lengths) > 90)) continue;
    const rooms = columns.map(([, lengths]) => Math.sqrt(Math.max(9, ...lengths)));
    const all = rooms.reduce((sum, room) => sum + room, 0);
    columns.forEach(([head], i) => (head.style.width = `${Math.round((100 * rooms[i]) / all)}%`));
  }

  /* Bars with one name in a section say which verdicts are meant: their places in the paper. */
  const place = (id) => document.getElementById(`claim-${id}`)?.closest("tr")?.querySelector('[data-label="Place"]')?.textContent;
  const verdicts = [...article.querySelectorAll("details.above-input > summary > .collapsed")]
    .filter((bar) => /this verdict$|verdicts of this page$/.test(bar.textContent));
  for (const bar of verdicts) {
    const section = bar.closest("section");
    if (verdicts.filter((other) => other.closest("section") === section).length < 2) continue;
    const code = bar.closest("details").querySelector("pre").textContent;
    const ids = [...code.matchAll(/\.(?:open|finding)\(\s*"([\w-]+)"/g)].map(([, id]) => place(id) || "what we found");
    bar.textContent = ids.length ? `Code: verdicts on ${[...new Set(ids)].join("; ")}` : "Code of these verdicts";
  }
  const bars = [...article.querySelectorAll("details.above-input > summary > .collapsed")].filter((bar) => /^Code: verdicts/.test(bar.textContent));
  for (const title of new Set(bars.map((bar) => bar.textContent))) {
    const same = bars.filter((bar) => bar.textContent === title);
    if (same.length > 1) same.forEach((bar, i) => (bar.textContent += ` (${i + 1} of ${same.length})`));
  }

  /* An option is one word: "-y", "--out"; so is a short name in a first column. A long path breaks after "/" and "_" before it breaks elsewhere. */
  for (const code of article.querySelectorAll(":not(pre) > code")) {
    for (const part of code.querySelector(".pre") ? code.querySelectorAll(".pre") : [code]) {
      const text = part.textContent;
      if (part.children.length) continue;
      if (text.length < 17 && (/^-/.test(text) || part.closest("td:first-child"))) part.classList.add("option");
      else if (text.length > 16 && /[/_]/.test(text)) {
        part.replaceChildren(...text.split(/(?<=[/_])(?=\w)/).flatMap((piece, i) => (i ? [document.createElement("wbr"), piece] : [piece])));
      }
    }
  }

  /* In the contents at the right a long name breaks after "." and "_". */
  for (const name of document.querySelectorAll(".bd-sidebar-secondary :is(.pre, a:not(:has(*)))")) {
    if (/\s/.test(name.textContent.trim())) continue;
    const pieces = name.textContent.trim().split(/(?<=[._])(?=\w)/);
    name.replaceChildren(...pieces.flatMap((piece, i) => (i ? [document.createElement("wbr"), piece] : [piece])));
  }

  /* What is typed as x_max, e^S or d^(3/2) in the sentences of claims is lowered and raised. */
  const SMALL = /(?<![\p{L}\d_])(\p{L})_(max|min|[\p{L}\d])(?![\p{L}\d_])|\^(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)|[-−]?(?:\d+\.\d+|[\p{L}\d]+))/gu;
  const setSmall = (data) => { // text and elements; what is raised may hold raised parts itself
    const parts = [];
    let end = 0;
    for (const { 0: all, 1: letter, 2: below, 3: above, index } of data.matchAll(SMALL)) {
      const small = document.createElement(below ? "sub" : "sup");
      small.append(...setSmall(below ?? above.replace(/^\((.*)\)$/, "$1")));
      parts.push(data.slice(end, index) + (letter ?? ""), small);
      end = index + all.length;
    }
    return [...parts, data.slice(end)];
  };
  const PLACES = ".claim, .scoreboard :is(td, th), dl.changes, figcaption, .collapsed";
  const texts = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  const typed = [];
  for (let text = texts.nextNode(); text; text = texts.nextNode()) {
    if (text.data.search(SMALL) >= 0 && text.parentElement.closest(PLACES)) typed.push(text);
  }
  for (const text of typed) {
    if (text.parentElement.closest("code, pre, script, .math, mjx-container")) continue;
    text.replaceWith(...setSmall(text.data));
  }

  /* A negative number in text or a table has a minus, not a hyphen; in code it stays as typed. */
  const NEGATIVE = /(?<![\p{L}\d_.\-–])-(?=\d)/gu;
  const numbers = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  for (let text = numbers.nextNode(); text; text = numbers.nextNode()) {
    if (text.data.search(NEGATIVE) < 0 || text.parentElement.closest("code, pre, script, textarea, .math, mjx-container, .sig")) continue;
    text.data = text.data.replace(NEGATIVE, "−");
  }
});
