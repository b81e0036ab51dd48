"""TensorFlow 1, on tensorfleet: `import tensorfleet.tensorflow as tf` in place of `import tensorflow as tf`.

The name stands for TensorFlow's own module `tensorflow.compat.v1` with the behaviour of version 1 (graphs, variables by
reference), whose servers and sessions are tensorfleet's.
"""
import sys

from tensorfleet import install

install()

import tensorflow.compat.v1 as _tf  # noqa: E402

_tf.disable_v2_behavior()
sys.modules[__name__] = _tf
