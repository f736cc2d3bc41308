/* The arena's explorer: menus that choose one of the answers that stand in the page (evidence/arena/decision.py).
 * Without scripts all answers are there, each behind its line. */
"use strict";

document.addEventListener("DOMContentLoaded", () => {
  for (const root of document.querySelectorAll(".explorer")) {
    const answers = [...root.querySelectorAll("[data-choice]")].map((part) => ({ part, ...JSON.parse(part.dataset.choice) }));
    const names = Object.keys(answers[0]).filter((name) => name !== "part");
    const menus = names.map((name) => {
      const menu = document.createElement("select");
      for (const value of new Set(answers.map((answer) => answer[name]))) menu.add(new Option(value));
      const label = document.createElement("label");
      label.append(`${name} `, menu);
      root.querySelector("form").append(label);
      return menu;
    });
    const show = () => {
      let left = answers; // what was played with the choices so far; only that can be chosen
      names.forEach((name, i) => {
        const played = new Set(left.map((answer) => answer[name]));
        for (const option of menus[i].options) option.disabled = !played.has(option.value);
        if (!played.has(menus[i].value)) [menus[i].value] = played;
        left = left.filter((answer) => answer[name] === menus[i].value);
      });
      for (const { part } of answers) part.hidden = part !== left[0].part;
      left[0].part.querySelector("details").open = true;
    };
    const first = answers.find(({ part }) => part.querySelector("[data-learns]")) ?? answers[0]; // with a policy that learns
    names.forEach((name, i) => (menus[i].value = first[name]));
    root.addEventListener("change", show);
    show();
  }
});
