"""Seeds: that of a run follows from its nonce."""

from collections.abc import Iterator

from suite.bundle.layout import RUN
from suite.catalog.seeds import NonceUse, configuration_sha256, entry_sha256, read_nonce_use
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation

ORDER = 26  # after the requests, which the seeds follow from

AGAIN = "run again with --nonce and the entry's next --run-number; the harness computes the seed"


def _seed(context: BundleContext) -> Iterator[Violation]:
    """Recompute digests and seed from the request that run.json records."""
    if context.run.nonce is None:
        return
    used = read_nonce_use(context.run.nonce)
    if used is None:
        yield Violation(
            RUN,
            "a nonce as `suite run --nonce` records it: nonce, round, run_number and three digests",
            f"{dict(context.run.nonce)!r}",
        )
        return
    yield from _digests(context, used)
    if used.seed != context.request.seed:
        yield Violation(
            RUN,
            f"seed {used.seed}, the one of nonce {used.nonce!r}, round {used.round}, entry"
            f" {used.entry_sha256[:12]} and run {used.run_number}",
            f"seed {context.request.seed}",
        )


def _digests(context: BundleContext, used: NonceUse) -> Iterator[Violation]:
    request = context.bundle.json(RUN)["request"]
    for name, expected in (
        ("configuration_sha256", configuration_sha256(request)),
        ("entry_sha256", entry_sha256(used.implementation_sha256, used.configuration_sha256)),
    ):
        if getattr(used, name) != expected:
            yield Violation(
                RUN,
                f"nonce.{name} = {expected}, as computed from the record",
                getattr(used, name)[:64],
            )


RULES = (
    Rule(
        "seed-of-nonce",
        "A run with a nonce has the seed that follows from nonce, round, implementation,"
        " configuration and run number.",
        "Nobody chose such a seed; another one was chosen.",
        AGAIN,
        (OfBundle("seed-of-nonce", _seed),),
    ),
)
