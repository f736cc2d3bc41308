"""The table of `boundary` for runs that go on: sweeps, late rewards, saved runs, the service."""

import json
from pathlib import Path

from boundary import Call, X

from companion import late, service, sweep
from companion import tabular as data
from companion.baselines.linucb import linucb
from companion.environments import sphere
from companion.live import Live

SETTINGS = {"a": sweep.Setting(sphere(3, 3), (linucb(3),), 20)}
TABLE = {"a": data.bounds(0, 1)}


def swept(settings, seeds, executor=None, store=":memory:", progress=False):
    sweep.sweep(settings, seeds, executor, store=store, progress=progress)


def one_setting(env=SETTINGS["a"].env, policies=SETTINGS["a"].policies, T=20, grid=None):
    swept({"a": sweep.Setting(env, policies, T, grid)}, [1])


def asked_late(X, ticket):
    linucb(2).start(0).select(X, ticket)


def updated_late(arm, r, ticket):
    live = linucb(2).start(0)
    live.select(X[0], "first")
    live.update(arm, r, ticket)


def dropped(ticket):
    live = linucb(2).start(0)
    live.select(X[0], "first")
    live.drop(ticket)


def saved(path):
    linucb(2).start(0).save(path)


def loaded(path="run", policy=None):
    policy = linucb(2) if policy is None else policy
    linucb(2).start(0).save("run")
    Live.load(path, policy)


def served(policy, path="served", seed=1, requests=(), answers=None):
    Path("served").unlink(missing_ok=True)
    service.serve(policy, path, seed, requests, answers)


def line(verb, **given):
    """One line to a run with an open ticket, told to `service.answered`; a refusal is raised."""
    live = linucb(2).start(0)
    live.select(X[0], "first")
    unlike = json.dumps(given | verb, default=lambda value: [str(value)])
    answered(live, unlike, "run")


def answered(live, line, path):
    said = service.answered(live, line, path)
    if "refused" in said:
        raise ValueError(said["refused"])


def line_select(X, ticket):
    line({"select": X}, ticket=ticket)


def line_update(r, arm, ticket):
    line({"update": r}, arm=arm, ticket=ticket)


def line_drop(drop, ticket):
    line({"drop": drop}, ticket=ticket)


def calls():
    """{name: `Call`} as in `boundary.others`."""
    late_round = {"arm": 1, "r": 0.5, "ticket": "first"}
    live = linucb(2).start(0)
    return {
        "sweep.sweep": Call(swept, {"settings": SETTINGS, "seeds": [1]}),
        "sweep.finished": Call(
            sweep.finished, {"settings": SETTINGS, "seeds": [1], "store": "no such"}
        ),
        "sweep.Setting": Call(one_setting, {}),
        "late.why_in_order": Call(late.why_in_order, {"policy": linucb(2)}),
        "Live.select, late": Call(asked_late, {"X": X[0], "ticket": "first"}),
        "Live.update, late": Call(updated_late, late_round),
        "Live.drop": Call(dropped, {"ticket": "first"}),
        "Live.save": Call(saved, {"path": "run"}),
        "Live.load": Call(loaded, {"path": "run", "policy": linucb(2)}),
        "service.serve": Call(served, {"policy": linucb(2), "requests": ["{}"]}),
        "service.answered": Call(
            answered, {"live": live, "line": '{"report": true}', "path": "run"}
        ),
        "a line: select": Call(line_select, {"X": X[0].tolist(), "ticket": "a"}),
        "a line: update": Call(line_update, late_round),
        "a line: drop": Call(line_drop, {"drop": True, "ticket": "first"}),
        "data.bounds": Call(data.bounds, {"low": 0.0, "high": 1.0}),
        "data.contexts_of": Call(data.contexts_of, {"columns": TABLE, "arms": ("x", "y")}),
        "Contexts.number": Call(data.contexts_of(TABLE, arms=("x", "y")).number, {"label": "x"}),
        "Contexts.label": Call(data.contexts_of(TABLE, arms=("x", "y")).label, {"arm": 1}),
    }
