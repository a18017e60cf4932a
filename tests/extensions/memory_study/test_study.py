"""The study of memory: planned lines, the paper's points, and what fits on which board."""

from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from suite.errors import SuiteError
from suite.extensions.memory_study import command
from suite.extensions.memory_study.figures.charts import charts
from suite.extensions.memory_study.measuring import kept_parts as measuring
from suite.extensions.memory_study.measuring.kept_parts import KeptPart, kept_parts
from suite.extensions.memory_study.measuring.study import Asked, fits_of, make, paper_line
from suite.extensions.memory_study.page import read
from suite.extensions.memory_study.record.study_file import (
    MEMORY_STUDY,
    STUDY,
    Measurement,
    MemoryStudy,
    read_memory_study,
)
from suite.files.paths import repository_root
from suite.memory.network import Network, Operation, load_network
from suite.memory.planning import Workplace, plan_memory
from suite.memory.resident import Resident

FRAMEWORK = Resident(300_000_000, "of this test")


@pytest.fixture(scope="module")
def study() -> MemoryStudy:
    return make(Asked(("resnet18",), (), 2_000_000_000, 1, 1), FRAMEWORK, None, lambda line: None)


def test_the_four_panels_have_planned_lines_that_fall(study: MemoryStudy) -> None:
    assert [panel.name for panel in study.panels] == ["1a", "1b", "1c", "1d"]
    for panel in study.panels:
        points = panel.planned[0].points
        assert points[0].factor == 1
        assert len(points) >= 2
        sizes = [point.size_bytes for point in points]
        assert sizes == sorted(sizes, reverse=True)
        assert len(panel.published) == len(panel.paper) == 5


def test_published_points_are_the_tables(study: MemoryStudy) -> None:
    of_18 = [panel.published[0].points[0].size_bytes for panel in study.panels]
    assert of_18 == pytest.approx([230.05 * 2**20, 0.60 * 2**30, 449.21 * 2**20, 2.31 * 2**30])


def test_the_papers_model_fits_2_gb_where_the_paper_says() -> None:
    """Section VI: with a mini-batch of 8 and pictures of 500x500, all models fit into 2 GB with a
    factor above 1.6."""
    least = {}
    for depth in (18, 34, 50, 101, 152):
        line = list(paper_line(load_network(f"resnet{depth}"), depth, 500, 8))
        assert line[0].factor == 1
        assert line[0].size_bytes > 2 * 2**30, "not even ResNet-18 fits without recomputation"
        least[depth] = min(point.factor for point in line if point.size_bytes <= 2 * 2**30)
    assert max(least.values()) == least[152] == pytest.approx(1.6, abs=0.01)


@pytest.mark.parametrize(("workload", "is_said"), [("lenet-adapt", True), ("lenet", False)])
def test_the_plan_of_an_adaptation_says_that_it_trains_all_layers(
    workload: str, is_said: bool
) -> None:
    where = Workplace(load_network(f"workload-{workload}"), 28, "sgd", FRAMEWORK)
    plan = plan_memory(where, 1, 10**9)
    said = "\n".join(command._plan_lines(plan))
    assert ("trains all layers; the workload trains a part of them" in said) == is_said
    assert command._as_dict(plan)["trains_more"] is is_said


@pytest.mark.proof
def test_what_fits_on_a_board_is_as_the_plan_says() -> None:
    fits = {fit.memory_gb: fit for fit in fits_of("resnet50", FRAMEWORK)}
    assert fits[2.0].factor == 1
    assert fits[1.0].factor is not None and fits[1.0].factor > 1
    assert "raspberry-pi-4" in fits[2.0].devices
    batches = [fit.largest_batch or 0 for _, fit in sorted(fits.items())]
    assert batches == sorted(batches)


def test_the_record_reads_back_and_is_drawn(study: MemoryStudy, tmp_path: Path) -> None:
    record = MEMORY_STUDY.write(tmp_path, asdict(study))
    assert read_memory_study(tmp_path) == study
    shown = read(record, "here")
    assert (
        shown.words is not None
        and len({len(row) for row in (shown.words.headings, *shown.words.rows)}) == 1
    )
    assert shown.words.rows[0][:2] == ("0.5 GB", "Raspberry Pi 3")
    drawn = [chart.draw(None, None) for chart in charts(study)]  # type: ignore[arg-type]
    assert all("<svg" in each.svg and len(each.figure.rows) > 10 for each in drawn)  # type: ignore[union-attr]


WITHOUT_FACTOR = Measurement(
    "resnet18", "optimal for unequal blocks", 1.08, 2_260_000_000, None, 2_290_000_000, 3
)
"""What the command measures where ordinary training needs more than --measure-below."""


def test_a_factor_that_was_not_measured_is_unknown_and_not_1(
    study: MemoryStudy, tmp_path: Path
) -> None:
    *others, last = study.panels
    panels = (*others, replace(last, measured=(WITHOUT_FACTOR,)))
    made = replace(study, panels=panels)
    described = charts(made)[-1].draw(None, None)  # type: ignore[arg-type]
    assert described.figure.rows[-1] == ("resnet18", "measured", "unknown", "2.29")  # type: ignore[union-attr]
    assert "measured: 2.29 GB" not in described.svg  # type: ignore[union-attr]
    shown = read(MEMORY_STUDY.write(tmp_path, asdict(made)), "here").figures
    (factor,) = shown[shown["figure"] == "recompute_factor"].to_dict("records")
    assert factor["reason"] == "training without recomputation was not measured"


def test_a_folder_that_cannot_be_made_is_refused_before_anything_is_planned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setattr(command, "make", lambda *_: pytest.fail("it was planned"))
    with pytest.raises(SuiteError, match="cannot be made: Not a directory; choose another"):
        command.study(tmp_path / "file" / "study")


def test_every_point_that_was_measured_is_a_part_of_its_own() -> None:
    """In the study that comes with the project a schedule is measured for two sizes of memory."""
    found = read(repository_root() / "examples/papers/memory" / STUDY, "memory")
    assert set(Counter(found.figures["part"]).values()) == {5}


def test_parts_begin_at_the_last_stage_and_at_the_head(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def answers(program: str, request: dict[str, Any], *more: object) -> list[dict[str, Any]]:
        asked.update(request)
        sizes = {"kept_bytes": 8, "weight_bytes": 4}
        return [{name: {"trained": len(name), **sizes} for name in reversed(request["parts"])}]

    monkeypatch.setattr(measuring, "answers_of", answers)
    kinds = ("conv", "conv", "batch_norm", "conv", "relu", "conv", "adaptive_pool", "linear")
    modules = ("a.0", "b.0.x", "c.0.n", "c.0.y", "c.0.r", "c.1.z", None, "h.1")
    rows = [
        Operation(f"{place}", kind, (), module, kind != "relu", stride=(1, 1 + (place in (1, 3))))
        for place, (kind, module) in enumerate(zip(kinds, modules, strict=True))
    ]
    parts = kept_parts(Network("n", "", "own (own:n:2)", (3, 9, 9), tuple(rows)), 7, 2)
    assert [part.name for part in parts] == list(asked["parts"])
    assert parts[0] == KeptPart("all layers", 10, 8, 4)
    assert (asked["image"], asked["batch"]) == ([3, 7, 7], 2)
    assert list(asked["parts"].values()) == [
        [""],
        "biases",
        ["c.0.n.", "c.0.y.", "c.1.z.", "h.1."],
        ["h.1."],
    ]
