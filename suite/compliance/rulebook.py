"""The rulebook's tables, made from the objects that are applied, and its worked examples, made to hold.

``rules/RULES.md`` is text with places marked ``<!-- generated: NAME -->`` … ``<!-- end -->``; :func:`render` fills them.
"""

import re
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from suite.catalog.data_sets import DataSetDefinition, load_data_sets
from suite.catalog.devices import load_devices
from suite.catalog.power import RULES as POWER_RULES
from suite.catalog.workloads import Workload, load_workloads
from suite.compliance.registry import ALL
from suite.files.paths import repository_root

_PLACE = re.compile(r"(<!-- generated: (?P<name>[a-z-]+) -->\n).*?(<!-- end -->)", re.DOTALL)
_EXAMPLE = re.compile(r"^    times (?P<times>[\d. ]+) s: score (?P<score>[\d.]+) s, spread (?P<spread>[\d.]+) s$", re.MULTILINE)


def path(root: Path | None = None) -> Path:
    """Where the rulebook lies."""
    return (root or repository_root()) / "rules" / "RULES.md"


def render(text: str) -> str:
    """The text with every generated place filled anew; raises KeyError for a place that nobody fills."""
    return _PLACE.sub(lambda found: f"{found[1]}{TABLES[found['name']]()}\n{found[3]}", text)


def places(text: str) -> tuple[str, ...]:
    """The names of the generated places, in their order."""
    return tuple(found["name"] for found in _PLACE.finditer(text))


@dataclass(frozen=True)
class ScoreExample:
    """A worked example of scoring: times of runs, s, and what the text says comes of them."""

    times_s: tuple[float, ...]
    score_s: float
    spread_s: float

    @property
    def holds(self) -> bool:
        """Mean and sample standard deviation are what is said, to the last place given."""
        mean, spread = statistics.mean(self.times_s), statistics.stdev(self.times_s)
        return abs(mean - self.score_s) <= 0.005 and abs(spread - self.spread_s) <= 0.005


def examples(text: str) -> tuple[ScoreExample, ...]:
    """Every worked example of the text."""
    return tuple(
        ScoreExample(tuple(map(float, found["times"].split())), float(found["score"]), float(found["spread"])) for found in _EXAMPLE.finditer(text)
    )


def _table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)


def _workloads() -> str:
    rows = [
        (f"`{each.name}`", each.title, f"{each.parameters:,}", _target(each), f"{each.epochs}", f"{each.batch_size}", _optimizer(each))
        for each in load_workloads()
    ]
    return _table(("workload", "what", "parameters", "target", "epochs at most", "batch size", "optimizer"), rows)


def _target(workload: Workload) -> str:
    return "none established yet" if workload.target_accuracy is None else f"{100 * workload.target_accuracy:g} %"


def _optimizer(workload: Workload) -> str:
    settings = workload.optimizer
    return f"SGD, momentum {settings.momentum:g}, weight decay {settings.weight_decay:g}, rate {settings.base_learning_rate:g}, {settings.schedule}"


def _tunable() -> str:
    rows = [
        (f"`{each.name}`", *(f"{low:g} to {high:g}" for low, high in (each.tunable.batch_size, each.tunable.base_learning_rate)))
        for each in load_workloads()
    ]
    return _table(("workload", "batch size", "base learning rate"), rows)


def _data_sets() -> str:
    rows = [(f"`{each.name}`", each.title, _proof(each)) for each in load_data_sets()]
    return _table(("data set", "what", "what proves it"), rows)


def _proof(definition: DataSetDefinition) -> str:
    if definition.archive is not None:
        return "MD5 of the published archive"
    if definition.files:
        return "SHA-256 of every file's content"
    return "MD5 of the published tables" if definition.tables else "nothing: for the open division"


def _devices() -> str:
    rows = [(f"`{each.name}`", each.title, ", ".join(f"`{name}`" for name in each.closed_workloads)) for each in load_devices()]
    return _table(("device", "what", "closed workloads"), rows)


def _power() -> str:
    rows = [(each.name, ", ".join(each.sources), " + ".join(each.channels), each.coverage.value, each.tier.value) for each in POWER_RULES]
    return _table(("total", "read by", "channels", "covers", "tier"), rows)


def _rules() -> str:
    rows = [
        (f"`{rule.id}`", " and ".join(division.value for division in rule.divisions), rule.severity.value, rule.sentence, rule.rationale)
        for rule in ALL
    ]
    return _table(("rule", "divisions", "severity", "sentence", "why"), rows)


TABLES: dict[str, Callable[[], str]] = {
    "workloads": _workloads,
    "tunable": _tunable,
    "data-sets": _data_sets,
    "devices": _devices,
    "power": _power,
    "rules": _rules,
}


def write() -> None:
    """Fill the rulebook's places in the checkout: `python -m suite.compliance.rulebook`."""
    path().write_text(render(path().read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
