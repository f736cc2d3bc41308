"""Tables of claims as HTML."""

from companion.report import markup
from companion.report.claims import Claims


def test_text_is_escaped():
    claims = Claims("chapter")
    claims.claim("a", "text", "<b>x < y</b>", "p").row("<i>", 1.0, of="<u>", high=2.0)
    page = claims._repr_mimebundle_()["text/html"] + claims._open[0]._repr_html_()
    assert "&lt;b&gt;x &lt; y" in page
    assert not any(f"<{tag}>" in page for tag in "biu")
    assert 'id="claim-a"' in page
    link = markup.claims("t", claims.records, "chapter.html")
    assert 'href="chapter.html#claim-a"' in link
