"""What the executed chapters claim and how long they took, gathered for the
scoreboard."""

from evidence.claims.claims import MIME
from tools import cache
from tools.chapters import title
from tools.errors import Failure


def claims(name, notebook):
    """The claim records that an executed chapter shows.  Raises Failure if one is there
    twice."""
    outputs = [o for c in notebook["cells"] for o in c.get("outputs", [])]
    shown = [o["data"][MIME] for o in outputs if MIME in o.get("data", {})]
    records = [record for records in shown for record in records]
    if len({record["id"] for record in records}) < len(records):
        raise Failure(f"{name} shows a claim twice")
    return records


def write(build, scale, executed):
    """Write claims.json and times.json; return (path of the claims, their digest)."""
    records = [r for name, notebook in executed.items() for r in claims(name, notebook)]
    times = {
        "scale": scale,
        "chapters": [
            {
                "chapter": name,
                "title": title(notebook),
                "seconds": notebook["metadata"][cache.RUN]["seconds"],
                "cpu_seconds": notebook["metadata"][cache.RUN]["cpu_seconds"],
            }
            for name, notebook in executed.items()
        ],
    }
    folder = build / "results"
    cache.put(folder / "claims.json", cache.dump(records))
    cache.put(folder / "times.json", cache.dump(times))
    return folder / "claims.json", cache.digest(records)
