"""`suite new device|meter|rule|workload|framework|extension NAME`."""

from typing import Annotated

from typer import Argument

from suite.cli.json_output import print_json
from suite.cli.options import Json
from suite.cli.skeletons import SkeletonKind, write_skeleton


def new(
    kind: Annotated[SkeletonKind, Argument(help="Kind of part.")],
    name: Annotated[str, Argument(help="Name of the part, in lower case.")],
    json: Json = False,
) -> None:
    """Write the skeleton of a new device, meter, rule, workload, framework or
    extension.

    Its contract tests fail, and name what to fill in, until every place is filled.
    docs/extending.md has an example of each kind.
    """
    skeleton = write_skeleton(kind, name)
    if json:
        print_json("new", {"files": skeleton.files, "next": skeleton.steps})
        return
    print("Wrote")
    for path in skeleton.files:
        print(f"  {path}")
    print("Next")
    for number, step in enumerate(skeleton.steps, start=1):
        print(f"  {number}. {step}")
