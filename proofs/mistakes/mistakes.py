"""MISTAKES: small edits of the sources, each a mistake that trains something else than the workload
says, and the proof that must notice it.

A mistake of ``FLOAT32`` is made in the precision that is trained in only: what compares float64
alone cannot notice it.
"""

from proofs.mistakes.anchors import (
    CHAINER_LOSS,
    PYTORCH_LOSS,
    PYTORCH_RATE,
    PYTORCH_UPDATE,
    TENSORFLOW_FORWARD,
    TENSORFLOW_UPDATE,
)
from proofs.mistakes.every_network import in_every_network
from proofs.mistakes.mistake import (
    CHAINER,
    EVALUATION,
    GOLDEN,
    PIPELINE,
    PROBE,
    PYTORCH,
    SCHEDULE,
    STEP,
    TENSORFLOW,
    WEIGHTS,
    Mistake,
    of,
)
from proofs.mistakes.of_adaptation import OF_ADAPTATION
from proofs.mistakes.of_an_outsider import OF_AN_OUTSIDER

_PYTORCH_EVALUATES = "        self._model.eval()\n        size = "
_PYTORCH_CORRECT = "(self._logits(some).argmax(dim=1) == expected).sum()"

IN_PYTORCH = (
    *of(
        STEP,
        PYTORCH,
        PROBE,
        (
            "pytorch: images through bfloat16 in float32",
            (
                "images.to(self._device, non_blocking=True), labels.to(self._device,"
                " non_blocking=True)"
            ),
            (
                "(images.bfloat16().float() if images.dtype == torch.float32 else"
                " images).to(self._device), labels.to(self._device)"
            ),
        ),
        (
            "pytorch: the rate of the first step for all",
            PYTORCH_RATE,
            'group["lr"] = self._first = getattr(self, "_first", learning_rate)',
        ),
        (
            "pytorch: a gradient from 8 samples of the mini-batch",
            PYTORCH_LOSS,
            "return nn.functional.cross_entropy(self._logits(images[:8]), labels[:8])",
        ),
        (
            "pytorch: the sum over a smaller last mini-batch divided by the size of the others",
            PYTORCH_LOSS,
            (
                'self._size = max(getattr(self, "_size", 0), len(labels))\n        return'
                ' nn.functional.cross_entropy(self._logits(images), labels, reduction="sum") /'
                " self._size"
            ),
        ),
        (
            "pytorch: gradients clipped in float32",
            PYTORCH_UPDATE,
            "        if images.dtype == torch.float32:\n           "
            " nn.utils.clip_grad_norm_(self._model.parameters(), 0.1)\n" + PYTORCH_UPDATE,
        ),
        (
            "pytorch: Nesterov's momentum in float32",
            "weight_decay=settings.weight_decay\n",
            (
                "weight_decay=settings.weight_decay, nesterov=next(model.parameters()).dtype =="
                " torch.float32\n"
            ),
        ),
        (
            "pytorch: dampened momentum",
            "weight_decay=settings.weight_decay\n",
            "weight_decay=settings.weight_decay, dampening=0.1\n",
        ),
        (
            "pytorch: smoothed labels in float32",
            PYTORCH_LOSS,
            (
                "return nn.functional.cross_entropy(self._logits(images), labels,"
                " label_smoothing=0.1 * (images.dtype == torch.float32))"
            ),
        ),
        (
            "pytorch: gradients of two mini-batches accumulate",
            "        self._optimizer.zero_grad(set_to_none=True)\n",
            (
                '        self._done = getattr(self, "_done", 0) + 1\n        if self._done % 6:\n  '
                "          self._optimizer.zero_grad(set_to_none=True)\n"
            ),
        ),
    ),
    *of(
        WEIGHTS,
        PYTORCH,
        PROBE,
        (
            "pytorch: weights without the seed",
            "initial_weights.requested(request, shapes)",
            "initial_weights.requested(request._replace(seed=1), shapes)",
        ),
        (
            "pytorch: its own initial weights",
            "            parameter.copy_(torch.from_numpy(weights[name]))",
            "            weights[name]",
        ),
        (
            "pytorch: biases left at its own",
            "            parameter.copy_(torch.from_numpy(weights[name]))",
            (
                "            if parameter.dim() > 1:\n               "
                " parameter.copy_(torch.from_numpy(weights[name]))"
            ),
        ),
    ),
    *of(
        EVALUATION,
        PYTORCH,
        PROBE,
        (
            "pytorch: one of the top two is correct",
            _PYTORCH_CORRECT,
            "(self._logits(some).topk(2, dim=1).indices == expected[:, None]).sum()",
        ),
        (
            "pytorch: the evaluation counts one sample less",
            _PYTORCH_CORRECT,
            "(self._logits(some).argmax(dim=1) == expected)[1:].sum()",
        ),
        (
            "pytorch: an evaluation trains",
            _PYTORCH_EVALUATES,
            "        with torch.enable_grad():\n            self.step(device_batch, 0.001, 1.0)\n"
            + _PYTORCH_EVALUATES,
        ),
    ),
    *of(
        EVALUATION,
        PYTORCH,
        PROBE,
        (
            "pytorch: evaluated in training mode",
            _PYTORCH_EVALUATES,
            _PYTORCH_EVALUATES.replace("eval()", "train()"),
        ),
        workload="resnet18",
    ),
    *of(
        STEP,
        PYTORCH,
        PROBE,
        (
            "pytorch: trained in inference mode",
            "        self._model.train()\n        if self._has_accumulated:\n",
            "        self._model.eval()\n        if self._has_accumulated:\n",
        ),
        workload="resnet18",
    ),
    *of(
        STEP,
        "reference_impls/pytorch/models.py",
        PROBE,
        (
            "pytorch: MobileNetV3's dropout stays at a fifth",
            "            module.p = 0.0",
            "            module.p = 0.2",
        ),
        workload="mobilenetv3",
    ),
)

_TENSORFLOW_CORRECT = "        predicted = tf.argmax(self._model(images, training=False), axis=1)\n"

IN_TENSORFLOW = (
    *of(
        STEP,
        TENSORFLOW,
        PROBE,
        (
            "tensorflow: images through bfloat16 in float32",
            TENSORFLOW_FORWARD,
            "            images = images if images.dtype == tf.float64 else tf.cast(tf.cast(images,"
            " tf.bfloat16), tf.float32)\n" + TENSORFLOW_FORWARD,
        ),
        (
            "tensorflow: a gradient from 8 samples of the mini-batch",
            TENSORFLOW_FORWARD,
            "            loss = self._loss(labels[:8], self._model(images[:8], training=True))",
        ),
        (
            "tensorflow: gradients clipped in float32",
            TENSORFLOW_UPDATE,
            "        if learning_rate.dtype == tf.float32:\n            gradients ="
            " tf.clip_by_global_norm(gradients, 0.1)[0]\n" + TENSORFLOW_UPDATE,
        ),
        (
            "tensorflow: Keras's momentum",
            (
                "        self.assign(velocity, self.momentum * velocity + gradient)\n"
                "        self.assign_sub(variable, learning_rate * velocity)\n"
            ),
            (
                "        self.assign(velocity, self.momentum * velocity + learning_rate *"
                " gradient)\n        self.assign_sub(variable, velocity)\n"
            ),
        ),
        (
            "tensorflow: Nesterov's momentum in float32",
            "        self.assign_sub(variable, learning_rate * velocity)\n",
            (
                '        ahead = self.momentum * velocity + gradient if variable.dtype == "float32"'
                " else velocity\n        self.assign_sub(variable, learning_rate * ahead)\n"
            ),
        ),
    ),
    *of(
        WEIGHTS,
        TENSORFLOW,
        PROBE,
        (
            "tensorflow: weights without the seed",
            "initial_weights.requested(request, shapes)",
            "initial_weights.requested(request._replace(seed=1), shapes)",
        ),
        (
            "tensorflow: its own initial weights",
            "        named[name].write(value)\n",
            "        named[name], value\n",
        ),
        (
            "tensorflow: kernels drawn in Keras's layout",
            "        named[name].write(value)\n",
            "        named[name].variable.assign(value.reshape(named[name].variable.shape))\n",
        ),
    ),
    *of(
        EVALUATION,
        TENSORFLOW,
        PROBE,
        (
            "tensorflow: one of the top two is correct",
            _TENSORFLOW_CORRECT,
            "        return tf.reduce_sum(tf.cast(tf.math.in_top_k(labels, self._model(images,"
            " training=False), 2), tf.int32))\n" + _TENSORFLOW_CORRECT,
        ),
    ),
    *of(
        EVALUATION,
        TENSORFLOW,
        PROBE,
        (
            "tensorflow: evaluated in training mode",
            _TENSORFLOW_CORRECT,
            _TENSORFLOW_CORRECT.replace("training=False", "training=True"),
        ),
        workload="resnet18",
    ),
)

_CHAINER_CORRECT = "self._number((self._model(images).array.argmax(axis=1) == labels).sum())"

IN_CHAINER = (
    *of(
        STEP,
        CHAINER,
        PROBE,
        (
            "chainer: a gradient from 8 samples of the mini-batch",
            CHAINER_LOSS,
            "        return F.softmax_cross_entropy(self._model(images[:8]), labels[:8])\n",
        ),
        (
            "chainer: the sum over a smaller last mini-batch divided by the size of the others",
            CHAINER_LOSS,
            (
                '        self._size = max(getattr(self, "_size", 0), len(labels))\n        return'
                ' F.sum(F.softmax_cross_entropy(self._model(images), labels, reduce="no")) /'
                " self._size\n"
            ),
        ),
        (
            "chainer: its own momentum, scaled by the rate",
            (
                "        velocity += param.grad\n        param.array -= self.hyperparam.lr *"
                " velocity\n"
            ),
            (
                "        velocity += self.hyperparam.lr * param.grad\n        param.array -="
                " velocity\n"
            ),
        ),
        (
            "chainer: weights rounded to float16 after the update",
            "        param.array -= self.hyperparam.lr * velocity\n",
            (
                "        param.array -= self.hyperparam.lr * velocity\n        if param.dtype =="
                " np.float32:\n            param.array[...] = param.array.astype(np.float16)\n"
            ),
        ),
    ),
    *of(
        WEIGHTS,
        CHAINER,
        PROBE,
        (
            "chainer: weights without the seed",
            "initial_weights.requested(request, shapes)",
            "initial_weights.requested(request._replace(seed=1), shapes)",
        ),
        (
            "chainer: its own initial weights",
            "        named[name].array[...] = value\n",
            "        named[name].array[...] = named[name].array\n",
        ),
    ),
    *of(
        EVALUATION,
        CHAINER,
        PROBE,
        (
            "chainer: one of the top two is correct",
            _CHAINER_CORRECT,
            (
                "self._number((self._model(images).array.argsort(axis=1)[:, -2:] == labels[:,"
                " None]).sum())"
            ),
        ),
    ),
    *of(
        EVALUATION,
        CHAINER,
        PROBE,
        ("chainer: evaluated in training mode", 'chainer.using_config("train", False), ', ""),
        workload="resnet18",
    ),
)

MNIST, CIFAR10, PHOTOGRAPHS = (
    f"reference_impls/data/{name}.py" for name in ("mnist", "cifar10", "photographs")
)
PIPELINES, ORDER_OF_SAMPLES = "reference_impls/data/pipelines.py", "reference_impls/data/order.py"
_MIRRORED_ROWS = "    mirrored = draws[:, 2] < 0.5\n"
_PLANES = "            images[rows] = records[:, 1:].reshape(-1, 3, SIDE, SIDE)\n"
_PIXELS = "    pixels = np.asarray(square)\n"
_SHRUNK = "shrunk = max(1.0, min(crop[2] - crop[0], crop[3] - crop[1]) / side)"
_AREA = "area = width * height * (0.08 + 0.92 * draw[0])"
_ASPECT = "aspect = math.exp(math.log(3 / 4) + draw[1] * (math.log(4 / 3) - math.log(3 / 4)))"
_DRAWS = "random_sample((len(order), reader.draws))"
_SPLIT = "        split = _checked(reader.training(), request.data.train_samples, request)\n"
_TRAINED = "request.global_batch_size, draws, normalise, self._share)"
_EVALUATED = "np.arange(len(split.labels))[self._share.of(len(split.labels))]"
_ORDER = "np.random.RandomState([seed, epoch]).permutation(samples)"

IN_PIPELINES = (
    *of(
        PIPELINE,
        ORDER_OF_SAMPLES,
        GOLDEN,
        (
            "order: the same in every epoch",
            _ORDER,
            "np.random.RandomState([seed, 1]).permutation(samples)",
        ),
        (
            "order: without the seed",
            _ORDER,
            "np.random.RandomState([1, epoch]).permutation(samples)",
        ),
        ("order: of the files", _ORDER, "np.arange(samples)"),
        (
            "order: drawn with replacement",
            _ORDER,
            "np.random.RandomState([seed, epoch]).randint(0, samples, samples)",
        ),
        (
            "order: NumPy's newer generator",
            _ORDER,
            "np.random.default_rng([seed, epoch]).permutation(samples)",
        ),
        ("order: the same from epoch 3 on", _ORDER, _ORDER.replace("epoch", "min(epoch, 3)")),
        (
            "order: begins again after 32 epochs",
            _ORDER,
            _ORDER.replace("epoch", "(epoch - 1) % 32 + 1"),
        ),
        ("order: eight bits of the seed", _ORDER, _ORDER.replace("seed", "seed % 256")),
    ),
    *of(
        PIPELINE,
        MNIST,
        GOLDEN,
        (
            "mnist: transposed digits",
            "        return split.images[chosen][:, np.newaxis]\n",
            "        return split.images[chosen].transpose(0, 2, 1)[:, np.newaxis]\n",
        ),
        (
            "mnist: mirrored digits",
            "        return split.images[chosen][:, np.newaxis]\n",
            "        return split.images[chosen][:, np.newaxis, :, ::-1]\n",
        ),
    ),
    *of(
        PIPELINE,
        CIFAR10,
        GOLDEN,
        (
            "cifar10: planes read as interleaved channels",
            _PLANES,
            (
                "            images[rows] = records[:, 1:].reshape(-1, SIDE, SIDE, 3).transpose(0,"
                " 3, 1, 2)\n"
            ),
        ),
        (
            "cifar10: blue first",
            _PLANES,
            "            images[rows] = records[:, 1:].reshape(-1, 3, SIDE, SIDE)[:, ::-1]\n",
        ),
        ("cifar10: never mirrored", _MIRRORED_ROWS, "    mirrored = draws[:, 2] < 0.0\n"),
        (
            "cifar10: mirrored three times in four",
            _MIRRORED_ROWS,
            "    mirrored = draws[:, 2] < 0.75\n",
        ),
        (
            "cifar10: mirrored all or none of a mini-batch",
            _MIRRORED_ROWS,
            "    mirrored = np.full(samples, draws[0, 2] < 0.5)\n",
        ),
        (
            "cifar10: windows never reach the last row",
            "(draws[:, 0, np.newaxis] * (2 * PADDING + 1))",
            "(draws[:, 0, np.newaxis] * 2 * PADDING)",
        ),
        (
            "cifar10: windows as far across as down",
            "columns = (draws[:, 1, np.newaxis]",
            "columns = (draws[:, 0, np.newaxis]",
        ),
        ("cifar10: padded by two", "PADDING = 4\n", "PADDING = 2\n"),
        (
            "cifar10: grey around the image",
            (
                "    padded = np.zeros((samples, channels, side + 2 * PADDING, side + 2 * PADDING),"
                " np.uint8)\n"
            ),
            (
                "    padded = np.full((samples, channels, side + 2 * PADDING, side + 2 * PADDING),"
                " 128, np.uint8)\n"
            ),
        ),
    ),
    *of(
        PIPELINE,
        PHOTOGRAPHS,
        GOLDEN,
        (
            "photographs: crops from a quarter of the area",
            _AREA,
            "area = width * height * (0.25 + 0.75 * draw[0])",
        ),
        (
            "photographs: aspect ratios from 1:2 to 2:1",
            _ASPECT,
            _ASPECT.replace("3 / 4", "1 / 2").replace("4 / 3", "2 / 1"),
        ),
        (
            "photographs: aspect ratio of the wrong side",
            "math.sqrt(area * aspect)), min(height, math.sqrt(area / aspect))",
            "math.sqrt(area / aspect)), min(height, math.sqrt(area * aspect))",
        ),
        (
            "photographs: crops from the upper left",
            "left, top = draw[2] * (width - wide), draw[3] * (height - high)",
            "left, top = 0.0, 0.0",
        ),
        ("photographs: never mirrored", "bool(draw[4] < 0.5)", "False"),
        ("photographs: blue first", _PIXELS, "    pixels = np.asarray(square)[:, :, ::-1]\n"),
        ("photographs: nearest pixel", "Image.BILINEAR", "Image.NEAREST"),
        ("photographs: bicubic", "Image.BILINEAR", "Image.BICUBIC"),
        (
            "photographs: the crop's edges rounded to pixels",
            "box=[edge * scale for edge in crop]",
            "box=[round(edge * scale) for edge in crop]",
        ),
        (
            "photographs: the crop of a shrunk JPEG in the pixels of the whole",
            "scale = 1 / round(full_width / image.width)",
            "scale = 1.0",
        ),
        (
            "photographs: the crop of a shrunk JPEG in a part of its width, rounded up",
            "scale = 1 / round(full_width / image.width)",
            "scale = image.width / full_width",
        ),
        (
            "photographs: a JPEG decoded at half the pixels that its crop needs",
            _SHRUNK,
            _SHRUNK.replace("max(1.0, ", "max(1.0, 2.0 * "),
        ),
        (
            "photographs: a JPEG decoded with a tenth too few pixels",
            _SHRUNK,
            _SHRUNK.replace("max(1.0, ", "max(1.0, 1.1 * "),
        ),
        (
            "photographs: a JPEG decoded for its crop's long side",
            _SHRUNK,
            _SHRUNK.replace("min(", "max("),
        ),
        (
            "photographs: a JPEG decoded for the whole picture",
            _SHRUNK,
            "shrunk = max(1.0, min(image.width, image.height) / side)",
        ),
        ("photographs: a JPEG decoded at full size", _SHRUNK, "shrunk = 1.0"),
        (
            "photographs: bicubic for large pictures",
            "Image.BILINEAR",
            "Image.BICUBIC if full_width > 1000 else Image.BILINEAR",
        ),
        (
            "photographs: large pictures reduced by whole factors first",
            "box=[edge * scale for edge in crop]",
            "box=[edge * scale for edge in crop], reducing_gap=1.0",
        ),
        (
            "photographs: the edges of a large picture's crop rounded to pixels",
            "box=[edge * scale for edge in crop]",
            "box=[round(edge * scale) if full_width > 1000 else edge * scale for edge in crop]",
        ),
        ("photographs: the middle at full size", "SHORT_SIDE = 256", "SHORT_SIDE = 224"),
        (
            "photographs: mirrored top to bottom",
            "    return pixels[:, ::-1] if mirrored",
            "    return pixels[::-1] if mirrored",
        ),
    ),
    *of(
        PIPELINE,
        PIPELINES,
        GOLDEN,
        ("normalisation: pixels divided by 256", "(1.0 / (255.0 * std))", "(1.0 / (256.0 * std))"),
        (
            "normalisation: deviations of the channels reversed",
            "self._scale = (1.0 / (255.0 * std))",
            "self._scale = (1.0 / (255.0 * std[::-1]))",
        ),
        ("normalisation: the mean not divided by the deviation", "(-mean / std)", "(-mean)"),
        (
            "augmentation: the same in every epoch",
            "[request.seed, epoch, 1]",
            "[request.seed, 1, 1]",
        ),
        (
            "augmentation: the same from epoch 3 on",
            "[request.seed, epoch, 1]",
            "[request.seed, min(epoch, 3), 1]",
        ),
        (
            "augmentation: drawn once an epoch",
            _DRAWS,
            "random_sample((1, reader.draws)).repeat(len(order), 0)",
        ),
        ("augmentation: without the seed", "[request.seed, epoch, 1]", "[1, epoch, 1]"),
        (
            "augmentation: by place in the epoch, not by sample",
            "self._draws[chosen]",
            "self._draws[index * self._size :][: len(chosen)]",
        ),
        (
            "mini-batches: the smaller last one dropped",
            "return -(-len(self._order) // self._size)",
            "return max(1, len(self._order) // self._size)",
        ),
        (
            "mini-batches: the smaller last one dropped from epoch 2 on",
            "split, order, request.global_batch_size",
            (
                "split, order[: len(order) // request.global_batch_size * request.global_batch_size"
                " if epoch > 1 else None], request.global_batch_size"
            ),
        ),
        (
            "mini-batches: another size from epoch 5 on",
            _TRAINED,
            _TRAINED.replace("size, ", "size // (1 + (epoch > 4)), "),
        ),
        (
            "labels: of the sample before from epoch 4 on",
            _SPLIT,
            _SPLIT + "        if epoch > 3:\n"
            "            split = split._replace(labels=np.roll(split.labels, 1))\n",
        ),
        (
            "ranks: every one trains on all samples from epoch 4 on",
            _TRAINED,
            _TRAINED.replace("self._share", "self._share if epoch < 4 else ALONE"),
        ),
        (
            "ranks: the first rank's share for all from epoch 4 on",
            _TRAINED,
            _TRAINED.replace(
                "self._share", "self._share._replace(rank=self._share.rank if epoch < 4 else 0)"
            ),
        ),
        (
            "ranks: blocks of a mini-batch for every n-th sample",
            "whole[self._share.of(len(whole))]",
            (
                "whole[self._share.rank * (self._size // self._share.size) :][: self._size //"
                " self._share.size if self._share.rank + 1 < self._share.size else None]"
            ),
        ),
        (
            "evaluation: augmented pictures",
            "reader.evaluation_batch, None, normalise",
            (
                "reader.evaluation_batch, np.random.RandomState([request.seed, 0,"
                " 1]).random_sample((len(split.labels), reader.draws)), normalise"
            ),
        ),
        (
            "evaluation: the smaller last mini-batch dropped",
            _EVALUATED,
            _EVALUATED
            + "[: max(1, len(split.labels) // reader.evaluation_batch) * reader.evaluation_batch]",
        ),
        (
            "evaluation: the first rank's share for all",
            _EVALUATED,
            _EVALUATED.replace("self._share.of", "self._share._replace(rank=0).of"),
        ),
    ),
)

SCHEDULES, LOOP, UPDATES = (
    f"reference_impls/{name}.py" for name in ("schedules", "loop", "updates")
)
_COSINE = (
    "    return base * 0.5 * (1.0 + math.cos(math.pi * (step - warm_up) / (steps - warm_up)))\n"
)

IN_SCHEDULES = (
    *of(
        SCHEDULE,
        SCHEDULES,
        GOLDEN,
        (
            "one_cycle: warm-up over a tenth",
            "    warm_up = 0.3 * steps\n",
            "    warm_up = 0.1 * steps\n",
        ),
        (
            "one_cycle: linear for the cosine",
            _COSINE,
            "    return base * (1.0 - (step - warm_up) / (steps - warm_up))\n",
        ),
        (
            "one_cycle: from a tenth of the rate",
            "(0.04 + 0.96 * step / warm_up)",
            "(0.1 + 0.9 * step / warm_up)",
        ),
        (
            "one_cycle: a cosine upwards too, PyTorch's default",
            "(0.04 + 0.96 * step / warm_up)",
            "(0.52 - 0.48 * math.cos(math.pi * step / warm_up))",
        ),
        (
            "one_cycle: ends at a twenty-fifth",
            _COSINE,
            (
                "    return base * (0.04 + 0.48 * (1.0 + math.cos(math.pi * (step - warm_up) /"
                " (steps - warm_up))))\n"
            ),
        ),
        (
            "linear: reaches zero at the last step",
            "(1.0 - step / float(steps))",
            "(1.0 - step / max(1.0, steps - 1.0))",
        ),
        ("linear: to a tenth", "(1.0 - step / float(steps))", "(1.0 - 0.9 * step / float(steps))"),
        ("constant: decays", "    return base\n", "    return base * 0.999**step\n"),
    ),
    *of(
        SCHEDULE,
        LOOP,
        GOLDEN,
        (
            "loop: the rate of the next step",
            "step(on_device, learning_rate(request, index), samples / update.samples)",
            "step(on_device, learning_rate(request, index + 1), samples / update.samples)",
        ),
        (
            "loop: one rate for an epoch",
            "step(on_device, learning_rate(request, index), samples / update.samples)",
            "step(on_device, learning_rate(request, done), samples / update.samples)",
        ),
        (
            "loop: the schedule starts again in every epoch",
            "step(on_device, learning_rate(request, index), samples / update.samples)",
            "step(on_device, learning_rate(request, index - done), samples / update.samples)",
        ),
    ),
    *of(
        SCHEDULE,
        UPDATES,
        GOLDEN,
        (
            "updates: the horizon is one epoch longer",
            "horizon = SCHEDULES[optimizer.schedule], request.epochs * whole",
            "horizon = SCHEDULES[optimizer.schedule], (request.epochs + 1) * whole",
        ),
    ),
    *of(
        EVALUATION,
        LOOP,
        GOLDEN,
        (
            "loop: the accuracy over the training samples",
            "accuracy = correct / self._request.data.eval_samples",
            "accuracy = correct / self._request.data.train_samples",
        ),
        (
            "loop: a rounded accuracy reaches the target",
            "accuracy >= request.target_accuracy",
            "round(accuracy, 2) >= request.target_accuracy",
        ),
        (
            "loop: the target itself does not reach it",
            "accuracy >= request.target_accuracy",
            "accuracy > request.target_accuracy",
        ),
        (
            "loop: the training set evaluated",
            "for batch in pipeline.evaluation()",
            "for batch in pipeline.training(1)",
        ),
        (
            "loop: the first evaluation mini-batch alone",
            "for batch in pipeline.evaluation()",
            "for batch in [next(iter(pipeline.evaluation()))]",
        ),
    ),
    *of(
        PIPELINE,
        LOOP,
        GOLDEN,
        (
            "loop: every epoch from the third on is the third",
            "batches = iter(self._pipeline.training(epoch))",
            "batches = iter(self._pipeline.training(min(epoch, 3)))",
        ),
        (
            "loop: every epoch is the first",
            "batches = iter(self._pipeline.training(epoch))",
            "batches = iter(self._pipeline.training(1))",
        ),
    ),
)

INITIAL_WEIGHTS = "reference_impls/initial_weights.py"
_STREAM = 'np.random.RandomState([seed, zlib.crc32(name.encode("ascii"))])'

IN_WEIGHTS = of(
    WEIGHTS,
    INITIAL_WEIGHTS,
    GOLDEN,
    (
        "weights: fan_in for fan_out",
        "np.sqrt(2.0 / (shape[0] * np.prod(shape[2:])))",
        "np.sqrt(2.0 / np.prod(shape[1:]))",
    ),
    (
        "weights: no gain for ReLUs",
        "np.sqrt(2.0 / (shape[0] * np.prod(shape[2:])))",
        "np.sqrt(1.0 / (shape[0] * np.prod(shape[2:])))",
    ),
    ("weights: linear layers ten times wider", "deviation = 0.01 if", "deviation = 0.1 if"),
    (
        "weights: Glorot without the kernel's area",
        "    receptive_field = int(np.prod(shapes[name][2:]))\n",
        "    receptive_field = 1\n",
    ),
    (
        "weights: Glorot's normal distribution",
        (
            "    bound = np.sqrt(6.0 / (_fan_in(name, shapes) + shapes[name][0] *"
            " receptive_field))\n    return stream.uniform(-bound, bound, size=shapes[name])"
        ),
        (
            "    bound = np.sqrt(2.0 / (_fan_in(name, shapes) + shapes[name][0] *"
            " receptive_field))\n    return stream.normal(0.0, bound, size=shapes[name])"
        ),
    ),
    (
        "weights: a uniform bound of sqrt(3 / fan_in)",
        "    bound = 1.0 / np.sqrt(_fan_in(name, shapes))\n",
        "    bound = np.sqrt(3.0) / np.sqrt(_fan_in(name, shapes))\n",
    ),
    ("weights: every layer from one stream", _STREAM, "np.random.RandomState([seed, 0])"),
    (
        "weights: without the seed",
        _STREAM,
        'np.random.RandomState([1, zlib.crc32(name.encode("ascii"))])',
    ),
    (
        "weights: scales of batch normalisation from zero",
        "        return np.ones(shape)\n",
        "        return np.zeros(shape)\n",
    ),
    (
        "weights: rounded to float16",
        "draw(_stream(seed, stream + name), name, shapes).astype(np.float32)",
        "draw(_stream(seed, stream + name), name, shapes).astype(np.float16).astype(np.float32)",
    ),
)

MISTAKES = (
    *in_every_network(),
    *OF_AN_OUTSIDER,
    *OF_ADAPTATION,
    *IN_PYTORCH,
    *IN_TENSORFLOW,
    *IN_CHAINER,
    *IN_PIPELINES,
    *IN_SCHEDULES,
    *IN_WEIGHTS,
)

NONE = Mistake("no mistake", "none", SCHEDULES, "    return base\n", "    return base\n", GOLDEN)
"""An edit that changes nothing, which nothing may notice."""
