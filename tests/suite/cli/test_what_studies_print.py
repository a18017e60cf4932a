"""What audits, reviews, replications, LINPACK and sweeps print for a person, of records made for
it."""

import json
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from suite.catalog.divisions import Division
from suite.cli import audit, linpack_rate, reproduce, review, sweep, sweep_matrix
from suite.cli.app import app
from suite.cli.options import TrainingOptions
from suite.errors import SuiteError
from suite.launch.placement import Placement
from suite.metrics.audit_record import AuditVerdict
from suite.metrics.figure import Figure


def of(**fields: Any) -> Any:
    """A record with these fields."""
    return SimpleNamespace(**fields)


def figure(value: float | None, spread: float | None = None) -> Figure:
    return Figure(value, "", "log", 1, spread=spread, reason=None if value is not None else "none")


def words(found: Iterable[str]) -> list[list[str]]:
    return [line.split() for line in found]


PROBLEM = of(size=20_000, block=192, rows=2, columns=4)


def linpack(**changes: Any) -> Any:
    power = of(gflops_per_watt=0.51, energy_j=4100.0, low_j=4000.0, high_j=4200.0, method="by rail")
    given = {
        "solution": of(gflops=31.416, problem=PROBLEM, time_s=170.0, residual=0.0042),
        "power": power,
        "kind": "HPL",
        "ranks": 8,
        "nodes": 2,
        "gflops_per_node": 15.708,
        "triad": of(alone_gb_s=9.5, together_gb_s=2.5),
        "load": of(during=0.41, cores=8),
        "blas": None,
    }
    return of(**{**given, **changes})


def test_a_linpack_rate_is_said_with_what_it_is_of() -> None:
    said = list(linpack_rate._lines(linpack()))
    assert said[0] == "31.42 GFLOPS (HPL, N=20000, 8 ranks on 2 nodes, 170 s)"
    assert said[1] == "per node: 15.71 GFLOPS"
    assert said[2].endswith("9.5 GB/s with one rank, 2.5 GB/s per rank with all ranks")
    assert said[3].startswith("busy: other programs used 0.41 of 8 cores")
    assert said[4].endswith(
        "BLAS unknown: no known library was loaded; it may be linked statically"
    )
    assert said[5] == (
        "GFLOPS per watt: 0.51; energy while solving: 4100 J, 95 %: 4000 to 4200 J (by rail)"
    )
    unmeasured = of(gflops_per_watt=None, reason="no sensor")
    alone = linpack(
        nodes=1, kind="LU", triad=None, load=of(during=0.4, cores=8), power=unmeasured, blas="ESSL"
    )
    said = list(linpack_rate._lines(alone))
    assert len(said) == 3, "a twentieth of the cores is not busy"
    assert "SciPy's LU, which is not HPL" in said[0] and said[1].endswith("BLAS ESSL")
    assert said[2] == "GFLOPS per watt: unknown (no sensor)"
    no_interval = of(gflops_per_watt=0.5, energy_j=4.0, low_j=None, high_j=None, method="by rail")
    assert (
        "energy while solving: 4 J (by rail)"
        in list(linpack_rate._lines(linpack(power=no_interval)))[-1]
    )


def test_points_of_a_linpack_study_have_their_columns() -> None:
    point = of(
        problem=PROBLEM,
        nodes=2,
        ranks=8,
        gflops=figure(31.416, 0.2),
        efficiency=figure(0.93),
        peak_share=figure(0.5),
        energy_j=figure(None),
        gflops_per_watt=figure(0.75),
        triad_gb_s=figure(9.5),
    )
    head, row, note = words(linpack_rate.table(of(points=[point], notes=["a note"])))
    assert head[:5] == ["nodes", "ranks", "order", "block", "grid"] and note == ["a", "note"]
    assert " ".join(row) == "2 8 20000 192 2 x 4 31.42 ± 0.2 93 % 50 % unknown 0.75 9.5"
    assert linpack_rate.whole_numbers("1, 2,,4") == (1, 2, 4)
    assert linpack_rate.whole_numbers(None) is None
    with pytest.raises(SuiteError, match="--nodes '1;2' is not a list"):
        linpack_rate.whole_numbers("1;2")


def test_points_of_a_scaling_study_and_what_its_model_projects() -> None:
    figures = of(
        step_s=figure(0.0123, 0.0004),
        samples_per_s=figure(1300.0),
        exchange_share=figure(0.25),
        efficiency=figure(0.8),
    )
    point = of(value="2", ranks=4, figures=figures)

    def projection(ranks: int, is_measured: bool) -> Any:
        share, step = of(value=0.5), of(value=0.02, low=0.015, high=0.025)
        return of(ranks=ranks, is_measured=is_measured, step_s=step, efficiency=share)

    shown = sweep.SHOWN_RANKS
    fit = of(
        algorithm=of(value="ring"),
        parameters=[of(name="latency", value=0.00123, low=0.001, high=0.0015)],
        projections=[
            projection(shown[0], True),
            projection(shown[-1], False),
            projection(3, False),
        ],
    )
    study = of(
        plan=of(varied="batch-size", scaling=True),
        points=[point],
        model=of(fits=[fit], notes=["of the model"]),
        model_reason=None,
        notes=["of the study"],
    )
    said = words(sweep.table(study))
    assert " ".join(said[1]) == "2 4 12.3 ± 0.4 1300 25 % 80 %"
    lines = list(sweep.table(study))
    assert "\nring: latency 0.00123 (0.001 to 0.0015)" in lines
    projected = [line for line in lines if "projection" in line]
    assert len(projected) == 1 and f"{shown[-1]:3} ranks: 20 ms a step (15 to 25)" in projected[0]
    assert projected[0].endswith("efficiency 50 %")
    assert lines[-2:] == ["of the model", "note: of the study"]
    by_ranks = of(
        plan=of(varied="ranks", scaling=True),
        points=[of(value="4", ranks=4, figures=figures)],
        model=None,
        model_reason="two points are too few",
        notes=[],
    )
    said = words(sweep.table(by_ranks))
    assert said[1][:2] == ["4", "12.3"], "ranks are said once"
    assert said[2] == ["No", "model:", "two", "points", "are", "too", "few"]


def test_boards_that_differ_are_said_where_there_are_several() -> None:
    boards = [
        of(name="step", variation=0.0312, count=4, outliers=()),
        of(name="energy", variation=None, count=1, outliers=()),
    ]
    said = list(sweep_matrix._between_boards(of(boards=boards)))
    assert said == ["step: coefficient of variation 3.12% over 4 boards"]
    assert list(sweep_matrix._between_boards(of(boards=None))) == []


def test_a_replication_says_both_values_and_the_honest_limit() -> None:
    accuracies = of(original=0.9912, fresh=0.985, standard_error=0.00123, epoch=4)
    assert reproduce._accuracies(accuracies) == (
        "original 99.12%, here 98.50%, after epoch 4; standard error 0.12 points"
    )
    for missing in ("original", "fresh", "standard_error"):
        assert reproduce._accuracies(of(**{**vars(accuracies), missing: None})) is None
    times = of(figure="time", ratio=1.02, level=0.05, low=0.98, high=1.06, false_alarm=0.025)
    assert reproduce._times(times) == (
        "the original's time is 1.020 times that of the fresh runs (95% interval: 0.980 to 1.060);"
        " the margin is 0.909 to 1.100; an honest run is refuted with a probability of at most 2.5%"
    )
    assert reproduce._times(of(ratio=None)) is None


def test_a_review_says_what_was_done_with_each_run(capsys: pytest.CaptureFixture[str]) -> None:
    agrees, contradicts = AuditVerdict.AGREES, AuditVerdict.CONTRADICTS
    runs = {
        "run-1": of(
            epoch=3,
            audit=of(state=of(), verdict=contradicts),
            reason="other losses",
            manifest_sha256="1",
        ),
        "run-2": of(
            epoch=None, audit=of(state=None, verdict=agrees), reason=None, manifest_sha256="2"
        ),
        "run-3": of(epoch=5, audit=None, reason="no state was handed in", manifest_sha256="3"),
    }
    models = {
        name: of(is_equivalent=is_equivalent, reason=reason)
        for name, is_equivalent, reason in (
            ("a", True, None),
            ("b", False, "loss"),
            ("c", None, "no probe"),
        )
    }
    record = of(
        submission="vendor",
        verdict=contradicts,
        time_s=61.4,
        runs=runs,
        models=models,
        draws=(),
        replaced=lambda present: {"run-2", "run-1", "run-9"} if present == {"1", "2", "3"} else {},
    )
    review._show("review.json", record)  # type: ignore[arg-type]
    assert capsys.readouterr().out.splitlines() == [
        f"vendor: {contradicts.value}, 61 s",
        "  run-1: drawn epoch 3; replay of the first steps and of steps from the drawn epoch's"
        f" state: {contradicts.value}; other losses",
        f"  run-2: replay of the first steps: {agrees.value}",
        "  run-3: drawn epoch 5; not replayed; no state was handed in",
        "  model a: equivalent",
        "  model b: not equivalent; loss",
        "  model c: no verdict; no probe",
        "  run-1 was handed in again after its epoch was drawn",
        "  run-2 was handed in again after its epoch was drawn",
        "Commit review.json and its signature.",
    ]


def audited(verdict: AuditVerdict, **changes: Any) -> Any:
    step = of(step=7, observed=2.25, expected=2.5, difference=0.1, tolerance=1e-4)
    given = {
        "replayer": of(framework="pytorch", framework_version="2.9.0", data_verified=True),
        "bundle": of(run_id="lenet-1", framework="tensorflow"),
        "comparison": of(step=step, verdict=verdict),
        "verdict": verdict,
        "steps": 30,
        "time_s": 12.0,
        "reason": None,
        "state": None,
        "rate_error_found": 0.0331,
    }
    return of(**{**given, **changes})


def test_an_audit_says_what_it_would_have_found_and_what_it_did_not_look_at(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def shown(record: Any) -> str:
        audit._show(record)
        return capsys.readouterr().out

    said = shown(audited(AuditVerdict.AGREES))
    assert said.startswith(f"lenet-1: {AuditVerdict.AGREES.value}, 30 steps in PyTorch 2.9.0, 12 s")
    assert "step nearest to its tolerance: 7, loss 2.25, expected 2.5\n  difference 1.0e-01" in said
    assert "learning rate (errors of 3.31% or more would show)" in said
    assert "not checked: later steps, precision, times, energy, accuracy and device\n" in said
    said = shown(audited(AuditVerdict.CONTRADICTS, reason="other losses"))
    assert "first step beyond its tolerance: 7" in said and "not checked" not in said
    assert "\n  other losses\n" in said
    first_agree = of(step=audited(AuditVerdict.AGREES).comparison.step, verdict=AuditVerdict.AGREES)
    said = shown(audited(AuditVerdict.CONTRADICTS, comparison=first_agree))
    assert "step nearest to its tolerance: 7" in said, "the drawn state contradicts it, not a step"
    unverified = of(framework="pytorch", framework_version=None, data_verified=False)
    said = shown(audited(AuditVerdict.AGREES, replayer=unverified, rate_error_found=None))
    assert "30 steps in PyTorch, 12 s" in said and "batch size\n" in said
    assert said.endswith("a difference may come from the data\n")
    figures = [
        of(name=name, observed=observed, low=0.1, high=0.2, is_within=is_within)
        for name, observed, is_within in zip(
            audit.FIGURES, (0.15, 0.25), (True, False), strict=False
        )
    ]
    after = of(steps=200, replayed=[1, 2, 3], judged=lambda: figures)
    state = of(
        value=None,
        epoch=4,
        verdict=AuditVerdict.CONTRADICTS,
        comparison=None,
        correct=9_900,
        replayed_correct=9_905,
        eval_samples=10_000,
        allowed_correct=3,
        epoch_after=after,
        program=None,
    )
    own = of(run_id="lenet-1", framework="somebody's")
    said = shown(audited(AuditVerdict.AGREES, state=state, bundle=own))
    assert f"state after epoch 4 (self-drawn): {AuditVerdict.CONTRADICTS.value}" in said
    assert "no step follows this state" in said
    assert (
        "samples classified correctly: 9900 of 10000 in the run, 9905 in the replay"
        " (may differ by at most 3)" in said
    )
    assert "the 200 steps after this state, compared with 3 replays" in said
    assert "0.15, honest 0.1 to 0.2\n" in said and "0.25, honest 0.1 to 0.2: contradicts\n" in said
    assert "other steps, times, energy and device, and the run's own program" in said


def test_what_was_typed_goes_before_a_matrix_s_file(tmp_path: Path) -> None:
    file = tmp_path / "matrix.toml"
    file.write_text('workload = "vgg11"\ndevice = "orin"\n[vary]\nthreads = [1, 2]\n')
    matrix = sweep_matrix.MatrixOptions(file=file)
    asked = matrix.definition(TrainingOptions(), None, None, None)
    assert (asked.workload, asked.division, asked.device) == ("vgg11", Division.OPEN, "orin")
    asked = matrix.definition(TrainingOptions(device="generic"), Division.CLOSED, "lenet", None)
    assert (asked.workload, asked.division, asked.device) == ("lenet", Division.CLOSED, "generic")
    file.write_text('vary.threads = [1, 2]\nfixed.workload = "vgg11"\n')
    assert matrix.definition(TrainingOptions(), None, "lenet", None).fixed.workload == "lenet"


@pytest.mark.parametrize(
    "varied",
    [
        'vary.workload = ["lenet", "vgg11"]',
        'points = [{ workload = "lenet" }, { workload = "vgg11" }]',
    ],
)
def test_workloads_that_a_sweep_varies_need_no_other_and_have_none_beside_them(
    varied: str, tmp_path: Path
) -> None:
    file = tmp_path / "matrix.toml"
    file.write_text(varied)
    matrix = sweep_matrix.MatrixOptions(file=file)
    asked = matrix.definition(TrainingOptions(), None, None, None)
    assert sweep_matrix._options(asked, TrainingOptions(), Placement()).workload == "lenet"
    with pytest.raises(SuiteError, match="The sweep varies workload; leave --workload out"):
        matrix.definition(TrainingOptions(), None, "resnet18", None)


def test_an_option_of_a_sweep_replaces_a_fixed_setting_and_no_varied_one(tmp_path: Path) -> None:
    file = tmp_path / "matrix.toml"
    fixed = 'framework = "pytorch", accelerator = "cuda"'
    file.write_text(f'workload = "lenet"\nvary.threads = [1, 2]\nfixed = {{ {fixed} }}\n')
    typed = ["sweep", "--file", str(file), "--framework", "fake", "--dry-run", "--json"]
    rows = json.loads(CliRunner().invoke(app, [*typed, "--accelerator", "cpu"]).stdout)["rows"]
    requests = [row["request"] for row in rows]
    assert {(each["framework"], each["accelerator"]) for each in requests} == {("fake", "cpu")}
    for words, name, value in (
        (typed, "threads", "4"),
        (["sweep", "--study", "threads"], "threads", "4"),
        (["sweep", "--vary", "accelerator=cpu"], "accelerator", "cuda"),
        (["sweep", "--vary", "collective=mpi,native"], "collective", "native"),
    ):
        refused = CliRunner().invoke(app, [*words, f"--{name}", value, "--workload", "lenet"])
        assert f"The sweep varies {name}; leave --{name} out" in str(refused.exception)


@pytest.mark.parametrize(
    "option", ["--workload lenet", "--division closed", "--weak", "--threads 7", "--values 5"]
)
def test_an_option_that_linpack_does_not_have_is_refused(
    option: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "suite.cli.linpack_rate.linpack_study", lambda *_: pytest.fail("it was started")
    )
    words = f"sweep --study linpack --nodes 1 {option}"
    refused = CliRunner().invoke(app, words.split())
    assert "out" in str(refused.exception) and option.split()[0] in str(refused.exception)


def test_a_dry_run_of_a_sweep_is_a_table_and_with_json_its_requests() -> None:
    words = "sweep --study batch-size --workload lenet --framework fake --repetitions 1 --dry-run"
    said = CliRunner().invoke(app, words.split()).stdout.splitlines()
    assert [line.split() for line in said[:2]] == [
        ["run", "batch_size", "seed", "epochs", "steps"],
        ["8-r1", "8", "1", "1", "45"],
    ]
    assert said[-1].startswith("4 runs in ")
    found = json.loads(CliRunner().invoke(app, [*words.split(), "--json"]).stdout)
    assert found["format"] == "sweep-requests/1" and len(found["rows"]) == 4


OF_DRY_RUN = "--framework fake --repetitions 1 --dry-run --json"


@pytest.mark.parametrize(
    ("study", "where", "ranks", "nodes"),
    [
        ("batch-size --values 64", "--ranks-per-node 2", 2, 1),
        ("batch-size --values 64", "--hostfile hosts.txt", 4, 2),
        ("scaling --values 1", "--hostfile hosts.txt", 2, 1),
    ],
)
def test_a_study_trains_on_the_hosts_and_ranks_that_were_typed(
    study: str,
    where: str,
    ranks: int,
    nodes: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One of nodes on the first of the hosts."""
    monkeypatch.chdir(tmp_path)
    Path("hosts.txt").write_text("pi1 slots=2\npi2 slots=2\n")
    words = f"sweep --study {study} --workload lenet {OF_DRY_RUN} {where}".split()
    (row,) = json.loads(CliRunner().invoke(app, words).stdout)["rows"]
    parallel = row["request"]["parallel"]
    assert (parallel["ranks"], parallel["nodes"]) == (ranks, nodes)


def test_ranks_beside_those_that_a_study_varies_are_refused() -> None:
    words = f"sweep --study scaling --workload lenet {OF_DRY_RUN} --ranks-per-node 2".split()
    refused = str(CliRunner().invoke(app, words).exception)
    assert refused.endswith("varies the ranks on this machine; leave --ranks-per-node out.")
