"""LeNet-5 for 28x28 grey images in NumPy: forward, backward and SGD with momentum, in the precision
of its parameters."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

KERNEL = 5
SHAPES = {
    "conv1.weight": (6, 1, 5, 5),
    "conv1.bias": (6,),
    "conv2.weight": (16, 6, 5, 5),
    "conv2.bias": (16,),
    "fc1.weight": (120, 400),
    "fc1.bias": (120,),
    "fc2.weight": (84, 120),
    "fc2.bias": (84,),
    "fc3.weight": (10, 84),
    "fc3.bias": (10,),
}
"""Parameters in the canonical layout: (out, in[, height, width])."""


class LeNet5:
    """The model with its optimizer. ``parameters``, ``velocities`` and ``gradients`` are arrays by
    canonical name."""

    def __init__(self, parameters):
        self.parameters = parameters
        self.velocities = {name: np.zeros_like(value) for name, value in parameters.items()}
        self.gradients = {}

    def logits(self, images):
        """Class scores (samples, 10) of images (samples, 1, 28, 28)."""
        return self._forward(images)[0]

    def loss(self, images, labels):
        """Mean cross-entropy of a mini-batch; its gradients are in ``gradients``."""
        logits, kept = self._forward(images)
        shifted = logits - logits.max(axis=1, keepdims=True)
        exponents = np.exp(shifted)
        totals = exponents.sum(axis=1, keepdims=True)
        rows = np.arange(len(labels))
        error = exponents / totals
        error[rows, labels] -= 1
        self._backward(error / len(labels), kept)
        return float((np.log(totals[:, 0]) - shifted[rows, labels]).mean())

    def update(self, rate, momentum, weight_decay):
        """v = m v + g + weight_decay w; w -= rate v."""
        for name, weights in self.parameters.items():
            velocity = self.velocities[name]
            velocity *= momentum
            velocity += self.gradients[name]
            if weight_decay:
                velocity += weight_decay * weights
            weights -= rate * velocity

    def _forward(self, images):
        p = self.parameters
        padded = np.pad(images, ((0, 0), (0, 0), (2, 2), (2, 2)))
        columns1, map1 = _convolve(padded, p["conv1.weight"], p["conv1.bias"])
        pool1, chosen1 = _pool(np.maximum(map1, 0))
        columns2, map2 = _convolve(pool1, p["conv2.weight"], p["conv2.bias"])
        pool2, chosen2 = _pool(np.maximum(map2, 0))
        flat = pool2.reshape(len(images), -1)
        hidden1 = np.maximum(flat @ p["fc1.weight"].T + p["fc1.bias"], 0)
        hidden2 = np.maximum(hidden1 @ p["fc2.weight"].T + p["fc2.bias"], 0)
        logits = hidden2 @ p["fc3.weight"].T + p["fc3.bias"]
        return logits, (columns1, map1, chosen1, columns2, map2, chosen2, flat, hidden1, hidden2)

    def _backward(self, error, kept):
        columns1, map1, chosen1, columns2, map2, chosen2, flat, hidden1, hidden2 = kept
        error = self._connected("fc3", hidden2, error) * (hidden2 > 0)
        error = self._connected("fc2", hidden1, error) * (hidden1 > 0)
        error = self._connected("fc1", flat, error).reshape(-1, 16, 5, 5)
        error = self._convolved("conv2", columns2, _unpool(error, chosen2) * (map2 > 0))
        by_pixel = np.zeros((len(flat), 6, 14, 14), error.dtype)
        for row in range(KERNEL):
            for column in range(KERNEL):
                by_pixel[:, :, row : row + 10, column : column + 10] += error[:, :, row, column]
        self._convolved("conv1", columns1, _unpool(by_pixel, chosen1) * (map1 > 0), is_first=True)

    def _connected(self, layer, inputs, error):
        """Gradients of a fully connected layer; returns the error of its inputs."""
        self.gradients[layer + ".weight"] = error.T @ inputs
        self.gradients[layer + ".bias"] = error.sum(axis=0)
        return error @ self.parameters[layer + ".weight"]

    def _convolved(self, layer, columns, error, is_first=False):
        """Gradients of a convolution; returns its inputs' error by map and tap (samples, maps, 5,
        5, height, width), None for the first layer."""
        samples, maps, height, width = error.shape
        rows = error.transpose(1, 0, 2, 3).reshape(maps, -1)
        weight = self.parameters[layer + ".weight"]
        self.gradients[layer + ".weight"] = (rows @ columns).reshape(weight.shape)
        self.gradients[layer + ".bias"] = rows.sum(axis=1)
        if is_first:
            return None
        back = (weight.reshape(maps, -1).T @ rows).reshape(
            weight.shape[1], KERNEL, KERNEL, samples, height, width
        )
        return back.transpose(3, 0, 1, 2, 4, 5)


def _convolve(images, weight, bias):
    """The columns (samples x points, taps) of a convolution, and its maps (samples, maps, height,
    width)."""
    windows = sliding_window_view(images, (KERNEL, KERNEL), axis=(2, 3))
    samples, _, height, width = windows.shape[:4]
    columns = windows.transpose(0, 2, 3, 1, 4, 5).reshape(samples * height * width, -1)
    maps = columns @ weight.reshape(len(weight), -1).T + bias
    return columns, maps.reshape(samples, height, width, -1).transpose(0, 3, 1, 2)


def _pool(maps):
    """Largest of 2x2, and which of the four it was (the first of equal ones)."""
    samples, count, height, width = maps.shape
    blocks = (
        maps.reshape(samples, count, height // 2, 2, width // 2, 2)
        .transpose(0, 1, 2, 4, 3, 5)
        .reshape(samples, count, height // 2, width // 2, 4)
    )
    chosen = blocks.argmax(axis=4)[..., np.newaxis]
    return np.take_along_axis(blocks, chosen, axis=4)[..., 0], chosen


def _unpool(error, chosen):
    """The error of each pixel that was chosen; zero elsewhere."""
    samples, count, height, width = error.shape
    blocks = np.zeros((samples, count, height, width, 4), error.dtype)
    np.put_along_axis(blocks, chosen, error[..., np.newaxis], axis=4)
    return (
        blocks.reshape(samples, count, height, width, 2, 2)
        .transpose(0, 1, 2, 4, 3, 5)
        .reshape(samples, count, 2 * height, 2 * width)
    )
