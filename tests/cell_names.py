"""Names that the code cells of a notebook bind and take."""

import builtins
import symtable

from tools.chapters import source, tags

GIVEN = {*dir(builtins), "display", "get_ipython", "__name__"}


def names(code):
    """(names that a cell binds, names that it takes from elsewhere)."""
    top = symtable.symtable(code, "cell", "exec")
    bound = set()
    for symbol in top.get_symbols():
        if symbol.is_assigned() or symbol.is_imported():
            bound.add(symbol.get_name())
    used = set()
    tables = [top]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_referenced() and (table is top or symbol.is_global()):
                used.add(symbol.get_name())
    return bound, used - bound - GIVEN


def needs(cells):
    """Index of a code cell -> {name: index of the earlier cell that binds it}.

    The parameters and the code cell after them, the imports, are what every cell may rely
    on.  A name that nobody binds has the index None.
    """
    code = [i for i, cell in enumerate(cells) if cell["cell_type"] == "code"]
    first = 1
    if "parameters" in tags(cells[code[0]]):
        first = 2
    always = set()
    for i in code[:first]:
        always |= names(source(cells[i]))[0]
    found = {}
    where = {}
    for i in code[first:]:
        bound, used = names(source(cells[i]))
        found[i] = {name: where.get(name) for name in sorted(used - always)}
        where |= dict.fromkeys(bound, i)
    return found
