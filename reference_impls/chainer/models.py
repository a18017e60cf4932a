"""The models in Chainer, one class each, and MODELS, which finds them by their workload's name for them."""

import chainer
import chainer.functions as F
import chainer.links as L


class LeNet5(chainer.Chain):
    """LeNet-5 (LeCun et al., Gradient-based learning applied to document recognition, 1998) for 28x28 grey images.

    61,706 parameters; float32 images (samples, 1, 28, 28) to logits (samples, 10). Deviations from the paper, all common
    practice: the input is padded by 2 inside the first convolution instead of beforehand; ReLU and max-pooling for tanh and
    trainable sub-sampling; the third convolution sees all maps of the second; a linear output instead of radial basis functions.
    """

    def __init__(self) -> None:
        super().__init__()
        with self.init_scope():
            self.conv1 = L.Convolution2D(1, 6, ksize=5, pad=2)
            self.conv2 = L.Convolution2D(6, 16, ksize=5)
            self.fc1 = L.Linear(16 * 5 * 5, 120)
            self.fc2 = L.Linear(120, 84)
            self.fc3 = L.Linear(84, 10)

    def forward(self, images: chainer.Variable) -> chainer.Variable:
        """Logits."""
        x = F.max_pooling_2d(F.relu(self.conv1(images)), 2, stride=2)
        x = F.max_pooling_2d(F.relu(self.conv2(x)), 2, stride=2)
        x = F.relu(self.fc1(x))
        x = F.relu(self.fc2(x))
        return self.fc3(x)


MODELS = {"lenet5": LeNet5}
