"""An implementation whose inference needs a MiB per image and may have some hundreds: it really
runs out of memory."""

import resource

from reference_impls.communication import World
from reference_impls.contract import Request
from reference_impls.fake.implementation import build as build_fake
from reference_impls.loop import Built

LIMIT_MIB = 400


def build(request: Request, world: World) -> Built:
    """The fake framework's model, after the memory was taken."""
    built = build_fake(request, world)
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_MIB * 2**20, LIMIT_MIB * 2**20))
    built.facts["memory"] = bytearray(request.global_batch_size * 2**20)
    return built
