"""Which state a run is resumed from, what must be as before, and what the new run records of those
before it."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from reference_impls import contract
from reference_impls.state_file import state_name
from suite.bundle.data_record import DataRecord, write_data_record
from suite.bundle.layout import states_folder
from suite.bundle.reader import Bundle
from suite.bundle.resumption import Resumption
from suite.catalog.devices import load_device
from suite.catalog.frameworks import load_framework
from suite.catalog.workloads import load_workload
from suite.errors import SuiteError
from suite.execution import preparation, resume
from suite.execution.preparation import prepare_data
from suite.execution.request import RunRequest
from suite.execution.run_records import records_of
from suite.files.digest import FileDigest
from tests.builders import Scenario, make_bundle, make_request

STATE = {"parameter": "p", "velocity": "v", "statistic": "s"}
FIRST = Resumption("first", 2, STATE, 3, 3, "lost", 5_000, 1_000, 10**9, "boot", 7.5)
AGAIN = "; resume the run first again: this one went on after its epoch 2"


def request(folder: Path, **parallel: Any) -> RunRequest:
    training = make_request(folder, Scenario(framework="fake", ranks=2, nodes=2))
    training = training._replace(parallel=training.parallel._replace(**parallel))
    framework = load_framework("fake")
    return RunRequest(
        "run", load_workload("lenet"), load_device("generic"), "", framework, training
    )


def test_the_middle_one_of_three_runs_hands_on_what_the_first_left_out(tmp_path: Path) -> None:
    bundle = Bundle(make_bundle(tmp_path / "run", Scenario(ranks=2, nodes=1, division="open")))
    record, log = bundle.run(), bundle.log()
    own_s = sum(each.length_s for each in resume.uncounted_intervals(log))
    start = log.first("run_start")
    assert start is not None
    alone = resume._resumption(replace(record, message="x" * 1000), log, 3, STATE)
    assert (alone.run_id, alone.epoch, alone.ranks, alone.nodes) == (record.run_id, 3, 2, 1)
    assert (alone.began_time_ms, alone.began_mono_ns) == (start.time_ms, start.mono_ns)
    assert (alone.ended_time_ms, alone.uncounted_s) == (log.events[-1].time_ms, own_s)
    assert (alone.reason, alone.boot) == ("x" * 900, start.metadata["boot"])
    resumed = replace(record, message=None, resumed={**vars(FIRST), "state": STATE})
    again = resume._resumption(resumed, log, 3, STATE)
    assert (again.run_id, again.ended_time_ms) == (record.run_id, alone.ended_time_ms)
    assert (again.began_time_ms, again.began_mono_ns, again.boot) == (1_000, 10**9, "boot")
    assert again.uncounted_s == 7.5 + own_s and again.reason.startswith("its harness ended")
    odd = replace(record, resumed={**vars(FIRST), "epoch": -1})
    with pytest.raises(SuiteError, match=r"run\.json .*epoch.* in `resumed`"):
        resume._resumption(odd, log, 3, STATE)
    with pytest.raises(SuiteError, match="has no run_start in its log"):
        resume._resumption(record, replace(log, events=()), 3, STATE)


def test_the_data_are_those_of_the_run_before_whenever_they_were_read(tmp_path: Path) -> None:
    file = FileDigest("images", 1, "1" * 64, "2" * 32)
    own = DataRecord("digits", 5, (file,))
    other = replace(file, sha256="3" * 64)
    records = own, replace(own, taken_ns=9), replace(own, files=(other,)), replace(own, name="x")
    folders = [tmp_path / str(number) for number in range(4)]
    for folder, record in zip(folders, records, strict=True):
        folder.mkdir()
        write_data_record(folder, record)
    resume.refuse_other_data(folders[0], folders[1])
    for folder in folders[2:]:
        with pytest.raises(SuiteError, match=f"data set differs from that of {folder} "):
            resume.refuse_other_data(folders[0], folder)


@pytest.mark.parametrize(
    ("kept", "before", "chosen"),
    [
        ([(2, "right"), (10, "right"), (9, "right")], None, 10),
        ([(2, "right"), (10, "gone")], None, 2),
        ([(2, "right"), (10, "wrong")], None, resume.GO_BACK),
        ([(10, "wrong")], None, resume.BEGIN_ANEW),
        ([(2, "gone"), (10, "wrong")], None, resume.BEGIN_ANEW),
        ([(2, "gone")], None, f"kept no training state .*; {resume.NO_STATES}"),
        ([(5, "right"), (10, "wrong")], FIRST, resume.GO_BACK),
        ([(10, "wrong")], FIRST, AGAIN),
        ([], FIRST, f"kept no training state .*{AGAIN}"),
    ],
)
def test_a_run_goes_on_from_the_last_state_that_it_kept(
    kept: list[tuple[int, str]],
    before: Resumption | None,
    chosen: int | str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run, folder = tmp_path / "run", states_folder(tmp_path / "run")
    folder.mkdir()
    events = [SimpleNamespace(epoch=epoch, value=state_name(epoch)) for epoch, _ in kept]
    events.append(SimpleNamespace(epoch=None, value="before any epoch"))
    for epoch, how in kept:
        if how != "gone":
            (folder / state_name(epoch)).write_text(how)
    monkeypatch.setattr(
        resume, "StateFile", lambda path: SimpleNamespace(of_rank=lambda rank: Path(path))
    )
    monkeypatch.setattr(
        resume, "digests", lambda path: path.name if path.read_text() == "right" else "other"
    )
    log: Any = SimpleNamespace(all=lambda key: events if key == "state_digests" else [])
    record: Any = SimpleNamespace(resumed=before and vars(before))
    if isinstance(chosen, int):
        name = state_name(chosen)
        assert resume._last_state(run, record, log) == (folder / name, chosen, name)
    else:
        with pytest.raises(SuiteError, match=chosen):
            resume._last_state(run, record, log)


@pytest.mark.parametrize(
    ("before", "now", "differs"),
    [
        ({"ranks": 3, "nodes": 3}, {}, None),
        ({"bucket_bytes": 9, "overlap": False, "collective": "native"}, {}, None),
        ({"wire": "float16"}, {}, "parallel.wire = float16, but this command asks for exact"),
        ({"normalisation": "synchronised"}, {}, "parallel.normalisation = synchronised"),
        ({"wire": "float16"}, {"ranks": 1}, None),
        ({"shares": "speed"}, {}, "parallel.shares = speed, but this command asks for equal"),
        ({"shares": "speed"}, {"ranks": 1}, None),
        ({"ranks": 1}, {"wire": "float16"}, None),
    ],
)
def test_fewer_nodes_may_go_on_and_nothing_else_changes(
    before: dict[str, Any], now: dict[str, Any], differs: str | None, tmp_path: Path
) -> None:
    asked, trained = request(tmp_path, **now), request(tmp_path, **before)
    values = records_of(trained).request_values(
        trained.training._replace(
            threads=7, division="closed", cache_cleared=True, old_task=trained.training.data
        )
    )
    record: Any = SimpleNamespace(request=values)
    if differs is None:
        resume._refuse_other_training(asked, record, tmp_path)
        changed = replace(asked, training=asked.training._replace(seed=7, accumulation=2))
        with pytest.raises(
            SuiteError, match="accumulation = 1, but this command asks for 2"
        ):  # the first by name
            resume._refuse_other_training(changed, record, tmp_path)
        mean = asked.training.preprocessing._replace(mean=[9.0])
        changed = replace(asked, training=asked.training._replace(seed=7, preprocessing=mean))
        with pytest.raises(
            SuiteError, match="seed = 1, but this command asks for 7"
        ):  # lists are long
            resume._refuse_other_training(changed, record, tmp_path)
    else:
        with pytest.raises(SuiteError, match=f"trained with {differs}"):
            resume._refuse_other_training(asked, record, tmp_path)


@pytest.mark.parametrize(
    ("before", "now"),
    [((2, "synchronised"), (1, "asynchronous")), ((1, "asynchronous"), (2, "synchronised"))],
)
def test_the_timing_may_differ_between_one_rank_and_several(
    before: tuple[int, str], now: tuple[int, str], tmp_path: Path
) -> None:
    """Several wait in every step; one on a GPU does not, unless --timing is typed."""
    trained, asked = (request(tmp_path, ranks=ranks) for ranks, _ in (before, now))
    values = records_of(trained).request_values(trained.training._replace(timing=before[1]))
    asked = replace(asked, training=asked.training._replace(timing=now[1]))
    record: Any = SimpleNamespace(request=values)
    resume._refuse_other_training(asked, record, tmp_path)


@pytest.mark.parametrize(
    "recorded",
    [
        {"spill_folder": "/mnt/ssd"},
        {"spill_folder": "$HOME/ssd"},
        {"spill_folder": "$ELSEWHERE/ssd"},
        {"planned_bytes": 3, "planned_factor": 1.5, "schedule": "two segments", "blocks": [[1, 2]]},
        {"spill_folder": None, "planned_spill_bytes": 0, "actions": [["keep", 0]]},
    ],
)
def test_a_budget_may_be_planned_anew(recorded: dict[str, Any], tmp_path: Path) -> None:
    """Records of earlier versions have the path of the folder for activations; this machine's times
    may have been measured since then. No schedule changes what is computed."""
    asked = request(tmp_path)
    planned = contract.Recomputation(2, 1, 1.0, "store all", [], [], "/mnt/ssd", 9)
    asked = replace(asked, training=asked.training._replace(recomputation=planned))
    values = records_of(asked).request_values(asked.training)
    values["recomputation"] |= recorded
    record: Any = SimpleNamespace(request=values)
    resume._refuse_other_training(asked, record, tmp_path)
    values["recomputation"]["budget_bytes"] = 3
    with pytest.raises(SuiteError, match="budget_bytes = 3, but this command asks for 2"):
        resume._refuse_other_training(asked, record, tmp_path)


@pytest.mark.parametrize(
    ("name", "before", "now", "said"),
    [
        ("precision", "float32", "bf16-mixed", "float32, but this command asks for bf16-mixed"),
        ("precision", "bf16-mixed", "float32", "bf16-mixed, but this command asks for float32"),
        (
            "timing",
            "asynchronous",
            "synchronised",
            "asynchronous, but this command asks for synchronised",
        ),
        ("accumulation", 4, 1, "4, but this command asks for 1"),
        ("steps", 40, None, "40, but this command asks for none"),
    ],
)
def test_values_are_said_as_they_are_typed_defaults_too(
    name: str, before: Any, now: Any, said: str, tmp_path: Path
) -> None:
    """A request has no key for some defaults."""
    asked = request(tmp_path)
    values = records_of(asked).request_values(asked.training._replace(**{name: before}))
    asked = replace(asked, training=asked.training._replace(**{name: now}))
    record: Any = SimpleNamespace(request=values)
    with pytest.raises(SuiteError, match=f"with {name} = {said}; repeat that run's command"):
        resume._refuse_other_training(asked, record, tmp_path)


@pytest.mark.parametrize(
    ("are_cold", "is_cold"),
    [
        ([True, True, True], True),
        ([True, None, False], False),
        ([True, None, True], None),
        ([None], None),
    ],
)
def test_a_cache_is_cold_where_that_of_every_node_is(
    are_cold: list[bool | None], is_cold: bool | None, tmp_path: Path, monkeypatch: Any
) -> None:
    """One that is warm is known, whatever is unknown of the others."""
    done: list[str] = []

    def noting(name: str, result: Any = None) -> Callable[..., Any]:
        return lambda *_: done.append(name) or result

    for name in ("digest_data", "write_data_record"):
        monkeypatch.setattr(preparation, name, noting(name))
    remote: Any = SimpleNamespace(prepare=noting("caches", are_cold))
    found = prepare_data(request(tmp_path), remote).training
    assert found.cache_cleared is is_cold
    # reading the data for their digests would warm a cache that was emptied before
    assert done == ["digest_data", "write_data_record", "caches"]
    assert isinstance(found, contract.Request)
