# Document 004: who initializes shared variables?
import tensorfleet.tensorflow as tf
from multiprocessing import Process
from time import sleep

cluster = tf.train.ClusterSpec({"local": ["localhost:2222", "localhost:2223"]})

def s1():
    server1 = tf.train.Server(cluster,
                              job_name="local",
                              task_index=0)
    var = tf.Variable(0.0, name='var')
    sess1 = tf.Session(server1.target)

    print("Server 1: waiting for connection...", flush=True)
    sess1.run(tf.report_uninitialized_variables())
    while len(sess1.run(tf.report_uninitialized_variables())) > 0:
        print("Server 1: waiting for initialization...", flush=True)
        sleep(1.0)
    print("Server 1: variables initialized!", flush=True)

def s2():
    server2 = tf.train.Server(cluster,
                              job_name="local",
                              task_index=1)
    var = tf.Variable(0.0, name='var')
    sess2 = tf.Session(server2.target)

    for i in range(3):
        print("Server 2: waiting %d seconds before initializing..."
              % (3 - i), flush=True)
        sleep(1.0)
    sess2.run(tf.global_variables_initializer())
    server2.join()

p1 = Process(target=s1, daemon=True)
p2 = Process(target=s2, daemon=True)
p1.start()
p2.start()
p1.join(60)
p1.terminate()
p2.terminate()
