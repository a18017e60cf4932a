"""``python -m reference_impls.chainer --request REQUEST.json``."""

from reference_impls.chainer.implementation import build
from reference_impls.main import main

if __name__ == "__main__":
    main(build)
