"""``python -m reference_impls.tensorflow --request REQUEST.json``."""

from reference_impls.main import main
from reference_impls.tensorflow.implementation import build

if __name__ == "__main__":
    main(build)
