"""`suite witness serve`: a witness for a lab."""

import sys
from pathlib import Path
from typing import Annotated

import typer
from typer import Option

from suite.cli.json_output import print_json
from suite.cli.options import Json, say
from suite.files.paths import suite_home
from suite.witness.server import Witness, WitnessServer

app = typer.Typer(no_args_is_help=True)


@app.command()
def serve(
    name: Annotated[str, Option(help="Name of the witness in its statements.")] = "lab",
    host: Annotated[
        str,
        Option(help="Address to listen on (default: all of this machine's)."),
    ] = "0.0.0.0",
    port: Annotated[
        int, Option(min=0, max=65535, help="Port to listen on (0: a free one).")
    ] = 8731,
    key: Annotated[
        Path | None,
        Option(
            help=(
                "SSH key that signs, created if it does not exist (default: witness/key in the"
                " suite's home)."
            )
        ),
    ] = None,
    journal: Annotated[
        Path | None,
        Option(
            help="File to append every statement to (default: witness/journal.jsonl in the suite's"
            " home)."
        ),
    ] = None,
    json: Json = False,
) -> None:
    """Sign the digests that runs send (`suite run --witness http://HOST:PORT`) with this machine's
    time, until Ctrl-C."""
    folder = suite_home() / "witness"
    witness = Witness(name, key or folder / "key", journal or folder / "journal.jsonl")
    try:
        with WitnessServer(witness, host, port) as server:
            if json:
                found = {"port": server.server_port, "trust_line": witness.trust_line}
                print_json("witness-serve", {"name": name, **found})
            else:
                print(
                    f"Witness {name} at port {server.server_port}. Its line for"
                    f" rules/witnesses/allowed_signers:\n{witness.trust_line}"
                )
            sys.stdout.flush()
            server.serve_forever()
    except KeyboardInterrupt:
        say("Stopped; the journal is kept.")
    finally:
        witness.close()
