"""Sphinx extension: the built site sends no request outside itself.

* MathJax 3 is copied from the `sphinx-mathjax-offline` wheel (2 MB of its 24 MB) into
  _static.
* sphinx-thebe, which Jupyter Book always loads, is silenced: its script names a content
  network and is emitted twice, which is an error in every page.
* The theme's icons come twice, as a font and as a script of 1.5 MB for icons of one's
  own, of which there are none: the script is emptied.
* A page loads MathJax (1.2 MB) if it has a formula, in its text or, where Sphinx sees
  none, in an output.
"""

import shutil
from importlib.util import find_spec
from pathlib import Path

MATHJAX = "tex-chtml.js"
FORMULA = ('class="math', "\\(", "\\[")  # as they stand in a page
WANTED = (MATHJAX, "output/chtml/fonts/woff-v2")


def _config(app, config):
    config.mathjax_path = f"mathjax/{MATHJAX}"
    config.mathjax_options = {"defer": "defer"}
    for listeners in app.events.listeners.values():
        listeners[:] = [x for x in listeners if x.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files[:] = [
        x for x in app.registry.css_files if x[0] != "sphinx-thebe.css"
    ]


def _formulas(app, page, template, context, doctree):
    """Leave MathJax out of a page without formulas."""
    body = context.get("body", "")
    if any(mark in body for mark in FORMULA):
        return
    context["script_files"] = [
        script
        for script in context.get("script_files", [])
        if "mathjax" not in f"{script.filename} {script.attributes.get('body')}".lower()
    ]


def _copy(app, error):
    if error is not None or app.builder.format != "html":
        return
    wheel = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
    target = Path(app.outdir) / "_static" / "mathjax"
    for name in WANTED:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        if (wheel / name).is_dir():
            shutil.copytree(wheel / name, target / name, dirs_exist_ok=True)
        else:
            shutil.copy2(wheel / name, target / name)
    script = Path(app.outdir) / "_static" / "scripts" / "fontawesome.js"
    script.write_text(
        "/* not needed: the theme's style sheet has the same icons as a font */\n"
    )


def setup(app):
    app.set_html_assets_policy("always")
    app.connect("config-inited", _config, priority=900)
    app.connect("html-page-context", _formulas, priority=900)
    app.connect("build-finished", _copy)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
