"""Sphinx extension: what screen readers need and docutils does not write.

* Entries of a bibliography are items of the list they stand in.
"""


def _body(app, pagename, templatename, context, doctree):
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def setup(app):
    app.connect("html-page-context", _body)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
