"""Sensors: those that a board's own kernel always has"""

from collections.abc import Iterator

from suite.catalog.meter_choice import LEFT_OUT
from suite.compliance.finding import Severity
from suite.compliance.node_context import NodeContext
from suite.compliance.rule import BundleContext, OfBundle, Rule, Violation, Violations

ORDER = 84  # after the readings
SENSORS_ELSEWHERE = "board-sensors-elsewhere"
"""The check of runs that may lack a sensor, by kernel, container or choice: pages say so, too."""


def _absent(context: BundleContext) -> Iterator[tuple[NodeContext, str, bool]]:
    """Meters of the device's kernel without a reading: the node, the meter, and whether nothing
    explains it: a kernel of others, a container, or `--meters`."""
    profile = context.device
    if profile is None or profile.sensors is None:
        return
    for node in context.nodes_recorded():
        kernel = str(node.system.get("kernel"))
        is_stock = any(part in kernel for part in profile.sensors.kernels)
        for meter in profile.sensors.meters:
            if not node.channels.of_source(meter):
                is_left_out = _reason(node, meter) == LEFT_OUT
                yield node, meter, is_stock and context.run.isolation is None and not is_left_out


def _absent_on_stock_kernel(context: BundleContext) -> Violations:
    for node, meter, is_unexplained in _absent(context):
        if is_unexplained:
            yield _violation(context, node, meter)


def _absent_elsewhere(context: BundleContext) -> Violations:
    for node, meter, is_unexplained in _absent(context):
        if not is_unexplained:
            yield _violation(context, node, meter)


def _reason(node: NodeContext, meter: str) -> object:
    """Why a meter read nothing, by its record."""
    return node.meter_records.get(meter, {}).get("reason")


def _violation(context: BundleContext, node: NodeContext, meter: str) -> Violation:
    reason = _reason(node, meter) or "no reading"
    what = (
        f"readings of {meter}, which every {context.request.platform} with the vendor's kernel"
        " offers"
    )
    observed = f"{str(reason)[:200]}; the kernel is {node.system.get('kernel')}"
    fix = f"run again, and let --meters read {meter}" if reason == LEFT_OUT else None
    return Violation(node.meters_file, what, observed, fix=fix)


RULES = (
    Rule(
        "board-sensors",
        "A run on a board has readings of every sensor that the board's device profile lists. With"
        " a kernel other than the vendor's, in a container, or (in the open division) if --meters"
        " leaves it out, a sensor may be absent. The run is then still valid, and a note names the"
        " sensor.",
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
