"""The template of a policy, and how it gets into a file."""

from pathlib import Path

HERE = Path(__file__).with_name("template.txt")


def text() -> str:
    """The template: a private epsilon-greedy in plain Python."""
    return HERE.read_text("utf8")


def write(path) -> None:
    """Write the template to a file that does not exist yet; ValueError if it does."""
    path = Path(path)
    if path.suffix != ".py":
        raise ValueError(f"the policy's file must end with .py; got {path}")
    if path.exists():
        raise ValueError(f"there is {path} already: the template is not written over it")
    path.write_text(text(), "utf8")
