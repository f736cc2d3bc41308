/* Filters of the scoreboard, of the errata and of the changes: plain controls over what the page lists, without any
 * dependency.  An address may set them: scoreboard.html?Paper=LPLR&Verdict=reproduced.  With scripts off
 * everything is shown.
 */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("[data-filters]");
  if (!place) return;
  const claims = [...document.querySelectorAll(".scoreboard tbody tr:has([data-kind])")].map((row) => ({
    shown: [row],
    Paper: row.closest("table").caption.textContent,
    Kind: row.querySelector("[data-kind]").dataset.kind,
    Verdict: row.querySelector(".verdict").textContent.replace(/^\S+\s/, ""),
  }));
  const lines = new Map([...document.querySelectorAll("article td:first-child > p > a, article td:first-child > a")]
    .map((link) => [link.hash.slice(1), link.closest("tr")]));
  const errata = [...document.querySelectorAll("article li a[data-weight]")].map((mark) => ({
    shown: [mark.closest("li"), lines.get(mark.id)].filter((part) => part),
    Paper: mark.dataset.paper,
    Weight: mark.dataset.weight,
  }));
  const changes = [...document.querySelectorAll("dl.changes")].map((list) => ({
    shown: [list],
    Paper: list.dataset.paper,
  }));
  const entries = [claims, errata, changes].find((found) => found.length);
  if (!entries) return;
  const asked = new URLSearchParams(location.search);
  const wanted = {};
  const said = document.createElement("output");
  const apply = () => {
    let count = 0;
    for (const entry of entries) {
      const hidden = Object.entries(wanted).some(([name, value]) => value && entry[name] !== value);
      for (const part of entry.shown) part.hidden = hidden;
      count += !hidden;
    }
    const filtered = Object.values(wanted).some((value) => value);
    for (const region of new Set(claims.map(({ shown }) => shown[0].closest(".scoreboard")))) {
      const empty = !region.querySelector("tbody tr:not([hidden])");
      const fold = region.closest("details");
      region.hidden = empty;
      if (fold) fold.hidden = empty;
      if (fold && filtered) fold.open = !empty;
    }
    for (const list of new Set(errata.map(({ shown }) => shown[0].parentElement))) {
      const empty = [...list.children].every((entry) => entry.hidden);
      list.closest("section").hidden = empty;
    }
    for (const section of new Set(claims.map(({ shown }) => shown[0].closest("section")))) {
      let note = section.querySelector(".nothing");
      if (!note) {
        note = document.createElement("p");
        note.className = "nothing";
        note.textContent = "Nothing here fits the filters.";
        section.append(note);
      }
      note.hidden = [...section.querySelectorAll("[data-kind]")].some((mark) => !mark.closest("tr").hidden);
    }
    for (const section of new Set(changes.map(({ shown }) => shown[0].closest("section")))) {
      section.hidden = [...section.querySelectorAll(".changes")].every((list) => list.hidden);
    }
    said.textContent = `${count} of ${entries.length} shown`;
  };
  for (const name of Object.keys(entries[0]).filter((key) => key !== "shown")) {
    const select = document.createElement("select");
    select.add(new Option("all", ""));
    for (const value of [...new Set(entries.map((entry) => entry[name]))]) select.add(new Option(value, value));
    select.value = asked.get(name) ?? "";
    if (select.selectedIndex < 0) select.value = "";
    wanted[name] = select.value;
    select.addEventListener("change", () => {
      wanted[name] = select.value;
      apply();
    });
    const label = document.createElement("label");
    label.append(`${name} `, select);
    place.append(label);
  }
  place.append(said);
  apply();
});
