# Document 003: a server waits for one that comes 6 seconds later.
from multiprocessing import Process
from time import sleep
import tensorfleet.tensorflow as tf

cluster = tf.train.ClusterSpec({"local": ["localhost:2222", "localhost:2223"]})

def s1():
    ser1 = tf.train.Server(cluster,
                           job_name="local",
                           task_index=0)
    se1 = tf.Session(ser1.target)
    print("First server: running no-op...", flush=True)
    se1.run(tf.no_op())
    print("First server: no-op run!", flush=True)
    ser1.join()

def s2():
    for j in range(3):
        print("Second server: %d seconds disconnected before connect..."
              % (3 - j), flush=True)
        sleep(2.0)
    ser2 = tf.train.Server(cluster,
                           job_name="local",
                           task_index=1)
    print("Second server: connected!", flush=True)
    ser2.join()

pr1 = Process(target=s1, daemon=True)
pr2 = Process(target=s2, daemon=True)
pr1.start()
pr2.start()
pr1.join(9.0)
pr1.terminate()
pr2.terminate()
