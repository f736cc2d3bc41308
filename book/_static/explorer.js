/* The arena's explorer: fills a table from the numbers that stand in the page (companion/report/explorer.py).
 * Native controls, no dependency, no request; a page without an explorer is left alone. */
"use strict";

(() => {
  const HEAD = ["Policy", "Users trust", "Regret / random play", "95 % interval", "Untuned", "Place", "To copy"];
  const percent = (v) => (v === null ? "∞" : `${Math.round(100 * v)} %`);
  const make = (tag, text, attributes = {}) => {
    const node = document.createElement(tag);
    if (text !== null) node.textContent = text;
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    return node;
  };

  const folded = (summary, content) => {
    const fold = make("details", null);
    fold.append(make("summary", summary), content);
    return fold;
  };

  const row = ([name, model, share, low, high, untuned, overall, within, call], all) => {
    const tr = make("tr", null);
    const head = make("th", null, { scope: "row" });
    head.append(make("code", name));
    tr.append(head);
    const place = all ? overall : within;
    const bar = make("span", percent(share), { class: "explorer-bar" });
    bar.style.setProperty("--share", Math.max(0, Math.min(1, share ?? 1)));
    const cells = [model, bar, `${percent(low)} to ${percent(high)}`, percent(untuned), place, folded("show", make("code", call))];
    cells.forEach((cell, i) => {
      const td = make("td", null, { "data-label": HEAD[i + 1] });
      td.append(cell);
      tr.append(td);
    });
    return tr;
  };

  const table = (setting, rows, all) => {
    const caption = `Regret in ${setting.world}, ε = ${setting.epsilon}, T = ${setting.T.toLocaleString("en")}`;
    const region = make("div", null, { class: "numbers", tabindex: "0", role: "region", "aria-label": caption });
    const shown = make("table", null);
    const thead = make("thead", null);
    const line = make("tr", null);
    HEAD.forEach((name) => line.append(make("th", name, { scope: "col" })));
    thead.append(line);
    const body = make("tbody", null);
    rows.forEach((cells) => body.append(row(cells, all)));
    shown.append(make("caption", caption), thead, body);
    region.append(shown);
    return region;
  };

  const refused = (setting) => {
    const names = Object.entries(setting.refused);
    const list = make("ul", null);
    names.forEach(([name, reason]) => {
      const item = make("li", null);
      item.append(make("code", name), `: ${reason}`);
      list.append(item);
    });
    return folded(`${names.length} policies cannot play here`, list);
  };

  const say = (rows, all) => {
    const place = all ? 6 : 7;
    const leaders = rows.filter((r) => r[place] !== "");
    if (leaders.length === 0) return "No policy of this kind can play here.";
    const more = leaders.length > 4 ? ` and ${leaders.length - 3} more` : "";
    const names = leaders.slice(0, more ? 3 : 4).map((r) => r[0]).join(", ") + more;
    if (rows.filter((r) => r[0] !== "random").length === 1)
      return `Only ${names} can play here: ${percent(leaders[0][2])} of random play.`;
    return leaders[0][place] === "best"
      ? `${names} has surely the least regret: ${percent(leaders[0][2])} of random play.`
      : `Undecided between ${names}: their paired intervals overlap. The first has ${percent(leaders[0][2])} of random play.`;
  };

  const start = (root) => {
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const form = root.querySelector("form");
    const { world, model, epsilon, T } = form.elements;
    const offer = (menu, kept) => {
      // only what was run in this world can be chosen
      [...menu.options].forEach((option) => {
        option.disabled = !kept.includes(option.value);
      });
      if (!kept.includes(menu.value)) menu.value = kept[0];
    };
    const show = () => {
      const here = data.filter((s) => s.world === world.value);
      offer(T, [...new Set(here.map((s) => String(s.T)))]);
      offer(epsilon, [...new Set(here.filter((s) => String(s.T) === T.value).map((s) => String(s.epsilon)))]);
      const setting = here.find((s) => String(s.T) === T.value && String(s.epsilon) === epsilon.value);
      const all = model.value === "";
      const rows = setting.rows.filter((r) => all || r[1] === model.value || r[0] === "random");
      root.querySelector(".explorer-said").textContent = say(rows, all);
      root.querySelector(".explorer-table").replaceChildren(table(setting, rows, all), refused(setting));
    };
    form.hidden = false;
    form.addEventListener("change", show);
    form.addEventListener("submit", (event) => event.preventDefault());
    show();
  };

  const begin = () => document.querySelectorAll(".explorer").forEach(start);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", begin);
  else begin();
})();
