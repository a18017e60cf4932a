"""Submissions: the seeds of an entry follow from one nonce, without gaps."""

from collections.abc import Iterator, Mapping, Sequence

from suite.catalog.divisions import Division
from suite.catalog.rounds import Round
from suite.catalog.seeds import NonceUse, read_nonce_use
from suite.compliance.rule import Rule, Violation
from suite.compliance.rules.seeds import AGAIN
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun

ORDER = 108  # after the rules that say which runs are an entry

Used = Mapping[str, NonceUse]
"""The nonces of an entry's runs, by the run's name."""


def _nonces(context: SubmissionContext) -> Iterator[Violation]:
    for (workload, framework, _), runs in context.entries(with_withdrawn=True).items():
        place = f"{workload}/{framework}"
        used = {
            run.name: found
            for run in runs
            if run.nonce is not None and (found := read_nonce_use(run.nonce)) is not None
        }
        if (
            runs[0].request.get("division") == Division.CLOSED.value
            and context.round.nonce is not None
        ):
            yield from _of_round(context.round, place, runs, used)
        if used:
            yield from _without(runs)
            yield from _alike(used)
            yield from _numbers(place, used)


def _of_round(
    judged_by: Round, place: str, runs: Sequence[SubmittedRun], used: Used
) -> Iterator[Violation]:
    """Check that every run uses the round's nonce, and that the entry was locked before the nonce
    was given out."""
    expected = f"the nonce {judged_by.nonce!r} of round {judged_by.name}"
    for run in runs:
        found = used.get(run.name)
        if found is None or found.nonce != judged_by.nonce:
            yield Violation(run.name, expected, "no nonce" if found is None else f"{found.nonce!r}")
    for entry in sorted({found.entry_sha256 for found in used.values()} - set(judged_by.locked)):
        yield Violation(
            place,
            f"one of the {len(judged_by.locked)} digests that were locked before the nonce was"
            " given out",
            f"entry {entry}",
            fix="submit the implementation and the configuration that were locked, or wait for the"
            " next"
            " round (`suite nonce lock`)",
        )


def _without(runs: Sequence[SubmittedRun]) -> Iterator[Violation]:
    for run in runs:
        if run.nonce is None:
            yield Violation(
                run.name,
                "a seed that follows from a nonce, as in other runs of the entry",
                "a seed that somebody chose",
            )


def _alike(used: Used) -> Iterator[Violation]:
    """Check that all runs of an entry share nonce, round, implementation and configuration."""
    (first_name, first), *others = used.items()
    for name, found in others:
        for what in ("nonce", "round", "implementation_sha256", "configuration_sha256"):
            if getattr(found, what) != getattr(first, what):
                yield Violation(
                    name,
                    f"{what} {getattr(first, what)!r}, as {first_name}",
                    f"{getattr(found, what)!r}",
                )


def _numbers(place: str, used: Used) -> Iterator[Violation]:
    """Check that the run numbers are 0, 1, … without gaps and repetitions."""
    numbers = sorted(found.run_number for found in used.values())
    missing = sorted(set(range(len(numbers))) - set(numbers))
    if missing:
        listed = ", ".join(map(str, numbers))
        yield Violation(
            place,
            f"run numbers 0 to {len(numbers) - 1}",
            f"{listed}; {', '.join(map(str, missing))} missing",
            fix="submit the runs of the missing numbers, those that missed the target too; a launch"
            " that failed is repeated with its number",
        )


RULES = (
    Rule(
        "submission-nonce",
        "The runs of an entry with a nonce share nonce, implementation and configuration, and"
        " are numbered without gaps; a closed entry uses the round's nonce, if the round has"
        " one, and was locked before the nonce was given out.",
        "Who chooses nonce or configuration afterwards, or leaves out a number, chooses the seeds.",
        AGAIN,
        (OfSubmission("submission-nonce", _nonces),),
    ),
)
