"""A study is computed from its bundles only: steps, efficiency, communication, the model, and the
reasons where there is none."""

import math
import subprocess
from pathlib import Path

import pytest

from suite.bundle import layout, reader
from suite.bundle.layout import STUDY
from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json, write_json
from suite.metrics import matrix_record
from suite.metrics.rank_figures import IN_COMPUTE
from suite.metrics.scaling_model import Algorithm, Scaling
from suite.metrics.study import (
    NO_MODEL,
    SWEEP,
    analyse_study,
    folder_name,
    read_study,
    run_times,
)
from suite.metrics.summary import NOT_SPLIT
from tests.builders import Scenario, make_bundle
from tests.faults.edits.editable_bundle import EditableBundle
from tests.sweeps import BYTES, WARM_UP, bundle_of, plan


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A good bundle whose steps the tests write."""
    return make_bundle(tmp_path_factory.mktemp("template") / "bundle", Scenario(division="open"))


def test_communication_is_the_least_of_the_ranks_and_the_rest_is_waiting(
    template: Path, tmp_path: Path
) -> None:
    path = bundle_of(
        template, tmp_path / "bundle", ranks=2, compute_s=0.02, communication_s=0.005, late_s=0.004
    )
    times = run_times(reader.Bundle(path), WARM_UP)
    assert (times.ranks, times.samples_per_step, times.gradient_bytes) == (2, 64, BYTES)
    assert times.step_s == pytest.approx(0.02 + 0.005 + 0.004)
    assert times.exchange_s == pytest.approx(0.005)
    assert times.waiting_s == pytest.approx(0.002)


def test_gradients_in_16_bits_are_half_the_bytes(template: Path, tmp_path: Path) -> None:
    path = bundle_of(template, tmp_path / "bundle", 2, 0.02, 0.005)
    run = read_json(path / layout.RUN)
    run["request"]["parallel"]["wire"] = "float16"
    write_json(path / layout.RUN, run)
    assert run_times(reader.Bundle(path), WARM_UP).gradient_bytes == BYTES // 2


def test_a_step_whose_parts_are_not_timed_is_unknown(template: Path, tmp_path: Path) -> None:
    """Asynchronous timing: the wait for a mini-batch alone is no step."""
    bundle = reader.Bundle(bundle_of(template, tmp_path / "bundle", 1, math.nan, math.nan))
    assert math.isnan(run_times(bundle, WARM_UP).step_s)
    figures = matrix_record._figures([bundle], WARM_UP)
    for figure in (figures.step_s, figures.step_compute_s, figures.samples_per_s):
        assert (figure.value, figure.reason) == (None, NOT_SPLIT)
    assert figures.step_fetch_stall_s.value == 0.0


def test_the_mean_power_is_the_energy_over_the_time_in_which_it_is_counted() -> None:
    """10 W in 2.7 s, and 0.3 s that are not counted."""
    values = {"energy_j": 27.0, "gross_time_s": 3.0, "uncounted_s": 0.3}
    summary = {name: {"value": value, "reason": None} for name, value in values.items()}
    assert matrix_record._power(summary)["value"] == pytest.approx(10.0)


@pytest.mark.parametrize("values", [("1",), ("1", "2"), ("1", "2", "4")])
@pytest.mark.parametrize("scaling", [Scaling.STRONG, None])
def test_a_study_with_steps_whose_parts_are_not_timed_is_written_without_them(
    template: Path, tmp_path: Path, values: tuple[str, ...], scaling: Scaling | None
) -> None:
    """On a GPU one rank has asynchronous timing by default, several have synchronised timing."""
    bundle_of(template, tmp_path / folder_name("1", 1), 1, math.nan, math.nan)
    for value in values[1:]:
        bundle_of(template, tmp_path / folder_name(value, 1), int(value), 0.02, 0.001)
    study = analyse_study(tmp_path, plan(values, scaling, repetitions=1))
    SWEEP.write(tmp_path, study)
    assert read_study(tmp_path) == study
    alone, *several = (point.figures for point in study.points)
    unknown = [figure for name, figure in vars(alone).items() if name != "efficiency"]
    if scaling is not None:
        unknown += [figures.efficiency for figures in (alone, *several)]
    assert {(figure.value, figure.reason) for figure in unknown} == {(None, NOT_SPLIT)}
    assert all(figures.step_s.value == pytest.approx(0.021) for figures in several)
    assert (study.model, study.model_reason) == (None, NOT_SPLIT if scaling else NO_MODEL)


@pytest.mark.parametrize(
    ("scaling", "efficiency"),
    [(Scaling.STRONG, 0.02 / (2 * 0.0125)), (Scaling.WEAK, 0.02 / 0.0125)],
)
def test_efficiency_follows_its_definition(
    template: Path, tmp_path: Path, scaling: Scaling, efficiency: float
) -> None:
    for repetition, factor in ((1, 0.9), (2, 1.1)):
        bundle_of(template, tmp_path / folder_name("1", repetition), 1, 0.02, 0.0)
        bundle_of(
            template, tmp_path / folder_name("2", repetition), 2, 0.010 * factor, 0.0025 * factor
        )
    study = analyse_study(tmp_path, plan(("1", "2"), scaling))
    one, two = (point.figures for point in study.points)
    assert one.efficiency.value == pytest.approx(1.0)
    assert two.efficiency.value == pytest.approx(efficiency)
    assert two.efficiency.spread is not None and two.efficiency.spread > 0.05
    assert two.exchange_share.value == pytest.approx(0.2)
    assert two.samples_per_s.value == pytest.approx(64 / 0.0125, rel=0.02)
    assert [run.folder for run in study.points[1].runs] == ["2-r1", "2-r2"]


def test_the_model_is_fitted_to_the_runs(template: Path, tmp_path: Path) -> None:
    for n in (1, 2, 4, 8):
        for repetition in (1, 2):
            exchange_s = 2 * (n - 1) * 1e-3 + 2 * (n - 1) / n * BYTES * 1e-8
            bundle_of(
                template,
                tmp_path / folder_name(str(n), repetition),
                n,
                0.001 + 0.0005 * 64 / n,
                exchange_s if n > 1 else 0.0,
            )
    study = analyse_study(tmp_path, plan(("1", "2", "4", "8")))
    assert study.model is not None and study.model.better is Algorithm.RING
    found = {parameter.name: parameter.value for parameter in study.model.fits[0].parameters}
    assert found == pytest.approx(
        {"fixed_s": 0.001, "per_sample_s": 0.0005, "latency_s": 1e-3, "per_byte_s": 1e-8}, rel=1e-4
    )


def test_an_exchange_within_the_framework_s_backward_pass_is_unknown(
    template: Path, tmp_path: Path
) -> None:
    """Its time in the steps is 0, because it is part of compute."""
    for n in (1, 2, 4):
        path = bundle_of(template, tmp_path / folder_name(str(n), 1), n, 0.02 / n, 0.0)
        if n > 1:
            bundle = EditableBundle(path)
            bundle.event("collective")["value"] = "native"
            bundle.save()
    study = analyse_study(tmp_path, plan(("1", "2", "4"), repetitions=1))
    alone, two, _ = (point.figures for point in study.points)
    assert (alone.exchange_s.value, alone.busy_s.value) == (0.0, pytest.approx(0.02))
    for figure in (two.busy_s, two.exchange_s, two.exchange_share, two.waiting_s):
        assert (figure.value, figure.reason) == (None, IN_COMPUTE)
    assert two.efficiency.value == pytest.approx(1.0)
    assert (study.model, study.model_reason) == (None, IN_COMPUTE)


def test_without_enough_points_there_is_no_model_and_a_reason(
    template: Path, tmp_path: Path
) -> None:
    for value in ("1", "2"):
        bundle_of(template, tmp_path / folder_name(value, 1), int(value), 0.02, 0.001)
    study = analyse_study(tmp_path, plan(("1", "2"), repetitions=1))
    assert study.model is None and "at least two different numbers of ranks above 1" in str(
        study.model_reason
    )


def test_other_variables_have_no_efficiency(template: Path, tmp_path: Path) -> None:
    bundle_of(template, tmp_path / folder_name("1", 1), 1, 0.02, 0.0)
    study = analyse_study(tmp_path, plan(("1",), None, repetitions=1))
    assert (study.points[0].figures.efficiency.value, study.model, study.notes) == (None, None, ())


def test_ranks_that_shared_a_machine_are_noted(template: Path, tmp_path: Path) -> None:
    bundle_of(template, tmp_path / folder_name("2", 1), 2, 0.02, 0.0)
    study = analyse_study(tmp_path, plan(("2",), repetitions=1, hosts=0))
    assert "shared one machine" in study.notes[0]
    assert study.points[0].figures.efficiency.reason == "the study has no run on one rank"


def test_an_unfinished_run_is_named(template: Path, tmp_path: Path) -> None:
    (bundle_of(template, tmp_path / folder_name("1", 1), 1, 0.02, 0.0) / layout.MANIFEST).unlink()
    with pytest.raises(SuiteError, match="1-r1 is not a finished run; run the sweep again"):
        analyse_study(tmp_path, plan(("1",), repetitions=1))


def test_a_study_reads_back_and_is_sealed_with_its_runs(template: Path, tmp_path: Path) -> None:
    for n in (1, 2, 4):
        for repetition in (1, 2):
            bundle_of(
                template,
                tmp_path / folder_name(str(n), repetition),
                n,
                0.02 / n,
                0.001 * n * repetition if n > 1 else 0.0,
            )
    study = analyse_study(tmp_path, plan(("1", "2", "4")))
    SWEEP.write(tmp_path, study)
    assert study.model is not None
    assert read_study(tmp_path) == study
    assert (
        subprocess.run(["sha256sum", "-c", "--quiet", layout.MANIFEST], cwd=tmp_path).returncode
        == 0
    )
    text = (tmp_path / STUDY).read_text()
    (tmp_path / STUDY).write_text(text.replace('"points"', '"pints"'))
    with pytest.raises(SuiteError, match="there is no key 'pints'; did you mean 'points'"):
        read_study(tmp_path)
    (tmp_path / STUDY).unlink()
    with pytest.raises(FileError, match="is missing"):
        read_study(tmp_path)
