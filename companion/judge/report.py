"""The report: a value of plain data, with one word, a text, a part of a notebook, and files."""

import html
import json
import os
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from companion.judge.checks import advice
from companion.validate import need_choice

FORMAT = 2
KINDS = (".json", ".html")
CODES = {"MEASURED": 0, "REFUTED": 1, "NOTHING": 2, "BOUNDED ONLY": 3, "CONTRACT BROKEN": 4}
MEANINGS = {
    "MEASURED": "the promise lies in or above what was measured, and no attack refutes it",
    "REFUTED": "less private than promised",
    "NOTHING": "nothing could be judged",
    "BOUNDED ONLY": "no attack refutes it, but its noise was not measured",
    "CONTRACT BROKEN": "it does not do what every policy does: mend that first",
}
UNSEEN = (
    "what the audit's declaration leaves out: which numbers are shown, which fields are private",
    "neighbours that were not tried; a bound below the promise proves nothing",
    "leaks by time, by memory, or by the last bits of floating-point numbers",
    "whether records that enter many rounds belong to one person: the unit is what the guarantee "
    "says",
)


class Report(NamedTuple):
    """What `judge` found: `data` is a dict of plain data; `word` is the verdict, `lines` say the
    essentials, the word last."""

    data: dict

    @property
    def word(self) -> str:
        """REFUTED, MEASURED, BOUNDED ONLY, CONTRACT BROKEN or NOTHING."""
        return self.data["word"]

    @property
    def exit_code(self) -> int:
        """1, 0, 3, 4 or 2, in the same order."""
        return CODES[self.word]

    @property
    def lines(self):
        """The essentials, a refuted promise first, the word last."""
        return tuple(self.data["lines"])

    @property
    def refuted(self) -> bool:
        """Whether the promise was refuted."""
        return self.word == "REFUTED"

    @property
    def reproducible(self):
        """The data without what a clock measured: equal to the bit on every machine, if no task was
        stopped by its limit."""
        kept = {k: v for k, v in self.data.items() if k not in ("cost", "took")}
        return kept | {"lines": [line for line in self.lines if not line.startswith("Cost: ")]}

    def to_json(self) -> str:
        """The data as JSON; equal reports give equal texts."""
        return json.dumps(self.data, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    def save(self, path) -> None:
        """Write the report to a file, `.json` or `.html` (complete), all or nothing."""
        path = Path(path)
        kind = need_choice("the ending of path", path.suffix, KINDS)
        page = '<!doctype html><meta charset="utf-8"><title>judged</title>'
        text = self.to_json() if kind == ".json" else page + self._repr_html_()
        half = path.with_name(path.name + ".half")
        half.write_text(text, "utf8")
        os.replace(half, path)

    def __str__(self):
        played = [f"  {r['played']}: {r['what']}" for r in self.data["played"]]
        parts = [*self.lines[:-1], "What was played:", *played, "What the judge cannot see:"]
        return "\n".join([*parts, *(f"  {u}" for u in UNSEEN), self.lines[-1]])

    __repr__ = __str__

    def _repr_html_(self):
        parts = [f"<p>{html.escape(line)}</p>" for line in self.lines[:-1]]
        parts.append(shown(self.data["played"], "What was played"))
        for s in self.data.get("arena", ()):
            if "rows" in s:
                title = f"{s['world']}, T = {s['T']:,}, ε = {s['epsilon']:g}"
                parts.append(shown(s["rows"], title))
        parts.append(shown(contract_rows(self.data.get("contract", {})), "Contract"))
        unseen = "".join(f"<li>{html.escape(u)}</li>" for u in UNSEEN)
        parts.append(f"<p>What the judge cannot see:</p><ul>{unseen}</ul>")
        return "".join([*parts, f"<p><strong>{html.escape(self.lines[-1])}</strong></p>"])


def shown(rows, title: str) -> str:
    """Rows as an HTML table under a title; nothing for none."""
    if not rows:
        return ""
    table = pd.DataFrame(rows).to_html(
        index=False, na_rep="not bounded", float_format="{:.3g}".format, border=0
    )
    return f"<p><strong>{html.escape(title)}</strong></p>{table}"


def made(parts) -> Report:
    """The `Report` of what was found."""
    word, lines = essentials(parts)
    data = parts | {"format": FORMAT, "word": word, "played": played(parts)}
    return Report(data | {"lines": [*lines, f"{word}: {MEANINGS[word]}."]})


def essentials(parts) -> tuple[str, list[str]]:
    """(the word, the lines that say the essentials, the worst first)."""
    why = parts.get("refused") or parts.get("promise", {}).get("failed")
    if why:
        return "NOTHING", [f"Nothing could be judged: {why}."]
    promise, wrong = parts["promise"]["found"], broken(parts["contract"])
    asked = parts.get("asked", {}).get("found", {})
    wrong += [asked["said"]] if asked.get("less") else []
    refuted = refutations(parts)
    lines = [f"REFUTED: {said}" for said in refuted]
    lines += [f"The contract does not hold: {said}" for said in wrong]
    lines.append(f"{promise['title']} promises {promise['said']}.")
    measured = [m for m in parts["measured"] if "said" in m.get("found", {})]
    reasons = {}
    for m in parts["measured"]:
        found = m.get("found", {})
        if why := m.get("failed") or found.get("not measured"):
            reasons.setdefault(why, []).append(m["plan"])
        elif found["holds"] is not False:
            lines.append(f"Measured, {m['plan']}: {found['said']}.")
    lines += [f"Not measured, {'; '.join(names)}: {why}." for why, names in reasons.items()]
    if promise["model"] != "none" and not parts["measured"] and "asked" in parts:
        lines.append("Not measured: its audit does not say what is shown (AuditSpec.shown).")
    bounds = [a["found"] for a in parts["attack"] if "found" in a]
    if bounds:
        best = max(bounds, key=lambda a: a["epsilon"])
        most = max(a["largest"] for a in bounds)
        lines.append(f"The strongest attack shows: {best['said']} ({best['trials']} trials, by "
                     f"which no more than {most:.3g} can be shown).")  # fmt: skip
    failed = dict.fromkeys(a["failed"] for a in parts["attack"] if "failed" in a)
    lines += [f"An attack gave nothing: {why}." for why in failed]
    found = parts.get("speaks", {})
    lines += [f"A run says more than its arms: {what}." for what in found.get("found", ())]
    lines += [place(s, promise["factory"]) for s in parts["arena"]]
    if cost := parts.get("cost", {}).get("found"):
        kind = "compiled" if cost["compiled"] else "plain Python"
        lines.append(f"Cost: {cost['ns']:,.0f} ns a round over random play ({kind}, this machine); "
                     f"{cost['state']:,} bytes of state.")  # fmt: skip
    optional = "a long run"
    needed = [m for m in parts["measured"] if m["plan"] != optional]
    whole = needed and all(m in measured for m in needed)
    free = promise["model"] == "none"
    word = ("REFUTED" if refuted else "CONTRACT BROKEN" if wrong else
            "MEASURED" if whole else "BOUNDED ONLY" if bounds or free else "NOTHING")  # fmt: skip
    return word, lines


def refutations(parts) -> list[str]:
    """What refutes the promise, in words."""
    attacks = [a["found"] for a in parts["attack"] if a.get("found", {}).get("refuted")]
    found = [f"{a['said']} ({'; '.join(filter(None, (a['attack'] + ' attack', a['note'])))})"
             for a in attacks]  # fmt: skip
    wrong = [m for m in parts["measured"] if m.get("found", {}).get("holds") is False]
    if wrong:
        more = f"; wrong in {len(wrong)} of {len(parts['measured'])} instances"
        found.append(f"{wrong[0]['plan']}: {wrong[0]['found']['said']}{more}")
    asked = parts.get("asked", {}).get("found", {})
    return found + ([asked["said"]] if asked.get("follows") is False else [])


def broken(contract) -> list[str]:
    """What breaks the contract, every text once, with the check's advice."""
    texts = {}
    for name, a in contract.items():
        if "failed" in a:
            texts.setdefault(f"{a['failed']}", name)
        elif a.get("found", {}).get("holds") is False:
            texts.setdefault(f"{a['found']['said']} -> {advice(name)}", name)
    return [f"{name}: {text}" for text, name in texts.items()]


def contract_rows(contract):
    """Rows of the table of checks."""
    words = {True: "holds", False: "does not hold", None: "not applicable"}
    rows = []
    for name, a in contract.items():
        found = a.get("found", {})
        word = (
            words[found.get("holds")] if found else "does not run" if "failed" in a else "not tried"
        )
        said = found.get("said") or a.get("failed") or a.get("untried") or ""
        rows.append({"check": name, "outcome": word, "found": said})
    return rows


def played(parts):
    """Rows that say what was played, and what these trials could have shown."""
    if "found" not in parts.get("promise", {}):
        return []
    promise, rows = parts["promise"]["found"], []
    rows.append(
        {"played": "relation", "what": f"{promise['neighbours']}; {promise['model']} model"}
    )
    rows.append({"played": "universe", "what": promise["universe"]})
    for m in parts["measured"]:
        f = m.get("found", {})
        if "rounds" not in f:
            continue
        what = f"{f['rounds']} rounds, d = {f['d']}, budget {float(f['promise']):.3g}"
        what += f", {f['releases']} releases of a record" if "releases" in f else ""
        rows.append({"played": m["plan"], "what": what})
    for a in parts["attack"]:
        if f := a.get("found"):
            what = (
                f"{f['note'] or f['sees']}; {f['trials']} trials, which can show {f['largest']:.3g}"
            )
            rows.append({"played": f"attack: {f['attack']}", "what": what})
    return rows


def place(setting, name: str) -> str:
    """The line on one setting of the arena."""
    where = f"{setting['world']}, T = {setting['T']:,}, epsilon = {setting['epsilon']:g}"
    if "refused" in setting:
        return f"Arena, {where}: does not play: {setting['refused']}."
    (mine,) = (r for r in setting["rows"] if r["policy"] == name)
    rivals = [r for r in setting["rows"] if r["model"] == mine["model"]
              and r["policy"] not in (name, "random")]  # fmt: skip
    beside = {word: [r["policy"] for r in rivals if r["verdict"] == word]
              for word in ("less", "more")}  # fmt: skip
    counts = "; ".join(f"shown to have {w} regret than {', '.join(n)}"
                       for w, n in beside.items() if n)  # fmt: skip
    said = f"{mine['share']:.0%} of random play's regret"
    return f"Arena, {where}: {said}; {counts or 'no difference to its trust model is shown'}."
