"""One point of the contract as plain data."""

from companion.judge.contract import POINTS
from companion.judge.on_paper import Broken, Untested
from companion.judge.subject import said


def checked(subject, name: str):
    """{"holds": True, False or None (this policy gives no hold for the test), "said": what was
    found}; what the policy raises on the way is a point that does not hold."""
    more = (subject.factory,) if name == "refusals" else ()
    try:
        POINTS[name].check(subject.make, *more)
    except Untested as why:
        return {"holds": None, "said": str(why)}
    except Broken as why:
        return {"holds": False, "said": str(why)}
    except Exception as error:
        return {"holds": False, "said": said(error)}
    return {"holds": True, "said": ""}
