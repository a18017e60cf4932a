"""LINPACK records: the share that training reaches, broken records, unknown power."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import reporter
from reporter.data.frames import LINPACKS, Frames
from reporter.figures.chart import Context, Drawing
from reporter.figures.linpack_share import CHART, NO_RECORD
from reporter.figures.model import Missing
from reporter.site import build_site
from suite.bundle.layout import LINPACK_RECORD
from suite.catalog.workloads import load_workload
from suite.metrics.linpack_record import LinpackPower
from tests.open_round import SLUG
from tests.reporter.conftest import MACHINE

Make = Callable[..., Path]
CONTEXT = Context("../", {"chainer": 0, "pytorch": 1, "tensorflow": 2})
METERED = LinpackPower(10.0, 2.0, 8.0, "ina3221: VDD_IN (module, on-board sensor)", None)


def load(*paths: Path) -> Frames:
    return reporter.load(paths).accepted()


def rows(frames: Frames) -> dict[str, dict[str, str]]:
    drawing = CHART.draw(frames, CONTEXT)
    assert isinstance(drawing, Drawing), drawing
    return {
        row[0].split(" ")[0]: dict(zip(drawing.figure.headings, row, strict=True))
        for row in drawing.figure.rows
    }


def test_the_share_counts_three_passes_of_two_operations(
    runs: Path, make_linpack: Make, tmp_path: Path
) -> None:
    found = rows(load(runs / "lenet-pytorch-1", make_linpack(tmp_path / "linpack", gflops=40.0)))
    frames = load(runs / "lenet-pytorch-1")
    rate = frames.figures[frames.figures["figure"] == "samples_per_s"]["value"].iloc[0]
    expected = 6 * load_workload("lenet").forward_macs * rate / 1e9
    assert float(found["PyTorch"]["10⁹ operations per second"]) == pytest.approx(expected, rel=0.01)
    assert float(found["PyTorch"]["share of LINPACK, %"]) == pytest.approx(
        100 * expected / 40.0, rel=0.05
    )
    assert found["LINPACK"]["processes × threads"] == "2 × 1"


def test_operations_per_joule_are_shown_or_have_a_reason(
    runs: Path, make_linpack: Make, tmp_path: Path
) -> None:
    without = rows(load(runs / "lenet-chainer-1", make_linpack(tmp_path / "without")))
    assert (without["LINPACK"]["10⁹ operations per joule"], without["LINPACK"]["power sensor"]) == (
        "unknown",
        "no power sensor was read",
    )
    found = rows(load(runs / "lenet-chainer-1", make_linpack(tmp_path / "with", power=METERED)))
    assert (found["LINPACK"]["10⁹ operations per joule"], found["LINPACK"]["power sensor"]) == (
        "8.00",
        METERED.method,
    )
    training = found["Chainer"]
    assert float(training["10⁹ operations per joule"]) == pytest.approx(
        float(training["10⁹ operations per second"]) / 5.0, rel=0.02
    )  # watts of the run
    assert training["power sensor"] == "meter at the wall"


def test_entries_of_the_highest_rates_have_rows_and_the_note_says_so(
    runs: Path, make_linpack: Make, tmp_path: Path
) -> None:
    entries = [runs / f"lenet-{name}-1" for name in ("pytorch", "tensorflow", "chainer")]
    frames = load(*entries, make_linpack(tmp_path / "linpack"))
    drawing = CHART.draw(frames, replace(CONTEXT, max_rows=3))
    assert isinstance(drawing, Drawing)
    assert "the entry with the highest value of each framework" in drawing.figure.note


def test_hpl_is_preferred_to_lu_and_then_the_fastest_record(
    runs: Path, make_linpack: Make, tmp_path: Path
) -> None:
    for name, kind, gflops in (("a", "LU", 90.0), ("b", "HPL", 30.0), ("c", "HPL", 45.0)):
        make_linpack(tmp_path / name, gflops, kind=kind)
    assert (
        rows(load(runs / "lenet-pytorch-1", tmp_path / "a", tmp_path / "b", tmp_path / "c"))[
            "LINPACK"
        ]["10⁹ operations per second"]
        == "45.0"
    )


@pytest.mark.parametrize("other", [{"device": "orin"}, {"cpu_model": "another"}, {"nodes": 2}])
def test_records_of_other_machines_are_not_compared(
    runs: Path, make_linpack: Make, tmp_path: Path, other: dict[str, object]
) -> None:
    answer = CHART.draw(
        load(runs / "lenet-pytorch-1", make_linpack(tmp_path / "linpack", **other)), CONTEXT
    )
    assert answer == NO_RECORD


def test_the_record_of_a_cluster_is_not_called_a_machine_s(
    runs: Path, make_linpack: Make, tmp_path: Path
) -> None:
    frames = load(runs / "lenet-pytorch-1", make_linpack(tmp_path / "linpack", nodes=4))
    answer = CHART.draw(replace(frames, entries=frames.entries.assign(nodes=4)), CONTEXT)
    assert isinstance(answer, Drawing)
    assert [row[0] for row in answer.figure.rows if row[0].startswith("LINPACK")] == [
        f"LINPACK (HPL, N = 1920) · 4 × {MACHINE}"
    ]


@pytest.mark.parametrize(
    ("parameters", "is_drawn"), [(59134, False), (61706, True)], ids=["a part", "all"]
)
def test_an_adaptation_that_trains_a_part_of_its_model_has_no_share(
    runs: Path, make_linpack: Make, tmp_path: Path, parameters: int, is_drawn: bool
) -> None:
    """There is no backward pass in front of that part."""
    frames = load(runs / "lenet-pytorch-1", make_linpack(tmp_path / "linpack"))
    entries = frames.entries.assign(workload="lenet-adapt", parameters=parameters)
    answer = CHART.draw(replace(frames, entries=entries), CONTEXT)
    assert isinstance(answer, Drawing) is is_drawn


def test_a_training_on_a_gpu_has_no_share_of_the_processor_s_rate(
    runs: Path, make_linpack: Make, tmp_path: Path
) -> None:
    frames = load(runs / "lenet-pytorch-1", make_linpack(tmp_path / "linpack"))
    entries = frames.entries.assign(accelerator="cuda")
    assert CHART.draw(replace(frames, entries=entries), CONTEXT) == NO_RECORD


def test_a_training_on_other_data_is_left_out(
    runs: Path, make_linpack: Make, tmp_path: Path
) -> None:
    """Image sizes, and so operations per sample, can differ."""
    assert isinstance(
        CHART.draw(load(runs / "lenet-fake-digits", make_linpack(tmp_path / "linpack")), CONTEXT),
        Missing,
    )


def spoil(folder: Path, what: str) -> None:
    file = folder / LINPACK_RECORD
    file.write_text(
        file.read_text().replace("50.0", "500.0") if what == "changed" else file.read_text()[:100]
    )


@pytest.mark.parametrize(
    ("what", "reason"),
    [("changed", "linpack.json is not as it was sealed"), ("cut", "is not valid JSON")],
)
def test_a_changed_record_is_listed_as_broken(
    runs: Path, make_linpack: Make, tmp_path: Path, what: str, reason: str
) -> None:
    spoil(make_linpack(tmp_path / "all" / "linpack"), what)
    frames = reporter.load([runs / "lenet-pytorch-1", tmp_path / "all" / "linpack"])
    assert (
        frames.linpacks.empty
        and reason in frames.broken["reason"].iloc[0]
        and str(tmp_path) not in frames.broken["reason"].iloc[0]
    )


def test_a_wrong_answer_is_listed_as_broken(runs: Path, make_linpack: Make, tmp_path: Path) -> None:
    frames = reporter.load(
        [runs / "lenet-pytorch-1", make_linpack(tmp_path / "linpack", residual=17.0)]
    )
    assert frames.linpacks.empty and "residual is 17" in frames.broken["reason"].iloc[0]


def test_the_frame_has_the_documented_columns_and_the_site_the_record(
    runs: Path, make_linpack: Make, tmp_path: Path
) -> None:
    record = make_linpack(tmp_path / "linpack")
    frames = reporter.load([runs / "lenet-pytorch-1", record])
    assert list(frames.linpacks.columns) == list(LINPACKS)
    site = build_site([runs / "lenet-pytorch-1", record], tmp_path / "site").parent
    name = f"linpack/{frames.linpacks['linpack_id'].iloc[0]}.json"
    assert (site / name).read_bytes() == (record / LINPACK_RECORD).read_bytes()
    assert (
        f'href="../{name}"'
        in (site / "boards" / f"lenet-closed-mnist-{SLUG}-figures.html").read_text()
    )


def test_strings_of_a_record_are_escaped(runs: Path, make_linpack: Make, tmp_path: Path) -> None:
    drawing = CHART.draw(
        load(runs / "lenet-pytorch-1", make_linpack(tmp_path / "linpack", kind="<script>\u202e")),
        CONTEXT,
    )
    assert isinstance(drawing, Drawing)
    assert "<script" not in drawing.svg and "&lt;script&gt;\\u202e" in drawing.svg
