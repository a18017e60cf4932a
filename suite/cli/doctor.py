"""`suite doctor`: what this machine can measure and run, and how to get what is missing."""

import importlib.util
import platform
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import psutil
from typer import Option

from suite.catalog.data_sets import DataSetDefinition, load_data_sets
from suite.catalog.frameworks import load_frameworks
from suite.catalog.load_limits import MAX_FOREIGN_SHARE, MAX_STOLEN_SHARE
from suite.catalog.power import load_power_rules, power_sources
from suite.cli.json_output import print_rows
from suite.cli.options import Json
from suite.cli.tables import show_table
from suite.datasets import locate
from suite.datasets.prepare import MAKERS
from suite.errors import SuiteError
from suite.experiments.machine_load import MachineLoad, measure_load
from suite.files.counted import counted
from suite.files.paths import suite_home
from suite.launch import environments
from suite.machine.identify import identify
from suite.machine.power_settings import NVPMODEL, PowerSettings, read_power_settings
from suite.machine.procfs import read_text
from suite.meters.meter import Meter
from suite.meters.registry import may_have_total, open_meters
from suite.meters.settings import PLACE

LOAD_S = 1.0
CGROUP = "sys/fs/cgroup"
SLOWEST, X86 = "powersave", ("x86_64", "i686")
"""The governor that holds the lowest clock, but for the drivers of these machines."""
MAX_SWAPPED_BYTES = 2**26
METER = "meter: "
NO_METER = "no power meter is available"


@dataclass(frozen=True)
class Diagnosis:
    """One item: whether it is available, what was found and how to get it. ``forbidden``: it is
    here, and this user may not use it."""

    what: str
    there: bool
    found: str
    remedy: str = ""
    forbidden: bool = False


def doctor(
    show_all: Annotated[
        bool, Option("--all", help="List every unavailable meter and how to make it available.")
    ] = False,
    json: Json = False,
) -> None:
    """List what this machine can measure and run, and how to get what is missing."""
    diagnoses = [*_machine(), *_meters(), *_environments(), *_data_sets()]
    if json:
        print_rows("doctor", map(vars, diagnoses))
    else:
        show(diagnoses if show_all else folded(diagnoses))


def folded(diagnoses: list[Diagnosis]) -> list[Diagnosis]:
    """The diagnoses with one line for all meters that are not here: most are other boards'."""
    missing = [
        each
        for each in diagnoses
        if each.what.startswith(METER) and not each.there and not each.forbidden
    ]
    kept = [each for each in diagnoses if each not in missing]
    if missing:
        names = ", ".join(each.what.removeprefix(METER) for each in missing)
        line = Diagnosis(counted(len(missing), "meter"), False, names, "suite doctor --all")
        kept.insert(next(n for n, each in enumerate(kept) if each.what == "energy"), line)
    return kept


def show(diagnoses: list[Diagnosis]) -> None:
    """Print a table."""
    rows = [
        {
            "what": each.what,
            "there": "yes" if each.there else "no",
            "found": each.found,
            "fix": each.remedy,
        }
        for each in diagnoses
    ]
    show_table(rows, keep=4)


def _machine() -> Iterator[Diagnosis]:
    identity = identify()
    yield Diagnosis("device profile", True, f"{identity.device.name} ({identity.evidence})")
    yield diagnose_power_mode(read_power_settings())
    yield from diagnose_share(Path("/"))
    yield diagnose_load(measure_load(LOAD_S))
    yield Diagnosis("Python", True, platform.python_version())
    yield diagnose_memory(psutil.virtual_memory().available, psutil.swap_memory().used)
    place = next(path for path in (suite_home(), *suite_home().parents) if path.exists())
    yield Diagnosis(
        "disk", True, f"{shutil.disk_usage(place).free / 2**30:.1f} GiB free below {place}"
    )


def diagnose_power_mode(settings: PowerSettings) -> Diagnosis:
    """The label that a run would have now; settings that are not the mode's are named."""
    if settings.label is None:
        remedy = (
            "let this user read /etc/nvpmodel.conf and /var/lib/nvpmodel/status"
            if settings.source == NVPMODEL
            else ""
        )
        return Diagnosis("power mode", False, settings.notes["mode"], remedy)
    found = "; ".join((settings.label, *settings.differences))
    is_held = settings.mode == SLOWEST and platform.machine() not in X86
    remedy = "suite power set --governor performance" if is_held else ""
    return Diagnosis("power mode", not is_held, found, remedy)


def diagnose_share(root: Path) -> Iterator[Diagnosis]:
    """The limit of CPU time of this group of processes, as a container has one; nothing without."""
    quota, period = (
        *(read_text(root / CGROUP / "cpu.max") or "").split(),
        *(
            read_text(root / CGROUP / f"cpu/cpu.cfs_{each}_us") or ""
            for each in ("quota", "period")
        ),
    )[:2]
    if quota.isdigit() and period.isdigit():
        found = f"a container limits CPU time to that of {int(quota) / int(period):g} cores"
        yield Diagnosis("all cores", False, found, "start the container without a CPU limit")


def diagnose_memory(available_bytes: int, swapped_bytes: int) -> Diagnosis:
    """Memory that is available, and whether some is in swap."""
    found = f"{available_bytes / 2**30:.1f} GiB available"
    if swapped_bytes <= MAX_SWAPPED_BYTES:
        return Diagnosis("memory", True, found)
    found += f"; {swapped_bytes / 2**30:.1f} GiB are in swap"
    return Diagnosis(
        "memory",
        False,
        found,
        "end other programs, or restart the machine: training would wait for data in swap",
    )


def diagnose_load(load: MachineLoad) -> Diagnosis:
    """What other programs and the hypervisor take of the machine now; a run would be disturbed by
    more than the rulebook's limits."""
    busiest = ", ".join(f"{name} ({pid}) {cores:.2f}" for name, pid, cores in load.programs)
    found = f"{load.foreign:.2f} of {load.cores} cores in use by other programs" + (
        f": {busiest}" if busiest else ""
    )
    found += f"; {load.stolen:.2f} taken by the hypervisor" if load.stolen > 0 else ""
    found += (
        ""
        if load.waiting is None
        else f"; at least one task waited for a CPU {load.waiting:.0%} of the time"
    )
    is_quiet = (
        load.foreign <= MAX_FOREIGN_SHARE * load.cores
        and load.stolen <= MAX_STOLEN_SHARE * load.cores
    )
    return Diagnosis(
        "quiet machine",
        is_quiet,
        found,
        ""
        if is_quiet
        else "stop other programs (and, if this is a virtual machine, the others on its host)"
        " before a run: they slow it down",
    )


def diagnose_meters(meters: Iterable[Meter]) -> Iterator[Diagnosis]:
    """One diagnosis per meter; a meter whose availability check fails is not available, and the
    error is shown."""
    for meter in meters:
        try:
            availability = meter.availability()
        except SuiteError as error:
            problem = error.problem.rstrip(".")
            yield Diagnosis(f"{METER}{meter.name}", False, problem, f"correct /{PLACE}")
        except Exception as error:  # noqa: BLE001 - one broken driver must not hide the other sources
            yield Diagnosis(
                f"{METER}{meter.name}",
                False,
                f"the availability check failed: {type(error).__name__}: {error}",
                "please report this",
            )
        else:
            yield Diagnosis(
                f"{METER}{meter.name}",
                availability.available,
                availability.reason or meter.description,
                availability.remedy,
                availability.forbidden,
            )


def _meters() -> Iterator[Diagnosis]:
    meters = open_meters()
    diagnoses = list(diagnose_meters(meters))
    yield from diagnoses
    there = {each.what for each in diagnoses if each.there}
    yield _diagnose_energy([meter for meter in meters if f"{METER}{meter.name}" in there])


def _diagnose_energy(available: Iterable[Meter]) -> Diagnosis:
    rules = load_power_rules()
    power = [meter for meter in available if meter.name in power_sources(rules)]
    found = [meter.name for meter in power if may_have_total(meter, rules)]
    if found:
        return Diagnosis("energy", True, f"measured by {', '.join(found)}")
    names = " and ".join(meter.name for meter in power)
    why = f"there is power from {names}, but nobody knows of what" if power else NO_METER
    return Diagnosis(
        "energy",
        False,
        f"{why}: energy will be reported as unknown",
        "make a power meter available (suite doctor --all; docs/measuring.md)",
    )


def _environments() -> Iterator[Diagnosis]:
    for framework in load_frameworks():
        yield _searched(
            f"environment: {framework.name}",
            lambda framework=framework: environments.find_environment(framework).interpreter,  # type: ignore[misc]
            f"suite env create {framework.name}",
        )


def _data_sets() -> Iterator[Diagnosis]:
    for definition in load_data_sets():
        yield _searched(
            f"data: {definition.name}",
            lambda name=definition.name: locate.find_data_set(name, verify=False).directory,  # type: ignore[misc]
            _how_to_prepare(definition),
        )


def _how_to_prepare(definition: DataSetDefinition) -> str:
    """The command that prepares the data set, behind that which installs what it needs."""
    command = locate.how_to_prepare(definition).replace("`", "")
    if definition.name in MAKERS and importlib.util.find_spec("sklearn") is None:
        return f"pip install 'edge-training-suite[digits]', then {command}"
    return command


def _searched(what: str, find: Callable[[], Path], remedy: str) -> Diagnosis:
    """Where it is, or why it is not there."""
    try:
        return Diagnosis(what, True, str(find()))
    except SuiteError as error:
        return Diagnosis(what, False, error.problem, remedy)
