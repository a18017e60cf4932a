"""Ten copies of a real run with scaled times, of the first run of each framework:
`python -m proofs.outsider.third_list.scaled`."""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import numpy.typing as npt

from proofs.outsider.edits import PARTS
from proofs.outsider.third_list.copy_edits import scale
from proofs.outsider.third_list.edits import NS, restate, scale_growth
from proofs.outsider.third_list.forged_copy import ForgedCopy
from proofs.outsider.third_list.trial import FRAMEWORKS, REFERENCE, of_framework
from suite.compliance.checker import check_bundle
from tests.relabelled import relabelled

LOAD = ("busy", "own", "steal", "cpu.some", "io.full", "io.some")


def everything(copy: ForgedCopy, factor: float) -> None:
    """All times, those of the readings too, and CPU time."""
    first = int(copy.events[0]["metadata"]["mono_ns"])

    def moved(times: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return np.where(times > first, first + ((times - first) * factor).astype(np.int64), times)

    copy.retime(moved)
    scale_growth(copy, "cpu", "process_tree", factor, whole=False)
    scale_growth(copy, "counters", "task_clock.count", factor)
    shorten_load(copy, factor)


def on_schedule(copy: ForgedCopy, factor: float) -> None:
    """All times and CPU time; readings once a second, with values of the moments they stand for."""
    scale(copy, factor)
    shorten_load(copy, factor)


def without_cpu_time(copy: ForgedCopy, factor: float) -> None:
    """All times, but not CPU time; readings once a second."""
    scale(copy, factor, cpu=False)


def interpolated(copy: ForgedCopy, factor: float) -> None:
    """As on_schedule, the utilisation interpolated."""
    first, before = int(copy.events[0]["metadata"]["mono_ns"]), copy.readings.copy()
    on_schedule(copy, factor)
    for channel, old in before[before["source"] == "cpu"].groupby("channel"):
        if str(channel).startswith("utilisation"):
            mask = copy.at("cpu", str(channel))
            t_ns = copy.readings.loc[mask, "t_ns"].to_numpy(np.float64)
            then = np.where(t_ns > first, first + (t_ns - first) / factor, t_ns)
            copy.readings.loc[mask, "value"] = np.interp(then, old["t_ns"], old["value"])


def with_faster_clock(copy: ForgedCopy, factor: float) -> None:
    """Everything, and the cores' clocks faster."""
    everything(copy, factor)
    clocks = copy.readings["channel"].str.startswith("frequency")
    copy.readings.loc[clocks, "value"] /= factor


def shorten_load(copy: ForgedCopy, factor: float) -> None:
    """Less CPU time by the meter of the load."""
    for channel in LOAD:
        scale_growth(copy, "load", channel, factor, whole=False)


COPIES = (
    *((everything, factor) for factor in (0.9, 0.7, 0.5)),
    *((on_schedule, factor) for factor in (0.9, 0.7, 0.5)),
    *((without_cpu_time, factor) for factor in (0.9, 0.5)),
    (interpolated, 0.9),
    (with_faster_clock, 0.5),
)


def main() -> None:
    """Print what the checker says of each copy."""
    warnings.simplefilter("ignore")  # the edited values may be impossible
    for change, factor in COPIES:
        for framework in FRAMEWORKS:
            with tempfile.TemporaryDirectory() as folder:
                run = relabelled(of_framework(REFERENCE, framework), Path(folder) / "run")
                copy = ForgedCopy(run)
                change(copy, factor)
                copy.steps[PARTS] = np.floor(copy.steps[PARTS] / NS) * NS
                restate(copy)
                copy.save()
                found = check_bundle(run).findings
            said = sorted({f"{each.severity.value} {each.check}" for each in found})
            print(f"{change.__name__} {factor} {framework}: {', '.join(said) or '-'}", flush=True)


if __name__ == "__main__":
    main()
