"""Faults that the rules of suite.compliance.rules.files find, by rule."""

from suite.bundle import layout
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
}
