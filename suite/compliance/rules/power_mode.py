"""Power modes and variants of boards: the mode is known, and did not change during the run"""

from collections.abc import Mapping
from typing import Any

from reference_impls.contract import SECONDS_PER_NS
from suite.bundle.layout import SYSTEM
from suite.compliance.finding import Severity
from suite.compliance.node_context import NodeContext
from suite.compliance.rule import CLOSED, BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.wording import value_text
from suite.metrics.disturbances import MODE_ID, POWER_MODE, find_setting_changes

ORDER = 95  # after the figures: the readings are sound by now

GIB = 2**30
MAX_SHOWN = 10
VIRTUAL_DISK = "virtual disk"
# firmware, GPU carve-outs and the kernel take the rest of the nominal size
MIN_SHARE_OF_MEMORY = 0.8


def _check_power_mode(context: BundleContext) -> Violations:
    """Check that every node of a profile with power modes states its mode, and that mode, settings
    and readings agree."""
    device = context.device
    if device is None or not device.power_modes:
        return
    for node in context.nodes:
        mode, settings = node.system.get("power_mode"), _settings_of(node)
        if not isinstance(mode, str) or not mode:
            observed = f"power_mode = {value_text(mode)}; the reason: {_note_of(node)}"
            yield Violation(
                node.system_file,
                f"power_mode = the mode of {device.name} that nvpmodel reports",
                observed[:200],
                fix="give the user that runs the suite read access to /etc/nvpmodel.conf and"
                " /var/lib/nvpmodel/status, then run again; or submit to the open division",
            )
            continue
        yield from _consistent(node, mode, settings)


def _consistent(node: NodeContext, mode: str, settings: Mapping[str, Any]) -> Violations:

    name, number = settings.get("mode"), settings.get("mode_id")
    if isinstance(name, str) and not mode.startswith(name):
        yield Violation(
            node.system_file,
            f"a power_mode that begins with {name!r}, the mode in power_settings",
            f"{mode!r}",
        )
    if settings.get("is_custom") is True and not settings.get("clocks"):
        yield Violation(
            node.system_file,
            "power_settings with the clocks of the custom power mode",
            "no clocks",
        )
    read = node.channels.get(POWER_MODE, MODE_ID)
    if len(read) and isinstance(number, int) and float(read.in_time.values[0]) != number:
        yield Violation(
            node.system_file,
            f"mode_id = {read.in_time.values[0]:g} in power_settings, the mode that was read when"
            " the run began",
            f"mode_id = {number}",
        )


def _steady(context: BundleContext) -> Violations:
    """Report each setting of each node that was read with another value during the run, or was
    another after it."""

    window = context.window
    if window is None:
        return
    for node in context.nodes:
        changes = find_setting_changes(node.channels, *window) if node.is_on_clock else ()
        if not changes:
            yield from _changed_after(node)
        for change in changes[:MAX_SHOWN]:
            at_s = (change.t_ns - window[0]) * SECONDS_PER_NS
            yield Violation(
                node.file,
                "one power mode and one set of limits during the run",
                f"{change.channel} from {change.before:g} to {change.after:g} {change.unit},"
                f" {at_s:.1f} s after run_start",
            )


def _changed_after(node: NodeContext) -> Violations:
    """Settings that the meter does not read (energy preferences), or that changed right before the
    run's end."""
    changes = node.system.get("power_changes")
    for change in changes[:MAX_SHOWN] if isinstance(changes, list) else ():
        yield Violation(
            node.system_file,
            "the same settings after the run as before it",
            str(change),
            fix="do not change governor or power mode during a run, and stop programs that "
            "change them (power-profiles-daemon, a script)",
        )


def _listed(context: BundleContext) -> Violations:
    """Say which mode of a node is not one of the profile's, with the clocks that held."""
    device = context.device
    if device is None or not device.power_modes:
        return
    names = [mode.name for mode in device.power_modes]
    for node in context.nodes:
        mode, settings = node.system.get("power_mode"), _settings_of(node)
        name = settings.get("mode") or str(mode).partition(":")[0]
        if (
            not isinstance(mode, str)
            or not mode
            or (name in names and settings.get("is_custom") is not True)
        ):
            continue
        differences = settings.get("differences")
        why = (
            f" ({'; '.join(str(each) for each in differences[:MAX_SHOWN])})"
            if isinstance(differences, list) and differences
            else ""
        )
        yield Violation(
            node.system_file,
            f"one of the power modes of {device.name}: {', '.join(names)}",
            f"{mode}{why}",
        )


def _variant(context: BundleContext) -> Violations:
    """Say which cores and memory are not those of a variant that the profile lists."""
    device = context.device
    if device is None:
        return
    cores, size_bytes = context.system.get("cpu_cores"), context.system.get("memory_size_bytes")
    if device.cpu is not None and isinstance(cores, int) and cores > device.cpu.cores:
        yield Violation(
            SYSTEM, f"at most the {device.cpu.cores} cores of {device.name}", f"{cores} cores"
        )
    if (
        device.memory is not None
        and isinstance(size_bytes, int | float)
        and not isinstance(size_bytes, bool)
    ):
        sizes = device.memory.sizes_gb
        spans = [(MIN_SHARE_OF_MEMORY * size * GIB, size * GIB) for size in sizes]
        if not any(low <= size_bytes <= high for low, high in spans):
            allowed = " or ".join(f"{low:.0f} to {high:.0f}" for low, high in spans)
            named = " or ".join(f"{size:g}" for size in sizes)
            yield Violation(
                SYSTEM, f"{allowed} bytes of memory ({named} GiB)", f"{size_bytes} bytes of memory"
            )


def _virtual(context: BundleContext) -> Violations:
    """Say which node under a board's profile shows a virtual machine: a hypervisor that took CPU
    time, or a disk that is none."""
    if context.device is None or context.device.is_fallback:
        return
    for node in context.nodes:
        steal = node.channels.get("load", "steal")
        signs = (
            [f"{steal.maximum - steal.minimum:.2f} s of CPU time stolen by a hypervisor"]
            if len(steal) and steal.maximum > steal.minimum
            else []
        )
        if node.system.get("storage_medium") == VIRTUAL_DISK:
            signs.append(f"a {VIRTUAL_DISK}")
        if signs:
            yield Violation(
                node.system_file,
                f"{context.device.title} itself, not a virtual machine",
                " and ".join(signs),
            )


def _settings_of(node: NodeContext) -> Mapping[str, Any]:
    settings = node.system.get("power_settings")
    return settings if isinstance(settings, Mapping) else {}


def _note_of(node: NodeContext) -> str:
    notes = node.system.get("notes")
    note = notes.get("power_mode") if isinstance(notes, Mapping) else None
    return str(note or "no reason given")


RULES = (
    Rule(
        "power-mode-known",
        "This rule covers closed runs on devices whose profile lists power modes. Such a run"
        " records the power mode of every node (power_mode). The node's power_settings name the"
        " same mode, and list the clocks of a custom mode. The mode's number (mode_id) equals the"
        " first number that the meter power-mode read.",
        "Runs in different modes belong to different entries, so a run in an unknown mode cannot be"
        " compared. If somebody edited power_mode, it would contradict the settings or the"
        " readings.",
        "give the user that runs the suite read access to /etc/nvpmodel.conf and"
        " /var/lib/nvpmodel/status, then run again, or run in the open division; never edit"
        " system.json",
        (OfBundle("power-mode-known", _check_power_mode, CLOSED),),
    ),
    Rule(
        "power-mode-steady",
        "Power mode, governor, clock limits and power limits do not change during the run.",
        "A run whose power mode changed belongs to neither mode's entry. A new governor or limit"
        " changes speed and power in the middle of the run.",
        "do not change governor or power mode until after the run, stop programs that change them"
        " (power-profiles-daemon, a script), and cool the processor better, because a hot processor"
        " lowers its clock limits",
        (OfBundle("power-mode-steady", _steady, severity=Severity.WARNING),),
    ),
    Rule(
        "machine-variant",
        "The machine has at most as many cores as its device profile lists. Its memory is 80 % to"
        " 100 % of a size that the profile lists. Its power mode is one of the profile's modes,"
        " with the vendor's clocks for this mode. A run with a board's profile shows no sign of a"
        " virtual machine: no CPU time stolen by a hypervisor, no virtual disk.",
        "New variants of boards appear, and runs in another power mode form a separate entry. A"
        " virtual machine may get only some of the board's cores and memory. Such runs count, and"
        " the finding tells readers what differs from the profile.",
        "nothing needs to be done: the result counts. You can add a new variant to the profile in"
        " rules/devices. If this is a virtual machine, say so with `suite package --notes TEXT`",
        (
            OfBundle("machine-variant", _variant, severity=Severity.WARNING),
            OfBundle("power-mode-listed", _listed, severity=Severity.WARNING),
            OfBundle("machine-virtual", _virtual, severity=Severity.WARNING),
        ),
    ),
)
