"""LeNet-5 and ResNet-18 as pure functions, and a step of SGD.

Parameters and statistics are dicts of arrays by the names of docs/layers.md: pytrees as they are. A
model takes parameters, statistics, images (samples, channels, height, width) and whether it is
being trained; it returns logits and the statistics of batch normalisation from then on.
"""

import zlib
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.nn import relu

EPSILON, MOMENTUM = 1e-5, 0.1  # of batch normalisation
BLOCKS = [
    (f"layer{layer}.{block}", 32 * 2**layer, 2 if layer > 1 and block == 0 else 1)
    for layer in (1, 2, 3, 4)
    for block in (0, 1)
]
"""Name, maps and stride of ResNet-18's blocks."""


class State(NamedTuple):
    """What training changes."""

    parameter: dict
    velocity: dict
    statistic: dict


def conv(p, name, x, stride=1, padding=0):
    """Convolution; with a bias where the parameters have one."""
    y = lax.conv_general_dilated(x, p[f"{name}.weight"], (stride, stride), [(padding, padding)] * 2)
    return y + p[f"{name}.bias"][:, None, None] if f"{name}.bias" in p else y


def linear(p, name, x):
    """Fully connected layer."""
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def max_pool(x):
    """The largest of 2x2."""
    return lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")


def batch_norm(p, s, name, x, is_training):
    """Normalised maps, and the statistics ``s`` with this layer's new ones."""
    mean_name, var_name = f"{name}.running_mean", f"{name}.running_var"
    mean, var = s[mean_name], s[var_name]
    if is_training:
        n = x.size // x.shape[1]
        mean, var = x.mean((0, 2, 3)), x.var((0, 2, 3))
        seen = {mean_name: mean, var_name: var * n / (n - 1)}  # running variances are unbiased
        s = s | {key: (1 - MOMENTUM) * s[key] + MOMENTUM * now for key, now in seen.items()}
    scale = p[f"{name}.weight"] * lax.rsqrt(var + EPSILON)
    bias = p[f"{name}.bias"][:, None, None]
    return (x - mean[:, None, None]) * scale[:, None, None] + bias, s


def lenet5(p, s, x, is_training):
    """LeCun et al., 1998, with ReLU and maximum pooling."""
    x = max_pool(relu(conv(p, "conv1", x, padding=2)))
    x = max_pool(relu(conv(p, "conv2", x)))
    x = relu(linear(p, "fc1", x.reshape(len(x), -1)))
    return linear(p, "fc3", relu(linear(p, "fc2", x))), s


def resnet18(p, s, x, is_training):
    """He et al., 2016, with the stem for pictures of 32x32."""

    def conv_bn(x, s, conv_name, bn_name, **how):
        return batch_norm(p, s, bn_name, conv(p, conv_name, x, **how), is_training)

    x, s = conv_bn(x, s, "conv1", "bn1", padding=1)
    x = relu(x)
    for name, _, stride in BLOCKS:
        y, s = conv_bn(x, s, f"{name}.conv1", f"{name}.bn1", stride=stride, padding=1)
        y, s = conv_bn(relu(y), s, f"{name}.conv2", f"{name}.bn2", padding=1)
        if stride == 2:
            x, s = conv_bn(x, s, f"{name}.downsample.0", f"{name}.downsample.1", stride=2)
        x = relu(x + y)
    return linear(p, "fc", x.mean((2, 3))), s


MODELS = {"lenet5": lenet5, "resnet18": resnet18}


def shapes(model, classes):
    """Shape of every parameter; of batch normalisation's layers, too, whose weights have one
    axis."""
    if model == "lenet5":
        weights = {"conv1": (6, 1, 5, 5), "conv2": (16, 6, 5, 5)}
        weights |= {"fc1": (120, 400), "fc2": (84, 120), "fc3": (classes, 84)}
    else:
        weights, maps = {"conv1": (64, 3, 3, 3), "bn1": (64,), "fc": (classes, 512)}, 64
        for name, out, stride in BLOCKS:
            weights |= {f"{name}.conv1": (out, maps, 3, 3), f"{name}.bn1": (out,)}
            weights |= {f"{name}.conv2": (out, out, 3, 3), f"{name}.bn2": (out,)}
            if stride == 2:
                weights |= {
                    f"{name}.downsample.0": (out, maps, 1, 1),
                    f"{name}.downsample.1": (out,),
                }
            maps = out
    biases = {f"{n}.bias": w[:1] for n, w in weights.items() if model == "lenet5" or len(w) < 4}
    return {f"{name}.weight": shape for name, shape in weights.items()} | biases


def draw(name, shape, seed, how):
    """Initial values of a parameter, from a stream of its own."""
    random, area = np.random.RandomState([seed, zlib.crc32(name.encode())]), np.prod(shape[2:])
    if len(shape) == 1:  # a bias, or the weight of batch normalisation
        return np.full(shape, float(name.endswith(".weight")), np.float32)
    if how == "kaiming_normal":
        deviation = np.sqrt(2 / (shape[0] * area)) if len(shape) == 4 else 0.01
        return random.normal(0, deviation, shape).astype(np.float32)
    bound = np.sqrt(6 / ((shape[0] + shape[1]) * area))
    return random.uniform(-bound, bound, shape).astype(np.float32)


def initial_state(model, classes, seed, how):
    """Parameters from the seed; velocities, and statistics that have seen nothing."""
    of_model = shapes(model, classes)
    parameters = {name: draw(name, shape, seed, how) for name, shape in of_model.items()}
    statistics = {}
    for name, shape in of_model.items():
        if len(shape) == 1 and name.endswith(".weight"):
            layer = name.removesuffix(".weight")
            statistics[f"{layer}.running_mean"] = np.zeros(shape, np.float32)
            statistics[f"{layer}.running_var"] = np.ones(shape, np.float32)
    velocities = jax.tree.map(np.zeros_like, parameters)
    return jax.device_put(State(parameters, velocities, statistics))


def loss(parameters, statistics, images, labels, model):
    """Mean cross-entropy in training, and the new statistics."""
    logits, statistics = MODELS[model](parameters, statistics, images, True)
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1)
    return -chosen.mean(), statistics


def step(state, images, labels, rate, *, model, momentum, weight_decay):
    """The state after one update by SGD, and the loss before it."""
    (value, statistics), gradients = jax.value_and_grad(loss, has_aux=True)(
        state.parameter, state.statistic, images, labels, model
    )
    velocities = jax.tree.map(
        lambda v, g, w: momentum * v + g + weight_decay * w,
        state.velocity,
        gradients,
        state.parameter,
    )
    parameters = jax.tree.map(lambda w, v: w - rate * v, state.parameter, velocities)
    return State(parameters, velocities, statistics), value
