"""A run's figures over its time."""

from pathlib import Path

from reporter.data.timeline import read_timeline
from reporter.figures.model import Plane, Plot
from reporter.figures.over_time import described, epochs_accuracy
from suite.bundle.reader import Bundle
from tests.builders import Scenario, make_bundle


def test_epochs_are_counted_in_whole_ones() -> None:
    rows = [{"epoch": epoch, "eval_accuracy": 0.9 + epoch / 100} for epoch in (1, 2, 3, 4)]
    _, describe = epochs_accuracy(rows)
    plot = describe(None)  # type: ignore[arg-type]
    assert isinstance(plot, Plot)
    (panel,) = plot.panels
    assert isinstance(panel, Plane) and panel.x.ticks == (1, 2, 3, 4)


def test_the_whole_run_is_from_run_start_to_run_stop(tmp_path: Path) -> None:
    """Meters read from the start of the process on, and a while after the run."""
    bundle = Bundle(make_bundle(tmp_path / "run", Scenario(power_w=3.0)))
    timeline = read_timeline(bundle, bundle.log())
    (power,), (run, *_) = timeline.power, timeline.spans
    of_run = [t_s for t_s in power.t_s if 0 <= t_s <= run.stop_s]
    assert power.t_s[0] < 0 and power.t_s[-1] > run.stop_s and run.start_s == 0
    (_, describe), _ = described(timeline, None)
    plot = describe(None)  # type: ignore[arg-type]
    assert isinstance(plot, Plot)
    assert plot.rows[0][:2] == ("whole run", str(len(of_run)))
    assert run.stop_s > max(span.stop_s for span in timeline.spans[1:])
