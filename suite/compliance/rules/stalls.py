"""Stall analyses: the three runs that one compares."""

from suite.bundle.layout import RUN
from suite.bundle.reader import Bundle
from suite.bundle.stall_folder import Source
from suite.compliance.agreement import Row, differing
from suite.compliance.folder_rule import OfFolder, RecordFolder
from suite.compliance.rule import Rule, Violation, Violations
from suite.errors import FileError
from suite.metrics.stall_analysis import STALLS

ORDER = 98  # after the rules of bundles


def _sources(folder: RecordFolder) -> Violations:
    """Check that each run has the batches and the page cache of its source, and that the three are
    three."""
    seen: dict[str, str] = {}
    for source in Source:
        name = f"{source.value}/{RUN}"
        try:
            run = Bundle(folder.path / source.value).run()
        except FileError as error:
            yield Violation(name, f"the {source.value} run", error.what)
            continue
        batches = "synthetic" if source is Source.SYNTHETIC else "read"
        why = f" in the {source.value} run"
        rows = (
            Row("batches", batches, why),
            Row("drop_cache_every_epoch", source is Source.COLD, why),
        )
        yield from differing(name, run.request.get, rows)
        if source is Source.COLD and run.request.get("cache_cleared") is False:
            expected = "an empty page cache at the start of the cold run"
            yield Violation(name, expected, "cache_cleared = False")
        if str(run.run_id) in seen:
            observed = f"the run id of the {seen[str(run.run_id)]} run"
            yield Violation(name, "a run of its own", observed)
        seen.setdefault(str(run.run_id), source.value)


RULES = (
    Rule(
        "stalls-sources",
        "The cold run drops the page cache every epoch, the warm run reads without dropping it, and"
        " the synthetic run reads nothing. They are three different runs.",
        "A stall is the difference between these three runs; between other runs the difference"
        " means nothing.",
        STALLS.again,
        (OfFolder("stalls-sources", _sources),),
    ),
)
