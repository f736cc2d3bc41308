"""What the workflows run is there, and stops at a failure."""

import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
FLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
SCRIPTS = sorted((ROOT / ".ci").iterdir())


@pytest.mark.parametrize("path", FLOWS, ids=lambda p: p.stem)
def test_every_step_names_what_is_there(path):
    for job in yaml.safe_load(path.read_text("utf8"))["jobs"].values():
        for run in (step["run"] for step in job["steps"] if "run" in step):
            assert all((ROOT / script).is_file() for script in re.findall(r"\.ci/\w+", run))
            modules = re.findall(r"-m (tools\.\w+)", run)
            assert all((ROOT / f"{m.replace('.', '/')}.py").is_file() for m in modules)


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.name)
def test_scripts_stop_at_a_failure(path):
    text = path.read_text("utf8")
    assert "set -euo pipefail\n" in text
    assert subprocess.run(["bash", "-n"], input=text, text=True, capture_output=True).stderr == ""
