"""What the records of studies and their pages come to, as kept outputs."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from reporter.site import build_site
from suite.extensions.concurrent.record import results, series
from suite.extensions.concurrent.record.arrivals import ArrivalKind, Arrivals
from suite.extensions.concurrent.record.calculated import inference_figures, training_figures
from suite.extensions.concurrent.record.overlap import overlaps
from suite.extensions.concurrent.record.queueing import Load, predict
from suite.extensions.concurrent.record.records import Recording
from suite.extensions.counted_steps.record import figures, rates
from suite.extensions.prediction.record import front
from suite.extensions.prediction.record.answers import answer
from suite.extensions.prediction.record.design import initial_design
from suite.extensions.prediction.record.limits import Quantity, question
from suite.extensions.viewpoint.record.results import read_results
from tests.builders import make_bundle
from tests.extensions.concurrent.conftest import Simulated, simulated
from tests.extensions.concurrent.good_folder import make_experiment
from tests.extensions.concurrent.test_figures import with_steps
from tests.extensions.counted_steps.test_record import PAIR, record
from tests.extensions.prediction.boards import MODES, profile
from tests.extensions.prediction.test_answers import KNOWN
from tests.extensions.viewpoint.good_folder import make_viewpoint
from tests.kept_outputs import in_short, kept, plain
from tests.reporter.test_kept_site import visible

__all__ = ["simulated"]
TRACE_MS = (3, 7, 8, 31, 32, 33, 60, 95, 96, 140, 141, 142, 143, 200, 260, 261, 290, 333, 410, 470)


def uneven(simulated: Simulated) -> dict[str, Recording]:
    """A server that takes longer for some batches, one with a deadline that is left early, and one
    that is too slow; with steps of training between."""
    uniform = Arrivals(ArrivalKind.UNIFORM, 90, 20)
    poisson = Arrivals(ArrivalKind.POISSON, 70, 20, 3)
    slow = simulated(uniform, 3, service_ns=lambda count: (9 + 7 * count) * 10**6 + 1)
    left = simulated(poisson, 5, 0.021, deadline_s=0.04, late_s=0.0015, leave_s=17.25)
    overloaded = simulated(poisson, 2, 0.04)
    return {
        "slow": with_steps(slow, 0.013, 16),
        "left early": with_steps(left, 0.031, 5),
        "overloaded": overloaded,
    }


def test_figures_of_training_beside_inference(simulated: Simulated) -> None:
    found: dict[str, Any] = {}
    for name, recording in uneven(simulated).items():
        found[name] = {
            "inference": inference_figures(recording),
            "overlaps": list(overlaps(recording))[:9],
        }
        if recording.steps is not None and len(recording.steps):
            found[name]["training"] = training_figures(recording)
    found["loads"] = [predict(Load(rate, 4, 0.05, 0.3, 0.25)) for rate in (8, 41.0, 80, 80.5)]
    kept("studies", in_short(plain(found)), "concurrent figures")


def test_records_of_studies(tmp_path: Path) -> None:
    experiment = make_experiment(tmp_path / "concurrent")
    read = results.as_dict(results.read_results(experiment))
    of_time = [series.sawtooth(experiment), series.rates(experiment)]
    kept(
        "studies",
        in_short(plain({"results": read, "series": thinned(plain(of_time))})),
        "concurrent record",
    )
    viewpoint = make_viewpoint(tmp_path / "viewpoint")
    kept("studies", in_short(plain(read_results(viewpoint))), "viewpoint record")
    counted = record(*PAIR, *(replace(one, framework="jax", steps=one.steps * 3) for one in PAIR))
    kept("studies", [figures(counted), rates(counted)], "counted steps")


def thinned(value: Any) -> Any:
    """Long lists by their first items, length and sum."""
    if isinstance(value, dict):
        return {name: thinned(each) for name, each in value.items()}
    if isinstance(value, list) and len(value) > 12:
        flat = np.ravel(np.array([each for each in value if each is not None], float))
        return {"first": value[:5], "length": len(value), "sum": float(flat.sum())}
    return [thinned(each) for each in value] if isinstance(value, list) else value


def test_answers_of_predictions() -> None:
    profiled = profile(np.array([0, 7, 19, 33, 48, 59, 71, 100]))
    low, high = (
        np.array([[1.0, 5, 2], [2, 1, 2], [3, 4, 9.0]]),
        np.array([[1.5, 6, 3], [2.5, 2, 3], [4, 5, 9.5]]),
    )
    asked = {
        "power": question(12, None, None),
        "time": question(None, 50, None),
        "energy": question(None, None, 750),
        "both": question(14, 60, None, Quantity.ENERGY),
        "none": question(1, 1, None),
    }
    found = {
        "front": front.front_of(profiled),
        "memberships": front.memberships(low, high),
        "design": [initial_design(MODES), initial_design(MODES, 5)],
        "answers": {name: answer(KNOWN, one) for name, one in asked.items()},
    }
    kept("studies", in_short(plain(found)), "predictions")


@pytest.mark.usefixtures("builds_a_site")
def test_pages_of_studies(tmp_path: Path) -> None:
    make_experiment(tmp_path / "in" / "concurrent")
    make_viewpoint(tmp_path / "in" / "viewpoint")
    make_bundle(tmp_path / "in" / "run")
    site = build_site([tmp_path / "in"], tmp_path / "site").parent
    pages = sorted(path for path in (site / "studies").glob("*.html") if path.name != "index.html")
    assert len(pages) == 2
    for page in pages:
        kept(
            "studies", visible(page.read_text(encoding="utf-8")), f"page {page.name.split('-')[0]}"
        )
