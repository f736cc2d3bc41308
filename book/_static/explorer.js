/* The arena's explorer: menus that choose one of the answers that stand in the page (evidence/arena/decision.py).
 * What was not played with the menus before it cannot be chosen; a menu that a choice changes is named.
 * Without scripts all answers are there, each behind its line. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const root of document.querySelectorAll(".explorer")) {
    const answers = [...root.querySelectorAll("[data-choice]")].map((part) => ({ part, ...JSON.parse(part.dataset.choice) }));
    const names = Object.keys(answers[0]).filter((name) => name !== "part");
    const changed = document.createElement("output");
    const menus = names.map((name) => {
      const menu = document.createElement("select");
      for (const value of new Set(answers.map((answer) => answer[name]))) menu.add(new Option(value));
      const label = document.createElement("label");
      label.append(`${name} `, menu);
      root.querySelector("form").append(label);
      return menu;
    });
    root.querySelector("form").append(changed);
    const show = () => {
      const said = [];
      let left = answers; // what was played with the choices so far; only that can be chosen
      names.forEach((name, i) => {
        const played = new Set(left.map((answer) => answer[name]));
        for (const option of menus[i].options) option.disabled = !played.has(option.value);
        if (!played.has(menus[i].value)) {
          const before = menus[i].value;
          [menus[i].value] = played;
          said.push(`${name}: ${before} was not played with this choice; shown is ${menus[i].value}.`);
        }
        left = left.filter((answer) => answer[name] === menus[i].value);
      });
      changed.textContent = said.join(" ");
      for (const { part } of answers) part.hidden = part !== left[0].part;
      left[0].part.querySelector("details").open = true;
    };
    const first = answers.find(({ part }) => "first" in part.dataset) ?? answers[0];
    names.forEach((name, i) => (menus[i].value = first[name]));
    root.addEventListener("change", show);
    show();
  }
});
