"""What `suite power attach` adds to a bundle: the names of its file, its source and its
channels."""

SOURCE = "attached"
CLOCK_ERROR = "clock_error"
"""Channel (s): 95 % bound of the error of the fitted clock, read at both ends of the run."""
MEAN = "mean"
"""Channel (s), read at both ends of the run: each reading is the mean power of such a time, so that
none is missed between readings. Only where that is so."""
KEPT = "trace.csv.gz"
"""The logger's file, or its readings averaged where it is too large."""
BEFORE = "before_attach"
"""Folder of the files that attaching changes, as the run left them: a witness stamped these."""
CHANGED = {
    "run.json": "record.json",
    "readings.parquet": "readings.parquet",
    "power.json": "power.json",
    "summary.json": "summary.json",
}
"""These files, and their names in the folder: a folder with a run.json would be a bundle."""
