/* What the theme leaves out, without any dependency:
 * - formulas too long for the page shrink, down to SMALLEST, and scroll beyond, instead of being cut;
 * - a fold that a link leads to opens, on a click and when a page is loaded with a fragment; of a claim
 *   in a table, its evidence;
 * - a search result that names no section opens at the section that fits it best;
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
  const available = (formula) => {
    let block = formula.parentElement;
    while (getComputedStyle(block).display.startsWith("inline")) block = block.parentElement;
    const style = getComputedStyle(block);
    const beside = style.flexDirection.startsWith("row");
    const number = (beside && block.querySelector(":scope > .eqno")?.offsetWidth) || 0;
    return block.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight) - number - 2;
  };
  const sizes = new WeakMap(); // formula -> [its size in per cent, its scale now]
  const fit = () => {
    const formulas = [...document.querySelectorAll("mjx-container")];
    const wanted = formulas.map((formula) => {
      if (!sizes.has(formula)) sizes.set(formula, [parseFloat(formula.style.fontSize) || 100, 1]);
      const width = formula.querySelector("mjx-math")?.getBoundingClientRect().width ?? 0;
      return width > 0 ? (available(formula) * sizes.get(formula)[1]) / width : 1;
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
      target = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
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

  /* A table that an author wrote gets what tables of cells have: on a phone, a card for every row. */
  const cards = () => {
    for (const table of document.querySelectorAll("article table.table:not(.scoreboard table, .numbers table)")) {
      const names = [...table.querySelectorAll("thead th")].map((cell) => cell.textContent.trim());
      if (!names.length) continue;
      const around = document.createElement("div");
      around.className = "numbers written";
      table.before(around);
      around.append(table);
      for (const row of table.querySelectorAll("tbody tr")) {
        [...row.cells].slice(1).forEach((cell, i) => (cell.dataset.label = names[i + 1] ?? ""));
      }
    }
  };
  /* A bar that folds code says what the code makes. */
  const MAKES = [["figure.plot", "this figure"], [".claim", "this verdict"], [".numbers", "this table"]];
  const bars = () => {
    for (const cell of document.querySelectorAll("div.cell:has(details.above-input)")) {
      const [, made] = MAKES.find(([part]) => cell.querySelector(`.cell_output ${part}`)) ?? [];
      const bar = cell.querySelector("details.above-input > summary > .collapsed");
      if (bar) bar.textContent = made ? `Code of ${made}` : "Code";
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    control();
    cards();
    bars();
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
