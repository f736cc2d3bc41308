"""All policies in one world at one true guarantee: worlds, recipes, contests, decisions."""

from companion.arena.chooser import choose

__all__ = ["choose"]
