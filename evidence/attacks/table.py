"""Which attacks and instances belong to which algorithm: one row per factory."""

from evidence.attacks import (
    baselines,
    fliphat,
    joint_glm,
    lplr,
    online_linucb,
    private_linucb,
    sco_bandit,
    shuffle_glm,
    ssp,
    streaming_sco,
)
from evidence.attacks.audit import AuditSpec

NOTHING = AuditSpec()  # what is known of an algorithm without a row
TABLE = {
    "ldp_linucb": AuditSpec(
        attacks=private_linucb.message_attack,
        measured=private_linucb.ldp_audits,
    ),
    "jdp_linucb": AuditSpec(
        attacks=private_linucb.tree_attack,
        measured=private_linucb.jdp_audits,
    ),
    "sdp_linucb": AuditSpec(
        attacks=private_linucb.batch_attack,
        measured=private_linucb.sdp_audits,
    ),
    "online_linucb": AuditSpec(
        attacks=online_linucb.own_attacks,
        measured=online_linucb.audit_instances,
    ),
    "anytime_linucb": AuditSpec(
        attacks=online_linucb.anytime_attacks,
        measured=online_linucb.anytime_instances,
    ),
    "combiner": AuditSpec(
        attacks=online_linucb.combiner_attacks,
        measured=online_linucb.combiner_instances,
    ),
    "corrected_ridge": AuditSpec(
        attacks=online_linucb.own_attacks,
        measured=online_linucb.ridge_instances,
    ),
    "fliphat": AuditSpec(
        attacks=fliphat.attacks,
        attack_instances=fliphat.attack_instances,
        measured=fliphat.audit_instances,
    ),
    "residual_fliphat": AuditSpec(
        attacks=fliphat.attacks,
        attack_instances=fliphat.residual_attack_instances,
        measured=fliphat.residual_audit_instances,
    ),
    "joint_glm": AuditSpec(
        attacks=joint_glm.own_attacks,
        attack_instances=joint_glm.attack_instances,
        measured=joint_glm.audit_instances,
    ),
    "shuffle_glm": AuditSpec(
        attacks=shuffle_glm.own_attacks,
        attack_instances=shuffle_glm.attack_instances,
        measured=shuffle_glm.audit_instances,
    ),
    "sco_bandit": AuditSpec(
        attacks=sco_bandit.attacks,
        attack_instances=sco_bandit.attack_instances,
        measured=sco_bandit.measured,
    ),
    "lplr": AuditSpec(
        attacks=lplr.own_attacks,
        attack_instances=lplr.attack_instances,
        measured=lplr.audit_instances,
    ),
    "suffstats": AuditSpec(
        attacks=ssp.own_attacks,
        attack_instances=ssp.attack_instances,
        measured=ssp.audit_instances,
    ),
    "streaming_fw": AuditSpec(
        attacks=streaming_sco.on_nodes,
        attack_instances=streaming_sco.sum_attack_instances,
        measured=streaming_sco.measured_sums,
    ),
    "vertex_fw": AuditSpec(
        attacks=streaming_sco.choice_attack,
        attack_instances=streaming_sco.choice_attack_instances,
        measured=streaming_sco.measured_choices,
    ),
    "noisy_sfw": AuditSpec(
        attacks=baselines.sfw_attack,
        attack_instances=baselines.sfw_attack_instances,
        measured=baselines.sfw_measured,
    ),
    "noisy_sgd": AuditSpec(
        attacks=baselines.sgd_attack,
        attack_instances=baselines.sgd_attack_instances,
        measured=baselines.sgd_measured,
    ),
    "local_md": AuditSpec(
        attacks=baselines.md_attack,
        attack_instances=baselines.md_attack_instances,
        measured=baselines.md_measured,
    ),
}


def known(name: str) -> AuditSpec:
    """What is known of the algorithm that this factory makes; nothing without a row in
    `TABLE`."""
    return TABLE.get(name, NOTHING)
