"""``python -m reference_impls.pytorch --request REQUEST.json``."""

from reference_impls.main import main
from reference_impls.pytorch.implementation import build

if __name__ == "__main__":
    main(build)
