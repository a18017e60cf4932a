"""The benchmarks are found, their statistics are right, their page is rendered from the record, and
failures are reported on it."""

import ast
import json
import math
import random
import signal
import statistics
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path

import pytest

from benchmarks.__main__ import Progress
from benchmarks.meter_cost import Block, costs
from benchmarks.runner import discovery
from benchmarks.runner.benchmark import Benchmark, Ratio, Skipped, median_interval, ratio_of
from benchmarks.runner.child import usage_of
from benchmarks.runner.command_line import parser_of
from benchmarks.runner.page import MARK, absolute_text, ratio_text, render
from benchmarks.runner.process import run_command
from benchmarks.runner.record import Entry, Outcome, read_record, this_commit
from suite.errors import SuiteError
from suite.execution.recorder import MeterRecord
from suite.files.json_file import write_json
from suite.files.paths import repository_root
from tests.launchers import with_ctrl_c

ROOT = repository_root()
RECORDED = Path(__file__).parent / "golden" / "benchmarks.json"
"""A small record with one benchmark of each outcome. Its figures are invented; no machine measured
them."""

PAGE = RECORDED.with_suffix(".md")
REFRESH = f"{sys.executable} -m benchmarks.runner.page {RECORDED} > {PAGE}"
ENTRY = Entry("example", "How fast is it?", Outcome.NOT_RUN)
RATIO = ratio_of("work", "new", "old", [(1.0, 2.0), (2.0, 2.0), (3.0, 2.0)])


@pytest.mark.parametrize("module", discovery.modules())
def test_every_module_is_a_benchmark_or_a_declared_helper(module: str) -> None:
    if not discovery.is_helper(module):
        assert isinstance(discovery.discover()[discovery.short_name(module)], Benchmark)


def test_every_declared_helper_exists() -> None:
    modules = discovery.modules()
    assert set(discovery.HELPERS) <= set(modules)
    assert all(
        any(module.startswith(f"{room}.") for module in modules) for room in discovery.HELPER_ROOMS
    )


def test_every_command_in_the_help_of_a_program_begins_a_line() -> None:
    for path in (ROOT / "benchmarks").rglob("*.py"):
        description = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        for line in description.splitlines():
            if line.startswith("    "):
                assert "python -m" not in line.lstrip()[1:], path.name


@pytest.mark.parametrize("benchmark", discovery.discover().values(), ids=discovery.discover())
def test_a_benchmark_declares_what_the_runner_needs(benchmark: Benchmark) -> None:
    assert benchmark.question.endswith("?")
    assert type(benchmark.full) is type(benchmark.quick)
    assert 0 < benchmark.quick_s < benchmark.full_s
    options = parser_of(benchmark, None).format_help()
    assert all(f"--{field.name.replace('_', '-')} " in options for field in fields(benchmark.full))


def test_all_benchmarks_together_fit_their_time() -> None:
    benchmarks = discovery.discover().values()
    assert sum(benchmark.full_s for benchmark in benchmarks) <= 40 * 60
    assert sum(benchmark.quick_s for benchmark in benchmarks) < 5 * 60


def test_a_ratio_is_the_median_of_the_pairs_with_its_spread() -> None:
    assert (RATIO.median, RATIO.low, RATIO.high, RATIO.pairs, RATIO.spread) == (
        1.0,
        0.5,
        1.5,
        3,
        "range",
    )
    assert (RATIO.compared_value, RATIO.baseline_value) == (2.0, 2.0)
    assert ratio_of("work", "new", "old", [(1.0, 2.0)] * 6).spread == "95 % interval"


def test_the_cost_of_all_meters_has_what_they_do_beside_the_recorders_thread() -> None:
    records = tuple(
        MeterRecord(name, 1.0, True, "", cost_s=cost_s)
        for name, cost_s in (("rpi5-pmic", 0.5), ("cpu", 0.1), ("recorder", 0.2))
    )
    found = costs([Block(0, 2 * 10**9, 0, records)])
    assert {each.subject: each.median for each in found} == pytest.approx(
        {
            "all meters, their threads and programs included": 0.3,
            "the recorder's thread, writing included": 0.1,
            "meter rpi5-pmic": 0.25,
            "meter cpu": 0.05,
        }
    )


@pytest.mark.parametrize("count", [6, 9, 30])
def test_the_interval_contains_the_true_median_as_often_as_it_claims(count: int) -> None:
    source, repeats = random.Random(count), 4000
    found = [
        median_interval([source.lognormvariate(0, 1) for _ in range(count)]) for _ in range(repeats)
    ]
    covered = statistics.mean(low <= 1.0 <= high for low, high in found)
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / repeats)


def test_the_page_is_rendered_from_the_record_alone() -> None:
    assert render(read_record(RECORDED)) == PAGE.read_text(), f"if this change is wanted: {REFRESH}"


def test_the_committed_page_is_the_rendering_of_its_record() -> None:
    record, page = ROOT / "docs" / "benchmarks.json", ROOT / "docs" / "benchmarks.md"
    if not record.exists() and not page.exists():
        pytest.skip("no benchmarks are recorded here: make bench")
    assert page.read_text() == render(read_record(record)), (
        "docs/benchmarks.md was edited by hand, or its renderer changed: python -m"
        " benchmarks.runner.page docs/benchmarks.json > docs/benchmarks.md"
    )
    assert page.read_text().startswith(MARK)


def test_a_record_reads_back(tmp_path: Path) -> None:
    record = read_record(RECORDED)
    write_json(tmp_path / "again.json", record)
    assert read_record(tmp_path / "again.json") == record
    write_json(tmp_path / "future.json", replace(record, schema=record.schema + 1))
    with pytest.raises(SuiteError, match="make bench"):
        read_record(tmp_path / "future.json")


def test_text_from_a_benchmark_cannot_break_the_table() -> None:
    record = read_record(RECORDED)
    entry = replace(record.entries[0], ratios=(replace(RATIO, subject="a | b\nc"),))
    assert "| a \\| b c |" in render(replace(record, entries=(entry,)))


@pytest.mark.parametrize(
    ("value", "text"), [(1.0234567, "1.023"), (0.0051234, "0.00512"), (41.26, "41.3")]
)
def test_ratios_have_the_digits_that_they_need(value: float, text: str) -> None:
    assert ratio_text(value) == text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.5, "s", "1.5 s"),
        (0.0123, "s", "12.3 ms"),
        (2e-6, "s", "2 us"),
        (269.4, "MiB", "269.4 MiB"),
    ],
)
def test_absolute_values_have_a_unit(value: float, unit: str, text: str) -> None:
    assert absolute_text(value, unit) == text


def test_usage_is_that_of_the_command_and_not_of_the_process_that_measures() -> None:
    ballast = b"x" * (300 * 2**20)
    used = usage_of([sys.executable, "-S", "-c", "sum(range(3_000_000)); raise SystemExit(3)"])
    assert len(ballast) / 2**20 > 5 * used.peak_mib
    assert used.exit_code == 3
    assert used.cpu_s > 0
    assert used.wall_s > 0


def run_script(script: str, timeout_s: float = 60.0) -> tuple[Entry, list[Ratio | Skipped]]:
    """Run a script in place of a benchmark; returns the entry, and what was reported while it
    ran."""
    reported: list[Ratio | Skipped] = []
    return run_command(ENTRY, [sys.executable, "-c", script], reported.append, timeout_s), reported


def printing(*results: object) -> str:
    """A script that prints results as a benchmark does."""
    return "\n".join(f"print({json.dumps(result)!r}, flush=True)" for result in results)


LINE = {"ratio": {**vars(RATIO)}}
SKIPPED_LINE = {"skipped": {"subject": "hosts", "reason": "needs root"}}


def test_a_complete_benchmark_keeps_its_ratios_and_the_load() -> None:
    entry, reported = run_script(printing(LINE, SKIPPED_LINE))
    assert (entry.outcome, entry.reason, entry.ratios) == (Outcome.COMPLETE, None, (RATIO,))
    assert entry.skipped == (Skipped("hosts", "needs root"),)
    assert reported == [RATIO, Skipped("hosts", "needs root")]
    assert entry.load_before is not None and entry.load_after is not None


@pytest.mark.parametrize(
    ("script", "reason"),
    [
        (
            printing(LINE) + "\nimport sys; sys.exit('the device is gone')",
            "ended with 1: the device is gone",
        ),
        (
            printing(LINE) + "\nimport os, signal; os.kill(os.getpid(), signal.SIGKILL)",
            "ended with -9: no output",
        ),
        (printing(LINE) + "\nprint('hello')", "a line that is no result: 'hello'"),
        (printing(LINE, {"ratio": {"median": "fast"}}), "no result"),
    ],
)
def test_a_failed_benchmark_says_why_and_keeps_what_it_measured(script: str, reason: str) -> None:
    entry, _ = run_script(script)
    assert entry.outcome is Outcome.FAILED
    assert entry.reason is not None and reason in entry.reason
    assert entry.ratios == (RATIO,)


def test_a_benchmark_that_hangs_is_terminated() -> None:
    entry, _ = run_script("import signal; signal.pause()", timeout_s=1.0)
    assert (entry.outcome, entry.reason) == (Outcome.FAILED, "it was terminated after 1 s")


def test_a_benchmark_that_lacks_something_is_skipped_and_one_without_results_failed() -> None:
    assert run_script(printing(SKIPPED_LINE))[0].outcome is Outcome.SKIPPED
    assert run_script("")[0].outcome is Outcome.FAILED


def test_ctrl_c_keeps_what_was_measured() -> None:
    def interrupt(result: Ratio | Skipped) -> None:
        signal.raise_signal(signal.SIGINT)

    with with_ctrl_c():
        entry = run_command(
            ENTRY,
            [sys.executable, "-c", printing(LINE) + "\nimport signal; signal.pause()"],
            interrupt,
        )
    assert (entry.outcome, entry.ratios) == (Outcome.INTERRUPTED, (RATIO,))


def test_the_time_left_follows_the_pace_of_this_machine(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    progress = Progress({"first": 10.0, "second": 20.0})
    progress.begin("first")
    monkeypatch.setattr(Progress, "taken_s", property(lambda self: 30.0))
    progress.begin("second")
    assert capsys.readouterr().err.splitlines() == [
        "[1/2] first: about 10 s; all that is left: about 30 s",
        "[2/2] second: about 60 s; all that is left: about 60 s",
    ]


def test_a_missing_environment_skips_with_the_command_that_creates_it(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.speed.chainer", "--quick", "--json"]
    entry = run_command(ENTRY, ["env", f"SUITE_HOME={tmp_path}", *command], lambda result: None)
    assert entry.outcome is Outcome.SKIPPED
    assert "suite env create chainer" in entry.skipped[0].reason


def test_the_commit_is_marked_when_files_differ_from_it(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )

    assert this_commit(tmp_path) == "unknown"
    git("init")
    git("commit", "--allow-empty", "-m", "first")
    clean = this_commit(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "benchmarks.md").write_text("results")
    assert this_commit(tmp_path) == clean
    (tmp_path / "code.py").write_text("pass")
    assert this_commit(tmp_path) == f"{clean}+changes"


@pytest.mark.usefixtures("starts_programs")
def test_an_unknown_name_names_the_benchmarks() -> None:
    answer = subprocess.run(
        [sys.executable, "-m", "benchmarks", "energy"], cwd=ROOT, capture_output=True, text=True
    )
    assert answer.returncode == 2
    assert "There is no benchmark 'energy'; the benchmarks are allreduce," in answer.stderr


@pytest.mark.usefixtures("starts_programs")
def test_one_benchmark_runs_alone_and_in_the_runner(tmp_path: Path) -> None:
    alone = subprocess.run(
        [sys.executable, "-m", "benchmarks.energy_speed", "--readings", "1000", "--pairs", "2"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "integrate_power / trapezoids in NumPy = " in alone.stdout
    command = [
        sys.executable,
        "-m",
        "benchmarks",
        "energy_speed",
        "--quick",
        "--output",
        str(tmp_path),
    ]
    subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    record = read_record(tmp_path / "benchmarks.json")
    assert [(entry.name, entry.outcome, len(entry.ratios)) for entry in record.entries] == [
        ("energy_speed", Outcome.COMPLETE, 2)
    ]
    assert (tmp_path / "benchmarks.md").read_text() == render(record)
