"""``python -m reference_impls.chainer.replay --request REQUEST.json``: its first steps in
float64."""

from reference_impls.chainer.probe import ProbedChainerModel
from reference_impls.replay import main

if __name__ == "__main__":
    main(ProbedChainerModel)
