"""What `suite check` says of an edited bundle or submission, as a row of the list's results."""

import time
from pathlib import Path
from typing import Any

from suite import api


def judged(target: Path) -> dict[str, Any]:
    """What `suite check` says of a bundle or submission."""
    begun = time.monotonic()
    try:
        verdict = api.check([target])
    except Exception as error:  # noqa: BLE001 - a crash of the checker is a result
        refused = type(error).__module__.startswith("suite.")
        return {
            "outcome": "could not be checked" if refused else "crash",
            "error": f"{type(error).__name__}: {error}",
        }
    findings = [_plain(finding) for one in _verdicts(verdict) for finding in one.findings]
    rules = {
        severity: sorted({one["rule"] for one in findings if one["severity"] == severity})
        for severity in ("invalid", "warning", "note")
    }
    outcome = (
        "accepted" if verdict.complies else "could not be checked" if verdict.broken else "refused"
    )
    return {
        "outcome": outcome,
        **rules,
        "findings": findings,
        "seconds": round(time.monotonic() - begun, 2),
    }


def _verdicts(verdict: Any) -> list[Any]:
    """Verdicts of bundles and of submissions with their runs."""
    return [
        *verdict.bundles,
        *verdict.submissions,
        *(run for one in verdict.submissions for run in getattr(one, "bundles", ())),
    ]


def _plain(finding: Any) -> dict[str, str]:
    return {
        name: str(getattr(finding, name, None)) for name in ("rule", "expected", "observed", "fix")
    } | {"severity": finding.severity.value}
