"""Input through queues: producers and batches filled by QueueRunner threads of the client, and a barrel of examples that
the workers of the job share.

Every example must come out once per epoch, and the end of the last epoch must end the program.
"""
import argparse
import collections

import numpy as np
import task
import tensorflow.compat.v1 as tf

EXAMPLES, EPOCHS, BATCH = 60, 2, 8


def batched(shuffle):
    """The ids of all batches, in the order in which they came."""
    with tf.Graph().as_default(), tf.device(task.worker_device):
        ids = tf.constant(np.arange(EXAMPLES))
        values = tf.constant(np.arange(EXAMPLES, dtype=np.float32) * 0.5)
        one, value = tf.train.slice_input_producer([ids, values], num_epochs=EPOCHS, shuffle=shuffle, seed=4)
        value = value * 2.0
        if shuffle:
            batch = tf.train.shuffle_batch([one, value], BATCH, capacity=32, min_after_dequeue=10, num_threads=2,
                                           allow_smaller_final_batch=True, seed=5)
        else:
            batch = tf.train.batch([one, value], BATCH, allow_smaller_final_batch=True)
        seen = []
        with tf.Session(task.master) as session:
            session.run([tf.global_variables_initializer(), tf.local_variables_initializer()])
            coordinator = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(session, coordinator)
            try:
                while not coordinator.should_stop():
                    numbers, doubled = session.run(batch)
                    assert np.array_equal(doubled, numbers.astype(np.float32))
                    seen += numbers.tolist()
            except tf.errors.OutOfRangeError:
                pass
            coordinator.request_stop()
            coordinator.join(threads, stop_grace_period_secs=20)
    return seen


def monitored():
    """The queue runners of a MonitoredTrainingSession, which stops by itself when the input ends."""
    with tf.Graph().as_default():
        with task.device_setter():
            limit = tf.train.range_input_producer(EXAMPLES, num_epochs=1, shuffle=False).dequeue()
            batch = tf.train.batch([limit], 10)
            total = tf.get_variable("total", [], tf.int32, initializer=tf.zeros_initializer())
            add = tf.assign_add(total, tf.reduce_sum(batch))
            tf.train.get_or_create_global_step()
        last = None
        with tf.train.MonitoredTrainingSession(task.master, True, save_summaries_steps=None,
                                               save_summaries_secs=None) as session:
            while not session.should_stop():
                last = int(session.run(add))
    return last


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    in_order = batched(shuffle=False)
    shuffled = batched(shuffle=True)
    each = collections.Counter(shuffled)
    task.report(in_order=in_order, once_per_epoch=set(each.values()) == {EPOCHS} and len(each) == EXAMPLES,
                is_shuffled=shuffled != in_order, monitored=monitored())


if __name__ == "__main__":
    main()
