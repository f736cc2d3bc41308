"""The papers' printed numbers, as data of the package: `published.json` of each room."""

import json
from importlib.resources import files


def published(room):
    """The published numbers of a room, such as "fliphat", as written in its `published.json`."""
    return json.loads(files(f"companion.{room}").joinpath("published.json").read_text("utf8"))
