"""The judge of predictions: laws are positive everywhere, scores are of modes not profiled, a law
is refused where it is none."""

import argparse
from pathlib import Path

import numpy as np
import pytest

from benchmarks.predict_family import random_law
from benchmarks.predict_laws import FOLDER, OF_OTHERS, law_files, load_law
from benchmarks.predict_modes import Judge, draw, judge_table
from benchmarks.predict_widths import left_out, needed_factors, width_of
from suite.extensions.prediction.record.design import initial_design
from suite.extensions.prediction.record.limits import best, question
from suite.extensions.prediction.record.models import fit
from suite.extensions.prediction.record.modes import Axis, grid
from suite.extensions.prediction.record.samples import intervals
from suite.extensions.prediction.record.table import Profile

MODES = grid(
    (
        Axis("cores", (1, 2, 4, 8)),
        Axis("cpu_mhz", (115.2, 729.6, 1497.6, 2265.6)),
        Axis("gpu_mhz", (114.75, 522.75, 905.25, 1377)),
        Axis("emc_mhz", (408, 1331.2, 2133)),
    )
)
LAWS = law_files()


@pytest.mark.parametrize("path", LAWS, ids=lambda path: path.stem)
def test_a_law_is_faster_and_takes_more_power_at_the_highest_clocks(path: Path) -> None:
    law = load_law(path, MODES)
    assert law.time_s[-1] < 0.5 * law.time_s[0]
    assert law.power_w[-1] > 1.5 * law.power_w[0]


def test_laws_of_an_outsider_of_published_shapes_and_of_measured_boards_are_there() -> None:
    assert len(LAWS) >= 20 and len(law_files(OF_OTHERS)) == 9
    assert sum(path.stem.startswith("held_out_") for path in LAWS) == 2
    assert [
        sum(path.stem.startswith(kind) for path in LAWS)
        for kind in ("outsider_", "published_", "measured_", "fresh_", "judge_", "plateau_")
    ] == [4, 2, 2, 2, 2, 1]


def test_no_answer_is_beyond_its_limit_where_voltages_have_bins() -> None:
    law, modes = load_law(FOLDER / "plateau_law.py", MODES), initial_design(MODES)
    error = np.full(len(modes), 0.02)
    seven = Profile(
        MODES.names, MODES.rows[modes], law.time_s[modes], law.power_w[modes], error, error
    )
    samples = fit("physical", MODES, seven).predict(MODES.rows)
    for limit_w in (12, 14, 16, 18, 20, 22, 24):
        answered = best(samples, question(limit_w, None, None))
        assert answered is None or law.power_w[answered] <= limit_w


def test_random_laws_are_positive_differ_and_are_the_same_again() -> None:
    laws = [random_law(number, MODES) for number in range(1, 21)]
    assert all(
        np.all(law.time_s > 0) and np.all(law.power_w > 0) and np.isfinite(law.time_s).all()
        for law in laws
    )
    assert len({law.time_s[0] / law.time_s[-1] for law in laws}) == 20
    assert np.array_equal(random_law(3, MODES).power_w, laws[2].power_w)


def test_a_draw_has_finite_scores_and_is_the_same_again() -> None:
    law = load_law(FOLDER / "pipeline.py", MODES)
    judge = Judge(MODES, budget=8, noise=0.02, model="physical", at_random=False)
    first, again = draw(judge, law, 1), draw(judge, law, 1)
    assert (first.time_error, first.excess) == (again.time_error, again.excess)
    assert first.time_error < 25
    assert 0 <= first.time_coverage <= 100


def test_an_interval_that_is_widened_by_the_factor_it_needs_just_reaches_the_true_value() -> None:
    logarithms = np.random.default_rng(1).normal([0.0, 1.0, 2.0], [0.1, 0.2, 0.3], (99, 3))
    true = np.exp([0.3, 0.9, 2.0])
    factors = needed_factors(logarithms, intervals(logarithms), true)
    assert (factors > 1).tolist() == [True, False, False]
    centre = np.mean(logarithms, axis=0)
    widened = intervals(centre + (logarithms - centre) * factors)
    assert np.allclose(np.where(true > np.exp(centre), widened.high, widened.low), true)


def test_a_law_is_left_out_of_the_width_that_judges_it() -> None:
    needed = {
        "narrow": np.full(1000, 0.5),
        "middle": np.full(1000, 1.0),
        "wide": np.full(1000, 2.0),
    }
    assert width_of(needed.values()) == 2.0
    assert left_out(needed) == {"narrow": 100.0, "middle": 100.0, "wide": 0.0}


@pytest.mark.proof
def test_less_noise_is_a_smaller_error() -> None:
    law = load_law(FOLDER / "additive.py", MODES)
    errors = [
        np.mean(
            [
                draw(Judge(MODES, 10, noise, "physical", False), law, number).time_error
                for number in range(1, 4)
            ]
        )
        for noise in (0.002, 0.2)
    ]
    assert errors[0] < errors[1]


@pytest.mark.parametrize(
    "text",
    [
        "def time_s(mode):\n    return 1.0\n",
        "def time_s(mode):\n    return -1.0\ndef power_w(mode):\n    return 1.0\n",
    ],
)
def test_a_file_that_is_no_law_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "law.py"
    path.write_text(text)
    with pytest.raises((KeyError, ValueError)):
        load_law(path, MODES)


@pytest.mark.proof
def test_a_table_is_split_the_same_for_every_model(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    law, path = load_law(FOLDER / "additive.py", MODES), tmp_path / "modes.csv"
    rows = [
        ",".join(map(str, (*row, law.time_s[index], law.power_w[index])))
        for index, row in enumerate(MODES.rows.tolist())
        if index % 5 == 0
    ]
    path.write_text("\n".join([",".join((*MODES.names, "time_s", "power_w")), *rows]))
    judge_table(argparse.Namespace(table=path, profiled=8, draws=2))
    printed = capsys.readouterr().out
    assert "39 modes, 8 profiled, 2 splits" in printed
    assert all(f"| {model} |" in printed for model in ("physical", "linear", "neural"))
