"""Draws the losses of comparable runs of several frameworks, one panel per workload, and prints
their largest relative deviation.

usage: python -m benchmarks.loss_curves RUN… --output curves.svg [--window 10]

Losses are means over ``window`` mini-batches. A framework's deviation is the largest relative
difference, at any point, between its curve and the mean of all frameworks' curves of that workload.
"""

import argparse
from pathlib import Path

import numpy as np

from reporter.figures.chart import Caption, Drawing
from reporter.figures.model import LegendEntry, Plane, Plot, line_through
from reporter.figures.scales import linear_scale
from suite.bundle.reader import Bundle

COLOURS = ("#d55e00", "#0072b2", "#009e73")
STYLE = "text{font:12px sans-serif;fill:#333}.grid{stroke:#ddd}" + "".join(
    f".l{index}{{fill:none;stroke-width:1.6;stroke:{colour}}}.c{index}{{fill:{colour}}}"
    for index, colour in enumerate(COLOURS)
)


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
    names = sorted({name for by_framework in curves.values() for name in by_framework})
    panels = tuple(panel(workload, of, names, window) for workload, of in curves.items())
    about = f"Means over {window} mini-batches, one line per framework"
    drawing = Drawing(
        Caption("losses", "Loss by mini-batch", about), Plot(panels, (), (), columns=2)
    )
    return drawing.svg.replace("<title>", f"<style>{STYLE}</style><title>", 1) + "\n"


def panel(workload: str, curves: dict[str, np.ndarray], names: list[str], window: int) -> Plane:
    """One workload."""
    points = {
        name: [((place + 0.5) * window, float(loss)) for place, loss in enumerate(curve)]
        for name, curve in curves.items()
    }
    return Plane(
        "mini-batch",
        workload,
        linear_scale([max(map(len, curves.values())) * window], 5),
        linear_scale([float(curve.max()) for curve in curves.values()], 5),
        tuple(line_through(of, f"l{names.index(name)}") for name, of in points.items()),
        legend=tuple(LegendEntry(f"c{index}", name) for index, name in enumerate(names)),
    )


if __name__ == "__main__":
    main()
