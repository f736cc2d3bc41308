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

if "IPython" in sys.modules:
    _shell = sys.modules["IPython"].get_ipython()
    if _shell is not None:
        rules.need_given(_shell.history_manager.input_hist_raw, _shell.user_ns)
