from pathlib import Path

import pytest

from suite.catalog.power import load_power_rules, totals
from suite.meters.meter import MeteredProcess
from suite.meters.sources.tegrastats import TegrastatsMeter, parse_line

# written for the tests in the shape of each release's lines: rail -> watts, then GPU and memory controller
LINES = {
    "Nano, JetPack 4": (
        "RAM 1534/3964MB (lfb 21x4MB) SWAP 5/1982MB (cached 1MB) IRAM 0/252kB(lfb 252kB) CPU [16%@1479,9%@1479,off,off] EMC_FREQ 12%@1600 "
        "GR3D_FREQ 99%@921 APE 25 PLL@34C CPU@36.5C PMIC@100C GPU@36C thermal@36.25C POM_5V_IN 4022/3980 POM_5V_GPU 1203/1100 POM_5V_CPU 804/790",
        {"POM_5V_IN": 4.022, "POM_5V_GPU": 1.203, "POM_5V_CPU": 0.804},
        (99, 921e6, 12, 1600e6),
    ),
    "AGX Xavier, JetPack 4": (
        "RAM 4721/31927MB (lfb 6291x4MB) SWAP 0/15963MB (cached 0MB) CPU [2%@1190,0%@1190] EMC_FREQ 3%@2133 GR3D_FREQ 51%@1377 APE 150 "
        "MTS fg 0% bg 0% AO@36C GPU@37C Tdiode@39.5C PMIC@100C AUX@36C CPU@37C thermal@36.4C GPU 3099/3050 CPU 620/618 SOC 1549/1500 CV 0/0 "
        "VDDRQ 464/450 SYS5V 2236/2236",
        {"GPU": 3.099, "CPU": 0.620, "SOC": 1.549, "CV": 0.0, "VDDRQ": 0.464, "SYS5V": 2.236},
        (51, 1377e6, 3, 2133e6),
    ),
    "Xavier NX, JetPack 5": (
        "03-12-2027 10:11:12 RAM 2690/6854MB (lfb 6x1MB) SWAP 479/3427MB (cached 3MB) CPU [3%@1904,7%@1906,off,off] EMC_FREQ 0%@1600 "
        "GR3D_FREQ 0%@[510] VIC_FREQ 601 APE 150 AUX@39C CPU@39.5C AO@37.5C GPU@37.5C PMIC@50C "
        "VDD_IN 5079mW/5079mW VDD_CPU_GPU_CV 696mW/696mW VDD_SOC 1104mW/1104mW",
        {"VDD_IN": 5.079, "VDD_CPU_GPU_CV": 0.696, "VDD_SOC": 1.104},
        (0, 510e6, 0, 1600e6),
    ),
    "AGX Orin, JetPack 6": (
        "11-21-2027 08:49:48 RAM 13983/62780MB (lfb 424x4MB) SWAP 126/31390MB (cached 0MB) CPU [90%@2201,100%@2201] EMC_FREQ 1%@2133 "
        "GR3D_FREQ 14%@[407,407] VIC_FREQ 115 NVDLA0_FREQ @1600 APE 174 cpu@77.281C tboard@62C tj@77.281C "
        "VDD_GPU_SOC 3150mW/2971mW VDD_CPU_CV 14312mW/12415mW VIN_SYS_5V0 4968mW/5048mW",
        {"VDD_GPU_SOC": 3.150, "VDD_CPU_CV": 14.312, "VIN_SYS_5V0": 4.968},
        (14, 407e6, 1, 2133e6),
    ),
    # printed by a board: now, average and maximum
    "Orin Nano, JetPack 7": (
        "09-04-2026 19:40:46 RAM 1803/7486MB (lfb 8x4MB) CPU [66%@1510,2%@1510] EMC_FREQ 1%@2133 GR3D_FREQ 4%@[305] NVDEC0 off VIC off APE 200 "
        "cpu@48C/48C tj@48.125C/48.125C VDD_IN 4832mW/4832mW/4832mW VDD_CPU_GPU_CV 1236mW/1236mW/1236mW VDD_SOC 1437mW/1437mW/1437mW",
        {"VDD_IN": 4.832, "VDD_CPU_GPU_CV": 1.236, "VDD_SOC": 1.437},
        (4, 305e6, 1, 2133e6),
    ),
    # printed by a board
    "AGX Thor, JetPack 7": (
        "RAM 8353/125749MB EMC_FREQ 34%@4266 GR3D_FREQ 87%@[1574,1574,1574] NVENC0_FREQ @1691 VIC off cpu@58.25C/61.75C "
        "VDD_GPU 37939mW/8660mW/37939mW VDD_CPU_SOC_MSS 30059mW/12281mW/30059mW VIN_SYS_5V0 15486mW/7424mW/15486mW VIN 124486mW/36487mW/124486mW",
        {"VDD_GPU": 37.939, "VDD_CPU_SOC_MSS": 30.059, "VIN_SYS_5V0": 15.486, "VIN": 124.486},
        (87, 1574e6, 34, 4266e6),
    ),
}


@pytest.mark.parametrize("release", LINES)
def test_rails_gpu_and_memory_controller_are_read_from_every_release(release: str) -> None:
    line, rails, (gpu, gpu_hz, emc, emc_hz) = LINES[release]
    found = parse_line(line)
    assert {channel: value for channel, (value, unit) in found.items() if unit == "W"} == pytest.approx(rails)
    assert found["gpu.utilisation"] == (gpu, "%")
    assert found["gpu.frequency"] == (gpu_hz, "Hz")
    assert found["memory_controller.utilisation"] == (emc, "%")
    assert found["memory_controller.frequency"] == (emc_hz, "Hz")


@pytest.mark.parametrize("release", LINES)
def test_each_release_has_one_total(release: str) -> None:
    assert len(totals(load_power_rules(), (("tegrastats", channel) for channel in parse_line(LINES[release][0])))) == 1


def test_without_root_a_line_has_no_rails_and_maybe_no_frequency() -> None:
    found = parse_line("RAM 1/3964MB (lfb 21x4MB) SWAP 0/0MB (cached 0MB) CPU [1%@102] EMC_FREQ 0% GR3D_FREQ 78% PLL@34C")
    assert found == {"gpu.utilisation": (78.0, "%"), "memory_controller.utilisation": (0.0, "%")}


@pytest.mark.parametrize("line", ["", "\n", "garbage 12/", "RAM 534/3964MB", "VDD_IN 12mA/3mA"])
def test_what_is_no_line_of_tegrastats_gives_nothing(line: str) -> None:
    assert parse_line(line) == {}


def install(root: Path, script: str) -> TegrastatsMeter:
    """A board whose tegrastats is a script."""
    tool = root / "usr/bin/tegrastats"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return TegrastatsMeter(root)


def test_lines_arrive_while_the_program_runs_and_it_is_ended_with_the_meter(tmp_path: Path, eventually) -> None:
    line = LINES["Nano, JetPack 4"][0]
    meter = install(tmp_path, f"echo $$ > {tmp_path}/pid\necho \"$@\" > {tmp_path}/arguments\necho '{line}'\nexec sleep 60")
    meter.open(MeteredProcess(1, Path("/data")))
    readings = eventually(meter.read)
    meter.close()
    assert {reading.channel: reading.value for reading in readings}["POM_5V_IN"] == pytest.approx(4.022)
    assert (tmp_path / "arguments").read_text() == "--interval 1000\n"
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_a_program_that_ends_by_itself_is_an_error_once_it_has_been_silent_for_long(tmp_path: Path, eventually) -> None:
    meter = install(tmp_path, "exit 1")
    meter._background._source_timeout_s = 0.0
    meter.open(MeteredProcess(1, Path("/data")))

    def error() -> OSError | None:
        try:
            meter.read()
        except OSError as caught:
            return caught
        return None

    assert "exited by itself" in str(eventually(error))
    meter.close()


def test_a_rail_below_zero_stays_in_the_total() -> None:
    """The offset of an idle rail's sensor."""
    found = parse_line("RAM 1/2MB VDD_GPU_SOC 2412mW/2412mW VDD_CPU_CV -120mW/-3mW VIN_SYS_5V0 4707mW/4707mW")
    assert found == {"VDD_GPU_SOC": (2.412, "W"), "VDD_CPU_CV": (-0.12, "W"), "VIN_SYS_5V0": (4.707, "W")}
