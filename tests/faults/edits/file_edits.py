"""Edits of a bundle's files: bytes, lines, values of JSON files."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from reference_impls.contract import FIRST_LINK, TOKEN, chained, unchained
from suite.bundle.layout import COUNTERS, MANIFEST
from suite.bundle.manifest import seal
from suite.bundle.node_records import NODES
from suite.catalog.rounds import load_rounds
from tests.faults.edits.editable_bundle import EditableBundle
from tests.faults.edits.fault import Edit, edit

Lines = Sequence[str]


def set_in(values: Any, path: str, change: Callable[[Any], Any]) -> None:
    """Change one value of nested objects; ``path`` is dotted."""
    *parents, last = path.split(".")
    for parent in parents:
        values = values[int(parent)] if parent.isdigit() else values[parent]
    values[last] = change(values[last])


def change_json(path: Path, change: Callable[[Any], object]) -> None:
    """Change the content of a JSON file in place."""
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(json.dumps(content), encoding="utf-8")


def edit_json(path: Path, where: str, change: Callable[[Any], Any]) -> None:
    """Change one value of a JSON file."""
    change_json(path, lambda values: set_in(values, where, change))


@edit
def set_system(bundle: EditableBundle, name: str, value: object) -> None:
    """Set a field of system.json."""
    bundle.system[name] = value


@edit
def update_system(bundle: EditableBundle, values: Mapping[str, object]) -> None:
    """Set several fields of system.json."""
    bundle.system.update(values)


@edit
def set_run(bundle: EditableBundle, name: str, value: object) -> None:
    """Set a field of run.json."""
    bundle.run[name] = value


@edit
def move_to_first_round(bundle: EditableBundle) -> None:
    """Move the run to the first round, with the version of the suite that it admits."""
    first = load_rounds()[0]
    bundle.run["round"], bundle.run["suite_version"] = first.name, first.suite_versions[0]


@edit
def shift_start(bundle: EditableBundle, by_ms: int) -> None:
    """Shift the start that run.json records."""
    bundle.run["started_time_ms"] += by_ms


@edit
def change_summary(bundle: EditableBundle, where: str, change: Callable[[Any], Any]) -> None:
    """Change a value of summary.json."""
    set_in(bundle.summary, where, change)


@edit
def change_counters(bundle: EditableBundle, where: str, change: Callable[[Any], Any]) -> None:
    """Change a value of counters.json."""
    edit_json(bundle.path / COUNTERS, where, change)


def scale(factor: float) -> Callable[[Any], Any]:
    """Multiply a value."""
    return lambda value: value * factor


def put(value: object) -> Callable[[Any], Any]:
    """Replace a value."""
    return lambda _: value


@edit
def change_file(bundle: EditableBundle, name: str, change: Callable[[Any], object]) -> None:
    """Change the content of one of the bundle's JSON files in place."""
    change_json(bundle.path / name, change)


def set_node(number: int, /, **values: object) -> Edit:
    """Set values of a node's record in nodes.json."""
    return change_file(NODES, lambda content: content["nodes"][number].update(values))


def set_link(number: int, /, **values: object) -> Edit:
    """Set values of a node's link in nodes.json."""
    return change_file(NODES, lambda content: content["nodes"][number]["link"].update(values))


@edit
def append(run: Path, name: str, more: bytes) -> None:
    """Append bytes to a file, which is created if it does not exist."""
    with (run / name).open("ab") as stream:
        stream.write(more)


@edit
def nest_folders(run: Path, depth: int) -> None:
    """Make folders in one another."""
    (run / "/".join("d" * depth)).mkdir(parents=True)


@edit
def delete(run: Path, name: str) -> None:
    """Delete a file."""
    (run / name).unlink()


@edit
def halve(run: Path, name: str) -> None:
    """Keep the first half of a file."""
    content = (run / name).read_bytes()
    (run / name).write_bytes(content[: len(content) // 2])


@edit
def repeat_name(run: Path, name: str, key: str) -> None:
    """Write a name of a JSON object twice, the first time with null."""
    path = run / name
    path.write_text(
        path.read_text(encoding="utf-8").replace(f'"{key}":', f'"{key}": null, "{key}":', 1),
        encoding="utf-8",
    )


@edit
def copy_file(run: Path, name: str, target: str) -> None:
    """Copy a file within the run, with the folders that lead to the copy."""
    (run / target).parent.mkdir(parents=True, exist_ok=True)
    (run / target).write_bytes((run / name).read_bytes())


@edit
def copy_from_second_run(run: Path, name: str) -> None:
    """Replace a file by that of the submission's second run."""
    (run / name).write_bytes((run.with_name("run_2") / name).read_bytes())


@edit
def change_lines(run: Path, name: str, change: Callable[[Lines], Lines]) -> None:
    """Change the lines of a text file."""
    path = run / name
    path.write_text(
        "".join(f"{line}\n" for line in change(path.read_text(encoding="utf-8").splitlines())),
        encoding="utf-8",
    )


@edit
def resealed(run: Path, change: Callable[[Path], object]) -> None:
    """Apply a change, then write a manifest that fits it."""
    change(run)
    (run / MANIFEST).unlink()
    seal(run)


def replace_in_line(key: str, old: str, new: str) -> Callable[[Lines], Lines]:
    """Replace text in the first line of this event; raises ValueError if it is not there."""

    def change(lines: Lines) -> Lines:
        index = _line_of(lines, key)
        if old not in lines[index]:
            raise ValueError(f"no {old!r} in {lines[index]!r}")
        return [*lines[:index], lines[index].replace(old, new, 1), *lines[index + 1 :]]

    return change


def drop_line(key: str) -> Callable[[Lines], Lines]:
    """Drop the first line of this event."""

    def change(lines: Lines) -> Lines:
        index = _line_of(lines, key)
        return [*lines[:index], *lines[index + 1 :]]

    return change


def remove_chain(lines: Lines) -> Lines:
    """Remove the chain value of the sixth line."""
    return [*lines[:5], unchained(lines[5])[0], *lines[6:]]


def rechained(change: Callable[[Lines], Lines]) -> Callable[[Lines], Lines]:
    """Apply a change of a log's lines, then compute a chain that fits it."""

    def apply(lines: Lines) -> Lines:
        chain, done = FIRST_LINK, []
        for line in change(lines):
            event = json.loads(line[len(TOKEN) :])
            del event["metadata"]["chain"]
            written, chain = chained(chain, TOKEN + json.dumps(event))
            done.append(written)
        return done

    return apply


def _line_of(lines: Lines, key: str) -> int:
    return next(index for index, line in enumerate(lines) if f'"key": "{key}"' in line)
