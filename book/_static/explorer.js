/* The arena's explorer: fills a table from the numbers that stand in the page (companion/arena/explorer.py).
 * Native controls, no dependency, no request; a page without an explorer is left alone. */
"use strict";

(() => {
  const HEAD = ["Policy", "Users trust", "Regret / random play", "95 % interval", "Tuned here", "Place", "To copy"];
  const percent = (v) => (v === null ? "∞" : `${Math.round(100 * v)} %`);
  const range = (low, high) => (low === null || high === null ? `${percent(low)} to ${percent(high)}` : `${Math.round(100 * low)} to ${percent(high)}`);
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

  const block = (code) => {
    const pre = make("pre", null);
    pre.append(make("code", code));
    return pre;
  };

  const row = ([name, model, share, low, high, tuned, places, code], trust) => {
    const tr = make("tr", null);
    const head = make("th", null, { scope: "row" });
    head.append(make("code", name));
    tr.append(head);
    const place = trust in places ? places[trust] : "yardstick";
    const bar = make("span", percent(share), { class: "explorer-bar" });
    bar.style.setProperty("--share", Math.max(0, Math.min(1, share ?? 1)));
    const cells = [model, bar, range(low, high), percent(tuned), place, code ? folded("show", block(code)) : ""];
    cells.forEach((cell, i) => {
      const td = make("td", null, { "data-label": HEAD[i + 1] });
      td.append(cell);
      tr.append(td);
    });
    return tr;
  };

  const table = (setting, rows, trust) => {
    const caption = `Regret in ${setting.world}, ε = ${setting.epsilon}, T = ${setting.T.toLocaleString("en")}`;
    const region = make("div", null, { class: "numbers", tabindex: "0", role: "region", "aria-label": caption });
    const shown = make("table", null);
    const thead = make("thead", null);
    const line = make("tr", null);
    HEAD.forEach((name) => line.append(make("th", name, { scope: "col" })));
    thead.append(line);
    const body = make("tbody", null);
    rows.forEach((cells) => body.append(row(cells, trust)));
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

  const start = (root) => {
    const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
    const form = root.querySelector("form");
    const { world, trust, epsilon, T } = form.elements;
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
      const rows = setting.rows.filter((r) => trust.value in r[6] || r[1] === "none");
      root.querySelector(".explorer-said").textContent = setting.said[trust.value];
      const leader = setting.rows.find((r) => r[0] === setting.leads[trust.value]);
      root.querySelector(".explorer-code").replaceChildren(...(leader ? [block(leader[7])] : []));
      root.querySelector(".explorer-table").replaceChildren(table(setting, rows, trust.value), refused(setting));
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
