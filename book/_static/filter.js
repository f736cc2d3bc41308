/* Filters of the scoreboard, by page, kind and verdict: plain controls over the tables of the page,
 * without any dependency.  With scripts off every row is shown.
 */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  const place = document.querySelector("[data-filters]");
  if (!place) return;
  const rows = [...document.querySelectorAll(".scoreboard tbody tr:has([data-kind])")].map((row) => ({
    row,
    Page: row.closest("table").caption.textContent,
    Kind: row.querySelector("[data-kind]").dataset.kind,
    Verdict: row.querySelector(".verdict").textContent.replace(/^\S+\s/, ""),
  }));
  const wanted = {};
  const said = document.createElement("output");
  const apply = () => {
    let shown = 0;
    for (const entry of rows) {
      entry.row.hidden = Object.entries(wanted).some(([name, value]) => value && entry[name] !== value);
      shown += !entry.row.hidden;
    }
    for (const region of new Set(rows.map(({ row }) => row.closest(".scoreboard")))) {
      region.hidden = !region.querySelector("tbody tr:not([hidden])");
    }
    said.textContent = `${shown} of ${rows.length} sentences shown`;
  };
  for (const name of ["Page", "Kind", "Verdict"]) {
    const select = document.createElement("select");
    select.add(new Option("all", ""));
    for (const value of [...new Set(rows.map((entry) => entry[name]))]) select.add(new Option(value, value));
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
