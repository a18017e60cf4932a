"""An implementation that needs a MiB a sample and may have 400: it really runs out of memory."""

import argparse
import json
import resource
from pathlib import Path

LIMIT_MIB = 400

if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--request", required=True)
    request = json.loads(Path(parser.parse_args().request).read_text())
    resource.setrlimit(resource.RLIMIT_AS, (LIMIT_MIB * 2**20, LIMIT_MIB * 2**20))
    memory = bytearray(request["global_batch_size"] * 2**20)
    assert request["steps"] == 1
