"""Policies played interpreted and watched do what they do."""

from contextlib import contextmanager

from streams import flat, same_bits

from companion import policies
from companion.audits import faults, watching
from companion.audits.neighbours import candidates, filler, see
from companion.audits.watching import on_stage, play


def case_of(name, number):
    return policies.example(name).audit.measured()[number]


def test_some_users_of_joint_glm_explore_and_others_exploit():
    case = case_of("joint_glm", 3)
    run = play(case, filler(case), seed=1)
    explored = run.state[1].explored
    assert 2 <= explored.sum() <= case.rounds - 2
    assert sum(c.kernel.__name__ == "release_gradient" for c in run.calls) == 2
    assert run.state[1].fits.tolist() == [1, 1]


def test_runs_on_one_stage_are_those_of_stages_of_their_own():
    case = case_of("jdp_linucb", 0)
    _, *rest = filler(case)
    books = [filler(case), [(1, *rest[0][1:]), *rest]]
    with on_stage(case) as stage:
        base = play(case, books[0], seed=1, stage=stage)
        together = [base, play(case, books[1], seed=1, script=base, stage=stage)]
    base = play(case, books[0], seed=1)
    alone = [base, play(case, books[1], seed=1, script=base)]
    for ours, theirs in zip(together, alone, strict=True):
        assert ours.arms == theirs.arms
        assert len(ours.calls) == len(theirs.calls) > 0
        assert all(map(same_bits, ours.public, theirs.public))
        for a, b in zip(ours.calls, theirs.calls, strict=True):
            assert all(same_bits(x[1], y[1]) for x, y in zip(a.clean, b.clean, strict=True))
            assert all(map(same_bits, flat(a.outcome[0]), flat(b.outcome[0])))


def test_the_kernels_are_replaced_once_for_all_candidates_of_a_round(monkeypatch):
    """To look through the package takes longer than to play a short run, of which there are many;
    and what only the first run is asked for is kept of that run alone."""
    replaced, played = [], []

    @contextmanager
    def counted(instead):
        replaced.append(len(instead))
        with faults.interpreted(instead):
            yield

    def kept(case, *told, **options):
        played.append(play(case, *told, **options))
        return played[-1]

    monkeypatch.setattr(watching, "interpreted", counted)
    monkeypatch.setattr("companion.audits.neighbours.play", kept)
    case = case_of("jdp_linucb", 0)
    seen = see(case, 0)
    assert replaced == [len(case.releases)]
    base, *others = played
    assert len(others) == len(candidates(case)[0]) > 100
    assert base is seen.base
    assert len(base.live) == len(base.calls)
    assert not any(run.live or run.first or run.calls[0].args for run in others)
