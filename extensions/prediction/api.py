"""What suite.api has of prediction."""

from pathlib import Path

from suite.extensions.prediction.record.answers import Answer, Known, answer
from suite.extensions.prediction.record.knowing import known_of
from suite.extensions.prediction.record.limits import question

__all__ = ["predict"]


def predict(
    table: str | Path,
    *,
    grid: str | Path | None = None,
    max_watts: float | None = None,
    max_minutes: float | None = None,
    max_joules: float | None = None,
    model: str = "physical",
    seed: int = 0,
) -> tuple[Known, Answer]:
    """Predict every mode from a table of profiled ones: what is known of each (``known.samples``),
    and the best within the limits."""
    known, _ = known_of(Path(table), grid, model, seed=seed)
    return known, answer(
        known, question(max_watts, None if max_minutes is None else 60 * max_minutes, max_joules)
    )
