"""The models in Keras, one function each, and MODELS, which finds them by their workload's name for them.

Layers carry the canonical names of initial_weights: the layer ``conv1`` holds ``conv1.weight`` and ``conv1.bias``.
"""

import keras
from keras import layers


def lenet5() -> keras.Model:
    """LeNet-5 (LeCun et al., Gradient-based learning applied to document recognition, 1998) for 28x28 grey images.

    61,706 parameters; float32 images (samples, 28, 28, 1) to logits (samples, 10). Deviations from the paper, all common
    practice: the input is padded by 2 inside the first convolution instead of beforehand; ReLU and max-pooling for tanh and
    trainable sub-sampling; the third convolution sees all maps of the second; a linear output instead of radial basis functions.
    The maps are permuted before they are flattened, so that fc1's inputs come in the other frameworks' order.
    """
    return keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(6, 5, padding="same", activation="relu", name="conv1"),
            layers.MaxPooling2D(2),
            layers.Conv2D(16, 5, activation="relu", name="conv2"),
            layers.MaxPooling2D(2),
            layers.Permute((3, 1, 2)),
            layers.Flatten(),
            layers.Dense(120, activation="relu", name="fc1"),
            layers.Dense(84, activation="relu", name="fc2"),
            layers.Dense(10, name="fc3"),
        ]
    )


MODELS = {"lenet5": lenet5}
