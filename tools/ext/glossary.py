"""Sphinx extension: the first use of every word of the glossary on a chapter's page links to it.

What the author has linked with the `term` role is left as it is.  Words that also mean other things
(`BY_HAND`) are linked by that role alone.
"""

import re

from docutils import nodes

BY_HAND = {"finding", "interval", "tree", "unit"}  # finding a root, an interval stage, a unit ball
NOT_IN = (nodes.reference, nodes.title, nodes.literal, nodes.math, nodes.caption, nodes.raw)


def forms(term):
    """Pattern of a term and its plural: policy and policies, arm and arms, neighbours and one."""
    stem = re.escape(term[:-1])
    ending = {"y": "(?:y|ies)", "s": "s?"}.get(term[-1], re.escape(term[-1]) + "s?")
    return re.compile(rf"(?<![\w-]){stem}{ending}(?![\w-])", re.IGNORECASE)


def terms(app):
    """{term: (page, anchor)} of the glossary."""
    found = app.env.get_domain("std").objects.items()
    return {name: place for (kind, name), place in found if kind == "term"}


def prose(doctree):
    """Texts of the page in their order, but for those of links, titles, code and formulas."""
    for text in list(doctree.findall(nodes.Text)):
        above, node = [], text.parent
        while node is not None:
            above.append(node)
            node = node.parent
        paragraph = any(isinstance(a, nodes.paragraph) for a in above)
        if paragraph and not any(isinstance(a, NOT_IN) for a in above):
            yield text


def link(words, left, where):
    """The nodes that a text becomes: the first use of each of the terms `left`, which loses it, is
    a link to where(term)."""
    found, at = [], 0
    while hits := [(m.start(), -m.end(), t) for t in left if (m := forms(t).search(words, at))]:
        start, end, term = min(hits)
        said = nodes.inline(text=words[start:-end], classes=["xref", "std", "std-term"])
        target = nodes.reference("", "", said, internal=True, refuri=where(term))
        found += [nodes.Text(words[at:start]), target]
        at = -end
        left.discard(term)
    return [*found, nodes.Text(words[at:])]


def _resolved(app, doctree, docname):
    if not app.env.doc2path(docname).endswith(".ipynb"):
        return
    known = terms(app)

    def where(term):
        page, anchor = known[term]
        return f"{app.builder.get_relative_uri(docname, page)}#{anchor}"

    linked = {node.get("refuri") for node in doctree.findall(nodes.reference)}
    left = {t for t in known if t not in BY_HAND and where(t) not in linked}
    for text in prose(doctree):
        new = link(text.astext(), left, where)
        if len(new) > 1:
            text.parent.replace(text, new)


def setup(app):
    app.connect("doctree-resolved", _resolved)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
