"""Every power meter, from its instrument's own answers to a known energy: even, rising,
interrupted, dying, negative and absurd.

An instrument is what the meter really asks: a tree of files, a program, a server, a serial line, a
table that grows. Only time is not waited for: a second passes between two readings. What a meter
raises is what the recorder would count, and nothing more.
"""

import http.server
import json
import os
import pty
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from suite.bundle.attached import SOURCE as ATTACHED
from suite.bundle.readings_table import channels_of_frame
from suite.catalog.power import Tier, load_power_rules, totals_of_channels
from suite.meters.meter import Meter, MeteredProcess, Reading
from suite.meters.registry import meter_classes
from suite.meters.sources.ina238 import Ina238Meter
from suite.meters.sources.ina3221 import Ina3221Meter
from suite.meters.sources.jtop import JtopMeter
from suite.meters.sources.meter_csv import MeterCsvMeter
from suite.meters.sources.nvml import NvmlMeter
from suite.meters.sources.rapl import RaplMeter
from suite.meters.sources.rpi5_pmic import Rpi5PmicMeter
from suite.meters.sources.shelly import ShellyMeter
from suite.meters.sources.tasmota import TasmotaMeter
from suite.meters.sources.tegrastats import TegrastatsMeter
from suite.meters.sources.um25c import Um25cMeter
from suite.metrics.energy import Energy, energy_of

SECOND = 10**9
ABSURD_W = 4_000_000.0
THOR = "nvidia,p4071-0000+p3834-0008\0nvidia,p3834-0008\0nvidia,tegra264\0"


@dataclass
class Instrument:
    """A meter, and how to have its instrument show a power (W), or answer nothing (None)."""

    meter: Meter
    show: Callable[[float | None], object]
    shows_negative: bool = True
    shows_absurd: bool = True
    is_counter: bool = False
    tier: Tier = Tier.ON_BOARD
    first_w: float | None = None  # what it shows as the run begins
    end: list[Callable[[], object]] = field(default_factory=list)


class AtOnce:
    """Stands for the thread of a meter that waits: asks the instrument when it is asked itself."""

    cost_s = 0.0

    def __init__(self, produce: Callable[[], Sequence[Reading]]) -> None:
        self._produce = produce

    def start(self) -> None: ...

    def take(self) -> Sequence[Reading]:
        return self._produce()

    def stop(self) -> None: ...


def at_once(meter: Any) -> Any:
    """The meter without its thread."""
    meter._background = AtOnce(meter._produce)
    return meter


def nano(tree: Any, tmp_path: Path) -> Instrument:
    """NVIDIA's driver, JetPack 4."""
    folder = "sys/bus/i2c/drivers/ina3221x/6-0040/iio:device0"
    root = tree({f"{folder}/rail_name_0": "POM_5V_IN\n", f"{folder}/in_power0_input": "0\n"})
    file = root / folder / "in_power0_input"
    return Instrument(
        Ina3221Meter(root),
        lambda watts: file.write_text("" if watts is None else f"{round(watts * 1000)}\n"),
    )


def orin(tree: Any, tmp_path: Path) -> Instrument:
    """The mainline driver, JetPack 5 and 6: three rails of the total at a third of the power each,
    one beside it, one not connected."""
    rails = {
        "1-0040": ["VDD_GPU_SOC", "VDD_CPU_CV", "VIN_SYS_5V0"],
        "1-0041": ["NC", "VDDQ_VDD2_1V8AO", "NC"],
    }
    files = {}
    for address, names in rails.items():
        for number, name in enumerate(names, start=1):
            base = f"sys/bus/i2c/drivers/ina3221/{address}/hwmon/hwmon{address[-1]}"
            files |= {
                f"{base}/in{number}_label": f"{name}\n",
                f"{base}/in{number}_input": "1000\n",
                f"{base}/curr{number}_input": "500\n",
            }
    root = tree(files)
    currents = sorted(root.glob("sys/bus/i2c/drivers/ina3221/1-0040/hwmon/*/curr*_input"))

    def show(watts: float | None) -> None:
        for current in currents:  # at 1 V, milliamperes are milliwatts
            current.write_text("" if watts is None else f"{round(watts * 1000 / 3)}\n")

    return Instrument(Ina3221Meter(root), show)


def thor(tree: Any, tmp_path: Path) -> Instrument:
    """The monitor at the input of an AGX Thor, in microwatts."""
    folder = "sys/class/hwmon/hwmon3"
    root = tree(
        {
            f"{folder}/name": "ina238\n",
            f"{folder}/power1_input": "0\n",
            "proc/device-tree/compatible": THOR,
        }
    )
    file = root / folder / "power1_input"
    return Instrument(
        Ina238Meter(root),
        lambda watts: file.write_text("" if watts is None else f"{round(watts * 1e6)}\n"),
    )


def tegrastats(tree: Any, tmp_path: Path) -> Instrument:
    """The program prints a line a second; without the right to read them, a line has no rails."""
    lines = tmp_path / "lines"
    os.mkfifo(lines)
    tool = tmp_path / "root/usr/bin/tegrastats"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\nexec cat {lines}\n")
    tool.chmod(0o755)
    meter = at_once(TegrastatsMeter(tmp_path / "root"))
    handle = os.open(lines, os.O_RDWR)

    def show(watts: float | None) -> None:
        rail = "" if watts is None else f" VDD_IN {round(watts * 1000)}mW/1mW"
        os.write(
            handle,
            f"RAM 2690/6854MB (lfb 6x1MB) CPU [3%@1904] EMC_FREQ 0%@1600 GR3D_FREQ 0%@[510]{rail}\n".encode(),  # noqa: E501
        )

    return Instrument(meter, show, shows_negative=False, end=[lambda: os.close(handle)])


def jtop(tree: Any, tmp_path: Path) -> Instrument:
    """The service sends a table of rails."""
    connection = SimpleNamespace(
        power={},
        gpu={},
        memory={},
        start=lambda: None,
        close=lambda: None,
        ok=lambda spin: "rail" in connection.power,
    )

    def show(watts: float | None) -> None:
        connection.power = (
            {}
            if watts is None
            else {
                "rail": {"VDD_IN": {"power": watts * 1000}, "VDD_SOC": {"power": 7.0}},
                "tot": {"power": 1},
            }
        )

    return Instrument(
        JtopMeter(tree({"run/jtop.sock": ""}), SimpleNamespace(jtop=lambda interval: connection)),
        show,
    )


def rapl(tree: Any, tmp_path: Path) -> Instrument:
    """A counter of microjoules that wraps every 100 J, and soon after its first reading."""
    base, state = "sys/class/powercap/intel-rapl:0", {"uj": 95_000_000}
    root = tree(
        {
            f"{base}/name": "package-0\n",
            f"{base}/energy_uj": "95000000\n",
            f"{base}/max_energy_range_uj": "100000000\n",
        }
    )

    def show(watts: float | None) -> None:
        (root / base / "energy_uj").write_text(
            "" if watts is None else f"{state['uj'] % 100_000_000}\n"
        )
        state["uj"] += round((watts or 0) * 1e6)

    return Instrument(
        RaplMeter(root), show, shows_negative=False, shows_absurd=False, is_counter=True
    )


def nvml(tree: Any, tmp_path: Path, is_counter: bool = False) -> Instrument:
    """A GPU with, or without, a counter of energy."""
    state: dict[str, Any] = {"watts": 0.0, "mj": 0.0}

    class Failed(Exception):
        """NVML's own."""

    def ask(name: str, wanted: bool) -> Callable[[int], float]:
        def answer(gpu: int) -> float:
            if state["watts"] is None or not wanted:
                raise Failed("Not Supported")
            return float(state[name]) * (1000 if name == "watts" else 1)

        return answer

    library = SimpleNamespace(
        NVMLError=Failed,
        nvmlInit=lambda: None,
        nvmlShutdown=lambda: None,
        nvmlDeviceGetCount=lambda: 1,
        nvmlDeviceGetHandleByIndex=lambda index: index,
        nvmlDeviceGetPowerUsage=ask("watts", not is_counter),
        nvmlDeviceGetTotalEnergyConsumption=ask("mj", is_counter),
    )

    def show(watts: float | None) -> None:
        state["mj"] += state.get("next_mj", 0.0)
        state["watts"], state["next_mj"] = watts, (watts or 0) * 1000

    meter = NvmlMeter(tree({"proc/driver/nvidia/version": "NVRM\n"}), library)
    return Instrument(
        meter, show, shows_negative=False, shows_absurd=not is_counter, is_counter=is_counter
    )


def nvml_counter(tree: Any, tmp_path: Path) -> Instrument:
    """Volta and later."""
    return nvml(tree, tmp_path, is_counter=True)


def pmic(tree: Any, tmp_path: Path, plain: bool = False) -> Instrument:
    """vcgencmd prints currents first and voltages later; two rails at half the power each."""
    answer, tool = tmp_path / "answer", tmp_path / "root/usr/bin/vcgencmd"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\ncat {answer}\n")
    tool.chmod(0o755)

    def show(watts: float | None) -> None:
        # the rule's calibration makes the board's input of the rails' sum
        half = 0 if watts is None else (watts - 0.6444) / 1.1327 / 2
        lines = [
            ("VDD_CORE_A", half, "A", 7),
            ("3V3_SYS_A", half, "A", 1),
            ("VDD_CORE_V", 1, "V", 15),
            ("3V3_SYS_V", 1, "V", 9),
        ]
        indexed = [
            f"  {name} {'current' if unit == 'A' else 'volt'}({index})={value:.12f}{unit}"
            for name, value, unit, index in lines
        ]
        text = "\n".join(
            [f"{name}={value:.12f}{unit}" for name, value, unit, _ in lines] if plain else indexed
        )
        answer.write_text('error=1 error_msg="Command not registered"' if watts is None else text)

    show(3.0)
    return Instrument(at_once(Rpi5PmicMeter(tmp_path / "root")), show, tier=Tier.ESTIMATE)


def pmic_plain(tree: Any, tmp_path: Path) -> Instrument:
    """The firmware's other format."""
    return pmic(tree, tmp_path, plain=True)


def plug(
    tree: Any, name: str, make: Callable[[Path], Any], answer: Callable[[float], Any]
) -> Instrument:
    """A plug in the network, a small server here; nothing is a status of 500."""
    state: dict[str, Any] = {"watts": 0.0}

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(500 if state["watts"] is None else 200)
            self.end_headers()
            self.wfile.write(json.dumps(answer(state["watts"] or 0.0)).encode())

        def log_message(self, *arguments: object) -> None:
            """Quiet."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(
        target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    ).start()
    root = tree(
        {
            "etc/edge-training-suite/meters.toml": (
                f'[{name}]\naddress = "127.0.0.1:{server.server_port}"\n'
            )
        }
    )
    end: list[Callable[[], object]] = [server.shutdown, server.server_close]
    return Instrument(
        at_once(make(root)), lambda watts: state.update(watts=watts), tier=Tier.WALL_METER, end=end
    )


def shelly(tree: Any, tmp_path: Path) -> Instrument:
    """A Shelly plug."""
    return plug(
        tree,
        "shelly",
        ShellyMeter,
        lambda watts: {"id": 0, "output": True, "apower": watts, "voltage": 230.0, "current": 0.1},
    )


def tasmota(tree: Any, tmp_path: Path) -> Instrument:
    """A plug that runs Tasmota."""
    return plug(
        tree,
        "tasmota",
        TasmotaMeter,
        lambda watts: {"StatusSNS": {"ENERGY": {"Power": watts, "Voltage": 230, "Current": 0.1}}},
    )


def um25c(tree: Any, tmp_path: Path) -> Instrument:
    """A USB meter on a serial line; nothing is an answer of another device."""
    master, slave = pty.openpty()
    state: dict[str, float | None] = {"watts": 0.0}

    def serve() -> None:
        with suppress(OSError):
            while os.read(master, 1) == b"\xf0":
                watts = state["watts"]
                head = (
                    (0x09C9 if watts is not None else 0x1234).to_bytes(2, "big")
                    + (5000).to_bytes(2, "big")
                    + (1000).to_bytes(2, "big")
                )
                os.write(
                    master,
                    head + round((watts or 0) * 1000).to_bytes(4, "big") + bytes(118) + b"\xff\xf1",
                )

    threading.Thread(target=serve, daemon=True).start()
    root = tree({"etc/edge-training-suite/meters.toml": f'[um25c]\nport = "{os.ttyname(slave)}"\n'})
    end: list[Callable[[], object]] = [lambda: os.close(slave), lambda: os.close(master)]
    meter = at_once(Um25cMeter(root))
    return Instrument(
        meter,
        lambda watts: state.update(watts=watts),
        shows_negative=False,
        tier=Tier.WALL_METER,
        end=end,
    )


def table(tree: Any, tmp_path: Path) -> Instrument:
    """A table that another meter's program writes; nothing is a line that is no row."""
    settings = (
        '[meter_csv]\nfile = "/srv/m.csv"\ntime_column = "t"\nvoltage_column = "V"\ncurrent_column'
        ' = "mA"\ncurrent_scale = 0.001\n'
    )
    root = tree(
        {
            "etc/edge-training-suite/meters.toml": (
                f'{settings}coverage = "board"\ntier = "analyser"\n'
            ),
            "srv/m.csv": "t,V,mA\n",
        }
    )

    def show(watts: float | None) -> None:
        with (root / "srv/m.csv").open("a") as stream:
            stream.write(
                "the probe is loose\n" if watts is None else f"{time.time()},5,{watts * 200}\n"
            )

    instrument = Instrument(MeterCsvMeter(root), show, tier=Tier.ANALYSER)
    opening = instrument.meter.open

    def open_before_the_first_row(process: MeteredProcess) -> None:
        (root / "srv/m.csv").write_text("t,V,mA\n")
        opening(process)
        show(instrument.first_w)

    instrument.meter.open = open_before_the_first_row  # type: ignore[method-assign]
    return instrument


MAKERS = (
    nano,
    orin,
    thor,
    tegrastats,
    jtop,
    rapl,
    nvml,
    nvml_counter,
    pmic,
    pmic_plain,
    shelly,
    tasmota,
    um25c,
    table,
)


@pytest.fixture(params=MAKERS, ids=[maker.__name__ for maker in MAKERS])
def instrument(request: pytest.FixtureRequest, tree: Any, tmp_path: Path) -> Iterator[Instrument]:
    """Each of them."""
    made: Instrument = request.param(tree, tmp_path)
    yield made
    made.meter.close()
    for step in made.end:
        step()


def measure(instrument: Instrument, powers_w: Sequence[float | None]) -> Energy:
    """A reading a second; the energy from the first to the last by the rule that fits."""
    readings: list[Reading] = []
    instrument.first_w = powers_w[0]
    for second, watts in enumerate(powers_w):
        instrument.show(watts)
        if second == 0:
            instrument.meter.open(MeteredProcess(1, Path("/data")))
        with suppress(Exception):  # the recorder counts it, and goes on
            readings += [
                replace(reading, t_ns=second * SECOND) for reading in instrument.meter.read()
            ]
    frame = pandas.DataFrame([asdict(reading) for reading in readings])
    total, *_ = totals_of_channels(
        load_power_rules(), zip(frame["source"], frame["channel"], strict=True)
    )
    assert total.rule.tier is instrument.tier
    return energy_of(channels_of_frame(frame), total, 0, (len(powers_w) - 1) * SECOND)


def test_even_power(instrument: Instrument) -> None:
    energy = measure(instrument, [3.0] * 11)
    assert energy.energy_j == pytest.approx(30.0, rel=1e-9)
    assert (energy.coverage, energy.gaps, energy.rejected, energy.achieved_period_s) == (
        pytest.approx(1.0),
        0,
        0,
        1.0,
    )


def test_rising_power(instrument: Instrument) -> None:
    energy = measure(instrument, [3.0 * second for second in range(1, 12)])
    # a counter holds what each second's power added by the next reading; readings of power are
    # joined by straight lines
    assert energy.energy_j == pytest.approx(165.0 if instrument.is_counter else 180.0, rel=1e-9)


def test_a_sensor_that_is_silent_for_a_while_is_a_gap_that_shows(instrument: Instrument) -> None:
    energy = measure(instrument, [3.0] * 5 + [None] * 4 + [3.0] * 52)
    assert (energy.gaps, energy.longest_gap_s) == (1, 5.0)
    assert energy.coverage == pytest.approx(55 / 60)
    silent_s = 4 if instrument.is_counter else 0  # our counters stand still meanwhile
    assert energy.energy_j == pytest.approx((60 - silent_s) * 3.0, rel=1e-9)


def test_a_sensor_that_is_silent_for_96_of_100_seconds_gives_no_energy(
    instrument: Instrument,
) -> None:
    energy = measure(instrument, [3.0] * 3 + [None] * 95 + [3.0] * 3)
    assert energy.energy_j is None
    assert "its readings cover 4% of the time, less than 90%" in str(energy.reason)


def test_a_sensor_that_dies_during_the_run_leaves_no_energy(instrument: Instrument) -> None:
    energy = measure(instrument, [3.0] * 6 + [None] * 6)
    assert energy.energy_j is None
    assert "the last reading is 6 s before the end" in str(energy.reason)


# for a counter that jumps see test_rapl_meter.py
SHOW_POWER = [maker for maker in MAKERS if maker not in (rapl, nvml_counter)]


@pytest.mark.parametrize(
    "instrument", SHOW_POWER, ids=[maker.__name__ for maker in SHOW_POWER], indirect=True
)
def test_negative_and_absurd_readings_are_left_out_and_counted(instrument: Instrument) -> None:
    powers_w = [3.0] * 12
    rejected = 0
    if instrument.shows_negative:
        powers_w[3], rejected = -9.0, rejected + 1
    if instrument.shows_absurd:
        powers_w[7], rejected = ABSURD_W, rejected + 1
    energy = measure(instrument, powers_w)
    assert energy.energy_j == pytest.approx(33.0, rel=1e-9)
    assert energy.rejected >= rejected > 0  # of several rails, each


def test_every_meter_that_a_power_rule_names_is_driven_here(tree: Any, tmp_path: Path) -> None:
    from suite.catalog.power import load_power_rules

    named = {source for rule in load_power_rules() for source in rule.sources} - {ATTACHED}
    driven = {
        "ina3221",
        "ina238",
        "tegrastats",
        "jtop",
        "rapl",
        "nvml",
        "rpi5-pmic",
        "shelly",
        "tasmota",
        "um25c",
        "meter-csv",
    }
    assert named == driven <= {meter.name for meter in meter_classes()}


def test_a_board_that_misses_a_rail_of_its_total_has_no_energy_rather_than_a_smaller_one(
    tree: Any, tmp_path: Path
) -> None:
    instrument = orin(tree, tmp_path)
    label = next(tmp_path.glob("root/sys/bus/i2c/drivers/ina3221/1-0040/hwmon/*/in2_label"))
    label.write_text("NC\n")
    instrument.show(3.0)
    instrument.meter.open(MeteredProcess(1, Path("/data")))
    channels = [(reading.source, reading.channel) for reading in instrument.meter.read()]
    assert len(channels) == 3
    assert totals_of_channels(load_power_rules(), channels) == ()
