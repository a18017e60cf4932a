"""How a run ended: its status, exit code and sentence, by whom it was asked to."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from suite.bundle.lifetime import Lifetime
from suite.bundle.reader import Bundle
from suite.execution import ending, power_pulse
from suite.execution.ending import describe_failure
from suite.execution.power_pulse import Pulse, run_pulse, with_pulses
from suite.launch.process import exit_report
from tests.builders import make_bundle

BY_USER = "interrupted by the user"
INTERRUPTED = {"status": "interrupted", "message": BY_USER}


@pytest.mark.parametrize(
    ("said", "has_ended", "exit_code", "expected"),
    [
        ({}, True, 0, {"status": "finished", "exit_code": 0}),
        ({"interrupted": BY_USER}, True, 0, {"status": "finished", "exit_code": 0}),
        ({"interrupted": BY_USER}, True, -15, {"status": "finished", "exit_code": None}),
        ({"interrupted": BY_USER}, False, 0, INTERRUPTED),
        ({"interrupted": BY_USER, "problem": "it hangs."}, False, -9, INTERRUPTED),
        (
            {"problem": "it hangs.", "monitor": SimpleNamespace(has_lone_exit=False)},
            True,
            0,
            {
                "status": "failed",
                "exit_code": 0,
                "message": "it hangs; the last finished epoch is epoch 3",
            },
        ),
        (
            {},
            True,
            3,
            {
                "status": "failed",
                "exit_code": 3,
                "message": "the implementation ended with exit code 3: no GPU",
            },
        ),
        (
            {},
            False,
            0,
            {
                "status": "failed",
                "exit_code": 0,
                "message": "the implementation ended with exit code 0, but its log has no run_stop,"
                " or its step records are missing (docs/contract.md)",
            },
        ),
    ],
)
def test_a_run_is_finished_failed_or_interrupted(
    said: dict[str, Any],
    has_ended: bool,
    exit_code: int,
    expected: dict[str, Any],
    good_bundle: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ending, "training_ended", lambda path: has_ended)
    run = SimpleNamespace(records=SimpleNamespace(path=good_bundle))
    training = SimpleNamespace(
        **{"run": run, "monitor": None, "problem": None, "interrupted": None, **said}
    )
    report = exit_report(exit_code, ["no GPU"], 1)
    assert ending._outcome(training, report, None) == expected  # type: ignore[arg-type]


def test_what_a_rank_printed_before_it_exited_alone_is_in_the_message(
    good_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before MPI is initialised, mpirun does not end the other ranks."""
    run = SimpleNamespace(records=SimpleNamespace(path=good_bundle))
    training = SimpleNamespace(
        run=run,
        monitor=SimpleNamespace(has_lone_exit=True),
        problem="rank 2 exited while other ranks kept running for 10 s",
        interrupted=None,
    )
    report = exit_report(1, ["ModuleNotFoundError: No module named 'torch'"], 3)
    message = ending._outcome(training, report, None)["message"]  # type: ignore[arg-type]
    assert message.startswith(f"{training.problem}: ModuleNotFoundError: No module named 'torch'; ")


@pytest.mark.parametrize(("paused_s", "is_blamed"), [(8.0, False), (8.1, True)])
def test_a_harness_that_slept_for_most_of_the_silence_is_the_cause(
    paused_s: float, is_blamed: bool
) -> None:
    """The ranks wait for its replies for ten seconds, which begin up to two seconds earlier."""
    monitor = SimpleNamespace(longest_pause_s=paused_s, silence_s=10.0)
    report = exit_report(1, ["error: rank 1 on pi2: no card"], 2)
    said = describe_failure(report, monitor, None, None)  # type: ignore[arg-type]
    assert ("the harness itself was stopped for 8 s" in said) is is_blamed
    assert is_blamed or said == "rank 1 on pi2: no card"


def test_pulses_are_idle_time_and_a_run_that_finished_has_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, after = Pulse(10, 20, [[13, 16]]), Pulse(70, 90, [[73, 76]])
    monkeypatch.setattr(power_pulse, "run_pulse", lambda: after)
    record, lifetime = Bundle(make_bundle(tmp_path / "run")).run(), Lifetime(None, 1, ((2, 8),))
    for status, pulses_ns, idle_ns in (
        ("finished", {"loads_ns": [[13, 16], [73, 76]]}, [[2, 8], [10, 20], [70, 90]]),
        ("failed", None, [[2, 8], [10, 20]]),
    ):
        found = with_pulses(ending.replace(record, status=status), [before], lifetime)
        assert found.power_pulse == pulses_ns
        assert found.lifetime is not None
        assert [list(each) for each in found.lifetime["idle_ns"]] == idle_ns
    assert with_pulses(record, [], lifetime).power_pulse is None


def test_every_core_is_loaded_in_a_pattern_that_fits_at_one_place_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    started: list[list[str]] = []
    slept_s: list[float] = []
    ended = SimpleNamespace(wait=lambda *limit: None, kill=lambda: None)
    clock = SimpleNamespace(monotonic_ns=lambda: 10**9, sleep=slept_s.append)
    monkeypatch.setattr(power_pulse, "time", clock)
    popen = SimpleNamespace(Popen=lambda words: started.append(words) or ended)
    monkeypatch.setattr(power_pulse, "subprocess", popen)
    monkeypatch.setattr("os.sched_getaffinity", lambda pid: {0, 2, 3})
    # 3 s idle, 3 s load, 2 s idle, 1.5 s load, 3 s idle
    loads_ns = [[4 * 10**9, 7 * 10**9], [9 * 10**9, 10_500_000_000]]
    assert run_pulse().loads_ns == loads_ns
    assert slept_s == [3.0]
    words = [f"{start_ns}:{stop_ns}" for start_ns, stop_ns in loads_ns]
    assert [each[-2:] for each in started] == [words] * 3


def test_every_recorder_is_stopped_before_the_witness_is_waited_for(
    good_bundle: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Remote ones end after ten seconds of silence, and a run's readings at most five seconds after
    it; a witness that does not answer takes longer."""
    order: list[str] = []
    monkeypatch.setattr(ending, "wait_for_exit", lambda *_: exit_report(0, [], 2))
    monkeypatch.setattr(ending, "changed_settings", lambda *_: [])
    monkeypatch.setattr(ending, "ask_stamp", lambda *_: order.append("witness"))
    monkeypatch.setattr(ending, "_outcome", lambda *_: {})
    run = SimpleNamespace(
        request=SimpleNamespace(ranks=2),
        records=SimpleNamespace(path=good_bundle),
        record=Bundle(good_bundle).run(),
        power=None,
        witness=SimpleNamespace(),
    )
    recorder: Any = SimpleNamespace(stop=lambda: order.append("meters") or ())
    training: Any = SimpleNamespace(
        run=run, monitor=None, problem=None, process=None, recorder=recorder, released_ns=None
    )
    remote: Any = SimpleNamespace(stop=lambda: order.append("nodes"), records=lambda machines: ())
    ending.end_run(training, remote)
    assert order == ["nodes", "meters", "witness"]
