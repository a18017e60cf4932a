"""Files of a bundle: those of the format, and no others."""

import re
from itertools import chain
from pathlib import PurePath

from reference_impls.contract import log_name
from suite.bundle import layout
from suite.bundle.attached import BEFORE, CHANGED, KEPT
from suite.bundle.data_record import DATA
from suite.bundle.node_records import NODES
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.files.counted import counted
from suite.files.tree import paths_below

ORDER = 12  # after the manifest

ALONE = (
    layout.RUN,
    layout.SYSTEM,
    layout.SUMMARY,
    layout.MANIFEST,
    layout.OUTPUT,
    layout.COUNTERS,
    layout.POWER,
    layout.BASELOAD,
    layout.STEPS,
    layout.READINGS,
    DATA,
    layout.WITNESS,
    log_name(0),
)
"""Files of a run of one rank on one node."""
WITHDRAW = f"write the reason into {layout.WITHDRAWN} as text, or remove this file"
_OF_PLACE = re.compile(r"(?:log\.rank|readings\.node|baseload\.node)(\d{1,9})\.\w+")


def _check_file_names(context: BundleContext) -> Violations:
    """Check every file's name; whether a file that belongs there is missing, other rules check."""
    path, parallel = context.bundle.path, context.request.parallel
    nodes = parallel.nodes if isinstance(parallel.nodes, int) else 1
    of_ranks = (log_name(rank) for rank in range(1, parallel.ranks))
    of_nodes = (
        name
        for place in range(1, min(nodes, parallel.ranks))
        for name in (layout.node_tables(place)[0], layout.node_baseloads(place)[0])
    )
    run = context.run
    changed = [f"{BEFORE}/{name}" for name in CHANGED.values() if run.is_changed]
    attached = (*changed, *((KEPT,) if run.attached is not None else ()))
    known = set(
        chain(
            ALONE,
            attached,
            of_ranks,
            of_nodes,
            (NODES,) if nodes > 1 else (),
            (layout.HOSTS,) if parallel.ranks > 1 else (),
        )
    )
    known |= {parent.as_posix() for name in known for parent in PurePath(name).parents}
    for file in paths_below(path):
        name = file.relative_to(path).as_posix()
        if name not in known and not (name == layout.WITHDRAWN and layout.is_withdrawal(file)):
            yield Violation(
                name,
                "only files that the suite writes for this run",
                _observed(name, known, context),
                fix=WITHDRAW if name == layout.WITHDRAWN else None,
            )


def _observed(name: str, known: set[str], context: BundleContext) -> str:
    twin = next((other for other in known if other.casefold() == name.casefold()), None)
    if twin is not None:
        return f"a file that differs from {twin} in capital letters only"
    if name == layout.WITHDRAWN:
        return "a withdrawal without a reason: the file is empty, too large or not a text file"
    if name.startswith("log.rank"):
        return (
            "a log of a rank that does not exist: the run has"
            f" {counted(context.request.parallel.ranks, 'rank')}, numbered from 0"
        )
    return (
        f"a {'folder' if (context.bundle.path / name).is_dir() else 'file'} that does not belong"
        " in a bundle"
    )


def _requested(context: BundleContext) -> Violations:
    """Check that no file is of a rank or a node that was not requested."""
    parallel = context.request.parallel
    for name in sorted(path.name for path in context.bundle.path.iterdir()):
        found = _OF_PLACE.fullmatch(name)
        if found is None:
            continue
        what, count = (
            ("rank", parallel.ranks) if name.startswith("log.") else ("node", parallel.nodes)
        )
        if not 1 <= int(found[1]) < count:
            asked = f"{count} {what}{'s' * (count > 1)}"
            yield Violation(
                name,
                f"only files of the {asked} requested, numbered from 0",
                f"a file of {what} {found[1]}",
            )


RULES = (
    Rule(
        "bundle-files",
        "A bundle contains only files that the suite writes for the requested ranks and nodes."
        " The submitter may add a file WITHDRAWN with a reason.",
        "A file that no check reads is not evidence. On file systems that ignore capital letters,"
        " files whose names differ only in these letters overwrite one another. The log of a rank"
        " shows that the rank worked.",
        "remove the file, and say in the notes of the submission what it was for",
        (OfBundle("bundle-files", _check_file_names), OfBundle("ranks-files", _requested)),
    ),
)
