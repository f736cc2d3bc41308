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
  const said = (id) => id.replace(/(\d)-(?=\d)/g, "$1.").replaceAll("-", " ");
  const place = (id) => document.getElementById(`claim-${id}`)?.closest("tr")?.querySelector('[data-label="Place"]')?.textContent;
  const verdicts = [...article.querySelectorAll("details.above-input > summary > .collapsed")]
    .filter((bar) => /this verdict$|verdicts of this page$/.test(bar.textContent));
  for (const bar of verdicts) {
    const section = bar.closest("section");
    if (verdicts.filter((other) => other.closest("section") === section).length < 2) continue;
    const code = bar.closest("details").querySelector("pre").textContent;
    const ids = [...code.matchAll(/\.(?:open|finding)\(\s*"([\w-]+)"/g)].map(([, id]) => place(id) || said(id));
    bar.textContent = ids.length ? `Code: verdicts on ${[...new Set(ids)].join("; ")}` : "Code of these verdicts";
  }

  /* An option is one word: "-y", "--out". A long path breaks after "/" and "_" before it breaks elsewhere. */
  for (const code of article.querySelectorAll(":not(pre) > code")) {
    for (const part of code.querySelector(".pre") ? code.querySelectorAll(".pre") : [code]) {
      const text = part.textContent;
      if (part.children.length) continue;
      if (/^-/.test(text) && text.length < 16) part.classList.add("option");
      else if (text.length > 16 && /[/_]/.test(text)) {
        part.replaceChildren(...text.split(/(?<=[/_])(?=\w)/).flatMap((piece, i) => (i ? [document.createElement("wbr"), piece] : [piece])));
      }
    }
  }
});
