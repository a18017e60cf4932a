"""Run in a framework's environment by proofs.forgeries.worker: trains one request file after the
other, as `python -m MODULE` does."""

import runpy
import sys

sys.path.insert(0, ".")


def main(module: str) -> None:
    """Answer every line of standard input, the name of a request file, with "done" or what went
    wrong."""
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        sys.argv = [module, "--request", line.strip()]
        try:
            runpy.run_module(module, run_name="__main__")
            answer = "done"
        except SystemExit as end:
            answer = f"exit code {end.code}"
        answers.write(answer + "\n")
        answers.flush()


if __name__ == "__main__":
    main(sys.argv[1])
