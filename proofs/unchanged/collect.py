"""Writes what a checkout prints, finds, calculates and draws of fixed inputs, as text files:
``python collect.py FOLDER`` in the checkout.

A program of its own, which imports of the suite only what stays: another checkout runs it with its
own modules.
"""

from __future__ import annotations

import html
import importlib
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

COMMANDS = Path(__file__).with_name("commands.txt")
HELD = ("submissions", "reporter/demo", "examples/papers")
TEXTS = {".html", ".svg", ".json", ".csv", ".txt", ".tex", ".xml", ".md"}
MARKUP = re.compile(r"<(script|style)\b.*?</\1>|<[^>]+>", re.DOTALL)


def main(folder: Path) -> None:
    """One file of text for each output."""
    tasks: list[tuple[Callable[..., dict[str, str]], Sequence[Any]]] = [
        (command, [line]) for line in lines()
    ]
    tasks += [(paper, [name]) for name in papers()]
    tasks += [(help_of, [words]) for words in commands()]
    tasks += [(figures, [path]) for path in held()]
    tasks += [
        (first_list, [name]) for name in importlib.import_module("proofs.outsider.trial").entries()
    ]
    tasks += [(third_list, []), (mutations, [])]
    with ProcessPoolExecutor() as pool:
        for number, (task, done) in enumerate(
            [(task, pool.submit(task[0], *task[1])) for task in tasks], start=1
        ):
            for name, text in done.result().items():
                path = folder / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
            print(
                f"{number} of {len(tasks)}: {task[0].__name__} {' '.join(map(str, task[1]))}"[:120],
                file=sys.stderr,
                flush=True,
            )


def lines() -> list[str]:
    """The commands, without comments."""
    return [
        line
        for line in COMMANDS.read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]


def command(line: str) -> dict[str, str]:
    """What a command prints and writes."""
    name = re.sub(r"[^\w.-]+", "_", line.replace("{out}", "").strip())[:100]
    with tempfile.TemporaryDirectory() as out:
        words = [word.replace("{out}", out) for word in shlex.split(line)]
        ran = suite(words)
        written = sorted(path for path in Path(out).rglob("*") if path.is_file())
        texts = {
            f"{name}/{path.relative_to(out)}": text_of(path, out)
            for path in written
            if path.suffix in TEXTS
        }
    printed = (
        f"$ suite {line}\n{ran.stdout}\n--- standard error\n{ran.stderr}\n--- exit code"
        f" {ran.returncode}\n"
    )
    names = "".join(f"{path.relative_to(out)}\n" for path in written)
    return {
        f"commands/{name}.txt": plain(printed, out) + names,
        **{f"commands/{key}": text for key, text in texts.items()},
    }


def suite(words: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Run the command line of the checkout."""
    program = "import sys; sys.argv[0] = 'suite'; from suite.cli.start import main; main()"
    environment = {**os.environ, "COLUMNS": "150", "TZ": "UTC", "NO_COLOR": "1"}
    return subprocess.run(
        [sys.executable, "-c", program, *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )


def text_of(path: Path, out: str) -> str:
    """A file's text; of a page or picture what a reader sees, a line for each piece, numbers as
    they are."""
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.suffix in (".html", ".svg"):
        pieces = (
            " ".join(html.unescape(piece).split()) for piece in MARKUP.sub("\0", text).split("\0")
        )
        text = "".join(f"{piece}\n" for piece in pieces if piece)
    return plain(text, out)


def plain(text: str, out: str) -> str:
    """Without paths and dates of this moment."""
    text = text.replace(out, "OUT").replace(str(Path.cwd()), "CHECKOUT")
    today = subprocess.run(
        ["date", "-u", "+%Y-%m-%d"], capture_output=True, text=True, check=True
    ).stdout.strip()
    return re.sub(rf"{today}([T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?)?", "TODAY", text)


def commands(words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command and subcommand, from the help of the one above it."""
    yield words
    _, _, listed = suite([*words, "--help"]).stdout.partition("─ Commands ")
    for name in re.findall(r"^│ ([a-z][a-z-]*) ", listed, re.MULTILINE):
        yield from commands((*words, name))


def help_of(words: Sequence[str]) -> dict[str, str]:
    """The help of a command."""
    return {
        f"help/{'_'.join(('suite', *words))}.txt": plain(suite([*words, "--help"]).stdout, "\0")
    }


def papers() -> list[str]:
    """Tables and panels for which the project has runs."""
    return [
        row["id"]
        for row in json.loads(suite(["paper", "list", "--json"]).stdout)["rows"]
        if row["has_runs"]
    ]


def paper(name: str) -> dict[str, str]:
    """A table or panel of a paper, and how it compares with what the paper states."""
    made, checked = (
        command(f"paper make {name} --output {{out}} --json"),
        command(f"paper check {name} --json"),
    )
    return {key.replace("commands/", "papers/", 1): text for key, text in (made | checked).items()}


def held() -> list[Path]:
    """Every bundle that the project holds."""
    return sorted(path.parent for top in HELD for path in Path(top).rglob("run.json"))


def figures(bundle: Path) -> dict[str, str]:
    """Every frame of a bundle, every digit of it, and the figures calculated anew from its raw
    records."""
    from suite import api

    frames = api.load([bundle])
    text = "".join(
        f"{name}\n{table.to_csv(index=False)}\n"
        for name, table in sorted(vars(frames).items())
        if hasattr(table, "to_csv")
    )
    derived = importlib.import_module("suite.metrics.summary").derive(
        importlib.import_module("suite.bundle.reader").Bundle(bundle)
    )
    return {
        f"figures/{bundle}.txt": plain(
            f"{text}\n{json.dumps(derived.to_dict(), indent=1, default=str)}\n", "\0"
        )
    }


def first_list(name: str) -> dict[str, str]:
    """What the checker says of an outsider's lies of one class, or of the honest variations."""
    trial = importlib.import_module("proofs.outsider.trial")
    outcomes = [trial.try_out((name, number)) for number in range(len(trial.entries()[name]))]
    text = "".join(
        f"{one.name}: {one.column}: {' '.join(one.rules)}; warned: {' '.join(one.warnings)};"
        f" {one.message}\n"
        for one in outcomes
    )
    return {f"lies/first_{name.split()[0]}.txt": plain(text, "\0")}


def third_list() -> dict[str, str]:
    """What the checker says of the edits of reference runs."""
    trial = importlib.import_module("proofs.outsider.third_list.trial")
    results = ((entry.name, trial.tried(entry)) for entry in trial.EDITS)
    text = "".join(
        f"{name}: {one['outcome']}: {json.dumps(one.get('findings', one.get('error')), indent=1)}\n"
        for name, one in results
    )
    return {"lies/third.txt": plain(text, "\0")}


def mutations() -> dict[str, str]:
    """Which rules find each fault of the rules."""
    module = importlib.import_module("proofs.mutation.__main__")
    good = importlib.import_module("tests.good_submissions").good_submission
    with tempfile.TemporaryDirectory() as name:
        submissions = {ranks: good(Path(name) / f"ranks{ranks}", ranks) for ranks in module.RANKS}
        outcomes = module.try_out(submissions, module.all_mutations(), Path(name))
    return {
        "lies/rules_faults.txt": "".join(
            f"{one.mutation.name}: {one.is_refused}: {' '.join(sorted(_found_by(one)))}\n"
            for one in outcomes
        )
    }


def _found_by(outcome: Any) -> frozenset[str]:
    """The checks that fired; before rules had several, the rules."""
    found: frozenset[str] = outcome.checks if hasattr(outcome, "checks") else outcome.rules
    return found


if __name__ == "__main__":
    main(Path(sys.argv[1]))
