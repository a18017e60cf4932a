"""Names that the shell completes: workloads, devices, frameworks, data sets, studies, rounds."""

from collections.abc import Callable, Sequence
from typing import Protocol

from suite.catalog.data_sets import load_data_sets
from suite.catalog.devices import load_devices
from suite.catalog.frameworks import load_frameworks
from suite.catalog.study_definitions import load_studies
from suite.catalog.workloads import load_workloads
from suite.errors import SuiteError


class _Named(Protocol):
    @property
    def name(self) -> str: ...


def _names(load: Callable[[], Sequence[_Named]]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        try:
            return [each.name for each in load() if each.name.startswith(incomplete)]
        except SuiteError:  # a shell that completes a word has no room for a sentence
            return []

    return complete


workload_names, device_names, framework_names = (
    _names(load_workloads),
    _names(load_devices),
    _names(load_frameworks),
)
data_set_names, study_names = _names(load_data_sets), _names(load_studies)
