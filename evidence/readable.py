"""A notebook that papermill has run, made readable where no Sphinx reads it.

    papermill --engine readable CHAPTER.ipynb out.ipynb -p NAME VALUE

The site's own marks in the prose become text: numbers that cells hand to it, boxes of
theorems with their titles, citations as names, numbers of equations, and the macros of
formulas.  The text as it was written is kept beside it, so that this can be done again.
"""

import ast
import re
from itertools import count

PREFIX = "application/papermill.record/text/plain"  # of what cells say to the prose
MACROS = (
    r"$\newcommand{\R}{\mathbb{R}}\newcommand{\E}{\mathbb{E}}\newcommand{\P}{\mathbb{P}}"
    r"\newcommand{\norm}[1]{\left\lVert #1\right\rVert}$"
)
WHOSE = (
    "*The numbers in the text, and the verdicts of this page's tables, are those of the "
    "run that wrote this notebook. A verdict is given with the page's own parameters "
    'alone; with others it reads "not tested at this scale", whatever the numbers are. '
    'What the text says "on the site", such as a verdict that ends in these words, is '
    "what the site's run gave, with the page's own parameters. Links inside the book are "
    "left out; the book's bibliography has the titles of what is cited. A box, such as a "
    "theorem, ends with ◻. Run again by `papermill --engine readable`, the text gets new "
    "numbers; without this engine it keeps the old ones.*"
)
FENCE = re.compile(
    r"^(```\w+\n[\s\S]*?^```$)"
    r"|^[:`]{3,}(?:\{([\w:-]+)\} ?(.*)\n((?::[\w-]+:.*\n)*)|$)",
    re.MULTILINE,
)
BOX_LABEL = re.compile(r"^:label: (.*)$", re.MULTILINE)
LABEL = re.compile(r"^\(([\w-]+)\)=\n", re.MULTILINE)
EQUATION = re.compile(r"\$\$ *\(([\w-]+)\)$", re.MULTILINE)
ROLE = re.compile(r"\{([\w:]+)\}`([^`]+)`")
# links to other places of the book, which a notebook alone does not have
INSIDE = re.compile(r"\[([^\]]+)\]\((?!https?:)[\w./#%-]+\)")
# verdicts that the author has typed: those of the site's own run
VERDICT = re.compile(
    r'<a href="#(?:evidence|claim)[^>]*>(\w[^<]*)</a>'
    r"|\[((?i:(?:not )?reproduced|not settled|wrong as|consistent)[^\]]*)\]"
    r"\(\w+\.ipynb[^)]*\)"
)
ANCHOR = re.compile(r'<a href="(?!https?:)[^"]*">(.*?)</a>')


def make_readable(notebook) -> None:
    """Rewrite the Markdown cells of an executed notebook, in place."""
    prose = [cell for cell in notebook["cells"] if cell["cell_type"] == "markdown"]
    labels = {}
    equations = count(1)
    for cell in prose:
        # as the author wrote it: a notebook that is run again gets its new numbers
        source = cell["metadata"].setdefault("as_written", "".join(cell["source"]))
        text = boxes(LABEL.sub("", source), labels)
        labels |= {name: f"({next(equations)})" for name in EQUATION.findall(text)}
        cell["source"] = text
    values = said(notebook)
    for cell in prose:
        cell["source"] = readable(cell["source"], values, labels)
    for cell in notebook["cells"]:
        tags = cell["metadata"].get("tags", [])
        if "remove-output" in tags:
            cell["outputs"] = []
        if {"hide-cell", "hide-input", "remove-input"} & set(tags):
            cell["metadata"]["jupyter"] = {"source_hidden": True}
    if prose:
        prose[0]["source"] += f"\n\n{WHOSE}\n\n{MACROS}\n"


def said(notebook) -> dict:
    """{name: text} of the numbers that the cells hand to the prose."""
    found = {}
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            if PREFIX in output.get("data", {}):
                name = output["metadata"]["scrapbook"]["name"]
                found[name] = ast.literal_eval("".join(output["data"][PREFIX]))
    return found


def readable(text: str, values, labels) -> str:
    """A Markdown text without boxes, its marks as words.

    values: {name: text} of numbers; labels: {label: title or number}.  A mark whose
    number or kind is unknown stays as it is.
    """
    text = VERDICT.sub(r"\1\2 (on the site)", text)
    text = EQUATION.sub(lambda m: rf"\tag{{{labels[m[1]][1:-1]}}}" + "\n$$", text)

    def words(match):
        kind, content = match.groups()
        if kind == "glue:text":
            return values.get(content, match[0])
        if kind in ("cite:t", "cite:p"):
            return citation(content, in_text=kind == "cite:t")
        if kind in ("ref", "prf:ref", "eq", "term"):
            return labels.get(content, content.split(" <")[0])
        return match[0]

    return ANCHOR.sub(r"\1", INSIDE.sub(r"\1", ROLE.sub(words, text)))


def boxes(text: str, labels: dict) -> str:
    """A text whose boxes are paragraphs between a title and "◻"; blocks of code stay as
    they are.

    labels: {label: title}, to which those of the boxes are added.
    """
    begun = []

    def titled(fence):
        code, kind, title, options = fence.groups()
        if code:
            return code
        if not kind:
            ended = begun.pop()
            # an exercise stands between two marks of its own
            return "" if ended.endswith(("-start", "-end")) else "\n◻"
        begun.append(kind)
        if kind.endswith("-end"):
            return ""
        words = title or kind.split(":")[-1].removesuffix("-start")
        words = words[:1].upper() + words[1:]
        for label in BOX_LABEL.findall(options):
            labels[label] = words
        return f"**{words}.**\n\n"

    return FENCE.sub(titled, text)


def citation(keys: str, in_text: bool) -> str:
    """Names and years from the keys of a bibliography, such as "zheng2020"."""
    names = []
    for name, year in re.findall(r"([a-zA-Z]+)[^\d,]*(\d*)", keys):
        if year:
            year = f" ({year})" if in_text else f" {year}"
        names.append(f"{name.capitalize()}{year}")
    joined = ", ".join(names)
    return joined if in_text else f"({joined})"
