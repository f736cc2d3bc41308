"""The words of a report, made from what was found."""

from companion.judge.contract import POINTS

UNSEEN = (
    "what a module hides on purpose: the judge reads kernels that run, and believes the fields and "
    "laws that its `AuditInstance`s declare",
    "neighbours that the search did not try; a bound below the promise proves nothing",
    "leaks by time, by memory, or by the last bits of floating-point numbers",
    "whether records that enter many rounds belong to one person: the unit is what the guarantee "
    "says",
)
UNPLAYED = "not tried: a first run gave nothing"
UNMEASURED = (
    "noise, sensitivity and number of releases, which instances in `AuditSpec.measured` would let "
    "the laboratory measure: half the noise may pass the attacks",
    "what stands in the State: whoever sees it may see more than the arms show",
)


def essentials(parts) -> tuple[bool, list[str]]:
    """(whether the promise is refuted, the lines that say the essentials, the worst first)."""
    if "refused" in parts:
        return False, [f"Nothing could be judged: {parts['refused']}."]
    if "failed" in parts["promise"]:
        return False, [f"Nothing could be judged: {parts['promise']['failed']}."]
    promise = parts["promise"]["found"]
    broken = refutations(parts)
    lines = [f"REFUTED: {said}" for said in broken]
    wrong = [f"{name}: {said}" for name, word, said, _ in contract_rows(parts)
             if word == "does not hold" and said != UNPLAYED]  # fmt: skip
    lines += [f"The contract does not hold: {'; '.join(wrong)}."] if wrong else []
    lines.append(f"{promise['title']} promises {promise['said']}.")
    if promise["model"] != "none":
        lines.append(measuring(parts, promise))
        bounds = [a["found"] for a in parts["attack"] if "found" in a]
        if bounds and not any(a["refuted"] for a in bounds):
            best = max(bounds, key=lambda a: float(a["epsilon"]))
            outcome = "The attacks alone do not show that" if broken else "No attack refutes it"
            lines.append(f"{outcome}; the strongest shows that {best['said']} "
                         f"(level {best['level']:g}, {best['trials']} trials).")  # fmt: skip
        lines += [f"An attack gave nothing: {a['failed']}." for a in parts["attack"]
                  if "failed" in a]  # fmt: skip
    lines += spoken(parts)
    lines += [place(s, promise["factory"]) for s in parts.get("arena", [])]
    lines += cost_line(parts)
    lines += [] if wrong else [f"The contract holds, {len(parts['contract'])} points."]
    return bool(broken), lines


def refutations(parts) -> list[str]:
    """What refutes the promise, in words."""
    shown = [a["found"] for a in parts["attack"] if a.get("found", {}).get("refuted")]
    found = [f"{a['said']} ({'; '.join(filter(None, (a['attack'] + ' attack', a['note'])))})"
             for a in shown]  # fmt: skip
    found += [f"instance {i + 1}: {m['found']['said']}" for i, m in enumerate(parts["measured"])
              if m.get("found", {}).get("holds") is False]  # fmt: skip
    wrong = parts["asked"].get("found", {})
    if wrong.get("follows") is False:
        found.append(wrong["said"])
    return found


def measuring(parts, promise) -> str:
    """The line on what was measured of the promise."""
    cases = parts["measured"]
    if not promise["disclosures"]:
        return "Promised, not measured: its audit offers no instances (AuditSpec.measured)."
    said = [c["found"]["said"] if "found" in c else f"gave nothing: {c['failed']}" for c in cases]
    all_of_them = promise["disclosures"]
    part = "" if len(cases) == all_of_them else f" of {all_of_them}"
    return f"Measured, {len(cases)}{part} instance(s): {'; '.join(said)}."


def spoken(parts) -> list[str]:
    """A line for what a run says beside its arms."""
    found = parts["speaks"].get("found", [])
    return [f"A run says more than its arms: {what}." for what in found]


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


def cost_line(parts) -> list[str]:
    """The line on what it costs, if that was measured."""
    found = parts.get("cost", {}).get("found")
    if not found:
        return []
    kind = "compiled" if found["compiled"] else "plain Python"
    said = f"{found['ns']:,.0f} ns a round over random play ({kind}, this machine)"
    return [f"Cost: {said}; {found['state']:,} bytes of state."]


def contract_rows(parts):
    """[(point, "holds", "does not hold" or "not settled", what was found, what to change)]."""
    rows = []
    for name, a in parts["contract"].items():
        if "failed" in a:
            rows.append((name, "does not hold", a["failed"], POINTS[name].change))
            continue
        holds, said = a["found"]["holds"], a["found"]["said"]
        word = {True: "holds", False: "does not hold", None: "not settled"}[holds]
        rows.append((name, word, said, "" if holds is not False else POINTS[name].change))
    return rows


def unseen(parts):
    """What this report cannot see, as sentences."""
    if "refused" in parts or "failed" in parts["promise"]:
        return []
    if parts["promise"]["found"]["model"] == "none":
        return []
    return [*UNSEEN, *([] if parts["measured"] else UNMEASURED)]


def text(data) -> str:
    """The report as lines for a terminal."""
    lines = [*data["lines"]]
    if "contract" in data:
        wrong = [r for r in contract_rows(data) if r[1] != "holds"]
        lines += [""] + [f"{name}: {word}: {said}" + (f"  ->  {do}" if do else "")
                         for name, word, said, do in wrong]  # fmt: skip
    if data["unseen"]:
        lines += ["", "What the judge cannot see:", *(f"- {u}" for u in data["unseen"])]
    return "\n".join(lines)
