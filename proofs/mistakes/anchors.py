"""Texts of the implementations that more than one mistake changes."""

PYTORCH_LOSS = "return nn.functional.cross_entropy(self._logits(images), labels)"
PYTORCH_RATE = 'group["lr"] = learning_rate'
PYTORCH_UPDATE = "        self._optimizer.step()\n"

TENSORFLOW_FORWARD = "            loss = self._loss(labels, self._model(images, training=True))"
TENSORFLOW_RATE = "        self._optimizer.learning_rate = learning_rate\n"
TENSORFLOW_UPDATE = "        self._optimizer.apply_gradients(zip(gradients, variables))\n"

CHAINER_LOSS = "        return F.softmax_cross_entropy(self._model(images), labels)\n"
CHAINER_RATE = "        self._optimizer.lr = learning_rate\n"
CHAINER_UPDATE = "        self._optimizer.update()\n"
