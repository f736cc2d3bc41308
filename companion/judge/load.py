"""The policy that is judged: found in a file, a module, or given as it is."""

import importlib
import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from typing import Any, NamedTuple

from companion import policies
from companion.core import Policy
from companion.judge.checks import GUESSES

ANNOTATED = (Policy, "Policy", "core.Policy")  # as it stands, or as text under postponed evaluation


class Refused(ValueError):
    """What cannot be judged, and why, in one line."""


class Subject(NamedTuple):
    """A policy, and what its module offers beside it."""

    name: str  # of the factory, or of the policy
    factory: Any  # or None
    make: Any  # number of arms -> instance
    tuned: str  # the one argument of the factory that may be tuned, or nothing

    @property
    def policy(self):
        """The example."""
        return self.make(4)

    @property
    def takes(self):
        """Parameters of the factory; none where it needs more than the judge can tell it."""
        taken = inspect.signature(self.factory).parameters if self.factory else {}
        needed = [n for n, p in taken.items() if p.default is p.empty and n not in GUESSES]
        return {} if needed else taken

    def made(self, **told):
        """The factory's policy with these arguments, and guesses for those that it needs."""
        named = {n: v for n, v in (GUESSES | told).items() if n in self.takes}
        return self.factory(**named)


def load(what, factory=None) -> Subject:
    """The `Subject` of a path, a dotted name, a module, a policy (made by the factory, if that is
    given), or the name of one of the package's; raises `Refused`."""
    if isinstance(what, Policy):
        return Subject(what.name, factory, lambda K: what, "")
    if isinstance(what, str) and what in policies.TABLE:
        made = policies.factory(what)
        return Subject(what, made, lambda K: policies.example(what, K), "")
    module = what if inspect.ismodule(what) else _imported(str(what))
    makers = [f for f in vars(module).values() if _makes(f, module)]
    if len(makers) > 1:
        names = ", ".join(f.__name__ for f in makers)
        raise Refused(
            f"{module.__name__} has several functions annotated -> Policy: {names}; leave one"
        )
    given = [v for v in vars(module).values() if isinstance(v, Policy)]
    if not makers and not given:
        raise Refused(
            f"{module.__name__} has no policy: write a function annotated `-> Policy` that makes it"
        )
    factory = makers[0] if makers else None
    name = factory.__name__ if factory else given[0].name
    return Subject(name, factory, _maker(module, factory, given), _tuned(module, factory))


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
    """An error in one line of at most 200 characters, with the last line outside the package."""
    text = " ".join(f"{type(error).__name__}: {error}".split())
    text = text if len(text) <= 200 else f"{text[:197]}..."
    package, seen = str(Path(__file__).parents[1]), (error, error.__cause__)
    for frame in reversed([f for e in seen if e for f in traceback.extract_tb(e.__traceback__)]):
        library = any(part in frame.filename for part in ("site-packages", "/lib/python", "<"))
        if not frame.filename.startswith(package) and not library:
            return f"{text} ({Path(frame.filename).name}, line {frame.lineno}: {frame.line})"
    return text


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
    subject = Subject("", factory, None, "")
    if inspect.signature(factory).parameters and not subject.takes:
        raise Refused(f"{factory.__name__} wants more than {', '.join(GUESSES)}: write example(), "
                      "a small instance")  # fmt: skip
    return lambda K: subject.made(K=K)


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
