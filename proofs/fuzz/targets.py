"""Fuzzing targets: each edits a good bundle, submission or archive, has it checked, and restores
it."""

import contextlib
import json
import os
import random
import shutil
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas
from hypothesis import strategies as st

from proofs.fuzz.values import edited, json_values, numbers
from proofs.fuzz.watch import Watch
from reference_impls.contract import FIRST_LINK, TOKEN, chained
from suite.bundle.frames import write_table
from suite.bundle.layout import MANIFEST
from suite.bundle.log import read_log
from suite.bundle.manifest import seal
from suite.bundle.reader import Bundle
from suite.files.archive import pack_archive
from suite.files.json_file import read_json
from suite.submission.declaration import SystemAvailability, read_declaration
from suite.submission.package import PackageRequest, package_runs
from tests.builders import Scenario, make_bundle
from tests.open_round import OPEN
from tests.suite.submission.conftest import make_probe

SMALL = Scenario(
    data="digits",
    division="open",
    step_s=0.025,
    accuracies=(0.5, 0.6),
    power_w=6.0,
    power_meter="um25c",
    idle_w=3.0,
)
"""A run of few steps with every measurement: most of the time goes into checks, not into
reading."""


@dataclass(frozen=True)
class Target:
    """A kind of input. ``share`` of all inputs: half of the time goes into readers, which are fast,
    half into checks of whole bundles.

    ``inputs`` is drawn by hypothesis, ``examine`` makes and checks one.
    """

    name: str
    share: float
    inputs: st.SearchStrategy[Any]
    examine: Callable[[Any], object]


def targets(watch: Watch) -> tuple[Target, ...]:
    """Every target; a good bundle of one rank, one of two ranks, a submission and its archive are
    made in ``watch.scratch``."""
    scratch, seeds = watch.scratch, st.integers(0, 2**64 - 1)
    bundles = tuple(make_bundle(scratch / f"ranks{ranks}", _scenario(1, ranks)) for ranks in (1, 2))
    submission = _submission(scratch)
    archive = pack_archive(submission, scratch / "submission.tar", base=submission.parent.parent)
    parts = st.tuples(st.sampled_from(bundles), seeds, json_values)
    return (
        Target(
            "bytes of a log", 0.56, seeds, lambda seed: _log_bytes(watch, bundles[seed % 2], seed)
        ),
        Target(
            "bytes of a JSON file", 0.40, seeds, lambda seed: _json_bytes(watch, submission, seed)
        ),
        Target(
            "bytes of a bundle's file",
            0.015,
            seeds,
            lambda seed: _file_bytes(watch, bundles[seed % 2], seed),
        ),
        Target("values of a JSON file", 0.01, parts, lambda drawn: _json_value(watch, *drawn)),
        Target("values of a log", 0.0075, parts, lambda drawn: _log_value(watch, *drawn)),
        Target(
            "cells of a table",
            0.004,
            st.tuples(st.sampled_from(bundles), seeds, numbers),
            lambda drawn: _cell(watch, *drawn),
        ),
        Target(
            "bytes of an archive", 0.0025, seeds, lambda seed: _archive_bytes(watch, archive, seed)
        ),
        Target(
            "a submission's files",
            0.001,
            st.tuples(seeds, json_values),
            lambda drawn: _submission_file(watch, submission, *drawn),
        ),
    )


def _scenario(seed: int, ranks: int) -> Scenario:
    return replace(
        SMALL,
        name=f"lenet-pytorch-20270115T080000Z-{seed:06d}",
        seed=seed,
        jitter=0.01,
        ranks=ranks,
        nodes=ranks,
        counted=ranks > 1,
    )


def _submission(scratch: Path) -> Path:
    runs = [make_bundle(scratch / f"run{seed}", _scenario(seed, 1)) for seed in (1, 2, 3)]
    offer = PackageRequest(
        "acme", None, SystemAvailability.RESEARCH, "", (make_probe(scratch / "probe.json"),)
    )
    return package_runs(runs, offer, scratch / "submissions")


def _log_bytes(watch: Watch, bundle: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = watch.scratch / "fuzzed.txt"
    path.write_bytes(edited((bundle / "log.txt").read_bytes(), chance))
    watch.call(lambda: read_log(path), path)


def _json_bytes(watch: Watch, submission: Path, seed: int) -> None:
    """Edit bytes of a JSON file, and read it with its own reader."""
    chance = random.Random(seed)
    path = chance.choice(sorted(submission.glob("**/*.json")))
    with _instead(path, edited(path.read_bytes(), chance)):
        readers = {
            "run.json": lambda: Bundle(path.parent).run(),
            "declaration.json": lambda: read_declaration(submission),
        }
        watch.call(readers.get(path.name, lambda: read_json(path)), path)


def _file_bytes(watch: Watch, bundle: Path, seed: int) -> None:
    """Edit bytes of any file of a bundle; the manifest is made to fit half of the time."""
    chance = random.Random(seed)
    path = chance.choice(sorted(bundle.iterdir()))
    with (
        _instead(path, edited(path.read_bytes(), chance)),
        _resealed(bundle, chance.random() < 0.5 and path.name != MANIFEST),
    ):
        watch.check(bundle)


def _json_value(watch: Watch, bundle: Path, seed: int, value: Any) -> None:
    """Replace or remove a value of a JSON file."""
    chance = random.Random(seed)
    path = chance.choice(sorted(bundle.glob("*.json")))
    content = json.loads(path.read_text(encoding="utf-8"))
    _put(content, value, chance)
    with _instead(path, json.dumps(content).encode()), _resealed(bundle, True):
        watch.check(bundle)


def _log_value(watch: Watch, bundle: Path, seed: int, value: Any) -> None:
    """Replace or remove a value of an event, or move the event; the chain is made to fit half of
    the time."""
    chance = random.Random(seed)
    path = chance.choice(sorted(bundle.glob("log*.txt")))
    events = [
        json.loads(line[len(TOKEN) :]) for line in path.read_text(encoding="utf-8").splitlines()
    ]
    if chance.random() < 0.1:
        events.insert(chance.randrange(len(events)), events.pop(chance.randrange(len(events))))
    else:
        _put(chance.choice(events), value, chance)
    with _instead(path, _lines(events, chance.random() < 0.5).encode()), _resealed(bundle, True):
        watch.check(bundle)


def _cell(watch: Watch, bundle: Path, seed: int, value: float) -> None:
    """Cells of a table, or its shape."""
    chance = random.Random(seed)
    path = chance.choice(sorted(bundle.glob("*.parquet")))
    frame = pandas.read_parquet(path)
    column = chance.choice(list(frame.columns))
    kind = chance.randrange(8)
    if kind == 0:
        frame = frame.iloc[: chance.choice((0, 1, 2))]
    elif kind == 1:
        frame = chance.choice(
            (
                frame.drop(columns=column),
                frame.rename(columns={column: "other"}),
                frame.assign(more=value),
                frame.iloc[::-1],
            )
        )
    elif kind == 2:
        frame = pandas.concat([frame] * chance.choice((2, 5)))
    elif kind == 3:
        frame = frame.astype({column: "string"})
    else:
        rows = slice(None) if kind == 4 else chance.randrange(len(frame))
        frame[column] = frame[column].astype(object)
        frame.iloc[rows, list(frame.columns).index(column)] = (
            str(value) if frame[column].map(type).eq(str).any() else value
        )
        with contextlib.suppress(ValueError, TypeError, OverflowError):
            frame = frame.infer_objects()
    with _kept(path):
        with contextlib.suppress(Exception):  # values that Arrow cannot write make no input
            write_table(frame, path)
        path.with_name(f".{path.name}").unlink(missing_ok=True)
        with _resealed(bundle, True):
            watch.check(bundle)


def _archive_bytes(watch: Watch, archive: Path, seed: int) -> None:
    """Edit bytes of an archive, or make one with members that no submission has."""
    chance = random.Random(seed)
    path = watch.scratch / "fuzzed.tar"
    if chance.random() < 0.7:
        path.write_bytes(edited(archive.read_bytes(), chance))
    else:
        _odd_archive(path, chance)
    watch.check(path)
    path.unlink()


def _odd_archive(path: Path, chance: random.Random) -> None:
    with tarfile.open(
        path,
        chance.choice(("w", "w:gz", "w:xz")),
        format=chance.choice((tarfile.PAX_FORMAT, tarfile.GNU_FORMAT)),
    ) as out:
        for _ in range(chance.choice((0, 1, 3, 20))):
            names = (
                "a",
                f"{OPEN}/acme/declaration.json",
                "../a",
                "/a",
                "a/../../b",
                "x" * 300,
                "d/" * 40 + "a",
                "a\\b",
                "\udc80",
                ".",
                "",
                f"{OPEN}/acme/a\n",
            )
            member = tarfile.TarInfo(chance.choice(names))
            member.type = chance.choice(
                (
                    tarfile.REGTYPE,
                    tarfile.SYMTYPE,
                    tarfile.LNKTYPE,
                    tarfile.DIRTYPE,
                    tarfile.FIFOTYPE,
                    tarfile.CHRTYPE,
                    b"Z",
                )
            )
            member.linkname = chance.choice(("/etc/passwd", "..", "a"))
            member.mode = chance.choice((0, 0o644, 0o7777))
            with contextlib.suppress(ValueError, UnicodeError):
                out.addfile(member)


def _submission_file(watch: Watch, submission: Path, seed: int, value: Any) -> None:
    """Replace a value of the submission's own JSON files, or add a file, folder, pipe or link that
    does not belong there."""
    chance = random.Random(seed)
    if chance.random() < 0.5:
        path = chance.choice(
            [
                submission / "declaration.json",
                submission / "system.json",
                *(submission / "probes").iterdir(),
            ]
        )
        content = json.loads(path.read_text(encoding="utf-8"))
        _put(content, value, chance)
        with _instead(path, json.dumps(content).encode()):
            watch.check(submission)
        return
    folder = chance.choice(
        [submission, *sorted(path for path in submission.rglob("*") if path.is_dir())]
    )
    path = folder / chance.choice(
        (
            "more",
            "run_9",
            "é",
            "\udc80",
            "\n",
            "x" * 200,
            "run.json.",
            "declaration.json~",
            "\x1b[2J",
        )
    )
    chance.choice(
        (
            Path.mkdir,
            Path.touch,
            os.mkfifo,
            lambda it: it.symlink_to(chance.choice(("/etc/passwd", "/", ".", "nowhere", it.name))),
        )
    )(path)
    watch.check(submission)
    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _put(content: Any, value: Any, chance: random.Random) -> None:
    """Replace or remove one value of a nested object."""
    while True:
        keys = list(content) if isinstance(content, dict) else list(range(len(content)))
        key = chance.choice(keys)
        inner = content[key]
        if isinstance(inner, dict | list) and inner and chance.random() < 0.85:
            content = inner
        elif chance.random() < 0.1:
            del content[key]
            return
        else:
            content[key] = value
            return


def _lines(events: list[dict[str, Any]], is_chained: bool) -> str:
    chain, lines = FIRST_LINK, []
    for event in events:
        text = TOKEN + json.dumps(event)
        if is_chained and isinstance(event.get("metadata"), dict):
            event["metadata"].pop("chain", None)
            text, chain = chained(chain, TOKEN + json.dumps(event))
        lines.append(text + "\n")
    return "".join(lines)


@contextlib.contextmanager
def _kept(path: Path) -> Iterator[None]:
    content = path.read_bytes()
    try:
        yield
    finally:
        path.write_bytes(content)


@contextlib.contextmanager
def _instead(path: Path, content: bytes) -> Iterator[None]:
    with _kept(path):
        path.write_bytes(content)
        yield


@contextlib.contextmanager
def _resealed(bundle: Path, is_wanted: bool) -> Iterator[None]:
    """Write a manifest that fits the current files."""
    with _kept(bundle / MANIFEST):
        if is_wanted:
            (bundle / MANIFEST).unlink()
            seal(bundle)
        yield
