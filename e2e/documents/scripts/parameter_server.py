# Document 004: a parameter server shows a variable that two workers add to.
import tensorfleet.tensorflow as tf
from multiprocessing import Process
from time import sleep

cluster = tf.train.ClusterSpec({
    "worker": [
        "localhost:3333",
        "localhost:3334",
    ],
    "ps": [
        "localhost:3335"
    ]
})

def parameter_server():
    with tf.device("/job:ps/task:0"):
        var = tf.Variable(0.0, name='var')

    server = tf.train.Server(cluster,
                             job_name="ps",
                             task_index=0)
    sess = tf.Session(target=server.target)

    print("Parameter server: waiting for cluster connection...", flush=True)
    sess.run(tf.report_uninitialized_variables())
    print("Parameter server: cluster ready!", flush=True)

    print("Parameter server: initializing variables...", flush=True)
    sess.run(tf.global_variables_initializer())
    print("Parameter server: variables initialized", flush=True)

    for i in range(5):
        val = sess.run(var)
        print("Parameter server: var has value %.1f" % val, flush=True)
        sleep(1.0)

    # The document looks no further; the workers may still be adding.
    while sess.run(var) < 10.0:
        sleep(0.1)
    sleep(1.0)
    print("Parameter server: var ends as %.1f" % sess.run(var), flush=True)
    print("Parameter server: blocking...", flush=True)
    server.join()


def worker(worker_n):
    with tf.device("/job:ps/task:0"):
        var = tf.Variable(0.0, name='var')

    server = tf.train.Server(cluster,
                             job_name="worker",
                             task_index=worker_n)
    sess = tf.Session(target=server.target)

    print("Worker %d: waiting for cluster connection..." % worker_n, flush=True)
    sess.run(tf.report_uninitialized_variables())
    print("Worker %d: cluster ready!" % worker_n, flush=True)

    while len(sess.run(tf.report_uninitialized_variables())) > 0:
        print("Worker %d: waiting for variable initialization..." % worker_n, flush=True)
        sleep(1.0)
    print("Worker %d: variables initialized" % worker_n, flush=True)

    for i in range(5):
        print("Worker %d: incrementing var" % worker_n, flush=True)
        sess.run(var.assign_add(1.0))
        sleep(1.0)

    print("Worker %d: blocking..." % worker_n, flush=True)
    server.join()

ps_proc = Process(target=parameter_server, daemon=True)
w1_proc = Process(target=worker, args=(0, ), daemon=True)
w2_proc = Process(target=worker, args=(1, ), daemon=True)

ps_proc.start()
w1_proc.start()
w2_proc.start()

ps_proc.join(25)

for proc in [w1_proc, w2_proc, ps_proc]:
    proc.terminate()
