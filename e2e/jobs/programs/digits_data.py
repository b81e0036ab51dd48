"""Images like handwritten digits: ten prototypes of 8x8 pixels, shifted in brightness and blurred by noise.

Made from a seed, so that every task has the same ones.
"""
import numpy as np

IMAGES, TEST = 1797, 360


class Data:
    def __init__(self, images, labels):
        self.train_images, self.train_labels = images[TEST:], labels[TEST:]
        self.test_images, self.test_labels = images[:TEST], labels[:TEST]

    def train_batches(self, batch, seed):
        """Endless random batches; the same for the same seed."""
        rng = np.random.RandomState(seed)
        while True:
            rows = rng.randint(len(self.train_images), size=batch)
            yield self.train_images[rows], self.train_labels[rows]


def load():
    rng = np.random.RandomState(1)
    prototypes = rng.rand(10, 64) > 0.5
    labels = rng.randint(10, size=IMAGES)
    images = prototypes[labels] * rng.uniform(0.6, 1.0, [IMAGES, 1]) + rng.normal(0, 0.2, [IMAGES, 64])
    return Data(np.clip(images, 0, 1).astype(np.float32), labels.astype(np.int32))
