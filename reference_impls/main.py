"""The command line of an implementation: ``python -m reference_impls.<framework> --request REQUEST.json``.

Standard library only. Exit codes: 0 trained to the end (target reached or not), 2 could not.
"""

import argparse
from typing import Callable

from reference_impls import contract, loop


def main(build: Callable[[contract.Request], loop.Built]) -> None:
    """Read the request, train, and end with one sentence where the contract or the data is broken."""
    parser = argparse.ArgumentParser(description="Train one workload as a request file says.")
    parser.add_argument("--request", required=True, help="path of the request file that the harness wrote")
    try:
        loop.run(contract.read_request(parser.parse_args().request), build)
    except contract.ContractError as error:
        contract.fail(str(error))
