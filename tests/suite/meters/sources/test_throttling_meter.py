from pathlib import Path

import pandas
import pytest

from suite.bundle.readings_table import channels_of_frame
from suite.catalog.throttling import slows_processor
from suite.meters.meter import MeteredProcess
from suite.meters.sources.throttling import ASKS_S, ThrottlingMeter
from suite.metrics.disturbances import ThrottlingEvent, find_throttling

FLAGS = "sys/devices/platform/soc/soc:firmware/get_throttled"


def values(root: Path) -> dict[str, float]:
    """Values by channel."""
    meter = ThrottlingMeter(root)
    assert meter.availability().available
    meter.open(MeteredProcess(1, Path("/data")))
    return {reading.channel: reading.value for reading in meter.read()}


@pytest.mark.parametrize(
    ("flags", "active"),
    [  # as owners of boards published them
        (
            "0xe0000",
            {
                "frequency_capped.since_boot",
                "throttled.since_boot",
                "soft_temperature_limit.since_boot",
            },
        ),
        ("50000", {"under_voltage.since_boot", "throttled.since_boot"}),
        ("80008", {"soft_temperature_limit", "soft_temperature_limit.since_boot"}),
    ],
)
@pytest.mark.parametrize(
    "file",
    [FLAGS, "sys/devices/platform/soc@107c000000/soc@107c000000:firmware/get_throttled"],
    ids=["Pi 4", "Pi 5"],
)
def test_what_raspberry_pis_report_on_both_chips(
    file: str, flags: str, active: set[str], tree
) -> None:
    assert {
        channel for channel, value in values(tree({file: f"{flags}\n"})).items() if value
    } == active


def test_vcgencmd_is_asked_while_the_kernels_file_stays_0(
    tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It tells nothing at first: what throttled later is not missed."""
    root = tree({FLAGS: "0\n", "usr/bin/vcgencmd": "#!/bin/sh\necho throttled=0x$(cat $0.says)\n"})
    (root / "usr/bin/vcgencmd").chmod(0o755)
    (root / "usr/bin/vcgencmd.says").write_text("0", encoding="utf-8")
    meter = ThrottlingMeter(root)
    meter.open(MeteredProcess(1, Path("/data")))
    now_s = [1000.0]
    monkeypatch.setattr("suite.meters.sources.throttling.time.monotonic", lambda: now_s[0])
    assert not any(reading.value for reading in meter.read())
    (root / "usr/bin/vcgencmd.says").write_text("80008", encoding="utf-8")
    now_s[0] += ASKS_S - 1  # a process every second would cost the run
    assert not any(reading.value for reading in meter.read())
    now_s[0] += 2
    found = {reading.channel for reading in meter.read() if reading.value}
    assert found == {"soft_temperature_limit", "soft_temperature_limit.since_boot"}
    (root / "usr/bin/vcgencmd.says").write_text("80000", encoding="utf-8")
    now_s[0] += 1  # once it tells more, it is asked at every reading
    found = {reading.channel for reading in meter.read() if reading.value}
    assert found == {"soft_temperature_limit.since_boot"}


def test_where_vcgencmd_fails_the_kernels_flags_hold(tree) -> None:
    root = tree({FLAGS: "0\n", "usr/bin/vcgencmd": "#!/bin/sh\nexit 1\n"})
    (root / "usr/bin/vcgencmd").chmod(0o755)
    assert set(values(root).values()) == {0.0}


def test_flags_that_neither_the_kernel_nor_vcgencmd_tells_are_unknown_and_no_0(tree) -> None:
    root = tree({FLAGS: "\n", "usr/bin/vcgencmd": "#!/bin/sh\nexit 1\n"})
    (root / "usr/bin/vcgencmd").chmod(0o755)
    assert values(root) == {}


def test_a_mainline_kernel_tells_of_under_voltage_alone(tree) -> None:
    hwmon = {
        "sys/class/hwmon/hwmon1/name": "rpi_volt\n",
        "sys/class/hwmon/hwmon1/in0_lcrit_alarm": "1\n",
    }
    other = {
        "sys/class/hwmon/hwmon0/name": "pwmfan\n",
        "sys/class/hwmon/hwmon0/in0_lcrit_alarm": "1\n",
    }
    assert values(tree(hwmon | other)) == {"under_voltage": 1}
    assert values(tree({**hwmon, FLAGS: "0\n"}))["under_voltage"] == 0, (
        "the firmware's flags are read where there are any"
    )


def test_a_throttled_run_is_told_by_which_channel_and_how_long(tree, replay) -> None:
    flags = ["0", "0", "4", "40004", "40000", "40000", "40000"]
    root = tree({FLAGS: "0"})
    readings = replay(
        ThrottlingMeter(root), [lambda text=text: (root / FLAGS).write_text(text) for text in flags]
    )
    assert find_throttling(channels_of_frame(readings), 0, 6 * 10**9) == (
        ThrottlingEvent("throttled", 2 * 10**9, 2.0, 1),
    )


def test_a_flag_that_came_and_went_between_two_readings_is_told_by_its_memory_since_boot(
    tree, replay
) -> None:
    root = tree({FLAGS: "0"})
    readings = replay(
        ThrottlingMeter(root),
        [
            lambda text=text: (root / FLAGS).write_text(text)
            for text in ("0", "0", "10000", "10000")
        ],
    )
    assert find_throttling(channels_of_frame(readings), 0, 3 * 10**9) == (
        ThrottlingEvent("under_voltage.since_boot", 2 * 10**9, None, 1),
    )


def test_a_flag_that_still_holds_at_the_end_holds_until_then(tree, replay) -> None:
    root = tree({FLAGS: "0"})
    readings = replay(
        ThrottlingMeter(root),
        [
            lambda text=text: (root / FLAGS).write_text(text)
            for text in ("0", "50005", "0", "50005")
        ],
    )
    events = find_throttling(channels_of_frame(readings), 0, 3_500_000_000)
    assert [(event.channel, event.t_ns // 10**9, event.held_s) for event in events] == [
        ("throttled", 1, 1.0),
        ("under_voltage", 1, 1.0),
        ("throttled", 3, 0.5),
        ("under_voltage", 3, 0.5),
    ]


def test_a_gpu_that_its_heat_slows_is_throttled_and_one_at_its_power_limit_is_not() -> None:
    rows = [
        (second * 10**9, "nvml", "gpu0.throttle_reasons", bits, "bits")
        for second, bits in enumerate([0.0, 4.0, 0x24, 0x60, 4.0])
    ]
    readings = pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"])
    assert find_throttling(channels_of_frame(readings), 0, 4 * 10**9) == (
        ThrottlingEvent("gpu0.throttle_reasons", 2 * 10**9, 2.0, 1),
    )


def test_what_was_over_before_the_run_is_not_the_runs(tree, replay) -> None:
    root = tree({FLAGS: "50000"})
    readings = replay(ThrottlingMeter(root), [lambda: None] * 5)
    assert find_throttling(channels_of_frame(readings), 0, 4 * 10**9) == ()


def test_events_are_those_of_the_run(tree, replay) -> None:
    path = "sys/class/hwmon/hwmon3/oc1_event_cnt"
    root = tree({path: "5"})
    readings = replay(
        ThrottlingMeter(root),
        [lambda count=count: (root / path).write_text(count) for count in ("5", "5", "6", "8")],
    )
    assert find_throttling(channels_of_frame(readings), 0, 3 * 10**9) == (
        ThrottlingEvent("over_current.oc1", 2 * 10**9, None, 1),
        ThrottlingEvent("over_current.oc1", 3 * 10**9, None, 2),
    )
    assert find_throttling(channels_of_frame(readings), 0, 10**9) == ()


def test_a_flag_that_cannot_be_read_is_unknown_not_off(tree) -> None:
    meter = ThrottlingMeter(tree({FLAGS: "gone\n"}))
    meter.open(MeteredProcess(1, Path("/data")))
    assert meter.read() == []


def cooling(**states: int) -> dict[str, str]:
    """Files of cooling devices by type, active above 0."""
    files = {}
    for number, (kind, state) in enumerate(states.items()):
        folder = f"sys/class/thermal/cooling_device{number}"
        files |= {f"{folder}/type": f"{kind}\n", f"{folder}/cur_state": f"{state}\n"}
    return files


ORIN = {
    "cpu-throttle-alert": 1,
    "gpu-throttle-alert": 0,
    "cv0-throttle-alert": 0,
    "hot-surface-alert": 1,
    "pwm-fan": 2,
    "cpufreq-cpu0": 3,
}
LAPTOP = {
    "Processor": 0,
    "iwlwifi_1": 7,
    "LCD": 40,
    "Fan": 1,
    "TCC Offset": 3,
    "intel_powerclamp": -1,
    "acpi_video0": 2,
}


@pytest.mark.parametrize(
    ("states", "active"),
    [(ORIN, {"cooling.0.cpu-throttle-alert", "cooling.5.cpufreq-cpu0"}), (LAPTOP, set())],
    ids=["AGX Orin at 99 degrees", "laptop that cools its Wi-Fi"],
)
def test_only_devices_that_slow_a_processor_are_throttling(tree, states, active) -> None:
    found = values(tree(cooling(**states)))
    assert {channel for channel, value in found.items() if value} == active
    assert not any(
        "hot-surface" in channel or "iwlwifi" in channel or "LCD" in channel for channel in found
    )


def test_a_wifi_card_that_an_older_meter_recorded_is_not_throttling() -> None:
    rows = [
        (second * 10**9, "throttling", channel, 1.0, "active")
        for second in range(3)
        for channel in ("cooling.4.iwlwifi_1", "cooling.2.LCD")
    ]
    readings = pandas.DataFrame(rows, columns=["t_ns", "source", "channel", "value", "unit"])
    assert find_throttling(channels_of_frame(readings), 0, 2 * 10**9) == ()


def test_a_package_and_a_core_are_counted_once(tree) -> None:
    files = {}
    for cpu in range(6):  # two cores with two threads each in one package, one in another
        folder = f"sys/devices/system/cpu/cpu{cpu}"
        files |= {
            f"{folder}/thermal_throttle/{level}_throttle_count": "3\n"
            for level in ("core", "package")
        }
        files |= {
            f"{folder}/topology/physical_package_id": f"{cpu // 4}\n",
            f"{folder}/topology/core_id": f"{cpu % 2}\n",
        }
    assert set(values(tree(files))) == {
        "thermal.core.cpu0",
        "thermal.core.cpu1",
        "thermal.package.cpu0",
        "thermal.core.cpu4",
        "thermal.core.cpu5",
        "thermal.package.cpu4",
    }


def test_an_over_current_event_that_slows_nothing_is_not_throttling(tree) -> None:
    folder = "sys/class/hwmon/hwmon2"
    files = {f"{folder}/oc{n}_event_cnt": "4\n" for n in (1, 2)} | {
        f"{folder}/oc1_throt_en": "1\n",
        f"{folder}/oc2_throt_en": "0\n",
    }
    assert values(tree(files)) == {"over_current.oc1": 4}


def test_the_settings_name_the_trip_points_that_slow_the_processor(tree) -> None:
    zone, files = "sys/class/thermal/thermal_zone0", cooling(**ORIN)
    files |= {
        f"{zone}/type": "cpu-thermal\n",
        f"{zone}/cdev0": "-> ../cooling_device0",
        f"{zone}/cdev1": "-> ../cooling_device3",
    }
    for number, (kind, millidegrees) in enumerate((("passive", 99000), ("active", 70000))):
        files |= {
            f"{zone}/trip_point_{number}_type": f"{kind}\n",
            f"{zone}/trip_point_{number}_temp": f"{millidegrees}\n",
        }
        files |= {f"{zone}/cdev{number}_trip_point": f"{number}\n"}
    assert ThrottlingMeter(tree(files)).settings() == {
        "cpu-thermal cpu-throttle-alert 0": "passive at 99 degC"
    }


@pytest.mark.parametrize(
    "device",
    ["idle-cpu0", "thermal-idle-0", "cpufreq-cpu12", "soc012-throttle-alert", "devfreq-gpu-gpc-0"],
)
def test_devices_that_inject_idle_time_or_lower_clocks_slow_a_processor(device: str) -> None:
    assert slows_processor(device)
