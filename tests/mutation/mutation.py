"""A mutation: one fault, put into a good submission, and the rule that must find it."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from suite.compliance.editing import EditableBundle

Edit = Callable[[EditableBundle], None]


@dataclass(frozen=True)
class Mutation:
    """``change`` edits a submission's folder in place; ``rule`` is the id that must be found, None with the reason why nothing can find it.

    ``ranks`` is how many ranks the submission's runs have.
    """

    name: str
    rule: str | None
    change: Callable[[Path], None]
    reason: str = ""
    ranks: int = 1


def first_run(submission: Path) -> Path:
    """The run that is spoiled."""
    return sorted(submission.glob("*/*/run_1"))[0]


def sealed(name: str, rule: str | None, edit: Edit, reason: str = "", ranks: int = 1) -> Mutation:
    """An edit of somebody who knows the format: chain and manifest fit again, summary and counters are left as they were."""
    return Mutation(f"{name} [chain and manifest fit]", rule, lambda path: _edit(path, edit, recomputed=False), reason, ranks)


def forged(name: str, rule: str | None, edit: Edit, reason: str = "", ranks: int = 1) -> Mutation:
    """An edit of somebody who has the suite: chain, manifest and every derived figure fit again."""
    return Mutation(f"{name} [everything recomputed]", rule, lambda path: _edit(path, edit, recomputed=True), reason, ranks)


def both(name: str, rule: str, edit: Edit, ranks: int = 1) -> Iterator[Mutation]:
    """With and without recomputed figures; the rule must find it either way."""
    yield sealed(name, rule, edit, ranks=ranks)
    yield forged(name, rule, edit, ranks=ranks)


def bare(name: str, rule: str, change: Callable[[Path], None], ranks: int = 1) -> Mutation:
    """An edit of a run's files, and nothing made to fit but what ``change`` makes fit itself."""
    return Mutation(name, rule, lambda path: change(first_run(path)), ranks=ranks)


def edit(function: Callable[..., Any]) -> Callable[..., Callable[[Any], Any]]:
    """Make ``f(subject, …)`` a maker of edits: ``f(…)`` is one, for later."""
    return lambda *args, **named: lambda subject: function(subject, *args, **named)


def set_in(values: Any, path: str, change: Callable[[Any], Any]) -> None:
    """Change one value of nested objects; ``path`` is dotted."""
    *parents, last = path.split(".")
    for parent in parents:
        values = values[int(parent)] if parent.isdigit() else values[parent]
    values[last] = change(values[last])


def edit_json(path: Path, where: str, change: Callable[[Any], Any]) -> None:
    """Change one value of a JSON file."""
    values = json.loads(path.read_text(encoding="utf-8"))
    set_in(values, where, change)
    path.write_text(json.dumps(values), encoding="utf-8")


def _edit(submission: Path, change: Edit, recomputed: bool) -> None:
    bundle = EditableBundle(first_run(submission))
    change(bundle)
    bundle.save(recomputed)
