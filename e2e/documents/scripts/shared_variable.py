# Document 003: one variable, sessions on two servers.
import tensorfleet.tensorflow as tf

tasks = ["localhost:2222", "localhost:2223"]
jobs = {"local": tasks}
cluster = tf.train.ClusterSpec(jobs)

ser1 = tf.train.Server(cluster, job_name="local", task_index=0)
ser2 = tf.train.Server(cluster, job_name="local", task_index=1)

tf.reset_default_graph()
var = tf.Variable(initial_value=0.0, name='variable')
se1 = tf.Session(ser1.target)
se2 = tf.Session(ser2.target)

se1.run(tf.global_variables_initializer())
se2.run(tf.global_variables_initializer())
print("First value of a variable in session first:", se1.run(var))
print("Second value of a variable in session second:", se2.run(var))
se1.run(var.assign_add(1.0))
print("Increment done in session1")
print("Value in first session:", se1.run(var))
print("Value in second session:", se2.run(var))
