"""Every rule, discovered in the modules of ``suite.compliance.rules`` and in extensions. A new rule
is one object in one of them, or in a new one."""

import difflib
import importlib
import pkgutil
from collections import Counter
from dataclasses import dataclass, replace
from functools import cache
from types import ModuleType

from suite.catalog.extensions import Part, modules
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
    found = [_module(name, importlib.import_module(f"{rules.__name__}.{name}")) for name in names]
    return tuple(sorted(found, key=lambda module: (module.order, module.name)))


def _module(name: str, module: ModuleType) -> RuleModule:
    title = " ".join((module.__doc__ or "").partition("\n\n")[0].split()).rstrip(".")
    return RuleModule(name, title, getattr(module, "ORDER", LAST), module.RULES)


MODULES = discover()
CORE: tuple[AnyRule, ...] = tuple(rule for module in MODULES for rule in module.rules)
"""The rules of bundles and submissions, and of folders that hold bundles."""
RULES = tuple(rule for rule in CORE if isinstance(rule, Rule) and not rule.is_precondition)
PRECONDITIONS = tuple(rule for rule in CORE if isinstance(rule, Rule) and rule.is_precondition)


@cache
def all_modules() -> tuple[RuleModule, ...]:
    """Modules of rules, those of extensions too; raises ValueError where two rules have one id."""
    found = (*MODULES, *(_module(each.name, part) for each, part in modules(Part.RULES)))
    counts = Counter(rule.id for module in found for rule in module.rules)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise ValueError(f"several rules have the id {', '.join(repeated)}")
    return found


def all_rules() -> tuple[AnyRule, ...]:
    """Every rule, those of extensions too."""
    return tuple(rule for module in all_modules() for rule in module.rules)


@cache
def rules_of(judged_by: Round, of_extensions: bool = False) -> tuple[AnyRule, ...]:
    """The rules of a round, each with its severity there, in the order in which they are checked;
    those of extensions are asked for."""
    candidates = all_rules() if of_extensions else CORE
    severities = [(rule, judged_by.severity(rule.id, rule.severity.value)) for rule in candidates]
    return tuple(
        rule if severity == rule.severity.value else replace(rule, severity=Severity(severity))
        for rule, severity in severities
        if severity
    )


def find_rule(rule_id: str) -> AnyRule:
    """The rule of this id; raises SuiteError naming the nearest one."""
    for rule in all_rules():
        if rule.id == rule_id:
            return rule
    nearest = difflib.get_close_matches(rule_id, [rule.id for rule in all_rules()], n=1)
    hint = f"did you mean {nearest[0]!r}? " if nearest else ""
    raise SuiteError(f"There is no rule {rule_id!r}; {hint}`suite list rules` shows all.")
