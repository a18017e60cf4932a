"""Rounds, each defined in ``rules/rounds/*.toml``: what results of one round have in common, so
that they can be compared.

A round pins the versions of the suite, and each workload with its target. A closed round also pins
its rules, lists its results and keeps its workloads' files (``rules/rounds/NAME/workloads``):
nothing can be added to it, and later rules and definitions do not apply to it. An open round has
every rule that the suite has.
"""

import re
from collections.abc import Collection
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from pathlib import Path

from suite.catalog import workloads
from suite.catalog.definitions import load_all, load_one, unknown_name
from suite.catalog.workloads import Workload
from suite.errors import SuiteError
from suite.files.canonical import canonical_json, sha256_of_text
from suite.files.paths import rules_folder

PINNED = (
    "model",
    "parameters",
    "data",
    "initial_weights",
    "epochs",
    "eval_every_epochs",
    "target_accuracy",
    "optimizer",
    "preprocessing",
    "tunable",
)
"""Fields of a workload that decide what is trained, for how long, and what may be tuned."""

PINNED_IF_SET = ("start", "trains")
"""Fields of an adaptation, which other workloads do not have."""


@dataclass(frozen=True)
class PinnedWorkload:
    """A workload of a round; ``definition`` is the SHA-256 of its pinned fields,
    ``target_accuracy`` None where none is established."""

    name: str
    epochs: int
    definition: str
    target_accuracy: float | None = None


@dataclass(frozen=True)
class PinnedRules:
    """The ids of the checks of a closed round's rules, by severity: a check keeps its id, whichever
    rule it belongs to later."""

    invalid: tuple[str, ...]
    warning: tuple[str, ...]
    note: tuple[str, ...] = ()


@dataclass(frozen=True)
class Round:
    """One round. ``closed`` is the date on which it was closed, None while results can be
    submitted.

    ``rules`` are None in an open round, which has every rule but the rules and checks in
    ``rules_left_out``.
    ``results`` are those of a closed round: the SHA-256 of each bundle's manifest; ``examples`` are
    those of bundles that come with the suite and are no results: the demo's, and those that figures
    are drawn from.
    ``reference_points`` are the digests of the points that entries are scored with
    (suite.catalog.reference_points). ``nonce`` is the text that the seeds of closed entries follow
    from (suite.catalog.seeds), None until it is drawn; ``locked`` are the digests of the entries
    that were handed in before, ``nominated`` those of them that their submitters chose to stand for
    a device. ``implementations`` are the digests of the files of the suite's own
    implementations (suite.catalog.seeds) in versions with which results were made, beside those of
    the checkout that judges.
    """

    name: str
    title: str
    suite_versions: tuple[str, ...]
    workloads: tuple[PinnedWorkload, ...]
    closed: str | None = None
    rules: PinnedRules | None = None
    rules_left_out: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    nonce: str | None = None
    locked: tuple[str, ...] = ()
    nominated: tuple[str, ...] = ()
    reference_points: tuple[str, ...] = ()
    implementations: tuple[str, ...] = ()

    def severity(self, check: Collection[str], default: str) -> str | None:
        """The severity of the check with these ids; None if it does not apply. ``default`` is its
        severity in an open round."""
        if self.rules is None:
            return default if set(check).isdisjoint(self.rules_left_out) else None
        pinned = {
            "invalid": self.rules.invalid,
            "warning": self.rules.warning,
            "note": self.rules.note,
        }
        return next((severity for severity, ids in pinned.items() if set(check) & set(ids)), None)

    def nominates(self, entry_sha256: str) -> bool:
        """Whether the entry of this digest was nominated before the round had a nonce."""
        return entry_sha256 in self.nominated and entry_sha256 in self.locked

    def applies(self, check: str) -> bool:
        """Whether the check of this id applies."""
        return self.severity((check,), "invalid") is not None

    @property
    def is_before_v03(self) -> bool:
        """Whether bounds of v0.1 and v0.2 apply that v0.3 changed; closing a round changes none."""
        return _number(self.name) < _number("v0.3")

    def pinned(self, workload: str) -> PinnedWorkload | None:
        """What the round pins of a workload; None if the workload is not one of its workloads."""
        return next((pinned for pinned in self.workloads if pinned.name == workload), None)

    def workload(self, name: str) -> Workload:
        """The definition of a workload in this round; raises SuiteError where it is no longer the
        one that was pinned."""
        definitions = workloads.folder() if self.closed is None else kept_workloads(self.name)
        workload, pinned = load_one(definitions, Workload, "workload", name), self.pinned(name)
        if pinned is not None and pinned != pin_workload(workload):
            raise SuiteError(
                f"{definitions / name}.toml differs from the workload that"
                f" rules/rounds/{self.name}.toml pins; add a changed workload to a new round, or"
                " pin an open round again with `python -m tools.pin_round`."
            )
        return workload


@lru_cache(maxsize=64)
def pin_workload(workload: Workload) -> PinnedWorkload:
    """What a round pins of a workload."""
    values = asdict(workload)
    adapted = (name for name in PINNED_IF_SET if values[name] is not None)
    pinned = {name: values[name] for name in (*PINNED, *adapted)}
    if workload.preprocessing.side is None:  # earlier rounds pin preprocessing without such a key
        del pinned["preprocessing"]["side"]
    return PinnedWorkload(
        workload.name,
        workload.epochs,
        sha256_of_text(canonical_json(pinned)),
        workload.target_accuracy,
    )


def rounds_folder(root: Path | None = None) -> Path:
    """The folder of the definitions."""
    return rules_folder(root) / "rounds"


def kept_workloads(name: str) -> Path:
    """The folder of a closed round's workloads, as they were when it was closed."""
    return rounds_folder() / name / "workloads"


@cache
def load_rounds(root: Path | None = None) -> tuple[Round, ...]:
    """All rounds, the earliest first."""
    return tuple(
        sorted(
            load_all(rounds_folder(root), Round),
            key=lambda each: _number(each.name),
        )
    )


def _number(name: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", name)]


def load_round(name: str) -> Round:
    """The round of this name; raises SuiteError with the nearest name if there is none."""
    found = _round_named(name)
    if found is None:
        raise SuiteError(
            unknown_name(
                "round", name, [each.name for each in load_rounds()], "`suite list rounds`"
            )
        )
    return found


def judging_round(name: str | None) -> Round:
    """The round of this name, whose rules judge what names it; the current one where there is no
    such round."""
    return _round_named(name) or current_round()


def _round_named(name: str | None) -> Round | None:
    return next((each for each in load_rounds() if each.name == name), None)


def current_round() -> Round:
    """The round that runs are made for: the last one, which is open."""
    return load_rounds()[-1]
