"""``python -m reference_impls.pytorch.referee --request REQUEST.json``: the request's training in
float64."""

from reference_impls.pytorch.probe import ProbedPyTorchModel
from reference_impls.referee import main

if __name__ == "__main__":
    main(ProbedPyTorchModel)
