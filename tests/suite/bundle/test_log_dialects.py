"""Logs of other producers: written by MLPerf's own logger, then put through what launchers,
machines and copying do to them."""

import json
import logging
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from suite.bundle.layout import MANIFEST
from suite.bundle.log import MAX_LINE_BYTES, MAX_PROBLEMS, read_log
from suite.bundle.manifest import seal
from suite.compliance.checker import check_bundle

EPOCHS = 3
KEYS = (
    ["submission_benchmark", "init_start", "init_stop", "run_start"]
    + ["epoch_start", "eval_accuracy", "epoch_stop"] * EPOCHS
    + ["run_stop"]
)


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The lines of MLPerf's own logger: source file and line in the metadata, no chain, no
    monotonic clock."""
    from mlperf_logging.mllog.mllog import MLLogger

    path, plain = tmp_path_factory.mktemp("foreign") / "mlperf.txt", logging.Logger("mlperf")
    plain.addHandler(logging.FileHandler(path))
    logger = MLLogger(plain, default_namespace="worker1")
    for key in KEYS[:4]:
        logger.event(key=key, value="resnet" if key == "submission_benchmark" else None)
    for epoch in range(1, EPOCHS + 1):
        logger.start(key="epoch_start", metadata={"epoch_num": epoch})
        logger.event(key="eval_accuracy", value=0.5 + epoch / 10, metadata={"epoch_num": epoch})
        logger.end(key="epoch_stop", metadata={"epoch_num": epoch})
    logger.end(key="run_stop", metadata={"status": "success"})
    plain.handlers[0].close()
    return path.read_text().splitlines()


def written(path: Path, lines: list[str], end: str = "\n") -> Path:
    (path / "log.txt").write_bytes("".join(line + end for line in lines).encode())
    return path / "log.txt"


def keys(path: Path) -> list[str]:
    return [event.key for event in read_log(path).events]


def unreadable(path: Path) -> list[int]:
    return [problem.line for problem in read_log(path).problems if not problem.chain]


PREFIXES: dict[str, Callable[[int], str]] = {
    "as it is": lambda number: "",
    "of Open MPI": lambda number: f"[1,{number % 4}]<stdout>:",
    "of Slurm": lambda number: f"{number % 4}: ",
    "of a time": lambda number: f"2026-01-15T08:00:{number:02}Z node{number % 4} ",
    "of a progress bar": lambda number: f"\rEpoch 1: {number}%|##   | ",
    "with a byte order mark": lambda number: "\ufeff" if number == 0 else "",
}


@pytest.mark.parametrize("prefix", PREFIXES.values(), ids=list(PREFIXES))
@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_a_foreign_log_is_read_whatever_its_lines_begin_and_end_with(
    prefix: Callable[[int], str], end: str, foreign: list[str], tmp_path: Path
) -> None:
    path = written(tmp_path, [prefix(number) + line for number, line in enumerate(foreign)], end)
    assert keys(path) == KEYS
    assert unreadable(path) == []
    assert [event.line for event in read_log(path).events] == list(range(1, len(KEYS) + 1))


def test_it_is_read_as_mlperfs_own_parser_reads_it(foreign: list[str], tmp_path: Path) -> None:
    from mlperf_logging.compliance_checker.mlp_parser import parse_file

    path = written(tmp_path, [f"{number % 2}: {line}" for number, line in enumerate(foreign)])
    theirs, errors = parse_file(str(path), ruleset="5.1.0")
    assert not errors
    ours = read_log(path).events
    assert [(event.key, event.time_ms, event.value) for event in ours] == [
        (line.key, line.timestamp, line.value["value"]) for line in theirs
    ]


def test_text_between_the_lines_moves_no_line_number(foreign: list[str], tmp_path: Path) -> None:
    noisy = [text for line in foreign for text in ("WARNING: hot", "", line, "loss 2.3 ::: MLLOG")]
    log = read_log(written(tmp_path, noisy))
    assert [event.line for event in log.events] == [3 + 4 * index for index in range(len(KEYS))]


def test_events_in_any_order_keep_the_order_of_the_file(foreign: list[str], tmp_path: Path) -> None:
    shuffled = random.Random(1).sample(foreign, len(foreign))
    log = read_log(written(tmp_path, shuffled))
    assert [event.key for event in log.events] == [
        json.loads(line[len(":::MLLOG ") :])["key"] for line in shuffled
    ]
    assert unreadable(tmp_path / "log.txt") == []


@pytest.mark.parametrize(
    "time_ms",
    [None, "soon", float("nan"), float("inf"), True, 10**400],
    ids=["missing", "text", "nan", "inf", "true", "huge"],
)
def test_a_time_that_is_none_is_a_problem_of_its_line(
    time_ms: object, foreign: list[str], tmp_path: Path
) -> None:
    record = json.loads(foreign[5][len(":::MLLOG ") :])
    record.pop("time_ms") if time_ms is None else record.update(time_ms=time_ms)
    path = written(tmp_path, [*foreign[:5], ":::MLLOG " + json.dumps(record), *foreign[6:]])
    assert unreadable(path) == [6]
    assert keys(path) == KEYS[:5] + KEYS[6:]


@pytest.mark.parametrize("kept", [3, 8, 12, 60], ids=lambda kept: f"after {kept} characters")
def test_a_last_line_that_is_cut_off_is_a_problem_of_its_line(
    kept: int, foreign: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "log.txt"
    path.write_text("\n".join([*foreign[:-1], foreign[-1][:kept]]))
    assert unreadable(path) == [len(KEYS)]
    assert keys(path) == KEYS[:-1]


def test_two_events_on_one_line_are_a_problem_of_that_line(
    foreign: list[str], tmp_path: Path
) -> None:
    """Ranks that write at once; nothing of it is guessed."""
    path = written(tmp_path, [*foreign[:3], foreign[3] + foreign[4], *foreign[5:]])
    assert unreadable(path) == [4]


def test_a_line_without_end_is_one_line(foreign: list[str], tmp_path: Path) -> None:
    path = written(
        tmp_path, [foreign[0], "x" * (2 * MAX_LINE_BYTES + 17) + foreign[1], *foreign[2:]]
    )
    assert unreadable(path) == [2]
    assert [event.line for event in read_log(path).events][:2] == [1, 3]


def test_a_log_of_problems_is_not_read_to_its_end(tmp_path: Path) -> None:
    log = read_log(written(tmp_path, [":::MLLOG {"] * (10 * MAX_PROBLEMS)))
    assert len(log.problems) <= MAX_PROBLEMS + 1
    assert "the rest was not read" in log.problems[-1].what


@pytest.mark.parametrize("end", ["\n", "\r\n"], ids=["unix", "windows"])
def test_in_a_bundle_each_of_its_faults_is_a_finding_with_the_true_line(
    end: str, foreign: list[str], good_bundle: Path
) -> None:
    lines = ["starting", *(f"0: {line}" for line in foreign)]
    lines[8] = lines[8][:-10]
    written(good_bundle, lines, end)
    (good_bundle / MANIFEST).unlink()
    seal(good_bundle)
    found = {(finding.check, finding.line) for finding in check_bundle(good_bundle).findings}
    assert {
        ("log-readable", 9),
        ("log-clock", 2),
        ("log-chain", 2),
        ("status-follows", len(lines)),
    } <= found
