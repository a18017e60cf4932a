"""From a person's options to a request: looks up the prepared data set and names the run."""

import time
from pathlib import Path

from reference_impls.contract import DataSet
from suite.catalog.divisions import Division
from suite.catalog.workloads import load_workload
from suite.datasets.locate import find, how_to_prepare, published
from suite.errors import SuiteError
from suite.execution.request import (
    RunOptions,
    RunRequest,
    choose_data,
    chosen_framework,
    resolve,
    validate,
)
from suite.execution.run import new_run_id

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
    if contents.different is not None and options.division is Division.CLOSED:
        raise SuiteError(
            f"{contents.different}: it is not the published {prepared.definition.title}, which a"
            " closed run trains on; prepare it again with"
            f" {how_to_prepare(prepared.definition)}, or run it in the open division."
        )
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
