"""What notebooks use to show things: claims, figures, tables, published numbers,
provenance.

A chapter imports this before it computes, so its parameters are checked here: those that
papermill, or a reader, has set are refused in words (`rules.need_given`).
"""

import sys

from companion.validate import need_module
from evidence.claims import rules

# all of them, and the arena and the judge, need both
for _module in ("pandas", "jinja2"):
    need_module(_module, "notebooks")

given = {}  # {name: value} of the parameters that papermill has set

if "IPython" in sys.modules:
    _shell = sys.modules["IPython"].get_ipython()
    if _shell is not None:
        _cells = _shell.history_manager.input_hist_raw
        rules.need_given(_cells, _shell.user_ns)
        given |= rules.injected(_cells)
