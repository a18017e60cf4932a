"""tegrastats: NVIDIA's monitor of Jetson boards, for rails, GPU and memory controller."""

import os
import re
import signal
import subprocess
import time
from pathlib import Path

from suite.meters.background import Background, BackgroundMeter
from suite.meters.meter import (
    AVAILABLE,
    MeterAvailability,
    MeteredProcess,
    Reading,
    readings_of,
)
from suite.meters.tool import find_tool, start_tool, wait_for_end

COMMAND = "tegrastats"
# "POM_5V_IN 1022/1022" (JetPack 4), "VDD_IN 5079mW/5079mW" (JetPack 5, 6): now/average. "VIN
# 124486mW/36487mW/124486mW" (JetPack 7): now/average/maximum. "VDD_IN 3913mW": now alone. A
# sensor's offset makes an idle rail negative. "RAM 534/3964MB" and "APE 25" are no rails.
RAIL = re.compile(r"(?<!\S)([A-Z][A-Z0-9_]*) (-?\d+)(?:(?:mW)?(?:/-?\d+(?:mW)?)+|mW)(?!\S)")
# "GR3D_FREQ 26%@[306]", "GR3D_FREQ 0%@76", "GR3D_FREQ 78%", "EMC_FREQ @2133", "EMC_FREQ 4%@1600";
# "GR3D 3%@76" (JetPack 3)
ENGINE = re.compile(r"(?<!\S)(GR3D|EMC)(?:_FREQ)? (?:(\d+)%)?(?:@\[?(\d+))?")
# the next line sets the pace; this only limits the polling of a program that has exited
LINE_PERIOD_S = 0.01
ENGINES = {"GR3D": "gpu", "EMC": "memory_controller"}


class TegrastatsMeter(BackgroundMeter):
    """Channels: each rail (W, by its board's name), ``gpu.utilisation`` and
    ``memory_controller.utilisation`` (%), ``gpu.frequency`` and ``memory_controller.frequency``
    (Hz).

    A reading's time is the arrival of its line. Without root some releases print no rails. Source:
    NVIDIA Jetson Linux Developer Guide, "tegrastats Utility".
    """

    name = "tegrastats"
    period_s = 1.0
    description = "rails, GPU and memory controller of a Jetson, from NVIDIA's program"

    def __init__(self, root: Path = Path("/")) -> None:
        super().__init__(root)
        self._process: subprocess.Popen[str] | None = None
        self._process_cost_s = 0.0
        self._background = Background(self.name, self._produce, LINE_PERIOD_S)

    def availability(self) -> MeterAvailability:
        """Jetson boards have the program."""
        if find_tool(self._root, COMMAND):
            return AVAILABLE
        return MeterAvailability(
            False,
            f"there is no {COMMAND} (it belongs to NVIDIA Jetson Linux)",
            "on a Jetson: sudo apt install nvidia-l4t-tools",
        )

    def open(self, process: MeteredProcess) -> None:
        """Start the program."""
        interval_ms = str(round(self.period_s * 1000))
        self._process = start_tool([str(find_tool(self._root, COMMAND)), "--interval", interval_ms])
        super().open(process)

    def close(self) -> None:
        """Kill the program, which ends the thread's wait for its next line."""
        process = self._process
        if process is not None and process.returncode is None:
            os.kill(process.pid, signal.SIGKILL)  # Popen.kill might reap it
            self._process_cost_s = wait_for_end(process)
        super().close()

    def helper_cost_s(self) -> float:
        """CPU time of the thread and of the program."""
        return super().helper_cost_s() + self._process_cost_s

    def _produce(self) -> list[Reading]:
        """Wait for the next line."""
        assert self._process is not None and self._process.stdout is not None
        line = self._process.stdout.readline()
        t_ns = time.monotonic_ns()
        # nothing, or a line that was cut off: "GR3D_FREQ 99%@6" of 612 MHz
        if not line.endswith("\n"):
            raise OSError("tegrastats exited by itself")
        return readings_of(self.name, t_ns, parse_line(line))


def parse_line(line: str) -> dict[str, tuple[float, str]]:
    """Value and unit by channel, from a line of any JetPack; values that a board does not print are
    absent."""
    found = {name: (int(milliwatts) * 1e-3, "W") for name, milliwatts in RAIL.findall(line)}
    for engine, percent, megahertz in ENGINE.findall(line):
        if percent:
            found[f"{ENGINES[engine]}.utilisation"] = (float(percent), "%")
        if megahertz:
            found[f"{ENGINES[engine]}.frequency"] = (int(megahertz) * 1e6, "Hz")
    return found


METER = TegrastatsMeter
