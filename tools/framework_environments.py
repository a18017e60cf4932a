"""Creates the environment of every framework that is in reference_impls: ``python -m tools.framework_environments``."""

import sys

from suite.catalog.frameworks import load_frameworks
from suite.launch.environments import create


def main() -> None:
    """Create what is missing; an environment that exists is kept."""
    for framework in load_frameworks():
        if framework.needs_environment and framework.environment_of is None:
            create(framework, lambda line: sys.stderr.write(f"{line}\n"))


if __name__ == "__main__":
    main()
