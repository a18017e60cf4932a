"""How the ranks of a framework's own all-reduce find one another: torchrun's environment variables,
whatever launcher started the ranks.

Standard library only, Python 3.6 grammar. Addresses are those of the network on which the harness
hears of the ranks: a host's own name may mean 127.0.1.1 on the host itself (Debian), where no other
host can connect to it.
"""

import os
import socket
from typing import Dict

from reference_impls.communication import World
from reference_impls.node import route_to
from reference_impls.rank import ADDRESS_VARIABLE

INTERFACE_VARIABLES = ("GLOO_SOCKET_IFNAME", "NCCL_SOCKET_IFNAME")
"""The interface through which these libraries connect the ranks; one that the user has chosen is
kept."""


def torchrun_variables(world: World) -> Dict[str, str]:
    """What torchrun sets for a rank (PyTorch, Elastic Launch), and the interface to the other
    ranks; all ranks call this at the same time.

    MASTER_ADDR and MASTER_PORT are a free port of rank 0's host.
    """
    nodes, master = world.nodes, world.bcast(first_address(world))
    same_node = [rank for rank, node in enumerate(nodes) if node == nodes[world.rank]]
    numbers = {
        "RANK": world.rank,
        "WORLD_SIZE": world.size,
        "LOCAL_RANK": same_node.index(world.rank),
        "LOCAL_WORLD_SIZE": len(same_node),
        "MASTER_PORT": world.bcast(free_port()),
    }
    interface = route_to(master).interface
    chosen = (
        {}
        if interface is None
        else {name: os.environ.get(name, interface) for name in INTERFACE_VARIABLES}
    )
    return dict(
        chosen, MASTER_ADDR=master, **{name: str(number) for name, number in numbers.items()}
    )


def own_endpoint(world: World) -> str:
    """``host:port`` of a free TCP port, at this rank's address on the ranks' network; its host's
    name where that is unknown."""
    route = route_to(world.bcast(first_address(world)))
    return "{}:{}".format(world.node if route.interface is None else route.address, free_port())


def first_address(world: World) -> str:
    """Rank 0's host: the harness is on it, and its address there is one that every rank has
    reached. Without a harness the host's name."""
    host = os.environ.get(ADDRESS_VARIABLE, "").rpartition(":")[0]
    return host or world.node


def free_port() -> int:
    """A TCP port of this host that nobody uses now."""
    with socket.socket() as free:
        free.bind(("", 0))
        return int(free.getsockname()[1])
