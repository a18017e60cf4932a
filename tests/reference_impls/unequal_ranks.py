"""The implementation of a request's framework; of its two ranks the first is slower, and takes 3 of
16 samples."""

import importlib

from reference_impls import shares
from reference_impls.communication import World
from reference_impls.contract import Request
from reference_impls.loop import Built
from reference_impls.main import main

SECONDS = (13.0, 3.0)
"""Of a step: the ranks have the same number of samples in it."""


def build(request: Request, world: World) -> Built:
    """As the framework builds it."""
    measure = shares._step_s
    shares._step_s = lambda world, *of: measure(world, *of) and SECONDS[world.rank]
    name = f"reference_impls.{request.framework}.implementation"
    built: Built = importlib.import_module(name).build(request, world)
    return built


if __name__ == "__main__":
    main(build)
