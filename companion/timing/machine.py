"""The machine on which times were measured, without its name."""

import os
import platform
from importlib.metadata import version
from pathlib import Path

CPU = Path("/proc/cpuinfo")


def processor(text: str = "") -> str:
    """The model of the processor: the first "model name" of a text like /proc/cpuinfo, else the
    architecture."""
    names = (line.partition(":")[2].strip() for line in text.splitlines() if "model name" in line)
    return next(names, "") or platform.machine()


def described() -> dict[str, str]:
    """{what: value}: processor, cores that this process may use, system, versions."""
    text = CPU.read_text() if CPU.is_file() else ""
    allowed = getattr(os, "sched_getaffinity", None)
    cores = len(allowed(0)) if allowed else os.cpu_count() or 1
    versions = ", ".join(f"{name} {version(name)}" for name in ("numpy", "numba"))
    system = f"{platform.system()} on {platform.machine()}"
    return {"processor": processor(text), "cores": str(cores), "system": system,
            "software": f"Python {platform.python_version()}, {versions}"}  # fmt: skip
