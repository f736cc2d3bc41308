"""`book/results.lock`: what was claimed, by which rule, with which numbers, and what
changed since.

A build compares its claims with the lock.  What changed fails it, one line each, until it
is accepted with a reason (`python -m tools.accept CHAPTER/ID ... "why"`), which the lock
keeps and the claim's page shows.  A number may move within the interval that is kept, an
exact one by a thousandth.  Other scales than the papers' compare ids and rules alone,
without numbers.
"""

import html
import json
import re

from evidence.claims.markup import powers
from evidence.claims.published import paper
from evidence.claims.scoreboard import OTHERS, PAPERS
from tools import cache
from tools.errors import Failure

PLACE = "book/results.lock"
NUMBER = re.compile(r"-?\d[\d.,]*(e[-+]?\d+)?")
WHERE = re.compile(r"<!-- history of (.+?) -->")
GRADES = (
    "holds",
    "reproduced",
    "reproduced with changes",
    "consistent",
    "undecided",
    "not settled",
    "fails",
    "not reproduced",
    "wrong as printed",
)


def read(root):
    """{"claims": {chapter/id: entry}, "history": [...]} of a project; empty without a
    file."""
    path = root / PLACE
    if not path.is_file():
        return {"claims": {}, "history": []}
    return json.loads(path.read_text("utf8"))


def write(root, lock):
    """Keep the lock, a line for every claim and for every change, so that differences
    read well."""

    def line(thing):
        return json.dumps(thing, ensure_ascii=False, sort_keys=True)

    claims = ",\n".join(
        f"{line(k)}: {line(v)}" for k, v in sorted(lock["claims"].items())
    )
    told = ",\n".join(map(line, lock["history"]))
    text = f'{{"claims": {{\n{claims}\n}},\n"history": [\n{told}\n]}}\n'
    cache.put(root / PLACE, text.encode())


def entry(record):
    """What the lock holds of one record of claims.json."""
    rows = []
    for row in record["evidence"]:
        control = row["control"] or {}
        kept = {
            k: row[k]
            for k in ("setting", "rule", "limits", "measured", "interval", "outcome")
        }
        told = {
            "control": "what",
            "control measured": "measured",
            "control outcome": "outcome",
        }
        rows.append(kept | {k: control.get(field) for k, field in told.items()})
    return {k: record[k] for k in ("statement", "bound", "verdict")} | {"rows": rows}


def name(record):
    """chapter/id of a record."""
    return f"{record['chapter']}/{record['id']}"


def differences(lock, records, *, numbers=True):
    """{chapter/id: [what changed, in words]} of the records of a build against the lock.

    numbers: False compares ids and the words of rules alone, as at another scale.
    """
    known = lock["claims"]
    now = {name(r): entry(r) for r in records}
    found = {i: ["has vanished"] for i in sorted(known.keys() - now.keys())}
    found |= {i: ["is new"] for i in sorted(now.keys() - known.keys())}
    for i in sorted(known.keys() & now.keys()):
        compare = _changes if numbers else _other_words
        if said := compare(known[i], now[i]):
            found[i] = said
    return found


def refresh(lock, records):
    """Give every claim that does not differ the numbers of this build; return how many
    moved.

    So the numbers in the lock are those on the pages.
    """
    differ = differences(lock, records)
    moved = 0
    for record in records:
        if (i := name(record)) not in differ:
            moved += lock["claims"][i] != entry(record)
            lock["claims"][i] = entry(record)
    return moved


def _other_words(old, new):
    """What of the rules' words is new, numbers aside."""
    before = {NUMBER.sub("#", r["rule"]) for r in old["rows"]}
    rules = sorted({NUMBER.sub("#", r["rule"]) for r in new["rows"]} - before)
    return [f"has a new rule: {rule}" for rule in rules]


def _changes(old, new):
    """What changed between two entries of one claim, in words."""
    said = []
    if old["verdict"] != new["verdict"]:
        better = GRADES.index(new["verdict"]) < GRADES.index(old["verdict"])
        grade = "better" if better else "worse"
        said.append(f"verdict {old['verdict']} -> {new['verdict']} ({grade})")
    said += [
        f"{k} {old[k]} -> {new[k]}"
        for k in ("statement", "bound")
        if old.get(k, new[k]) != new[k]
    ]
    before = {r["setting"]: r for r in old["rows"]}
    after = {r["setting"]: r for r in new["rows"]}
    for setting in [*before, *(s for s in after if s not in before)]:
        a = before.get(setting)
        b = after.get(setting)
        if a is None or b is None:
            said.append(f"row {setting!r} {'has vanished' if b is None else 'is new'}")
            continue
        for k in ("rule", "limits", "control", "control outcome", "outcome"):
            if _told(a.get(k, b[k])) != _told(b[k]):
                said.append(f"row {setting!r}: {k} {a[k]} -> {b[k]}")
        if _moved(a, b["measured"]):
            was = f"{a['measured']} {a['interval'] or ''}".strip()
            said.append(f"row {setting!r}: measured {was} -> {b['measured']}")
    return said


def _told(value):
    """Limits to nine digits, for the last ones depend on the machine; anything else as it
    is."""
    limits = isinstance(value, list | tuple)
    return [v if v is None else f"{v:.9g}" for v in value] if limits else value


def _moved(row, measured):
    """Whether a number left the interval that was kept; an exact one, whether it
    changed."""
    if measured == row["measured"]:
        return False
    low, high = row["interval"] or (None, None)
    try:
        value = float(measured)
        kept = float(row["measured"])
    except ValueError:  # one of them is a text
        return True
    if row["interval"] is None:
        return abs(value - kept) > 1e-3 * abs(value)
    return (low is not None and value < low) or (high is not None and value > high)


def check(root, records, *, numbers):
    """Raise Failure with a line for every claim that differs from the lock."""
    lock = read(root)
    if not lock["claims"]:
        print(f"{PLACE} holds nothing yet: no result was compared")
        return
    found = differences(lock, records, numbers=numbers)
    if found:
        lines = [f"{i}: {'; '.join(said)}" for i, said in found.items()]
        raise Failure(
            f"{len(lines)} claims differ from {PLACE}; accept a change with a reason by\n"
            '  python -m tools.accept CHAPTER/ID "why"\n' + "\n".join(lines)
        )


VERDICT = re.compile(r"verdict (.+?) -> (.+?) \((?:better|worse)\)")


def told(lock, page):
    """The HTML of a page with a line below every claim that changed: its last change of
    verdict, or when its rule changed, with a link to all changes."""

    def one(match):
        mine = [h for h in lock["history"] if h["claim"] == html.unescape(match[1])]
        if not mine:
            return ""
        said = f"Rule changed on {mine[-1]['when']}"
        for change in mine:
            if verdict := VERDICT.match(change["what"]):
                before, after = verdict.groups()
                said = f"Changed on {change['when']}: {before} to {after}"
                said += f". Reason: {change['why']}"
        address = f"changes.html#{match[1].replace('/', '-')}"
        said = html.escape(f"{said.rstrip('.')}.")
        return (
            f'<small class="changed">{said} <a href="{address}">All changes</a></small>'
        )

    return WHERE.sub(one, page)


def changes(lock, titles):
    """Every change of every claim, a section for each chapter: Markdown with HTML below
    the filter of papers.  titles: of chapters, by name."""
    papers = {c: name for room, name in PAPERS.items() for c in paper(room)["chapters"]}
    found = {}
    for change in lock["history"]:
        found.setdefault(change["claim"], []).append(change)
    page = "<div data-filters></div>\n"
    chapter = ""
    for claim in sorted(found):
        if claim.split("/")[0] != chapter:
            chapter = claim.split("/")[0]
            page += f"\n## {titles.get(chapter, chapter)}\n"
        lines = ""
        for h in found[claim]:
            why = html.escape(h["why"])
            what = powers(_short(h["what"]))
            lines += f"<dd>{h['when']}: {what}. <i>Reason:</i> {why}</dd>"
        stated = lock["claims"].get(claim, {}).get("statement")
        title = html.escape(stated or claim.replace("/", ": "))
        where = html.escape(claim.replace("/", "-"))
        link = f'<a href="{claim.split("/")[0]}.html#claim-{claim.split("/")[1]}">now</a>'
        if claim not in lock["claims"]:
            link = "gone"
        data = f'data-paper="{papers.get(chapter, OTHERS)}"'
        page += f'\n<dl class="changes" {data}><dt id="{where}">{title} ({link})</dt>'
        page += f"{lines}</dl>\n"
    return page


PART = re.compile(r"; (?=row ['\"])")
ROW = re.compile(r"(?P<row>(?:row ('[^']*'|\"[^\"]*\"))?)(?P<told>.*)", re.DOTALL)
LIMITS = re.compile(r"limits \[(.+?), (.+?)\]|(?<=\] -> )\[(.+?), (.+?)\]")


def _together(what):
    """What changed, with the rows of one and the same change as one."""
    rows = {}
    for change in PART.split(what):
        row, told = ROW.match(change).group("row", "told")
        rows.setdefault(told, []).append(row)
    said = []
    for told, named in rows.items():
        if len(named) > 1:
            names = ", ".join(name.removeprefix("row ") for name in named)
            several = re.sub("^ is ", " are ", re.sub("^ has ", " have ", told))
            said.append(f"{len(named)} rows ({names}){several}")
        else:
            said.append(f"{named[0]}{told}")
    return "; ".join(said)


def _short(what):
    """What changed, as HTML, with numbers of four digits and no None."""
    text = re.sub(r"\d+\.\d{5,}", lambda n: f"{float(n[0]):.4g}", _together(what))
    text = re.sub("control (outcome )?None", "no control", LIMITS.sub(_limits, text))
    text = re.sub(r"\bNone\b", "no control", text).rstrip(".")
    return html.escape(text.replace(" -> ", "\N{NO-BREAK SPACE}→ "))


def _limits(match):
    """Limits, as the lock writes them, in words."""
    low, high = match[1] or match[3], match[2] or match[4]
    if low == "None":
        words = f"at most {high}"
    elif high == "None":
        words = f"at least {low}"
    else:
        words = f"{low} to {high}"
    return f"limits {words}" if match[1] else words
