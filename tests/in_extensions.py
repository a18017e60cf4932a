"""What the tests of an extension bring to tests of the suite: modules of fixed names in its folder
``tests/extensions/<kind>/``, found by being there.

- ``faults``: ``FAULTS``, what the rules must find (tests/faults)
- ``hostile``: ``HOSTILE``, files of its folder that hold anything (tests/hostile_folder.py)
- ``mistakes``: ``MISTAKES``, typical mistakes at its command (tests/suite/cli/mistakes.py)
"""

import importlib
from pathlib import Path
from types import ModuleType


def modules_named(name: str) -> dict[str, ModuleType]:
    """The modules of this name, by extension."""
    files = sorted((Path(__file__).parent / "extensions").glob(f"*/{name}.py"))
    return {
        file.parent.name: importlib.import_module(f"tests.extensions.{file.parent.name}.{name}")
        for file in files
    }
