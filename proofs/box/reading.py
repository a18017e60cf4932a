"""Runs inside the emulated machine: records the suite's INA3221 meter and its settings.

python3 -m proofs.box.reading SECONDS FOLDER
"""

import json
import os
import sys
import time
from dataclasses import asdict
from pathlib import Path

from suite.execution.recorder import Recorder
from suite.meters.meter import MeteredProcess
from suite.meters.sources.ina3221 import Ina3221Meter


def main(seconds: float, folder: Path) -> None:
    """Leave readings.csv and meter.json in the folder."""
    recorder = Recorder([Ina3221Meter()], folder)
    recorder.start(MeteredProcess(os.getpid(), folder))
    time.sleep(seconds)
    record, _ = recorder.stop()
    (folder / "meter.json").write_text(json.dumps(asdict(record)), encoding="utf-8")


if __name__ == "__main__":
    main(float(sys.argv[1]), Path(sys.argv[2]))
