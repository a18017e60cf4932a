"""``python -m reference_impls.fake --request REQUEST.json``."""

from reference_impls.fake.implementation import build
from reference_impls.main import main

if __name__ == "__main__":
    main(build)
