"""Words of the glossary: how their first use becomes a link, and which pages must have which."""

import re
import sys
from pathlib import Path

import pytest
from docutils import nodes

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "ext"))
import glossary  # noqa: E402

PAPER = {"context", "reward", "regret", "budget", "claim", "policy", "horizon", "trust model"}
CENTRAL = {  # of each chapter: what its page cannot be read without
    "playing": {"policy", "context", "arm", "reward", "regret"},
    "your_data": {"policy", "regret", "budget"},
    "privacy_models": {"differential privacy", "record", "neighbours", "budget", "unit"},
    "mechanisms": {"mechanism", "neighbours", "sensitivity", "trust model", "audit"},
    "audits": {"audit", "mechanism", "record", "budget", "trust model"},
    "online_linucb": PAPER | {"sensitivity", "calibration", "audit", "arm"},
    "fliphat": PAPER | {"sensitivity", "composition", "clipping"},
    "streaming_sco": {"record", "sensitivity", "budget", "claim", "trust model", "audit"},
    "streaming_rows": {"claim", "record", "clipping", "context"},
    "sco_bandit": PAPER - {"budget"} | {"neighbours", "sensitivity"},
    "joint_glm": PAPER | {"exploration", "audit", "sensitivity"},
    "shuffle_glm": PAPER - {"policy"} | {"batch", "sensitivity"},
    "glm_rows": {"claim", "budget", "regret", "sensitivity", "batch"},
    "lplr": PAPER | {"mechanism", "audit", "clipping"},
    "arena": {"policy", "trust model", "regret", "budget", "calibration"},
    "judge": {"policy", "arm", "record", "regret", "budget", "trust model", "unit", "audit"},
    "performance": {"policy", "arm", "context"},
    "scoreboard": {"claim", "verdict"},
}


def words():
    """Terms that the glossary explains."""
    text = (ROOT / "book" / "glossary.md").read_text("utf8")
    blocks = re.findall(r"^:::\{glossary\}\n(.*?)^:::", text, flags=re.S | re.M)
    return {line for block in blocks for line in re.findall(r"^(\S.*)$", block, flags=re.M)}


def test_central_words_and_exceptions_are_explained():
    assert set().union(*CENTRAL.values()) <= words()
    assert words() >= glossary.BY_HAND


@pytest.mark.parametrize(
    ("term", "yes", "no"),
    [
        ("policy", "two policies", "a policyholder"),
        ("neighbours", "a neighbour", "neighbouring inputs"),
        ("batch", "Batch 3", "batch-wise"),
        ("trust model", "trust models", "trust a model"),
    ],
)
def test_forms_of_a_word(term, yes, no):
    assert glossary.forms(term).search(yes)
    assert not glossary.forms(term).search(no)


def test_the_first_use_alone_becomes_a_link():
    left = {"arm", "regret", "policy"}
    found = glossary.link("An arm, regret; an arm.", left, lambda term: f"#{term}")
    links = [n for n in found if isinstance(n, nodes.reference)]
    assert [(n.astext(), n["refuri"]) for n in links] == [("arm", "#arm"), ("regret", "#regret")]
    assert "".join(n.astext() for n in found) == "An arm, regret; an arm."
    assert left == {"policy"}


def test_titles_links_and_code_are_left_alone():
    said = nodes.paragraph("", "", nodes.literal("", "arm"), nodes.Text(" and regret"))
    page = nodes.section("", nodes.title("", "An arm"), said)
    assert [t.astext() for t in glossary.prose(page)] == [" and regret"]


@pytest.mark.slow
@pytest.mark.xdist_group("site")
@pytest.mark.parametrize("chapter", CENTRAL)
def test_a_chapter_links_its_words(smoke_site, chapter):
    page = (smoke_site / "book" / f"{chapter}.html").read_text("utf8")
    linked = re.findall(r'href="glossary\.html#(term-[\w-]+)"', page)
    wanted = {f"term-{w.replace(' ', '-')}" for w in CENTRAL[chapter]}
    assert wanted <= set(linked)
    known = (smoke_site / "book" / "glossary.html").read_text("utf8")
    assert all(f'id="{anchor}"' in known for anchor in linked)


def test_no_chapter_is_forgotten():
    assert set(CENTRAL) == {p.stem for p in (ROOT / "book").glob("*.ipynb")}
