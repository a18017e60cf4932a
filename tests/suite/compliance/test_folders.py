"""Which folders and runs a check takes together, and by what names it tells of them."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from suite.compliance import paths, submissions
from suite.compliance.checker import BundleVerdict
from suite.compliance.copies import Likeness
from suite.compliance.folders import FolderKind
from suite.compliance.paths import CheckResult
from suite.compliance.submission_rule import SubmissionContext
from suite.compliance.submissions import SubmissionVerdict
from tests.checks_alone import log


@pytest.mark.parametrize("holds", ["part-*/raw.csv", None])
def test_a_folder_is_found_by_its_record_or_by_what_it_holds(
    holds: str | None, tmp_path: Path
) -> None:
    files = ("b/record.json", "a/part-1/raw.csv", "a/part-2/raw.csv", "b/part-1/raw.csv")
    for name in (*files, "c/raw.csv", "d/part-1/more/raw.csv", "e/part-1/raw.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    kind = FolderKind("a kind", "record.json", lambda: pytest.fail("is not asked"), holds)
    found = [path.name for path in kind.find(tmp_path)]
    assert found == (["a", "b"] if holds else ["b"])
    assert kind.find(tmp_path / "b") == (tmp_path / "b",)


def test_the_result_names_the_archive_that_was_given_and_no_temporary_folder() -> None:
    bundle, badge = BundleVerdict(Path("/tmp/u1/a/run_1"), "", "", ()), "badge"
    submission = SubmissionVerdict(
        Path("/tmp/u1/a"),
        (bundle,),
        (),
        ("/tmp/u1/a is broken", "/tmp/u2/b too"),
        audits={Path("/tmp/u1/a/run_1"): badge},
        audited_by={Path("/tmp/u1/a/run_1"): ("lab",)},
    )
    found = paths._with_archive_names(
        CheckResult((bundle,), (submission,), ("/tmp/u2/c",)),
        {Path("/tmp/u1"): Path("in/one.tar"), Path("/tmp/u2"): Path("in/two.tar")},
    )
    run = Path("in/one.tar/a/run_1")
    (of_it,) = found.submissions
    assert (found.bundles[0].path, of_it.bundles[0].path, of_it.path) == (run, run, run.parent)
    assert of_it.broken == ("in/one.tar/a is broken", "in/two.tar/b too")
    assert found.broken == ("in/two.tar/c",)
    assert (of_it.audits, of_it.audited_by) == ({run: badge}, {run: ("lab",)})


def test_runs_in_a_submission_s_places_without_its_declaration_are_said_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {"workload": "lenet", "framework": "jax"}
    record = SimpleNamespace(run=lambda: SimpleNamespace(request=request))
    monkeypatch.setattr(paths, "Bundle", lambda path: record)
    root = tmp_path / "acme"
    placed = [root / f"lenet/jax/run_{number}" for number in (1, 2)]
    elsewhere = [root / "lenet/pytorch/run_1", root / "vgg11/jax/run_1", root / "lenet/jax/first"]
    (sentence,) = paths._undeclared([*placed, *elsewhere], [root])
    assert sentence.startswith(f"{root} holds the runs of a submission but no declaration.json")
    assert not list(paths._undeclared(placed, [root / "lenet"])), "above what was given"
    assert not list(paths._undeclared(elsewhere, [root]))


def test_each_submission_is_held_against_the_runs_of_all_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: dict[str, Any] = {"a": ("a1",), "b": ("b1", "b2"), "c": ("c1",)}
    nothing: Any = None
    read = [
        submissions._Submission(
            SubmissionContext(Path(name), nothing, nothing, {}, of_it, ()), of_it, (), ()
        )
        for name, of_it in runs.items()
    ]
    likenesses = (Likeness(0, 2, "steps"), Likeness(1, 2, "losses"))
    monkeypatch.setattr(
        submissions, "find_likenesses", lambda times: likenesses if len(times) == 4 else ()
    )
    found = submissions._compared(read)
    copies = [
        f"{each.run} like {each.other} in {each.what}"
        for context in found.values()
        for each in context.copies
    ]
    assert copies == [
        "a1 like b2 in steps",
        "b2 like a1 in steps",
        "b1 like b2 in losses",
        "b2 like b1 in losses",
    ]
    others = [" ".join(map(str, context.other_runs)) for context in found.values()]
    assert others == ["b1 b2 c1", "a1 c1", "a1 b1 b2"]


def test_what_is_read_of_a_run_to_tell_copies() -> None:
    """Ten values or more, of which the first hundred; when the clock of its machine was 0."""
    few, ten, many, more = (submissions._digest(np.arange(each)) for each in (9, 10, 100, 101))
    assert few is None is not ten != many == more
    assert submissions._booted_ms(log(("run_start", 5, 12), ("run_stop", 9, 99))) == 7_000
    assert submissions._booted_ms(log(("run_start", None, 12))) is None
    seeds: Any = [
        submissions._seed_of_order(SimpleNamespace(request={"division": division, "seed": seed}))  # type: ignore[arg-type]
        for division, seed in (("closed", 3), ("closed", 0), ("open", 3), ("closed", "3"))
    ]
    assert seeds == [3, 0, None, None]
    states = [
        {"parameter": "p", "velocity": "v", "statistic": "s"},
        {"parameter": "q", "velocity": 3},
        "x",
    ]
    logged = [("state_digests", 1, 1, {"value": value}) for value in states]
    assert submissions._states(log(*logged)) == {"p", "v", "q"}
