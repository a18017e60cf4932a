"""Of faults injected into the product, at least nine tenths are noticed by `make test`: `make prove
injected-faults`.

``python -m proofs.injected_faults [ID…]``. ``faults.json`` has the faults: a programmer's mistakes,
spread over the rooms, chosen by somebody who had read the product and no test. All tests run once
without a fault, under coverage.py. Then each fault is made in a copy of the checkout. First run the
tests of its room (the folder of `tests/` that mirrors its own), then others that reach its lines;
the first failure ends it. What no test notices is tried with every case of the tests of its room,
as proofs run them. A test elsewhere that reaches a line in a process of its own is not tried, so
that at least as many are noticed as are counted. A test that fails without the fault too has not
noticed it. What was found is kept for these files only.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from proofs.figures import hand_over
from proofs.injected_faults.reached import run_all, run_tests, shares, tests_at
from proofs.result import current_commit
from suite.errors import COULD_NOT, SuiteError
from suite.files.canonical import sha256_of_text
from suite.files.paths import repository_root

FAULTS = Path(__file__).with_name("faults.json")
KEPT = repository_root() / "build" / "proofs" / "injected-faults" / "faults.json"
COVERAGE = KEPT.parent / "coverage"
MIN_SHARE = 0.9
COLLECTION = "the collection of tests"
BY_TESTS, BY_PROOFS, BY_NOTHING = "make test", "a proof", "nothing"


@dataclass(frozen=True)
class Fault:
    """``old``, which occurs once in ``file``, is replaced by ``new``; ``why`` says what goes wrong
    for a user."""

    id: str
    room: str
    kind: str
    file: str
    old: str
    new: str
    why: str


def main(ids: Sequence[str]) -> int:
    """Exit code 1 where too few are noticed."""
    chosen = _chosen(ids)
    if gone := stale(chosen):
        print(
            f"error: the texts of these faults do not occur once in their files: {', '.join(gone)};"
            f" mend them in {FAULTS}.",
            file=sys.stderr,
        )
        return COULD_NOT
    known: dict[str, dict[str, str]] = (
        json.loads(KEPT.read_text(encoding="utf-8")) if KEPT.is_file() else {}
    )
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        copy = _copy(Path(name) / "checkout")
        coverage = COVERAGE / (commit := checkout())
        if not coverage.is_file() and (first := _fails_without_fault(copy, coverage)):
            print(
                f"error: without any fault {first} fails in a copy of the checkout; mend it first.",
                file=sys.stderr,
            )
            return COULD_NOT
        covered = shares(coverage, copy)
        for fault in chosen:
            made = json.dumps({"commit": commit, **asdict(fault)})
            if known.get(fault.id, {}).get("fault") != made:
                by, first = _noticed(fault, copy, coverage)
                known[fault.id] = {"fault": made, "by": by, "first": first}
                KEPT.parent.mkdir(parents=True, exist_ok=True)
                KEPT.write_text(json.dumps(known), encoding="utf-8")
            print(
                f"{fault.id} {fault.room}: {fault.kind}: noticed by {known[fault.id]['by']}",
                file=sys.stderr,
                flush=True,
            )
    noticed = _show(chosen, known, covered)
    if not ids:
        shutil.rmtree(KEPT.parent)
    return int(noticed < MIN_SHARE * len(chosen))


def _chosen(ids: Sequence[str]) -> list[Fault]:
    every = faults()
    if unknown := sorted({*ids} - {fault.id for fault in every}):
        raise SuiteError(f"There is no fault {', '.join(unknown)} in {FAULTS}.")
    return [fault for fault in every if not ids or fault.id in ids]


def faults() -> list[Fault]:
    """All of them."""
    return [Fault(**fields) for fields in json.loads(FAULTS.read_text(encoding="utf-8"))]


def stale(chosen: Sequence[Fault]) -> list[str]:
    """The ids of those that cannot be made: their text does not occur once in their file."""
    root, found = repository_root(), list[str]()
    for fault in chosen:
        path = root / fault.file
        if not path.is_file() or path.read_text(encoding="utf-8").count(fault.old) != 1:
            found.append(fault.id)
    return found


def checkout() -> str:
    """The commit, with a digest of what differs from it in tracked files."""
    commit = current_commit()
    if not commit.endswith("+changes"):
        return commit
    words = ["git", "-C", str(repository_root()), "diff", "HEAD"]
    changes = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    return f"{commit}-{sha256_of_text(changes)[:10]}"


def _fails_without_fault(copy: Path, coverage: Path) -> str:
    """Run all tests under coverage, to keep it where none fails; the first that fails by itself,
    too."""
    print("all tests under coverage, about 20 minutes", file=sys.stderr, flush=True)
    collected = copy.parent / "coverage.data"
    suspects = _failed(run_all(copy, collected))
    first = _first_failure(suspects, copy, every_case=False) if suspects else ""
    if not first:
        coverage.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(collected, coverage)
    return first


def _show(
    chosen: Sequence[Fault],
    known: Mapping[str, Mapping[str, str]],
    covered: Mapping[str, float],
) -> int:
    """Print and hand over what was found; returns how many `make test` notices."""
    print("| fault | room | kind | noticed by | first test that failed |\n|---|---|---|---|---|")
    for fault in chosen:
        print(
            f"| {fault.id} | {fault.room} | {fault.kind} | {known[fault.id]['by']} |"
            f" {known[fault.id]['first'].replace('|', '/')} |"
        )
    counts = Counter(known[fault.id]["by"] for fault in chosen)
    hand_over(
        faults=len(chosen),
        noticed_by_make_test=counts[BY_TESTS],
        noticed_by_proofs_only=counts[BY_PROOFS],
        unnoticed=counts[BY_NOTHING],
        **{f"covered_{name}_percent": share for name, share in covered.items()},
    )
    return counts[BY_TESTS]


def _copy(folder: Path) -> Path:
    """Tracked files as they are now."""
    root = repository_root()
    listed = subprocess.run(
        ["git", "-C", str(root), "ls-files", "-z"], capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, listed.split("\0")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, folder / name, follow_symlinks=False)
    return folder


def _noticed(fault: Fault, copy: Path, coverage: Path) -> tuple[str, str]:
    """By what, and the first test that failed. Raises SuiteError where tests cannot be run, whether
    the fault is made or not."""
    path = copy / fault.file
    text = path.read_text(encoding="utf-8")
    room = [_tests_of_room(path, copy)]
    first_line = text[: text.index(fault.old)].count("\n") + 1
    lines = range(first_line, first_line + fault.old.rstrip("\n").count("\n") + 1)
    reaching = tests_at(coverage, fault.file, lines)
    elsewhere = [test for test in reaching if not test.startswith(f"{room[0]}/")]
    for by, tests, every_case in (
        (BY_TESTS, room, False),
        *([(BY_TESTS, elsewhere, False)] if elsewhere else []),
        (BY_PROOFS, room, True),
    ):
        fail_anyway: list[str] = []
        while True:
            path.write_text(text.replace(fault.old, fault.new), encoding="utf-8")
            try:
                first = _first_failure(tests, copy, every_case, fail_anyway)
            finally:
                path.write_text(text, encoding="utf-8")
            if not first:
                break
            alone = tests if first == COLLECTION else [first]
            without = _first_failure(alone, copy, every_case, fail_anyway)
            if not without:
                return by, first
            if first == without == COLLECTION:
                raise SuiteError(
                    f"The tests of fault {fault.id} cannot be run, not even without it; make room"
                    " on the disk and in memory, and type the same command to continue."
                )
            fail_anyway.append(without if first == COLLECTION else first)
    return BY_NOTHING, ""


def _tests_of_room(path: Path, copy: Path) -> str:
    """The folder of tests that mirrors the file's own, or the nearest one above it."""
    folder = path.parent.relative_to(copy)
    while not (copy / "tests" / folder).is_dir():
        folder = folder.parent
    return (Path("tests") / folder).as_posix()


def _first_failure(
    tests: Sequence[str], copy: Path, every_case: bool, without: Sequence[str] = ()
) -> str:
    """Its name; empty: all pass, but for those ``without`` which it is asked."""
    left_out = (f"--deselect={name}" for name in without)
    failed = _failed(run_tests(["-x", *left_out, *tests], copy, every_case))
    return failed[0] if failed else ""


def _failed(ran: subprocess.CompletedProcess[str]) -> list[str]:
    """The tests that failed."""
    found = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - |$)", ran.stdout, re.MULTILINE)
    return found or ([] if ran.returncode in (0, 5) else [COLLECTION])


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except SuiteError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(COULD_NOT)
