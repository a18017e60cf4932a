"""Power of a run beside the power before it: honest runs comply, whatever else the machine did."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suite.bundle.channels import Channels
from suite.catalog.power import load_power_rules, without_sources
from suite.compliance.rule import BundleContext
from suite.metrics.counted_time import START
from suite.metrics.power_totals import write_power_rules
from tests.builders import RICH, make_bundle
from tests.checks_alone import channel, channels, context_of, found, log, node, varied
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.reading_edits import change_baseload
from tests.faults.edits.table_edits import rename_source


@pytest.mark.parametrize(("idle_w", "is_found"), [(5.5, False), (5.98, True)])
def test_the_mean_power_of_a_run_is_that_of_its_counted_time(
    idle_w: float, is_found: bool, tmp_path: Path
) -> None:
    """A sixth of a run of 6 W is not counted, nor is its energy."""
    bundle = EditableBundle(make_bundle(tmp_path / "run", replace(RICH, idle_w=idle_w)))
    for number in range(3):
        bundle.event(START, number)["metadata"]["mono_ns"] -= 1_500_000_000
    bundle.save()
    stated_w = [
        float(each.observed.split()[4])
        for each in found("power-above-idle", context_of(bundle.path))
    ]
    assert stated_w == pytest.approx([6.0] * is_found, abs=0.02)


@pytest.mark.parametrize(("accelerator", "is_found"), [("cpu", False), ("cuda", True)])
def test_where_only_the_gpu_s_power_was_read_a_run_on_the_cpu_need_not_draw_more(
    accelerator: str, is_found: bool, tmp_path: Path
) -> None:
    bundle = EditableBundle(make_bundle(tmp_path / "run", replace(RICH, idle_w=6.0)))
    rename_source("um25c", "nvml", "gpu0.power")(bundle)
    change_baseload(lambda rows: rows.assign(source="nvml", channel="gpu0.power"))(bundle)
    write_power_rules(bundle.path, bundle.readings["source"].unique())
    bundle.save()
    made = varied(context_of(bundle.path), request={"accelerator": accelerator})
    assert bool(found("power-above-idle", made)) is is_found


def _read(first_s: float, **powers_w: float) -> Channels:
    """A hundred seconds of a busy processor, and of these powers by "meter__channel"."""
    times_s = first_s + np.arange(101.0)
    read = {"cpu utilisation.total": 90.0}
    read |= {name.replace("__", " "): power_w for name, power_w in powers_w.items()}
    units = {name: "%" if name.startswith("cpu") else "W" for name in read}
    return channels(
        *(channel(name, units[name], times_s, np.full(101, read[name])) for name in read)
    )


def _board(power_w: float, **others_w: float) -> dict[str, float]:
    return {"um25c__power": power_w, **others_w}


def _rails(*powers_w: float) -> dict[str, float]:
    """Of a Jetson AGX Orin, which has no input rail."""
    names = ("VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0")
    return dict(zip((f"ina3221__{name}" for name in names), powers_w, strict=True))


@pytest.mark.parametrize(
    ("before_w", "in_run_w", "left_out", "count"),
    [
        (_board(6.0), _board(3.7), (), 0),
        (_board(6.0), _board(3.5), (), 1),
        (_board(6.0, ina3221__CV=0.01), _board(6.0, ina3221__CV=0.0), (), 0),
        (_rails(8.0, 2.0, 3.0), _rails(4.0, 8.0, 3.0), (), 0),
        (_rails(8.0, 2.0, 3.0), _rails(4.0, 0.5, 3.0), (), 1),
        (_board(6.0), _board(1.0), ("um25c",), 0),
        ({"nvml__gpu0.power": 30.0}, {"nvml__gpu0.power": 10.0}, (), 0),
    ],
    ids=[
        "a board that draws 60 % and more",
        "that draws less",
        "a rail of next to nothing beside it",
        "one of several rails, of which the sum counts",
        "all rails together",
        "a meter that was left out",
        "a GPU that played a video before a run on the CPU",
    ],
)
def test_after_a_busy_machine_the_total_that_counts_falls_by_two_fifths_at_most(
    before_w: dict[str, float],
    in_run_w: dict[str, float],
    left_out: tuple[str, ...],
    count: int,
    context: BundleContext,
) -> None:
    made = varied(
        context,
        log=log(("run_start", 100, 0), ("run_stop", 200, 0)),
        nodes=(node(_read(100, **in_run_w), _read(0, **before_w)),),
        power_rules=without_sources(load_power_rules(), left_out),
        derived=context.derived,
    )
    assert len(found("power-above-idle", made)) == count
