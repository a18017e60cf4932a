"""The models in PyTorch, one class or function each, and MODELS, which finds them by their workload's name for them."""

import torch
from torch import nn


class LeNet5(nn.Module):
    """LeNet-5 (LeCun et al., Gradient-based learning applied to document recognition, 1998) for 28x28 grey images.

    61,706 parameters. Deviations from the paper, all common practice: the input is padded by 2 inside the first
    convolution instead of beforehand; ReLU and max-pooling for tanh and trainable sub-sampling; the third convolution sees all
    maps of the second; a linear output instead of radial basis functions.
    """

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, kernel_size=5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, kernel_size=5)
        self.fc1 = nn.Linear(16 * 5 * 5, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Logits (samples, 10) of float32 images (samples, 1, 28, 28)."""
        x = nn.functional.max_pool2d(torch.relu(self.conv1(images)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        x = torch.flatten(x, 1)
        x = torch.relu(self.fc1(x))
        x = torch.relu(self.fc2(x))
        return self.fc3(x)


MODELS = {"lenet5": LeNet5}
