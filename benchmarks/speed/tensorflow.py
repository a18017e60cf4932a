"""TensorFlow: Keras's `fit` and Keras's batch normalisation compared with ours; theirs / ours, so
more than 1 means that ours is faster.

The worker is benchmarks/workers/tensorflow_loop.py, in TensorFlow's environment.
"""

from benchmarks.runner.command_line import run_alone
from benchmarks.speed.loops import Case, loop_benchmark

FIT, STOCK, REFERENCE, BF16 = (
    "Keras's fit over arrays",
    "Keras's batch normalisation",
    "in float32",
    "in bf16-mixed",
)
CASES = (
    Case("lenet", "LeNet-5; ours from MNIST's files", FIT, 16, 300, data="mnist"),
    Case("resnet18", "ResNet-18, arrays in memory", FIT, 32, 3),
    Case("resnet50", "ResNet-50, arrays in memory", FIT, 16, 2),
    Case("vgg11", "VGG-11, arrays in memory", FIT, 32, 5),
    Case("mobilenetv3", "MobileNetV3-Large, arrays in memory", FIT, 8, 5),
    Case("resnet18-stock", "ResNet-18 in our loop", STOCK, 32, 3),
    Case("mobilenetv3-stock", "MobileNetV3-Large in our loop", STOCK, 16, 3),
    Case("resnet18-bf16", "ResNet-18 in our loop", REFERENCE, 32, 3, ours=BF16),
    Case("vgg11-bf16", "VGG-11 in our loop", REFERENCE, 32, 5, ours=BF16),
    Case("mobilenetv3-bf16", "MobileNetV3-Large in our loop", REFERENCE, 8, 5, ours=BF16),
)
BENCHMARK = loop_benchmark(
    "tensorflow",
    "How fast is our TensorFlow loop compared with Keras's own?",
    CASES,
    full_s=360,
    quick_s=80,
)

if __name__ == "__main__":
    run_alone(BENCHMARK, __doc__)
