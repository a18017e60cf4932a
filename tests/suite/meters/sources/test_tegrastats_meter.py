from pathlib import Path

import pytest

from suite.catalog.power import load_power_rules, totals_of_channels
from suite.meters.meter import MeteredProcess
from suite.meters.sources.tegrastats import TegrastatsMeter, parse_line

# written for the tests in the shape of each release's lines: rail -> watts, then GPU and memory
# controller
LINES = {
    "Nano, JetPack 4": (
        (
            "RAM 1534/3964MB (lfb 21x4MB) SWAP 5/1982MB (cached 1MB) IRAM 0/252kB(lfb 252kB) CPU"
            " [16%@1479,9%@1479,off,off] EMC_FREQ 12%@1600 GR3D_FREQ 99%@921 APE 25 PLL@34C"
            " CPU@36.5C PMIC@100C GPU@36C thermal@36.25C POM_5V_IN 4022/3980 POM_5V_GPU 1203/1100"
            " POM_5V_CPU 804/790"
        ),
        {"POM_5V_IN": 4.022, "POM_5V_GPU": 1.203, "POM_5V_CPU": 0.804},
        (99, 921e6, 12, 1600e6),
    ),
    "AGX Xavier, JetPack 4": (
        (
            "RAM 4721/31927MB (lfb 6291x4MB) SWAP 0/15963MB (cached 0MB) CPU [2%@1190,0%@1190]"
            " EMC_FREQ 3%@2133 GR3D_FREQ 51%@1377 APE 150 MTS fg 0% bg 0% AO@36C GPU@37C"
            " Tdiode@39.5C PMIC@100C AUX@36C CPU@37C thermal@36.4C GPU 3099/3050 CPU 620/618 SOC"
            " 1549/1500 CV 0/0 VDDRQ 464/450 SYS5V 2236/2236"
        ),
        {"GPU": 3.099, "CPU": 0.620, "SOC": 1.549, "CV": 0.0, "VDDRQ": 0.464, "SYS5V": 2.236},
        (51, 1377e6, 3, 2133e6),
    ),
    "Xavier NX, JetPack 5": (
        (
            "03-12-2027 10:11:12 RAM 2690/6854MB (lfb 6x1MB) SWAP 479/3427MB (cached 3MB) CPU"
            " [3%@1904,7%@1906,off,off] EMC_FREQ 0%@1600 GR3D_FREQ 0%@[510] VIC_FREQ 601 APE 150"
            " AUX@39C CPU@39.5C AO@37.5C GPU@37.5C PMIC@50C VDD_IN 5079mW/5079mW VDD_CPU_GPU_CV"
            " 696mW/696mW VDD_SOC 1104mW/1104mW"
        ),
        {"VDD_IN": 5.079, "VDD_CPU_GPU_CV": 0.696, "VDD_SOC": 1.104},
        (0, 510e6, 0, 1600e6),
    ),
    "AGX Orin, JetPack 6": (
        (
            "11-21-2027 08:49:48 RAM 13983/62780MB (lfb 424x4MB) SWAP 126/31390MB (cached 0MB) CPU"
            " [90%@2201,100%@2201] EMC_FREQ 1%@2133 GR3D_FREQ 14%@[407,407] VIC_FREQ 115"
            " NVDLA0_FREQ @1600 APE 174 cpu@77.281C tboard@62C tj@77.281C VDD_GPU_SOC 3150mW/2971mW"
            " VDD_CPU_CV 14312mW/12415mW VIN_SYS_5V0 4968mW/5048mW"
        ),
        {"VDD_GPU_SOC": 3.150, "VDD_CPU_CV": 14.312, "VIN_SYS_5V0": 4.968},
        (14, 407e6, 1, 2133e6),
    ),
    # printed by a board: now, average and maximum
    "Orin Nano, JetPack 7": (
        (
            "09-04-2026 19:40:46 RAM 1803/7486MB (lfb 8x4MB) CPU [66%@1510,2%@1510] EMC_FREQ"
            " 1%@2133 GR3D_FREQ 4%@[305] NVDEC0 off VIC off APE 200 cpu@48C/48C tj@48.125C/48.125C"
            " VDD_IN 4832mW/4832mW/4832mW VDD_CPU_GPU_CV 1236mW/1236mW/1236mW VDD_SOC"
            " 1437mW/1437mW/1437mW"
        ),
        {"VDD_IN": 4.832, "VDD_CPU_GPU_CV": 1.236, "VDD_SOC": 1.437},
        (4, 305e6, 1, 2133e6),
    ),
    # printed by a board
    "AGX Thor, JetPack 7": (
        (
            "RAM 8353/125749MB EMC_FREQ 34%@4266 GR3D_FREQ 87%@[1574,1574,1574] NVENC0_FREQ @1691"
            " VIC off cpu@58.25C/61.75C VDD_GPU 37939mW/8660mW/37939mW VDD_CPU_SOC_MSS"
            " 30059mW/12281mW/30059mW VIN_SYS_5V0 15486mW/7424mW/15486mW VIN"
            " 124486mW/36487mW/124486mW"
        ),
        {"VDD_GPU": 37.939, "VDD_CPU_SOC_MSS": 30.059, "VIN_SYS_5V0": 15.486, "VIN": 124.486},
        (87, 1574e6, 34, 4266e6),
    ),
}


@pytest.mark.parametrize("release", LINES)
def test_rails_gpu_and_memory_controller_are_read_from_every_release(release: str) -> None:
    line, rails, (gpu, gpu_hz, emc, emc_hz) = LINES[release]
    found = parse_line(line)
    assert {
        channel: value for channel, (value, unit) in found.items() if unit == "W"
    } == pytest.approx(rails)
    assert found["gpu.utilisation"] == (gpu, "%")
    assert found["gpu.frequency"] == (gpu_hz, "Hz")
    assert found["memory_controller.utilisation"] == (emc, "%")
    assert found["memory_controller.frequency"] == (emc_hz, "Hz")


def test_without_root_a_line_has_no_rails_and_maybe_no_frequency() -> None:
    found = parse_line(
        "RAM 1/3964MB (lfb 21x4MB) SWAP 0/0MB (cached 0MB) CPU [1%@102] EMC_FREQ 0% GR3D_FREQ 78%"
        " PLL@34C"
    )
    assert found == {"gpu.utilisation": (78.0, "%"), "memory_controller.utilisation": (0.0, "%")}


@pytest.mark.parametrize("line", ["", "\n", "garbage 12/", "RAM 534/3964MB", "VDD_IN 12mA/3mA"])
def test_what_is_no_line_of_tegrastats_gives_nothing(line: str) -> None:
    assert parse_line(line) == {}


# Lines of boards as their owners published them in public repositories (tests of exporters,
# documentation, comments), without RAM, cores and temperatures that repeat: line, its total (rule,
# W; None: no rule fits), utilisation and frequency of GPU and of memory controller
PUBLISHED = {
    "Nano, L4T 32, with a Wi-Fi card": (  # a user's session
        (
            "RAM 1655/3956MB (lfb 311x4MB) IRAM 0/252kB(lfb 252kB) CPU [12%@102,10%@102] EMC_FREQ"
            " 3%@1600 GR3D_FREQ 16%@76 APE 25 iwlwifi@44C thermal@38C POM_5V_IN 2132/2132"
            " POM_5V_GPU 78/78 POM_5V_CPU 275/275"
        ),
        ("POM_5V_IN", 2.132),
        (16, 76e6, 3, 1600e6),
    ),
    "Nano, L4T 32, as user": (  # DataDog/datadog-agent
        (
            "RAM 613/3964MB (lfb 634x4MB) SWAP 0/1982MB (cached 0MB) CPU [2%@102,1%@102] EMC_FREQ"
            " 0% GR3D_FREQ 0% PLL@39C PMIC@100C POM_5V_IN 900/943 POM_5V_GPU 0/0 POM_5V_CPU 123/123"
        ),
        ("POM_5V_IN", 0.900),
        (0, None, 0, None),
    ),
    "TX1, L4T 32": (  # DataDog/datadog-agent
        (
            "RAM 1179/3983MB (lfb 120x4MB) IRAM 0/252kB(lfb 252kB) CPU [1%@102,4%@102] EMC_FREQ"
            " 7%@408 GR3D_FREQ 0%@76 APE 25 Tboard@42C VDD_IN 2532/2698 VDD_CPU 76/178 VDD_GPU"
            " 19/19"
        ),
        ("VDD_IN", 2.532),
        (0, 76e6, 7, 408e6),
    ),
    "TX1, L4T 28": (  # hordiales/jetson-tx1-dev
        (
            "RAM 3607/3983MB (lfb 47x4MB) SWAP 873/8192MB (cached 281MB) cpu [17%,11%,65%,0%]@1734"
            " EMC 1%@1600 APE 25 GR3D 39%@76"
        ),
        None,
        (39, 76e6, 1, 1600e6),
    ),
    "TX2, L4T 32, one core": (  # DataDog/datadog-agent
        (
            "RAM 1345/7829MB (lfb 1290x4MB) CPU [2%@345,off,off,off,off,off] EMC_FREQ 13%@40"
            " GR3D_FREQ 0%@114 APE 150 BCPU@35C VDD_IN 2003/2658 VDD_CPU 320/518 VDD_GPU 400/735"
            " VDD_SOC 400/415 VDD_WIFI 0/0 VDD_DDR 240/348"
        ),
        ("VDD_IN", 2.003),
        (0, 114e6, 13, 40e6),
    ),
    "TX2, L4T 32, other names": (  # tests of a collector of metrics
        (
            "RAM 6266/7860MB (lfb 1x1MB) CPU [20%@345,off,off,15%@345] EMC_FREQ 0% GR3D_FREQ 0%"
            " PLL@52C VDD_SYS_GPU 194/194 VDD_SYS_SOC 389/389 VDD_4V0_WIFI 0/0 VDD_IN 2144/2144"
            " VDD_SYS_CPU 194/194 VDD_SYS_DDR 288/288"
        ),
        ("VDD_IN", 2.144),
        (0, None, 0, None),
    ),
    "AGX Xavier, L4T 32": (  # DataDog/datadog-agent
        (
            "RAM 1903/15692MB (lfb 3251x4MB) CPU [1%@1190,1%@1190] EMC_FREQ 0% GR3D_FREQ 0%"
            " AO@32.5C thermal@32.9C PMIC@100C GPU 0/0 CPU 216/216 SOC 864/864 CV 0/0 VDDRQ 144/144"
            " SYS5V 1889/1889"
        ),
        ("AGX Xavier rails", 3.113),
        (0, None, 0, None),
    ),
    "AGX Orin, L4T 35, all rails": (  # tests of a parser
        (
            "04-11-2025 10:36:27 RAM 4321/62801MB (lfb 1759x4MB) CPU [0%@729,0%@729] EMC_FREQ"
            " 0%@2133 GR3D_FREQ 0%@[0,0] VIC_FREQ 729 APE 174 CV0@-256C GPU@-256C tj@44.343C"
            " VDD_GPU_SOC 2340mW/2340mW VDD_CPU_CV 390mW/390mW VIN_SYS_5V0 4025mW/4025mW NC 0mW/0mW"
            " VDDQ_VDD2_1V8AO 301mW/301mW NC 0mW/0mW"
        ),
        ("AGX Orin rails", 6.755),
        (0, 0, 0, 2133e6),
    ),
    "AGX Orin, L4T 35, as user": (  # tests of a monitor
        (
            "01-03-2023 16:10:22 RAM 2257/30536MB (lfb 5392x4MB) SWAP 0/15268MB (cached 0MB) CPU"
            " [10%@729,20%@729] EMC_FREQ 0% GR3D_FREQ 75% CV0@-256C CPU@41.375C GPU@-256C"
            " tj@41.468C CV2@-256C"
        ),
        None,
        (75, None, 0, None),
    ),
    "Orin NX, L4T 36": (  # tests of a parser
        (
            "RAM 1224/15368MB (lfb 8x4MB) CPU [1%@729,0%@729,off,off,off,off] EMC_FREQ 0% GR3D_FREQ"
            " 0%@[305] CV0@-256C VDD_IN 4319mW/4319mW VDD_CPU_GPU_CV 499mW/499mW VDD_SOC"
            " 1200mW/1200mW"
        ),
        ("VDD_IN", 4.319),
        (0, 305e6, 0, None),
    ),
    "Orin Nano, L4T 36, a mean without unit": (  # documentation of a parser
        (
            "12-23-2024 22:54:11 RAM 3162/7620MB (lfb 4x2MB) CPU [1%@729,off,off] GR3D_FREQ 1%"
            " cpu@62.843C tj@62.843C VDD_IN 3913mW/3922mW VDD_CPU_GPU_CV 598mW/598 VDD_SOC"
            " 1238mW/1237mW"
        ),
        ("VDD_IN", 3.913),
        (1, None, None, None),
    ),
    "Orin Nano, L4T 39, at work": (  # tests of a summary
        (
            "10-08-2026 04:35:02 RAM 6712/7620MB (lfb 12x4MB) CPU [38%@1497,2%@729] EMC_FREQ"
            " 61%@2133 GR3D_FREQ 99%@[612] NVDEC off APE 200 tj@58.312C VDD_IN 16321mW/11204mW"
            " VDD_CPU_GPU_CV 7104mW/4944mW VDD_SOC 3120mW/2900mW"
        ),
        ("VDD_IN", 16.321),
        (99, 612e6, 61, 2133e6),
    ),
    "AGX Thor, L4T 38.4, as user: no input rail": (  # lesomnus/tegra-exporter
        (
            "05-17-2026 10:00:32 RAM 4208/125773MB (lfb 31x4MB) CPU [1%@972,0%@972] EMC_FREQ 0%@665"
            " GR3D_FREQ @[0,0,0] NVENC0_FREQ @0 VIC off OFA_FREQ @0 PVA0_FREQ off APE 300 tj@34.5C"
            " soc012@33.781C VDD_GPU 0mW/0mW VDD_CPU_SOC_MSS 4165mW/4165mW VIN_SYS_5V0"
            " 4126mW/4126mW"
        ),
        None,
        (None, 0, 0, 665e6),
    ),
    "AGX Thor, L4T 38, a GPU that sleeps": (  # comment of a profiler
        (
            "05-14-2026 21:36:35 RAM 26063/125772MB (lfb 35x4MB) CPU [2%@972] VDD_GPU -392mW/-392mW"
            " VDD_CPU_SOC_MSS 3924mW/3835mW VIN_SYS_5V0 5064mW/5055mW VIN 15004mW/15096mW"
        ),
        ("AGX Thor input", 15.004),
        (None, None, None, None),
    ),
    "AGX Thor, L4T 38, without engines": (  # tests of an exporter
        (
            "07-31-2026 14:45:55 RAM 86905/125772MB (lfb 368x4MB) CPU [12%@972,off,33%@1890]"
            " cpu@39.812C VDD_GPU 3561mW/3561mW VDD_CPU_SOC_MSS 7910mW/7910mW VIN_SYS_5V0"
            " 7620mW/7620mW VIN 26686mW/26686mW"
        ),
        ("AGX Thor input", 26.686),
        (None, None, None, None),
    ),
    "AGX Thor, L4T 39, now, mean and maximum": (  # tests of a telemetry
        (
            "08-08-2026 20:58:23 RAM 3429/125749MB (lfb 120x4MB) CPU [0%,5%,off]@2601 EMC_FREQ"
            " @4266 GR3D_FREQ @[1574,1574,1574] tj@51.218C/51.218C VDD_GPU 6330mW/6330mW/6330mW VIN"
            " 28906mW/14453mW/28906mW"
        ),
        ("AGX Thor input", 28.906),
        (None, 1574e6, None, 4266e6),
    ),
    "AGX Thor, without a mean": (  # report of a validation
        (
            "RAM 117456/125772MB (lfb 9x4MB) CPU [0%@1890,5%@1890] gpu@43.968C VDD_GPU 5517mW"
            " VDD_CPU_SOC_MSS 7484mW VIN_SYS_5V0 6309mW VIN 28548mW"
        ),
        ("AGX Thor input", 28.548),
        (None, None, None, None),
    ),
}


@pytest.mark.parametrize("board", PUBLISHED)
def test_a_published_line_is_read_to_its_total(board: str) -> None:
    line, expected, engines = PUBLISHED[board]
    found = parse_line(line)
    fitting = totals_of_channels(load_power_rules(), (("tegrastats", name) for name in found))
    read = [(total.rule.name, sum(found[name][0] for name in total.channels)) for total in fitting]
    assert read == (
        [] if expected is None else [(expected[0], pytest.approx(expected[1], abs=5e-4))]
    )
    names = (
        "gpu.utilisation",
        "gpu.frequency",
        "memory_controller.utilisation",
        "memory_controller.frequency",
    )
    assert [found[name][0] if name in found else None for name in names] == list(engines)


def install(root: Path, script: str) -> TegrastatsMeter:
    """A board whose tegrastats is a script."""
    tool = root / "usr/bin/tegrastats"
    tool.parent.mkdir(parents=True)
    tool.write_text(f"#!/bin/sh\n{script}\n")
    tool.chmod(0o755)
    return TegrastatsMeter(root)


def test_lines_arrive_while_the_program_runs_and_it_is_ended_with_the_meter(
    tmp_path: Path, eventually
) -> None:
    line = LINES["Nano, JetPack 4"][0]
    meter = install(
        tmp_path,
        f"echo $$ > {tmp_path}/pid\necho \"$@\" > {tmp_path}/arguments\necho '{line}'\nexec"
        " sleep 60",
    )
    meter.open(MeteredProcess(1, Path("/data")))
    readings = eventually(meter.read)
    meter.close()
    assert {reading.channel: reading.value for reading in readings}["POM_5V_IN"] == pytest.approx(
        4.022
    )
    assert (tmp_path / "arguments").read_text() == "--interval 1000\n"
    assert not Path("/proc", (tmp_path / "pid").read_text().strip()).exists()


def test_a_line_that_is_cut_off_is_not_read(tmp_path: Path, eventually) -> None:
    meter = install(
        tmp_path,
        f"echo '{LINES['Orin Nano, JetPack 7'][0]}'\nprintf 'RAM 1803/7486MB EMC_FREQ 1%@2133"
        " GR3D_FREQ 99%@6'",
    )
    meter.open(MeteredProcess(1, Path("/data")))
    readings = eventually(meter.read)
    meter.close()
    assert {reading.value for reading in readings if reading.channel == "gpu.frequency"} == {305e6}


def test_a_program_that_ends_by_itself_is_an_error_once_it_has_been_silent_for_long(
    tmp_path: Path, eventually
) -> None:
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
    found = parse_line(
        "RAM 1/2MB VDD_GPU_SOC 2412mW/2412mW VDD_CPU_CV -120mW/-3mW VIN_SYS_5V0 4707mW/4707mW"
    )
    assert found == {
        "VDD_GPU_SOC": (2.412, "W"),
        "VDD_CPU_CV": (-0.12, "W"),
        "VIN_SYS_5V0": (4.707, "W"),
    }
