"""Powers as people write them: "1.5e+06" becomes "1.5·10⁶", and "T^(3/4)" gets an exponent.

Chapters say numbers as Python prints them, and the lock and the errata compare those.  Only the
published copy is changed: the text of HTML outputs, outside of code and formulas, and numbers that
the prose shows.
"""

import re

RAW = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)(?![\w.]*\w)", re.IGNORECASE)
CARET = re.compile(r"\^(?:(-?)\(([^()<>^]{1,20})\)|(-?\d+(?:\.\d+)?|[A-Za-z*])(?!\w))")
# What is no text: code, scripts and tags; formulas, which the browser sets.
PIECES = re.compile(
    r"(<(script|style|code|pre|svg)\b.*?</\2>|<[^>]*>|\\\(.*?\\\)|\$[^$]*\$)", re.DOTALL
)
LABEL = re.compile(r'(?<= data-label=")[^"]*')  # shown as text on a phone
UP = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def _ten(match):
    digits, exponent = match[1], int(match[2])
    if exponent == 0:
        return digits
    power = f"10{str(exponent).translate(UP)}"
    return power if float(digits) == 1 else f"{digits}·{power}"


def _exponent(match):
    sign, many, one = match.groups()
    power = one or (f"-({many})" if sign else many)
    return f"<sup>{power.replace('-', '−')}</sup>"


def plain(text):
    """A text with its raw exponents as powers of ten.

    >>> plain("1.5e+06 [1e-05, 2.0e12]")
    '1.5·10⁶ [10⁻⁵, 2.0·10¹²]'
    """
    return RAW.sub(_ten, text)


def raised(text):
    """Text of HTML with powers of ten, and with exponents after carets raised.

    >>> raised("d^2 T^(3/4) at 1e-05")
    'd<sup>2</sup> T<sup>3/4</sup> at 10⁻⁵'
    """
    return CARET.sub(_exponent, plain(text))


def page(html):
    """HTML with `raised` text; tags, scripts, code and formulas stay as they are."""
    found, at = [], 0
    for match in PIECES.finditer(html):
        found += [raised(html[at : match.start()]), LABEL.sub(lambda m: plain(m[0]), match[0])]
        at = match.end()
    return "".join([*found, raised(html[at:])])


def outputs(cell):
    """Change the outputs of a cell in place."""
    for output in cell.get("outputs", []):
        data = output.get("data", {})
        if "text/html" in data:
            data["text/html"] = page("".join(data["text/html"]))
        for kind in [k for k in data if k.startswith("application/papermill.record/text/")]:
            data[kind] = plain("".join(data[kind]))
