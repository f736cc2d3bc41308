"""What a judgement might have found, made up."""

PROMISE = {"said": "(1, 0)-local DP", "model": "local", "epsilon": 1.0, "delta": 0.0,
           "neighbours": "replace one record", "unit": "user", "title": "Mine <b>",
           "factory": "mine",           "disclosures": 0, "tuned": ""}  # fmt: skip
ATTACK = {"attack": "general", "sees": "arms", "epsilon": 2.0, "level": 0.999, "delta": 0.0,
          "promise": 1.0, "trials": 200, "hits": [9, 0], "refuted": True, "note": "a pair",
          "said": "epsilon is at least 2, 1 is promised"}  # fmt: skip
PARTS = {
    "promise": {"found": PROMISE},
    "contract": {"rows": {"found": {"holds": True, "said": ""}}, "copies": {"failed": "too slow"}},
    "asked": {"found": {"follows": True, "said": "it follows"}},
    "measured": [],
    "attack": [{"found": ATTACK}, {"failed": "its process ends, with signal 11"}],
    "speaks": {"found": ["prints 'x'"]},
    "settings": {"seed": 1, "quick": True, "limit": 30.0},
    "took": 1.0,
}  # fmt: skip


def row(policy, share, verdict, model="local"):
    """A row of the arena."""
    return {"policy": policy, "model": model, "share": share, "low": share - 0.1,
            "high": share + 0.1, "multiple": 1.0, "verdict": verdict}  # fmt: skip


SETTING = {"world": "d = 5", "T": 400, "epsilon": 8.0, "call": "mine(d=5)",
           "rows": [row("mine", 0.4, None), row("slower", 0.6, "less"),
                    row("random", 1.0, "less", "none")]}  # fmt: skip
GROWTH = [{"of": "d", "value": 4, "ns": 900.0, "state": 96}]
COST = {"found": {"compiled": True, "state": 96, "ns": 900.0, "growth": GROWTH}}
