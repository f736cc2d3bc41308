"""Room of "Shuffle and joint differential privacy for generalized linear contextual bandits".

`joint` is Algorithm 2 (noise from `calibrate` and `ledger`, hyper-parameters from `presets`,
matrices from `continual`, estimates from `descent`), `shuffle` is Algorithm 1 (`batches`, `design`,
`learning`); `environments` the streams; `experiments`, `decomposition`, `parts`, `attacks` and
`batch_attack` what the chapters measure; `theory` closed forms, `as_run` what the program did.
"""

from companion.private_glm.environments import fixed_world, paper_world, world
from companion.private_glm.joint import joint_glm
from companion.private_glm.presets import PRESETS
from companion.private_glm.shuffle import shuffle_glm

__all__ = ["PRESETS", "fixed_world", "joint_glm", "paper_world", "shuffle_glm", "world"]
