"""Clock of every core where the kernel offers none, as in virtual machines: measured with a chain
of additions."""

import time

from suite.catalog.core_clocks import CORE_CLOCK
from suite.machine.core_clock import CoreClock, can_measure, clocks_hz
from suite.meters.background import BackgroundMeter
from suite.meters.meter import AVAILABLE, NO_PROC, MeterAvailability, MeteredProcess, Reading


class CpuClockMeter(BackgroundMeter):
    """Channels ``frequency.core<n>`` (Hz), measured with a chain of additions that takes 0.2 ms of
    each core once a second.

    Where the kernel has cpufreq, the meter ``cpu`` reads the clocks. A core that is busy runs the
    chain between two turns of other programs.
    """

    name = "cpu-clock"
    period_s = 1.0
    description = "measured clock of every core, where the kernel reports none"

    _clock: CoreClock | None = None

    def availability(self) -> MeterAvailability:
        """On x86-64, where the kernel has no cpufreq."""
        if not (self._root / "proc/stat").is_file():
            return NO_PROC
        if any((self._root / "sys/devices/system/cpu").glob("cpu[0-9]*/cpufreq/scaling_cur_freq")):
            return MeterAvailability(
                False,
                "not needed: the kernel reports the cores' clocks",
                "the meter `cpu` reads these clocks",
            )
        if not can_measure():
            return MeterAvailability(
                False,
                "this measurement runs on x86-64 only",
                "on a board, use a kernel with cpufreq",
            )
        try:
            CoreClock()
        except OSError as error:
            return MeterAvailability(
                False,
                f"the system allows no executable memory ({error.strerror})",
                "switch off what forbids it (SELinux's deny_execmem, systemd's"
                " MemoryDenyWriteExecute), or do without this meter",
            )
        return AVAILABLE

    def open(self, process: MeteredProcess) -> None:
        """Make the chain, and start measuring."""
        self._clock = CoreClock()
        super().open(process)

    def _produce(self) -> list[Reading]:
        """The clock of each core that this process may use, at its own moment: a busy core is
        waited for."""
        assert self._clock is not None
        return [
            Reading(time.monotonic_ns(), self.name, f"{CORE_CLOCK}{core}", clock_hz, "Hz")
            for core, clock_hz in clocks_hz(self._clock)
        ]


METER = CpuClockMeter
