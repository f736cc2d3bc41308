"""Private LinUCBs at T = 20000, K = 100, d = 5, and Figure 1 of the online-LinUCB paper."""

import time

from companion.baselines import jdp_linucb, ldp_linucb, linucb, sdp_linucb
from companion.environments import sphere
from companion.online_linucb.anytime import anytime_linucb
from companion.online_linucb.combiner import combiner
from companion.online_linucb.corrected_ridge import corrected_ridge
from companion.online_linucb.policy import online_linucb
from companion.simulate import repetitions, simulate

T, K, D = 20_000, 100, 5
REPETITIONS = 50  # of Figure 1
TIMED = 4  # of them are run here
CORES = 2
LIMIT = 90.0  # seconds for all of Figure 1 on so many cores


def policies(epsilon):
    """Every policy of the chapter at one budget, for the contexts of Figure 1."""
    shared = {"universe": "offset_sphere"}
    ours = [online_linucb(D, T, epsilon, learner=kind, **shared) for kind in ("maler", "ogd")]
    return [
        linucb.linucb(D, noise=0.5),
        *ours,
        ldp_linucb.ldp_linucb(D, T, epsilon, **shared),
        jdp_linucb.jdp_linucb(D, T, epsilon, **shared),
        sdp_linucb.sdp_linucb(D, T, epsilon, **shared),
    ]


def variants(epsilon):
    """The policies that Figure 1 does not have."""
    shared = {"universe": "offset_sphere", "learner": "ogd"}
    guesses = [online_linucb(D, T, epsilon, width=w, **shared) for w in (1.0, 3.0, 10.0, 30.0)]
    return [
        anytime_linucb(D, epsilon, universe="offset_sphere"),
        combiner(guesses, T),
        corrected_ridge(D, T, epsilon, universe="offset_sphere"),
    ]


def rows():
    """CPU seconds of one run of each policy, then what Figure 1 takes."""
    env = sphere(K, D, fresh=False)
    everyone = policies(1.0) + variants(1.0)
    simulate(env, everyone, 100, repetitions(0, 1))  # load or compile the kernels
    seconds = simulate(env, everyone, T, repetitions(1, 3)).seconds.min(axis=0)
    for policy, s in zip(everyone, seconds, strict=True):
        reference = None if policy.name == "LinUCB" else seconds[0]
        yield f"one run of {policy.name}", s, reference, "reference: LinUCB without privacy"
    begin = time.process_time()
    for epsilon in (0.2, 1.0, 10.0):
        simulate(env, policies(epsilon), T, repetitions(2, TIMED))
    whole = (time.process_time() - begin) * REPETITIONS / TIMED / CORES
    limit = f"{LIMIT:g} s; CPU seconds of {TIMED} repetitions, scaled to {REPETITIONS}"
    yield f"Figure 1, 3 budgets, {REPETITIONS} repetitions on {CORES} cores", whole, None, limit
