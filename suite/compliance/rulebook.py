"""The generated places of the rulebook: rules/RULES.md, which people read, and rules/CHECKS.md, the
rules that programs apply.

Both are text with places marked ``<!-- generated: NAME -->`` … ``<!-- end -->``; :func:`render`
fills them from the rules and definitions.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from pathlib import Path

from suite.catalog.data_sets import DataSetDefinition, load_data_sets
from suite.catalog.devices import load_devices
from suite.catalog.power import load_power_rules
from suite.catalog.rounds import Round, load_rounds
from suite.catalog.workloads import Workload, load_workloads
from suite.compliance.registry import (
    MODULES,
    RuleModule,
    all_modules,
    find_rule,
    rule_in_round,
    rules_of,
)
from suite.compliance.rule import Rule
from suite.files.generated import fill_generated, markdown_table
from suite.files.paths import rules_folder

SUBJECTS = {
    "preconditions": "Bundles and rounds",
    "requests": "The closed division",
    "data": "Data",
    "requested": "Request and record of a run",
    "resumed": "Resumed runs and adaptations",
    "course": "Log, clocks and timing boundaries",
    "ranks": "Ranks, states and asynchronous timing",
    "nodes": "Nodes and links",
    "trained": "Model, accuracy and losses",
    "machine": "Machine, witness and memory budget",
    "readings": "Meter readings",
    "cpu_time": "Processor, memory and disk",
    "sensors": "Power readings",
    "loop_times": "Step times",
    "power_mode": "Power modes and variants",
    "records": "Folders of several runs",
    "submission_layout": "Submissions",
    "reviews": "Reviews, audits and signatures",
}
"""The headings of CHECKS.md, each with the module of rules that it begins at."""
OF_EXTENSIONS = "Extensions"


def path(root: Path | None = None) -> Path:
    """The rulebook's file."""
    return rules_folder(root) / "RULES.md"


def checks_path(root: Path | None = None) -> Path:
    """The appendix's file: every rule that is checked."""
    return rules_folder(root) / "CHECKS.md"


def render(text: str) -> str:
    """The text with every generated place filled; raises KeyError for a place whose name is in
    neither ``TABLES`` nor ``OF_TEXT``."""
    filled = fill_generated(text, {**TABLES, **dict.fromkeys(OF_TEXT, str)})
    of_text = {name: partial(writer, filled) for name, writer in OF_TEXT.items()}
    return fill_generated(text, {**TABLES, **of_text})


def _contents(text: str) -> str:
    """A link to each chapter of a text."""
    titles = re.findall(r"^## (.*)$", text, re.MULTILINE)
    return "\n".join(f"- [{title}](#{anchor(title)})" for title in titles)


def anchor(title: str) -> str:
    """The anchor of a heading."""
    return re.sub("[^a-z0-9]+", "-", title.lower())


def _links(text: str) -> str:
    """Where the rules stand that a text names as ``[`rule`]``, or by one of their checks."""
    names = sorted(set(re.findall(r"\[`([a-z0-9-]+)`\](?!\()", text)))
    return "\n".join(f"[`{name}`]: CHECKS.md#{find_rule(name).id}" for name in names)


def _workloads() -> str:
    rows = [
        (
            f"`{each.name}`",
            each.title,
            f"{each.parameters:,}",
            _target(each),
            f"{each.epochs}",
            f"{each.batch_size}",
            _optimizer(each),
        )
        for each in load_workloads()
    ]
    return markdown_table(
        ("workload", "what", "parameters", "target", "epochs at most", "batch size", "optimizer"),
        rows,
    )


def _target(workload: Workload) -> str:
    return (
        "none: characterisation"
        if workload.target_accuracy is None
        else f"{100 * workload.target_accuracy:g} %"
    )


def _optimizer(workload: Workload) -> str:
    settings = workload.optimizer
    return (
        f"SGD, momentum {settings.momentum:g}, weight decay {settings.weight_decay:g}, rate"
        f" {settings.base_learning_rate:g}, {settings.schedule}"
    )


def _tunable() -> str:
    rows = [
        (
            f"`{each.name}`",
            *(
                _range(low, high)
                for low, high in (each.closed_batch_sizes, each.tunable.base_learning_rate)
            ),
        )
        for each in load_workloads()
    ]
    return markdown_table(("workload", "batch size", "base learning rate"), rows)


def _range(low: float, high: float) -> str:
    return f"{low:g}, fixed" if low == high else f"{low:g} to {high:g}"


def _data_sets() -> str:
    rows = [(f"`{each.name}`", each.title, _proof(each)) for each in load_data_sets()]
    return markdown_table(("data set", "what", "what proves it"), rows)


def _proof(definition: DataSetDefinition) -> str:
    if definition.files:
        return "SHA-256 of every file's content"
    if definition.recipe is not None:
        return (
            "MD5 of its tables; SHA-256 over all images, which are made locally, or over their"
            " pixels if the JPEG encoder differs"
        )
    if definition.tables and definition.pictures is None:
        return "MD5 of the published tables; nothing proves the images yet"
    return (
        "MD5 of the published tables, SHA-256 of every image"
        if definition.tables
        else "nothing; open division only"
    )


def _devices() -> str:
    rows = [
        (f"`{each.name}`", each.title, ", ".join(f"`{name}`" for name in each.closed_workloads))
        for each in load_devices()
    ]
    return markdown_table(("device", "what", "closed workloads by default"), rows)


def _power() -> str:
    rows = [
        (
            each.name,
            ", ".join(each.sources),
            " + ".join(each.channels),
            each.coverage.value,
            each.tier.value,
            f"{each.gain_error:.0%}",
        )
        for each in load_power_rules()
    ]
    return markdown_table(("total", "read by", "channels", "covers", "tier", "within"), rows)


def _rules() -> str:
    return "\n\n".join(part for module in all_modules() for part in _of_module(module))


def _of_module(module: RuleModule) -> Iterator[str]:
    if module.name in SUBJECTS:
        yield f"## {SUBJECTS[module.name]}"
    elif module == next(each for each in all_modules() if each not in MODULES):
        yield f"## {OF_EXTENSIONS}"
    yield from map(_rule, module.rules)


def _rule(rule: Rule) -> str:
    formerly = ", ".join(f"`{each}`" for each in rule.formerly)
    facts = (_severities(rule), _judged(rule), f"formerly {formerly}" if formerly else "")
    return (
        f"### {rule.id}\n\n{rule.sentence}\n\n- *{'; '.join(filter(None, facts))}*\n"
        f"- Why: {rule.rationale}\n- To fix it: {rule.fix}"
    )


def _judged(rule: Rule) -> str:
    """What the rule judges: its divisions, and whether it needs the parts of steps."""
    divisions = " and ".join(division.value for division in rule.divisions)
    needs_split = all(check.needs_split for check in rule.checks)
    return f"{divisions}, in synchronised timing" if needs_split else divisions


def _severity(rule: Rule, judged_by: Round) -> str:
    """The severities of the rule in a round; nothing if it does not apply."""
    applied = rule_in_round(rule, judged_by)
    return " and ".join(each.value for each in applied.severities) if applied else ""


def _severities(rule: Rule) -> str:
    """The rule's severities, with the rounds that have them where they differ."""
    rounds, spans = load_rounds(), []
    for severity, having in groupby(rounds, lambda one: _severity(rule, one)):
        first, *later = having
        last = later[-1] if later else first
        if severity and last is rounds[-1]:
            spans.append(severity if first is rounds[0] else f"{severity} from {first.name} on")
        elif severity:
            spans.append(f"{severity} {f'from {first.name} to' if later else 'in'} {last.name}")
    return ", ".join(spans)


def _rounds() -> str:
    rows = [
        (
            f"`{each.name}`",
            each.title,
            ", ".join(each.suite_versions),
            each.closed or "open",
            "published" if each.nonce else "none",
            f"{len(rules_of(each, of_extensions=True))}",
            f"{len(each.results)}" if each.closed else "",
        )
        for each in load_rounds()
    ]
    return markdown_table(
        ("round", "what", "versions of the suite", "closed on", "nonce", "rules", "results"), rows
    )


TABLES: dict[str, Callable[[], str]] = {
    "workloads": _workloads,
    "tunable": _tunable,
    "data-sets": _data_sets,
    "devices": _devices,
    "power": _power,
    "rounds": _rounds,
    "rules": _rules,
}


OF_TEXT: dict[str, Callable[[str], str]] = {"contents": _contents, "links": _links}
"""Places whose content follows from the rest of their text."""


def write() -> None:
    """Fill the generated places of the checkout's rulebook: `python -m
    suite.compliance.rulebook`."""
    for each in (path(), checks_path()):
        each.write_text(render(each.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
