"""Draws the losses of comparable runs of several frameworks, one panel per workload, and prints
their largest relative deviation.

usage: python -m benchmarks.loss_curves RUN… --output curves.svg [--window 10]

Losses are means over ``window`` mini-batches. A framework's deviation is the largest relative
difference, at any point, between its curve and the mean of all frameworks' curves of that workload.
"""

import argparse
from pathlib import Path

import numpy as np

from reporter.figures.svg import Canvas, linear
from suite.bundle.reader import Bundle

WIDTH, HEIGHT, LEFT, TOP = 420, 260, 48, 34
STYLE = (
    "text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd}.l0,.l1,.l2{fill:none;stroke-width:1.6}"
)
STYLE += ".l0{stroke:#d55e00}.l1{stroke:#0072b2}.l2{stroke:#009e73}"


def main() -> None:
    """Read the runs, print the deviations, write the drawing."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--window", type=int, default=10)
    arguments = parser.parse_args()
    curves = read(arguments.runs, arguments.window)
    for workload, by_framework in curves.items():
        print(
            f"{workload}: "
            + ", ".join(
                f"{name} {100 * far:.2f} %" for name, far in deviations(by_framework).items()
            )
        )
    arguments.output.write_text(draw(curves, arguments.window), encoding="utf-8")


def read(paths: list[Path], window: int) -> dict[str, dict[str, np.ndarray]]:
    """Smoothed losses by workload and framework."""
    curves: dict[str, dict[str, np.ndarray]] = {}
    for path in paths:
        bundle = Bundle(path)
        request = bundle.run().request
        losses = bundle.steps_frame()["loss"].to_numpy()
        whole = len(losses) // window * window
        curves.setdefault(request["workload"], {})[request["framework"]] = (
            losses[:whole].reshape(-1, window).mean(axis=1)
        )
    return curves


def deviations(curves: dict[str, np.ndarray]) -> dict[str, float]:
    """The largest deviation of each curve from the mean of all, relative to that mean."""
    mean = np.mean(list(curves.values()), axis=0)
    return {name: float(np.max(np.abs(curve - mean) / mean)) for name, curve in curves.items()}


def draw(curves: dict[str, dict[str, np.ndarray]], window: int) -> str:
    """The panels side by side, two in a row."""
    rows = -(-len(curves) // 2)
    canvas = Canvas(
        2 * WIDTH,
        rows * HEIGHT + 30,
        "Loss by mini-batch",
        f"Means over {window} mini-batches, one line per framework",
    )
    names = sorted({name for by_framework in curves.values() for name in by_framework})
    for index, name in enumerate(names):
        canvas.line(LEFT + 130 * index, 14, LEFT + 24 + 130 * index, 14, f"l{index}")
        canvas.text(LEFT + 30 + 130 * index, 18, name)
    for index, (workload, by_framework) in enumerate(curves.items()):
        panel(
            canvas,
            (index % 2) * WIDTH,
            30 + (index // 2) * HEIGHT,
            workload,
            by_framework,
            names,
            window,
        )
    return canvas.svg().replace("<title>", f"<style>{STYLE}</style><title>", 1) + "\n"


def panel(
    canvas: Canvas,
    x: float,
    y: float,
    workload: str,
    curves: dict[str, np.ndarray],
    names: list[str],
    window: int,
) -> None:
    """One workload."""
    highest, steps = (
        max(float(curve.max()) for curve in curves.values()),
        max(map(len, curves.values())) * window,
    )
    up = linear([highest], y + HEIGHT - 30, y + TOP - 10, 5)
    along = linear([steps], x + LEFT, x + WIDTH - 20, 5)
    canvas.text(x + LEFT, y + 14, workload)
    for tick in up.ticks:
        canvas.line(x + LEFT, up.at(tick), x + WIDTH - 20, up.at(tick), "grid")
        canvas.text(x + LEFT - 6, up.at(tick) + 4, f"{tick:g}", anchor="end")
    for tick in along.ticks:
        canvas.text(along.at(tick), y + HEIGHT - 12, f"{tick:g}", anchor="middle")
    for name, curve in curves.items():
        points = [
            (along.at((place + 0.5) * window), up.at(float(loss)))
            for place, loss in enumerate(curve)
        ]
        canvas.path(points, f"l{names.index(name)}")


if __name__ == "__main__":
    main()
