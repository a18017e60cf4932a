"""Whether a machine of this kind can have done it: power, arithmetic, losses, and the machine itself."""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from suite.bundle.layout import STEPS, SYSTEM
from suite.catalog.devices import Device
from suite.catalog.divisions import Division
from suite.catalog.power import Coverage, PowerTotal
from suite.compliance.editing import EditableBundle
from suite.compliance.finding import Severity
from suite.compliance.rule import BundleCase, Fault, Rule, Violation

if TYPE_CHECKING:
    from suite.bundle.channels import Channels

from reference_impls.contract import SECONDS_PER_NS

LEAST_POWER_W = 0.1
BEHIND_ADAPTER = 0.8  # of the wall's power, at worst, reaches the board
OVER_LIMIT = 1.1
LEAST_OF_IDLE = 0.9
TRAINING_PER_FORWARD = 3  # backward costs twice the forward pass
GIB = 2**30
FAST_CONVOLUTION = 4  # Winograd's F(4x4, 3x3) needs a fourth of the multiplications that are counted (Lavin and Gray, CVPR 2016)
FIRST_STEPS, FIRST_LOSS = 10, (0.5, 3.0)  # of ln(classes), what guessing costs


def _power(case: BundleCase) -> Iterator[Violation]:
    """Mean power over the run, of every node against zero and against what its board's supply can give."""
    from suite.metrics.energy_figures import energy_figures
    from suite.metrics.power import power_total

    window, fix = case.window, "look at the sensor, its unit and what else hangs on it; run again"
    if window is None or window[1] <= window[0]:
        return
    for node in (node for node in case.nodes if node.is_on_clock):
        total = power_total(node.channels, case.power_rules)
        energy_j = energy_figures(node.channels, total, window, ())["energy_j"].value
        if total is None:
            continue
        power_w = _mean_reading_w(node.channels, total) if energy_j is None else energy_j / ((window[1] - window[0]) * SECONDS_PER_NS)
        limit_w = _limit_w(case.device, total.rule.coverage)
        if power_w is not None and power_w < LEAST_POWER_W:
            yield Violation(node.file, f"a mean power of {LEAST_POWER_W} W or more", f"{power_w:.3f} W by {total.source}", fix)
        if power_w is not None and limit_w is not None and power_w > limit_w:
            expected = f"a mean power of {limit_w:.1f} W or less, the limit of {case.request.platform}"
            yield Violation(node.file, expected, f"{power_w:.3f} W by {total.source}", fix)


def _mean_reading_w(channels: "Channels", total: PowerTotal) -> float | None:
    """Where readings were so odd that no energy came of them: their plain mean; None for a total of energy counters, which may jump."""
    if total.rule.unit != "W":
        return None
    means_w = [channels.get(total.source, name).mean for name in total.channels]
    return sum(mean_w for mean_w in means_w if not math.isnan(mean_w))


def _limit_w(device: Device | None, coverage: Coverage) -> float | None:
    if device is None or device.max_power_w is None:
        return None
    return device.max_power_w * OVER_LIMIT / (BEHIND_ADAPTER if coverage is Coverage.WALL else 1.0)


def _above_idle(case: BundleCase) -> Iterator[Violation]:
    """Of every node by itself: a sum would hide one that reads too little."""
    alone = {name: figure.to_dict() for name, figure in case.derived.figures.items()}
    window, rows = case.window, [node["figures"] for node in case.derived.nodes] or [alone]
    if window is None:
        return
    for node, figures in zip(case.nodes, rows, strict=True):
        share, idle_w, energy_j = (figures[name]["value"] for name in ("baseload_share", "baseload_power_w", "energy_j"))
        power_w = None if share is None else energy_j / ((window[1] - window[0]) * SECONDS_PER_NS)
        if power_w is not None and power_w < LEAST_OF_IDLE * idle_w:
            fix = "let nothing else run before a run, or look at the sensor"
            yield Violation(node.file, f"more power than the idle machine's {idle_w:.2f} W", f"{power_w:.2f} W", fix)


def _rate(case: BundleCase) -> Iterator[Violation]:
    """Arithmetic per second of compute time, of the whole run, against the device's peak in its fastest precision."""
    device = case.device
    if device is None or device.peak_gflops is None or case.request.model != case.workload.model:
        return
    for epoch, steps in case.steps.by_epoch():
        compute_s = steps.sum_s("compute_s") / len(steps.ranks)
        work = 2e-9 * TRAINING_PER_FORWARD * case.workload.forward_macs * float(steps.samples.sum())
        peak = device.peak_gflops * FAST_CONVOLUTION * len(steps.ranks)
        if not work <= peak * compute_s:
            observed = f"{work:.3g} billion operations in {compute_s:.3g} s"
            fix = "run again on the device that is named"
            yield Violation(STEPS, f"at most {peak:g} GFLOP/s on {device.name} in epoch {epoch}", observed, fix)
            return


def _losses(case: BundleCase) -> Iterator[Violation]:
    """Cross-entropies: numbers of zero or more that differ, and at first what guessing costs."""
    import numpy as np

    losses, fix = case.steps.loss, "run again; losses are kept as the implementation gave them"
    bad = ~((losses >= 0) & (losses < math.inf))
    if bad.any():
        yield Violation(STEPS, "losses of zero or more", f"{losses[bad][0]} at step {case.steps.step[bad][0]}", fix)
        return
    different = 1 + np.count_nonzero(np.diff(np.sort(losses)))
    if len(losses) > FIRST_STEPS and different < len(losses) / 10:
        yield Violation(STEPS, "losses that differ from step to step", f"{different} different ones in {len(losses)} steps", fix)
    if case.request.division == Division.CLOSED.value and case.request.data.classes > 1 and len(losses):
        guess = math.log(case.request.data.classes)
        first = float(losses[:FIRST_STEPS].mean())
        if not FIRST_LOSS[0] * guess <= first <= FIRST_LOSS[1] * guess:
            expected = f"a first loss near ln({case.request.data.classes}) = {guess:.2f}"
            yield Violation(STEPS, expected, f"{first:.3f} over {FIRST_STEPS} steps", "train from weights as the workload draws them")


def _machine(case: BundleCase) -> Iterator[Violation]:
    """The described machine against its device profile."""
    device = case.device
    if device is None:
        yield Violation(SYSTEM, "a device that has a profile", f"{case.request.platform!r}"[:200], "use --device generic, or add a profile")
        return
    system, fix = case.system, f"run on a {device.title}, or with --device generic"
    if device.cpu is not None:
        if str(system.get("architecture"))[:3] not in ("aar", "arm"):
            yield Violation(SYSTEM, f"the ARM processor of {device.name}", f"{system.get('architecture')!r}"[:200], fix)
        cores = system.get("cpu_cores")
        if isinstance(cores, int) and cores > device.cpu.cores:
            yield Violation(SYSTEM, f"at most the {device.cpu.cores} cores of {device.name}", f"{cores}", fix)
    size_bytes = system.get("memory_size_bytes")
    if device.memory is not None and isinstance(size_bytes, int) and size_bytes > max(device.memory.sizes_gb) * GIB:
        yield Violation(SYSTEM, f"at most the {max(device.memory.sizes_gb)} GiB of {device.name}", f"{size_bytes} bytes", fix)
    for name in ("cpu_cores", "memory_size_bytes"):
        value = system.get(name)
        if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            yield Violation(SYSTEM, f"{name} of one or more", f"{value!r}"[:200], "copy the whole run directory again")


def _free_energy(bundle: EditableBundle) -> None:
    bundle.readings.loc[bundle.readings["unit"] == "W", "value"] = 0.01


def _as_another(bundle: EditableBundle, device: str) -> None:
    bundle.request["platform"] = bundle.event("submission_platform")["value"] = bundle.system["device"] = device


def _server_as_pi(bundle: EditableBundle) -> None:
    _as_another(bundle, "raspberry-pi-4")
    bundle.steps["compute_s"] /= 100


def _less_than_idle(bundle: EditableBundle) -> None:
    bundle.readings.loc[bundle.readings["unit"] == "W", "value"] *= 0.4


def _too_much_power(bundle: EditableBundle) -> None:
    _as_another(bundle, "nano")
    bundle.readings.loc[bundle.readings["unit"] == "W", "value"] = 90.0


def _infinite(bundle: EditableBundle) -> None:
    bundle.steps.loc[4, "loss"] = float("inf")


def _same_losses(bundle: EditableBundle) -> None:
    bundle.steps["loss"] = 2.3


def _trained_before(bundle: EditableBundle) -> None:
    bundle.steps["loss"] *= 0.1


RULES = (
    Rule(
        id="power-possible",
        sentence="The mean power of a run is at least 0.1 W and within what the board's supply can give.",
        rationale="A wrong unit, a rail too few and a made-up reading show as an impossible power.",
        judges_bundle=_power,
        faults=(Fault("hardly any power", _free_energy), Fault("90 W through a Jetson Nano", _too_much_power)),
    ),
    Rule(
        id="power-above-idle",
        sentence="A machine that trains draws no less than nine tenths of what it drew idle right before.",
        rationale="Readings that were made smaller contradict the baseload.",
        severity=Severity.WARNING,
        judges_bundle=_above_idle,
        faults=(Fault("less than idle", _less_than_idle),),
    ),
    Rule(
        id="flop-rate",
        sentence="No epoch computes four times as fast as the device's peak in its fastest precision; a device without a known peak is not judged.",
        rationale="What the silicon cannot do was not done there; fast convolutions need down to a fourth of the multiplications that are counted.",
        judges_bundle=_rate,
        faults=(Fault("a server's run under a Raspberry Pi's name", _server_as_pi),),
    ),
    Rule(
        id="losses-possible",
        sentence="Losses are numbers of zero or more that differ; in the closed division the first are near what guessing costs.",
        rationale="Other losses were not computed, or not from the weights that the workload draws.",
        judges_bundle=_losses,
        faults=(
            Fault("an infinite loss", _infinite),
            Fault("the same loss everywhere", _same_losses),
            Fault("losses of a trained model", _trained_before),
        ),
    ),
    Rule(
        id="machine-fits-profile",
        sentence="The described machine is one that its device profile describes: architecture, cores, memory.",
        rationale="A row is only worth something with the right machine beside it.",
        judges_bundle=_machine,
        faults=(Fault("a Jetson Orin that is none", lambda bundle: _as_another(bundle, "orin")),),
    ),
)
