"""From a person's options to the data parallelism of a request."""

from reference_impls import contract
from suite.catalog.frameworks import Capability, Framework, refuse_without
from suite.catalog.workloads import Workload, load_workload
from suite.errors import SuiteError
from suite.execution.request import FLOAT_BYTES, Collective, Normalisation, RunOptions, Shares

BUCKET_BYTES, SMALL_MODELS_SHARE = 4 * 2**20, 0.25


def bucket_bytes(gradient_bytes: int) -> int:
    """Size of a bucket of gradients; a small model has several, so that exchanges begin during its
    backward pass (docs/multi-node.md)."""
    return min(BUCKET_BYTES, int(SMALL_MODELS_SHARE * gradient_bytes))


def requested_parallel(
    options: RunOptions, workload: Workload, train_samples: int, batch_size: int
) -> contract.Parallel:
    """The ranks, and what they exchange; raises SuiteError where a mini-batch has fewer samples."""
    placement = options.placement
    if placement.ranks == 1:
        return contract.Parallel(1, 1, "none", 0, False)
    smallest = train_samples % batch_size or batch_size
    if smallest < placement.ranks:
        raise SuiteError(
            f"An epoch's smallest mini-batch has {smallest} sample{'s' * (smallest > 1)}, fewer"
            f" than the {placement.ranks} ranks; choose another --batch-size, or fewer ranks."
        )
    return contract.Parallel(
        placement.ranks,
        placement.nodes,
        options.collective.value,
        bucket_bytes(workload.parameters * FLOAT_BYTES),
        True,
        options.normalisation.value,
        options.wire.value,
        options.shares.value,
    )


def refuse_shares(options: RunOptions, framework: Framework) -> None:
    """Raise SuiteError where shares by speed are asked for and something else excludes them."""
    if options.shares is not Shares.SPEED:
        return
    refuse_without(framework, Capability.SHARES, "--shares speed")
    if options.collective is Collective.NATIVE:
        raise SuiteError(
            "--shares speed measures each rank's time without its waits for other ranks. Only the"
            " suite's all-reduce records these waits; leave --collective native out."
        )
    normalises = load_workload(options.workload).normalisation_statistics
    if normalises and options.normalisation is Normalisation.LOCAL:
        raise SuiteError(
            "With --shares speed the ranks would normalise over unequal numbers of samples; add"
            " --normalisation synchronised, or leave --shares out."
        )
