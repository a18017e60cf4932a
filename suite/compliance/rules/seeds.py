"""Seeds: those of a run and of an entry follow from one nonce, without gaps."""

from collections.abc import Mapping, Sequence

from suite.bundle.layout import RUN
from suite.catalog.divisions import Division
from suite.catalog.rounds import Round
from suite.catalog.seeds import NonceUse, configuration_sha256, entry_sha256, read_nonce_use
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun
from suite.files.counted import counted

ORDER = 26  # after the requests, which the seeds follow from

Used = Mapping[str, NonceUse]
"""The nonces of an entry's runs, by the run's name."""


def _seed(context: BundleContext) -> Violations:
    """Recompute the nonce's record and the seed from the rest of run.json."""
    if context.run.nonce is None:
        return
    used = read_nonce_use(context.run.nonce)
    if used is None:
        yield Violation(
            RUN,
            "nonce, round, run_number and three digests, as `suite run --nonce` records them",
            f"{dict(context.run.nonce)!r}",
        )
        return
    yield from _of_this_run(context, used)
    if used.seed != context.request.seed:
        yield Violation(
            RUN,
            f"seed {used.seed}, which follows from nonce {used.nonce!r}, round {used.round}, entry"
            f" {used.entry_sha256[:12]} and run number {used.run_number}",
            f"seed {context.request.seed}",
        )


def _of_this_run(context: BundleContext, used: NonceUse) -> Violations:
    request = context.bundle.json(RUN)["request"]
    for name, expected in (
        ("round", context.run.round),
        ("implementation_sha256", (context.run.implementation or {}).get("sha256")),
        ("configuration_sha256", configuration_sha256(request)),
        ("entry_sha256", entry_sha256(used.implementation_sha256, used.configuration_sha256)),
    ):
        if getattr(used, name) != expected:
            yield Violation(
                RUN,
                f"nonce.{name} = {expected}, as follows from the rest of {RUN}",
                getattr(used, name)[:64],
            )


def _nonces(context: SubmissionContext) -> Violations:
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
            yield from _seeds_without_nonce(runs)
            yield from _alike(used)
            yield from _numbers(place, used)


def _of_round(judged_by: Round, place: str, runs: Sequence[SubmittedRun], used: Used) -> Violations:
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
            "an entry that was locked before the nonce was given out (the round has"
            f" {counted(len(judged_by.locked), 'locked digest')})",
            f"an entry that was not locked, with the digest {entry}",
            fix="submit runs of the implementation and configuration that were locked, or lock"
            " the implementation and configuration of this entry for the next round (`suite"
            " nonce lock`)",
        )


def _seeds_without_nonce(runs: Sequence[SubmittedRun]) -> Violations:
    for run in runs:
        if run.nonce is None:
            yield Violation(
                run.name,
                "a seed that follows from a nonce, as in other runs of the entry",
                "a seed without a nonce",
            )


def _alike(used: Used) -> Violations:
    """Check that all runs of an entry share nonce, round, implementation and configuration."""
    (first_name, first), *others = used.items()
    for name, found in others:
        for what in ("nonce", "round", "implementation_sha256", "configuration_sha256"):
            if getattr(found, what) != getattr(first, what):
                yield Violation(
                    name,
                    f"{what} {getattr(first, what)!r}, as in {first_name}",
                    f"{getattr(found, what)!r}",
                )


def _numbers(place: str, used: Used) -> Violations:
    """Check that the run numbers are 0, 1, … without gaps and repetitions."""
    numbers = sorted(found.run_number for found in used.values())
    missing = sorted(set(range(len(numbers))) - set(numbers))
    if missing:
        listed = ", ".join(map(str, numbers))
        yield Violation(
            place,
            f"run numbers 0 to {len(numbers) - 1}",
            f"{listed}; missing: {', '.join(map(str, missing))}",
            fix="submit the runs with the missing numbers, also if they missed the target; if a"
            " launch failed, start it again with the same --run-number",
        )


RULES = (
    Rule(
        "seed-of-nonce",
        "A run with a nonce has the seed that follows from nonce, run number, and the round,"
        " implementation and configuration that run.json records. All runs of an entry share"
        " nonce, round, implementation"
        " and configuration, and are numbered from 0 without gaps. If the round has a nonce, a"
        " closed entry uses this nonce, and its implementation and configuration were locked before"
        " the nonce was given out.",
        "Nobody can choose such a seed directly. Submitters could still choose among seeds if they"
        " changed the nonce or the configuration afterwards, or left out runs. In a closed entry of"
        " a round that has a nonce, the round's nonce, the lock and the run numbers without gaps"
        " prevent this.",
        "run again with --nonce and the entry's next --run-number; the harness computes the seed",
        (OfBundle("seed-of-nonce", _seed), OfSubmission("submission-nonce", _nonces)),
    ),
)
