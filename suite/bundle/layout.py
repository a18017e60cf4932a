"""The run directory's file names, its schema and the limits within which a stranger's files are read."""

SCHEMA = 1


RUN, SYSTEM, SUMMARY, MANIFEST, OUTPUT = "run.json", "system.json", "summary.json", "MANIFEST.sha256", "output.txt"


COUNTERS, BASELOAD = "counters.json", "baseload.parquet"


STEPS, READINGS, READINGS_RAW, BASELOAD_RAW = "steps.parquet", "readings.parquet", "readings.csv", "baseload.csv"


MAX_TABLE_BYTES = 2**30


MAX_MANIFEST_BYTES = 4 * 2**20


def node_tables(place: int) -> tuple[str, str]:
    """Names of a node's readings: the table, and the plain file while the run goes on."""
    return f"readings.node{place}.parquet", f"readings.node{place}.csv"


def node_baseloads(place: int) -> tuple[str, str]:
    """Names of what was read on a node before the run, likewise."""
    return f"baseload.node{place}.parquet", f"baseload.node{place}.csv"
