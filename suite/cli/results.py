"""Shows a finished run and a finished stall analysis."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from reporter.data.link_losses import link_loss
from reporter.data.quantities import quantity, quantity_with_spread
from suite.bundle.layout import SUMMARY
from suite.bundle.reader import Bundle
from suite.bundle.stall_folder import RECORD
from suite.catalog.throttling import remedy
from suite.cli.durations import duration_text
from suite.cli.json_output import print_json
from suite.compliance.finding import rules_broken_by
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.files.shell_command import shell_command
from suite.metrics.figure import Figure
from suite.metrics.stall_analysis import StallAnalysis

if TYPE_CHECKING:
    from suite.bundle.log import LogEvent
    from suite.execution.run import RunResult

ROWS = {
    "time_to_epoch_s": "time of an epoch",
    "first_epoch_s": "time of the first epoch",
    "fetch_stall_s": "waiting for data",
    "copy_s": "copying to the device",
    "compute_s": "computing",
    "communication_s": "communicating",
    "overhead_s": "overhead",
}
PARTS_OF_EPOCH = ("time_to_epoch_s", "fetch_stall_s", "compute_s", "communication_s")
"""What is compared of two runs."""
SHOWN_SHARE = 0.01
"""Of an epoch: a part that takes less is not shown."""
WAITING_SHARE, SHORT_WAIT_S = 0.25, 1.0
"""Of an epoch, and in it: what waits less waits for no card, disk or worker."""
PARTS = (
    ("reading", "read_stall_s", "read_epoch_s"),
    ("preprocessing", "preprocessing_stall_s", "preprocessing_epoch_s"),
)


def show_result(result: "RunResult", json: bool, verbose: bool = False) -> None:
    """Print a run's sentence, its main figures (``verbose``: all), its disturbances, and the
    commands to use next."""
    bundle = Bundle(result.path)
    if json:
        print_json("run", run_values(bundle))
        return
    summary = bundle.json(SUMMARY)
    print(f"{ending_of(bundle)}\n")
    print("\n".join(_figure_lines(summary["figures"], verbose)))
    _show_waiting(summary["figures"])
    _show_cross_checks(summary.get("energies", []))
    _show_disturbances(summary["disturbances"], "")
    _show_ranks_and_nodes(summary)
    _show_what_next(result.path)


def run_values(bundle: Bundle) -> dict[str, Any]:
    """A run's figures, as JSON has them."""
    return {"path": bundle.path, "status": bundle.run().status, **bundle.json(SUMMARY)}


def _show_what_next(path: Path) -> None:
    """Where the run is, which rules it breaks already, and the commands to use next."""
    from suite.compliance.checker import check_bundle  # start-up: the rules

    check, report = shell_command("suite check", path), shell_command("suite report", path)
    verdict = check_bundle(path)
    print(f"\nThe run is in {path}")
    if not verdict.complies:
        rules = ", ".join(rules_broken_by(verdict.findings))
        print(f"It breaks rules of the {verdict.division} division: {rules}")
    print(f"Check it:  {check}\nDraw it:   {report} --output site")


def ending_of(bundle: Bundle) -> str:
    """What a finished run reached, when, and with how much energy."""
    from suite.metrics.summary import read_summary, resumption_of  # start-up: numpy

    summary, resumed = read_summary(bundle), resumption_of(bundle)
    figures, target = summary["figures"], bundle.run().request.get("target_accuracy")
    accuracy, reached_s, energy = (
        figures[name] for name in ("best_accuracy", "time_to_target_s", "energy_j")
    )
    before = resumed.epoch if resumed else 0
    cut = [epoch for epoch in summary["epochs"] if not epoch.get("is_whole", True)]
    now = len(summary["epochs"]) - len(cut)
    is_reached, time_s = reached_s["value"] is not None, figures["gross_time_s"]["value"]
    done = [counted(before + now, "epoch")] if before + now or not cut else []
    after = " and ".join([*done, *(counted(epoch["steps"], "step") for epoch in cut)])
    after += f" ({before} of them before the run was resumed)" if before else ""
    if is_reached:
        after += f", in {duration_text(reached_s['value'])}"
    elif time_s is not None:
        after += f", {f'the other {now} ' if before else ''}in {duration_text(time_s)}"
    if accuracy["value"] is None:
        said = f"{after}; accuracy unknown: {accuracy['reason']}."
    else:
        last, best = _last_and_best(bundle)
        outcome = "target reached" if is_reached else reached_s["reason"]
        goal = "" if is_reached or target is None else f" ({100 * target:.3g} %)"
        place = "" if last.epoch == before + now and not cut else f"epoch {last.epoch} of "
        said = f"{100 * last.value:.2f} % after {place}{after}: {outcome}{goal}."
        if best.value > last.value:
            said += f" Best: {100 * best.value:.2f} % after epoch {best.epoch}."
    if energy["value"] is None:
        return f"{said} Energy unknown: {energy['reason']}."
    return f"{said} Energy: {quantity(energy['value'], 'J')[0]}{_interval(energy)}."


def _last_and_best(bundle: Bundle) -> tuple["LogEvent", "LogEvent"]:
    """The last evaluation, and the one of the best accuracy."""
    evaluations = bundle.log().evaluations()
    if not evaluations:
        raise SuiteError(
            f"{bundle.path}: {SUMMARY} has an accuracy, but the log has no evaluation;"
            f" `{shell_command('suite check', bundle.path)}` says what is wrong."
        )
    return evaluations[-1], max(evaluations, key=lambda each: float(each.value))


def _figure_lines(figures: Mapping[str, Any], all_of_them: bool) -> Iterator[str]:
    """A line for each known figure, then one for each reason with those that are unknown for
    it."""
    epoch_s = figures["time_to_epoch_s"]["value"] or 0.0
    unknown: dict[str, list[str]] = {}
    for name in figures if all_of_them else ROWS:
        figure, label = figures[name], name if all_of_them else ROWS[name]
        if figure["value"] is None:
            unknown.setdefault(figure["reason"], []).append(label)
        elif all_of_them or figure["value"] > SHOWN_SHARE * epoch_s:
            unit = "" if figure["unit"] == "ratio" else figure["unit"]
            value, spread = quantity_with_spread(figure["value"], unit, figure["spread"])
            yield f"{label:30} {value} {spread}{_interval(figure)}".rstrip()
    for reason, names in unknown.items():
        yield f"unknown: {', '.join(names)}: {reason}"


def _interval(figure: dict[str, Any]) -> str:
    """An energy's 95 % interval, or why it has none."""
    if figure.get("low") is not None:
        ends = quantity(figure["value"], figure["unit"], (figure["low"], figure["high"]))[1]
        return f" (95 %: {ends})"
    is_aliased = figure["value"] is not None and (figure.get("uncertainty") or {}).get(
        "possibly_aliased"
    )
    return (
        " (no interval: if the load repeats, readings at a fixed rate may always miss the same"
        " part of it)"
        if is_aliased
        else ""
    )


def _show_waiting(figures: Mapping[str, Any]) -> None:
    """Say it where a training waits for its data."""
    epoch_s, stall_s = (figures[name]["value"] for name in ("time_to_epoch_s", "fetch_stall_s"))
    if epoch_s and stall_s and stall_s > max(WAITING_SHARE * epoch_s, SHORT_WAIT_S):
        print(
            f"WAITING FOR DATA: {stall_s / epoch_s:.0%} of an epoch; use a faster card or disk, or"
            " more --workers: `suite run --stall-analysis` shows which helps"
        )


def _show_cross_checks(energies: list[dict[str, Any]]) -> None:
    """Print the energies of the totals that do not count, with their difference from the energy
    that does."""
    for row in energies:
        if not row["counts"]:
            difference = (
                f" ({row['difference_ratio']:+.1%})" if row["difference_ratio"] is not None else ""
            )
            value = (
                f"{row['energy_j']:.4g} J{difference}"
                if row["energy_j"] is not None
                else f"unknown: {row['reason']}"
            )
            print(f"{'cross-check':30} {row['source']}, {row['rule']} ({row['covers']}): {value}")


def _show_disturbances(disturbances: dict[str, Any], where: str) -> None:
    for event in disturbances["throttling"]:
        held = f" for {event['held_s']:.3g} s" if event["held_s"] is not None else ""
        print(
            f"THROTTLED{where}: {event['channel']} {event['start_s']:.1f} s after the start{held};"
            f" {remedy(event['channel'])}"
        )
    for step in disturbances["clock_steps"]:
        moved = f"{step['step_s']:+.3g} s, {step['at_s']:.1f} s after the start"
        print(
            f"The wall clock{where} was moved by {moved}; durations are not affected."
            " Synchronise the clock before a run begins."
        )
    for change in disturbances.get("settings", []):
        print(
            f"SETTING CHANGED{where}: {change['channel']} from {change['before']:g} to"
            f" {change['after']:g} {change['unit']}, {change['at_s']:.1f} s after the start; set it"
            " before a run (`suite power set`) and stop the program that changes it"
        )
    for loss in disturbances.get("links", []):
        print(
            f"LINK DISTURBED{where}: {link_loss(loss)}; replace the cable or the switch's port, and"
            " keep other traffic off the link"
        )


def _show_ranks_and_nodes(summary: dict[str, Any]) -> None:
    """Print the slowest rank, the exchange beside the wire's limit, and what was not measured or
    was disturbed on other nodes."""
    busy = [rank for rank in summary.get("ranks", []) if rank["busy_ratio"] is not None]
    if busy:
        slowest = max(busy, key=lambda rank: rank["busy_ratio"])
        where = f" on {slowest['node']}" if slowest["node"] else ""
        print(
            f"{'slowest rank':30} {slowest['rank']}{where}: busy time"
            f" {slowest['busy_ratio']:.3f} times the mean of {len(busy)} ranks"
        )
    exchange, limit, share = (
        summary["figures"].get(name, {}).get("value")
        for name in ("exchange_span_s", "wire_limit_s", "wire_limit_share")
    )
    if share is not None:
        print(
            f"{'exchange':30} {exchange:.4g} s per update, of which the nodes' links need at least"
            f" {limit:.4g} s ({share:.0%})"
        )
    for node in summary.get("nodes", []):
        if node["reason"]:
            print(f"NOT MEASURED: {node['node']}: {node['reason']}")
    for node in summary.get("nodes", [])[1:]:
        _show_disturbances(node["disturbances"], f" on {node['node']}")


def show_stall_analysis(analysis: StallAnalysis, directory: Path, json: bool) -> None:
    """Print a stall analysis whose record is in ``directory``."""
    if json:
        print_json("stall-analysis", stall_analysis_values(analysis, directory))
        return
    print("\n".join(stall_table(analysis)))
    print(f"\nThe record is {directory / RECORD}; the three runs are in the same folder.")


def stall_analysis_values(analysis: StallAnalysis, directory: Path) -> dict[str, Any]:
    """A stall analysis, as JSON has it."""
    return {"path": directory / RECORD, **asdict(analysis)}


def stall_table(analysis: StallAnalysis) -> Iterator[str]:
    """Lines for a person: the three runs, the differences, and notes."""
    yield (
        f"{'seconds per epoch':18} {'epoch':>20} {'stall':>20} {'copy':>20} {'compute':>20}  in"
        " memory at start"
    )
    for name, run in analysis.runs.items():
        resident = (
            "unknown" if run.resident_start_ratio is None else f"{run.resident_start_ratio:.0%}"
        )
        cells = " ".join(
            f"{figure_text(figure):>20}"
            for figure in (run.time_to_epoch_s, run.fetch_stall_s, run.copy_s, run.compute_s)
        )
        yield f"{name:18} {cells}  {resident}"
    for name, of_stall, of_epoch in PARTS:
        stall, epoch = analysis.figures[of_stall], analysis.figures[of_epoch]
        cells = f"{figure_text(epoch):>20} {figure_text(stall):>20}"
        yield f"{name:18} {cells}  {stall.method or stall.reason}"
    yield from (f"note: {note}" for note in analysis.notes)


def figure_text(figure: Figure, factor: float = 1.0, unit: str = "") -> str:
    """A figure times ``factor``, with its spread: the cell of a table."""
    if figure.value is None:
        return "unknown"
    spread = "" if figure.spread is None else f" ± {factor * figure.spread:.2g}"
    return f"{factor * figure.value:.4g}{spread}{unit}"
