"""Creates the environment of every framework that is in reference_impls: ``python -m
tools.framework_environments``."""

import sys

from suite.catalog.frameworks import load_frameworks
from suite.errors import SuiteError
from suite.launch.environments import create_environment


def main() -> int:
    """Create what is missing; an environment that exists is kept. Returns 1 if one could not be
    created, after the others were."""
    failed = False
    for framework in load_frameworks():
        if framework.needs_environment and framework.environment_of is None:
            try:
                create_environment(framework, lambda line: sys.stderr.write(f"{line}\n"))
            except SuiteError as error:
                sys.stderr.write(f"error: {error}\n")
                failed = True
    return int(failed)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit("Interrupted: an unfinished environment was removed; type the same command again.")
