"""Fresh runs judge originals: losses, accuracy, times; each confirmed, refuted or undecided."""

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from proofs.simulate_replications.__main__ import divided, shares, simulate
from suite.bundle.layout import MANIFEST
from suite.bundle.reader import Bundle
from suite.bundle.replication_folder import RECORD, run_folder
from suite.catalog.reproduction import load_reproduction
from suite.errors import SuiteError
from suite.files.digest import sha256
from suite.metrics.replication import REPLICATION, advised_runs, compare_runs, time_ratio
from suite.metrics.replication_record import (
    MeasuredRun,
    ReplayedOriginal,
    ReplicationVerdict,
    common_settings,
    measure_run,
    read_replication,
)
from tests.builders import ORIGINAL, make_bundle, make_replication
from tests.faults.edits.editable_bundle import EditableBundle

CONFIRMED, REFUTED, UNDECIDED = (
    ReplicationVerdict.CONFIRMED,
    ReplicationVerdict.REFUTED,
    ReplicationVerdict.UNDECIDED,
)
DRAWS = 2000


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> MeasuredRun:
    """A measured run on a board of a name and a digest."""
    run = measure_run(Bundle(make_bundle(tmp_path_factory.mktemp("runs") / "run", ORIGINAL)))
    return replace(
        run,
        machine=replace(
            run.machine, board="Raspberry Pi 4 Model B Rev 1.4", board_digest="0123456789abcdef"
        ),
        time_to_epoch_s=10.0,
        foreign_cpu_share=0.01,
    )


def fresh_of(original: MeasuredRun, *times_s: float, **changes: object) -> tuple[MeasuredRun, ...]:
    """Fresh runs with these times, equal to the original in all else but ``changes``."""
    named = [
        replace(
            original, run_id=f"fresh-{place}", manifest_sha256=f"{place}", time_to_epoch_s=time_s
        )
        for place, time_s in enumerate(times_s)
    ]
    return tuple(replace(run, **changes) for run in named)  # type: ignore[arg-type]


def test_the_same_run_on_the_same_board_is_confirmed(original: MeasuredRun) -> None:
    found = compare_runs([original], fresh_of(original, 10.02, 9.99, 10.01), ())
    assert (found.losses.verdict, found.accuracies.verdict, found.times.verdict, found.verdict) == (
        CONFIRMED,
    ) * 4
    assert (found.losses.equal_runs, found.times.same_board, found.times.false_alarm) == (
        3,
        True,
        0.025,
    )
    assert (
        found.times.low is not None
        and found.times.high is not None
        and found.times.low < 1 < found.times.high
    )


@pytest.mark.parametrize(
    ("times_s", "verdict", "reason"),
    [
        ((20.02, 19.9, 20.1), REFUTED, ""),
        ((5.02, 4.99, 5.01), UNDECIDED, "slower than the fresh runs"),
        ((9.7, 10.0, 10.3), UNDECIDED, "fresh runs would decide it"),
    ],
    ids=["halved", "slower", "a wide interval"],
)
def test_other_times(
    times_s: tuple[float, ...], verdict: ReplicationVerdict, reason: str, original: MeasuredRun
) -> None:
    found = compare_runs([original], fresh_of(original, *times_s), ())
    assert (found.times.verdict, found.verdict, found.losses.verdict) == (
        verdict,
        verdict,
        CONFIRMED,
    )
    assert reason in str(found.times.reason)


@pytest.mark.parametrize(
    "changes",
    [
        {"cpu_model": "another"},
        {"power_mode": "15W"},
        {"storage_medium": "a card of another kind"},
        {"memory_size_bytes": 10**9},
        {"gpus": ("another",)},
    ],
    ids=str,
)
def test_times_of_another_kind_of_machine_are_undecided_and_losses_are_not(
    original: MeasuredRun, changes: dict[str, object]
) -> None:
    elsewhere = replace(original.machine, board_digest="another", **changes)  # type: ignore[arg-type]
    found = compare_runs([original], fresh_of(original, 20.0, 20.1, 20.2, machine=elsewhere), ())
    assert (found.losses.verdict, found.accuracies.verdict, found.times.verdict) == (
        CONFIRMED,
        CONFIRMED,
        UNDECIDED,
    )
    assert "of different kinds" in str(found.times.reason) and next(iter(changes)) in str(
        found.times.reason
    )


def test_another_board_of_the_same_kind_is_compared(original: MeasuredRun) -> None:
    other = replace(original.machine, board_digest="another", kernel="9.9")
    assert (
        compare_runs(
            [original], fresh_of(original, 10.02, 9.99, 10.01, machine=other), ()
        ).times.verdict
        is CONFIRMED
    )


@pytest.mark.parametrize(
    ("first", "digests", "is_same"),
    [
        ("a", "aaa", True),
        ("a", "aab", False),
        ("b", "aaa", False),
        ("a", ("a", None, "a"), None),
        (None, "aaa", None),
    ],
)
def test_machines_without_a_name_are_compared_with_themselves_only(
    first: str | None, digests: Sequence[str | None], is_same: bool | None, original: MeasuredRun
) -> None:
    def on_board(run: MeasuredRun, digest: str | None) -> MeasuredRun:
        return replace(run, machine=replace(run.machine, board=None, board_digest=digest))

    fresh = map(on_board, fresh_of(original, 10.02, 9.99, 10.01), digests)
    found = compare_runs([on_board(original, first)], tuple(fresh), ()).times
    assert found.same_board is is_same
    assert found.verdict is (CONFIRMED if is_same else UNDECIDED)
    assert is_same or "does not state its model" in str(found.reason)


def test_other_software_explains_a_faster_original(original: MeasuredRun) -> None:
    found = compare_runs(
        [original], fresh_of(original, 20.02, 19.9, 20.1, framework_version="9.9"), ()
    )
    assert found.times.verdict is UNDECIDED and found.times.differences == (
        "the framework's version",
    )
    assert (
        compare_runs(
            [original], fresh_of(original, 10.02, 9.99, 10.01, framework_version="9.9"), ()
        ).times.verdict
        is CONFIRMED
    )


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"foreign_cpu_share": 0.3}, "other programs took 30% of the machine"),
        ({"stolen_cpu_share": 0.3}, "the hypervisor took 30% of the machine"),
        ({"foreign_cpu_share": None}, "is not known"),
    ],
    ids=str,
)
def test_fresh_runs_on_a_busy_machine_refute_nothing(
    original: MeasuredRun, changes: dict[str, object], sentence: str
) -> None:
    *idle, last = fresh_of(original, 20.02, 19.9, 20.1)
    busy = replace(last, **changes)  # type: ignore[arg-type]
    found = compare_runs([original], (*idle, busy), ())
    assert found.times.verdict is UNDECIDED and sentence in str(found.times.reason)


def test_other_losses_need_a_replay_that_decides(original: MeasuredRun) -> None:
    other = (*original.losses[:2], original.losses[2] * 1.1, *original.losses[3:])
    fresh = fresh_of(original, 10.02, 9.99, 10.01, losses=other, losses_sha256="another")
    assert compare_runs([original], fresh, ()).losses.verdict is UNDECIDED
    assert (
        compare_runs(
            [original], fresh, [ReplayedOriginal(original.run_id, "cannot tell")]
        ).losses.verdict
        is UNDECIDED
    )
    assert (
        compare_runs([original], fresh, [ReplayedOriginal(original.run_id, "contradicts")]).verdict
        is REFUTED
    )


@pytest.mark.parametrize("framework", ["pytorch", "lenet-c"])
@pytest.mark.parametrize(
    ("times", "replays", "verdict"),
    [
        (1 + 1e-6, (), CONFIRMED),
        (1 + 1e-6, ("cannot tell",), UNDECIDED),
        (1 + 1e-2, (), UNDECIDED),
    ],
    ids=["rounded", "replayed by version 0.2", "beyond"],
)
def test_a_rounded_loss_is_within_its_tolerance(
    framework: str,
    times: float,
    replays: tuple[str, ...],
    verdict: ReplicationVerdict,
    original: MeasuredRun,
) -> None:
    """That of an implementation outside the checkout is as wide as any framework's."""
    theirs = replace(original, framework=framework)
    other = (*original.losses[:4], original.losses[4] * times, *original.losses[5:])
    fresh = fresh_of(theirs, 10.02, 9.99, 10.01, losses=other, losses_sha256="another")
    replayed = [ReplayedOriginal(original.run_id, each) for each in replays]
    found = compare_runs([theirs], fresh, replayed).losses
    assert (found.verdict, found.equal_runs, found.steps) == (verdict, 0, 10)
    assert found.reason is None or f"from those of {original.run_id}, and" in found.reason


@pytest.mark.parametrize(
    ("accuracy", "verdict"), [(0.9890, CONFIRMED), (0.9850, REFUTED), (0.9950, CONFIRMED)]
)
def test_an_accuracy_that_is_not_reached_again_is_refuted(
    original: MeasuredRun, accuracy: float, verdict: ReplicationVerdict
) -> None:
    fresh = fresh_of(original, 10.02, 9.99, 10.01, accuracies=(*original.accuracies[:-1], accuracy))
    assert compare_runs([original], fresh, ()).accuracies.verdict is verdict


def test_the_error_of_an_accuracy_is_that_of_two_proportions(original: MeasuredRun) -> None:
    """By hand: 0.98 once and 0.9 three times are 0.92 of all; of the smallest evaluation."""
    one = replace(original, accuracies=(0.5, 0.98, 0.99), eval_samples=400)
    fresh = fresh_of(one, 10.0, 10.1, 9.9, accuracies=(0.5, 0.9, None), eval_samples=100)
    found = compare_runs([one], fresh, ()).accuracies
    assert (found.epoch, found.original, found.fresh) == (2, 0.98, pytest.approx(0.9))
    assert found.standard_error == pytest.approx(np.sqrt(0.92 * 0.08 / 100 * (1 + 1 / 3)))


def test_an_original_of_another_seed_needs_no_fresh_run(original: MeasuredRun) -> None:
    named = {"run_id": "other", "manifest_sha256": "other", "losses_sha256": "other"}
    other = replace(original, seed=original.seed + 1, losses=(9.0,) * 10, **named)
    found = compare_runs([original, other], fresh_of(original, 10.02, 9.99, 10.01), ())
    assert found.losses.verdict is CONFIRMED


def test_an_old_task_is_no_setting(tmp_path: Path) -> None:
    """It is evaluated where its data set is prepared."""
    request = Bundle(make_bundle(tmp_path / "run")).run().request
    evaluated = {**request, "old_task": request["data"]}
    assert common_settings(evaluated) == common_settings(request)


@pytest.mark.parametrize(
    "changes", [{"settings_sha256": "another"}, {"seed": 77}, {"run_id": "the same"}], ids=str
)
def test_runs_of_another_request_are_refused(
    original: MeasuredRun, changes: dict[str, object]
) -> None:
    with pytest.raises(SuiteError):
        compare_runs([original], fresh_of(original, 10.0, 10.0, 10.0, **changes), ())


def test_the_interval_is_that_of_students_t() -> None:
    """By hand: logs 0 and (-0.01, 0, 0.01): s = 0.01, t of 2 degrees of freedom 4.302653, sqrt(1 +
    1/3)."""
    found = time_ratio([1.0], [float(np.exp(log)) for log in (-0.01, 0.0, 0.01)], 0.05)
    assert found.ratio == pytest.approx(1)
    assert np.log(found.high) == pytest.approx(4.302653 * 0.01 * np.sqrt(4 / 3), rel=1e-6)


def test_the_scatter_of_the_originals_does_not_widen_the_interval() -> None:
    fresh = (10.0, 10.1, 9.9)
    one, other = time_ratio([5.0, 5.0, 5.0], fresh, 0.05), time_ratio([2.5, 10.0, 5.0], fresh, 0.05)
    assert (one.low, one.high) == pytest.approx((other.low, other.high))


def test_the_advised_number_of_runs_decides() -> None:
    settings, fresh = load_reproduction(), [9.7, 10.0, 10.3]
    runs = advised_runs([10.0], fresh, settings)
    assert runs is not None
    repeated = np.exp(np.random.default_rng(1).normal(0, 0.03, runs))
    repeated = np.exp(
        (np.log(repeated) - np.log(repeated).mean())
        / np.log(repeated).std(ddof=1)
        * np.std(np.log(fresh), ddof=1)
    )
    found = time_ratio([1.0], repeated.tolist(), settings.level)
    assert found.low > 1 / 1.1 and found.high < 1.1


@pytest.mark.parametrize("runs", [(1, 3), (3, 3), (3, 6)])
@pytest.mark.parametrize("noise", [0.01, 0.05, 0.13])
def test_an_honest_original_is_refuted_no_more_often_than_stated(
    noise: float, runs: tuple[int, int]
) -> None:
    """At the margin itself, the worst case, the stated probability is reached: 2.5 % of 2,000
    draws, with four standard errors."""
    settings, rng = load_reproduction(), np.random.default_rng(7)
    stated, error = (
        settings.false_alarm,
        np.sqrt(settings.false_alarm * (1 - settings.false_alarm) / DRAWS),
    )
    worst = simulate(rng, noise, runs, 1 / (1 + settings.margin), DRAWS).refuted
    assert abs(worst - stated) < 4 * error
    assert simulate(rng, noise, runs, 1.0, DRAWS).refuted <= stated


def test_halved_times_are_refuted_where_runs_scatter_by_a_twentieth() -> None:
    assert simulate(np.random.default_rng(3), 0.05, (1, 3), 0.5, DRAWS).refuted > 0.98


def test_divided_runs_are_every_original_with_every_later_window() -> None:
    found = shares(divided([10.0, 10.1, 9.9, 10.0, 10.1], 3))
    assert (found.trials, found.refuted) == (3, 0.0)
    assert shares(divided([10.0, 10.1, 9.9, 10.0, 10.1], 3, 0.5)).refuted == 1.0


@pytest.mark.parametrize(
    ("version", "of_runs", "recomputes"),
    [("0.2.0", "0.2.0", True), ("0.3.0", "0.3.0", False), ("0.2.0", "0.3.0", False)],
)
def test_a_record_of_version_0_2_names_no_gpus(
    version: str, of_runs: str, recomputes: bool, tmp_path: Path
) -> None:
    folder = make_replication(tmp_path / "replication")
    record = json.loads((folder / RECORD).read_text())
    record["suite_version"] = version
    for number, run in enumerate(record["runs"], start=1):
        fresh = EditableBundle(run_folder(folder, number))
        fresh.run["suite_version"] = of_runs
        fresh.system["gpus"] = ["NVIDIA GeForce RTX 3060"] if number == 1 else []
        fresh.save()
        run["manifest_sha256"] = sha256(fresh.path / MANIFEST)
    for run in (*record["originals"], *record["runs"]):
        run["machine"].pop("gpus", None)
        run["suite_version"] = of_runs
    (folder / RECORD).write_text(json.dumps(record))
    assert (list(REPLICATION.differences(folder)) == []) is recomputes


def test_a_record_reads_back(tmp_path: Path) -> None:
    record = read_replication(make_replication(tmp_path / "replication") / RECORD)
    assert record.is_by_others and len(record.runs) == 3
