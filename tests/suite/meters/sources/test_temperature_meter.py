from pathlib import Path

from suite.meters.meter import MeteredProcess
from suite.meters.sources.temperature import TemperatureMeter

ORIN = {
    "sys/class/thermal/thermal_zone0/type": "CPU-therm\n",
    "sys/class/thermal/thermal_zone0/temp": "48250\n",
    "sys/class/thermal/thermal_zone1/type": "GPU-therm\n",
    "sys/class/thermal/thermal_zone1/temp": "-256000\n",  # the GPU sleeps
    "sys/class/thermal/thermal_zone10/type": "Tboard\n",
    "sys/class/thermal/thermal_zone10/temp": "40000\n",
    "sys/class/thermal/thermal_zone2/type": "SOC0-therm\n",  # no temp file
}
PC = {
    "sys/class/hwmon/hwmon0/name": "nvme\n",
    "sys/class/hwmon/hwmon0/temp1_input": "35850\n",
    "sys/class/hwmon/hwmon0/temp1_label": "Composite\n",
    "sys/class/hwmon/hwmon1/name": "k10temp\n",
    "sys/class/hwmon/hwmon1/temp1_input": "60000\n",
    "sys/class/hwmon/hwmon1/temp2_input": "\n",  # cannot be read
    "sys/class/hwmon/hwmon2/name": "cpu_thermal\n",  # a thermal zone, shown here once more
    "sys/class/hwmon/hwmon2/device/temp": "48000\n",
    "sys/class/hwmon/hwmon2/temp1_input": "48000\n",
}


def read(root: Path) -> dict[str, float]:
    """Values by channel."""
    meter = TemperatureMeter(root)
    assert meter.availability().available
    meter.open(MeteredProcess(1, Path("/data")))
    return {reading.channel: reading.value for reading in meter.read() if reading.unit == "degC"}


def test_chips_without_a_zone_are_read_too(tree) -> None:
    assert read(tree(PC)) == {"nvme Composite": 35.85, "k10temp temp1": 60.0}


def test_degrees_are_read_as_such_and_an_unset_zone_not_at_all(tree) -> None:
    zone = "sys/class/thermal/thermal_zone0/"
    read_as = {"31": 31.0, "199": 199.0, "200": 0.2, "-40000": -40.0, "249999": 249.999}
    unset = dict.fromkeys(("2147483647", "-650788984", "250000", "-50000", "-256000"))
    for written, celsius in {**read_as, **unset}.items():
        found = read(tree({zone + "type": "cpu_thermal\n", zone + "temp": f"{written}\n"}))
        assert found.get("cpu_thermal") == celsius


def test_a_zone_of_alarms_only_is_no_temperature(tree) -> None:
    """A Jetson Nano's PMIC says 100 degrees, whatever its heat."""
    zones = {
        f"sys/class/thermal/thermal_zone{zone}/{name}": text
        for zone, of_zone in enumerate((("CPU-therm\n", "36500\n"), ("PMIC-Die\n", "100000\n")))
        for name, text in zip(("type", "temp"), of_zone, strict=True)
    }
    assert read(tree(zones)) == {"CPU-therm": 36.5}


def test_zones_of_the_same_type_stay_apart(tree) -> None:
    twins = {
        f"sys/class/thermal/thermal_zone{zone}/{name}": text
        for zone in (0, 1)
        for name, text in (("type", "acpitz"), ("temp", f"{zone}0000"))
    }
    assert read(tree(twins)) == {"acpitz.0": 0.0, "acpitz.1": 10.0}


def test_a_zone_that_wakes_up_during_the_run_is_read_from_then_on(tree) -> None:
    meter = TemperatureMeter(tree(ORIN))
    meter.open(MeteredProcess(1, Path("/data")))
    assert len(meter.read()) == 2
    tree({"sys/class/thermal/thermal_zone1/temp": "45000\n"})
    assert {reading.channel for reading in meter.read()} == {"CPU-therm", "GPU-therm", "Tboard"}
