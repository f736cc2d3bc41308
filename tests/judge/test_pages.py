"""The page of a report: all that was found, escaped, and nothing from elsewhere."""

import judged_report

from companion.judge import pages
from companion.judge.report import made


def test_a_page_shows_attacks_and_contract_and_loads_nothing():
    page = pages.standalone(made(judged_report.PARTS).data)
    assert "<h1>Mine &lt;b&gt;</h1>" in page
    assert "too slow" in page
    assert "signal 11" in page
    assert "<code>AuditSpec.measured</code>" in page
    assert "`" not in page
    assert "src=" not in page.replace('src="data:', "")
    assert "http" not in page.replace("http://www.w3.org", "")


def test_a_page_shows_the_arena_and_the_cost():
    parts = judged_report.PARTS | {"arena": [judged_report.SETTING], "cost": judged_report.COST}
    parts["promise"] = {"found": judged_report.PROMISE}
    page = pages.body(made(parts).data)
    assert "data:image/svg+xml;base64," in page
    assert "<code>mine</code> (new)" in page
    assert page.count(">less regret<") == 2  # than the slower one, and than random play
    assert "900" in page


def test_a_refused_policy_has_a_page_too():
    assert "no file" in pages.standalone(made({"refused": "no file"}).data)
