"""How long algorithms take: over their floor, against plain NumPy, and as sizes grow."""

from companion.timing.floors import measured
from companion.timing.growth import grown

__all__ = ["grown", "measured"]
