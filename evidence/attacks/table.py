"""Which attacks and instances belong to which algorithm: those with the name of its
factory."""

from importlib import import_module

from evidence.attacks.audit import AuditSpec, nothing

NOTHING = AuditSpec()  # what is known of an algorithm without such functions
MODULES = (
    "baselines",
    "fliphat",
    "joint_glm",
    "lplr",
    "online_linucb",
    "private_linucb",
    "sco_bandit",
    "shuffle_glm",
    "ssp",
    "streaming_sco",
)
NAMES = {}
for module in MODULES:
    NAMES |= vars(import_module(f"evidence.attacks.{module}"))


def known(name: str) -> AuditSpec:
    """What is known of the algorithm that this factory makes.

    The functions of `evidence.attacks` with the name of the factory and of a field, as in
    `fliphat_attacks`, `fliphat_measured` and `fliphat_attack_instances`.  One that is
    missing gives nothing.
    """
    fields = AuditSpec._fields
    return AuditSpec(*[NAMES.get(f"{name}_{field}", nothing) for field in fields])
