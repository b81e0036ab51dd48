"""What the files of cases share beyond tf_client_cases."""
import tf_client_cases as base
from tensorflow.core.protobuf import config_pb2
from tf_client_cases import Cluster, graph, main_of, ref_variable, session, tf, v1  # noqa: F401

E = tf.errors
CPU = "/job:%s/replica:0/task:%d/device:CPU:0"


def only_ours(reason):
    """A case that TensorFlow's own server does not pass, and why; it is skipped there."""
    def mark(case):
        case.only_ours = reason
        return case
    return mark


def raises(code, word, call):
    try:
        call()
    except code as e:
        assert word in str(e), str(e)[:600]
        return e
    raise AssertionError("no %s" % code.__name__)


def config(**kw):
    return config_pb2.ConfigProto(operation_timeout_in_ms=60000, **kw)
