"""Preconditions: without them the other rules cannot be checked."""

from suite.compliance.rule import Rule

ORDER = 0  # the checker reports them while it reads the bundle

RUN_COMPLETE = Rule(
    id="run-complete",
    sentence="The run finished and a manifest seals its bundle.",
    rationale="An unfinished run can be read epoch by epoch, but cannot be compared.",
)
READABLE = Rule(
    id="bundle-readable",
    sentence="Every file of the bundle can be read in its format.",
    rationale="A file that cannot be read cannot be checked.",
)
REQUEST_READABLE = Rule(
    id="request-readable",
    sentence=(
        "run.json has a request of the contract that this version of the suite reads, every value"
        " in its type."
    ),
    rationale="Without the request there is nothing to compare the records with.",
)
RULES = (RUN_COMPLETE, READABLE, REQUEST_READABLE)
