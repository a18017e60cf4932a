"""Faults that the rules of suite.extensions.concurrent.rules find, by rule."""

from typing import Any

from suite.bundle.layout import MANIFEST
from tests.extensions.concurrent.edits import (
    EXPERIMENT_OF_TRACE,
    change_figures,
    change_setting,
    hasten_image,
    lose,
    move_batch,
    move_steps,
    of_experiment,
    resealed,
)
from tests.faults.edits.fault import Fault


def _halve_latency(content: Any) -> None:
    content["batches"][0]["beside"]["latency_s"]["value"] *= 0.5


FAULTS: dict[str, tuple[Fault, ...]] = {
    "record-sealed": (
        of_experiment("a latency halved", change_figures(_halve_latency)),
        of_experiment("the training's steps lost", lose("beside-b4/training/step_times.csv")),
        of_experiment("no manifest", lose(MANIFEST)),
        of_experiment("a file added", lambda folder: (folder / "better.json").write_text("{}")),
    ),
    "record-recomputes": (
        resealed("a latency halved", change_figures(_halve_latency)),
        resealed("a batch that ends earlier", move_batch(5, "end_ns", -2_000_000)),
        resealed(
            "a batch sent before its images were there", move_batch(5, "sent_ns", -60_000_000)
        ),
        resealed("another seed of the arrivals", change_setting("beside-b4", seed=9)),
        resealed("a lower rate", change_setting("beside-b4", rate_per_s=10.0)),
        resealed("the baseline of the training lost", lose("training-alone/measurement.json")),
    ),
    "concurrent-baselines": (
        resealed("a baseline with more threads", change_setting("training-alone", threads_train=8)),
        resealed(
            "a baseline at another rate", change_setting("inference-alone-b4", rate_per_s=20.0)
        ),
        resealed(
            "a baseline beside a training", change_setting("inference-alone-b4", trains="lenet")
        ),
        resealed(
            "a baseline with another trace",
            hasten_image("inference-alone-b4"),
            EXPERIMENT_OF_TRACE,
        ),
    ),
    "concurrent-exclusive": (resealed("steps moved into the batches", move_steps(30_000_000)),),
}
