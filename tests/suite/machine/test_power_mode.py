"""Power modes: nvpmodel's name and the clocks that hold, custom modes, jetson_clocks; governor and
limits elsewhere; two settings, two labels."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from suite.catalog.devices import load_device
from suite.machine.nvpmodel import parse_configuration
from suite.machine.power_settings import changed_settings, read_power_limits, read_power_settings
from tests.boards import planted

POLICY = "sys/devices/system/cpu/cpufreq/policy0"
GPU = "sys/class/devfreq/17000000.gpu"


@pytest.fixture
def board(tmp_path: Path) -> Callable[[str], Path]:
    """The recorded machine of a profile."""
    return lambda name: planted(tmp_path / name, load_device(name))


def write(root: Path, files: Mapping[str, object]) -> Path:
    """Replace files below a root; None removes one."""
    for name, content in files.items():
        (root / name).unlink(missing_ok=True)
        if content is not None:
            (root / name).write_text(f"{content}\n")
    return root


def test_the_same_id_is_another_mode_on_another_module(board: Callable[[str], Path]) -> None:
    nano, nx = (
        write(board(name), {"var/lib/nvpmodel/status": "pmode:0002"})
        for name in ("orin-nano", "orin-nx")
    )
    assert (read_power_settings(nano).mode, read_power_settings(nx).mode) == ("MAXN_SUPER", "15W")


def test_an_id_without_a_name_is_a_custom_mode(board: Callable[[str], Path]) -> None:
    settings = read_power_settings(
        write(board("orin-nano"), {"var/lib/nvpmodel/status": "pmode:0009"})
    )
    assert settings.mode is None and settings.is_custom and settings.clocks
    assert settings.label == "custom mode 9: 6 cores up to 1728 MHz, GPU up to 1020 MHz"
    assert "no mode 9 (it has 1 25W, 0 15W, 2 MAXN_SUPER)" in settings.differences[0]


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        (
            {f"{POLICY}/scaling_max_freq": 1344000},
            "CPU_A78_0 MAX_FREQ is 1344000 instead of 1728000",
        ),
        ({f"{GPU}/max_freq": 612000000}, "GPU MAX_FREQ is 612000000 instead of 1020000000"),
        ({"sys/devices/system/cpu/cpu5/online": 0}, "CPU_ONLINE CORE_5 is 0 instead of 1"),
    ],
)
def test_clocks_that_are_not_the_mode_s_are_said(
    board: Callable[[str], Path], changes: Mapping[str, object], difference: str
) -> None:
    settings = read_power_settings(write(board("orin-nano"), changes))
    assert settings.is_custom and difference in settings.differences
    assert (settings.label or "").startswith("MAXN_SUPER (changed): ")


def test_a_cap_between_two_frequencies_is_the_mode_s_own(board: Callable[[str], Path]) -> None:
    """The kernel shows the cap as it was written, or the clock's next frequency below it."""
    root = write(
        board("orin-nano"), {"var/lib/nvpmodel/status": "pmode:0000", f"{GPU}/max_freq": 612000000}
    )
    for policy in ("policy0", "policy4"):
        for hertz in (1497600, 1490000):
            write(root, {f"sys/devices/system/cpu/cpufreq/{policy}/scaling_max_freq": hertz})
    assert read_power_settings(root).differences == ()


def test_a_cap_that_the_kernel_rounds_up_is_the_mode_s_own(board: Callable[[str], Path]) -> None:
    """A TX2 in MAXP_CORE_ARM, `nvpmodel -q --verbose`: CPU CONF_VAL 2000000, REAL_VAL 2035200; GPU
    CONF_VAL 1120000000, REAL_VAL 1134750000."""
    gpu = "sys/class/devfreq/17000000.gp10b"
    steps = "114750000 420750000 726750000 930750000 1032750000 1134750000 1236750000 1300500000"
    root = write(
        board("tx2"),
        {
            f"{POLICY}/scaling_max_freq": 2035200,
            f"{gpu}/max_freq": 1134750000,
            f"{gpu}/available_frequencies": steps,
        },
    )
    settings = read_power_settings(root)
    assert settings.differences == () and not settings.is_custom
    assert settings.label == "MAXP_CORE_ARM: 4 cores up to 2035 MHz, GPU up to 1135 MHz"
    for file, changed in ((f"{POLICY}/scaling_max_freq", 1728000), (f"{gpu}/max_freq", 1236750000)):
        assert read_power_settings(write(root, {file: changed})).is_custom


def test_a_mode_that_nvpmodel_did_not_apply_when_it_booted_is_changed(
    board: Callable[[str], Path],
) -> None:
    """Reported of an Orin Nano Super: nvpmodel.service fails at boot, the status names mode 1
    (25W), the clocks are MAXN_SUPER's."""
    settings = read_power_settings(
        write(board("orin-nano"), {"var/lib/nvpmodel/status": "pmode:0001 fmode:fan_mode_quiet"})
    )
    assert settings.label == "25W (changed): 6 cores up to 1728 MHz, GPU up to 1020 MHz"
    assert "CPU_A78_0 MAX_FREQ is 1728000 instead of 1344000" in settings.differences
    assert "GPU MAX_FREQ is 1020000000 instead of 918000000" in settings.differences
    assert settings.fan == "fan_mode_quiet"


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        ("var/lib/nvpmodel/status", "/var/lib/nvpmodel/status cannot be read"),
        ("etc/nvpmodel.conf", "/etc/nvpmodel.conf, which names mode 2, cannot be read"),
    ],
)
def test_a_jetson_whose_mode_cannot_be_told_says_why(
    board: Callable[[str], Path], missing: str, reason: str
) -> None:
    settings = read_power_settings(write(board("orin"), {missing: None}))
    assert settings.label is None and reason in settings.notes["mode"]
    assert settings.clocks, "the clocks are recorded all the same"


@pytest.mark.parametrize("status", ["", "pmode:", "fmode:quiet", "pmode:x", "\0\0"])
def test_a_malformed_status_is_no_mode(board: Callable[[str], Path], status: str) -> None:
    assert (
        read_power_settings(write(board("orin"), {"var/lib/nvpmodel/status": status})).label is None
    )


def test_jetson_clocks_is_told_by_equal_limits(board: Callable[[str], Path]) -> None:
    root = board("nano")
    assert read_power_settings(root).clocks_locked is False
    write(root, {f"{POLICY}/scaling_min_freq": 1479000})
    assert read_power_settings(root).clocks_locked is False, "the GPU's clock still changes"
    write(root, {"sys/class/devfreq/57000000.gpu/min_freq": 921600000})
    locked = read_power_settings(root)
    assert locked.clocks_locked and not locked.is_custom
    assert locked.label == "MAXN: 4 cores up to 1479 MHz, GPU up to 922 MHz, clocks locked"


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        ("raspberry-pi-4", {f"{POLICY}/scaling_governor": "performance"}),
        ("raspberry-pi-4", {f"{POLICY}/scaling_max_freq": 1500000}),
        ("raspberry-pi-4", {f"{POLICY}/scaling_min_freq": 1800000}),
        ("n100", {"sys/devices/system/cpu/intel_pstate/no_turbo": 1}),
        ("n100", {"sys/class/powercap/intel-rapl:0/constraint_0_power_limit_uw": 6000000}),
        ("n100", {f"{POLICY}/energy_performance_preference": "performance"}),
        ("n100", {"sys/devices/system/cpu/cpufreq/policy3/scaling_max_freq": 800000}),
    ],
)
def test_two_settings_of_a_machine_are_two_labels(
    board: Callable[[str], Path], name: str, changes: Mapping[str, object]
) -> None:
    root = board(name)
    before = read_power_settings(root)
    after = read_power_settings(write(root, changes))
    assert None not in (before.label, after.label) and before.label != after.label
    assert changed_settings(before, after) and changed_settings(before, before) == ()


def test_momentary_values_are_no_change(board: Callable[[str], Path]) -> None:
    root = board("n100")
    before = read_power_settings(root)
    after = read_power_settings(
        write(
            root,
            {f"{POLICY}/scaling_cur_freq": 3400000, "sys/class/powercap/intel-rapl:0/energy_uj": 9},
        )
    )
    assert changed_settings(before, after) == () and before.label == after.label


def test_the_limits_of_rapl(board: Callable[[str], Path]) -> None:
    limits = read_power_limits(board("n100"))
    assert [(limit.name, limit.constraint, limit.limit_w) for limit in limits] == [
        ("package-0", "long_term", 15.0),
        ("package-0", "short_term", 25.0),
        ("package-0", "peak_power", 78.0),
    ]
    assert limits[0].window_s == pytest.approx(27.98, abs=0.01) and limits[2].window_s is None


def test_of_two_limits_of_one_package_the_lower_one_is_in_the_label(
    board: Callable[[str], Path],
) -> None:
    """Intel's packages have a limit by MSR and another by MMIO."""
    root = board("n100")
    label, zone = read_power_settings(root).label, root / "sys/class/powercap/intel-rapl-mmio:0"
    zone.mkdir(parents=True)
    files = {
        "name": "package-0",
        "constraint_0_name": "long_term",
        "constraint_0_power_limit_uw": 15000000,
    }
    assert (
        read_power_settings(
            write(
                root, {f"{zone.relative_to(root)}/{name}": value for name, value in files.items()}
            )
        ).label
        == label
    )
    write(root, {f"{zone.relative_to(root)}/constraint_0_power_limit_uw": 6000000})
    assert str(read_power_settings(root).label).endswith("limited to 6 W and 25 W")


@pytest.mark.parametrize(
    ("switches", "turbo"),
    [
        ({}, None),
        ({"intel_pstate/no_turbo": 0}, True),
        ({"intel_pstate/no_turbo": 1, "cpufreq/boost": 1}, False),
        ({"cpufreq/boost": 1}, True),
        ({"cpufreq/boost": 0, "cpufreq/policy0/boost": 1}, False),
        ({"cpufreq/policy0/boost": 0, "cpufreq/policy4/boost": 0}, False),
        ({"cpufreq/policy0/boost": 0, "cpufreq/policy4/boost": 1}, True),
    ],
)
def test_turbo_is_read_per_policy_where_there_is_no_switch_for_all_cores(
    switches: dict[str, int], turbo: bool | None, tree: Callable[[Mapping[str, str]], Path]
) -> None:
    root = tree({f"sys/devices/system/cpu/{name}": f"{on}\n" for name, on in switches.items()})
    assert read_power_settings(root).turbo is turbo


def test_a_clock_that_only_root_reads_does_not_change_the_label(
    board: Callable[[str], Path],
) -> None:
    root = board("orin-nano")
    label = read_power_settings(root).label
    (root / "sys/kernel/debug/bpmp/debug/clk/emc").mkdir(parents=True)
    write(
        root,
        {
            f"sys/kernel/debug/bpmp/debug/clk/emc/{name}": 2133000000
            for name in ("rate", "max_rate")
        },
    )
    settings = read_power_settings(root)
    assert (
        settings.label == label
        and settings.clocks[-1].name == "emc"
        and settings.clocks[-1].current_hz == 2133000000
    )


def policy(
    number: int, cores: str, governor: str, lowest_khz: int, highest_khz: int, preference: str = ""
) -> dict[str, object]:
    """A cpufreq policy as the kernel shows it."""
    files = {
        "affected_cpus": cores,
        "scaling_governor": governor,
        "scaling_min_freq": lowest_khz,
        "scaling_max_freq": highest_khz,
    }
    files |= {"energy_performance_preference": preference} if preference else {}
    return {
        f"sys/devices/system/cpu/cpufreq/policy{number}/{name}": value
        for name, value in files.items()
    }


def device(name: str, highest_hz: int) -> dict[str, object]:
    """A devfreq device as the kernel shows it."""
    return {
        f"sys/class/devfreq/{name}/{file}": value
        for file, value in {"min_freq": 300000000, "max_freq": highest_hz, "governor": "x"}.items()
    }


# As users and their scripts publish the files of these machines
PUBLISHED: dict[str, tuple[dict[str, object], str]] = {
    "Intel with two kinds of cores, a policy for each": (
        {
            name: value
            for core in range(16)
            for name, value in policy(
                core,
                str(core),
                "powersave",
                400000,
                4400000 if core < 8 else 3300000,
                "balance_performance",
            ).items()
        }
        | {
            "sys/devices/system/cpu/intel_pstate/no_turbo": 0,
            "sys/firmware/acpi/platform_profile": "balanced",
        },
        (
            "powersave (balance_performance): 8 cores 400 to 3300 MHz, 8 cores 400 to 4400 MHz,"
            " turbo on, profile balanced"
        ),
    ),
    "AMD by amd-pstate-epp": (
        {
            name: value
            for core in range(8)
            for name, value in policy(
                core, str(core), "powersave", 400000, 5137000, "performance"
            ).items()
        }
        | {"sys/devices/system/cpu/cpufreq/boost": 1},
        "powersave (performance): 8 cores 400 to 5137 MHz, turbo on",
    ),
    "Orange Pi 5 Plus, the vendor's kernel: its NPU is no GPU": (
        policy(0, "0 1 2 3", "ondemand", 408000, 1800000)
        | policy(4, "4 5", "ondemand", 408000, 2256000)
        | policy(6, "6 7", "ondemand", 408000, 2304000)
        | device("fb000000.gpu", 10**9)
        | device("dmc", 2112000000)
        | device("fdab0000.npu", 10**9),
        (
            "ondemand: 4 cores 408 to 1800 MHz, 2 cores 408 to 2256 MHz, 2 cores 408 to 2304 MHz,"
            " GPU up to 1000 MHz"
        ),
    ),
    "AGX Thor, Jetson Linux 38: its video engines are no GPU": (
        policy(0, " ".join(map(str, range(14))), "schedutil", 972000, 2601000)
        | device("gpu-gpc-0", 1575000000)
        | device("gpu-nvd-0", 1692000000)
        | device("bwmgr", 4266000000)
        | {
            "etc/nvpmodel.conf": "< POWER_MODEL ID=0 NAME=MAXN >\n< POWER_MODEL ID=1 NAME=120W >",
            "var/lib/nvpmodel/status": "pmode:0000",
        },
        "MAXN: 14 cores up to 2601 MHz, GPU up to 1575 MHz",
    ),
    "Xavier NX with a mode of its owner": (
        policy(0, "0 1 2 3 4 5", "schedutil", 1190400, 1907200)
        | {
            "etc/nvpmodel.conf": (
                "< PARAM TYPE=CLOCK NAME=CPU_DENVER_0 >\nMAX_FREQ"
                " /sys/devices/system/cpu/cpufreq/policy0/scaling_max_freq\n< POWER_MODEL ID=9"
                " NAME=MODE_MAX_ALL >\nCPU_DENVER_0 MAX_FREQ 1907200\nEMC MAX_FREQ 0\n< PM_CONFIG"
                " DEFAULT=8 >"
            ),
            "var/lib/nvpmodel/status": "pmode:0009 fmode:quiet",
        },
        "MODE_MAX_ALL: 6 cores up to 1907 MHz",
    ),
}


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_published_tree_has_its_label(
    name: str, tree: Callable[[Mapping[str, str]], Path]
) -> None:
    files, label = PUBLISHED[name]
    settings = read_power_settings(tree({file: f"{content}\n" for file, content in files.items()}))
    assert settings.label == label and settings.differences == ()


def test_a_machine_without_cpufreq_has_no_mode_and_says_why(tmp_path: Path) -> None:
    settings = read_power_settings(tmp_path)
    assert settings.label is None and "virtual machine" in settings.notes["mode"]


def test_a_configuration_with_other_lines_is_read() -> None:
    found = parse_configuration(
        "# < POWER_MODEL ID=7 NAME=NO >\n<PARAM TYPE=CLOCK NAME=GPU >\nMAX_FREQ /x\n< POWER_MODEL"
        " ID=0 NAME=MAXN >\nGPU MAX_FREQ -1  # no cap\nrest\n"
    )
    assert [(model.id, model.name, model.settings, model.unread) for model in found.models] == [
        (0, "MAXN", (("GPU", "MAX_FREQ", "-1"),), ("rest",))
    ]
    assert found.paths == {"GPU": {"MAX_FREQ": "/x"}}
