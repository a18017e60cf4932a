"""Honest treatments of the reference submission of round v0.2, none to be refused: `python -m
proofs.outsider.third_list.honest`."""

import json
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as parquet

from proofs.outsider.third_list.forged_copy import ForgedCopy
from proofs.outsider.third_list.judged import judged
from proofs.outsider.third_list.trial import REFERENCE, of_framework
from suite.bundle.manifest import seal
from tests.open_round import OPEN
from tests.relabelled import relabelled


def one_entry_alone(submission: Path) -> Path:
    """Only the entry of PyTorch is submitted, with its verdict and its audits."""
    for framework in ("chainer", "tensorflow"):
        shutil.rmtree(submission / "lenet" / framework)
        (submission / "probes" / f"lenet-{framework}.json").unlink()
        for audit in (submission / "audits").glob(f"lenet-{framework}-*"):
            audit.unlink()
    file = submission / "declaration.json"
    declared = json.loads(file.read_text("utf-8"))
    declared["entries"] = [
        entry for entry in declared["entries"] if entry["framework"] == "pytorch"
    ]
    file.write_text(json.dumps(declared, indent=1), "utf-8")
    return submission


def a_run_in_a_folder_of_another_script(submission: Path) -> Path:
    """One run, taken out, in a folder whose name has blanks, umlauts and an emoji."""
    target = submission.parent / "Läufe am Abend 🌙" / "прогон 1"
    target.parent.mkdir()
    return Path(shutil.move(of_framework(submission, "chainer"), target))


def an_archive(submission: Path) -> Path:
    """One run as a plain tar."""
    archive = submission.parent / "run.tar"
    run = of_framework(submission, "tensorflow")
    with tarfile.open(archive, "w") as packed:
        packed.add(run, arcname="run_1")
    return archive


def tables_of_another_writer(submission: Path) -> Path:
    """Tables with another compression and small row groups, sealed again."""
    run = of_framework(submission, "pytorch")
    for name in ("steps.parquet", "readings.parquet"):
        table = parquet.read_table(run / name)
        parquet.write_table(table, run / name, compression="gzip", row_group_size=1000)
    seal(run)
    return run


def a_clock_that_was_set(submission: Path) -> Path:
    """NTP set the wall clock three seconds forward in the third epoch; the wall-clock meter saw
    it."""
    copy = ForgedCopy(of_framework(submission, "chainer"))
    step_ns = (
        next(event for event in copy.all("epoch_start") if event["metadata"]["epoch_num"] == 3)[
            "metadata"
        ]["mono_ns"]
        + 10**9
    )
    for event in copy.events:
        if event["metadata"]["mono_ns"] > step_ns:
            event["time_ms"] += 3000
    copy.readings.loc[copy.at("wall-clock") & (copy.readings["t_ns"] > step_ns), "value"] += 3.0
    copy.save()
    return copy.path


TREATMENTS: tuple[Callable[[Path], Path], ...] = (
    one_entry_alone,
    a_run_in_a_folder_of_another_script,
    an_archive,
    tables_of_another_writer,
    a_clock_that_was_set,
)


def main() -> int:
    """Try all of them, one line each."""
    for treat in TREATMENTS:
        with tempfile.TemporaryDirectory() as folder:
            submission = relabelled(REFERENCE, Path(folder) / OPEN / "reference")
            result = judged(treat(submission))
        print(
            f"{result['outcome']:22}{treat.__name__:40}{' '.join(result.get('invalid', []))}{result.get('error', '')}",  # noqa: E501
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
