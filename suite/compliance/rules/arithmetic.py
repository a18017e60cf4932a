"""Arithmetic: the bits that products and convolutions had on the device, against the requested
precision."""

from collections.abc import Iterator

from reference_impls.contract import FLOAT32, log_name
from reference_impls.precisions import BANDS, MOST_BITS, is_as_requested
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation
from suite.compliance.wording import shown

ORDER = 65  # after what was trained

ARITHMETIC = "arithmetic"
BITS, OVERFLOWS = ("product_bits", "convolution_bits"), "overflows"
FIX = (
    "request the precision that the device computes in, or switch reduced precision off"
    " (docs/verifying.md)"
)


def _as_requested(context: BundleContext) -> Iterator[Violation]:
    """Check every rank's event; a float32 run on a CPU may lack it, as those of earlier versions of
    the suite do."""
    precision = context.request.precision
    needed = precision != FLOAT32 or context.request.accelerator != "cpu"
    band = BANDS[precision]
    expected = (
        f"{ARITHMETIC} of {precision}: products and convolutions with {band.lowest} to"
        f" {band.highest} bits"
    )
    for rank, log in context.logs():
        event = log.first(ARITHMETIC)
        if event is None:
            if needed:
                yield Violation(log_name(rank), expected, "no such event")
        elif not _fits(precision, event.value):
            yield Violation(log_name(rank), expected, shown(event.value), event.line)


def _fits(precision: str, value: object) -> bool:
    if not isinstance(value, dict) or type(value.get(OVERFLOWS)) is not bool:
        return False
    product, convolution = (value.get(name) for name in BITS)
    if (
        type(product) is not int
        or type(convolution) is not int
        or not 0 <= min(product, convolution) <= max(product, convolution) <= MOST_BITS
    ):
        return False
    return is_as_requested(precision, product, convolution, value[OVERFLOWS])


RULES = (
    Rule(
        "arithmetic-as-requested",
        "Products and convolutions have the bits of the requested precision, as every rank"
        " observes them on its device before the run; only a float32 run on a CPU may leave the"
        " event `arithmetic` out.",
        "Whether TF32 is on depends on the framework, its version and the environment; fewer"
        " bits are faster, and frameworks are compared within one precision.",
        FIX,
        (OfBundle("arithmetic-as-requested", _as_requested),),
    ),
)
