"""Every rule, discovered in the modules of ``suite.compliance.rules`` and in extensions. A new rule
is one object in one of them, or in a new one."""

import importlib
import pkgutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType
from typing import Any, TypeVar

from suite.catalog.divisions import Division
from suite.catalog.extensions import ExtensionPart, extensions
from suite.catalog.rounds import Round
from suite.compliance import rules
from suite.compliance.finding import Severity
from suite.compliance.rule import Check, Rule
from suite.errors import SuiteError
from suite.files.names import nearest

Kind = TypeVar("Kind", bound=Check[Any])

LAST = 1000
"""``ORDER`` of a module that sets none."""


@dataclass(frozen=True)
class RuleModule:
    """One module of rules: its name, the first paragraph of its docstring, and its rules."""

    name: str
    title: str
    order: int
    rules: tuple[Rule, ...]


def discover_rule_modules() -> tuple[RuleModule, ...]:
    """Every module of rules, in the order in which they are checked, modules of equal order by
    name."""
    names = [found.name for found in pkgutil.iter_modules(rules.__path__)]
    found = [_module(name, importlib.import_module(f"{rules.__name__}.{name}")) for name in names]
    return tuple(sorted(found, key=lambda module: (module.order, module.name)))


def _module(name: str, module: ModuleType) -> RuleModule:
    title = " ".join((module.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
    return RuleModule(name, title, getattr(module, "ORDER", LAST), module.RULES)


MODULES = discover_rule_modules()
CORE = tuple(rule for module in MODULES for rule in module.rules)
"""The rules of bundles and submissions, and of folders that hold bundles."""


@cache
def all_modules() -> tuple[RuleModule, ...]:
    """Modules of rules, those of extensions too; raises ValueError where two have one id."""
    found = (
        *MODULES,
        *(
            _module(each.name, part)
            for each in extensions()
            if (part := each.part(ExtensionPart.RULES)) is not None
        ),
    )
    counts = Counter(
        each for module in found for rule in module.rules for each in (rule.id, *rule.formerly)
    )
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"several rules or checks have the id {', '.join(repeated)}")
    return found


def all_rules() -> tuple[Rule, ...]:
    """Every rule, those of extensions too."""
    return tuple(rule for module in all_modules() for rule in module.rules)


def all_checks() -> tuple[tuple[Rule, Check[Any]], ...]:
    """Every check with its rule, those of extensions too."""
    return tuple((rule, check) for rule in all_rules() for check in rule.checks)


@cache
def rules_of(judged_by: Round, of_extensions: bool = False) -> tuple[Rule, ...]:
    """The rules of a round, each with the checks that apply in it, in the order in which they are
    checked; those of extensions are asked for. Raises SuiteError for a rule that the round leaves
    out and that does not exist."""
    for name in set(judged_by.rules_left_out) - _rules_by_id(CORE).keys():
        find_rule(name)
    candidates = all_rules() if of_extensions else CORE
    found = (rule_in_round(rule, judged_by) for rule in candidates)
    return tuple(rule for rule in found if rule is not None)


def rule_in_round(rule: Rule, judged_by: Round) -> Rule | None:
    """The rule as a round applies it, its checks with their severities there; None if the round
    applies none of them."""
    if rule.id in judged_by.rules_left_out:
        return None
    severities = [
        (check, judged_by.severity(check.ids, check.severity.value)) for check in rule.checks
    ]
    checks = tuple(
        replace(check, severity=Severity(severity)) for check, severity in severities if severity
    )
    return replace(rule, checks=checks) if checks else None


@cache
def checks_of(
    judged_by: Round, kind: type[Kind], division: str | None = None
) -> tuple[tuple[Rule, Kind], ...]:
    """The checks of a kind that a round applies (in one division), each with its rule."""
    wanted = None if division is None else Division(division)
    return tuple(
        (rule, check)
        for rule in rules_of(judged_by)
        for check in rule.checks
        if isinstance(check, kind) and (wanted is None or wanted in check.divisions)
    )


def _rules_by_id(found: Iterable[Rule]) -> dict[str, Rule]:
    """Rules by their ids and by those of their checks."""
    return {each: rule for rule in found for each in (rule.id, *rule.formerly)}


def find_rule(name: str) -> Rule:
    """The rule of this id, or the one with the check of this id; raises SuiteError naming the
    nearest one."""
    known = _rules_by_id(all_rules())
    if name in known:
        return known[name]
    hint = nearest(name, known)
    raise SuiteError(f"There is no rule {name!r}; {hint}`suite list rules` shows all.")
