"""Sphinx extension: a directive `public`, whose content is HTML about public names of `companion`.

Every element with an id `companion.…` and a `data-kind` becomes known to the search, and to other
projects that link to this one.
"""

import re

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

NAMED = re.compile(r'id="(companion\.[\w.]+)" data-kind="(\w+)"')


class Public(SphinxDirective):
    has_content = True

    def run(self):
        page = "\n".join(self.content)
        shown = nodes.raw("", page, format="html")
        self.set_source_info(shown)
        domain = self.env.get_domain("py")
        for name, kind in NAMED.findall(page):
            domain.note_object(name, kind, name, location=shown)
        return [shown]


def setup(app):
    app.add_directive("public", Public)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
