"""Handwritten digits by parameter servers, asynchronously: an MLP or a small convolutional net.

Every worker runs this same program; the chief initialises, saves checkpoints and summaries, and at the end measures the
accuracy on the test images with the last checkpoint, in a session of its own process.
"""
import argparse
import glob
import os

import digits_data
import numpy as np
import task
import tensorflow.compat.v1 as tf


def dense(x, units, name, activation=None):
    w = tf.get_variable(name + "/kernel", [int(x.shape[-1]), units],
                        initializer=tf.truncated_normal_initializer(stddev=0.1, seed=len(name)))
    b = tf.get_variable(name + "/bias", [units], initializer=tf.zeros_initializer())
    y = tf.nn.bias_add(tf.matmul(x, w), b)
    return activation(y) if activation else y


def mlp(images):
    hidden = dense(images, 64, "hidden_1", tf.nn.relu)
    return dense(dense(hidden, 32, "hidden_two", tf.nn.relu), 10, "logits")


def conv(x, filters, name):
    w = tf.get_variable(name + "/kernel", [3, 3, int(x.shape[-1]), filters],
                        initializer=tf.truncated_normal_initializer(stddev=0.1, seed=len(name)))
    b = tf.get_variable(name + "/bias", [filters], initializer=tf.zeros_initializer())
    y = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(x, w, strides=[1, 1, 1, 1], padding="SAME"), b))
    return tf.nn.max_pool(y, ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding="SAME")


def cnn(images):
    x = conv(conv(tf.reshape(images, [-1, 8, 8, 1]), 8, "conv1"), 16, "conv_2")
    return dense(tf.reshape(x, [-1, 2 * 2 * 16]), 10, "logits")


MODELS = {"mlp": mlp, "cnn": cnn}
OPTIMIZERS = {
    "sgd": lambda: tf.train.GradientDescentOptimizer(0.2),
    "momentum": lambda: tf.train.MomentumOptimizer(0.02, 0.9),
    "adam": lambda: tf.train.AdamOptimizer(0.003),
}


def train(args, data):
    with task.device_setter():
        images = tf.placeholder(tf.float32, [None, 64])
        labels = tf.placeholder(tf.int32, [None])
        global_step = tf.train.get_or_create_global_step()
        logits = MODELS[args.model](images)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        train_op = OPTIMIZERS[args.optimizer]().minimize(loss, global_step)
        tf.summary.scalar("loss", loss)
    task.wait_for_chief(args.dir)
    losses = []
    batches = data.train_batches(args.batch, seed=task.worker_number)
    with tf.train.MonitoredTrainingSession(
            task.master, task.is_chief, checkpoint_dir=args.dir, save_checkpoint_steps=args.save_steps,
            save_checkpoint_secs=None, save_summaries_steps=20, save_summaries_secs=None, log_step_count_steps=100,
            hooks=[tf.train.StopAtStepHook(last_step=args.steps)]) as session:
        while not session.should_stop():
            x, y = next(batches)
            losses.append(float(session.run([loss, train_op], {images: x, labels: y})[0]))
    return losses


def summaries(directory):
    """How many summaries of the loss the event files hold."""
    return sum(1 for path in glob.glob(os.path.join(directory, "events.out.*"))
               for e in tf.train.summary_iterator(path) for v in e.summary.value if v.tag == "loss")


def evaluate(args, data):
    checkpoint = tf.train.latest_checkpoint(args.dir)
    with tf.Graph().as_default():
        images = tf.placeholder(tf.float32, [None, 64])
        logits = MODELS[args.model](images)
        step = tf.train.get_or_create_global_step()
        with tf.Session() as session:
            tf.train.Saver().restore(session, checkpoint)
            predicted = np.argmax(session.run(logits, {images: data.test_images}), axis=1)
            return float(np.mean(predicted == data.test_labels)), int(session.run(step))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True, help="checkpoints and summaries")
    parser.add_argument("--model", choices=sorted(MODELS), default="mlp")
    parser.add_argument("--optimizer", choices=sorted(OPTIMIZERS), default="adam")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--save_steps", type=int, default=100)
    parser.add_argument("--resource", action="store_true", help="resource variables")
    args = parser.parse_args()
    if args.resource:
        tf.enable_resource_variables()
    data = digits_data.load()
    losses = train(args, data)
    task.report(own_steps=len(losses), losses=losses[:40], last_loss=float(np.mean(losses[-10:])))
    if task.is_chief:
        accuracy, step = evaluate(args, data)
        task.report(accuracy=accuracy, global_step=step, summaries=summaries(args.dir))


if __name__ == "__main__":
    main()
