"""A figure as SVG: measured with the letters that are drawn, laid out once, drawn once.

Matplotlib's own way to a picture that is cut to what is in it measures text at the resolution of a
screen first and of the picture then, which reads every formula twice for every size, and lays the
figure out and goes through all of it once more before it draws.
"""

import base64
import io
from contextlib import contextmanager

import matplotlib as mpl
from matplotlib.backends.backend_svg import FigureCanvasSVG, RendererSVG

DPI = 72  # of a vector picture: a pixel is a point


class _Canvas(FigureCanvasSVG):
    """A canvas that measures by one renderer, which keeps the sizes of texts."""

    def __init__(self, figure):
        super().__init__(figure)
        self._renderer = RendererSVG(1, 1, io.StringIO())

    def get_renderer(self):
        """What Matplotlib asks for where it needs the size of a text."""
        return self._renderer


@contextmanager
def measuring(fig):
    """Within it, texts of `fig` have the sizes that they have in a vector picture."""
    canvas, dpi = fig.canvas, fig.dpi
    fig.set_dpi(DPI)
    _Canvas(fig)  # the figure's own from now on
    try:
        yield
    finally:
        fig.set_canvas(canvas)
        fig.set_dpi(dpi)


def svg(fig) -> str:
    """The picture, cut to what is in it, in base 64: `fig` as it has been laid out (see
    `phone.arrange`)."""
    out, engine = io.BytesIO(), fig.get_layout_engine()
    box = fig.get_tightbbox().padded(mpl.rcParams["savefig.pad_inches"])
    with mpl.rc_context({"figure.constrained_layout.use": False}):
        fig.set_layout_engine(None)  # with any engine, it goes through all before it draws
    try:
        fig.savefig(out, format="svg", metadata={"Date": None}, bbox_inches=box)
    finally:
        fig.set_layout_engine(engine)
    return base64.b64encode(out.getvalue()).decode()
