"""Attacks on LocalMD, and the instances that are measured."""

from companion.baselines.local_md import local_md
from evidence.attacks import audit


def attacks(optimiser):
    """`audit.Attack`: the parameter at the end, all that is public, as the first label
    moves it."""
    return (audit.on_first_label(optimiser, "the order of steps"),)


def attack_instances():
    """Both calibrations: for a small ball 2 L is nearly attained."""
    return audit.in_both(local_md, 2, 12, epsilon=1.0, delta=0.1, radius=0.02)


def measured():
    """Instances whose every noisy gradient is measured."""
    short = {"radius": 0.02, "step_scale": 0.01}
    pair = audit.in_both(local_md, 2, 12, epsilon=1.0, delta=1e-9, **short)
    return audit.instances(*pair, bound_is_tight=False)
