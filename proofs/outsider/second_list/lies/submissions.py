"""Lies that copy runs, and lies about submissions."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from proofs.outsider.edits import PARTS
from proofs.outsider.second_list.edits import replace_times
from proofs.outsider.second_list.forged_copy import ForgedCopy
from proofs.outsider.second_list.lies.request import follow
from proofs.outsider.second_list.registry import EDITED, ERROR, FABRICATED, NOTHING, lie
from suite.files.digest import sha256

SUBJECT = "copies and submissions"
RUNS = "lenet/pytorch"


def _run(path: Path, number: int) -> ForgedCopy:
    return ForgedCopy(path / RUNS / f"run_{number}")


def _declare(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    declaration = json.loads((path / "declaration.json").read_text("utf-8"))
    change(declaration)
    (path / "declaration.json").write_text(json.dumps(declaration, indent=1) + "\n", "utf-8")


def declare_what_is_there(path: Path) -> None:
    """Make the declared launches those that are in the submission."""
    names = [
        json.loads((run / "run.json").read_text("utf-8"))["run_id"]
        for run in sorted((path / RUNS).glob("run_*"))
    ]

    def change(declaration: dict[str, Any]) -> None:
        declaration["entries"][0].update(
            planned_runs=len(names),
            launches=[{"run_id": name, "status": "finished"} for name in names],
        )

    _declare(path, change)


def later(copy: ForgedCopy, seconds: int, identity: str) -> None:
    """Move a run to a later time of the same boot, with an id of its own, and without its
    witness."""
    copy.retime(lambda times: np.asarray(times) + seconds * 10**9, steps=False)
    copy.steps["start_ns"] += seconds * 10**9
    if copy.baseload is not None:
        copy.baseload["t_ns"] += seconds * 10**9
    copy.json["data"]["taken_ns"] += seconds * 10**9
    copy.run["started_time_ms"] += seconds * 1000
    clock = (
        np.datetime64(copy.run["started_time_ms"] // 1000, "s")
        .astype(object)
        .strftime("%Y%m%dT%H%M%SZ")
    )
    copy.run["run_id"] = f"lenet-pytorch-{clock}-{identity}"
    copy.drop_witness()


def _copied(path: Path, of: int, change: Callable[[ForgedCopy], None] = lambda copy: None) -> None:
    """Replace run 3 by a copy of another run, half an hour later, as number 2 of the nonce."""
    shutil.rmtree(path / RUNS / "run_3")
    shutil.copytree(path / RUNS / f"run_{of}", path / RUNS / "run_3")
    copy = _run(path, 3)
    later(copy, 1800, "c0ffee")
    copy.run["nonce"]["run_number"] = 2
    copy.option("--run-number", "2")
    follow(copy)
    change(copy)
    copy.save()
    declare_what_is_there(path)


@lie(
    SUBJECT,
    EDITED,
    "a third run without making it",
    "the same step times and losses as another run's",
    "submission",
    False,
)
def fastest_run_again(path: Path) -> None:
    """Run 3 is run 2 half an hour later, with the number, seed and id of a third."""
    _copied(path, 2)


@lie(
    SUBJECT,
    EDITED,
    "a third run without making it",
    "the same ratios of parts, and losses",
    "submission",
    False,
)
def fastest_run_shuffled(path: Path) -> None:
    """As above, the steps of every epoch in another order, losses with noise of a thousandth."""

    def change(copy: ForgedCopy) -> None:
        generator = np.random.default_rng(15)
        parts = copy.steps[PARTS].to_numpy().copy()
        for epoch in sorted(set(copy.steps["epoch"])):
            rows = np.flatnonzero((copy.steps["epoch"] == epoch).to_numpy())[1:]
            parts[rows] = parts[generator.permutation(rows)]
        replace_times(copy, parts)
        copy.steps["loss"] *= generator.normal(1, 0.001, len(copy.steps))

    _copied(path, 2, change)


@lie(
    SUBJECT,
    EDITED,
    "a third run without making it",
    "a part of the variation is another run's; the losses: an audit",
    "submission",
    False,
)
def fastest_run_with_noise(path: Path) -> None:
    """As above, every part of every step with 30 % of noise, losses with noise of a twentieth."""

    def change(copy: ForgedCopy) -> None:
        generator = np.random.default_rng(16)
        replace_times(
            copy,
            copy.steps[PARTS].to_numpy()
            * np.exp(generator.normal(0, 0.3, (len(copy.steps), len(PARTS)))),
        )
        copy.steps["loss"] *= np.exp(generator.normal(0, 0.05, len(copy.steps)))

    _copied(path, 2, change)


@lie(
    SUBJECT,
    FABRICATED,
    "a third run without making it",
    "the losses: an audit",
    "submission",
    False,
)
def fastest_run_with_drawn_times(path: Path) -> None:
    """As above, shuffled and with noise, both times and readings of CPU time, and counts of correct
    samples a few apart."""

    def change(copy: ForgedCopy) -> None:
        generator = np.random.default_rng(17)
        parts = copy.steps[PARTS].to_numpy().copy()
        for number in range(3):
            parts[:, number] = generator.permutation(parts[:, number]) * np.exp(
                generator.normal(0, 0.05, len(parts))
            )
        replace_times(copy, parts)
        copy.steps["loss"] *= np.exp(generator.normal(0, 0.08, len(copy.steps)))
        for event in copy.events("eval_accuracy")[:-1]:
            event["metadata"]["correct"] += int(generator.integers(-9, 10))
            event["value"] = event["metadata"]["correct"] / 10000

    _copied(path, 2, change)


@lie(
    SUBJECT,
    EDITED,
    "the miss is gone",
    "the nonce's numbers end early: " + NOTHING + " if two were planned",
    "submission",
    False,
)
def last_run_taken_out(path: Path) -> None:
    """The run that missed its target is taken out; two runs declared and planned."""
    shutil.rmtree(path / RUNS / "run_3")
    declare_what_is_there(path)


@lie(
    SUBJECT, EDITED, "the slowest run is gone", "a gap in the nonce's numbers", "submission", False
)
def slowest_run_taken_out(path: Path) -> None:
    """The middle run is taken out, the last one renamed; launches declared to fit."""
    shutil.rmtree(path / RUNS / "run_2")
    (path / RUNS / "run_3").rename(path / RUNS / "run_2")
    declare_what_is_there(path)


@lie(SUBJECT, EDITED, "the slowest run is gone", "the seed of another number", "submission", False)
def slowest_run_taken_out_and_numbered(path: Path) -> None:
    """As above, and the last run's number is edited to be the middle one's."""
    slowest_run_taken_out(path)
    copy = _run(path, 2)
    copy.run["nonce"]["run_number"] = 1
    copy.option("--run-number", "1")
    copy.save()


@lie(SUBJECT, EDITED, "the slowest run is gone", NOTHING, "submission", False)
def slowest_run_taken_out_without_a_nonce(path: Path) -> None:
    """As above, and the nonce is taken out of all runs, the seeds given as chosen ones; the witness
    too."""
    slowest_run_taken_out(path)
    for number in (1, 2):
        copy = _run(path, number)
        copy.run["nonce"] = None
        copy.option("--nonce", None)
        copy.option("--run-number", None)
        copy.option("--seed", str(copy.request["seed"]))
        copy.drop_witness()
        copy.save()
    declare_what_is_there(path)


@lie(SUBJECT, EDITED, "an entry with a miss is ranked", NOTHING, "submission", False)
def five_runs_were_planned(path: Path) -> None:
    """planned_runs is 2 although three were launched: a third was added when it suited."""
    _declare(path, lambda declaration: declaration["entries"][0].update(planned_runs=2))


@lie(
    SUBJECT,
    EDITED,
    "failed launches do not show",
    "an id that is in no folder; " + NOTHING,
    "submission",
    False,
)
def failed_launches_forgotten(path: Path) -> None:
    """No launches are declared at all."""
    _declare(path, lambda declaration: declaration["entries"][0].update(launches=[]))


@lie(
    SUBJECT,
    EDITED,
    "a verdict of another implementation",
    "the verdict's suite version and digest of the implementation",
    "submission",
    False,
)
def a_verdict_with_errors_deleted(path: Path) -> None:
    """Differences that did not pass, all of them, are deleted from the verdict."""
    file = path / "probes/lenet-pytorch.json"
    verdict = json.loads(file.read_text("utf-8"))
    verdict["subjects"][0]["differences"] = []
    file.write_text(json.dumps(verdict), "utf-8")


@lie(
    SUBJECT,
    EDITED,
    "a verdict that was not made",
    "the verdict's subject is TensorFlow",
    "submission",
    False,
)
def a_verdict_of_another_framework(path: Path) -> None:
    """The verdict is of another framework's probe, renamed."""
    file = path / "probes/lenet-pytorch.json"
    verdict = json.loads(file.read_text("utf-8"))
    verdict["subjects"][0].update(name="tensorflow", module="reference_impls.tensorflow.probe")
    file.write_text(json.dumps(verdict), "utf-8")


@lie(SUBJECT, ERROR, "nothing", "a closed entry needs a verdict", "submission", False)
def verdict_forgotten(path: Path) -> None:
    """The probes are missing."""
    shutil.rmtree(path / "probes")


@lie(
    SUBJECT,
    EDITED,
    "a better machine than that of the runs, or a cheaper one",
    "the runs' system.json",
    "submission",
    False,
)
def system_of_the_submission_edited(path: Path) -> None:
    """The submission's system.json names another processor."""
    system = json.loads((path / "system.json").read_text("utf-8"))
    system["cpu_model"] = "Cortex-A53"
    (path / "system.json").write_text(json.dumps(system, indent=1), "utf-8")


@lie(
    SUBJECT,
    EDITED,
    "clean code",
    NOTHING + "; the digest of the implementation and the commit",
    "submission",
    False,
)
def code_called_unmodified(path: Path) -> None:
    """The checkout had no changes, says the declaration, at another commit."""
    _declare(path, lambda declaration: declaration["code"].update(modified=False, commit="0" * 40))


@lie(SUBJECT, ERROR, "nothing", "the runs are of another organization", "submission", False)
def another_organization_declares(path: Path) -> None:
    """The declaration is of another organization."""
    _declare(path, lambda declaration: declaration.update(organization="first"))


@lie(SUBJECT, EDITED, "two runs at once", "the times of the two runs", "submission", False)
def runs_at_the_same_time(path: Path) -> None:
    """Run 2 is moved to a minute after the start of run 1."""
    first, copy = _run(path, 1), _run(path, 2)
    seconds = (first.window()[0] - copy.window()[0]) // 10**9 + 60
    later(copy, int(seconds), "abcdef")
    copy.save()
    declare_what_is_there(path)


@lie(SUBJECT, EDITED, "two runs at once do not show", NOTHING, "submission", False)
def runs_at_the_same_time_of_two_boots(path: Path) -> None:
    """As above, and run 2 has another boot."""
    runs_at_the_same_time(path)
    copy = _run(path, 2)
    for event in copy.logs[0]:
        event["metadata"]["boot"] = "11111111-2222-4333-8444-555555555555"
    copy.system["boot"] = "11111111-2222-4333-8444-555555555555"
    copy.save()
    shutil.copy(path / RUNS / "run_2/system.json", path / "system.json")


@lie(SUBJECT, ERROR, "nothing", "a link is no run", "submission", False)
def a_link_for_a_run(path: Path) -> None:
    """Run 3 is a link to run 2."""
    shutil.rmtree(path / RUNS / "run_3")
    (path / RUNS / "run_3").symlink_to("run_2")


@lie(SUBJECT, ERROR, "nothing", "a submission holds what its layout has", "submission", False)
def a_run_in_a_corner(path: Path) -> None:
    """A fourth run lies in old/."""
    shutil.copytree(path / RUNS / "run_2", path / "old/run_2")


@lie(
    SUBJECT, EDITED, "the first round's rules", "the runs are of another round", "submission", False
)
def the_first_round_declared(path: Path) -> None:
    """Round v0.1, suite 0.1.0."""
    _declare(path, lambda declaration: declaration.update(round="v0.1", suite_version="0.1.0"))


@lie(
    SUBJECT,
    EDITED,
    "an audit that agrees",
    "the audit's manifest is of another run",
    "submission",
    False,
)
def an_audit_of_another_run(path: Path) -> None:
    """An honest audit of run 1 is handed in as one of run 2 too."""
    audit = path.parent / "audit.json"
    (path / "audits").mkdir()
    for number in (1, 2):
        shutil.copy(audit, path / f"audits/lenet-pytorch-run_{number}.json")


@lie(
    SUBJECT,
    FABRICATED,
    "an audit that agrees",
    NOTHING + ": the losses are known to its maker",
    "submission",
    False,
)
def an_audit_that_was_written_down(path: Path) -> None:
    """A record of an audit of run 2 that nobody made: its own losses, digest and id in the record
    of another audit."""
    audit = json.loads((path.parent / "audit.json").read_text("utf-8"))
    copy = _run(path, 2)
    losses = copy.steps["loss"].to_list()[: audit["steps"]]
    audit["bundle"].update(
        run_id=copy.run["run_id"],
        manifest_sha256=sha256(copy.path / "MANIFEST.sha256"),
        seed=copy.request["seed"],
    )
    audit["losses"].update(recorded=losses, plain=losses)
    audit["with_other_rate"] = losses[:1] + [loss * 1.003 for loss in losses[1:]]
    (path / "audits").mkdir()
    (path / "audits/lenet-pytorch-run_2.json").write_text(json.dumps(audit, indent=1), "utf-8")


@lie(SUBJECT, EDITED, "a machine that is calmer", "near copies of step times", "submission", False)
def spread_narrowed(path: Path) -> None:
    """Run 2's times are scaled so that its epochs are as long as run 1's; no run is a copy."""
    first, copy = _run(path, 1), _run(path, 2)
    means = [
        one.steps[one.steps["epoch"] > 1].groupby("epoch")[PARTS].sum().sum(axis=1).mean()
        for one in (first, copy)
    ]
    replace_times(copy, copy.steps[PARTS].to_numpy() * (means[0] / means[1] * 1.001))
    copy.drop_witness()
    copy.save()
