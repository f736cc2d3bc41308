"""A report as HTML: for a notebook, and as a file that needs nothing else."""

import html
import re

from companion.judge import pictures, words
from companion.report import markup

CODE = re.compile(r"`([^`]+)`")  # in words, as Markdown has it
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem }
caption { text-align: left; font-weight: 600 }
th, td { text-align: left; vertical-align: top; padding: 0.3rem 0.5rem }
th, td { border-bottom: 1px solid #bbb }
div.judged { overflow-x: auto } img { max-width: 100%; height: auto }
.refuted { color: #a40000; font-weight: 600 }
@media (prefers-color-scheme: dark) {
  body { background: #14181e; color: #e6e6e6 } .refuted { color: #ff8a80 }
  img { filter: invert(0.9) hue-rotate(180deg) }
}
"""


def standalone(data) -> str:
    """A whole page."""
    title = html.escape(name(data))
    head = (
        f'<meta charset="utf-8"><title>{title}: judged</title><style>{STYLE}</style>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
    )
    page = f"<h1>{title}</h1>{body(data)}"
    return f'<!doctype html>\n<html lang="en"><head>{head}</head><body>{page}</body></html>\n'


def name(data) -> str:
    """What the policy calls itself."""
    return data.get("promise", {}).get("found", {}).get("title", "A policy")


def body(data) -> str:
    """The report as a part of a page."""
    parts = ['<div class="judged">']
    for line in data["lines"]:
        kind = ' class="refuted"' if line.startswith("REFUTED") else ""
        parts.append(f"<p{kind}>{html.escape(line)}</p>")
    if "contract" in data:
        parts += [attack_table(data), *map(setting, data.get("arena", [])), costs(data)]
        parts.append(contract_table(data))
    if data["unseen"]:
        spoken = [CODE.sub(r"<code>\1</code>", html.escape(u)) for u in data["unseen"]]
        said = "".join(f"<li>{u}</li>" for u in spoken)
        parts.append(f"<p>What the judge cannot see:</p><ul>{said}</ul>")
    return "".join([*parts, "</div>"])


def attack_table(data):
    """The attacks, if there are any."""
    rows = []
    for a in data["attack"]:
        if "failed" in a:
            rows.append(["an attack", "", "", html.escape(a["failed"])])
        else:
            f = a["found"]
            name = ": ".join(filter(None, (f["attack"], f["note"])))
            cells = (name, f["sees"], str(f["trials"]), f["said"])
            rows.append([html.escape(c) for c in cells])
    head = ["Attack", "Sees", "Trials", "What is shown"]
    return markup.table("Attacks", head, rows, "numbers") if rows else ""


def contract_table(data):
    """The contract, point by point."""
    rows = [[html.escape(cell) for cell in row] for row in words.contract_rows(data)]
    table = markup.table("Contract", ["Point", "", "Found", "Change"], rows, "numbers")
    return markup.folded("The contract, point by point", table)


def setting(found) -> str:
    """One setting of the arena: the figure, with the newcomer marked, and the numbers."""
    if "refused" in found:
        return ""
    title = f"{found['world']}, T = {found['T']:,}, ε = {found['epsilon']:g}"
    said = {None: "", "less": "less regret", "more": "more regret"}
    rows = [
        [f"<code>{html.escape(r['policy'])}</code>" + (" (new)" if r["verdict"] is None else ""),
         r["model"], f"{r['share']:.0%}", said.get(r["verdict"], "undecided")]
        for r in found["rows"]
    ]  # fmt: skip
    head = ["Policy", "Trust model", "Regret / random play", "It is shown that the newcomer has"]
    numbers = markup.table(html.escape(title), head, rows, "numbers")
    alt = html.escape(f"Regret of the newcomer beside others: {title}")
    image = pictures.standing(found["rows"], title)
    image = f'<img alt="{alt}" src="{image}" style="max-width: 100%; height: auto">'
    return f"<p>{image}</p>{markup.folded('The numbers', numbers)}"


def costs(data) -> str:
    """What it costs, and how that grows."""
    found = data.get("cost", {}).get("found")
    if not found or not found["growth"]:
        return ""
    rows = [[g["of"], f"{g['value']:,}", f"{g['ns']:,.0f}", f"{g['state']:,}"]
            for g in found["growth"]]  # fmt: skip
    table = markup.table("Cost", ["Size", "", "ns a round", "Bytes of state"], rows, "numbers")
    return markup.folded("What it costs, and how that grows", table)
