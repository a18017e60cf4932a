"""Adds `suite/installed/` to the wheel: rules, implementations and submitters' keys, as a checkout
has them (docs/decisions.md)."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

BESIDE_THE_PACKAGES = ("rules", "reference_impls", "examples", "submissions/ALLOWED_SIGNERS")
PROGRAMS = (
    "suite/extensions/__init__.py",
    "suite/extensions/*/__init__.py",
    "suite/extensions/*/programs",
)
"""What runs in the environments of frameworks, beside implementations; an sdist has no other
``extensions`` than these."""


class BuildSuite(build_py):
    """Builds the packages, then copies what implementations are started from. An editable
    installation uses the checkout itself."""

    def run(self) -> None:
        """Start from nothing: the files of an earlier build would be in the wheel too."""
        if self.editable_mode:
            super().run()
            return
        shutil.rmtree(self.build_lib, ignore_errors=True)
        super().run()
        patterns = (*BESIDE_THE_PACKAGES, *PROGRAMS)
        for name in (str(path) for pattern in patterns for path in Path().glob(pattern)):
            target = Path(self.build_lib, "suite", "installed", name.removeprefix("suite/"))
            target.parent.mkdir(parents=True, exist_ok=True)
            if Path(name).is_dir():
                shutil.copytree(name, target, ignore=shutil.ignore_patterns("__pycache__", "build"))
            else:
                shutil.copyfile(name, target)


setup(cmdclass={"build_py": BuildSuite})
