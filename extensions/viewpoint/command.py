"""`suite viewpoint`: a teacher labels what a camera sees from the side, and a smaller student
learns it while the machine is idle."""

import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from suite.cli.json_output import JsonFormat, print_json
from suite.cli.options import Json, with_options
from suite.errors import SuiteError
from suite.extensions.viewpoint.measuring.learning import teach_and_learn
from suite.extensions.viewpoint.measuring.options import Options
from suite.extensions.viewpoint.record.results import Results, as_dict
from suite.launch.child_environment import refuse_threads, usable_cores
from suite.memory.sizes import parse_size
from suite.metrics.proportion import Proportion

FORMAT = JsonFormat(
    "viewpoint",
    "suite viewpoint",
    {
        "folder": "folder of the records",
        "schema": "version of the record viewpoint.json, which has all these keys except `folder`",
        "setting": "teacher, student, tracks, storage, idle machine and energy",
        "teacher_parameters": "number",
        "student_parameters": "number",
        "labels": (
            "tracks, sure (tracks that the teacher was sure of), kept (tracks that were kept),"
            " frames, size_bytes, noise (share of wrong labels, with an interval)"
        ),
        "views": (
            "list: view_deg, and the accuracy of teacher, student before training and student"
            " after training"
        ),
        "training": "steps, samples, time_s, cpu_s",
    },
)

RUNS = Path("runs")


@dataclass(frozen=True, kw_only=True)
class ViewpointOptions:
    """The options of the command."""

    student: Annotated[
        str, typer.Option(help="Model that learns; it must have fewer parameters than the teacher.")
    ] = "lenet5_half"
    framework: Annotated[
        str | None,
        typer.Option(
            help="Framework of teacher and student (default: the one that trained the teacher)."
        ),
    ] = None
    tracks: Annotated[
        int,
        typer.Option(
            help="Number of subjects that pass the camera; each is a picture of the evaluation set."
        ),
    ] = 1000
    frames: Annotated[
        int, typer.Option(help="Frames per track, from a skewed view to a nearly frontal one.")
    ] = 12
    sure: Annotated[
        float,
        typer.Option(
            help=(
                "The teacher labels a track if, in the last frame, the probability of the class"
                " that it predicts is at least this."
            )
        ),
    ] = 0.95
    storage: Annotated[
        str,
        typer.Option(
            help="Storage for all kept frames, such as 10GB; tracks that do not fit are not kept."
        ),
    ] = "64MB"
    views: Annotated[
        str, typer.Option(help="Angles at which accuracies are measured, degrees.")
    ] = "0,30,60"
    epochs: Annotated[int, typer.Option(min=1, help="Epochs of the student.")] = 5
    seed: Annotated[
        int,
        typer.Option(
            min=0,
            max=2**32 - 1,
            help="Seed of tracks, tested pictures, student's weights and order of frames.",
        ),
    ] = 1
    threads: Annotated[
        int | None,
        typer.Option(help="Threads of teacher and student (default: one per usable core)."),
    ] = None
    output: Annotated[
        Path | None,
        typer.Option(help="Folder of the records (default: in runs/, named after the time)."),
    ] = None
    json: Json = False


@with_options
def viewpoint(
    run: Annotated[Path, typer.Argument(help="The teacher: a bundle of a run with --keep-states.")],
    options: ViewpointOptions,
) -> None:
    """Train a student on frames from the side, with labels from a teacher that was trained on
    frontal pictures."""
    threads = usable_cores() if options.threads is None else options.threads
    refuse_threads(threads)
    chosen = Options(
        run=run,
        output=options.output or RUNS / time.strftime("viewpoint-%Y%m%dT%H%M%S"),
        student=options.student,
        framework=options.framework,
        tracks=options.tracks,
        frames=options.frames,
        sure=options.sure,
        storage_bytes=parse_size(options.storage),
        views_deg=_views(options.views),
        epochs=options.epochs,
        seed=options.seed,
        threads=threads,
    )
    found = teach_and_learn(chosen, lambda line: None if options.json else typer.echo(line))
    if options.json:
        print_json(FORMAT, {**as_dict(found), "folder": os.fspath(chosen.output)})
    else:
        print("\n".join([*_lines(found), f"records: {chosen.output}"]))


def _views(text: str) -> tuple[int, ...]:
    words = [word.strip() for word in text.split(",")]
    if not all(word.isdecimal() and len(word) < 10 for word in words):
        raise SuiteError(
            f"--views {text!r} is not a list of whole degrees; write them with commas, such as"
            " 0,30,60."
        )
    return tuple(dict.fromkeys(map(int, words)))


def _lines(found: Results) -> Iterator[str]:
    labels, training, setting = found.labels, found.training, found.setting
    yield (
        f"teacher {setting.teacher} ({found.teacher_parameters:,} parameters), student"
        f" {setting.student} ({found.student_parameters:,})"
    )
    yield (
        f"labels: the teacher was sure of {labels.sure} of {labels.tracks} tracks; {labels.kept}"
        f" kept, {labels.frames} frames, {labels.size_bytes / 1e6:.1f} MB; {_percent(labels.noise)}"
        " of the labels wrong"
    )
    yield f"{'view':>5} {'teacher':>24} {'student before':>24} {'student after':>24}"
    for view in found.views:
        yield (
            f"{view.view_deg:>4}° {_percent(view.teacher):>24} {_percent(view.before):>24}"
            f" {_percent(view.after):>24}"
        )
    waited = (
        ""
        if setting.waiting is None
        else f"; at least one task waited for a CPU {setting.waiting:.0%} of the time"
    )
    yield (
        f"training: {training.steps} steps in {training.time_s:.1f} s with {training.cpu_s:.1f} s"
        f" of CPU time ({setting.idle}); other programs used {setting.foreign_cores:.2f} of"
        f" {setting.cores} cores{waited}"
    )
    energy = setting.energy
    yield (
        f"energy: {energy.energy_j:.4g} J ({energy.method})"
        if energy.energy_j is not None
        else f"energy: not measured ({energy.reason})"
    )


def _percent(share: Proportion) -> str:
    return f"{share.value:.1%} ({share.low:.1%} to {share.high:.1%})"
