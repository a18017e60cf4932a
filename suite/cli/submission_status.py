"""`suite submissions status [FOLDER]`."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument

from suite.cli.json_output import print_rows
from suite.cli.options import Json
from suite.cli.verdicts import NOT_COMPLIANT, check_submissions_in
from suite.compliance.finding import printable
from suite.compliance.review import ReviewPoint, SubmissionStatus, review_states
from suite.compliance.wording import joined_names
from suite.errors import Reported, SuiteError
from suite.files.counted import counted
from suite.files.shell_command import shell_command
from suite.submission.objections import Objection, ObjectionState

MAX_PLACES = 3
app = typer.Typer(no_args_is_help=True)


@app.command()
def status(
    folder: Annotated[Path, Argument(help="Submission, or a folder with submissions.")] = Path(
        "submissions"
    ),
    json: Json = False,
) -> None:
    """List verdicts, points to review, objections and withdrawals. Exit code: 0 all comply, 1 one
    does not, 2 could not judge."""
    if folder.is_file():
        unpack = shell_command("tar xf", folder)
        raise SuiteError(f"{folder} is a file: unpack it (`{unpack}`), and give the folder.")
    checked = check_submissions_in(folder, "give the folder that holds the rounds")
    states = review_states(checked)
    if json:
        print_rows("submissions-status", [_status_json(state) for state in states])
    else:
        for state in states:
            print("\n".join(_lines(state)))
        print(_sum(states))
    broken = list(
        dict.fromkeys(
            [*checked.broken, *(sentence for state in states for sentence in state.broken)]
        )
    )
    if broken:
        raise Reported("Could not judge: " + " ".join(map(printable, broken)))
    if not all(state.complies for state in states):
        raise typer.Exit(NOT_COMPLIANT)


def _lines(state: SubmissionStatus) -> Iterator[str]:
    withdrawn = "; withdrawn" if state.is_withdrawn else ""
    word = f"{_word(state)}{_round(state)}"
    yield f"{printable(str(state.path))}: {word}; {counted(state.runs, 'run')}{withdrawn}"
    for rule, count in sorted(state.violations.items()):
        yield f"  {'violates':10} {rule} ({count})"
    if state.violations:
        yield f"  {'next':10} {printable(shell_command('suite check', state.path))} names the files"
    for point in state.points:
        yield f"  {'to review':10} {_name(point)}: {point.sentence} ({_places(point.where)})"
    for name, objection in state.objections.items():
        about = f"{objection.against} of {printable(objection.run or 'the submission')}"
        yield (
            f"  {'objection':10} {printable(name)}, {objection.state.value}: {about},"
            f" {objection.date}, {printable(objection.by)}"
        )
    for withdrawal in state.withdrawals:
        yield f"  {'withdrawn':10} {_places((withdrawal.where,))}: {withdrawal.reason}"


def _round(state: SubmissionStatus) -> str:
    if state.round is None:
        return ""
    return f" with round {state.round.name}, which " + (
        f"closed {state.round.closed}" if state.round.closed else "takes more submissions"
    )


def _word(state: SubmissionStatus) -> str:
    return {True: "complies", False: "does not comply", None: "could not be judged"}[state.complies]


def _name(point: ReviewPoint) -> str:
    return (
        point.kind.value
        if point.rule is None or point.severity is None
        else f"{point.severity.value} {point.rule}"
    )


def _places(where: Sequence[str]) -> str:
    """The first places; the whole submission in words."""
    return joined_names(
        [printable("the submission" if place == "." else place) for place in where], MAX_PLACES
    )


def _sum(states: Sequence[SubmissionStatus]) -> str:
    complying, unjudged = (
        sum(state.complies is value for state in states) for value in (True, None)
    )
    points = sum(len(state.points) for state in states)
    opened = sum(
        objection.state is ObjectionState.OPEN
        for state in states
        for objection in state.objections.values()
    )
    not_complying = len(states) - complying - unjudged
    return (
        f"submissions: {len(states)}; comply: {complying}; do not comply: {not_complying}; could"
        f" not be judged: {unjudged}; points to review: {points}; open objections: {opened}"
    )


def _status_json(state: SubmissionStatus) -> dict[str, Any]:
    declaration, judged_by = state.declaration, state.round
    return {
        "path": state.path,
        "round": judged_by and judged_by.name,
        "round_closed": judged_by and judged_by.closed,
        "organization": declaration and declaration.organization,
        "availability": declaration and declaration.availability,
        "runs": state.runs,
        "complies": state.complies,
        "violations": dict(state.violations),
        "to_review": state.points,
        "objections": [
            _plain_objection(name, objection) for name, objection in state.objections.items()
        ],
        "withdrawals": state.withdrawals,
        "could_not_judge": state.broken,
    }


def _plain_objection(name: str, objection: Objection) -> dict[str, Any]:
    named = ("date", "by", "against", "record", "text", "run", "decision", "decided_by")
    return {
        "file": name,
        "state": objection.state,
        **{key: getattr(objection, key) for key in named},
    }
