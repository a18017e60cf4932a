"""A fault: one change of a good bundle or submission that a rule must find."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from tests.faults.edits.editable_bundle import EditableBundle

Edit = Callable[[EditableBundle], object]
Target = TypeVar("Target")
Options = ParamSpec("Options")


@dataclass(frozen=True)
class Scope:
    """What a fault changes: the folder of one bundle, of a submission with three runs, or of
    another record.

    ``make`` writes a good folder of another record, which holds ``bundles`` runs.
    """

    name: str
    make: Callable[[Path], Path] | None = None
    bundles: int = 0


BUNDLE, SUBMISSION = Scope("bundle"), Scope("submission")


@dataclass(frozen=True)
class Fault:
    """The rejecting fixture of a rule; the unchanged bundle or submission is the accepting one.

    ``change`` edits the folder in place. ``ranks`` is the number of ranks of the good runs, each
    rank on a node of its own.
    """

    name: str
    change: Callable[[Path], object]
    scope: Scope = BUNDLE
    ranks: int = 1


def unsealed(name: str, change: Callable[[Path], object], ranks: int = 1) -> Fault:
    """A change of a bundle's files; nothing is made to fit except what ``change`` makes fit."""
    return Fault(name, change, ranks=ranks)


def sealed(name: str, edit: Edit, ranks: int = 1) -> Fault:
    """An edit by somebody who knows the format: chain and manifest are rewritten, summary and
    counters are left unchanged."""
    return Fault(f"{name} [chain and manifest fit]", save_after(edit), ranks=ranks)


def recomputed(name: str, edit: Edit, ranks: int = 1) -> Fault:
    """An edit by somebody who has the suite: chain, manifest and every derived figure are
    recomputed."""
    return Fault(f"{name} [everything recomputed]", save_after(edit, recompute=True), ranks=ranks)


def both(name: str, edit: Edit, ranks: int = 1) -> tuple[Fault, Fault]:
    """The same edit twice, sealed and recomputed: the rule must find it either way."""
    return sealed(name, edit, ranks), recomputed(name, edit, ranks)


def of_submission(name: str, change: Callable[[Path], object], ranks: int = 1) -> Fault:
    """A change of a submission's folder."""
    return Fault(name, change, SUBMISSION, ranks)


def of_first_run(fault: Fault) -> Fault:
    """The fault in the first run of a submission: for faults that need the other runs."""
    return Fault(
        fault.name,
        lambda submission: fault.change(first_run(submission)),
        SUBMISSION,
        fault.ranks,
    )


def of_every_run(fault: Fault) -> Fault:
    """The fault in every run of a submission."""

    def change(submission: Path) -> None:
        for run in sorted(submission.glob("*/*/run_*")):
            fault.change(run)

    return Fault(fault.name, change, SUBMISSION, fault.ranks)


def first_run(submission: Path) -> Path:
    """The first run of a submission; faults of bundles are tried in it."""
    return sorted(submission.glob("*/*/run_1"))[0]


def save_after(edit: Edit, recompute: bool = False) -> Callable[[Path], None]:
    """The edit as a change of a bundle's folder, chain and manifest rewritten; with ``recompute``,
    summary and counters too."""

    def change(run: Path) -> None:
        bundle = EditableBundle(run)
        edit(bundle)
        bundle.save(recompute)

    return change


def in_turn(*edits: Edit) -> Edit:
    """Several edits of one bundle as one."""

    def apply(bundle: EditableBundle) -> None:
        for one in edits:
            one(bundle)

    return apply


def edit(
    function: Callable[Concatenate[Target, Options], object],
) -> Callable[Options, Callable[[Target], None]]:
    """Turn ``f(target, options)`` into ``f(options)``, which returns the edit of a target: a fault
    holds the edit and applies it later."""

    @functools.wraps(function)
    def bind(*args: Options.args, **kwargs: Options.kwargs) -> Callable[[Target], None]:
        def apply(target: Target) -> None:
            function(target, *args, **kwargs)

        return apply

    return bind
