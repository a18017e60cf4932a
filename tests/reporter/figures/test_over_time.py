"""A run's figures over its time."""

from reporter.figures.model import Plane, Plot
from reporter.figures.over_time import epochs_accuracy


def test_epochs_are_counted_in_whole_ones() -> None:
    rows = [{"epoch": epoch, "eval_accuracy": 0.9 + epoch / 100} for epoch in (1, 2, 3, 4)]
    _, describe = epochs_accuracy(rows)
    plot = describe(None)  # type: ignore[arg-type]
    assert isinstance(plot, Plot)
    (panel,) = plot.panels
    assert isinstance(panel, Plane) and panel.x.ticks == (1, 2, 3, 4)
