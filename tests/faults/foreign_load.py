"""Faults that the rules of suite.compliance.rules.foreign_load find, by rule."""

from tests.faults.edits.fault import Fault, both, recomputed
from tests.faults.edits.load_edits import add_load, alternate_load

FAULTS: dict[str, tuple[Fault, ...]] = {
    "foreign-load": (
        recomputed("another program on nearly half a core", add_load(busy=1.0, own=0.55)),
        recomputed(
            "a hypervisor that takes a third of a core",
            add_load(busy=0.7, own=0.55, steal=0.33),
        ),
    ),
    "load-possible": (
        *both("more own CPU time than was busy", add_load(busy=1.0, own=1.8)),
        *both("less own CPU time than the implementation's", add_load(busy=1.0, own=0.1)),
        *both("foreign load edited away", add_load(busy=0.5, own=0.5)),
    ),
    "load-follows": both("busy seconds in another order than the utilisation's", alternate_load()),
    "own-load": both("another program's time called the suite's own", add_load(busy=1.0, own=0.99)),
}
