"""``python -m reference_impls.pytorch.replay --request REQUEST.json``: its first steps in
float64."""

from reference_impls.pytorch.probe import ProbedPyTorchModel
from reference_impls.replay import main

if __name__ == "__main__":
    main(ProbedPyTorchModel)
