"""``python -m reference_impls.tensorflow.replay --request REQUEST.json``: its first steps in
float64."""

from reference_impls.replay import main
from reference_impls.tensorflow.probe import ProbedTensorFlowModel

if __name__ == "__main__":
    main(ProbedTensorFlowModel)
