"""What notebooks use to show things: claims, figures, tables, published numbers,
provenance."""

from companion.validate import need_module

# all of them, and the arena and the judge, need both
for _module in ("pandas", "jinja2"):
    need_module(_module, "notebooks")
