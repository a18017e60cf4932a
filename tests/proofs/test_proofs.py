"""Proofs: each is declared, covers what `make test` leaves out, keeps its last result as fields,
and is stale when its files have changed."""

import json
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from proofs import __main__ as runner
from proofs.evidence import OVERVIEW, STALE, pages
from proofs.figures import SKIPPED_BECAUSE
from proofs.parts import changed_folders, files_of_proof, folder_digests
from proofs.proof import (
    DECLARATION,
    Proof,
    ProofDeclaration,
    all_proofs,
    find_proof,
    load_proof,
    unmet_needs,
)
from proofs.result import RECORD, REPORT, ProofResult, Verdict, read_result, write_result
from proofs.simulate_pairs.__main__ import within_bounds
from suite.errors import SuiteError
from suite.files.paths import repository_root
from tests.conftest import interruptible

ROOT = repository_root()
PROOFS = all_proofs()
LEAVES_OUT = re.compile(r"pytest\.mark\.proof|one_of_each\(|\bsome\(|some_framework")
LOOKED_FOR = re.compile(r'which\("([\w-]+)"\)')


def test_every_proof_is_whole() -> None:
    for proof in PROOFS:
        declared = proof.declared
        assert (
            declared.shows.endswith(".") and declared.resume.endswith(".") and declared.minutes > 0
        ), proof.name
        assert all((ROOT / test).exists() for test in declared.tests), proof.name
        if declared.run:
            assert (
                declared.run[:2] == ("python", "-m")
                and (ROOT / declared.run[2].replace(".", "/") / "__main__.py").is_file()
            ), proof.name


def test_whatever_make_test_leaves_out_is_in_a_proof() -> None:
    proved = tuple(f"{ROOT / test}" for proof in PROOFS for test in proof.declared.tests)
    leaving = [
        path
        for path in (ROOT / "tests").rglob("test_*.py")
        if LEAVES_OUT.search(path.read_text(encoding="utf-8"))
    ]
    assert len(leaving) > 20
    assert [str(path) for path in leaving if not str(path).startswith(proved)] == []


def test_a_proof_installs_the_programs_that_its_tests_look_for() -> None:
    """pdffonts comes with pdftoppm."""
    for proof in PROOFS:
        folders = [ROOT / test for test in proof.declared.tests]
        paths = [path for each in folders for path in (each, *each.rglob("*.py")) if path.is_file()]
        looked_for = {
            name for path in paths for name in LOOKED_FOR.findall(path.read_text(encoding="utf-8"))
        }
        installed = {package.partition("=")[0] for package in proof.declared.packages}
        assert looked_for - {"pdffonts"} <= installed, proof.name


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("runs", "podman is not installed here; apt-get install podman runc."),
        ("runs", "memory_mb 4 cannot be set, not even by root: /sys/fs/cgroup is read-only."),
        ("calculations", "cpu_quota 0.5: the kernel offers no cgroup controller for this limit"),
        ("calculations", "a disk of its own cannot be made here: mount: permission denied."),
        ("calculations", "reading cannot be slowed down here: io.max: Permission denied"),
        ("frameworks", "needs the real MNIST files in /data/mnist (set SUITE_TEST_DATA)"),
        ("command-line", "this user may not make namespaces here"),
    ],
)
def test_what_many_machines_lack_keeps_no_proof_from_being_shown(name: str, reason: str) -> None:
    found = {"passed": 1, SKIPPED_BECAUSE: [reason]}
    assert runner._judged(find_proof(name), 0, found) == (Verdict.HOLDS, "")


def test_the_pages_of_evidence_are_up_to_date(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the word "stale": a change of the product makes results stale, and no page."""
    monkeypatch.setattr("proofs.evidence.changed_folders", lambda *_: ())
    folder, made = ROOT / "docs" / "evidence", pages(PROOFS)
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.md")}
    plain = [
        {name: text.replace(f", {STALE}", "") for name, text in of.items()}
        for of in (written, made)
    ]
    assert plain[0] == plain[1], "python -m proofs.evidence writes them"
    assert all(
        f"| {proof.name} |" in made[OVERVIEW] or f"| [{proof.name}]" in made[OVERVIEW]
        for proof in PROOFS
    )


def test_a_page_says_stale_as_the_list_does(scratch: Proof) -> None:
    result = ProofResult("2026-01-01", "1", "a board", 1.0, Verdict.HOLDS, {}, {"suite/gone": "1"})
    write_result(scratch, result, "")
    assert "| verdict | holds, stale |" in pages((scratch,))["small.md"]
    assert runner.state(scratch).verdict == "holds, stale"


def test_the_verdict_of_simulated_pairs_follows_from_its_figures() -> None:
    figures = json.loads((ROOT / "proofs" / "simulate_pairs" / RECORD).read_text())["figures"]
    assert within_bounds(*figures.values()) and not within_bounds(98.8, 1.2, 6.0)


@pytest.fixture(scope="module")
def files_of() -> dict[str, set[str]]:
    """The files that each proof depends on."""
    return {
        proof.name: {path.relative_to(ROOT).as_posix() for path in files_of_proof(proof, ROOT)}
        for proof in PROOFS
    }


def test_a_proof_depends_on_what_it_imports_and_on_what_that_discovers(
    files_of: dict[str, set[str]],
) -> None:
    assert {"proofs/energy_intervals/__main__.py", "suite/metrics/energy.py"} <= files_of[
        "energy-intervals"
    ]
    assert not [
        name
        for name in files_of["energy-intervals"]
        if name.startswith(("reporter/", "reference_impls/pytorch"))
    ]
    assert {
        "suite/compliance/rules/integrity.py",
        "rules/workloads/lenet.toml",
        "tests/faults/clocks.py",
        "tests/faults/edits/fault.py",
        "tests/extensions/concurrent/faults.py",
    } <= files_of["mutation"]
    assert "docs/tutorials/owner.md" in files_of["tutorials"]
    assert ".github/workflows/site.yml" in files_of["published-site"]
    assert {"README.md", "suite/cli/app.py"} <= files_of["command-line"]
    assert "tools/box.sh" in files_of["box"] and "suite/cli/run.py" in files_of["honest-starts"]
    faults = json.loads((ROOT / "proofs" / "injected_faults" / "faults.json").read_text())
    assert {fault["file"] for fault in faults} <= files_of["injected-faults"]


@pytest.fixture
def scratch(tmp_path: Path) -> Proof:
    """A proof in a checkout of its own that imports one module."""
    for name, text in {
        "proofs/small/__main__.py": "import suite.one\n",
        "suite/one.py": "",
        "suite/two.py": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return Proof(
        tmp_path / "proofs" / "small",
        ProofDeclaration("It works.", 1, "Starts anew.", run=("python", "-c", "print('shown')")),
    )


def test_it_is_stale_when_a_file_that_it_depends_on_has_changed(
    scratch: Proof, tmp_path: Path
) -> None:
    before = folder_digests(scratch, tmp_path)
    assert list(before) == ["proofs/small", "suite"]
    (tmp_path / "suite" / "two.py").write_text("nothing of it")
    assert changed_folders(before, scratch, tmp_path) == ()
    (tmp_path / "suite" / "one.py").write_text("changed = True\n")
    assert changed_folders(before, scratch, tmp_path) == ("suite",)


HANDS_OVER = "from proofs.figures import hand_over; hand_over(refused=3); print('shown')"


@pytest.fixture
def without_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scratch proof is on no page of the project."""
    monkeypatch.setattr("proofs.evidence.write_all", lambda: None)


@pytest.mark.usefixtures("without_pages", "starts_programs")
@pytest.mark.parametrize(
    ("ends", "verdict", "code"), [("", Verdict.HOLDS, 0), ("raise SystemExit(1)", Verdict.FAILS, 1)]
)
def test_a_result_is_kept_as_fields_with_what_was_printed(
    ends: str, verdict: Verdict, code: int, scratch: Proof
) -> None:
    proof = replace(
        scratch, declared=replace(scratch.declared, run=("python", "-c", f"{HANDS_OVER}\n{ends}"))
    )
    assert runner.run(proof, ()) == code
    result = read_result(proof)
    assert result is not None and (result.verdict, dict(result.figures)) == (
        verdict,
        {"refused": 3},
    )
    assert (proof.folder / REPORT).read_text() == "shown\n"


@pytest.mark.usefixtures("without_pages", "starts_programs")
@pytest.mark.parametrize(
    ("script", "arguments"),
    [("raise ValueError", ()), (HANDS_OVER, ("a part",)), ("raise SystemExit(2)", ())],
)
def test_neither_a_part_nor_a_crash_replaces_a_result(
    script: str, arguments: tuple[str, ...], scratch: Proof
) -> None:
    proof = replace(scratch, declared=replace(scratch.declared, run=("python", "-c", script)))
    runner.run(proof, arguments)
    assert not (proof.folder / RECORD).exists()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('shows = "."\nminutes = 1\nresume = "."\n', "give either"),
        (
            'shows = "."\nminutes = 1\nresume = "."\nrun = ["a"]\nneeds = ["luck"]\n',
            "the need 'luck' is unknown",
        ),
        ('shwos = "."\n', "did you mean 'shows'"),
    ],
)
def test_a_wrong_declaration_is_one_sentence(text: str, says: str, tmp_path: Path) -> None:
    (tmp_path / DECLARATION).write_text(text)
    with pytest.raises(SuiteError, match=says):
        load_proof(tmp_path)


INTERRUPTED = """
import os, subprocess, sys
from proofs import __main__ as runner
from tools.descendants import adopt_orphans
adopt_orphans()
nested = "import subprocess; p = subprocess.Popen(['sleep', '600'], start_new_session=True);"
try:
    nested += "print(p.pid, flush=True); p.wait()"
    runner._shown([sys.executable, "-c", nested], os.environ, [])
except KeyboardInterrupt:
    pass
"""


@pytest.mark.usefixtures("starts_programs")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_campaign_leaves_no_process_and_no_traceback(number: int) -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED],
        cwd=ROOT,
        stdout=pipe,
        stderr=pipe,
        preexec_fn=interruptible,
    )
    assert process.stdout is not None
    sleeper = int(process.stdout.readline())
    process.send_signal(number)
    assert process.communicate()[1] == b"" and not psutil.pid_exists(sleeper)


SKIPS = """
import pytest

def test_one():
    pytest.skip("needs luck")

def test_other():
    {other}
"""


@pytest.mark.usefixtures("without_pages", "starts_programs")
@pytest.mark.parametrize(
    ("other", "skips", "says"),
    [
        ("pass", (), "is not shown: tests were skipped: needs luck;"),
        ("pass", ("luck",), ": holds"),
        ("pytest.skip('needs luck')", ("luck",), "is not shown: no test passed"),
    ],
)
def test_skipped_tests_show_nothing_unless_the_proof_declares_them(
    other: str,
    skips: tuple[str, ...],
    says: str,
    scratch: Proof,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(runner, "folder_digests", lambda proof: {})
    test = tmp_path / "test_luck.py"
    test.write_text(SKIPS.format(other=other))
    declared = replace(scratch.declared, run=(), tests=(str(test),), skips=skips)
    runner.run(replace(scratch, declared=declared), ())
    assert says in capsys.readouterr().err
    assert (scratch.folder / RECORD).exists() == ("holds" in says)


def test_what_a_proof_needs_is_looked_for_before_it_runs(
    scratch: Proof, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SUITE_HOME", str(scratch.folder))
    needing = replace(scratch.declared, needs=("network", "frameworks", "mnist"))
    assert runner.run(replace(scratch, declared=needing), ()) == 2
    assert "suite env create NAME" in (said := capsys.readouterr().err)
    assert "suite data prepare mnist --download`" in said and "network" not in said


def test_a_broken_off_try_is_continued_with_its_time_unless_files_changed(
    scratch: Proof, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "repository_root", lambda: tmp_path)
    monkeypatch.setattr("proofs.proof.repository_root", lambda: tmp_path)
    proof = replace(scratch, declared=replace(scratch.declared, keeps="kept"))
    (tmp_path / "kept").mkdir()
    with runner._continued(proof, {"suite": "1"}, is_whole=True) as earlier_s:
        assert earlier_s == 0.0 and not (tmp_path / "kept").exists()  # nobody knows of what files
        (tmp_path / "kept").mkdir()
        time.sleep(0.01)
    with runner._continued(proof, {"suite": "1"}, is_whole=True) as earlier_s:
        assert earlier_s >= 0.01 and (tmp_path / "kept").exists()
    with runner._continued(proof, {"suite": "2"}, is_whole=True) as earlier_s:
        assert earlier_s == 0.0 and not (tmp_path / "kept").exists()


def test_a_report_keeps_its_end() -> None:
    text = runner._shortened("a" * runner.MAX_REPORT_CHARACTERS + "the end")
    assert text.endswith("the end") and "7 characters are left out" in text


def test_what_a_machine_lacks_must_be_granted() -> None:
    quiet = next(proof for proof in PROOFS if "quiet" in proof.declared.needs)
    assert "quiet" in unmet_needs(quiet) and "quiet" not in unmet_needs(quiet, frozenset({"quiet"}))


def test_an_unknown_name_lists_the_proofs(capsys: pytest.CaptureFixture[str]) -> None:
    assert runner.main(["otusider"]) == 2
    assert "There is no proof 'otusider'; did you mean 'outsider'?" in capsys.readouterr().err
    assert sys.modules["proofs.__main__"] is runner
