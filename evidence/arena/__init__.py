"""All policies in one world at one true guarantee: worlds, recipes, contests,
decisions."""

from evidence.arena.decision import choose

__all__ = ["choose"]
