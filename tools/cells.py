"""What a code cell needs besides the parameters and the imports, for readers who copy it."""

import builtins
import symtable

from tools.chapters import source, tags

GIVEN = {*dir(builtins), "display", "get_ipython", "__name__"}
HIDDEN = {"remove-cell", "remove-input"}


def plain(code):
    """The code of a cell without lines for IPython alone."""
    return "\n".join(line for line in code.splitlines() if not line.startswith(("%", "!")))


def names(code):
    """(names that a cell binds, names that it takes from elsewhere)."""
    top = symtable.symtable(code, "cell", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    used, tables = set(), [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        here = [s for s in table.get_symbols() if s.is_referenced()]
        used |= {s.get_name() for s in here if table is top or s.is_global()}
    return bound, used - bound - GIVEN


def needs(cells):
    """Index of a code cell -> {name: index of the earlier cell that binds it}.

    Parameters (given and injected) and the first code cell after them, the imports, are what every
    cell may rely on.  A name that nobody binds has the index None.
    """
    code = [i for i, c in enumerate(cells) if c["cell_type"] == "code"]
    first = sum(bool({"parameters", "injected-parameters"} & set(tags(cells[i]))) for i in code) + 1
    always = set().union(*(names(source(cells[i]))[0] for i in code[:first]))
    found, where = {}, {}
    for i in code[first:]:
        bound, used = names(source(cells[i]))
        found[i] = {name: where.get(name) for name in sorted(used - always)}
        where |= dict.fromkeys(bound, i)
    return found
