"""Faults that the rules of suite.compliance.rules.files find, by check."""

from reference_impls.contract import log_name
from suite.bundle import layout
from suite.bundle.layout import node_baseloads, node_tables
from tests.faults.edits.fault import Fault, sealed, unsealed
from tests.faults.edits.file_edits import append, copy_file, nest_folders, resealed

FAULTS: dict[str, tuple[Fault, ...]] = {
    "bundle-files": (
        *(
            unsealed(f"{name} added, the manifest made to fit", resealed(append(name, b"more")))
            for name in (
                "patch.diff",
                "steps.csv",
                "log.rank1.txt",
                "readings.node1.parquet",
                "Run.json",
                "nodes.json",
            )
        ),
        unsealed(
            "a hidden folder with another log, the manifest made to fit",
            resealed(copy_file("log.txt", ".old/log.txt")),
        ),
        unsealed("an empty folder", lambda path: (path / "patches").mkdir()),
        unsealed("a hundred folders in one another", nest_folders(100)),
        unsealed("an empty withdrawal", append(layout.WITHDRAWN, b" \n")),
        sealed(
            "a file of an editor",
            lambda bundle: (bundle.path / "run.json~").write_text("{}", encoding="utf-8"),
        ),
    ),
    "ranks-files": (
        unsealed("a log of a third rank", resealed(copy_file(log_name(1), log_name(2))), ranks=2),
        unsealed(
            "readings of a third node",
            resealed(copy_file(node_tables(1)[0], node_tables(2)[0])),
            ranks=2,
        ),
        unsealed(
            "a baseload of a second node in a run of one",
            resealed(append(node_baseloads(1)[0], b"x")),
        ),
    ),
}
