"""The workflows for a code host: what they may do, and their ``run:`` steps executed in a clone,
with submissions that comply and that do not.

The actions themselves (checkout, uploads, publishing) and a release's build run on the host only.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from suite import __version__
from suite.catalog.rounds import current_round
from suite.files.paths import repository_root
from suite.submission.declaration import SystemAvailability
from suite.submission.folder_names import find_submissions
from suite.submission.package import PackageRequest, package_runs
from tests.suite.submission.conftest import make_probe, make_runs
from tests.suite.submission.test_objections import GOOD

ROOT = repository_root()
FILES = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
TEXTS = {path.stem: path.read_text(encoding="utf-8") for path in FILES}
WORKFLOWS: dict[str, Any] = {name: yaml.safe_load(text) for name, text in TEXTS.items()}
PODMAN = ROOT / "tools" / "podman.sh"
TRIGGERS = True
"""YAML 1.1 reads the key ``on`` as true."""
PINNED = re.compile(r"^\s*(?:- )?uses: (?:[\w-]+/)+[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")
EXPRESSION = re.compile(r"\$\{\{ (.+?) \}\}")


def steps(workflow: str) -> list[Mapping[str, Any]]:
    return [step for job in WORKFLOWS[workflow]["jobs"].values() for step in job["steps"]]


def runs(job: Mapping[str, Any]) -> list[str]:
    return [step["run"] for step in job["steps"] if "run" in step]


def test_what_has_a_secret_is_started_by_hand_and_may_only_read() -> None:
    assert set(WORKFLOWS) == {"site", "submission", "review", "test", "release"}
    assert set(WORKFLOWS["review"][TRIGGERS]) == {"workflow_dispatch"}
    (job,) = WORKFLOWS["review"]["jobs"].values()
    assert job["permissions"] == {"contents": "read"} and job["environment"] == "review"
    assert EXPRESSION.findall(TEXTS["review"]).count("secrets.REVIEW_KEY") == 1


def test_a_review_is_made_by_the_command_that_the_workflow_starts(tmp_path: Path) -> None:
    (step,) = [step for step in steps("review") if "suite review" in step.get("run", "")]
    (tmp_path / "suite").write_text('#!/bin/sh\necho "$KEY" "$@" > "$RUNNER_TEMP/told"\nexit 2\n')
    (tmp_path / "suite").chmod(0o755)
    expressions = {"secrets.REVIEW_KEY": "a key", "inputs.submission": "submissions/v0.3/acme"}
    runner = Runner(tmp_path, tmp_path, tmp_path, expressions)
    (tmp_path / "candidate").mkdir()
    assert runner.run(step).returncode == 0
    told = (tmp_path / "told").read_text().split()
    assert told[:4] == ["review", "submissions/v0.3/acme", "--org", "project"]
    assert not (tmp_path / "key").exists()
    assert steps("review")[-1]["if"] == "always()"


@pytest.mark.parametrize(("tag", "is_refused"), [(f"v{__version__}", False), ("v9.9", True)])
def test_a_release_is_of_the_version_that_its_tag_names(
    tag: str, is_refused: bool, tmp_path: Path
) -> None:
    (step,) = [step for step in steps("release") if "env" in step]
    runner = Runner(ROOT, tmp_path, Path(sys.executable).parent, {"github.ref_name": tag})
    assert (runner.run(step).returncode != 0) is is_refused


@pytest.mark.parametrize("name", ["test", "release"])
def test_both_architectures_are_built_and_tested_by_the_projects_own_targets(name: str) -> None:
    job = next(iter(WORKFLOWS[name]["jobs"].values()))
    assert job["strategy"]["matrix"]["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    made = re.findall(r"^(?:sudo )?make (\w+)", "\n".join(runs(job)), re.MULTILINE)
    assert made and set(made) <= set(targets)


def test_a_release_is_built_by_root_who_installs_what_containers_need() -> None:
    (build,) = [run for run in runs(WORKFLOWS["release"]["jobs"]["build"]) if "make dist" in run]
    assert build.startswith("sudo ") and "debian-archive-keyring" in PODMAN.read_text()


@pytest.mark.parametrize("name", WORKFLOWS)
def test_permissions_are_none_but_for_what_a_job_names(name: str) -> None:
    assert WORKFLOWS[name]["permissions"] == {}
    assert all(
        "permissions" in job and "timeout-minutes" in job
        for job in WORKFLOWS[name]["jobs"].values()
    )
    assert not [
        expression
        for expression in EXPRESSION.findall(TEXTS[name])
        if ("secrets" in expression and name != "review") or "token" in expression
    ]
    assert not {"pull_request_target", "workflow_run"} & set(WORKFLOWS[name][TRIGGERS])


def test_what_reads_a_pull_request_may_only_read_and_what_may_write_runs_no_command() -> None:
    jobs = WORKFLOWS["submission"]["jobs"]
    assert set(WORKFLOWS["submission"][TRIGGERS]) == {"pull_request"}
    assert jobs["check"]["permissions"] == {"contents": "read"}
    assert "head.repo.full_name == github.repository" in jobs["show"]["if"]
    writing = [
        job
        for workflow in WORKFLOWS.values()
        for job in workflow["jobs"].values()
        if "write" in job["permissions"].values()
    ]
    assert len(writing) == 3
    assert not [
        step
        for job in writing
        for step in job["steps"]
        if "run" in step or "checkout" in step["uses"]
    ]


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_by_digest_and_checkouts_keep_no_token(name: str) -> None:
    lines = [line for line in TEXTS[name].splitlines() if "uses:" in line]
    assert lines and [line for line in lines if not PINNED.match(line)] == []
    checkouts = [step for step in steps(name) if "checkout" in step.get("uses", "")]
    assert checkouts and all(step["with"]["persist-credentials"] is False for step in checkouts)


@pytest.mark.parametrize("name", WORKFLOWS)
def test_no_expression_is_written_into_a_script(name: str) -> None:
    """A title or a branch's name would be executed."""
    assert not [step["run"] for step in steps(name) if "${{" in step.get("run", "")]


def copy_of_the_checkout(folder: Path) -> Path:
    """A repository with the tracked and new files of the checkout, in one commit."""
    listed = subprocess.run(
        ["git", "ls-files", "-coz", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True
    )
    if listed.returncode != 0:
        pytest.skip("needs the repository's list of files, which an unpacked archive lacks")
    for name in filter(None, listed.stdout.split("\0")):
        if os.path.lexists(ROOT / name):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name, follow_symlinks=False)
    git(folder, "init", "--quiet")
    commit(folder)
    return folder


def git(folder: Path, *words: str) -> None:
    subprocess.run(
        [
            "git",
            "-C",
            folder,
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "commit.gpgsign=false",
            *words,
        ],
        check=True,
        timeout=120,
    )


def commit(folder: Path) -> None:
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--message", "a change")


@dataclass
class Runner:
    """Executes the steps of a job as the host's runner does: bash -e, outputs, a summary, and texts
    for the expressions that steps may use."""

    workspace: Path
    temp: Path
    programs: Path
    expressions: dict[str, str]

    def run(self, step: Mapping[str, Any]) -> "subprocess.CompletedProcess[str]":
        given = {
            name: EXPRESSION.sub(lambda found: self.expressions[found[1]], str(value))
            for name, value in step.get("env", {}).items()
        }
        variables = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("PYTHON", "PYTEST_", "GIT_"))
        }
        variables |= {
            "GITHUB_OUTPUT": str(self.temp / "output"),
            "GITHUB_STEP_SUMMARY": str(self.temp / "summary.md"),
            "RUNNER_TEMP": str(self.temp),
            "PATH": f"{self.programs}:{os.environ['PATH']}",
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "0",
        }
        place = self.workspace / step.get("working-directory", ".")
        answer = subprocess.run(
            ["bash", "-e", "-c", step["run"]],
            cwd=place,
            env={**variables, **given},
            capture_output=True,
            text=True,
            timeout=600,
        )
        if "id" in step and (self.temp / "output").is_file():
            for line in (self.temp / "output").read_text().splitlines():
                key, _, value = line.partition("=")
                self.expressions[f"steps.{step['id']}.outputs.{key}"] = value
        return answer

    @property
    def summary(self) -> str:
        return (self.temp / "summary.md").read_text(encoding="utf-8")


CHECK = WORKFLOWS["submission"]["jobs"]["check"]["steps"]
INSTALL = [step for step in CHECK if "pip install" in step.get("run", "")]


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_the_checkout(tmp_path_factory.mktemp("workspace") / "base")


@pytest.fixture(scope="module")
def programs(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment in which the workflow's own step installed the checker; the
    dependencies are those of the tests."""
    folder = tmp_path_factory.mktemp("runner") / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    found = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    (packages / "dependencies.pth").write_text(
        "".join(f"{path}\n" for path in found), encoding="utf-8"
    )
    runner = Runner(base.parent, folder, folder / "bin", {})
    for step in INSTALL:
        answer = runner.run(step)
        assert answer.returncode == 0, answer.stdout + answer.stderr
    assert (folder / "bin" / "suite").is_file()
    return folder / "bin"


@pytest.fixture
def runner(base: Path, programs: Path, tmp_path: Path) -> Runner:
    """A workspace with the base, and as candidate a clone of it with one more commit: a submission
    that complies."""
    (tmp_path / "temp").mkdir()
    (tmp_path / "workspace").mkdir()
    (tmp_path / "workspace" / "base").symlink_to(base)
    git(tmp_path, "clone", "--quiet", str(base), str(tmp_path / "workspace" / "candidate"))
    offer = PackageRequest(
        "acme", None, SystemAvailability.RESEARCH, "a fan", (make_probe(tmp_path / "probe.json"),)
    )
    package_runs(make_runs(tmp_path / "runs"), offer, tmp_path / "workspace/candidate/submissions")
    return Runner(tmp_path / "workspace", tmp_path / "temp", programs, {})


def acme(runner: Runner) -> Path:
    return runner.workspace / "candidate/submissions" / current_round().name / "acme"


def judge(runner: Runner) -> tuple[int, dict[str, Any]]:
    """Commit the candidate and execute the steps after the installation; the exit code of the last
    one, and the findings in SARIF."""
    commit(runner.workspace / "candidate")
    *first, last = [step for step in CHECK if "run" in step and step not in INSTALL]
    for step in first:
        answer = runner.run(step)
        assert answer.returncode == 0, f"{step['name']}: {answer.stdout}{answer.stderr}"
    (findings,) = json.loads((runner.temp / "findings.sarif").read_text(encoding="utf-8"))["runs"]
    return runner.run(last).returncode, findings


def errors(findings: Mapping[str, Any]) -> set[tuple[str, str]]:
    """Rule and file of the findings that make a submission invalid."""
    return {
        (each["ruleId"], each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"])
        for each in findings["results"]
        if each["level"] == "error"
    }


@pytest.mark.proof
def test_a_submission_that_complies_passes(runner: Runner) -> None:
    code, findings = judge(runner)
    assert (code, errors(findings)) == (0, set())
    name = current_round().name
    assert "## Files outside of submissions: 0\n" in runner.summary
    assert (
        f"/acme: complies with round {name}, which takes more submissions; 3 runs\n"
        in runner.summary
    )
    count = 1 + len(find_submissions(ROOT / "submissions"))
    assert f"    submissions: {count}; comply: {count}; " in runner.summary
    assert "to review  no-audit" in runner.summary


@pytest.mark.proof
def test_a_broken_submission_fails_with_its_findings_at_their_files(runner: Runner) -> None:
    (acme(runner) / "notes.txt").write_text("by the way")
    with (acme(runner) / "lenet/pytorch/run_2/log.txt").open("a") as log:
        log.write("\n")
    code, findings = judge(runner)
    place = f"submissions/{current_round().name}/acme"
    assert code == 1
    assert ("submission-layout", f"{place}/notes.txt") in errors(findings)
    assert any(uri.startswith(f"{place}/lenet/pytorch/run_2/") for _, uri in errors(findings))
    assert (
        "does not comply" in runner.summary and "violates   submission-layout (1)" in runner.summary
    )


@pytest.mark.proof
def test_a_submission_that_cannot_be_judged_ends_with_two(runner: Runner) -> None:
    (acme(runner) / "declaration.json").write_text("{")
    code, findings = judge(runner)
    assert (code, findings["invocations"][0]["executionSuccessful"]) == (2, False)
    assert "error: Could not judge: " in runner.summary


@pytest.mark.proof
def test_the_candidates_own_rules_and_programs_judge_nothing(runner: Runner) -> None:
    candidate = runner.workspace / "candidate"
    (acme(runner) / "notes.txt").write_text("by the way")
    (candidate / "suite/compliance/checker.py").write_text("raise SystemExit(0)\n")
    (candidate / f"rules/rounds/{current_round().name}.toml").unlink()
    for name in ("sitecustomize.py", "submissions/json.py", "json.py", "submissions/typer.py"):
        (candidate / name).write_text("raise SystemExit(0)\n")
    started = runner.temp / "started"
    (candidate / "secrets.py").write_text(f"open({str(started)!r}, 'w')\n")
    code, findings = judge(runner)
    assert not started.exists()
    assert code == 1 and "submission-layout" in {rule for rule, _ in errors(findings)}
    assert "## Files outside of submissions: 5\n" in runner.summary
    assert "    suite/compliance/checker.py\n" in runner.summary


@pytest.mark.proof
def test_objections_are_in_the_summary_and_texts_of_strangers_give_the_runner_no_commands(
    runner: Runner,
) -> None:
    folder = acme(runner).parent / "OBJECTIONS/acme"
    folder.mkdir(parents=True)
    (folder / "1.toml").write_text(GOOD)
    (folder / "```\n::error::x.toml").write_text("::set-output name=code::0")
    (runner.workspace / "candidate/```<b>\n## x").write_text("x")
    commit(runner.workspace / "candidate")
    (acme(runner) / "```\n::error title=x::y").write_text("x")
    code, _ = judge(runner)
    assert code == 1
    assert "objection  1.toml, open: time_to_target_s of lenet/pytorch/run_1" in runner.summary
    lines = runner.summary.splitlines()
    assert [
        line
        for line in lines
        if line and not line.startswith(("    ", "## Files outside", "## Submissions"))
    ] == []


@pytest.mark.proof
@pytest.mark.usefixtures("starts_programs")
def test_commands_of_the_runner_are_off_while_the_checker_prints(runner: Runner) -> None:
    commit(runner.workspace / "candidate")
    (step,) = [step for step in CHECK if step.get("id") == "check"]
    first, *_, last = runner.run(step).stdout.splitlines()
    assert (
        first.startswith("::stop-commands::")
        and last == f"::{first.removeprefix('::stop-commands::')}::"
    )


@pytest.mark.proof
def test_the_site_is_built(tmp_path: Path) -> None:
    """Needs the network: the step makes the environment of the documentation."""
    copy = copy_of_the_checkout(tmp_path / "copy")
    names = {"github.repository_owner": "example", "github.event.repository.name": "edge"}
    runner = Runner(copy, tmp_path, Path(sys.executable).parent, names)
    for step in (step for step in WORKFLOWS["site"]["jobs"]["build"]["steps"] if "run" in step):
        variables = {"PIP_NO_INDEX": "", "PIP_NO_BUILD_ISOLATION": "", **step.get("env", {})}
        answer = runner.run(
            {
                **step,
                "run": f"unset PIP_NO_INDEX PIP_NO_BUILD_ISOLATION\n{step['run']}",
                "env": variables,
            }
        )
        assert answer.returncode == 0, f"{step['name']}: {answer.stdout}{answer.stderr}"
    for page in (
        "index.html",
        "docs/index.html",
        "docs/reference/commands.html",
        "docs/rules/RULES.html",
    ):
        assert (copy / "build/pages" / page).is_file()
    assert "https://example.github.io/edge" in (copy / "build/pages/index.html").read_text(
        encoding="utf-8"
    )
