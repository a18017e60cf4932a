"""`suite reproduce` end to end with the test framework: fresh runs, the record, what is refused,
and the page."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from reporter.data import replications
from reporter.data.shown_replications import provenance_of, replication_badges
from suite import api
from suite.bundle.layout import RUN
from suite.bundle.replication_folder import RECORD
from suite.experiments.replication import reproducing
from suite.experiments.replication.originals import find_originals
from suite.experiments.replication.reproducing import (
    PlannedReplication,
    ReproductionOptions,
    plan_reproduction,
    reproduce,
)
from suite.files.signature import public_key
from suite.metrics.replication import REPLICATION
from suite.metrics.replication_record import ReplayedOriginal, measure_run
from suite.submission.evidence import sign_evidence
from tests.builders import make_bundle
from tests.conftest import Run
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.keys import signing_key

OPTIONS = "--division open --device auto --workload lenet --framework fake --data digits --org acme"


@pytest.fixture(scope="module")
def original(suite: Run, digits: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sealed run of the test framework on digits, of twelve steps."""
    path = tmp_path_factory.mktemp("original") / "run"
    suite.done(f"run {OPTIONS} --steps 12 --output {path}")
    return path


@pytest.fixture(scope="module")
def replication(suite: Run, original: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A replication of it by another organization. Twelve steps are no epoch, so that times are
    undecided."""
    folder = tmp_path_factory.mktemp("replications") / "lab"
    answer = suite.refused(f"reproduce {original} --org lab --output {folder}")
    assert (
        "losses: confirmed; the first 10 losses equal the original's in 3 of 3 fresh runs"
        in answer.stdout
    )
    assert "times: undecided; a run has no finished epoch with a known time" in answer.stdout
    return folder


def test_the_record_is_sealed_and_complies(suite: Run, replication: Path) -> None:
    record = json.loads((replication / RECORD).read_text())
    assert (record["schema"], record["organization"], len(record["runs"])) == (1, "lab", 3)
    assert [run["seed"] for run in record["runs"]] == [1, 1, 1]
    assert all(
        run["foreign_cpu_share"] is None or run["foreign_cpu_share"] >= 0 for run in record["runs"]
    )
    suite.done(f"check {replication}")


def test_the_same_command_keeps_finished_runs(
    suite: Run, original: Path, replication: Path
) -> None:
    before = {path: (path / RUN).read_bytes() for path in replication.glob("run_*")}
    answer = suite.typed(f"reproduce {original} --org lab --output {replication} --json")
    assert answer.stderr.count("finished before, kept") == 3
    printed = json.loads(answer.stdout)
    assert (printed["format"], printed["comparisons"]["losses"]["verdict"]) == (
        "reproduce/2",
        "confirmed",
    )
    assert {path: (path / RUN).read_bytes() for path in replication.glob("run_*")} == before


@pytest.mark.proof
def test_invented_losses_are_refuted_by_the_fresh_runs_and_a_replay(
    suite: Run, original: Path, tmp_path: Path
) -> None:
    forged = EditableBundle(Path(shutil.copytree(original, tmp_path / "forged")))
    forged.steps.loc[forged.steps.index[2:], "loss"] *= 1.02
    forged.save()
    answer = suite.refused(f"reproduce {forged.path} --output {tmp_path}/lab", code=1)
    assert "losses: refuted" in answer.stdout and "a replay contradicts the losses" in answer.stdout


def test_a_bundle_that_was_changed_is_refused(suite: Run, original: Path, tmp_path: Path) -> None:
    run = Path(shutil.copytree(original, tmp_path / "run"))
    (run / RUN).write_text((run / RUN).read_text() + " ")
    answer = suite.refused(f"reproduce {run}")
    assert "does not match MANIFEST.sha256" in answer.stderr


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("--runs 2", "--runs must be from 3 to 100, not 2."),
        ("--org 'Lab & Co'", "--org 'Lab & Co' must be at most 60 lower-case letters"),
        ("--implementation .", "which is in the checkout; leave --implementation out"),
        ("--org lab --sign /none", "There is no SSH key /none"),
        ("--sign /none", "--sign signs for an organization; name yours with --org"),
        ("--data /none", "neither a data set of the workload"),
    ],
    ids=str,
)
def test_what_cannot_be_made_again_is_refused_in_a_sentence(
    suite: Run, original: Path, options: str, sentence: str
) -> None:
    answer = suite.refused(f"reproduce {original} {options}")
    assert sentence in answer.stderr


def no_steps(bundle: EditableBundle) -> None:
    bundle.steps = bundle.steps[:0]


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (
            lambda bundle: bundle.run.update(resumed={"epoch": 2}),
            "is a resumed run, whose first steps",
        ),
        (no_steps, "has no step records; there is nothing to compare."),
    ],
    ids=["resumed", "no steps"],
)
def test_a_run_that_cannot_be_compared_is_refused_before_its_hours(
    edit: Callable[[EditableBundle], None],
    sentence: str,
    suite: Run,
    original: Path,
    tmp_path: Path,
) -> None:
    bundle = EditableBundle(Path(shutil.copytree(original, tmp_path / "run")))
    edit(bundle)
    bundle.save()
    answer = suite.refused(f"reproduce {bundle.path} --output {tmp_path}/lab")
    assert sentence in answer.stderr and not (tmp_path / "lab").exists()


def test_a_replay_that_cannot_be_made_leaves_the_losses_undecided(
    good_bundle: Path, tmp_path: Path
) -> None:
    accumulating = EditableBundle(Path(shutil.copytree(good_bundle, tmp_path / "run")))
    accumulating.request["accumulation"] = 2
    accumulating.save()
    (original,), told = find_originals(accumulating.path), list[str]()
    planned = PlannedReplication(tmp_path, (original,), (), "lab", None)
    run = measure_run(original.bundle)
    replays = reproducing._replays(planned, [run], told.append)
    assert replays == (ReplayedOriginal(run.run_id, "cannot tell"),)
    assert "after every 2 mini-batches" in told[-1]


def test_runs_of_several_entries_are_refused(suite: Run, original: Path, tmp_path: Path) -> None:
    shutil.copytree(original, tmp_path / "runs" / "one")
    other = EditableBundle(Path(shutil.copytree(original, tmp_path / "runs" / "two")))
    other.request["global_batch_size"] = 15
    other.save()
    answer = suite.refused(f"reproduce {tmp_path}/runs")
    assert "it differs in global_batch_size; give one run, or a folder into which" in answer.stderr


def test_an_entry_shows_its_signed_replication(
    original: Path, replication: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ((unsigned,),) = api.load([original, replication]).replications.values()
    assert not unsigned.is_signed and replication_badges((unsigned,), False) == ()
    sign_evidence(replication / RECORD, signing_key())
    (tmp_path / "allowed").write_text(f"lab {public_key(signing_key())}\n")
    monkeypatch.setattr(replications, "allowed_signers", lambda: tmp_path / "allowed")
    frames = api.load([original, replication])
    ((found,),) = frames.replications.values()
    confirmed = replace(found, verdict="confirmed")
    assert provenance_of((confirmed,), ["x"], False) == "reproduced by lab"
    assert provenance_of((found,), [], True) == "self-reported"
    assert provenance_of((), ["project", "x"], True) == "audited by the project and x"
    assert (found.organization, found.is_by_others, found.losses, found.times) == (
        "lab",
        True,
        "confirmed",
        "undecided",
    )
    site = api.report([original, replication], tmp_path / "site").parent
    (page,) = [
        path for path in (site / "entries").glob("*.html") if "1 replication" in path.read_text()
    ]
    assert "functional" in page.read_text() and "reproduced" not in page.read_text()
    (record,) = (site / "replications").glob("*.json")
    assert (
        record.read_bytes() == (replication / RECORD).read_bytes()
        and f"replications/{record.name}" in page.read_text()
    )
    assert any("functional" in board.read_text() for board in (site / "boards").glob("*.html"))


def test_a_replication_whose_original_is_not_there_is_told(
    replication: Path, tmp_path: Path
) -> None:
    other = make_bundle(tmp_path / "other")
    frames = api.load([other, replication])
    assert frames.replications == {}
    assert any("is not among the accepted runs" in reason for reason in frames.broken["reason"])


def test_a_record_that_says_something_else_of_its_original_is_told(
    replication: Path, original: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(replication, tmp_path / "replication"))
    record = json.loads((folder / RECORD).read_text())
    record["originals"][0]["started_time_ms"] -= 1
    (folder / RECORD).write_text(json.dumps(record))
    REPLICATION.seal(folder)
    frames = api.load([original, folder])
    assert frames.replications == {}
    assert any(
        "disagrees with the bundle of the replicated run" in reason
        for reason in frames.broken["reason"]
    )


@pytest.mark.parametrize(
    ("organization", "originals", "sentences"),
    [
        ("lab", 3, []),
        ("acme", 3, ["'acme' made the original runs, too: a replication counts only if another"]),
        ("lab", 5, ["3 fresh runs repeat only some of the 5 originals: the mark"]),
    ],
)
def test_a_replication_that_earns_no_mark_is_told_before_its_hours(
    organization: str,
    originals: int,
    sentences: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(reproducing, "find_environment", lambda _: 1 / 0)
    monkeypatch.setattr(reproducing, "broken_rules", lambda _: ())
    of_acme = SimpleNamespace(request=SimpleNamespace(organization="acme"))
    told: list[str] = []
    planned = PlannedReplication(
        tmp_path,
        (of_acme,) * originals,  # type: ignore[arg-type]
        (SimpleNamespace(framework=None),) * 3,  # type: ignore[arg-type]
        organization,
        None,
    )
    with pytest.raises(ZeroDivisionError):
        reproducing.reproduce(planned, report=told.append)
    assert len(told) == len(sentences)
    assert all(map(str.startswith, told, sentences))


def test_settings_that_the_current_round_refuses_are_told_before_the_hours(
    original: Path, digits: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """As those of closed rounds whose ranges are others now: who reproduces may change none."""
    monkeypatch.setattr(reproducing, "find_environment", lambda _: 1 / 0)
    closed = EditableBundle(Path(shutil.copytree(original, tmp_path / "run")))
    closed.request["division"] = "closed"
    closed.save()
    options = ReproductionOptions(organization="lab", data=digits)
    told: list[str] = []
    with pytest.raises(ZeroDivisionError):
        reproduce(plan_reproduction(closed.path, options, tmp_path / "lab"), report=told.append)
    (sentence,) = told
    assert sentence.startswith("The current round refuses these settings (closed-")
