"""Submissions: round, layout, organization and system."""

import re
from collections.abc import Mapping
from typing import Any

from suite.bundle.layout import NO_ORGANIZATION, SYSTEM
from suite.bundle.machines import BOARD_DIGEST, MEMORY_TOLERANCE, different_fields
from suite.bundle.node_records import NODES
from suite.catalog.rounds import load_rounds
from suite.compliance.finding import Severity
from suite.compliance.rule import Rule, Violation, Violations
from suite.compliance.submission_rule import OfSubmission, SubmissionContext, SubmittedRun
from suite.compliance.wording import value_text
from suite.files.signature import SignatureState
from suite.files.spreadsheet import problem_of_text
from suite.submission.declaration import ADDRESSES, NAME
from suite.submission.folder_names import (
    AUDITS,
    LISTING,
    PROBES,
    REVIEWS,
    SIGNATURE,
    is_folder_of,
)
from suite.submission.signature import allowed_signers

ORDER = 103  # after the rules of bundles

COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")


def _one_round(context: SubmissionContext) -> Violations:
    declared, names = context.declaration.round, [each.name for each in load_rounds()]
    if declared not in names:
        yield Violation(NAME, f"a round of the rulebook ({', '.join(names)})", f"{declared!r}")
        return
    for run in context.runs:
        if run.round != declared:
            yield Violation(
                run.name,
                f"a run of round {declared}",
                f"a run of round {run.round!r}",
                fix="submit the runs of each round separately",
            )


def _suite_versions(context: SubmissionContext) -> Violations:
    for run in context.runs:
        if run.suite_version != context.declaration.suite_version:
            yield Violation(
                run.name,
                f"a run made by suite {context.declaration.suite_version}, as {NAME} declares",
                f"a run made by suite {run.suite_version!r}",
            )


def _layout(context: SubmissionContext) -> Violations:
    for path in context.unexpected:
        yield Violation(
            path.relative_to(context.path).as_posix(),
            f"only {NAME}, {SYSTEM}, {PROBES}/*.json, {AUDITS}/*.json, {REVIEWS}/*.json and"
            " <workload>/<framework>/run_<n>/",
            "a file that does not belong there",
            fix="remove it",
        )
    for run in context.runs:
        workload, framework = str(run.request.get("workload")), str(run.request.get("framework"))
        if (workload, framework) != run.folder.trained:
            yield Violation(
                run.name,
                f"a run of {run.folder.workload} in {run.folder.framework}",
                f"a run of {workload} in {framework}",
            )
    folder = context.path.resolve()
    declared = context.declaration
    if folder.parent.name != declared.round or not is_folder_of(folder.name, declared.organization):
        expected = f"the folder {declared.round}/{declared.organization}"
        yield Violation(
            NAME,
            f"{expected}, or {declared.organization}.SYSTEM if several systems are submitted",
            f"{folder.parent.name}/{folder.name}",
        )


def _organization(context: SubmissionContext) -> Violations:
    for run in context.runs:
        if run.request.get("organization") not in (
            NO_ORGANIZATION,
            context.declaration.organization,
        ):
            observed = f"a run of {run.request.get('organization')!r}"
            fix = "let the organization that made the run submit it"
            yield Violation(
                run.name, f"a run of {context.declaration.organization}", observed, fix=fix
            )


def _text(context: SubmissionContext) -> Violations:
    """Free text of the declaration that spreadsheets would compute, or that has control
    characters; code that nobody could fetch."""
    declared = context.declaration
    texts = {"notes": declared.notes}
    for each in declared.implementations:
        texts |= {f"title of {each.name}": each.title, f"language of {each.name}": each.language}
    for name, text in texts.items():
        problem = problem_of_text(text)
        if problem is not None:
            yield Violation(NAME, f"{name}: plain text", problem)
    for code in (declared.code, *(each.code for each in declared.implementations)):
        if code.address is not None and not code.address.startswith(ADDRESSES):
            expected = f"an address of code that begins with {' or '.join(ADDRESSES)}"
            yield Violation(NAME, expected, code.address)
        if code.commit is not None and not COMMIT.fullmatch(code.commit):
            yield Violation(NAME, "a commit of 40 or 64 hexadecimal digits", code.commit)


def _system(context: SubmissionContext) -> Violations:
    for run in context.runs:
        for name in different_fields(run.system, context.system):
            yield Violation(
                f"{run.name}/{SYSTEM}",
                f"{name} = {value_text(context.system.get(name))}, as in the submission's {SYSTEM}",
                value_text(run.system.get(name)),
            )
    yield from _one_board(context)
    for first, *others in context.entries().values():
        for run in others:
            yield from _node_systems(run, first)


def _node_systems(run: SubmittedRun, first: SubmittedRun) -> Violations:
    """Nodes that are another system than in the entry's first run; one that told nothing may be
    any."""
    pairs = zip(run.node_systems, first.node_systems, strict=False)
    for place, (own, its) in enumerate(pairs, start=1):
        for name in different_fields(own, its) if own and its else ():
            expected = f"{name} = {value_text(its.get(name))} on node {place}, as in {first.name}"
            yield Violation(f"{run.name}/{NODES}", expected, value_text(own.get(name)))


def _one_board(context: SubmissionContext) -> Violations:
    """Runs on another board than the first known one, where the submission's system names none."""
    if context.system.get(BOARD_DIGEST) is not None:
        return
    known = [run for run in context.runs if run.system.get(BOARD_DIGEST) is not None]
    for run in known[1:]:
        own, first = run.system[BOARD_DIGEST], known[0].system[BOARD_DIGEST]
        if own != first:
            expected = f"{BOARD_DIGEST} = {value_text(first)}, as in {known[0].name}"
            yield Violation(f"{run.name}/{SYSTEM}", expected, value_text(own))


def _software(context: SubmissionContext) -> Violations:
    """Runs of an entry with other versions than its first run: Python, the framework, or a
    library."""
    for runs in context.entries().values():
        for run in runs[1:]:
            own, first = _versions(run), _versions(runs[0])
            different = sorted(name for name in {*own, *first} if own.get(name) != first.get(name))
            if different:
                name = different[0]
                expected = f"{_version(name, first)}, as in {runs[0].name}"
                yield Violation(run.name, expected[:300], _version(name, own))


def _version(name: str, versions: Mapping[str, Any]) -> str:
    return f"{name} {versions[name]}" if name in versions else f"no version of {name}"


def _versions(run: SubmittedRun) -> dict[str, Any]:
    libraries = run.system.get("libraries")
    listed = libraries if isinstance(libraries, Mapping) else {}
    return {
        **listed,
        "Python": run.system.get("python"),
        "framework": run.system.get("framework_version"),
    }


def _fits(context: SubmissionContext) -> Violations:
    signature = context.signature
    if signature is None:
        return
    if signature.verdict.state is SignatureState.BAD:
        yield Violation(
            SIGNATURE, f"a signature of {LISTING}", signature.verdict.reason or "one of other text"
        )
    for difference in signature.differences:
        yield Violation(difference.file, difference.expected, difference.observed)


def _signer(context: SubmissionContext) -> Violations:
    if context.signature is None:
        return
    verdict, organization = context.signature.verdict, context.declaration.organization
    expected = f"a signature by {organization}"
    if verdict.state is SignatureState.UNKNOWN:
        yield Violation(
            SIGNATURE,
            expected,
            f"one by a key that is not in {allowed_signers().name}",
            fix=f"add the key to {allowed_signers().name} in a separate pull request:"
            f" `{organization}"
            ' namespaces="…" ssh-ed25519 …`',
        )
    elif verdict.state is SignatureState.UNVERIFIED:
        fix = "check the submission on a machine with OpenSSH 8.2 or later"
        observed = f"one that could not be verified: {verdict.reason}"
        yield Violation(SIGNATURE, expected, observed, fix=fix)
    elif verdict.state is SignatureState.KNOWN and verdict.signer != organization:
        yield Violation(
            SIGNATURE,
            expected,
            f"one by {verdict.signer}",
            fix="tell the reviewer why another organization signs",
        )


RULES = (
    Rule(
        "submission-round",
        "A submission declares a round of the rulebook and a version of the suite. All of its runs"
        " were made for that round and by that version.",
        "A submission is judged by the rules of one round, and versions of the suite may differ in"
        " what they measure.",
        "submit the runs of each round, and of each version of the suite, separately",
        (
            OfSubmission("submission-round", _one_round),
            OfSubmission("submission-suite-version", _suite_versions),
        ),
    ),
    Rule(
        "submission-layout",
        "A submission has only files that belong in it, and its folders are named after their"
        " contents.",
        "Readers find a result by its folders. If a folder's name contradicts the files in it, the"
        " result would be published under another name.",
        "package the submission again, and remove files that do not belong in it",
        (OfSubmission("submission-layout", _layout),),
    ),
    Rule(
        "submission-organization",
        "A run that was made for an organization is submitted by this organization.",
        "Otherwise, somebody could submit the runs of another organization as their own.",
        "let the organization that made the run submit it",
        (OfSubmission("submission-organization", _organization),),
    ),
    Rule(
        "submission-text",
        "Free text of a declaration begins with none of the characters = + - @ and has no control"
        f" characters. Addresses of code begin with {' or '.join(ADDRESSES)}, and commits have"
        " 40 or 64 hexadecimal digits.",
        "The text is published in tables, and a spreadsheet would evaluate text that begins like"
        " a formula. An entry is called available only if readers can fetch its code; for that,"
        " address and commit must have the right form.",
        "change the text, address or commit that the finding names, and package the submission"
        " again",
        (OfSubmission("submission-text", _text),),
    ),
    Rule(
        "submission-system",
        f"All runs of a submission were made on the system that its {SYSTEM} describes, with the"
        f" same kernel. The size of the memory may differ by at most {MEMORY_TOLERANCE:.0%}. The"
        " runs of an entry were made with the same versions of Python, framework and libraries.",
        "A result belongs to one system, and another version of the software may compute at"
        " another speed. The memory that Linux finds differs by some KiB from start to start,"
        " because the firmware does not always reserve the same amount.",
        "submit each system separately, and make all runs of an entry in one environment (`suite"
        " env create`)",
        (
            OfSubmission("submission-system", _system),
            OfSubmission("submission-software", _software),
        ),
    ),
    Rule(
        "submission-signature",
        f"A signed submission's {LISTING} lists every file with its SHA-256, and {SIGNATURE} is an"
        " SSH signature of this list, made with one of the organization's keys in"
        f" submissions/{allowed_signers().name}.",
        "If files could be added after the signing, the signature would vouch for files that the"
        " signer never saw. Readers can tell who signed only if the key is known.",
        "package the runs again with `suite package --sign KEY`, and change nothing afterwards",
        (
            OfSubmission("submission-signature", _fits),
            OfSubmission("submission-signer", _signer, severity=Severity.NOTE),
        ),
    ),
)
