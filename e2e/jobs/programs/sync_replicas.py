"""Digits by synchronous replicas with backup workers: a step takes the first gradients of each round.

Learning stops at a global step; the chief then measures the accuracy.
"""
import argparse

import digits
import digits_data
import numpy as np
import task
import tensorflow.compat.v1 as tf


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--dir", required=True)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--aggregate", type=int, required=True, help="gradients of one step")
    args = parser.parse_args()
    data = digits_data.load()
    with task.device_setter():
        images = tf.placeholder(tf.float32, [None, 64])
        labels = tf.placeholder(tf.int32, [None])
        global_step = tf.train.get_or_create_global_step()
        logits = digits.mlp(images)
        loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        optimizer = tf.train.SyncReplicasOptimizer(
            tf.train.AdamOptimizer(0.01), replicas_to_aggregate=args.aggregate, total_num_replicas=task.num_workers)
        train_op = optimizer.minimize(loss, global_step)
    task.wait_for_chief(args.dir)
    seen, steps = [], 0
    batches = data.train_batches(64, seed=task.worker_number)
    hooks = [optimizer.make_session_run_hook(task.is_chief, num_tokens=task.num_workers),
             tf.train.StopAtStepHook(last_step=args.steps)]
    with tf.train.MonitoredTrainingSession(task.master, task.is_chief, checkpoint_dir=args.dir, hooks=hooks,
                                           save_checkpoint_steps=20, save_checkpoint_secs=None,
                                           save_summaries_steps=None, save_summaries_secs=None,
                                           stop_grace_period_secs=2) as session:
        while not session.should_stop():
            x, y = next(batches)
            _, step = session.run([train_op, global_step], {images: x, labels: y})
            seen.append(int(step))
            steps += 1
    task.report(own_steps=steps, in_order=bool(np.all(np.diff(seen) >= 0)))
    if task.is_chief:
        args.model = "mlp"
        accuracy, step = digits.evaluate(args, data)
        task.report(accuracy=accuracy, global_step=step)


if __name__ == "__main__":
    main()
