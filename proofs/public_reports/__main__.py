"""Logs and sensors as people reported them in public: what the suite reads of each, beside the
truth that its report states: `make prove public-reports`.

SUITE_PUBLIC_REPORTS is a folder with ``cases.json``: a list with the name, address, truth, and
either the ``text`` of a log with its ``options``, or the files of a ``tree``. Nothing of it is kept
but the table.
"""

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from proofs.figures import hand_over
from suite.catalog.power import load_power_rules, totals_of_channels
from suite.errors import SuiteError
from suite.meters.meter import MeteredProcess
from suite.meters.sources import rapl, temperature, throttling
from suite.metrics.traces.attaching import read_logger
from suite.metrics.traces.columns import TraceOptions

WITHIN = 0.005
METERS = (rapl.RaplMeter, temperature.TemperatureMeter, throttling.ThrottlingMeter)


def main() -> None:
    """Print the table; fail where something was read wrongly."""
    cases = json.loads((Path(os.environ["SUITE_PUBLIC_REPORTS"]) / "cases.json").read_text())
    wrong = 0
    print("| report | truth | read | verdict |\n|---|---|---|---|")
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            read = _of_log(case, Path(folder)) if "text" in case else _of_tree(case, Path(folder))
        verdict = "right" if _agrees(case["truth"], read) else "WRONG"
        if verdict == "WRONG" and read.startswith("refused"):
            verdict = "refused"
        wrong += verdict == "WRONG"
        print(f"| [{case['name']}]({case['address']}) | {case['truth']} | {read} | {verdict} |")
    hand_over(cases=len(cases), wrong=wrong)
    raise SystemExit(wrong > 0)


def _of_log(case: dict[str, Any], folder: Path) -> str:
    path = folder / "log.txt"
    path.write_text(case["text"], encoding="utf-8")
    options: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in case["options"].items()
    }
    try:
        _, read = read_logger(path, TraceOptions(**options))
    except SuiteError as error:
        return f"refused: {str(error).replace(str(path), 'the file')[:110]}"
    return f"{np.mean(read.trace.power_w):.5g} W"


def _of_tree(case: dict[str, Any], folder: Path) -> str:
    for name, content in case["tree"].items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{content}\n", encoding="utf-8")
    meters = [
        found for found in (meter(folder) for meter in METERS) if found.availability().available
    ]
    if not meters:
        return "no meter"
    (meter,) = meters
    meter.open(MeteredProcess(1, folder))
    readings = list(meter.read())
    if isinstance(meter, rapl.RaplMeter):
        counted = totals_of_channels(
            load_power_rules(), ((meter.name, each.channel) for each in readings)
        )
        return f"counts {'+'.join(sorted(counted[0].channels))}"
    if isinstance(meter, temperature.TemperatureMeter):
        return f"{readings[0].value:.5g} degC" if readings else "no temperature"
    return " ".join(sorted(each.channel for each in readings if each.value)) or "none"


def _agrees(truth: str, read: str) -> bool:
    number, _, unit = truth.partition(" ")
    if unit != "W":
        return read.startswith(truth)
    return read.endswith(" W") and abs(float(read[:-2]) - float(number)) <= WITHIN * float(number)


if __name__ == "__main__":
    main()
