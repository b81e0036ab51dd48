"""Starts the server that a tensorflow.ServerDef describes, and says in TensorFlow's words what is wrong with one."""
from __future__ import annotations

import os

from . import _child


class BadServerDef(Exception):
    """`kind` is the name of TensorFlow's error class for it."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


def _own_address(server_def) -> str:
    for job in server_def.cluster.job:
        if job.name != server_def.job_name:
            continue
        if server_def.task_index not in job.tasks:
            raise BadServerDef("InternalError", 'Task %d was not defined in job "%s"' % (
                server_def.task_index, server_def.job_name))
        return job.tasks[server_def.task_index]
    raise BadServerDef("InternalError", 'Job "%s" was not defined in cluster' % server_def.job_name)


def _set_own_address(server_def, address: str) -> None:
    for job in server_def.cluster.job:
        if job.name == server_def.job_name:
            job.tasks[server_def.task_index] = address


def start(server_def) -> _child.Child:
    """A child that serves `server_def`, a message of TensorFlow's; its port 0 is any free one.

    Raises:
        BadServerDef: It cannot be served.
    """
    if server_def.protocol not in ("", "grpc"):
        raise BadServerDef("NotFoundError", "No server factory registered for the given ServerDef: %s\n"
                           "The available server factories are: [ tensorfleet's, for the protocol \"grpc\" ]" % server_def)
    address = _own_address(server_def)
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        raise BadServerDef("InvalidArgumentError", 'Could not parse port for local server from "%s".' % address)
    wanted = server_def.port or int(port)

    # In memory: a ServerDef may be big, and nobody else is to read it. The child looks at it anew if it is started again.
    memory = os.memfd_create("server_def")

    def arguments(chosen: int):
        final = type(server_def)()
        final.CopyFrom(server_def)
        if int(port) == 0:
            _set_own_address(final, "%s:%d" % (host, chosen))
        os.ftruncate(memory, 0)
        os.pwrite(memory, final.SerializeToString(), 0)
        return ["--server_def", "/proc/self/fd/%d" % memory]

    try:
        return _child.Child(arguments, wanted, files=[memory])
    except _child.ServerError as e:
        os.close(memory)
        if e.code == _child.UNAVAILABLE:
            raise BadServerDef("UnknownError", "Could not start gRPC server: %s" % e) from e
        kind = "InvalidArgumentError" if e.code == _child.INVALID_ARGUMENT else "InternalError"
        raise BadServerDef(kind, str(e)) from e
    except BaseException:
        os.close(memory)
        raise
