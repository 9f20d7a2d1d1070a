"""What others use of this repository in theirs: the hook of pre-commit, the action of GitHub, the job of GitLab."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

CHECKOUT = Path(__file__).parents[2]
PLAN = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 16}\nfabrics: {compute: {switch: qm9700}}\n"


@pytest.mark.parametrize(
    ("schema", "file"), [("vendor.github-actions", "action.yml"), ("vendor.gitlab-ci", "ci/gitlab.yml")]
)
def test_files_keep_to_the_schemas_of_their_hosts(judge, run, schema, file):
    """The action and the job are right by the schemas that check-jsonschema carries."""
    judge("python:check_jsonschema")
    done = run(sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, file)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_manifest_is_one(judge, run):
    """Pre-commit accepts the manifest of the hooks."""
    judge("python:pre_commit")
    done = run(sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_hook_checks_plans_that_are_committed(judge, tmp_path):
    """In a repository of the user's the hook passes a right plan, refuses a wrong one, and leaves other files alone.

    It runs with the bomgen of these tests: to install one of its own takes the network.
    """
    judge("python:pre_commit")
    (hook,) = yaml.safe_load((CHECKOUT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    entry = hook["entry"].replace("bomgen", f"{sys.executable} -m bomgen", 1)
    config = {"repos": [{"repo": "local", "hooks": [{**hook, "language": "system", "entry": entry}]}]}
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    (tmp_path / "plans").mkdir()
    (tmp_path / "plans" / "a right one.yaml").write_text(PLAN, encoding="utf-8")
    (tmp_path / "other.yaml").write_text("a: 1\n", encoding="utf-8")
    paths = os.pathsep.join(filter(None, (str(CHECKOUT), os.environ.get("PYTHONPATH"))))
    environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache"), "PYTHONPATH": paths}

    def start(*command):
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    start("git", "init", "-q")
    start("git", "add", "-A")
    code, said = start(sys.executable, "-m", "pre_commit", "run")
    assert (code, "Passed" in said) == (0, True), said
    (tmp_path / "plans" / "wrong.yaml").write_text(PLAN.replace("qm9700", "qm9701"), encoding="utf-8")
    start("git", "add", "-A")
    code, said = start(sys.executable, "-m", "pre_commit", "run")
    assert code == 1
    assert "plans/wrong.yaml:4:29: error: no switch 'qm9701'" in said
    assert "other.yaml" not in said
