"""`suite nonce lock`: the digests of entries, to be handed in before the round's nonce is given
out."""

import sys

import typer

from reference_impls.contract import request_to_dict
from suite.bundle.layout import NO_ORGANIZATION
from suite.catalog.divisions import Division
from suite.catalog.rounds import current_round
from suite.catalog.seeds import (
    configuration_sha256,
    entry_sha256,
    implementation_sha256,
    request_identity,
)
from suite.cli.json_output import print_rows
from suite.cli.options import TrainingOptions, with_options
from suite.cli.run import refuse_contradictions, resolve_requests
from suite.cli.run_settings import RunSettings
from suite.errors import SuiteError
from suite.experiments.one_run import broken_rules

app = typer.Typer(no_args_is_help=True)


@app.command()
@with_options
def lock(settings: RunSettings, training: TrainingOptions) -> None:
    """Print the digest of each entry that `suite run` with these options belongs to. Hand it in
    before the round's nonce is given out."""
    refuse_contradictions(training, settings)
    if settings.division is not Division.CLOSED:
        raise SuiteError("Only entries of the closed division are locked; add --division closed.")
    if settings.org == NO_ORGANIZATION:
        raise SuiteError("An entry is locked for an organization; name yours with --org.")
    records = []
    for request in resolve_requests(training, settings):
        broken_rules(request, allow_invalid=False)
        values = request_to_dict(request.training)
        implementation, settled = (
            implementation_sha256(request.framework),
            configuration_sha256(values),
        )
        records.append(
            {
                "entry_sha256": entry_sha256(implementation, settled),
                "implementation_sha256": implementation,
                "configuration_sha256": settled,
                "organization": request.training.organization,
                "workload": request.training.workload,
                "framework": request.training.framework,
                "configuration": request_identity(values),
            }
        )
    if training.json:
        print_rows("nonce-lock", records)
        return
    for record in records:
        print(
            f"{record['entry_sha256']}  {record['organization']} {record['workload']}"
            f" {record['framework']}"
        )
    print(
        f"Next: open a pull request that adds the digest to `locked` in rules/rounds/"
        f"{current_round().name}.toml, before the round's nonce is drawn (docs/submitting.md)",
        file=sys.stderr,
    )
