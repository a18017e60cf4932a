"""Audits in the harness's process: what is replayed, from where, how far, and what is compared."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from reference_impls import contract
from reference_impls.contract import Parallel
from reference_impls.probe import ProbeRequest
from reference_impls.state_file import Progress, StateFile, write_state
from suite.bundle.steps import StepRecords
from suite.catalog.audit_tolerances import AuditTolerances, PairTolerance
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.metrics.replayed_losses import MAX_STEPS, AuditVerdict, ReplayedLosses
from suite.metrics.review_record import DrawnRuns, ReviewedModel, ReviewedRun
from suite.verify import audited_run, ranks, replay_audit
from suite.verify.array_differences import Arrays
from suite.verify.audited_run import (
    refuse_other_training,
    request_here,
    steps_to_replay,
    trained_by,
)
from suite.verify.kept_state import KeptState
from suite.verify.probing import ProbedImplementation
from suite.verify.replaying import Replayed, TrainedEpoch
from suite.verify.reviewing import _drawn, _known_models
from suite.verify.rounding import MOST, round_anew
from suite.verify.state_changes import parameter_changes
from suite.verify.verdict import _digest, golden_values, shapes_of
from tests.builders import Scenario, make_request

LOSSES = (2.5, 2.0, 1.5, 1.25, 1.0, 0.75, 0.5)


def steps_of(*rows: tuple[int, int, int, int]) -> StepRecords:
    """Rows of epoch, step, rank and samples; the losses are those of the steps."""
    epoch, step, rank, samples = np.array(rows).T
    nothing = np.zeros(len(rows))
    times = (step, nothing, nothing, nothing, nothing)
    return StepRecords(epoch, step, rank, samples, *times, np.array(LOSSES)[step - 1])


STEPS = steps_of(*(((step + 2) // 3, step, 0, 8 if step % 3 == 0 else 16) for step in range(1, 8)))
"""Three steps an epoch, of the third epoch one."""
KEPT = KeptState(Path("epoch_1.npz"), 1, 3, "v", {1: 40, 2: 50}, 100)


@pytest.mark.parametrize(
    ("epoch", "step", "count", "has"),
    [(1, 3, 2, 2), (1, 3, 9, 3), (1, 4, 9, 2), (2, 6, 9, 1), (3, 7, 9, 0)],
)
def test_steps_after_a_state_are_those_of_the_next_epoch_each_once(
    epoch: int, step: int, count: int, has: int
) -> None:
    both = steps_of(*(((step + 2) // 3, step, rank, 8) for rank in (0, 1) for step in range(1, 8)))
    assert replace(KEPT, epoch=epoch, step=step).steps_after(both, count) == has


def test_an_evaluation_counts_where_both_sides_made_it() -> None:
    none = ReplayedLosses((), (), None, (), ())
    for replayed, counts in (({1: 39, 2: 7}, (40, 39)), ({2: 50}, (None, None))):
        found = KEPT.audited(none, replayed)
        assert (found.correct, found.replayed_correct, found.comparison) == (*counts, None)
        assert (found.epoch, found.value, found.eval_samples) == (1, "v", 100)


class Auditor:
    """An auditor whose replays repeat LOSSES at the rate of the run, and their calls."""

    def __init__(
        self, patched: pytest.MonkeyPatch, folder: Path, program: Any = None, **more: Any
    ) -> None:
        pairs = [PairTolerance((one, "pytorch"), (1e-3,)) for one in ("float64", "pytorch")]
        tolerances = AuditTolerances("lenet", (100,), tuple(pairs), window_steps=200, replays=5)
        patched.setattr(replay_audit, "load_audit_tolerances", lambda workload: tolerances)
        patched.setattr(replay_audit, "replay_steps", self.replay)
        patched.setattr(replay_audit, "replay_in_float64", self.in_float64)
        patched.setattr(replay_audit, "StateFile", lambda name: name)
        patched.setattr(
            replay_audit, "round_anew", lambda state, seed, moved: self.seeds.append(seed)
        )
        self.calls: list[tuple[str, contract.Request, Path | None]] = []
        self.seeds: list[int] = []
        self.by_shares = False
        self.request = make_request(folder, Scenario())._replace(global_batch_size=16, **more)
        self.request = self.request._replace(data=self.request.data._replace(train_samples=40))
        own = load_framework("pytorch")
        self.auditor = replay_audit._Auditor(self.request, own, own, str, program)

    def replay(self, request: contract.Request, framework: Any, start: Path | None) -> Replayed:
        self.calls.append(("plain", request, start))
        is_right = request.optimizer == self.request.optimizer
        losses = [loss if is_right else loss + 0.5 for loss in LOSSES]
        return Replayed(tuple(losses[3 if start else 0 : request.steps]), "2.0", {1: 40, 2: 49})

    def in_float64(
        self, request: contract.Request, framework: Any, start: Path | None
    ) -> tuple[tuple[float, ...], bool]:
        self.calls.append(("float64", request, start))
        return LOSSES[3 if start else 0 : request.steps], self.by_shares


def test_a_run_that_agrees_is_replayed_at_a_wrong_rate_too(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Auditor(monkeypatch, tmp_path, steps=5)
    losses, other = made.auditor.losses(LOSSES[:5])
    assert (losses.plain, losses.float64) == (LOSSES[:5], None) and other == pytest.approx(
        [loss + 0.5 for loss in LOSSES[:5]]
    )
    (_, right, _), (_, wrong, _) = made.calls
    rates = [each.optimizer.base_learning_rate for each in (right, wrong)]
    assert rates[1] == pytest.approx(0.9 * rates[0])
    made.calls.clear()
    losses, other = made.auditor.losses((*LOSSES[:4], 1.5))
    assert losses.float64 == LOSSES[:5] and other is None
    assert [how for how, *_ in made.calls] == ["plain", "float64"]


@pytest.mark.parametrize("by_shares", [True, False])
def test_of_several_ranks_the_float64_replay_says_whether_one_can_stand_for_them(
    by_shares: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Auditor(monkeypatch, tmp_path, steps=5, parallel=Parallel(2, 1, "mpi", 1, True))
    made.by_shares = by_shares
    losses, other = made.auditor.losses(LOSSES[:5])
    assert losses.float64 == LOSSES[:5] and (losses.plain is None) is (other is None) is by_shares
    assert [how for how, *_ in made.calls] == ["float64", *["plain"] * (0 if by_shares else 2)]


def test_after_a_state_the_first_steps_are_compared_and_the_epoch_is_replayed_five_times(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[Path, int, int]] = []

    def program(file: Path, epoch: int, steps: int) -> TrainedEpoch:
        asked.append((file, epoch, steps))
        return TrainedEpoch(LOSSES[3:6], 39, 48)

    made = Auditor(monkeypatch, tmp_path, program, steps=5)
    found = made.auditor.audit_state(KEPT, STEPS, 2)
    assert found.losses.recorded == found.losses.plain == LOSSES[3:5]
    assert (found.correct, found.replayed_correct) == (40, 40)
    after, own = found.epoch_after, found.program
    assert after is not None and own is not None and asked == [(KEPT.file, 2, 3)]
    assert (after.steps, after.samples, after.expected_samples) == (3, 40, 40)
    assert (own.samples, own.recorded.correct, after.recorded.correct) == (39, 48, 50)
    assert after.recorded.mean_loss == pytest.approx(1.0)
    assert [each.correct for each in after.replayed] == [49] * 5
    assert made.seeds == [1, 2, 3, 4]
    how, asked_for, starts = zip(*made.calls, strict=True)
    assert how == ("plain", "float64", *["plain"] * 4), "two steps that agree decide nothing"
    assert [each.steps for each in asked_for] == [6, 5, 6, 6, 6, 6]
    every = made.request.epochs + 1
    assert [each.eval_every_epochs for each in asked_for] == [1, 1, *[every] * 4]
    assert starts[:2] == (KEPT.file,) * 2 and {each.name for each in starts} == {"epoch_1.npz"}
    last = made.auditor.audit_state(replace(KEPT, epoch=3, step=7), STEPS, 2)
    assert last.epoch_after is None and last.losses.recorded == ()


def test_a_state_after_which_the_steps_contradict_is_not_replayed_further(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    made = Auditor(monkeypatch, tmp_path, steps=5)
    found = made.auditor.audit_state(KEPT, replace(STEPS, loss=STEPS.loss + 0.3), 2)
    assert found.verdict is AuditVerdict.CONTRADICTS and found.epoch_after is None
    assert [(how, each.steps, start) for how, each, start in made.calls] == [
        ("plain", 6, KEPT.file),
        ("float64", 5, KEPT.file),
    ]


def test_the_request_is_the_run_s_but_for_this_machine(tmp_path: Path) -> None:
    lenet = replace(load_workload("lenet"), threads=3)
    place: Any = SimpleNamespace(
        directory=tmp_path / "data", definition=SimpleNamespace(layout="cifar10")
    )
    run = make_request(tmp_path, Scenario())._replace(
        accelerator="cuda",
        drop_cache_every_epoch=True,
        loading=contract.Loading(4, 2),
        threads=64,
        global_batch_size=40,
    )
    planned = contract.Recomputation(2, 1, 1.0, "store all", [], [], "/mnt/ssd/acts")
    run = run._replace(
        data=run.data._replace(train_samples=40), old_task=run.data, recomputation=planned
    )
    found = request_here(run, None, lenet, place, 7)
    assert found == run._replace(
        accelerator="cpu",
        drop_cache_every_epoch=False,
        loading=contract.Loading(0, 1),
        threads=3,
        steps=7,
        old_task=None,
        recomputation=None,
        data=run.data._replace(directory=str(tmp_path / "data"), layout="cifar10"),
    )
    mixed = load_framework("pytorch_bf16")
    own = request_here(run, mixed, lenet, place, 7)
    assert own.precision == mixed.precisions[0].value != found.precision
    for wrong, words in (
        (run._replace(global_batch_size=41), "mini-batches of 41 samples are larger"),
        (run._replace(data=run.data._replace(side=2**20)), "1048576 pixels per side"),
        (run._replace(start=contract.Start("other", "", [])), "began with the checkpoint 'other'"),
    ):
        with pytest.raises(SuiteError, match=words):
            request_here(wrong, None, lenet, place, 7)


def test_the_run_s_own_program_gets_the_data_of_its_old_task_on_this_machine(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    run = make_request(tmp_path, Scenario())
    run = run._replace(old_task=run.data._replace(name="cifar10", directory="$DATA/cifar10"))
    bundle: Any = SimpleNamespace(run=lambda: SimpleNamespace(implementation=None), path="run")
    for name in ("load_implementation", "refuse_other_files", "refuse_without"):
        monkeypatch.setattr(audited_run, name, lambda *_: None)
    place = SimpleNamespace(directory=tmp_path / "cifar10")
    monkeypatch.setattr(audited_run, "find_data_set", lambda name: {"cifar10": place}[name])
    monkeypatch.setattr(audited_run, "train_as_in_a_run", lambda request, *_: request)
    for request, directory in ((run, str(place.directory)), (run._replace(old_task=None), None)):
        train: Any = audited_run.own_program(bundle, tmp_path, request)
        old = train(tmp_path, 1, 1).old_task
        assert (old and old.directory) == directory


def test_what_has_no_tolerances_is_not_audited(tmp_path: Path) -> None:
    run = make_request(tmp_path, Scenario())
    own = trained_by(run)
    assert own is not None and own.name == "pytorch"
    assert trained_by(run._replace(framework="theirs")) is None
    assert trained_by(run._replace(framework="pytorch_bf16", precision="bf16-mixed")) is not None
    for more in ({"accumulation": 2}, {"precision": "tf32"}):
        for name in ("pytorch", "theirs"):
            with pytest.raises(SuiteError, match="cannot be audited"):
                trained_by(run._replace(framework=name, **more))


@pytest.mark.parametrize(
    ("division", "logged", "is_refused"),
    [
        ("open", {"model_trained": "lenet5_half"}, True),
        ("open", {"model_trained": "lenet5", "optimizer_used": "adam"}, True),
        ("open", {"precision": "int8"}, True),
        ("open", {"model_trained": "lenet5", "precision": "float32"}, False),
        ("open", {}, False),
        ("closed", {"model_trained": "lenet5_half"}, False),
    ],
)
def test_a_replay_contradicts_no_open_run_that_logs_other_training_than_was_requested(
    division: str, logged: dict[str, str], is_refused: bool, tmp_path: Path
) -> None:
    run = make_request(tmp_path, Scenario())._replace(division=division)
    events = {key: SimpleNamespace(value=value) for key, value in logged.items()}
    bundle: Any = SimpleNamespace(log=lambda: SimpleNamespace(first=events.get))
    refused = pytest.raises(SuiteError, match="cannot be audited")
    with refused if is_refused else nullcontext():
        refuse_other_training(bundle, run)


def test_as_many_steps_are_replayed_as_the_run_has() -> None:
    def bundle(steps: int) -> Any:
        recorded = SimpleNamespace(step=np.repeat(np.arange(steps), 2))
        return SimpleNamespace(path="run", steps=lambda: recorded)

    for steps, chosen, found in ((3, None, 3), (30, None, 10), (30, 20, 20), (30, MAX_STEPS, 30)):
        assert steps_to_replay(bundle(steps), chosen) == found
    for steps, chosen in ((0, None), (3, 0), (3, MAX_STEPS + 1)):
        with pytest.raises(SuiteError):
            steps_to_replay(bundle(steps), chosen)


def test_parameters_alone_are_rounded_anew_both_ways_and_changes_are_theirs(tmp_path: Path) -> None:
    kinds = ("parameter", "velocity", "statistic")
    arrays: Any = {f"{kind}/w": np.full(1000, 2, np.float32) for kind in kinds}
    files = [tmp_path / f"{number}.npz" for number in range(4)]
    write_state(str(files[0]), arrays, Progress(3, 90))
    for seed, file in zip((1, 1, 2), files[1:], strict=True):
        round_anew(StateFile(str(files[0])), seed, file)
    one, again, other = (StateFile(str(file)) for file in files[1:])
    moved = np.asarray(one["parameter/w"]) / 2 - 1
    assert one.progress == (3, 90) and np.asarray(one["parameter/w"]).dtype == np.float32
    assert 0.9 * MOST < np.abs(moved).max() < 1.02 * MOST and 400 < (moved > 0).sum() < 600
    assert all(np.array_equal(one[f"{kind}/w"], arrays[f"{kind}/w"]) for kind in kinds[1:])
    assert np.array_equal(one["parameter/w"], again["parameter/w"])
    assert not np.array_equal(one["parameter/w"], other["parameter/w"])
    found = parameter_changes(files[0], {"w": np.full(1000, 0.5)})
    assert {kind: set(each["w"]) for kind, each in found.items()} == {
        "parameter": {1.5},
        "statistic": {2.0},
    }
    for initial in ({}, {"w": np.ones((10, 100))}):
        assert set(parameter_changes(files[0], initial)["parameter"]["w"]) == {2.0}


def test_a_reviewer_draws_for_new_manifests_only_and_keeps_what_is_equivalent() -> None:
    before = (DrawnRuns("", "a", {"run_1": "1"}), DrawnRuns("", "b", {"run_2": "2", "run_9": "1"}))
    assert _drawn(before, {"moved": "1", "run_2": "2"}) is before
    *kept, new = _drawn(before, {"run_1": "1", "run_2": "3", "run_3": "4"})
    assert tuple(kept) == before and new.manifests == {"run_2": "3", "run_3": "4"}
    models = {
        "a/b": ReviewedModel(True, None),
        "c/d": ReviewedModel(None, "no probe"),
        "e/f": ReviewedModel(False, None),
    }
    machine = {"suite_version": "1", "architecture": "arm", "cpu_model": "A76"}
    runs = {"a/b/run_1": ReviewedRun("1", None, None, None)}
    earlier: Any = SimpleNamespace(models=models, runs=runs, **machine)
    assert _known_models(earlier, earlier) == {"a/b": models["a/b"]}
    assert _known_models(None, earlier) == {}
    for name in machine:
        other: Any = SimpleNamespace(**{**vars(earlier), name: "other"})
        assert _known_models(earlier, other) == {}
    for name, manifest in (("a/b/run_1", "2"), ("a/b/run_2", "1")):
        handed_in = {**runs, name: ReviewedRun(manifest, None, None, None)}
        other = SimpleNamespace(**{**vars(earlier), "runs": handed_in})
        assert _known_models(earlier, other) == {}


def test_what_of_a_probe_is_pinned_handed_on_and_digested() -> None:
    wide: Arrays = {
        "logits": np.arange(24.0).reshape(2, 12),
        "losses": np.array([2.0, 1.0]),
        "parameter/w": np.zeros((2, 3)),
        "statistic/m": np.zeros(4),
        "gradient/w": np.zeros((2, 3)),
    }
    found = golden_values(wide)
    assert found["logits"].tolist() == [*range(10)] and found["losses"].tolist() == [2.0, 1.0]
    shapes = shapes_of({"float64": wide, "float32": {"parameter/w": np.zeros(9)}})
    assert shapes == {"parameter/w": (2, 3), "statistic/m": (4,)}
    assert _digest(dict(reversed(wide.items()))) == _digest(wide)
    changed = (np.zeros((3, 2)), np.zeros((2, 3), np.int64), np.eye(2, 3))
    digests = {_digest({**wide, "parameter/w": each}) for each in changed}
    assert len({*digests, _digest(wide)}) == 4
    with pytest.raises(SuiteError, match="must write floats or integers"):
        _digest({"w": np.array([True])})


@pytest.mark.parametrize(
    ("workload", "normalisation", "shares"),
    [("lenet", "local", 1), ("resnet18", "local", 3), ("resnet18", "synchronised", 1)],
)
def test_ranks_are_compared_with_one_that_takes_their_mini_batches(
    workload: str, normalisation: str, shares: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[str, ProbeRequest]] = []
    arrays = {f"{name}/w": np.ones(2) for name in ("parameter", "statistic")}
    given: dict[str, Any] = {}

    def probe(one: ProbedImplementation, request: ProbeRequest, shapes: Any = None) -> Arrays:
        asked.append((one.name, request))
        given.update(shapes or {})
        apart = {} if len(asked) == 1 else {"apart": np.array(1e-12)}
        return {**arrays, "losses": np.ones(5), **apart}

    monkeypatch.setattr(ranks, "probe_as", probe)
    here, one = load_workload(workload), ProbedImplementation("theirs", Path("python"), "probe")
    parallel = Parallel(3, 1, "mpi", 1, True, normalisation)
    made = ranks.verify_ranks(here, one, parallel, str, 5, replace(one, name="pytorch"))
    (alone, first), (subject, found) = asked
    assert (alone, subject, made.subject, made.ranks) == ("pytorch", "theirs", "theirs", 3)
    rates = here.verification.learning_rates
    assert first.learning_rates == found.learning_rates == [rates[0]] * 2 + [rates[-1]] * 3
    samples = here.verification.samples_per_rank * 3 + 1
    assert first.batch_size == found.batch_size == made.batch_size == samples
    assert (first.shares, first.parallel.ranks, found.shares) == (shares, 1, 1)
    assert found.parallel == parallel and given == dict.fromkeys(arrays, (2,))
    assert {one.quantity: one.passed for one in made.differences} == {
        "losses": True,
        "parameter": True,
        "statistic": True,
        "ranks apart": False,
    }
    assert not made.passed and made.reference == (
        "one rank that computes every rank's share of a mini-batch in turn"
        if shares > 1
        else "one rank"
    )
