"""Every guarantee rebuilt from three things that are measured while an algorithm plays.

(1) How far one record moves what is let out when no noise is drawn, over corners of the universe
and records far outside it; (2) in how many calls it does; (3) the noise that is drawn.  An
independent route (`dp-accounting`, or a closed form of another source than the code's) turns them
into epsilon.  `measure` does this for a `AuditInstance`: see `companion.accounting.audit` for
what a private algorithm declares, `watching` for how it is watched, `neighbours` for the records.
"""

from companion.accounting.audit import LAWS
from companion.audits import at_random, at_vertices, normal_noise, peeled, pure_noise, smooth_noise
from companion.audits.neighbours import filler
from companion.audits.watching import play


def laws(case) -> set[str]:
    """The set of laws of all numbers that a `AuditInstance` lets out while it plays.

    Raises ValueError on a law that is not among `audit.LAWS`, and where nothing is let out.
    """
    found = {law for c in play(case, filler(case)).calls for law, _ in c.clean}
    if not found or not found <= set(LAWS):
        raise ValueError(f"laws must be some of {LAWS}; got {sorted(found)}")
    return found


def measure(case):
    """`measures.Measured` of a `AuditInstance`, whose guarantee should lie in its interval.

    Raises `neighbours.Leak` if others see more of a record than the declared releases, and
    ValueError on laws that are not known here, or not together.
    """
    found = laws(case)
    if found <= {"gaussian", "counts"} and len(found) == 1:
        return normal_noise.measure(case, *found)
    if found == {"peeling", "peeled", "picks"}:
        return peeled.measure(case)
    if "vertex" in found:
        return at_vertices.measure(case)
    if found <= {"prefix", "generalized"} and len(found) == 1:
        return smooth_noise.measure(case, *found)
    if found == {"sampled"}:
        return at_random.measure(case)
    if found <= {"laplace", "wishart"}:
        return pure_noise.measure(case)
    raise ValueError(f"laws must be of one kind; got {sorted(found)}")
