"""What a run's page says first: whether it reached its target and when, and three cards: its time,
its accuracy, its energy, with the digits that their intervals leave."""

from collections.abc import Mapping
from dataclasses import dataclass

from reporter.board.columns import name_of_figure
from reporter.data.frames import Row
from reporter.data.instrument_names import instrument_named
from reporter.data.quantities import quantity
from reporter.data.text import number_in_full
from suite.compliance.checker import BundleVerdict

TIMES = ("time_to_target_s", "time_to_epoch_s")
ENERGIES = ("energy_j", "energy_per_epoch_j")


@dataclass(frozen=True)
class Card:
    """A number of a run with the name of its quantity; ``figure`` is its row on the page."""

    figure: str
    title: str
    value: str
    note: str


@dataclass(frozen=True)
class RunHeadline:
    """The sentence of a run, the checker's verdict in a few words, and its cards."""

    text: str
    verdict: str
    cards: tuple[Card, ...]


def run_headline(
    who: str, figures: Mapping[str, Row], verdict: BundleVerdict, target: float | None
) -> RunHeadline:
    """The headline of the run of ``who``, from its figures by name."""
    time = _first(figures, TIMES)
    accuracy = figures.get("best_accuracy")
    cards = [_card(time, "mean of epochs 2 to last" if time and time["figure"] == TIMES[1] else "")]
    cards.append(_card(accuracy, f"target {100 * target:g} %" if target else "no target", target))
    energy = _first(figures, ENERGIES)
    sensor = instrument_named(energy.get("tier"), energy.get("covers")) if energy else ""
    cards.append(_card(energy or figures.get(ENERGIES[0]), sensor))
    said = "complies" if verdict.complies else "does not comply"
    count = len(verdict.findings)
    findings = f", {count} finding{'' if count == 1 else 's'}" if count else ""
    return RunHeadline(
        f"{who} {_outcome(figures, target)}",
        f"{said} with the {verdict.division} division of round {verdict.round}{findings}",
        tuple(card for card in cards if card is not None),
    )


def _outcome(figures: Mapping[str, Row], target: float | None) -> str:
    accuracy, reached = figures.get("best_accuracy"), figures.get(TIMES[0])
    if reached is not None and reached["value"] is not None and target:
        return f"reached {100 * target:g} % in {_value(reached)}."
    if accuracy is None or accuracy["value"] is None:
        return "was not evaluated."
    best = _value(accuracy, target)
    if not target:
        return f"reached {best}; the run had no target."
    if accuracy["value"] >= target:
        return f"reached {best} (target {100 * target:g} %) after an unknown time."
    return f"missed {100 * target:g} %: {best} at best."


def _first(figures: Mapping[str, Row], names: tuple[str, ...]) -> Row | None:
    return next(
        (figures[name] for name in names if name in figures and figures[name]["value"] is not None),
        None,
    )


def _card(figure: Row | None, note: str, target: float | None = None) -> Card | None:
    if figure is None:
        return None
    name = str(figure["figure"])
    why = str(figure["reason"]) if figure["value"] is None else ""
    return Card(
        name,
        name_of_figure(name),
        _value(figure, target),
        "; ".join(filter(None, (spread_words(figure), why or note))),
    )


def _accuracy(ratio: float, target: float | None) -> str:
    """In percent with two decimals, with more where two would hide on which side of the target it
    is."""
    least = 0.0 if target is None else target
    told = (n for n in range(2, 8) if (round(ratio, n + 2) >= least) == (ratio >= least))
    return f"{100 * ratio:.{next(told, 8)}f} %"


def _value(figure: Row, target: float | None = None) -> str:
    if figure["value"] is None:
        return "—"
    if str(figure["figure"]) == "best_accuracy":
        return _accuracy(figure["value"], target)
    return quantity(figure["value"], str(figure["unit"]), _ends(figure))[0]


def _ends(figure: Row) -> tuple[float, ...]:
    """The interval's, or one standard deviation to each side."""
    if figure["low"] is not None and figure["high"] is not None:
        return figure["low"], figure["high"]
    if figure["spread"] and figure["count"] and figure["count"] > 1:
        return figure["value"] - figure["spread"], figure["value"] + figure["spread"]
    return ()


def spread_words(figure: Row) -> str:
    """ "95 % interval 31 to 33"; of a spread, that it is that within the run."""
    ends = _ends(figure)
    if not ends or figure["value"] is None:
        return ""
    _, around = quantity(figure["value"], str(figure["unit"]), ends)
    is_interval = figure["low"] is not None
    return (
        f"95 % interval {around}"
        if is_interval
        else f"{around} (± one standard deviation within the run)"
    )


def with_digits(figure: Row) -> str:
    """A figure's value in its own unit, with the digits that its interval or spread leaves."""
    ends = _ends(figure)
    if figure["value"] is None:
        return "—"
    return (
        quantity(figure["value"], "", ends)[0]
        if ends and ends[0] < ends[1]
        else number_in_full(figure["value"])
    )
