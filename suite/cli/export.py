"""`suite export PATH… --output FILE`."""

import json as json_format
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from suite.cli.json_output import print_json
from suite.cli.loading import expect_runs, load_runs
from suite.cli.options import Json, Runs
from suite.errors import SuiteError
from suite.files.counted import counted
from suite.files.durable import output_errors, refuse_existing
from suite.files.spreadsheet import safe_frame

if TYPE_CHECKING:
    import pandas

    from reporter.data.frames import Frames

TABLES = ("runs", "figures", "epochs", "entries")
FORMATS = (".csv", ".parquet", ".json")
EVENT_FILE = "events.out.tfevents."
CLIENT_PROFILES = "client profiles"
CLIENT = (
    *("device", "cpu_model", "gpu", "power_mode", "framework", "accelerator", "precision"),
    *("threads", "nodes", "workload", "data", "model_trained", "parameters", "batch_size"),
)
CLIENT_FIGURES = ("time_per_1000_samples_s", "energy_per_1000_samples_j", "peak_memory_bytes")
"""Properties of a client, and what a round costs it. Seconds per 1,000 samples are FedScale's
`computation`, milliseconds per sample."""


def export(
    paths: Runs,
    output: Annotated[
        Path,
        Option(
            help=(
                f"File ({', '.join(FORMATS)}), or a folder for TensorBoard's event files (a name"
                " without an ending)."
            )
        ),
    ],
    table: Annotated[
        str,
        Option(
            metavar="|".join(TABLES),
            help="runs: one row per run, with its settings and figures; figures: one row per "
            "figure of a run; epochs: one row per epoch; entries: one row per entry.",
        ),
    ] = "runs",
    client_profiles: Annotated[
        bool,
        Option(
            "--client-profiles",
            help=(
                "Write client profiles for federated-learning simulators instead: time, energy "
                "and peak memory by device, model and batch size; one row per entry."
            ),
        ),
    ] = False,
    force: Annotated[bool, Option("--force", help="Replace existing output.")] = False,
    json: Json = False,
) -> None:
    """Write the figures of runs as CSV, Parquet or JSON, or as TensorBoard's event files."""
    if table not in TABLES:
        raise SuiteError(f"--table {table!r} is unknown; choose {', '.join(TABLES)}.")
    if output.suffix not in (*FORMATS, ""):
        raise SuiteError(f"{output} must end with one of {', '.join(FORMATS)}, or have no ending.")
    if client_profiles and (table != TABLES[0] or not output.suffix):
        raise SuiteError(
            "--client-profiles writes one file; leave --table out, and give --output a name that"
            f" ends with one of {', '.join(FORMATS)}."
        )
    expect_runs(paths)
    refuse_existing(output, force)
    frames = load_runs(paths)
    table = CLIENT_PROFILES if client_profiles else table
    frame = _table(frames, table)
    with output_errors(output):
        output.parent.mkdir(parents=True, exist_ok=True)
        if output.suffix:
            _write(frame, output)
        else:
            _write_events(frames, output)
    if json:
        print_json("export", {"path": output, "table": table, "rows": len(frame)})
    else:
        rows, runs = counted(len(frame), "row"), counted(len(frames.runs), "run")
        print(f"{output} has {f'{rows} of {table}' if output.suffix else runs}")


def _table(frames: "Frames", table: str) -> "pandas.DataFrame":
    made = {"runs": _wide, CLIENT_PROFILES: _clients}
    return made[table](frames) if table in made else getattr(frames, table)


def _wide(frames: "Frames") -> "pandas.DataFrame":
    """The runs with a column for each figure; what is unknown is empty (`--table figures` has the
    reasons)."""
    wide = frames.figures.pivot(index="run_id", columns="figure", values="value")
    return frames.runs.merge(wide, how="left", left_on="run_id", right_index=True)


def _clients(frames: "Frames") -> "pandas.DataFrame":
    """The entries with the mean of each figure over their runs, and its standard deviation."""
    figures = frames.entry_figures.set_index(["figure", "entry_id"])
    found = frames.entries[[*CLIENT, "entry_id"]].set_index("entry_id")
    for name in CLIENT_FIGURES:
        if name in figures.index.get_level_values("figure"):
            own = figures.loc[name]
            found[name], found[f"{name}_spread"] = own["value"], own["spread"]
            found[f"{name}_runs"] = own["runs"]
            if name.startswith("energy"):
                found["energy_covers"], found["energy_tier"] = own["covers"], own["tier"]
    return found.reset_index(drop=True)


def _write(frame: "pandas.DataFrame", output: Path) -> None:
    if output.suffix == ".csv":
        safe_frame(frame).to_csv(output, index=False, lineterminator="\n")
    elif output.suffix == ".parquet":
        frame.to_parquet(output, index=False)
    else:
        rows = [
            {str(key): _json_value(value) for key, value in row.items()}
            for row in frame.to_dict("records")
        ]
        output.write_text(json_format.dumps(rows, indent=1) + "\n", encoding="utf-8")


def _json_value(value: Any) -> Any:
    """A value of a frame for JSON: null where it is unknown."""
    from reporter.data.frames import is_known  # start-up: pandas

    if not is_known(value):
        return None
    return value if isinstance(value, str | bool | int | float) else str(value)


def _write_events(frames: "Frames", folder: Path) -> None:
    """A folder for each run, with the scalars of its epochs, as TensorBoard reads them. Raises
    SuiteError, with nothing written, where another folder, such as the run itself, has its name."""
    for place in (folder / str(run_id) for run_id in frames.runs["run_id"]):
        if any(not file.name.startswith(EVENT_FILE) for file in place.glob("*")):
            raise SuiteError(f"{place} has other files than an export's; choose another --output.")
    from tensorboard.compat.proto.event_pb2 import Event  # an extra
    from tensorboard.compat.proto.summary_pb2 import Summary  # an extra
    from tensorboard.summary.writer.event_file_writer import EventFileWriter  # an extra

    for run in frames.runs.to_dict("records"):
        place, at_s = folder / str(run["run_id"]), run["started_time_ms"] / 1000
        shutil.rmtree(place, ignore_errors=True)  # TensorBoard would show both exports as one
        writer = EventFileWriter(str(place))
        epochs = frames.epochs[frames.epochs["run_id"] == run["run_id"]]
        for row in epochs.drop(columns="run_id").to_dict("records"):
            known = {str(name): value for name, value in row.items() if value == value}
            scalars = [
                Summary.Value(tag=name, simple_value=float(value))
                for name, value in known.items()
                if name != "epoch" and isinstance(value, int | float)
            ]
            at_s += known.get("end_to_end_s", 0.0)
            writer.add_event(
                Event(wall_time=at_s, step=int(row["epoch"]), summary=Summary(value=scalars))
            )
        writer.close()
