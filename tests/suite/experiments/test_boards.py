"""Matrices over boards: every run once, whatever becomes of a board or of what it sends. A board
here is this machine, by a program like ssh."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from suite.bundle.layout import MANIFEST
from suite.catalog.divisions import Division
from suite.errors import SuiteError
from suite.execution.events import silent
from suite.execution.request import RunOptions
from suite.experiments.board_talk import BoardLost, RunFailed
from suite.experiments.board_task import BoardTask, read_task
from suite.experiments.boards import (
    _Job,
    _Spread,
    board_numbers,
    keys_of_the_machine,
    plan_for_boards,
)
from suite.experiments.matrix_plan import MatrixDefinition, Values, Vary
from suite.experiments.planned_runs import resolve_planned
from suite.metrics.matrix_record import read_matrix
from tests.conftest import Run

MATRIX = (
    "sweep --vary batch_size=8,16 --workload lenet --framework fake --data digits --steps 10"
    " --seeds 2"
)
HERE = 'exec sh -c "$2"\n'
GONE = "echo 'no route to host' >&2; exit 255\n"
ANOTHER_EVENT = (
    "import os; [os.write(1, data.replace(b'run_stop', b'run_stap')) for data in iter(lambda:"
    " os.read(0, 65536), b'')]"
)
ONCE = 'if mkdir {folder}/asked 2>/dev/null; then {first}; else exec sh -c "$2"; fi\n'


def boards(folder: Path, **behaviour: str) -> tuple[str, ...]:
    """Options for boards of these names; each runs its line of shell with the host as $1 and the
    script as $2."""
    folder.mkdir()
    cases = "".join(f"{name}) {line.rstrip()} ;;\n" for name, line in behaviour.items())
    agent = folder / "agent"
    agent.write_text(f'#!/bin/sh\ncase "$1" in\n{cases}esac\n')
    agent.chmod(0o755)
    (folder / "boards.txt").write_text("".join(f"{name}\n" for name in behaviour))
    return "--boards", str(folder / "boards.txt"), "--launch-agent", str(agent)


def expect_every_run_once(out: Path) -> None:
    """Two points of two runs, sealed, in the matrix; and nothing else."""
    sealed = {path.parent.name for path in out.glob("*/" + MANIFEST)}
    assert len(sealed) == 4
    assert sorted(run.folder for point in read_matrix(out).points for run in point.runs) == sorted(
        sealed
    )
    assert {path.name for path in out.iterdir() if path.is_dir()} == sealed


def test_boards_of_one_name_have_folders_of_their_own_that_the_next_process_finds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Where there is no network address, Python makes up another one in every process."""
    task = BoardTask(
        MatrixDefinition(vary=Vary(batch_size=(8,))),
        RunOptions(Division.OPEN, "auto", "lenet", "fake"),
        None,
        (),
    )

    def place(node: int) -> Path:
        monkeypatch.setattr("uuid.getnode", lambda: node)
        return task.place

    assert place(0x02FC00000001) != place(0x02FC00000002)
    assert place(0x01FC00000001) == place(0x01FC00000002)


@pytest.mark.proof
def test_boards_share_the_runs_and_a_rerun_keeps_them(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    out, where = tmp_path / "out", boards(tmp_path / "boards", one=HERE, two=HERE)
    made = suite.done(f"{MATRIX} --output {out} --json", *where)
    assert "on one" in made.stderr and "on two" in made.stderr
    assert len(json.loads(made.stdout)["points"]) == 2
    expect_every_run_once(out)
    again = suite.done(f"{MATRIX} --output {out}", *where)
    assert again.stderr.count("finished before, kept") == 4


@pytest.mark.proof
@pytest.mark.parametrize(
    ("first", "words"),
    [
        ('sh -c "$2" | (head -c 3000; kill -9 $$)', "its bundle was cut off after"),
        (f'sh -c "$2" | python3 -c "{ANOTHER_EVENT}"', "its bundle was corrupted on the way"),
        ("kill -9 $$", "exit code -9"),
    ],
    ids=["cut off", "changed", "killed"],
)
def test_what_arrives_damaged_is_made_again(
    first: str, words: str, suite: Run, digits: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    where = boards(
        tmp_path / "boards",
        one=HERE,
        two=(
            f'if ! test -e {tmp_path}/validated; then touch {tmp_path}/validated; exec sh -c "$2";'
            " fi; "
        )
        + ONCE.format(folder=tmp_path, first=first),
    )
    made = suite.done(f"{MATRIX} --output {out}", *where)
    assert words in made.stderr
    expect_every_run_once(out)


@pytest.mark.proof
def test_a_fleet_names_the_dead_board_and_refuses_two_names_of_one(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    run = "run --division open --workload lenet --framework fake --data digits --steps 10"
    where = boards(tmp_path / "boards", one=HERE, gone=GONE)
    made = suite.refused(f"{run} --output {tmp_path}/out", *where)
    assert "1 of 2 points have no run" in made.stderr and "no route to host" in made.stderr
    assert [len(point.runs) for point in read_matrix(tmp_path / "out").points] == [1, 0]
    assert "gone" not in (tmp_path / "out" / "matrix.json").read_text()
    twice = boards(tmp_path / "twice", one=HERE, again=HERE)
    refused = suite.refused(f"{run} --output {tmp_path}/twins", *twice)
    assert "again: it is the same machine as one" in refused.stderr


@pytest.mark.proof
def test_what_boards_refuse_ends_a_matrix_before_the_first_run(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    gone = suite.refused(
        f"{MATRIX} --output {tmp_path}/out", *boards(tmp_path / "boards", one=GONE)
    )
    assert "one: exit code 255: no route to host" in gone.stderr
    unknown = MATRIX.replace("batch_size=8,16", "power_mode=MAXN")
    others = boards(tmp_path / "others", one=HERE)
    said = suite.typed(f"{unknown} --output {tmp_path}/out", *others).stderr
    assert "one: " in said and "MAXN" in said and not list(tmp_path.glob("out/*"))


def test_a_matrix_of_boards_needs_their_file(suite: Run) -> None:
    said = suite.typed("sweep --vary board=1,2 --workload lenet --framework fake --dry-run").stderr
    assert "The setting `board` needs --boards FILE" in said


def test_a_fleet_refuses_what_one_run_refuses_and_has_the_seed_that_was_typed(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    """Also a budget of memory, which a matrix plans no run for."""
    where = boards(tmp_path / "boards", one=HERE)
    run = "run --workload lenet --framework fake --data digits --steps 10 --dry-run --division"
    for options, said in {
        "closed": "This run could never comply",
        "open --nonce drawn": "--nonce is for runs without --boards",
        "open --run-number 1": "--run-number belongs to --nonce",
        "open --memory-budget 1GB": "--memory-budget is for runs without --boards",
    }.items():
        assert said in suite.typed(f"{run} {options}", *where).stderr
    (planned,) = json.loads(suite.done(f"{run} open --seed 0 --json", *where).stdout)["rows"]
    assert planned["request"]["seed"] == 0


def test_a_fleet_trains_on_what_only_its_boards_have(suite: Run, tmp_path: Path) -> None:
    where = boards(tmp_path / "boards", one=HERE)
    run = "run --division open --workload lenet --framework fake --steps 10 --dry-run --json"
    theirs = "--data mnist=/on/a/board --device raspberry-pi-4"
    said = suite.done(f"{run} {theirs}", *where).stdout
    (planned,) = json.loads(said)["rows"]
    assert planned["request"]["platform"] == "raspberry-pi-4"


@pytest.mark.parametrize("data", ["cifar10=/on/a/board", "cifar10=/on/a=/lr=0.1", "/on/a/lr=0.1"])
def test_what_only_boards_have_is_not_needed_here(data: str, tmp_path: Path) -> None:
    """Their modes and disks, their folders of data, their kind."""
    varied = Vary(power_mode=("MAXN",), data=(data,), read_mb_s=(80.0,))
    matrix = plan_for_boards(
        MatrixDefinition(seeds=1, device="raspberry-pi-4", vary=varied),
        RunOptions(Division.OPEN, "auto", "resnet18", "pytorch"),
    )
    (request,) = resolve_planned(matrix, tmp_path, to_show=True, elsewhere=True)
    assert (request.training.platform, matrix.plan.data) == ("raspberry-pi-4", "cifar10")


def test_options_that_contradict_boards_are_refused(suite: Run, tmp_path: Path) -> None:
    where = boards(tmp_path / "boards", one=HERE)
    assert (
        "leave --hostfile"
        in suite.typed(f"{MATRIX} --hostfile {tmp_path}/boards/boards.txt", *where).stderr
    )
    no_agent = suite.refused(
        f"{MATRIX} --launch-agent nosuchprogram --output {tmp_path}/out", *where[:2]
    )
    assert "There is no program 'nosuchprogram' here" in no_agent.stderr
    assert (
        "remove the setting `nodes`"
        in suite.typed(f"{MATRIX} --vary nodes=1,2 --output {tmp_path}/out", *where).stderr
    )


def test_a_name_of_a_board_that_answers_late_is_refused_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Names:
        hosts = ("one", "again")
        is_lost = True

        async def admitted(self, host: str, _: object) -> str:
            if host == "again" and self.is_lost:
                self.is_lost = False
                raise BoardLost("no route to host")
            return "0123456789abcdef"

    async def fetch(*_: object) -> None:
        pass

    monkeypatch.setattr("suite.experiments.boards.RETRY_S", 0)
    monkeypatch.setattr(_Spread, "_fetch", fetch)
    runs = [SimpleNamespace(point=name, label=name) for name in Names.hosts]
    matrix = SimpleNamespace(runs=runs, plan=SimpleNamespace(points=runs))
    spread = _Spread(matrix, Names(), tmp_path, None, silent, True)
    jobs = [_Job(number, run, None, run.point) for number, run in enumerate(runs, 1)]
    (said,) = asyncio.run(spread.make(jobs)).items()
    assert said == (
        "again",
        "its run was not made: again refuses the runs (it is the same machine as one)",
    )


@pytest.mark.parametrize(
    ("answers", "ends"),
    [
        ("fmfm", ""),  # the third try is the last one
        ("fmff", "failed 3 times, the last time on one: no card"),
        ("llfllmm", ""),  # twice in a row, and twice again after it answered
        ("lmlll", "All boards were lost, with 1 run still to make"),
    ],
)
def test_a_run_has_three_tries_and_a_board_is_lost_three_times_in_a_row(
    answers: str, ends: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Made, failed or lost."""
    script = iter(answers)

    async def fetch(*_: object) -> None:
        error = {"f": RunFailed("no card"), "l": BoardLost("no route"), "m": None}[next(script)]
        if error is not None:
            raise error

    async def admitted(*_: object) -> str:
        return "0123456789abcdef"

    monkeypatch.setattr("suite.experiments.boards.RETRY_S", 0)
    monkeypatch.setattr(_Spread, "_fetch", fetch)
    runs = [SimpleNamespace(point=name, label=name) for name in "ab"]
    matrix = SimpleNamespace(runs=runs, plan=SimpleNamespace(points=runs))
    boards_ = SimpleNamespace(hosts=("one",), admitted=admitted)
    spread = _Spread(matrix, boards_, tmp_path, None, silent, False)
    jobs = [_Job(number, run, None, None) for number, run in enumerate(runs, 1)]
    if ends:
        with pytest.raises(SuiteError, match=ends):
            asyncio.run(spread.make(jobs))
    else:
        assert asyncio.run(spread.make(jobs)) == {}
    assert next(script, "all have answered") == "all have answered"


def test_a_board_keeps_its_number_and_new_ones_follow(tmp_path: Path) -> None:
    assert board_numbers(tmp_path, ["b", "a"]) == {"b": 1, "a": 2}
    (tmp_path / ".boards.json").write_text('{"a": 1, "b": 2}')
    assert board_numbers(tmp_path, ["c", "b"]) == {"a": 1, "b": 2, "c": 3}


def test_a_task_survives_its_way() -> None:
    definition = MatrixDefinition(
        seeds=2,
        cool_to_c=45.0,
        vary=Vary(cpu_quota=(0.5, 1.0)),
        points=(Values(framework="fake", jetson_clocks=True),),
    )
    task = BoardTask(
        definition,
        RunOptions(Division.OPEN, "auto", "lenet", "fake", steps=10),
        "a-r1",
        ("suite", "sweep"),
    )
    assert read_task(task.to_line()) == task
    for line in (
        b"{}\n",
        b"[]\n",
        b"nothing\n",
        task.to_line().replace(b"cool_to_c", b"cool_to_f"),
    ):
        with pytest.raises(SuiteError, match="install the same one on all boards"):
            read_task(line)


def test_a_board_chooses_what_was_not_typed() -> None:
    assert {"platform", "threads", "accelerator"} <= keys_of_the_machine(
        RunOptions(Division.OPEN, "auto", "lenet", "fake")
    )
    assert not {"platform", "threads"} & keys_of_the_machine(
        RunOptions(Division.OPEN, "orin", "lenet", "fake", threads=2)
    )
