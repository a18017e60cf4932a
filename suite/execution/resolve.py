"""From a person's options to a request: looks up the prepared data set and names the run."""

import secrets
import time
from pathlib import Path

from reference_impls.contract import DataSet
from suite.catalog.workloads import load_workload
from suite.datasets.locate import find, published
from suite.execution.request import (
    RunOptions,
    RunRequest,
    choose_data,
    chosen_framework,
    resolve,
    validate,
)

RUNS = Path("runs")


def resolve_options(
    options: RunOptions, output: Path | None = None, *, as_published: bool = False
) -> RunRequest:
    """Resolve options into a request; ``output`` is the run directory (default: runs/<run id>).

    With ``as_published`` a data set that is not prepared has the contents that its definition
    states: to show a request, not to run it. Raises SuiteError for unknown names, impossible
    values, and a data set that is not prepared or damaged.
    """
    validate(options)
    choice = choose_data(load_workload(options.workload), options.data)
    prepared = (
        published(choice.name) if as_published and choice.directory is None else None
    ) or find(choice.name, choice.directory)
    contents = prepared.contents
    data_set = DataSet(
        name=choice.name,
        directory=str(prepared.directory),
        layout=prepared.definition.layout,
        classes=contents.classes,
        train_samples=contents.train_samples,
        eval_samples=contents.eval_samples,
        verified=contents.verified,
        synthetic=prepared.is_synthetic,
    )
    run_id = new_run_id(options.workload, chosen_framework(options).name, time.time())
    return resolve(options, data_set, (output or RUNS / run_id).absolute(), run_id)


def new_run_id(workload: str, framework: str, clock_s: float) -> str:
    """A unique name for a run; names sort by time."""
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(clock_s))
    return f"{workload}-{framework}-{stamp}-{secrets.token_hex(3)}"
