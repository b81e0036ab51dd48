# Document 003: a task of a training job, started by TF_CONFIG. A parameter server or a worker dies: the chief goes on. The
# chief dies: another begins at the latest checkpoint.
import json
import os
import sys
import time
import tensorfleet.tensorflow as tf

config = json.loads(os.environ["TF_CONFIG"])
job, task = config["task"]["type"], config["task"]["index"]
folder = sys.argv[1]
enough = os.path.join(folder, "enough")  # a file that ends the training

server = tf.train.Server(config["cluster"], job_name=job, task_index=task)
if job == "ps":
    server.join()

with tf.device(tf.train.replica_device_setter(
        cluster=config["cluster"], worker_device="/job:%s/task:%d" % (job, task))):
    step = tf.train.get_or_create_global_step()
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    loss = tf.square(weight - 3.0)
    train = tf.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)

class Tell(tf.train.SessionRunHook):
    def after_create_session(self, session, coord):
        self.told = session.run(step)
        print("%s begins at step %d" % (job, self.told), flush=True)
    def before_run(self, context):
        return tf.train.SessionRunArgs(step)
    def after_run(self, context, values):
        if values.results >= self.told + 20:
            self.told = values.results
            print("%s at step %d" % (job, self.told), flush=True)
        if os.path.exists(enough):
            context.request_stop()

filters = ["/job:ps", "/job:%s/task:%d" % (job, task)]
with tf.train.MonitoredTrainingSession(
        master=server.target, is_chief=job == "chief", checkpoint_dir=folder, save_checkpoint_steps=20,
        save_summaries_steps=None, log_step_count_steps=None, hooks=[Tell()],
        config=tf.ConfigProto(device_filters=filters, operation_timeout_in_ms=30000)) as sess:
    while not sess.should_stop():
        sess.run(train)
        time.sleep(0.01)
print("%s is done" % job, flush=True)
