"""Matrices: planned from the command line or a file, refused whole before the first run, with power
modes put back."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

import reporter
from reporter.data.frames import STUDIED
from suite.bundle.reader import Bundle
from suite.bundle.study_mark import read_mark
from suite.catalog.divisions import Division
from suite.catalog.study_definitions import load_study
from suite.errors import SuiteError
from suite.execution.events import CostEstimated
from suite.execution.request import PageCache, RunOptions
from suite.experiments import planned_runs as matrix_runs
from suite.experiments.cooling import cool_down, hottest_c, refuse_without_sensor
from suite.experiments.matrix_cost import estimate_matrix_cost
from suite.experiments.matrix_plan import (
    MatrixDefinition,
    Order,
    PlannedMatrix,
    Values,
    Vary,
    matrix_of_study,
    parse_vary,
    plan_matrix,
    read_matrix_file,
    with_varied,
)
from suite.experiments.planned_runs import resolve_planned, run_matrix, validate_requests
from suite.files.paths import repository_root
from suite.launch.isolation import Isolation
from suite.launch.placement import Placement
from suite.machine.limits import read_limit
from suite.machine.modes.requested_mode import RequestedMode
from suite.metrics.matrix_record import MatrixPointPlan, VariedSetting, read_matrix
from tests.conftest import Run
from tests.disks import simulated_disk
from tests.simulated_board import settings_of, simulated_board

OPTIONS = RunOptions(
    division=Division.OPEN,
    device="generic",
    workload="lenet",
    framework="fake",
    data="digits",
    steps=10,
)
LENET = "--workload lenet --framework fake --data digits"
MATRIX = f"sweep {LENET} --vary batch_size=8,16 --vary threads=1,2"
SHORT = "--steps 10 --seeds 2"


def planned(definition: MatrixDefinition) -> PlannedMatrix:
    return plan_matrix(replace(definition, device="generic"), OPTIONS)


def order_of(matrix: PlannedMatrix) -> list[tuple[str, int]]:
    return [(run.label.rpartition(", run ")[0], run.repetition) for run in matrix.runs]


def test_a_grid_has_every_combination_and_each_seed_is_a_round() -> None:
    matrix = planned(
        MatrixDefinition(seeds=2, vary=parse_vary(["batch_size=8,16", "framework=fake,pytorch"]))
    )
    assert [label for label, _ in order_of(matrix)[:4]] == [
        "framework fake, batch_size 8",
        "framework fake, batch_size 16",
        "framework pytorch, batch_size 8",
        "framework pytorch, batch_size 16",
    ]
    assert [run.options.seed for run in matrix.runs] == [1] * 4 + [2] * 4
    assert [(run.options.framework, run.options.batch_size) for run in matrix.runs[:2]] == [
        ("fake", 8),
        ("fake", 16),
    ]


def test_a_matrix_over_workloads_names_the_data_of_each() -> None:
    definition = MatrixDefinition(seeds=1, vary=parse_vary(["workload=lenet,vgg11"]))
    plan = plan_matrix(definition, replace(OPTIONS, data=None)).plan
    assert (plan.workload, plan.data) == ("lenet, vgg11", "mnist, cifar10")


def test_the_page_names_every_setting_of_a_matrix() -> None:
    page = (repository_root() / "docs/tuning.md").read_text(encoding="utf-8")
    rows = page.partition("| setting | value |")[2].partition("\n\n")[0].splitlines()
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row.rpartition(" | ")[0])}
    assert vars(Values()).keys() <= named


def test_a_list_of_points_is_run_as_it_is() -> None:
    points = (Values(batch_size=8, threads=1), Values(batch_size=64, threads=2))
    assert order_of(planned(MatrixDefinition(seeds=1, points=points))) == [
        ("batch_size 8, threads 1", 1),
        ("batch_size 64, threads 2", 1),
    ]


def test_random_points_are_drawn_from_the_grid_and_are_the_same_again() -> None:
    definition = MatrixDefinition(
        seeds=1, random=20, vary=Vary(batch_size=tuple(range(8, 108)), threads=(1, 2, 4))
    )
    drawn = order_of(planned(definition))
    assert len(set(drawn)) == 20 and drawn == order_of(planned(definition))
    assert drawn != order_of(planned(replace(definition, draw_seed=2)))
    with pytest.raises(SuiteError, match="the grid has 300 points"):
        planned(replace(definition, random=301))


def test_a_shuffled_order_differs_between_rounds_and_is_the_same_again() -> None:
    definition = MatrixDefinition(
        seeds=2, order=Order.SHUFFLED, vary=Vary(batch_size=tuple(range(8, 28)))
    )
    order = order_of(planned(definition))
    first, second = (
        [label for label, number in order if number == 1],
        [label for label, number in order if number == 2],
    )
    assert (
        first != second
        and sorted(first) == sorted(second)
        and order == order_of(planned(definition))
    )


def test_a_runs_folder_does_not_depend_on_the_other_points() -> None:
    few, many = (
        planned(MatrixDefinition(seeds=1, vary=Vary(batch_size=sizes)))
        for sizes in ((8, 16), (4, 8, 16))
    )
    assert {run.folder for run in few.runs} < {run.folder for run in many.runs}
    fixed = planned(
        MatrixDefinition(seeds=1, vary=Vary(batch_size=(8, 16)), fixed=Values(cores="1"))
    )
    assert not {run.folder for run in few.runs} & {run.folder for run in fixed.runs}


def test_no_record_names_the_owner_of_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "pictures").mkdir()
    matrix = planned(MatrixDefinition(seeds=1, vary=Vary(data=(str(tmp_path / "pictures"),))))
    assert str(tmp_path) not in matrix.plan.points[0].label and matrix.runs[0].options.data == str(
        tmp_path / "pictures"
    )


def test_every_setting_reaches_its_run() -> None:
    values = Values(
        framework="fake",
        page_cache=PageCache.WARM,
        meters="cpu,load",
        power_mode="MAXN",
        cores="2",
        gpu_mhz=905,
        jetson_clocks=True,
    )
    (run,) = planned(MatrixDefinition(seeds=1, points=(values,))).runs
    assert (run.page_cache, run.values.meters) == (PageCache.WARM, "cpu,load")
    assert run.values.mode == RequestedMode("MAXN", cores="2", gpu_mhz=905, jetson_clocks=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["batch_size"], "has no values"),
        (["threads=1", "threads=2"], "given twice"),
        (["page_cache=tepid"], "expected one of cold, warm"),
    ],
)
def test_a_typo_is_refused_with_the_nearest_name(options: list[str], words: str) -> None:
    with pytest.raises(SuiteError, match=words):
        parse_vary(options)


def test_a_file_has_the_whole_matrix_and_its_typos_are_named(tmp_path: Path) -> None:
    file = tmp_path / "matrix.toml"
    text = (
        'title = "T"\nworkload = "lenet"\nseeds = 2\norder = "shuffled"\n[vary]\nframework ='
        ' ["fake"]\nbatch_size = [8, 16]\n[fixed]\nsteps = 12\n'
    )
    file.write_text(text)
    matrix = planned(read_matrix_file(file))
    assert (matrix.plan.title, len(matrix.runs), matrix.runs[0].options.steps) == ("T", 4, 12)
    for wrong, words in (
        (
            text.replace("batch_size", "batch_sizes"),
            r"vary\.there is no key 'batch_sizes'; did you mean 'batch_size'",
        ),
        (
            text.replace("[8, 16]", "[]"),
            r"vary\.batch_size has no values; list some, or leave it out",
        ),
    ):
        file.write_text(wrong)
        with pytest.raises(SuiteError, match=rf"matrix\.toml: {words}"):
            read_matrix_file(file)


@pytest.mark.parametrize(
    "file",
    sorted((repository_root() / "examples/matrices").glob("*.toml")),
    ids=lambda file: file.stem,
)
def test_every_example_can_be_planned(file: Path) -> None:
    matrix = plan_matrix(
        replace(read_matrix_file(file), device="generic"), replace(OPTIONS, steps=None, data=None)
    )
    assert len({run.folder for run in matrix.runs}) == len(matrix.runs) >= 12
    assert file.name in file.read_text().split("title")[0], "the comment has the command"


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        (MatrixDefinition(), "needs either varied settings .* or a list"),
        (MatrixDefinition(vary=Vary(threads=(1,)), points=(Values(threads=1),)), "not both"),
        (MatrixDefinition(vary=Vary(threads=(1, 2, 1))), "threads has the value 1 twice"),
        (
            MatrixDefinition(vary=Vary(threads=(1, 2)), fixed=Values(threads=1)),
            "threads is both varied and fixed",
        ),
        (
            MatrixDefinition(points=(Values(threads=1), Values(batch_size=8))),
            "values for the same settings",
        ),
        (
            MatrixDefinition(points=(Values(threads=1), Values(threads=1))),
            r"The point \(threads 1\) is listed twice",
        ),
        (MatrixDefinition(vary=Vary(steps=(3, 40))), "choose more --steps"),
        (MatrixDefinition(vary=Vary(nodes=(2,))), r"the number of hosts in --hostfile \(0\)"),
        (
            MatrixDefinition(vary=Vary(batch_size=tuple(range(1000)), threads=tuple(range(1000)))),
            "draw points with --random",
        ),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    definition: MatrixDefinition, words: str
) -> None:
    with pytest.raises(SuiteError, match=words):
        planned(definition)


def test_a_study_is_a_matrix_of_one_setting_that_can_be_varied_further() -> None:
    study = matrix_of_study(load_study("prefetch"))
    matrix = planned(with_varied(study, parse_vary(["workers=1,2", "framework=fake"])))
    assert (
        matrix.plan.variables == ("framework", "workers", "prefetch")
        and len(matrix.runs) == 2 * 3 * 3
    )
    assert {(run.options.workers, run.options.steps) for run in matrix.runs} == {(1, 45), (2, 45)}
    with pytest.raises(SuiteError, match="prefetch is varied by the study already"):
        with_varied(study, parse_vary(["prefetch=1"]))
    with pytest.raises(SuiteError, match="scaling model"):
        matrix_of_study(load_study("scaling"))


def test_everything_that_is_wrong_is_said_before_the_first_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = simulated_board(tmp_path / "board")
    definition = MatrixDefinition(
        seeds=1,
        vary=Vary(power_mode=("MAXM",), cores=("2", "99")),
        cool_to_c=40.0,
        needs_power=True,
    )
    matrix = planned(
        replace(
            definition,
            fixed=Values(framework="fake", threads=1, meters="rpi5-pmic", cpu_quota=64.0),
        )
    )
    requests = resolve_planned(matrix, tmp_path / "out", to_show=True)
    monkeypatch.setattr(
        shutil, "disk_usage", lambda place: SimpleNamespace(total=0, used=0, free=0)
    )
    monkeypatch.setattr(matrix_runs, "baseload_meters", lambda meters: ())
    with pytest.raises(SuiteError) as refused:
        validate_requests(matrix, requests, tmp_path / "out", board)
    said = str(refused.value)
    sentences = (
        "did you mean 'MAXN'",
        "has 0 MiB free",
        "needs a temperature sensor",
        "No power meter is available",
        "'rpi5-pmic' cannot be read here",
        "its power mode has 2 cores online",
    )
    for words in sentences:
        assert words in said, said
    assert not (tmp_path / "out").exists()


def test_names_of_every_point_are_judged_at_once(tmp_path: Path) -> None:
    matrix = planned(
        MatrixDefinition(seeds=2, vary=Vary(framework=("fake", "pytorhc"), workers=(0, 1000)))
    )
    with pytest.raises(SuiteError) as refused:
        resolve_planned(matrix, tmp_path, to_show=True)
    assert "did you mean 'pytorch'" in str(refused.value) and "--workers must be between" in str(
        refused.value
    )


def test_each_run_has_its_power_mode_and_all_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = simulated_board(tmp_path / "board")
    before, held = settings_of(board), []

    def end_the_third(*_: object, **__: object) -> None:
        held.append(settings_of(board)["sys/class/devfreq/17000000.gv11b/max_freq"])
        if len(held) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr("suite.experiments.sweep_runs.run_one", end_the_third)
    monkeypatch.setattr(
        matrix_runs,
        "resolve_planned",
        lambda *given, **named: resolve_planned(*given, **named, to_show=True),
    )
    matrix = planned(MatrixDefinition(seeds=2, vary=Vary(gpu_mhz=(905, 1377))))
    with pytest.raises(KeyboardInterrupt):
        run_matrix(matrix, tmp_path / "out", system_root=board)
    assert held == ["905250000", "1377000000", "905250000"]
    assert settings_of(board) == before


def test_limits_reach_the_run_and_its_mark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    simulated_disk(tmp_path, "/")
    monkeypatch.setattr(
        matrix_runs, "read_limit", lambda mb_s, folder: read_limit(mb_s, folder, tmp_path)
    )
    matrix = planned(
        MatrixDefinition(
            seeds=1,
            vary=Vary(read_mb_s=(5.0, 80.0)),
            fixed=Values(cpu_quota=0.5, memory_mb=500.0, neighbours=1),
        )
    )
    slow, _ = resolve_planned(matrix, tmp_path, to_show=True)
    assert [limit.setting for limit in slow.limits] == [
        "cpu_quota 0.5",
        "memory_mb 500",
        "read_mb_s 5",
    ]
    assert slow.study is not None and dict(slow.study.settings) == {
        "read_mb_s": "5",
        "cpu_quota": "0.5",
        "memory_mb": "500",
        "neighbours": "1",
    }
    assert slow.study.emulated_reads == "5"


def test_neighbours_reach_the_run_and_its_mark(tmp_path: Path) -> None:
    alone, shared = resolve_planned(
        planned(MatrixDefinition(seeds=1, vary=Vary(neighbours=(0, 1)))), tmp_path, to_show=True
    )
    assert (alone.neighbours, shared.neighbours) == (0, 1)
    assert shared.study is not None and dict(shared.study.settings) == {"neighbours": "1"}
    with pytest.raises(SuiteError, match="neighbours -1: choose 0 to"):
        planned(MatrixDefinition(seeds=1, vary=Vary(neighbours=(-1,))))


def test_neighbours_are_refused_beside_several_ranks() -> None:
    """Ranks wait for the harness for some seconds only, and it waits for neighbours."""
    several = replace(OPTIONS, placement=Placement(ranks_per_node=2))
    with pytest.raises(SuiteError, match="neighbours is for one rank; leave --ranks-per-node out"):
        plan_matrix(MatrixDefinition(device="generic", vary=Vary(neighbours=(0, 1))), several)
    assert plan_matrix(MatrixDefinition(device="generic", vary=Vary(neighbours=(0,))), several).runs


def test_a_container_and_a_limit_of_a_cgroup_contradict_each_other() -> None:
    with pytest.raises(
        SuiteError,
        match=r"memory_mb does not limit podman.s containers.*set `isolation` to namespace",
    ):
        planned(
            MatrixDefinition(
                seeds=1, vary=Vary(memory_mb=(100.0,)), fixed=Values(isolation=Isolation.PODMAN)
            )
        )


@pytest.mark.proof
def test_a_run_with_a_neighbour_shares_the_machine_and_leaves_no_process(
    suite: Run, digits: Path, tmp_path: Path
) -> None:
    more = f"--epochs 2 --seeds 1 --output {tmp_path}/matrix"
    suite.done(f"sweep {LENET} --vary neighbours=0,1 {more}")
    frames = reporter.load([tmp_path / "matrix"])
    assert sorted(frames.points["neighbours"]) == [0, 1]
    assert not [
        one
        for one in psutil.process_iter(["cmdline"])
        if "neighbour-" in " ".join(one.info["cmdline"] or ())
    ]


def test_threads_follow_the_cores_of_the_mode(tmp_path: Path) -> None:
    board = simulated_board(tmp_path / "board")
    # LeNet-5 has one thread, whatever the machine has
    options = replace(OPTIONS, workload="resnet18", framework="pytorch", data=None)
    matrix = plan_matrix(
        MatrixDefinition(seeds=1, device="generic", vary=Vary(power_mode=("MAXN", "MODE_15W"))),
        options,
    )
    assert [
        each.training.threads
        for each in resolve_planned(matrix, tmp_path, to_show=True, system_root=board)
    ] == [8, 4]
    matrix = planned(MatrixDefinition(seeds=1, vary=Vary(cores=("1", "0,2-3"), threads=(2,))))
    assert [
        each.training.threads
        for each in resolve_planned(matrix, tmp_path, to_show=True, system_root=board)
    ] == [2, 2]


def test_a_quota_is_judged_by_the_cores_of_the_mode(tmp_path: Path) -> None:
    board = simulated_board(tmp_path / "board")
    (board / "sys/devices/system/cpu/online").write_text("0-3\n")

    def refused(cores: str, cpu_quota: float) -> str:
        fixed = Values(cores=cores)
        matrix = planned(MatrixDefinition(seeds=1, vary=Vary(cpu_quota=(cpu_quota,)), fixed=fixed))
        requests = resolve_planned(matrix, tmp_path / "out", to_show=True, system_root=board)
        with pytest.raises(SuiteError, match="no cgroup controller") as error:
            validate_requests(matrix, requests, tmp_path / "out", board)
        return str(error.value)

    assert "limits nothing" not in refused("8", 6.0)
    assert "cpu_quota 4 limits nothing, because its power mode has 2 cores" in refused("2", 4.0)


def test_a_run_waits_until_the_machine_is_cool(tmp_path: Path) -> None:
    zone = tmp_path / "sys/class/thermal/thermal_zone0"
    zone.mkdir(parents=True)
    (zone / "type").write_text("cpu")
    (zone / "temp").write_text("61500")
    reported: list[float] = []
    falling = iter((52000, 44900))
    ended_c = cool_down(
        45.0,
        900,
        reported.append,
        tmp_path,
        wait=lambda _: (zone / "temp").write_text(str(next(falling))) and None,
    )
    assert (reported, ended_c, hottest_c(tmp_path)) == ([61.5], 44.9, 44.9)
    with pytest.raises(SuiteError, match=r"still at 44\.9 degC after 0 s"):
        cool_down(20.0, 0, reported.append, tmp_path, wait=lambda _: None)
    (zone / "temp").write_text("-256000")  # switched off
    for root in (tmp_path, tmp_path / "nothing"):
        with pytest.raises(SuiteError, match=r"a temperature sensor: neither .*; a virtual"):
            refuse_without_sensor(root)


@pytest.mark.proof
def test_a_matrix_from_one_command_to_a_notebook(suite: Run, digits: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = suite.done(f"{MATRIX} {SHORT} --output {out} --json")
    assert "8 runs to make; how long they take is unknown" in answer.stderr
    record = json.loads(answer.stdout)
    assert json.loads((out / "matrix.json").read_text()) == {
        name: value for name, value in record.items() if name not in ("format", "path")
    }
    assert len(read_matrix(out).points) == 4
    frames = reporter.load([out])
    assert (
        set(frames.runs["state"]) == {STUDIED}
        and len(frames.entries) == 4
        and len(frames.measured().runs) == 8
    )
    assert sorted(
        frames.points[["batch_size", "threads"]]
        .drop_duplicates()
        .itertuples(index=False, name=None)
    ) == [(8, 1), (8, 2), (16, 1), (16, 2)]
    means = (
        frames.figures.query("figure == 'step_s'")
        .merge(frames.points, on="run_id")
        .groupby(["batch_size", "threads"])["value"]
        .mean()
    )
    assert len(means) == 4 and means.notna().all()
    pairs = reporter.compare(frames, by="batch_size", figure="step_s")
    assert [(pair.where, pair.value, pair.base, pair.reason) for pair in pairs] == [
        (f"threads {each}", "8", "16", None) for each in (1, 2)
    ]
    (mark,) = {read_mark(Bundle(path.parent).run().study) for path in out.glob("8_1-*-r1/run.json")}
    assert mark is not None and mark.settings == (("batch_size", "8"), ("threads", "1"))
    again = suite.typed(f"{MATRIX} {SHORT} --output {out}")
    assert again.stderr.count("finished before, kept") == 8 and "0 runs to make" in again.stderr
    other = suite.refused(f"sweep {LENET} --vary workers=0,1 {SHORT} --output {out}")
    assert "holds another sweep, over batch_size, threads; choose another --output" in other.stderr
    fewer = suite.done(f"sweep {LENET} --vary batch_size=8 --vary threads=1 {SHORT} --output {out}")
    assert "6 runs in" in fewer.stderr and "belong to no point of this matrix" in fewer.stderr


@pytest.mark.proof
def test_what_is_left_is_estimated_from_finished_runs(
    suite: Run, digits: Path, suite_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUITE_HOME", str(suite_home))
    first = f"--steps 10 --seeds 1 --output {tmp_path}/first"
    suite.done(f"sweep {LENET} --vary batch_size=8,16 {first}")
    requests = resolve_planned(
        planned(MatrixDefinition(seeds=3, vary=Vary(batch_size=(8, 16)))), tmp_path / "second"
    )
    found = estimate_matrix_cost(requests, tmp_path / "second")
    assert (
        isinstance(found, CostEstimated)
        and found.runs == 6
        and found.time_s is not None
        and 0 < found.time_s < 600
    )
    other = [
        replace(request, training=request.training._replace(framework="pytorch"))
        for request in requests
    ]
    assert estimate_matrix_cost(other, tmp_path / "second").time_s is None


def test_nothing_to_vary_is_refused_with_what_to_type(suite: Run) -> None:
    assert (
        "need --study" in suite.typed("sweep --vary threads=1 --values 2 --workload lenet").stderr
    )


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("cpu_mhz", "CPU clock 1190 MHz"),
        ("npu_mhz", "NPU clock 1190 MHz"),
        ("swap_mb", "swap 1190 MB"),
        ("read_mb_s", "emulated reads 1190 MB/s"),
        ("batch_size", "batch size 1190"),
    ],
)
def test_a_settings_words_and_unit_follow_from_its_name(setting: str, words: str) -> None:
    """Two of them are not there: one that is added needs no second place."""
    assert MatrixPointPlan("point", (VariedSetting(setting, "1190"),)).words == words
