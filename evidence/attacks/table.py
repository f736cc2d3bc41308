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
    "ldp_linucb": AuditSpec(private_linucb.message_attack, private_linucb.ldp_audits),
    "jdp_linucb": AuditSpec(private_linucb.tree_attack, private_linucb.jdp_audits),
    "sdp_linucb": AuditSpec(private_linucb.batch_attack, private_linucb.sdp_audits),
    "online_linucb": AuditSpec(online_linucb.own_attacks, online_linucb.audit_instances),
    "anytime_linucb": AuditSpec(
        online_linucb.anytime_attacks, online_linucb.anytime_instances
    ),
    "combiner": AuditSpec(
        online_linucb.combiner_attacks, online_linucb.combiner_instances
    ),
    "corrected_ridge": AuditSpec(
        online_linucb.own_attacks, online_linucb.ridge_instances
    ),
    "fliphat": AuditSpec(
        fliphat.attacks,
        fliphat.audit_instances,
        fliphat.attack_instances,
    ),
    "residual_fliphat": AuditSpec(
        fliphat.attacks,
        fliphat.residual_audit_instances,
        fliphat.residual_attack_instances,
    ),
    "joint_glm": AuditSpec(
        joint_glm.own_attacks,
        joint_glm.audit_instances,
        joint_glm.attack_instances,
    ),
    "shuffle_glm": AuditSpec(shuffle_glm.own_attacks, shuffle_glm.audit_instances),
    "sco_bandit": AuditSpec(sco_bandit.attacks, sco_bandit.measured),
    "lplr": AuditSpec(
        lplr.own_attacks,
        lplr.audit_instances,
        lplr.attack_instances,
    ),
    "suffstats": AuditSpec(
        ssp.own_attacks,
        ssp.audit_instances,
        ssp.attack_instances,
    ),
    "streaming_fw": AuditSpec(
        streaming_sco.on_nodes,
        streaming_sco.measured_sums,
        streaming_sco.sum_attack_instances,
    ),
    "vertex_fw": AuditSpec(
        streaming_sco.choice_attack,
        streaming_sco.measured_choices,
        streaming_sco.choice_attack_instances,
    ),
    "noisy_sfw": AuditSpec(baselines.sfw_attack, baselines.sfw_measured),
    "noisy_sgd": AuditSpec(
        baselines.sgd_attack,
        baselines.sgd_measured,
        baselines.sgd_attack_instances,
    ),
    "local_md": AuditSpec(baselines.md_attack, baselines.md_measured),
}


def known(name: str) -> AuditSpec:
    """What is known of the algorithm that this factory makes; nothing without a row in
    `TABLE`."""
    return TABLE.get(name, NOTHING)
