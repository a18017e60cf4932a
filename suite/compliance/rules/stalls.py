"""Stall analyses: the record, its seal, and the three runs that it compares."""

from collections.abc import Iterator
from pathlib import Path

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.stall_folder import Source
from suite.compliance.folder_rule import OfFolder, check_figures, check_seal
from suite.compliance.rule import Rule, Violation
from suite.errors import FileError
from suite.metrics.stall_analysis import STALLS

ORDER = 98  # after the rules of bundles


def _sources(folder: Path) -> Iterator[Violation]:
    """Check that each run has the batches and the page cache of its source, and that the three are
    three."""
    seen: dict[str, str] = {}
    for source in Source:
        name = f"{source.value}/{RUN}"
        try:
            run = Bundle(folder / source.value).run()
        except FileError as error:
            yield Violation(name, f"the {source.value} run", error.what)
            continue
        wanted = {
            "batches": "synthetic" if source is Source.SYNTHETIC else "read",
            "drop_cache_every_epoch": source is Source.COLD,
        }
        for key, value in wanted.items():
            if run.request.get(key) != value:
                yield Violation(
                    name,
                    f"{key} = {value!r} in the {source.value} run",
                    f"{run.request.get(key)!r}",
                )
        if source is Source.COLD and run.request.get("cache_cleared") is False:
            yield Violation(
                name, "an empty page cache at the start of the cold run", "cache_cleared = False"
            )
        if str(run.run_id) in seen:
            yield Violation(
                name, "a run of its own", f"the run id of the {seen[str(run.run_id)]} run"
            )
        seen.setdefault(str(run.run_id), source.value)


RULES = (
    Rule(
        "stalls-sealed",
        "The manifest of a stall analysis seals stalls.json and the manifests of the three runs.",
        "It shows changed, lost and exchanged files.",
        STALLS.again,
        (OfFolder("stalls-sealed", check_seal(STALLS)),),
    ),
    Rule(
        "stalls-recompute",
        "stalls.json equals the analysis of the three runs beside it, which have the same"
        " settings.",
        "Every number can be followed to its raw records.",
        STALLS.again,
        (OfFolder("stalls-recompute", check_figures(STALLS)),),
    ),
    Rule(
        "stalls-sources",
        "The cold run drops the page cache every epoch, the warm one reads without dropping it,"
        " the synthetic one reads nothing.",
        "The differences between the three mean nothing for other runs.",
        STALLS.again,
        (OfFolder("stalls-sources", _sources),),
    ),
)
