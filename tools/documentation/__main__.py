"""``python -m tools.documentation OUTPUT``: the site as static pages; ends with 1 and the problems
where there are any."""

import shutil
import subprocess
import sys
from pathlib import Path

from suite.files.paths import repository_root
from tools.documentation.pages import write_source
from tools.documentation.problems import problems


def build(output: Path) -> list[str]:
    """Build the site into a new folder, without warnings of Sphinx; the problems of the built
    pages."""
    source = output.with_name(f"{output.name}-source")
    for folder in (source, output):
        shutil.rmtree(folder, ignore_errors=True)
    write_source(source, repository_root())
    command = [
        sys.executable,
        "-m",
        "sphinx",
        "-b",
        "html",
        "-W",
        "--keep-going",
        "-q",
        "-c",
        str(Path(__file__).parent),
        str(source),
        str(output),
    ]
    subprocess.run(command, check=True, cwd=repository_root())
    shutil.rmtree(output / ".doctrees")
    return list(problems(output))


if __name__ == "__main__":
    site = Path(sys.argv[1])
    found = build(site)
    sys.stdout.write(
        ("\n".join(found) or f"The first page is {site.resolve() / 'index.html'}") + "\n"
    )
    sys.exit(bool(found))
