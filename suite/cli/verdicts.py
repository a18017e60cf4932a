"""Shows a verdict of the checker and ends with its exit code."""

import json as json_format
from pathlib import Path
from typing import Any

import typer

from suite.bundle.layout import RUN
from suite.cli.findings import show_findings
from suite.cli.json_output import print_json
from suite.compliance.checker import UNKNOWN, BundleVerdict
from suite.compliance.finding import printable
from suite.compliance.paths import CheckResult, check_paths
from suite.compliance.sarif import to_sarif
from suite.compliance.submissions import SubmissionVerdict
from suite.errors import Reported, SuiteError
from suite.files.counted import counted
from suite.submission.declaration import NAME
from suite.submission.folder_names import find_submissions

NOT_COMPLIANT = 1


def check_submissions_in(path: Path, remedy: str) -> CheckResult:
    """The result for a folder or archive that holds a submission; raises SuiteError for one without
    any."""
    if not path.is_dir() or find_submissions(path):  # else it would be looked through for runs
        result = check_paths([path])
        if result.submissions:
            return result
    raise SuiteError(f"{path} holds no submission (no {NAME})", remedy)


def show_result(verdict: CheckResult, json: bool) -> None:
    """Print every finding and a line per bundle and submission. Exit code 1 where one does not
    comply, 2 where one could not be judged."""
    if json:
        print_json("check", _result_json(verdict))
    else:
        for bundle in verdict.bundles:
            _show_bundle(bundle)
        for submission in verdict.submissions:
            for bundle in submission.bundles:
                _show_bundle(bundle)
            show_findings(submission.findings, json=False)
            print(
                f"{printable(str(submission.path))}: {counted(len(submission.bundles), 'run')},"
                f" {_word(submission.complies)}{_signed(submission)}"
            )
        for analysis in verdict.analyses:
            show_findings(analysis.findings, json=False)
            print(f"{printable(str(analysis.path))}: {analysis.kind}, {_word(analysis.complies)}")
    _end(verdict)


def show_sarif(verdict: CheckResult) -> None:
    """Print every finding as SARIF, files relative to the working directory; exit codes as
    :func:`show_result`."""
    print(json_format.dumps(to_sarif(verdict, Path.cwd()), indent=1))
    _end(verdict)


def _end(verdict: CheckResult) -> None:
    if verdict.broken:
        raise Reported("Could not judge: " + " ".join(map(printable, verdict.broken)))
    if not verdict.complies:
        raise typer.Exit(NOT_COMPLIANT)


def _show_bundle(verdict: BundleVerdict) -> None:
    show_findings(verdict.findings, json=False)
    if verdict.not_applicable:
        count = len(verdict.not_applicable)
        print(
            f"Not applied: {counted(count, 'check')} about the parts of steps, which"
            f" asynchronous timing does not record ({', '.join(verdict.not_applicable)})"
        )
    of_round = f" with the {verdict.division} division of round {verdict.round}"
    if verdict.division == UNKNOWN:
        of_round = f" with any division: its {RUN} cannot be read"
    print(
        f"{printable(str(verdict.path))}: {_word(verdict.complies)}{of_round}{_witnessed(verdict)}"
    )


def _witnessed(verdict: BundleVerdict) -> str:
    return f", witnessed by {printable(verdict.witnessed_by)}" if verdict.witnessed_by else ""


def _signed(submission: SubmissionVerdict) -> str:
    return f", signed by {printable(submission.signed_by)}" if submission.signed_by else ""


def _word(complies: bool) -> str:
    return "complies" if complies else "does not comply"


def _result_json(verdict: CheckResult) -> dict[str, Any]:
    return {
        "verdicts": [_plain_bundle(bundle) for bundle in verdict.bundles],
        "submissions": [_plain_submission(submission) for submission in verdict.submissions],
        "analyses": [
            {"path": each.path, "complies": each.complies, "findings": each.findings}
            for each in verdict.analyses
        ],
        "could_not_judge": verdict.broken,
    }


def _plain_bundle(verdict: BundleVerdict) -> dict[str, Any]:
    keys = ("path", "round", "division", "complies", "witnessed_by", "not_applicable", "findings")
    return {key: getattr(verdict, key) for key in keys}


def _plain_submission(verdict: SubmissionVerdict) -> dict[str, Any]:
    own = {key: getattr(verdict, key) for key in ("path", "complies", "signed_by", "findings")}
    return {**own, "verdicts": [_plain_bundle(bundle) for bundle in verdict.bundles]}
