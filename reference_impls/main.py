"""The command line of an implementation: ``python -m reference_impls.<framework> --request
REQUEST.json [--ranks N]``.

Standard library only, besides mpi4py where there are several ranks. Exit codes: 0 training finished
(target reached or not), 2 error.
"""

import argparse
import traceback
from typing import Callable

from reference_impls import communication, contract, loop
from reference_impls.communication import World


def main(build: Callable[[contract.Request, World], loop.Built]) -> None:
    """Read the request and train. A violation of the contract or damaged data is one error message;
    an error on one rank ends all ranks."""
    parser = argparse.ArgumentParser(description="Train one workload as a request file says.")
    parser.add_argument(
        "--request", required=True, help="the request file that the harness wrote; rank 0 reads it"
    )
    parser.add_argument("--ranks", type=int, default=1, help="number of processes that MPI started")
    parser.add_argument(
        "--keep-states",
        metavar="FOLDER",
        help="keep every epoch's training state in this folder, which rank 0 can write",
    )
    parser.add_argument(
        "--start-state",
        metavar="FILE",
        help="continue from this training state, which rank 0 can read",
    )
    arguments = parser.parse_args()
    world = World()
    try:
        world = communication.join(arguments.ranks)
        loop.run(
            _request(arguments.request, world),
            world,
            build,
            loop.States(arguments.keep_states, arguments.start_state),
        )
    except contract.ContractError as error:
        if world.size == 1:
            contract.fail(str(error))
        contract.print_error("rank {} on {}: {}".format(world.rank, world.node, error))
        world.abort()
    except Exception as error:
        traceback.print_exc()
        if world.size > 1:
            contract.print_error(
                "rank {} on {}: {}".format(
                    world.rank,
                    world.node,
                    traceback.format_exception_only(type(error), error)[-1].strip(),
                )
            )
        world.abort()
        raise


def _request(path: str, world: World) -> contract.Request:
    values = world.bcast(
        contract.request_to_dict(contract.read_request(path)) if world.rank == 0 else None
    )
    return contract.request_from_dict(values, path)
