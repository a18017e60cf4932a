"""Lies about the files themselves: missing, added, cut off, exchanged, edited without sealing.

All but the ones that say so are written to disk directly and not saved by the caller
(`sealed=False`).
"""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pandas as pd

from proofs.outsider.edits import (
    Lie,
    read_json,
    rebuild,
    register,
    seal_manifest,
    walk,
    write_json,
)
from proofs.outsider.samples import sample
from reference_impls.contract import FIRST_LINK, TOKEN
from tests.faults.edits.editable_bundle import EditableBundle

LIES: list[Lie] = []
error, edited, fabricated = register(LIES, sealed=False)


def text_edit(b, name: str, old: str, new: str, count: int = -1) -> None:
    path = b.path / name
    content = path.read_text()
    assert old in content, (name, old)
    path.write_text(content.replace(old, new, count))


@edited(
    "The log's last accuracy was edited with an editor",
    "a better accuracy",
    "the line against its chain value; the log against the manifest",
)
def _(b):
    text_edit(
        b,
        "log.txt",
        '"value": 0.985, "metadata": {"epoch_num": 2, "correct": 9850',
        '"value": 0.991, "metadata": {"epoch_num": 2, "correct": 9910',
    )


@edited(
    "The log was edited with an editor and its new digest written into the manifest",
    "a better accuracy",
    "the line against its chain value; the summary against the log",
)
def _(b):
    text_edit(
        b,
        "log.txt",
        '"value": 0.985, "metadata": {"epoch_num": 2, "correct": 9850',
        '"value": 0.991, "metadata": {"epoch_num": 2, "correct": 9910',
    )
    seal_manifest(b.path)


@edited(
    "A time in the summary was lowered, and the manifest sealed again",
    "a better time",
    "summary.json against the records that it is computed from",
)
def _(b):
    content = read_json(b, "summary.json")
    content["figures"]["time_to_target_s"]["value"] *= 0.9
    write_json(b, "summary.json", content)
    seal_manifest(b.path)


@edited(
    "Every time and energy in the summary was lowered by a ten-thousandth",
    "a better time",
    "summary.json against the records that it is computed from",
)
def _(b):
    write_json(
        b,
        "summary.json",
        walk(
            read_json(b, "summary.json"),
            lambda name, x: x * 0.9999 if "_s." in name or "_j." in name else x,
        ),
    )
    seal_manifest(b.path)


@edited(
    "The disturbances were deleted from the summary",
    "no badge",
    "summary.json against the readings",
)
def _(b):
    content = read_json(b, "summary.json")
    content.pop("disturbances")
    write_json(b, "summary.json", content)
    seal_manifest(b.path)


@edited(
    "The summary is missing, and the manifest does not list it",
    "no figures to compare with",
    "files of the bundle against the format",
)
def _(b):
    (b.path / "summary.json").unlink()
    seal_manifest(b.path)


@error("The manifest is missing", "files of the bundle against the format")
def _(b):
    (b.path / "MANIFEST.sha256").unlink()


@edited("The manifest is empty", "every file can be edited", "manifest against the files")
def _(b):
    (b.path / "MANIFEST.sha256").write_text("")


@edited("One file is not in the manifest", "that file can be edited", "manifest against the files")
def _(b):
    path = b.path / "MANIFEST.sha256"
    path.write_text(
        "".join(
            line for line in path.read_text().splitlines(keepends=True) if "readings" not in line
        )
    )


@error("The manifest lists a file that is not there", "manifest against the files")
def _(b):
    (b.path / "output.txt").unlink()


@edited(
    "The manifest lists files outside of the bundle",
    "a reader's file is opened",
    "names in the manifest against the bundle's files",
)
def _(b):
    with (b.path / "MANIFEST.sha256").open("a") as file:
        file.write(hashlib.sha256(b"").hexdigest() + "  ../../empty\n")


@error("A file was added beside the sealed ones", "manifest against the files")
def _(b):
    (b.path / "notes (copy).txt").write_text("second try, better cooling\n")


@edited(
    "A file was added and the bundle sealed with it",
    "things that no check looks at",
    "files of the bundle against the format",
    sealed=True,
)
def _(b):
    (b.path / "patch.diff").write_text("- epochs: 10\n+ epochs: 4\n")


@error(
    "A hidden folder with another run lies in the bundle",
    "files of the bundle against manifest and format",
)
def _(b):
    folder = b.path / ".old"
    folder.mkdir()
    shutil.copy(b.path / "log.txt", folder / "log.txt")


@error(
    "The step table was cut off in the middle, as by a full disk",
    "steps.parquet against its own format and the manifest",
)
def _(b):
    path = b.path / "steps.parquet"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@error("The log ends in the middle of a line", "last line of the log; manifest")
def _(b):
    path = b.path / "log.txt"
    path.write_bytes(path.read_bytes()[:-100])
    seal_manifest(b.path)


@error(
    "The readings are an empty file",
    "readings.parquet against its own format and run.json's counts",
)
def _(b):
    (b.path / "readings.parquet").write_bytes(b"")
    seal_manifest(b.path)


@error("The readings lack a column", "readings.parquet against the format")
def _(b):
    pd.read_parquet(b.path / "readings.parquet").drop(columns="unit").to_parquet(
        b.path / "readings.parquet", index=False
    )
    seal_manifest(b.path)


@error(
    "The steps' numbers became text on their way through a spreadsheet",
    "columns of steps.parquet against the format",
)
def _(b):
    table = pd.read_parquet(b.path / "steps.parquet")
    table["compute_s"] = table["compute_s"].map(lambda x: f"{x:.3f}".replace(".", ","))
    table.to_parquet(b.path / "steps.parquet", index=False)
    seal_manifest(b.path)


@error(
    "The step table is the one of a real run with other settings",
    "steps against epochs and times in the log",
)
def _(b):
    shutil.copy(sample("real") / "steps.parquet", b.path / "steps.parquet")
    seal_manifest(b.path)


@error("The readings are those of a run on two nodes", "readings against the meters in run.json")
def _(b):
    shutil.copy(sample("two_ranks") / "readings.parquet", b.path / "readings.parquet")
    seal_manifest(b.path)


@error(
    "system.json is the one of another run",
    "boot and framework version in system.json against the log",
    needs="real",
)
def _(b):
    shutil.copy(sample("rich") / "system.json", b.path / "system.json")
    seal_manifest(b.path)


@error("run.json is the one of another run", "run.json against the log: settings, seed, start")
def _(b):
    shutil.copy(sample("real") / "run.json", b.path / "run.json")
    seal_manifest(b.path)


@edited(
    "The idle readings of another day's run were put in",
    "a larger share of baseload",
    "times of the idle readings against run_start",
)
def _(b):
    table = pd.read_parquet(b.path / "baseload.parquet")
    table["t_ns"] += 86_400_000_000_000
    table.to_parquet(b.path / "baseload.parquet", index=False)
    seal_manifest(b.path)


@error("The implementation's output is one of another program")
def _(b):
    (b.path / "output.txt").write_text("epoch 1: 91.2 %\nepoch 2: 91.4 %\nKilled\n")
    seal_manifest(b.path)


@error("run.json is not readable: a comma too many", "run.json against its own format")
def _(b):
    text_edit(b, "run.json", '"schema": 2,', '"schema": 2,,')
    seal_manifest(b.path)


@edited(
    "run.json has one name twice, with two values",
    "two readers see two different runs",
    "the two values of one name in run.json",
)
def _(b):
    text_edit(b, "run.json", '"seed": 1,', '"seed": 2,\n  "seed": 1,')
    seal_manifest(b.path)


@edited(
    "A line of the log has one name twice, with two values, and its chain value was made to fit",
    "two readers see two different accuracies",
    "the two values of one name in a line",
)
def _(b):
    lines, out, chain = (b.path / "log.txt").read_text().splitlines(), [], FIRST_LINK
    for line in lines:
        event = json.loads(line[len(TOKEN) :])
        event["metadata"].pop("chain")
        body = json.dumps(event)
        if event["key"] == "eval_accuracy" and event["metadata"]["epoch_num"] == 2:
            body = body.replace('"value": 0.985', '"value": 0.991, "value": 0.985')
        chain = hashlib.sha256((chain + TOKEN + body).encode()).hexdigest()
        out.append(TOKEN + body[:-2] + f', "chain": "{chain}"' + "}}")
    (b.path / "log.txt").write_text("\n".join(out) + "\n")
    seal_manifest(b.path)


@edited(
    "A broken line with the log's token hides an event",
    "an event that nobody reads",
    "a line with the token that is not valid",
)
def _(b):
    lines = (b.path / "log.txt").read_text().splitlines()
    lines.insert(40, TOKEN + '{"key": "epoch_start", "value": null')
    (b.path / "log.txt").write_text("\n".join(lines) + "\n")
    seal_manifest(b.path)


@error(
    "Line ends of the log were changed by a transfer in text mode", "log.txt against the manifest"
)
def _(b):
    path = b.path / "log.txt"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


@error(
    "The records are those of a run that still goes on: tables in text, no summary",
    "status in run.json against the files",
)
def _(b):
    for name in ("steps", "readings"):
        pd.read_parquet(b.path / f"{name}.parquet").to_csv(b.path / f"{name}.csv", index=False)
        (b.path / f"{name}.parquet").unlink()
    for name in ("summary.json", "MANIFEST.sha256"):
        (b.path / name).unlink()


@edited(
    "The step table is a link to a file elsewhere",
    "a file that can be exchanged later",
    "a link in the place of a file",
)
def _(b):
    path = b.path / "steps.parquet"
    target = b.path.parent / f"{b.path.name}-steps-elsewhere.parquet"
    shutil.move(path, target)
    path.symlink_to(target)


@edited(
    "The power rules were edited and not sealed",
    "a better class of measurement",
    "power.json against the manifest",
)
def _(b):
    text_edit(b, "power.json", '"wall meter"', '"analyser"')


@edited(
    "The counters' file is missing although counters were read",
    "no counters to compare with",
    "files of the bundle against the readings",
)
def _(b):
    (b.path / "counters.json").unlink()
    seal_manifest(b.path)


@edited(
    "The nodes' description was edited and not sealed",
    "half the energy",
    "nodes.json against the manifest",
    needs="two_ranks",
)
def _(b):
    text_edit(b, "nodes.json", '"node1"', '"node0"')


@edited(
    "The second rank's log was cut off, its manifest line made to fit",
    "an end that nobody sees",
    "rank 1's log against rank 0's chain values",
    needs="two_ranks",
)
def _(b):
    path = b.path / "log.rank1.txt"
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-3]))
    seal_manifest(b.path)


@error(
    "The nodes' readings were exchanged for those of the first node",
    "times of the readings against the node's clock offset",
    needs="two_ranks",
)
def _(b):
    shutil.copy(b.path / "readings.parquet", b.path / "readings.node1.parquet")
    seal_manifest(b.path)


@fabricated(
    "The step table has rows that no reader shows: a second table at the file's end",
    "things that no check looks at",
    "size of steps.parquet against its content",
)
def _(b):
    with (b.path / "steps.parquet").open("ab") as file:
        file.write(np.random.default_rng(1).bytes(4096))
    seal_manifest(b.path)


@edited(
    "A column of the readings is hidden behind a second one of nearly the same name",
    "two readers see two different powers",
    "columns of readings.parquet against the format",
)
def _(b):
    table = pd.read_parquet(b.path / "readings.parquet")
    table["value "] = table["value"] * 0.7
    table.to_parquet(b.path / "readings.parquet", index=False)
    seal_manifest(b.path)


@error(
    "File names differ in capital letters, so that one hides the other on some machines",
    "files of the bundle against the format",
)
def _(b):
    shutil.copy(b.path / "run.json", b.path / "Run.json")
    seal_manifest(b.path)


# The folder of a stall analysis: each gets a StallFolder; `save()` seals it again.


@edited(
    "Stalls were lowered in stalls.json, which was not sealed again",
    "a fast storage medium",
    "stalls.json against manifest and bundles",
    needs="stall_folder",
)
def _(f):
    write_stalls(f, lambda name, x: x / 2 if "stall" in name or "minus" in name else x)


@edited(
    "Stalls were lowered in stalls.json, and the folder sealed again",
    "a fast storage medium",
    "stalls.json against the bundles' figures",
    needs="stall_folder",
    sealed=True,
)
def _(f):
    write_stalls(f, lambda name, x: x / 2 if "stall" in name or "minus" in name else x)


@edited(
    "The warm bundle is a copy of the cold one",
    "no difference between cold and warm",
    "run ids and times of the two bundles",
    needs="stall_folder",
    sealed=True,
)
def _(f):
    shutil.rmtree(f.path / "warm")
    shutil.copytree(f.path / "cold", f.path / "warm")
    f.bundles["warm"] = EditableBundle(f.path / "warm")


@error(
    "The cold and the warm bundle were exchanged",
    "cache_cleared and page cache in the bundles against their names",
    needs="stall_folder",
)
def _(f):
    (f.path / "cold").rename(f.path / "other")
    (f.path / "warm").rename(f.path / "cold")
    (f.path / "other").rename(f.path / "warm")


@edited(
    "The bundle with batches made in memory is shown as a run",
    "a run without stalls",
    "batches in run.json, and the folder's name; against a result's rules",
    needs="stall_folder",
    sealed=True,
)
def _(f):
    f.bundles["synthetic"].request["batches"] = "read"


@error(
    "The three bundles of the analysis are of three different settings",
    "batch sizes of the three bundles",
    needs="stall_folder",
    sealed=True,
)
def _(f):
    rebuild(f.bundles["warm"], batch=32)


@error("The synthetic bundle is missing", "stalls.json against the folders", needs="stall_folder")
def _(f):
    shutil.rmtree(f.path / "synthetic")


def write_stalls(f, edit) -> None:
    path = f.path / "stalls.json"
    path.write_text(json.dumps(walk(json.loads(path.read_text()), edit), indent=1))
