/* On the search page, above what Sphinx finds by words: theorem boxes and claims of the number that is
 * asked for, and the chapter of that file name or title (places.js, written by tools/ext/places.py).
 */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const said = (new URLSearchParams(location.search).get("q") ?? "").trim().toLowerCase();
  const asked = said.replace(/\s+/g, " ").replace(/\.(ipynb|html|md)$/, "");
  const results = document.getElementById("search-results");
  const stem = asked.slice(0, Math.max(5, asked.length - 2)); // "shuffler" finds the word "shuffle model"
  const explains = ([[name], , , source]) => asked.length > 3 && source.startsWith("Glossary") && name.includes(stem);
  const found = (window.PLACES ?? []).filter((place) => asked && (place[0].includes(asked) || explains(place)));
  if (!results || !found.length) return;
  const list = document.createElement("ul");
  list.className = "search";
  for (const [, words, url, source] of found) {
    const item = document.createElement("li");
    const link = Object.assign(document.createElement("a"), { href: url, textContent: words });
    const from = Object.assign(document.createElement("p"), { className: "context", textContent: source });
    item.append(link, from);
    list.append(item);
  }
  const section = document.createElement("section");
  section.id = "places";
  section.setAttribute("aria-label", "By number or name");
  const title = document.createElement("h2");
  title.textContent = `By number or name: ${found.length} ${found.length === 1 ? "place" : "places"}`;
  section.append(title, list);
  results.before(section);
});
