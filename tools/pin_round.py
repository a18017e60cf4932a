"""Writes what a round pins into its file: `python -m tools.pin_round NAME [--close DATE]`.

Without ``--close``: the suite's version, the files of its implementations, every workload and its
newest reference points, for a round that is open. With it: also every rule with its severity, and
the manifests of the results in ``submissions/NAME`` and of the bundles that come with the suite,
and the files of the workloads are copied to ``rules/rounds/NAME/workloads``; from then on nothing
can be added to the round.
"""

import argparse
import json
import shutil
from dataclasses import replace
from pathlib import Path

from suite import __version__
from suite.bundle.layout import MANIFEST, RUN
from suite.bundle.reader import Bundle
from suite.catalog.frameworks import load_frameworks
from suite.catalog.reference_points import newest_points
from suite.catalog.rounds import (
    PinnedRules,
    PinnedWorkload,
    Round,
    kept_workloads,
    pin_workload,
    rounds_folder,
)
from suite.catalog.seeds import implementation_sha256
from suite.catalog.workloads import folder as workloads_folder
from suite.catalog.workloads import load_workloads
from suite.compliance.finding import Severity
from suite.compliance.registry import rules_of
from suite.files.digest import sha256
from suite.files.paths import repository_root
from suite.files.toml_file import read_toml

EXAMPLES = ("reporter/demo", "examples")
HEADER = "# Written by `python -m tools.pin_round`; what each key means: suite/catalog/rounds.py\n"


def opened(current: Round) -> Round:
    """The round with this version of the suite and its implementations among its own, and every
    workload and reference point as it is now."""
    versions, workloads = (
        tuple(dict.fromkeys((*current.suite_versions, __version__))),
        load_workloads(),
    )
    points = tuple(point.digest for workload in workloads for point in newest_points(workload.name))
    own = [
        implementation_sha256(framework)
        for framework in load_frameworks()
        if framework.serves_closed
    ]
    implementations = tuple(dict.fromkeys((*current.implementations, *own)))
    return replace(
        current,
        suite_versions=versions,
        workloads=tuple(map(pin_workload, workloads)),
        reference_points=points,
        implementations=implementations,
    )


def closed(current: Round, date: str, root: Path) -> Round:
    """The round with its rules, and the results and examples below ``root``, closed on ``date``."""
    checks = [check for rule in rules_of(current, of_extensions=True) for check in rule.checks]
    ids = {
        severity: tuple(check.id for check in checks if check.severity is severity)
        for severity in Severity
    }
    return replace(
        current,
        closed=date,
        rules=PinnedRules(*(ids[severity] for severity in Severity)),
        rules_left_out=(),
        results=_manifests(root / "submissions", current.name),
        examples=tuple(
            digest for folder in EXAMPLES for digest in _manifests(root / folder, current.name)
        ),
    )


def _manifests(folder: Path, name: str) -> tuple[str, ...]:
    """The digests of the manifests of the bundles of this round below a folder."""
    bundles = [path.parent for path in folder.rglob(RUN)]
    return tuple(
        sorted(sha256(path / MANIFEST) for path in bundles if Bundle(path).run().round == name)
    )


def keep_workloads(current: Round) -> None:
    """Copy the files of the workloads of a round that is closed: those in ``rules/workloads`` may
    change for later rounds."""
    names = [current.workload(pinned.name).name for pinned in current.workloads]  # as pinned
    kept = kept_workloads(current.name)
    kept.mkdir(parents=True)
    for name in names:
        shutil.copyfile(workloads_folder() / f"{name}.toml", kept / f"{name}.toml")


def to_toml(pinned: Round) -> str:
    """The round's file."""
    lines = [
        HEADER,
        f'name = "{pinned.name}"',
        f'title = "{pinned.title}"',
        f"suite_versions = {_strings(pinned.suite_versions)}",
    ]
    lines += [f'closed = "{pinned.closed}"'] if pinned.closed else []
    lines += [f"nonce = {json.dumps(pinned.nonce, ensure_ascii=False)}"] if pinned.nonce else []
    lines += [f"locked = {_lines(pinned.locked)}"] if pinned.locked else []
    lines += [f"nominated = {_lines(pinned.nominated)}"] if pinned.nominated else []
    lines += [f"rules_left_out = {_lines(pinned.rules_left_out)}"] if pinned.rules_left_out else []
    lines += (
        [f"reference_points = {_lines(pinned.reference_points)}"] if pinned.reference_points else []
    )
    lines += (
        [f"implementations = {_lines(pinned.implementations)}"] if pinned.implementations else []
    )
    lines += [f"results = {_lines(pinned.results)}"] if pinned.results else []
    lines += [f"examples = {_lines(pinned.examples)}"] if pinned.examples else []
    lines += [_workload(workload) for workload in pinned.workloads]
    if pinned.rules is not None:
        lines += [
            "",
            "[rules]",
            f"invalid = {_lines(pinned.rules.invalid)}",
            f"warning = {_lines(pinned.rules.warning)}",
        ]
        lines += [f"note = {_lines(pinned.rules.note)}"] if pinned.rules.note else []
    return "\n".join(lines) + "\n"


def _workload(workload: PinnedWorkload) -> str:
    target = (
        f"\ntarget_accuracy = {workload.target_accuracy}"
        if workload.target_accuracy is not None
        else ""
    )
    return (
        f'\n[[workloads]]\nname = "{workload.name}"\nepochs = {workload.epochs}\ndefinition ='
        f' "{workload.definition}"{target}'
    )


def _strings(values: tuple[str, ...]) -> str:
    return "[" + ", ".join(f'"{value}"' for value in values) + "]"


def _lines(values: tuple[str, ...]) -> str:
    return "[\n" + "".join(f'    "{value}",\n' for value in values) + "]"


def main() -> None:
    """Pin the named round."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.pin_round",
        description=__doc__.partition("\n")[0] if __doc__ else None,
    )
    parser.add_argument("name")
    parser.add_argument(
        "--close", metavar="DATE", help="the date, YYYY-MM-DD, on which the round is closed"
    )
    arguments = parser.parse_args()
    path = rounds_folder() / f"{arguments.name}.toml"
    current = read_toml(path, Round)
    if current.closed is not None:
        parser.error(f"{current.name} was closed on {current.closed}: nothing of it changes")
    if arguments.close:
        keep_workloads(current)
        pinned = closed(current, arguments.close, repository_root())
    else:
        pinned = opened(current)
    path.write_text(to_toml(pinned), encoding="utf-8")


if __name__ == "__main__":
    main()
