"""Every rule, discovered in the modules of ``suite.compliance.rules``. A new rule is one object in
one of them, or in a new one."""

import difflib
import importlib
import pkgutil
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache

from suite.catalog.rounds import Round
from suite.compliance import rules
from suite.compliance.finding import Severity
from suite.compliance.folder_rule import FolderRule
from suite.compliance.rule import Rule
from suite.compliance.submission_rule import SubmissionRule
from suite.errors import SuiteError

AnyRule = Rule | SubmissionRule | FolderRule
LAST = 1000
"""``ORDER`` of a module that sets none."""


@dataclass(frozen=True)
class RuleModule:
    """One module of rules: its name, the first paragraph of its docstring, and its rules."""

    name: str
    title: str
    order: int
    rules: tuple[AnyRule, ...]


def discover() -> tuple[RuleModule, ...]:
    """Every module of rules, in the order in which they are checked, modules of equal order by
    name."""
    names = [found.name for found in pkgutil.iter_modules(rules.__path__)]
    modules = [(name, importlib.import_module(f"{rules.__name__}.{name}")) for name in names]
    titles = [
        " ".join((module.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
        for _, module in modules
    ]
    found = [
        RuleModule(name, title, getattr(module, "ORDER", LAST), module.RULES)
        for (name, module), title in zip(modules, titles, strict=True)
    ]
    return tuple(sorted(found, key=lambda module: (module.order, module.name)))


MODULES = discover()
ALL: tuple[AnyRule, ...] = tuple(rule for module in MODULES for rule in module.rules)
if repeated := [name for name, count in Counter(rule.id for rule in ALL).items() if count > 1]:
    raise ValueError(f"several rules have the id {', '.join(repeated)}")
RULES = tuple(rule for rule in ALL if isinstance(rule, Rule) and not rule.is_precondition)
PRECONDITIONS = tuple(rule for rule in ALL if isinstance(rule, Rule) and rule.is_precondition)
FOLDER_RULES = tuple(rule for rule in ALL if isinstance(rule, FolderRule))


@cache
def rules_of(judged_by: Round) -> tuple[AnyRule, ...]:
    """The rules of a round, each with its severity there, in the order in which they are
    checked."""
    severities = [(rule, judged_by.severity(rule.id, rule.severity.value)) for rule in ALL]
    return tuple(
        rule if severity == rule.severity.value else replace(rule, severity=Severity(severity))
        for rule, severity in severities
        if severity
    )


def find_rule(rule_id: str) -> AnyRule:
    """The rule of this id; raises SuiteError naming the nearest one."""
    for rule in ALL:
        if rule.id == rule_id:
            return rule
    nearest = difflib.get_close_matches(rule_id, [rule.id for rule in ALL], n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    raise SuiteError(f"There is no rule {rule_id!r}; {hint}`suite list rules` shows all.")
