"""Sensors: those that a board's own kernel always has"""

from collections.abc import Iterator

from suite.compliance.finding import Severity
from suite.compliance.node_context import NodeContext
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations

ORDER = 84  # after the readings
SENSORS_ELSEWHERE = "board-sensors-elsewhere"
"""The check of kernels and containers that may lack a sensor: pages say so, too."""


def _absent(context: BundleContext) -> Iterator[tuple[NodeContext, str, bool]]:
    """Meters of the device's kernel without a reading: the node, the meter, and whether the
    vendor's kernel ran the implementation without a container."""
    profile = context.device
    if profile is None or profile.sensors is None:
        return
    for node in context.nodes_recorded():
        kernel = str(node.system.get("kernel"))
        is_stock = any(part in kernel for part in profile.sensors.kernels)
        for meter in profile.sensors.meters:
            if not node.channels.of_source(meter):
                yield node, meter, is_stock and context.run.isolation is None


def _absent_on_stock_kernel(context: BundleContext) -> Violations:
    for node, meter, is_stock in _absent(context):
        if is_stock:
            yield _violation(context, node, meter)


def _absent_elsewhere(context: BundleContext) -> Violations:
    for node, meter, is_stock in _absent(context):
        if not is_stock:
            yield _violation(context, node, meter)


def _violation(context: BundleContext, node: NodeContext, meter: str) -> Violation:
    reason = node.meter_records.get(meter, {}).get("reason") or "no reading"
    what = (
        f"readings of {meter}, which every {context.request.platform} with the vendor's kernel"
        " offers"
    )
    observed = f"{str(reason)[:200]}; the kernel is {node.system.get('kernel')}"
    return Violation(node.meters_file, what, observed)


RULES = (
    Rule(
        "board-sensors",
        "A run on a board has readings of every sensor that the board's device profile lists. With"
        " a kernel other than the vendor's, or in a container, a sensor may be absent. The run is"
        " then still valid, and a note names the sensor.",
        "The vendor's kernel always offers these sensors to every user. Without their readings,"
        " nothing shows that the run was made on this board, or whether heat slowed it down.",
        "run with the vendor's kernel, outside of a container, and give the user that runs the"
        " suite read access to /sys",
        (
            OfBundle("board-sensors", _absent_on_stock_kernel),
            OfBundle(SENSORS_ELSEWHERE, _absent_elsewhere, severity=Severity.NOTE),
        ),
    ),
)
