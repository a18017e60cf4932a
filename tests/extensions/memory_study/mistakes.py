"""Typical mistakes at `suite memory`, for tests/suite/cli/mistakes.py."""

MISTAKES = {
    "suite memory plan lenet --budget 2GB": "did you mean 'workload-lenet'",
    "suite memory plan resnet18 --budget 2GB --batch 4": "did you mean '--batch-size'",
    "suite memory plan resnet18 --budget 2GB --batch-size 0": "the smallest is 1",
    "suite memory plan resnet18 --budget orinn": "did you mean 'orin'",
    "suite memory plan resnet18 --budget 2G": "write a number and a unit",
    "suite memory plan resnet18 --budget 300MB": "give at least",
    "suite memory plan resnet18 --budget 2GB --image 0": "has no pixels",
    "suite memory plan resnet18 --budget 2GB --optimizer adamw": "sgd-momentum",
    "suite memory study --networks '' --output twice.txt": "twice.txt exists",
    "suite memory study --networks resnet19": "choose from resnet18",
}
