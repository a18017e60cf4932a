"""What a run records before it starts."""

from pathlib import Path

from suite.catalog.frameworks import load_framework
from suite.execution.preparation import RECORDED_LIBRARIES, _libraries
from suite.launch.environments import Environment


def test_of_many_packages_those_that_a_rule_asks_for_are_recorded() -> None:
    others = {f"a{number:03}": "1" for number in range(300)}
    packages = {**others, "numpy": "2", "Tensorflow-CPU": "2.1"}
    found = _libraries(Environment("", Path("python"), packages), load_framework("tensorflow"))
    assert list(found)[:3] == ["numpy", "Tensorflow-CPU", "a000"]
    assert len(found) == RECORDED_LIBRARIES
