"""Stall analyses: the record, its seal, and the three runs that it compares."""

from collections.abc import Iterator
from pathlib import Path

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.stall_folder import RECORD, Source, sealed_files
from suite.compliance.folder_rule import FolderRule, check_seal, compare_record
from suite.compliance.rule import Violation
from suite.errors import FileError, SuiteError
from suite.files.json_file import read_json

ORDER = 98  # after the rules of bundles

ANALYSE_AGAIN = (
    "run the analysis again (`suite run --stall-analysis`); its records are never edited"
)


def _sealed(folder: Path) -> Iterator[Violation]:
    """Check the manifest: the record and the manifests of the three runs, each with its SHA-256."""
    yield from check_seal(
        folder, sealed_files(folder), f"{RECORD} and of the three runs' manifests", ANALYSE_AGAIN
    )


def _recomputed(folder: Path) -> Iterator[Violation]:
    """Analyse the three runs again and compare the result with the record, to 1e-9 relative."""
    from suite.metrics.stall_analysis import analyse  # start-up: loads numpy

    try:
        written = read_json(folder / RECORD)
        computed = analyse(folder).to_dict()
    except (SuiteError, KeyError, TypeError, ValueError, AttributeError) as error:
        observed = (
            str(error)
            if isinstance(error, SuiteError)
            else f"records that cannot be compared ({type(error).__name__}: {error})"
        )
        yield Violation(
            RECORD,
            "three runs that can be compared",
            observed.replace(f"{folder}/", ""),
            ANALYSE_AGAIN,
        )
        return
    yield from compare_record(RECORD, computed, written, "the three runs", ANALYSE_AGAIN)


def _sources(folder: Path) -> Iterator[Violation]:
    """Check that each run has the batches and the page cache of its source, and that the three are
    three."""
    seen: dict[str, str] = {}
    for source in Source:
        name = f"{source.value}/{RUN}"
        try:
            run = Bundle(folder / source.value).run()
        except FileError as error:
            yield Violation(name, f"the {source.value} run", error.what, ANALYSE_AGAIN)
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
                    f"{run.request.get(key)!r}"[:100],
                    ANALYSE_AGAIN,
                )
        if source is Source.COLD and run.request.get("cache_cleared") is False:
            yield Violation(
                name,
                "an empty page cache at the start of the cold run",
                "cache_cleared = False",
                ANALYSE_AGAIN,
            )
        if str(run.run_id) in seen:
            yield Violation(
                name,
                "a run of its own",
                f"the run id of the {seen[str(run.run_id)]} run",
                ANALYSE_AGAIN,
            )
        seen.setdefault(str(run.run_id), source.value)


RULES = (
    FolderRule(
        id="stalls-sealed",
        sentence=(
            "The manifest of a stall analysis seals stalls.json and the manifests of the three"
            " runs."
        ),
        rationale="It shows changed, lost and exchanged files.",
        check=_sealed,
    ),
    FolderRule(
        id="stalls-recompute",
        sentence=(
            "stalls.json equals the analysis of the three runs beside it, which have the same"
            " settings."
        ),
        rationale="Every number can be followed to its raw records.",
        check=_recomputed,
    ),
    FolderRule(
        id="stalls-sources",
        sentence=(
            "The cold run drops the page cache every epoch, the warm one reads without dropping it,"
            " the synthetic one reads nothing."
        ),
        rationale="The differences between the three mean nothing for other runs.",
        check=_sources,
    ),
)
