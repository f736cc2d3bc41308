"""The code of the package as pages of the site: what the pages on the package link to.

A page is plain HTML without the theme: a module's text, numbered, with an anchor for every public
name, so that a link to `_code/companion.core.html#Policy` shows the class marked.
"""

import ast
import html
import io
import tokenize

FOLDER = "_code"
STYLE = """:root { color-scheme: light dark; }
body { margin: 1rem; color: light-dark(#111, #eee); background: light-dark(#fff, #121212);
  font: 14px/1.45 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; }
header { font-family: system-ui, sans-serif; margin-bottom: 1rem; }
h1 { font-size: 1.2rem; margin: 0 0 .3rem; overflow-wrap: anywhere; }
main { display: grid; grid-template-columns: auto 1fr; gap: 1em; }
pre { margin: 0; font: inherit; }
main pre:first-child { text-align: right; user-select: none; color: light-dark(#5a5f66, #a9b1ba); }
main pre:last-child { overflow-x: auto; }
i { font-style: normal; color: light-dark(#5a5f66, #a9b1ba); }
a { color: light-dark(#0a5a9c, #7ab8f5); }
:target { background: light-dark(#fff3c4, #3a3413); }"""


def link(module, name=""):
    """The address of a name's code, from the root of the site."""
    return f"{FOLDER}/{module}.html" + (f"#{name}" if name else "")


def page(module, text, home, address="", where=""):
    """The page of a module: its text, and where it is explained; `where` is its file at `address`,
    which an empty address leaves out."""
    names = [
        (n.name, min([n.lineno, *(d.lineno for d in n.decorator_list)]), n.end_lineno)
        for n in ast.parse(text).body
        if isinstance(n, ast.FunctionDef | ast.ClassDef)
    ]
    title = html.escape(module)
    kept = f' · <a href="{html.escape(address)}/blob/HEAD/{where}">{where}</a>' if address else ""
    count = len(text.splitlines())
    numbers = "\n".join(map(str, range(1, count + 1)))
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>Code of {title}</title>\n<style>\n{STYLE}\n</style>\n</head>\n<body>\n"
        f'<header><h1>Code of {title}</h1><a href="../{home}">What it does</a>{kept}</header>\n'
        f'<main><pre aria-hidden="true">{numbers}</pre><pre tabindex="0">'
        f"{marked(text, names)}</pre></main>\n</body>\n</html>\n"
    )


def marked(text, names):
    """The text as HTML, with comments and strings of their own in <i>, and an anchor around every
    (name, first line, last line)."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    tags = []  # (place, order: ends come first, tag)
    for name, first, last in names:
        tags.append((starts[first - 1], 1, f'<span id="{name}">'))
        tags.append((starts[last], 0, "</span>"))
    before = None
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        alone = before in (None, tokenize.NEWLINE, tokenize.INDENT, tokenize.NL, tokenize.DEDENT)
        if token.type == tokenize.COMMENT or (token.type == tokenize.STRING and alone):
            begin, end = (starts[row - 1] + column for row, column in (token.start, token.end))
            tags += [(begin, 2, "<i>"), (end, -1, "</i>")]
        if token.type != tokenize.COMMENT:
            before = token.type
    parts, at = [], 0
    for place, _, tag in sorted(tags, key=lambda t: t[:2]):
        parts += [html.escape(text[at:place], quote=False), tag]
        at = place
    return "".join([*parts, html.escape(text[at:], quote=False)])
