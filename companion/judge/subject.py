"""The policy that is judged: found in a file, a module, or given as it is."""

import hashlib
import importlib
import importlib.util
import inspect
import sys
from pathlib import Path
from typing import Any, NamedTuple

from companion import policies
from companion.core import Policy

ANNOTATED = (Policy, "Policy", "core.Policy")  # as it stands, or as text under postponed evaluation
GUESSES = {"d": 3, "K": 4, "T": 400, "epsilon": 1.0, "delta": 0.01}  # where there is no example()


class Refused(ValueError):
    """What cannot be judged, and why, in one line."""


class Subject(NamedTuple):
    """A policy, and what its module offers beside it."""

    name: str  # of the factory, or of the policy
    factory: Any  # or None
    module: Any  # or None
    make: Any  # number of arms -> instance
    tuned: str  # the one argument of the factory that may be tuned, or nothing

    @property
    def policy(self):
        """The example."""
        return self.make(4)


def source(what):
    """The file of what is to be judged, or None for a policy that is given as it is."""
    if isinstance(what, Policy):
        return None
    if inspect.ismodule(what):
        return Path(what.__file__)
    if what in policies.TABLE:
        return Path(inspect.getfile(policies.factory(what)))
    if Path(what).suffix == ".py":
        return Path(what)
    try:
        spec = importlib.util.find_spec(what)
    except (ImportError, ValueError):
        spec = None
    return Path(spec.origin) if spec and spec.origin else Path(what)


def digest(what):
    """A digest of the file, and of the name where a file has several of the package's policies;
    None where there is no file."""
    path = source(what)
    if path is None or not path.is_file():
        return None
    name = what if what in policies.TABLE else ""
    return hashlib.sha256(path.read_bytes() + name.encode()).hexdigest()


def load(what) -> Subject:
    """The `Subject` of a path, a dotted name, a module, a policy, or the name of one of the
    package's; raises `Refused`."""
    if isinstance(what, Policy):
        return Subject(what.name, None, None, lambda K: what, "")
    if isinstance(what, str) and what in policies.TABLE:
        factory = policies.factory(what)
        module = sys.modules[factory.__module__]
        return Subject(what, factory, module, lambda K: policies.example(what, K), "")
    module = what if inspect.ismodule(what) else _imported(str(what))
    makers = [f for f in vars(module).values() if _makes(f, module)]
    if len(makers) > 1:
        names = ", ".join(f.__name__ for f in makers)
        raise Refused(f"{module.__name__} has several functions annotated -> Policy: {names}")
    given = [v for v in vars(module).values() if isinstance(v, Policy)]
    if not makers and not given:
        raise Refused(
            f"{module.__name__} has no policy: write a function annotated `-> Policy` that makes it"
        )
    factory = makers[0] if makers else None
    name = factory.__name__ if factory else given[0].name
    make = _maker(module, factory, given)
    return Subject(name, factory, module, make, _tuned(module, factory))


def _imported(what):
    """The module of a path or of a dotted name."""
    try:
        if not what.endswith(".py"):
            return importlib.import_module(what)
        path = Path(what).resolve()
        if not path.is_file():
            raise Refused(f"there is no file {what}")
        name = f"judged_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        module = sys.modules[name] = importlib.util.module_from_spec(spec)
        sys.path.append(str(path.parent))
        spec.loader.exec_module(module)
        return module
    except Refused:
        raise
    except BaseException as error:  # whatever a stranger's file raises, SystemExit included
        raise Refused(f"{what} does not import: {said(error)}") from None


def said(error) -> str:
    """An error in one line of at most 200 characters."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 200 else f"{text[:197]}..."


def _makes(f, module):
    here = inspect.isfunction(f) and f.__module__ == module.__name__ and f.__name__ != "example"
    return here and inspect.signature(f).return_annotation in ANNOTATED


def _maker(module, factory, given):
    if hasattr(module, "example"):
        example = module.example
        with_arms = "K" in inspect.signature(example).parameters
        return (lambda K: example(K=K)) if with_arms else (lambda K: example())
    if factory is None:
        return lambda K: given[0]
    taken = inspect.signature(factory).parameters
    missing = [n for n, p in taken.items() if p.default is p.empty and n not in GUESSES]
    if missing:
        raise Refused(
            f"{factory.__name__} wants {', '.join(missing)}, which the judge does not know: "
            "write example(), a small instance"
        )
    told = {n: v for n, v in GUESSES.items() if n in taken}
    return lambda K: factory(**told | ({"K": K} if "K" in taken else {}))


def _tuned(module, factory):
    name = getattr(module, "TUNED", "")
    if not name:
        return ""
    taken = inspect.signature(factory).parameters if factory else {}
    default = getattr(taken.get(name), "default", None)
    if isinstance(default, bool) or not isinstance(default, (int, float)):
        raise Refused(f"TUNED = {name!r} must name an argument of the factory with a number as its "
                      "default")  # fmt: skip
    return name
