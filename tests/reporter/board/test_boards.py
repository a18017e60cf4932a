"""Leaderboards: facets of the sensor of an energy."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import reporter
from reporter.board.making import make_boards
from suite.compliance import submission_rule
from suite.compliance.rules.sensors import SENSORS_ELSEWHERE
from suite.files.signature import make_key, public_key
from suite.submission.declaration import SystemAvailability
from suite.submission.package import PackageRequest, package_runs
from tests.builders import RICH, make_bundle
from tests.faults.edits.audit_edits import add_audit
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.nonce_edits import set_nonce
from tests.faults.sensors import FAULTS


@pytest.mark.parametrize(
    ("sensor", "facet"),
    [
        (
            {"instruments": ["x"], "rules": ["y"], "covers": "module", "tier": "estimate"},
            "estimate, module",
        ),
        (None, "unknown sensor"),
    ],
)
def test_an_energy_has_its_sensor_as_a_facet(
    sensor: object, facet: str, runs: Path, tmp_path: Path, edit: Callable[..., None]
) -> None:
    bundle = shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "run")
    edit(
        bundle,
        "summary.json",
        lambda summary: summary["figures"]["energy_per_epoch_j"].update(sensor=sensor),
    )
    (board,) = make_boards(reporter.load([tmp_path]))
    assert ("energy", facet) in board.same


def test_an_energy_without_a_sensor_was_not_measured(runs: Path) -> None:
    (board,) = make_boards(reporter.load([runs / "lenet-fake-digits"]))
    assert ("energy", "not measured") in board.same


def badges(*paths: Path) -> tuple[str, ...]:
    """Of the only row."""
    (board,) = make_boards(reporter.load(paths))
    (row,) = (*board.accepted, *board.refused)
    return row.badges


def seeds(*paths: Path) -> str:
    """Of the only row, in words."""
    (board,) = make_boards(reporter.load(paths))
    return dict(board.same)["seeds"]


def test_a_row_says_where_the_seeds_came_from(runs: Path, tmp_path: Path) -> None:
    bundle = Path(shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "run"))
    assert seeds(bundle) == "chosen by the submitter"
    edited = EditableBundle(bundle)
    set_nonce(edited)
    edited.save()
    assert seeds(bundle) == "of the submitter's nonce"


def test_runs_with_seeds_of_several_kinds_are_said_to_have_them(runs: Path, tmp_path: Path) -> None:
    edited = EditableBundle(
        Path(shutil.copytree(runs / "lenet-pytorch-1", tmp_path / "runs" / "1"))
    )
    set_nonce(edited)
    edited.save()
    shutil.copytree(runs / "lenet-pytorch-2", tmp_path / "runs" / "2")
    assert seeds(tmp_path / "runs") == "of several kinds"


def test_a_badge_names_a_known_signer(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_key(tmp_path / "key", "acme")
    (tmp_path / "allowed").write_text(f"acme {public_key(tmp_path / 'key')}\n")
    offer = PackageRequest(
        "acme", None, SystemAvailability.RESEARCH, "", (), sign_with=tmp_path / "key"
    )
    submission = package_runs([runs / "lenet-pytorch-1"], offer, tmp_path / "submissions")
    assert badges(submission) == ()
    monkeypatch.setattr(submission_rule, "allowed_signers", lambda: tmp_path / "allowed")
    assert badges(submission) == ("signed by acme",)


def test_a_badge_says_that_a_board_s_sensors_were_not_read(tmp_path: Path) -> None:
    run = make_bundle(tmp_path / "run", RICH)
    assert badges(run) == ()
    (on_another_kernel,) = FAULTS[SENSORS_ELSEWHERE]
    on_another_kernel.change(run)
    assert badges(run) == ("the board's own sensors were not read",)


def test_an_unsigned_audit_is_no_badge(runs: Path, tmp_path: Path) -> None:
    """Anybody can write one, from the run's own losses."""
    offer = PackageRequest("acme", None, SystemAvailability.RESEARCH, "", ())
    submission = package_runs([runs / "lenet-pytorch-1"], offer, tmp_path / "submissions")
    add_audit({})(submission)
    assert badges(submission) == ()


@pytest.mark.parametrize(
    ("shares", "is_shown"),
    [((0.02,), False), ((0.4,), True), ((0.0, 0.08), True)],
    ids=["little", "much", "in one run, though little on average"],
)
def test_a_badge_says_that_other_programs_ran(
    shares: tuple[float, ...],
    is_shown: bool,
    runs: Path,
    tmp_path: Path,
    edit: Callable[..., None],
) -> None:
    for number, share in enumerate(shares, start=1):
        edit(
            Path(shutil.copytree(runs / f"lenet-pytorch-{number}", tmp_path / str(number))),
            "summary.json",
            lambda summary, share=share: summary["figures"]["foreign_cpu_share"].update(
                value=share, reason=None, count=20
            ),
        )
    assert ("other programs ran" in badges(tmp_path)) is is_shown


def test_a_badge_says_that_another_node_was_throttled(
    tmp_path: Path, edit: Callable[..., None]
) -> None:
    run = make_bundle(tmp_path / "run", replace(RICH, ranks=2, nodes=2))
    assert badges(run) == ()
    edit(
        run,
        "summary.json",
        lambda summary: summary["nodes"][1]["figures"]["throttled_events"].update(
            value=3, reason=None, count=3
        ),
    )
    assert badges(run) == ("throttled",)
