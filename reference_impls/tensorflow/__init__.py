"""Reference implementations in TensorFlow (Keras 3)."""
