"""The machine: its description, by itself and against the readings and the device profile."""

import re
from collections.abc import Mapping

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import RUN, SYSTEM
from suite.catalog.devices import Device
from suite.catalog.frameworks import known_frameworks
from suite.compliance.node_context import NodeContext
from suite.compliance.remedies import READINGS_AS_READ
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.values import is_number
from suite.files.counted import counted
from suite.metrics.core_clocks import core_clocks

ORDER = 75  # before the readings

# as suite.machine.identify calls a machine whose firmware has no name for it
UNNAMED = "an unnamed board"
ALWAYS_KNOWN = ("architecture", "kernel", "python")
TEXTS = (
    *ALWAYS_KNOWN,
    "board",
    "cpu_model",
    "power_mode",
    "cpu_governor",
    "storage_medium",
    "operating_system",
    "boot",
    "framework_version",
)
OF_FRAMEWORK = ("framework_version",)  # described in system.json alone, for every node
COUNTS = ("cpu_cores", "memory_size_bytes")
NOTED_THOUGH_KNOWN = ("cpu_cores",)
KIB = 1024
MIN_PYTHON = (3, 6)  # of reference_impls
ARM, X86 = ("aarch64", "armv8l", "armv7l", "armv6l"), ("x86_64", "i686")
WORDS_OF = {
    ARM: re.compile(
        r"\b(cortex|armv\d|raspberry|tegra|jetson|rpi|rpt|rockchip|raspi|aarch64|arm64|neoverse)",
        re.IGNORECASE,
    ),
    X86: re.compile(
        r"\b(amd|intel|epyc|xeon|ryzen|athlon|celeron|pentium|x86|i386|i686)", re.IGNORECASE
    ),
}
"""Words in the names of kernels and processors that belong to one family of instruction sets."""
OTHER_SYSTEMS = re.compile(
    r"\b(windows|mac ?os|darwin|(free|open|net)bsd|solaris|illumos)\b", re.IGNORECASE
)
BOARD_SENSORS = ("ina3221", "tegrastats", "jtop")
FASTEST_CORE_HZ = 7e9  # no processor that is sold runs as fast
CLOCK_TOLERANCE = 1.08  # nominal clocks are rounded, and boards differ by one step of their table
WIRED = "wired"
SLOWEST_GOVERNOR, FAST_SHARE = "powersave", 0.9
NUMPY, MOST_LIBRARIES = "numpy", 200
"""As many are recorded at most; earlier versions of the suite kept the first by their names."""
WIRELESS = re.compile(r"wlan\d+|wl[opPsux]\w*", re.ASCII)
"""Names of wireless interfaces: the kernel's, and those of systemd (systemd.net-naming-scheme)."""
ONLINE = re.compile(r"(\d+) are online", re.ASCII)
GIB = 2**30
# times the largest that is listed: no later variant of one chip had more
CORES_OF_ANY_VARIANT, MEMORY_OF_ANY_VARIANT = 2, 4
IN_USE = ("used", "available", "process_tree_pss", "largest_process_peak_rss")
IN_USE_OF_ONE = "process_tree_rss"  # of several processes, a shared page counts in each
ROUNDING = 1.005
MAX_SUM_DIFFERENCE = 0.01  # of the machine's memory; to the byte the same in honest runs


def _described(context: BundleContext) -> Violations:
    """Check the types of system.json's fields, and that exactly the unknown ones have a note."""
    for node in context.nodes:
        notes = node.system.get("notes")
        if not node.system:
            continue
        if not isinstance(notes, Mapping):
            yield Violation(
                node.system_file,
                "notes: an object with the reason for every unknown field",
                f"{notes!r}",
            )
            return
        for name in (*TEXTS, *COUNTS):
            if name in OF_FRAMEWORK and node.system_file != SYSTEM:
                continue
            value = node.system.get(name)
            if value is None and name in ALWAYS_KNOWN:
                yield Violation(node.system_file, f"{name}, which is always known", "null")
            elif value is None and not notes.get(name):
                expected = f"{name}, or null and a note that says why"
                yield Violation(node.system_file, expected, "null without a note")
            elif value is not None and name in notes and name not in NOTED_THOUGH_KNOWN:
                yield Violation(
                    node.system_file,
                    f"{name} without a note that it is unknown",
                    f"{value!r}, and the note {str(notes[name])!r}",
                )
            elif value is not None and not _has_type(name, value):
                yield Violation(
                    node.system_file,
                    f"{name}: {'a text' if name in TEXTS else 'a whole number above zero'}",
                    f"{value!r}",
                )
        names = node.system.get("gpus", [])  # earlier bundles lack it
        if not isinstance(names, list) or not all(
            isinstance(name, str) and name.strip() for name in names
        ):
            yield Violation(node.system_file, "gpus: a list of names", f"{names!r}")


def _has_type(name: str, value: object) -> bool:
    if name in TEXTS:
        return isinstance(value, str) and bool(value.strip())
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def _check_machine(context: BundleContext) -> Violations:
    """Check that instruction set, kernel, processor, memory and Python can be those of one
    machine."""
    for node in context.nodes:
        system, file = node.system, node.system_file
        family = next((family for family in WORDS_OF if system.get("architecture") in family), None)
        for name in ("kernel", "cpu_model"):
            if family is None:
                break
            text = str(system.get(name))
            other = next(
                (
                    found[0]
                    for of, words in WORDS_OF.items()
                    if of != family and (found := words.search(text))
                ),
                None,
            )
            if other is not None and not WORDS_OF[family].search(text):
                yield Violation(
                    file,
                    f"a {name} for {system['architecture']}",
                    f"{text[:100]!r}, with the word {other!r}",
                )
        without_linux = OTHER_SYSTEMS.search(str(system.get("operating_system")))
        if without_linux is not None:
            yield Violation(
                file,
                "an operating system with a Linux kernel, because the suite needs one",
                f"{without_linux[0]!r} in operating_system",
            )
        size_bytes = system.get("memory_size_bytes")
        if isinstance(size_bytes, int) and size_bytes % KIB:
            yield Violation(
                file,
                f"memory_size_bytes divisible by {KIB}, because the kernel states the memory in"
                " whole KiB (MemTotal)",
                f"{size_bytes}, {size_bytes % KIB} bytes more than {size_bytes // KIB} KiB",
            )
        python = re.match(r"(\d+)\.(\d+)", str(system.get("python")), re.ASCII)
        if system and (python is None or (int(python[1]), int(python[2])) < MIN_PYTHON):
            yield Violation(
                file,
                f"Python {'.'.join(map(str, MIN_PYTHON))} or later, which reference_impls needs",
                f"{system.get('python')!r}",
            )


def _links(context: BundleContext) -> Violations:
    """Check that no interface with the name of a wireless one is called wired, with a speed:
    drivers of wireless interfaces report none."""
    for node in context.nodes:
        links = node.system.get("links")
        for link in links if isinstance(links, list | tuple) else ():
            if (
                not isinstance(link, Mapping)
                or link.get("kind") != WIRED
                or not is_number(link.get("speed_mbit_s"))
            ):
                continue
            name = link.get("interface")
            if isinstance(name, str) and WIRELESS.fullmatch(name):
                yield Violation(
                    node.system_file,
                    f"a wireless link, as the interface's name {name!r} says",
                    f"{WIRED}, {link['speed_mbit_s']:g} Mbit/s",
                )


def _libraries(context: BundleContext) -> Violations:
    """Check the framework's version against that of its package, and that the packages are not
    those of another framework."""
    libraries, named = _versions(context.system.get("libraries")), context.request.framework
    frameworks = known_frameworks()
    own = frameworks.get(named)
    if own is None or not own.packages:
        return
    installed = [name for name in own.packages if name in libraries]
    others = {
        name
        for framework in frameworks.values()
        if framework.packages != own.packages
        for name in framework.packages
        if name in libraries
    }
    version, file = context.system.get("framework_version"), context.nodes[0].system_file
    recorded = context.system.get("libraries")  # none where the interpreter has no pip
    are_all = recorded not in (None, {}) and len(libraries) < MOST_LIBRARIES
    if not installed and are_all:
        yield Violation(
            file,
            f"{' or '.join(own.packages)} among the libraries of a run with {named}",
            f"packages of other frameworks: {', '.join(sorted(others))}"
            if others
            else f"no package of a framework among {len(libraries)} libraries",
        )
    elif NUMPY not in libraries and are_all:
        yield Violation(
            file,
            "numpy among the libraries: the suite's readers make mini-batches with it",
            f"no numpy among {len(libraries)} libraries",
        )
    elif installed and _public(version) not in {_public(libraries[name]) for name in installed}:
        found = ", ".join(f"{name} {libraries[name]}" for name in installed)
        expected = (
            f"the framework's package in version {version!r} (framework_version) among the"
            " libraries"
        )
        yield Violation(file, expected, found)


def _versions(libraries: object) -> dict[str, str]:
    """Versions by package, names as in Python's metadata."""
    return (
        {re.sub(r"[-_.]+", "_", str(name)).lower(): str(text) for name, text in libraries.items()}
        if isinstance(libraries, Mapping)
        else {}
    )


def _public(version: object) -> str:
    """The version without its local part (+cpu, +cu126)."""
    return str(version).partition("+")[0]


def _profiled(context: BundleContext) -> Violations:
    """Check the described machine against its device profile. `machine-variant` warns of variants
    that it does not list."""
    device = context.device
    if device is None:
        yield Violation(SYSTEM, "a device that has a profile", f"{context.request.platform!r}")
        return
    system, fix = context.system, f"run on a {device.title}, or with --device generic"
    if device.cpu is not None:
        if device.cpu.machine and system.get("architecture") not in device.cpu.machine:
            yield Violation(
                SYSTEM,
                f"architecture {' or '.join(device.cpu.machine)}, as {device.name} has",
                f"{system.get('architecture')!r}",
                fix=fix,
            )
        cores = system.get("cpu_cores")
        if isinstance(cores, int) and cores > CORES_OF_ANY_VARIANT * device.cpu.cores:
            yield Violation(
                SYSTEM,
                f"at most {CORES_OF_ANY_VARIANT * device.cpu.cores} cores, {CORES_OF_ANY_VARIANT}"
                f" times the number in the profile of {device.name}",
                f"{cores} cores",
                fix=fix,
            )
    size_bytes = system.get("memory_size_bytes")
    if (
        device.memory is not None
        and isinstance(size_bytes, int)
        and size_bytes > MEMORY_OF_ANY_VARIANT * max(device.memory.sizes_gb) * GIB
    ):
        yield Violation(
            SYSTEM,
            f"at most {MEMORY_OF_ANY_VARIANT * max(device.memory.sizes_gb) * GIB:.0f} bytes of"
            f" memory, {MEMORY_OF_ANY_VARIANT} times the largest size in the profile of"
            f" {device.name}",
            f"{size_bytes} bytes",
            fix=fix,
        )
    entries = system.get("compatible")
    if isinstance(entries, list) and device.identity.contradicts([str(entry) for entry in entries]):
        yield Violation(
            SYSTEM,
            f"a device tree of {device.name}: {', '.join(device.identity.compatible)}",
            f"{entries}",
            fix=fix,
        )
    for name in ("cpu_cores", "memory_size_bytes"):
        value = system.get(name)
        if value is not None and (
            not isinstance(value, int) or isinstance(value, bool) or value < 1
        ):
            yield Violation(
                SYSTEM,
                f"{name} of one or more",
                f"{value!r}",
                fix="copy the whole run directory again",
            )


def _evidence(context: BundleContext) -> Violations:
    """Check that the evidence for the device names this board, or a name by which the profile is
    recognised."""
    device = context.device
    evidence = str(context.run.device_evidence)
    board = context.system.get("board")
    if device is None:
        return
    identity = device.identity
    names = [
        name
        for name in (board, *identity.compatible, *identity.dmi, *identity.cpu_model)
        if isinstance(name, str) and name
    ]
    if device.is_fallback:
        if evidence.startswith("asked for; "):
            return
        names = [UNNAMED if board is None else str(board)]
        evidence = evidence.partition(": ")[0]
    if not any(name in evidence for name in names):
        expected = f"device_evidence that names {' or '.join(repr(name) for name in names)}"
        yield Violation(RUN, expected[:300], f"{evidence!r}")


def _board(context: BundleContext) -> Violations:
    """Check the power mode, and the rails that the board's own sensors read, against the
    profile."""
    device = context.device
    if device is None:
        return
    mode, settings = context.system.get("power_mode"), context.system.get("power_settings")
    read = settings.get("mode") if isinstance(settings, Mapping) else None
    if (
        mode is not None
        and not device.power_modes
        and not (isinstance(read, str) and str(mode).startswith(read))
    ):
        expected = (
            "no power_mode, because power_settings has no mode"
            if read is None
            else f"a power_mode that begins with {read!r}, the mode in power_settings"
        )
        yield Violation(context.nodes[0].system_file, expected[:200], f"{mode!r}")
    yield from _rails(context, device)


def _rails(context: BundleContext, device: Device) -> Violations:
    for node in context.nodes if device.power_rails else ():
        rails = [
            channel.name for source in BOARD_SENSORS for channel in node.channels.of_source(source)
        ]
        if rails and not set(rails) & set(device.power_rails):
            yield Violation(
                node.file,
                f"readings of {' or '.join(device.power_rails)}, the rails of {device.title}",
                f"readings of {', '.join(sorted(set(rails)))}",
                fix=f"run on a {device.title}",
            )


def _clocks(context: BundleContext) -> Violations:
    """Check readings of frequencies and cycles against the highest clock of the profile, or of any
    processor."""
    device = context.device
    nominal_hz = (
        None if device is None or device.cpu is None else device.cpu.max_frequency_mhz * 1e6
    )
    limit_hz = FASTEST_CORE_HZ if nominal_hz is None else nominal_hz * CLOCK_TOLERANCE
    whose = (
        "more than any processor has"
        if nominal_hz is None or device is None
        else f"{CLOCK_TOLERANCE - 1:.0%} above the highest clock in the profile of {device.title}"
    )
    for node in context.nodes:
        for channel in (channel for channel in core_clocks(node.channels) if len(channel.known)):
            if channel.maximum > limit_hz:
                yield Violation(
                    node.file,
                    f"a core's clock of at most {limit_hz / 1e6:.0f} MHz ({whose})",
                    f"{channel.maximum / 1e6:.0f} MHz in {channel.name}",
                    fix="run at the vendor's clock rates",
                )
        cycles_hz = _cycles_per_core_hz(node)
        if cycles_hz is not None and cycles_hz > limit_hz:
            yield Violation(
                node.file,
                f"at most {limit_hz / 1e6:.0f} million cycles a second per core ({whose})",
                f"{cycles_hz / 1e6:.0f} million cycles a second per core, on average over"
                f" {node.system.get('cpu_cores')} cores",
            )
        yield from _governed(node, nominal_hz)


def _scaled(context: BundleContext) -> Violations:
    """Check that the cores' clocks were read where there is a governor: the kernel keeps both in
    one folder."""
    for node in context.nodes:
        governor, cores = node.system.get("cpu_governor"), node.channels.of_source("cpu")
        if (
            governor is not None
            and cores
            and not any(each.name.startswith("frequency.core") for each in cores)
        ):
            yield Violation(
                node.file,
                "readings of the cores' clocks, which the kernel offers together with the governor"
                f" ({governor!r})",
                "no such readings by the cpu meter",
            )


def _governed(node: NodeContext, nominal_hz: float | None) -> Violations:
    """The governor powersave holds the lowest clock; only Intel's and AMD's own drivers give that
    name another meaning."""
    if (
        nominal_hz is None
        or node.system.get("cpu_governor") != SLOWEST_GOVERNOR
        or node.system.get("architecture") in X86
    ):
        return
    cores = [channel for channel in core_clocks(node.channels) if len(channel.known)]
    fastest = max(cores, key=lambda channel: channel.mean, default=None)
    if fastest is not None and fastest.mean > FAST_SHARE * nominal_hz:
        yield Violation(
            node.file,
            f"at most {FAST_SHARE * nominal_hz / 1e6:.0f} MHz on average ({FAST_SHARE:.0%} of the"
            f" highest clock in the profile), because the governor in {node.system_file} is"
            f" {SLOWEST_GOVERNOR!r}",
            f"{fastest.mean / 1e6:.0f} MHz on average in {fastest.name}",
        )


def _cycles_per_core_hz(node: NodeContext) -> float | None:
    cycles, cores = node.channels.get("counters", "cycles.count"), node.system.get("cpu_cores")
    if (
        len(cycles) < 2
        or not isinstance(cores, int)
        or cores < 1
        or cycles.t_ns[-1] <= cycles.t_ns[0]
    ):
        return None
    return (
        float(cycles.values[-1] - cycles.values[0])
        / ((int(cycles.t_ns[-1]) - int(cycles.t_ns[0])) * SECONDS_PER_NS)
        / cores
    )


def _fit_machine(context: BundleContext) -> Violations:
    """Check that the memory in use fits the described machine, and that all its cores were read."""
    for node in context.nodes:
        size_bytes, cores = node.system.get("memory_size_bytes"), node.system.get("cpu_cores")
        processes = node.channels.get("memory", "process_tree_size")
        are_several = len(processes.known) > 0 and processes.maximum > 1
        used_bytes = max(
            (
                memory.maximum
                for name in (*IN_USE, *(() if are_several else (IN_USE_OF_ONE,)))
                if len((memory := node.channels.get("memory", name)).known)
            ),
            default=0.0,
        )
        if isinstance(size_bytes, int) and size_bytes > 0 and used_bytes > size_bytes * ROUNDING:
            yield Violation(
                node.file,
                f"at most {size_bytes} bytes of memory in use, the size in {node.system_file}"
                f" ({ROUNDING - 1:.1%} more is tolerated)",
                f"{used_bytes:.0f} bytes in use ({used_bytes / size_bytes:.0%}) according to the"
                " memory meter",
            )
        cores_read = node.cores_read
        if isinstance(cores, int) and 0 < cores_read < cores:
            yield Violation(
                node.file,
                f"readings of {cores} cores, as in {node.system_file}",
                f"readings of {counted(cores_read, 'core')}",
            )


def _cores(context: BundleContext) -> Violations:
    for node in context.nodes:
        cores, notes = node.system.get("cpu_cores"), node.system.get("notes")
        read = node.cores_read
        online = ONLINE.search(str(notes.get("cpu_cores"))) if isinstance(notes, Mapping) else None
        allowed = int(online[1]) if online is not None else cores
        if isinstance(allowed, int) and not isinstance(allowed, bool) and read > allowed:
            yield Violation(
                node.file,
                f"readings of at most {allowed} core{'s' * (allowed != 1)}, the number in"
                f" {node.system_file}",
                f"readings of {read} cores",
            )


def _check_memory_sum(context: BundleContext) -> Violations:
    """Check that used and available memory are together the memory that the description has, in one
    reading at least."""
    for node in context.nodes:
        used = node.channels.get("memory", "used")
        available = node.channels.get("memory", "available")
        size_bytes = node.system.get("memory_size_bytes")
        if not len(used) or len(used) != len(available) or not is_number(size_bytes):
            continue
        sums = used.values + available.values
        nearest = float(sums[abs(sums - size_bytes).argmin()])
        if not abs(nearest - size_bytes) <= MAX_SUM_DIFFERENCE * size_bytes:
            yield Violation(
                node.file,
                "a reading in which used and available memory add up to memory_size_bytes in"
                f" {node.system_file}, {size_bytes} bytes (within {MAX_SUM_DIFFERENCE:.0%})",
                f"{nearest:.0f} bytes in the reading that comes nearest",
            )


RULES = (
    Rule(
        "system-described",
        "Every field of system.json has the expected type. Each field that is null has a note with"
        " the reason, and no other field has a note, except cpu_cores. Instruction set, kernel,"
        " operating system, processor, memory and Python are consistent with one Linux machine. No"
        " interface with a wireless name is described as a wired link with a known speed. The"
        " libraries, if any are listed, include NumPy and the framework's package, whose version is"
        " the framework_version in system.json.",
        "If a value is missing without a reason, nobody can tell whether it was unknown or"
        " removed. Values that were typed by hand may describe several machines. Linux gives a"
        " wireless interface a name that begins with wl. The harness lists the packages of the"
        " environment in which the training ran. NumPy is always one of them, because the suite"
        " uses it to load the data.",
        "hand in system.json as `suite run` wrote it",
        (
            OfBundle("system-described", _described),
            OfBundle("system-possible", _check_machine),
            OfBundle("links-described", _links),
            OfBundle("framework-installed", _libraries),
        ),
    ),
    Rule(
        "machine-fits-profile",
        "The described machine matches its device profile: device tree, instruction set, number of"
        " cores, memory, power mode and power rails. `device_evidence` in run.json contains the"
        " name of the described board, or another name by which the suite recognises the device.",
        "A result holds only for the machine that produced it. The harness recognises a device by"
        " its name, and a board's device tree names its sensors, so the names of device and sensors"
        " must fit the profile. A variant that the profile does not list does not break this rule"
        f" if it has at most {CORES_OF_ANY_VARIANT} times the profile's number of cores and"
        f" {MEMORY_OF_ANY_VARIANT} times its largest memory: `machine-variant` reports it.",
        "run on a machine of the profile, or with --device generic; leave system.json and"
        " device_evidence as `suite run` wrote them",
        (
            OfBundle("machine-fits-profile", _profiled),
            OfBundle("device-evidence", _evidence),
            OfBundle("board-fits-profile", _board),
        ),
    ),
    Rule(
        "clocks-possible",
        "No core's clock, as read or as computed from counted cycles, is more than 8 % above the"
        " highest clock in the profile (7 GHz if the profile has none). With the governor"
        " powersave, an Arm core's mean clock is at most 90 % of the highest clock in the profile."
        " If system.json names the processor's governor, the cpu meter read the cores' clocks,"
        " too.",
        "An overclocked board is not the board that is sold. A nominal clock is rounded, so a core"
        " may run slightly faster. On Arm, the governor powersave keeps the lowest clock. The"
        " kernel keeps a core's governor and its clock in one folder (cpufreq), so a program that"
        " can read the governor can read the clock.",
        "run at the vendor's clock rates, and hand in system.json and the readings as recorded",
        (OfBundle("clocks-possible", _clocks), OfBundle("governor-read", _scaled)),
    ),
    Rule(
        "readings-fit-machine",
        "The readings fit the memory and the cores in system.json: all of these cores and no others"
        " were read, and no more memory is in use than the machine has (0.5 % is tolerated). In at"
        " least one reading, used and available memory add up to the machine's memory, within"
        " 1 %.",
        "A result holds only for the machine that produced it. The description and the memory meter"
        " take the memory's size from the same line of /proc/meminfo (MemTotal), so they agree.",
        READINGS_AS_READ,
        (
            OfBundle("readings-fit-machine", _fit_machine),
            OfBundle("cores-described", _cores),
            OfBundle("memory-whole", _check_memory_sum),
        ),
    ),
)
