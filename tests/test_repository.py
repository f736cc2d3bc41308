"""What README and requirements promise."""

import re

import runs
from real_book import ROOT

from tools import site


def test_readme_is_short_and_its_example_runs(tmp_path):
    text = (ROOT / "README.md").read_text("utf8")
    assert len(text.splitlines()) <= 100
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    done = runs.python(example, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "(1, 1e-05)-joint DP" in done.stdout
    ours, best, guessing = map(float, re.findall(r"-?\d\.\d\d\b", done.stdout))
    assert ours > guessing + (best - guessing) / 2


def test_the_lock_is_complete_and_names_no_address():
    lock = (ROOT / "requirements.txt").read_text("utf8").splitlines()
    assert lock[-1] == "-e ."
    pins = [line for line in lock if not line.startswith(("#", "-e"))]
    assert all(re.match(r"[A-Za-z0-9_.\[\]-]+==[^ ]+( ;.*)?$", line) for line in pins), (
        pins
    )
    assert not any("://" in line for line in lock)
    names = {re.split("==", line)[0].lower() for line in pins}
    for line in (ROOT / "requirements.in").read_text("utf8").splitlines():
        wanted = re.match(r"([A-Za-z0-9][A-Za-z0-9_-]*)", line)
        assert not wanted or wanted[1].lower() in names, line


def test_a_published_site_names_its_address_and_others_do_not():
    address = "https://books.example/private-bandits/"
    published = site.configuration(ROOT, "", address).decode()
    assert "sphinx_sitemap" in published
    assert "notfound_urls_prefix: /private-bandits/" in published
    here = site.configuration(ROOT, "Built at smoke scale", None).decode()
    assert "sphinx_sitemap" not in here
    assert "announcement: Built at smoke scale" in here
