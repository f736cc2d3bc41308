"""What can be run of the workflows without a forge."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
FLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = sorted((ROOT / ".ci").iterdir())


def steps(path):
    """All steps of a workflow."""
    jobs = yaml.safe_load(path.read_text("utf8"))["jobs"].values()
    return [step for job in jobs for step in job["steps"]]


def parsed(text):
    """What bash says against a script that it only reads."""
    return subprocess.run(["bash", "-n"], input=text, capture_output=True, text=True).stderr


@pytest.mark.parametrize("path", FLOWS, ids=lambda p: p.stem)
def test_every_step_names_a_script_that_is_there_and_an_action_with_its_version(path):
    for step in steps(path):
        if "uses" in step:
            assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), step
        else:
            command = re.sub(r"\$\{\{.*?\}\}", "value", step["run"])
            assert parsed(command) == ""
            assert "|" not in command, "a pipe hides what failed: write a script in .ci"
            for script in re.findall(r"\.ci/\w+", command):
                assert (ROOT / script).is_file(), script
            for module in re.findall(r"-m (tools\.\w+)", command):
                assert (ROOT / f"{module.replace('.', '/')}.py").is_file(), module


@pytest.mark.parametrize("path", FLOWS, ids=lambda p: p.stem)
def test_every_job_has_a_limit_unless_it_only_publishes(path):
    for name, job in yaml.safe_load(path.read_text("utf8"))["jobs"].items():
        assert name == "publish" or 0 < job["timeout-minutes"] <= 120, name


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_scripts_are_scripts_that_stop_at_a_failure(path):
    text = path.read_text("utf8")
    assert text.startswith("#!/usr/bin/env bash\n")
    assert "set -euo pipefail\n" in text
    assert parsed(text) == ""


def test_what_bash_cannot_read_is_told():
    assert parsed("if true; then echo") != ""


@pytest.fixture
def project(tmp_path):
    """A copy of the lock and the scripts, with a `make` that says something and then fails."""
    shutil.copytree(ROOT / ".ci", tmp_path / ".ci")
    shutil.copy(ROOT / "requirements.txt", tmp_path)
    make = tmp_path / "bin" / "make"
    make.parent.mkdir()
    make.write_text('#!/bin/sh\necho "$@"; echo two claims differ >&2; exit 3\n')
    make.chmod(0o755)

    def weekly(*args):
        env = os.environ | {"PATH": f"{make.parent}:{os.environ['PATH']}"}
        command = ["bash", tmp_path / ".ci" / "weekly", *args]
        return subprocess.run(command, env=env, capture_output=True, text=True).returncode

    return tmp_path, weekly


def test_the_weekly_book_fails_with_the_difference_in_a_file(project):
    root, weekly = project
    lock = (root / "requirements.txt").read_text()
    assert weekly("locked") == 3
    assert (root / "difference.txt").read_text() == "book\ntwo claims differ\n"
    assert (root / "requirements.txt").read_text() == lock


def test_the_newest_versions_are_bound_by_nothing_but_the_site_s(project):
    root, weekly = project
    assert weekly("newest") == 3
    lines = (root / "requirements.txt").read_text().splitlines()
    bound = [x for x in lines if re.search("[=<>]", x.split(";")[0]) and x[0] != "#"]
    assert bound == ["jupyter-book<2"]
    assert any(x.startswith("numpy") for x in lines)


def test_another_word_is_refused(project):
    assert project[1]("latest") == 2


def test_the_weekly_faults_fail_where_one_survives(project):
    root, weekly = project
    assert weekly("mutants") == 3
    assert not (root / "difference.txt").exists()
