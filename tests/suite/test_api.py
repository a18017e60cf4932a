"""The library behind the command line: the script of docs/api.md, comparisons, sweeps and analyses;
nothing is printed."""

import inspect
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import reporter
from suite import api
from suite.bundle.reader import Bundle
from suite.compliance.rules.data import MAX_START_S
from suite.compliance.rules.readings import AROUND_LOG_S, BEFORE_LOG_S
from suite.execution import events
from suite.experiments.one_run import CannotComply
from suite.files.paths import repository_root
from tests.builders import Scenario, make_bundle

OPTIONS = api.RunOptions(
    division=api.Division.OPEN,
    device="auto",
    workload="lenet",
    framework="fake",
    data="digits",
    steps=10,
)


@pytest.fixture
def home(digits: Path, suite_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory; the digits are prepared."""
    monkeypatch.setenv("SUITE_HOME", str(suite_home))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def script() -> str:
    """The notebook-like script of the page."""
    return str(
        re.findall(
            r"```python\n(.*?)```", (repository_root() / "docs/api.md").read_text(), re.DOTALL
        )[0]
    )


@pytest.mark.proof
def test_the_pages_script_runs(home: Path, suite_home: Path) -> None:
    lines = [line for line in script().splitlines() if line.strip()]
    assert len(lines) <= 10
    command = [sys.executable, "-c", script()]
    answer = subprocess.run(
        command,
        cwd=home,
        env={"SUITE_HOME": str(suite_home), "PYTHONPATH": str(repository_root())},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    assert answer.stderr == ""
    assert "complies: True" in answer.stdout


@pytest.mark.parametrize(
    ("written", "holder"),
    [(r"\bapi", api), (r"\breporter", reporter), (r"\bBundle\(path\)", Bundle)],
    ids=["api", "reporter", "Bundle"],
)
def test_the_functions_that_the_page_names_exist(written: str, holder: object) -> None:
    page = (repository_root() / "docs/api.md").read_text(encoding="utf-8")
    named = set(re.findall(rf"{written}\.(\w+)\(", page))
    assert named and [name for name in named if not hasattr(holder, name)] == []


def test_the_calls_that_the_page_shows_fit_the_functions() -> None:
    """``x=…`` is given by its name, everything else may be given by its position."""
    page = (repository_root() / "docs/api.md").read_text(encoding="utf-8")
    rows = [row.split(" | ")[0] for row in page.splitlines() if row.startswith("| `")]
    calls = [call for row in rows for call in re.findall(r"`(\w+)\((.*?)\)`", row)]
    assert len(calls) > 15
    for name, written in calls:
        known = list(inspect.signature(getattr(api, name)).parameters)
        named = [each[:-2] for each in written.split(", ") if each.endswith("=…")]
        placed = [each.partition("=")[0] for each in written.split(", ") if "=…" not in each]
        assert placed == known[: len(placed)] and set(named) <= set(known), name


def test_the_timing_of_a_run_from_python_is_as_the_page_says(home: Path) -> None:
    page = (repository_root() / "docs/api.md").read_text(encoding="utf-8")
    assert "that of `suite run`, else synchronised" in page
    on_gpu = replace(OPTIONS, framework="pytorch", accelerator=api.Accelerator.CUDA)
    found = [api.resolve(each).training.timing for each in (replace(on_gpu, timing=None), on_gpu)]
    assert found == ["asynchronous", "synchronised"]


def test_a_run_reports_progress_and_prints_nothing(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[events.ProgressEvent] = []
    result = api.run(api.resolve(OPTIONS, home / "run"), progress=seen.append)
    assert (result.path, result.status) == (home / "run", "finished")
    kinds = [
        type(event)
        for event in seen
        if not isinstance(event, events.BaseloadStarted | events.Waiting)
    ]
    assert (kinds[0], kinds[-1]) == (events.RunStarted, events.RunEnded)
    assert {event.event.key for event in seen if isinstance(event, events.LogLine)} >= {
        "run_start",
        "run_stop",
    }
    assert api.check([result.path]).complies
    assert list(api.load([result.path]).runs["framework"]) == ["fake"]
    assert api.report([result.path], home / "site").is_file()
    with pytest.raises(api.SuiteError, match="'symlink'; it must be one of copy, link, archive"):
        api.report([result.path], home / "linked", evidence="symlink")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("division", "half-open", "expected one of closed, open"),
        ("seed", "1", "seed: expected a whole number"),
        ("threads", 1.5, "threads: expected"),
    ],
)
def test_an_option_of_another_type_is_refused_by_name(
    home: Path, name: str, value: object, said: str
) -> None:
    with pytest.raises(api.SuiteError, match=said):
        api.resolve(replace(OPTIONS, **{name: value}))  # type: ignore[arg-type]


@pytest.mark.parametrize("seconds", [-1.0, 1200.5, math.nan])
def test_a_baseload_that_the_rules_would_refuse_is_refused_before_the_run(
    home: Path, seconds: float
) -> None:
    """The first node is measured, then the others, then a framework takes minutes to load."""
    with pytest.raises(api.SuiteError, match="--baseload must be between 0 and 1200 s"):
        api.resolve(OPTIONS, baseload_s=seconds)
    assert 2 * api.MAX_BASELOAD_S + AROUND_LOG_S <= BEFORE_LOG_S
    assert api.MAX_BASELOAD_S + AROUND_LOG_S <= MAX_START_S


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "has no batch normalisation"),
        ({"workload": "resnet18", "collective": api.Collective.NATIVE}, "the suite's all-reduce"),
    ],
)
def test_only_what_is_normalised_can_be_synchronised(
    home: Path, changes: dict[str, Any], said: str
) -> None:
    synchronised = replace(
        OPTIONS, normalisation=api.Normalisation.SYNCHRONISED, placement=api.Placement((), 2)
    )
    with pytest.raises(api.SuiteError, match=said):
        api.resolve(replace(synchronised, **changes))


@pytest.mark.parametrize(
    ("framework", "precision", "said"),
    [
        (
            "fake",
            api.Precision.TF32,
            r"computes in float32, not in tf32; choose another --precision or --framework",
        ),
        ("pytorch", api.Precision.TF32, "No CPU computes in TF32; use --accelerator cuda"),
        ("pytorch_bf16", api.Precision.FLOAT32, "computes in bf16-mixed, not in float32"),
    ],
)
def test_a_precision_that_nothing_computes_in_is_refused(
    home: Path, framework: str, precision: api.Precision, said: str
) -> None:
    with pytest.raises(api.SuiteError, match=said):
        api.resolve(replace(OPTIONS, framework=framework, precision=precision))


def test_the_precision_is_the_frameworks_first_unless_another_is_asked_for(home: Path) -> None:
    asked = {
        name: api.resolve(replace(OPTIONS, framework=name)).training.precision
        for name in ("fake", "pytorch", "pytorch_bf16")
    }
    assert asked == {"fake": "float32", "pytorch": "float32", "pytorch_bf16": "bf16-mixed"}


def test_divisions_may_be_strings_and_folders_paths(home: Path, digits: Path) -> None:
    named = api.resolve(replace(OPTIONS, division="open", data=Path(f"digits={digits}")))  # type: ignore[arg-type]
    assert (named.training.division, named.training.data.name) == ("open", "digits")


def test_a_request_that_can_never_comply_is_refused_with_its_findings(home: Path) -> None:
    request = api.resolve(
        api.RunOptions(
            division=api.Division.CLOSED,
            device="auto",
            workload="lenet",
            framework="fake",
            data="digits",
        )
    )
    assert "closed-data" in {finding.check for finding in api.findings_of(request)}
    with pytest.raises(
        CannotComply, match="could never comply with the closed division"
    ) as refusal:
        api.run(request)
    # its epochs and target follow from the data
    assert [finding.check for finding in refusal.value.findings] == [
        "closed-data",
        "closed-arithmetic",
    ]
    assert not Path(request.training.output_directory).exists()


def test_a_sweep_is_planned_made_and_continued(
    home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    sweep = api.plan_sweep("batch-size", OPTIONS, values=["8", "16"], repetitions=1)
    seen: list[events.ProgressEvent] = []
    study = api.run_sweep(sweep, home / "study", progress=seen.append)
    assert [point.value for point in study.points] == ["8", "16"]
    assert api.run_sweep(sweep, home / "study", progress=seen.append) == study
    started = [event for event in seen if isinstance(event, events.SweepRunStarted)]
    kept = [event for event in seen if isinstance(event, events.SweepRunKept)]
    assert (
        [(event.number, event.total) for event in started]
        == [(event.number, event.total) for event in kept]
        == [(1, 2), (2, 2)]
    )
    assert started[0].left_s is None and started[1].left_s is not None
    assert capfd.readouterr() == ("", "")


@pytest.mark.proof
def test_a_stall_analysis_makes_three_runs(home: Path, capfd: pytest.CaptureFixture[str]) -> None:
    from dataclasses import replace

    seen: list[events.ProgressEvent] = []
    request = api.resolve(replace(OPTIONS, steps=None), home / "stalls")
    analysis = api.run_stall_analysis(request, epochs=2, progress=seen.append)
    assert (
        [event.source.value for event in seen if isinstance(event, events.StallRunStarted)]
        == ["cold", "warm", "synthetic"]
        == list(analysis.runs)
    )
    assert (home / "stalls/stalls.json").is_file()
    assert capfd.readouterr() == ("", "")


def bundles(folder: Path, framework: str, step_s: float, count: int) -> list[Path]:
    """Repeated runs of one entry, whose times scatter a little."""
    return [
        make_bundle(
            folder / f"{framework}{seed}",
            Scenario(
                name=f"{framework}-{seed}",
                framework=framework,
                seed=seed,
                step_s=step_s,
                jitter=0.05,
                learning_rate=0.01,
            ),
        )
        for seed in range(1, count + 1)
    ]


def test_entries_are_compared_with_ratio_and_interval(tmp_path: Path) -> None:
    bundles(tmp_path / "runs", "pytorch", 0.0005, 3)
    bundles(tmp_path / "runs", "tensorflow", 0.001, 3)
    (pair,) = api.compare(api.load([tmp_path / "runs"]), "time_to_epoch_s")
    assert {pair.entry.split()[0], pair.base.split()[0]} == {"PyTorch", "TensorFlow"}
    assert pair.ratio is not None and pair.low is not None and pair.high is not None
    expected = 0.5 if pair.entry.startswith("PyTorch") else 2.0
    assert pair.ratio == pytest.approx(expected, rel=0.05)
    assert pair.low < pair.ratio < pair.high
    assert (pair.differs, pair.reason) == (True, None)


def test_an_entry_with_too_few_runs_is_not_compared(tmp_path: Path) -> None:
    bundles(tmp_path / "runs", "pytorch", 0.0005, 3)
    bundles(tmp_path / "runs", "chainer", 0.004, 2)
    (pair,) = api.compare(api.load([tmp_path / "runs"]))
    assert (pair.ratio, pair.low, pair.high, pair.differs) == (None, None, None, None)
    assert pair.reason is not None and "Chainer" in pair.reason and "2 of the 3 runs" in pair.reason


def test_runs_are_compared_with_the_reference_point() -> None:
    compared = api.compare_with_reference([repository_root() / "submissions" / "v0.1"])
    assert compared.point.workload == "lenet"
    assert len(compared.epochs) == 9
    assert compared.test.p_different > 0.01


def test_importing_the_library_loads_nothing_heavy() -> None:
    program = (
        "import sys, suite.api; sys.exit(any(name in sys.modules for name in ('pandas', 'pyarrow',"
        " 'numpy', 'scipy', 'jinja2', 'psutil')))"
    )
    assert subprocess.run([sys.executable, "-c", program], cwd=repository_root()).returncode == 0
