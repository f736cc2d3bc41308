/* What the theme leaves out, without any dependency:
 * - formulas too long for the page break or shrink, down to SMALLEST, and scroll beyond, instead of being cut;
 * - punctuation stays with its formula, a relation with both its sides, a row of a table on a phone is a card;
 * - a fold that a link leads to opens, on a click and when a page is loaded with a fragment; of a claim
 *   in a table, its evidence; a link to a claim leads to where its experiment stands, if it stands apart;
 * - a search result that names no section opens at the section that fits it best;
 * - the steps of an algorithm have margins;
 * - one control per page opens or closes all code, and is remembered from page to page;
 * - paper shows every fold open, but for code that the reader left folded: that is left out (custom.css).
 */
"use strict";

(() => {
  const KEY = "book-code"; // "true": all code open, "false": all closed, else as the author left it
  const PRESSED = ["mixed", "true", "false"];

  const remembered = () => {
    try {
      return PRESSED.includes(localStorage.getItem(KEY)) ? localStorage.getItem(KEY) : "mixed";
    } catch {
      return "mixed"; // storage may be forbidden
    }
  };
  const remember = (pressed) => {
    try {
      localStorage.setItem(KEY, pressed);
    } catch {
      /* then it holds for this page only */
    }
  };

  /* Formulas. */
  const SMALLEST = 0.7;
  const BREAK = 0.85; // a formula that would shrink more breaks, if it can
  const available = (formula) => {
    let block = formula.parentElement;
    while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
    block = block.closest("td[data-label]") ?? block; // in a card, words are as wide as they are long
    const style = getComputedStyle(block);
    const beside = style.flexDirection.startsWith("row");
    const number = (beside && block.querySelector(":scope > .eqno")?.offsetWidth) || 0;
    return block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - number - 2;
  };
  /* A formula may break before a relation, before an operation, and after a wide space, outside parentheses. */
  const character = (part) => part.querySelector("mjx-c")?.className.match(/mjx-c([0-9A-F]+)/)?.[1];
  const OPEN = ["28", "5B", "7B", "27E8", "2308"];
  const CLOSE = ["29", "5D", "7D", "27E9", "2309"];
  const offerBreaks = (formula) => {
    const parts = [...(formula.querySelector("mjx-math")?.children ?? [])].filter((part) => part.getClientRects().length);
    let depth = 0;
    let operator = true; // the sign before: an operation after a relation is a sign
    for (const part of parts) {
      const sign = part.tagName === "MJX-MO" ? character(part) : "";
      const breaks = sign && part.hasAttribute("space") && !OPEN.includes(sign) && !CLOSE.includes(sign);
      const em = parseFloat(getComputedStyle(part).fontSize);
      const space = part.tagName === "MJX-MSTYLE" && !part.querySelector("mjx-c") && part.offsetWidth > 0.9 * em;
      if (depth === 0 && breaks && !operator) part.before(document.createElement("wbr"));
      if (depth === 0 && space) part.after(document.createElement("wbr"));
      if (OPEN.includes(sign)) depth += 1;
      if (CLOSE.includes(sign)) depth = Math.max(0, depth - 1);
      operator = breaks || space;
    }
    formula.dataset.offered = "";
  };
  const widest = (formula) => { // of the parts between breaks
    const widths = [];
    let left = null;
    for (const part of formula.querySelector("mjx-math").children) {
      if (part.tagName === "WBR") {
        left = null;
        continue;
      }
      const place = part.getBoundingClientRect();
      if (!place.width) continue;
      if (left === null) {
        left = place.left;
        widths.push(0);
      }
      widths[widths.length - 1] = place.right - left;
    }
    return Math.max(...widths);
  };
  const sizes = new WeakMap(); // formula -> [its size in per cent, its scale now]
  const fit = () => {
    const formulas = [...document.querySelectorAll("mjx-container")];
    formulas.forEach((formula) => formula.classList.remove("broken"));
    const wanted = formulas.map((formula) => {
      if (!sizes.has(formula)) sizes.set(formula, [parseFloat(formula.style.fontSize) || 100, 1]);
      const width = formula.querySelector("mjx-math")?.getBoundingClientRect().width ?? 0;
      return width > 0 ? (available(formula) * sizes.get(formula)[1]) / width : 1;
    });
    formulas.forEach((formula, i) => {
      if (wanted[i] >= BREAK) return;
      if (!("offered" in formula.dataset)) offerBreaks(formula);
      if (!formula.querySelector("wbr")) return;
      wanted[i] = (available(formula) * sizes.get(formula)[1]) / widest(formula);
      formula.classList.add("broken");
    });
    formulas.forEach((formula, i) => {
      const [size, scale] = sizes.get(formula);
      const now = Math.max(SMALLEST, Math.min(1, 0.99 * wanted[i]));
      if (now !== scale) {
        formula.style.fontSize = `${size * now}%`;
        sizes.set(formula, [size, now]);
      }
      formula.classList.toggle("long", wanted[i] < SMALLEST);
    });
  };
  let waiting = false;
  const fitSoon = () => {
    if (waiting) return;
    waiting = true;
    requestAnimationFrame(() => {
      waiting = false;
      fit();
    });
  };

  /* Folds. */
  const show = (input) => {
    input.hidden = false;
    const fold = input.closest("details");
    if (fold) fold.open = true;
  };
  const reveal = (target) => {
    for (let node = target; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
      if (node.classList.contains("toggle-hidden")) node.querySelector(".toggle-button")?.click();
      if (node.classList.contains("cell_input")) node.hidden = false;
    }
    if (target.matches("div.cell")) target.querySelectorAll("div.cell_input").forEach(show);
    target.closest("tr")?.querySelectorAll("td > details").forEach((fold) => (fold.open = true));
    if (target.matches(".claim")) target.querySelectorAll(":scope > details").forEach((fold) => (fold.open = true));
  };
  const follow = (hash) => {
    let target = null;
    try {
      const name = decodeURIComponent(hash.slice(1));
      target = document.getElementById(name.replace(/^claim-/, "evidence-")) ?? document.getElementById(name);
    } catch {
      return; // a fragment that is no text leads nowhere
    }
    if (!target) return;
    reveal(target);
    target.scrollIntoView();
  };

  /* Search: the words that led here stand in the address (put there by the click below). */
  const bestSection = (words) => {
    const stems = words.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((w) => w)
      .map((w) => w.slice(0, Math.max(4, w.length - 2)));
    const scores = new Map();
    const texts = document.createTreeWalker(document.querySelector("article") ?? document.body, NodeFilter.SHOW_TEXT);
    for (let text = texts.nextNode(); text; text = texts.nextNode()) {
      const section = text.parentElement.closest("section[id]");
      const found = stems.filter((stem) => text.data.toLowerCase().includes(stem));
      if (!section || !found.length) continue;
      const seen = scores.get(section) ?? { stems: new Set(), titled: 0, hits: 0 };
      found.forEach((stem) => seen.stems.add(stem));
      seen.titled += text.parentElement.closest("h1, h2, h3, h4") ? 1 : 0;
      seen.hits += 1;
      scores.set(section, seen);
    }
    const value = ({ stems, titled, hits }) => 1e6 * stems.size + 1e3 * titled + Math.min(hits, 999);
    return [...scores.keys()].sort((a, b) => value(scores.get(b)) - value(scores.get(a)))[0];
  };
  const openHit = (words) => {
    const section = bestSection(words);
    if (!section) return;
    history.replaceState(null, "", `#${section.id}`);
    section.scrollIntoView();
  };

  /* The control. */
  const apply = (pressed, button) => {
    for (const input of document.querySelectorAll("div.cell_input")) {
      const fold = input.closest("details");
      if (fold) fold.open = pressed === "true";
      else input.hidden = pressed === "false";
    }
    button.setAttribute("aria-pressed", pressed);
    fitSoon();
  };
  const control = () => {
    const place = document.querySelector(".article-header-buttons");
    if (!place || !document.querySelector("div.cell_input")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "btn code-switch";
    button.title = "Code of this page: as arranged, all open, all closed (Alt+C)";
    button.setAttribute("aria-label", "All code of this page");
    button.setAttribute("aria-keyshortcuts", "Alt+C");
    button.textContent = "{ }";
    const next = () => {
      const pressed = PRESSED[(PRESSED.indexOf(button.getAttribute("aria-pressed")) + 1) % PRESSED.length];
      remember(pressed);
      apply(pressed, button);
    };
    button.addEventListener("click", next);
    document.addEventListener("keydown", (event) => {
      if (event.altKey && !event.ctrlKey && !event.metaKey && event.code === "KeyC") {
        event.preventDefault();
        next();
      }
    });
    place.prepend(button);
    apply(remembered(), button);
  };

  /* A table that an author or pandas wrote gets what tables of cells have: on a phone, a card for every row. */
  const cards = () => {
    for (const table of document.querySelectorAll("article :is(table.table, table.dataframe):not(.scoreboard table, .numbers table)")) {
      const heads = [...table.querySelectorAll("thead th")];
      if (!heads.length) continue;
      const around = document.createElement("div");
      around.className = "numbers written";
      table.before(around);
      around.append(table);
      for (const row of table.querySelectorAll("tbody tr")) {
        [...row.cells].forEach((cell, i) => {
          const formula = heads[i]?.querySelector(".math");
          cell.dataset.label = formula ? "" : (heads[i]?.textContent.trim() ?? "");
          if (!formula || !cell.textContent.trim()) return;
          const label = document.createElement("span");
          label.className = "card-label";
          label.append(...heads[i].cloneNode(true).childNodes);
          cell.prepend(label);
        });
      }
    }
    for (const table of document.querySelectorAll(".scoreboard table")) {
      const rows = [...table.querySelectorAll("tbody tr")];
      [...table.querySelectorAll("thead th")].forEach((head, i) => {
        if (!rows.length || rows.some((row) => row.cells[i]?.textContent.trim())) return;
        for (const cell of [head, ...rows.map((row) => row.cells[i])]) if (cell) cell.hidden = true; // nothing in the column
      });
    }
    for (const cell of document.querySelectorAll(":is(.scoreboard, .numbers) td")) {
      if (!cell.textContent.trim() && !cell.querySelector("img")) cell.replaceChildren(); // no card shows its name
    }
  };
  /* A bar that folds code says what the code shows or, if it shows nothing, what it is. */
  const MAKES = [
    ["figure.plot", "this figure"], [".claim", "this verdict"], [".numbers", "this table"],
    [".scoreboard", "these verdicts"], [".output", "this output"],
  ];
  const IS = [
    [/^(import|from) /, "imports and settings"],
    [/page\.open\(|\.finding\(/, "verdicts of this page"],
    [/^(def|class|async) /, "definitions and runs"],
    [/simulate|repetitions\(|regrets?\(|experiments\.|audit\.|\.run\(/, "runs"],
    [/(?:)/, "numbers of this section"],
  ];
  const claimed = (code) => { // where in the paper the claims stand that a cell opens
    const rows = [...code.matchAll(/page\.open\(\s*"([^"]+)"/g)].map(([, id]) => document.getElementById(`claim-${id}`)?.closest("tr"));
    const places = rows.filter((row) => row).map((row) => row.querySelector('[data-label="Place"]')?.textContent || "what we found");
    return [...new Set(places)];
  };
  const codeOf = (cell) => cell.querySelector(".cell_input pre")?.textContent.trim() ?? "";
  const madeBy = (cell) => {
    const shows = (part) => [...cell.querySelectorAll(`.cell_output ${part}`)].some((found) => found.textContent.trim() || found.querySelector("img"));
    return MAKES.find(([part]) => shows(part))?.[1];
  };
  const headOf = (cell) => { // its section, by name if the name has no formula
    const head = cell.closest("section").querySelector("h1, h2, h3, h4");
    if (head.querySelector(".math")) return "this section";
    return `“${head.textContent.replace(/^[\d.]+\s*/, "").replace(/#$/, "")}”`;
  };
  const sectionOf = (cell) => cell.closest("article > section > section");
  const usedFor = (cell, cells) => { // the first figure or table below it in its section that uses what a cell assigns
    const names = [...codeOf(cell).matchAll(/^([\w, ]+?) = /gm)].flatMap(([, left]) => left.split(/, */));
    for (const next of cells.slice(cells.indexOf(cell) + 1)) {
      if (sectionOf(next) !== sectionOf(cell)) return "";
      const words = new Set(codeOf(next).match(/\w+/g));
      const figure = next.querySelector("figcaption b")?.textContent.match(/^Figure [\d.]*\d/);
      const made = figure?.[0] ?? { "this table": "the next table" }[madeBy(next)];
      if (names.some((name) => words.has(name)) && made) return ` for ${made}`;
      names.push(...[...codeOf(next).matchAll(/^(\w+) = (.+)/gm)].filter(([, , right]) => names.some((name) => right.match(/\w+/g)?.includes(name))).map(([, left]) => left));
    }
    return "";
  };
  const bars = () => {
    const cells = [...document.querySelectorAll("div.cell")];
    for (const cell of cells) {
      const bar = cell.querySelector("details.above-input > summary > .collapsed");
      if (!bar) continue;
      const code = codeOf(cell);
      const made = madeBy(cell);
      const places = claimed(code);
      const is = places.length ? `verdicts on ${places.join("; ")}` : IS.find(([sign]) => sign.test(code))[1];
      const told = made && !(places.length && made === "this output"); // a verdict in words is in the table below
      const used = /runs$/.test(is) ? usedFor(cell, cells) || ` of ${headOf(cell)}` : "";
      bar.textContent = told ? `Code of ${made}` : `Code: ${is}${used}`;
    }
  };

  /* Punctuation stays with the formula that it follows or precedes; in a table, both sides of a relation. */
  const together = () => {
    for (const formula of document.querySelectorAll("article span.math")) {
      const after = formula.nextSibling?.nodeName === "#text" ? formula.nextSibling.data.match(/^[.,;:?!)\]”’]+/) : null;
      const before = formula.previousSibling?.nodeName === "#text" ? formula.previousSibling.data.match(/[([“]+$/) : null;
      if (!after && !before) continue;
      const whole = document.createElement("span");
      whole.className = "together";
      formula.before(whole);
      if (before) {
        whole.previousSibling.data = whole.previousSibling.data.slice(0, before.index);
        whole.append(before[0]);
      }
      whole.append(formula);
      if (!after) continue;
      whole.nextSibling.data = whole.nextSibling.data.slice(after[0].length);
      whole.append(after[0]);
    }
    for (const { firstChild } of document.querySelectorAll(".verdict")) {
      if (firstChild?.nodeName === "#text") firstChild.data = firstChild.data.replace(" ", "\u00a0"); // sign and word
    }
    for (const table of document.querySelectorAll(".numbers table")) {
      const texts = document.createTreeWalker(table, NodeFilter.SHOW_TEXT);
      for (let text = texts.nextNode(); text; text = texts.nextNode()) {
        if (text.parentElement.closest("code, pre, script, mjx-container, .math")) continue;
        text.data = text.data
          .replace(/ ([=±<>≤≥≈]) (?=\S)/g, "\u00a0$1\u00a0")
          .replace(/\b(Algorithm|Theorem|Lemma|Table|Figure) (?=\d)/g, "$1\u00a0");
      }
    }
  };
  /* A step of an algorithm begins with a space for each level: a margin, so that what wraps stays right of it. */
  const steps = () => {
    for (const space of document.querySelectorAll(".algorithm-content li > p > span.math:first-child")) {
      if (!/^\\\((\\quad\s*)+\\\)$/.test(space.textContent.trim())) continue;
      space.parentElement.style.setProperty("--steps", space.textContent.match(/quad/g).length);
      space.parentElement.classList.add("indented");
      space.remove();
    }
  };
  /* The name of a module breaks after a dot or an underscore. */
  const modules = () => {
    for (const heading of document.querySelectorAll("article h2")) {
      const [name] = heading.childNodes;
      if (!/^(companion|evidence)\.[\w.]+$/.test(name?.data ?? "")) continue;
      heading.classList.add("module");
      name.replaceWith(...name.data.split(/(?<=[._])/).flatMap((part) => [part, document.createElement("wbr")]));
    }
  };

  document.addEventListener("readystatechange", () => {
    if (document.readyState === "interactive") steps(); // before MathJax, which is deferred
  });
  document.addEventListener("DOMContentLoaded", () => {
    control();
    cards();
    bars();
    together();
    modules();
    document.addEventListener("click", (event) => {
      const link = event.target.closest?.("a[href]");
      if (!link) return;
      if (link.closest("#search-results") && !link.hash) {
        const url = new URL(link.href);
        url.searchParams.set("highlight", new URLSearchParams(location.search).get("q") ?? "");
        link.href = url;
      } else if (link.hash && link.href.split("#")[0] === location.href.split("#")[0]) {
        setTimeout(follow, 0, link.hash);
      }
    });
  });
  window.addEventListener("hashchange", () => follow(location.hash));
  const words = new URLSearchParams(location.search).get("highlight"); // read before Sphinx removes it
  window.addEventListener("load", () => {
    for (const arrow of document.querySelectorAll("nav li > details > summary")) {
      arrow.ariaLabel = "Pages of this chapter"; // an icon alone has no name
    }
    const settled = window.MathJax?.startup?.promise ?? Promise.resolve();
    settled.then(() => {
      fit();
      if (location.hash) follow(location.hash);
      else if (words) openHit(words);
      new ResizeObserver(fitSoon).observe(document.body);
      document.fonts.ready.then(fitSoon);
      document.addEventListener("toggle", fitSoon, true);
      document.addEventListener("click", fitSoon); // other folds and tabs
      root.dataset.settled = "";
    });
  });
  const root = document.documentElement;

  /* Paper. */
  let opened = [];
  window.addEventListener("beforeprint", () => {
    const folded = ".hide.above-input, td details, #every-sentence-of-the-papers details";
    opened = [...document.querySelectorAll(`article details:not([open], ${folded})`)];
    opened.forEach((fold) => (fold.open = true));
  });
  window.addEventListener("afterprint", () => opened.forEach((fold) => (fold.open = false)));
})();
