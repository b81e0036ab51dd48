"""A TCP proxy whose connections can be cut: the network between the tasks of a job. A process of its own, so that no
other one has inherited its sockets and a connection that it resets is gone."""
import contextlib
import os
import selectors
import socket
import struct

from launch import fork, join

CUT, MEND = b"c", b"m"


class Proxy:
    """Forwards what comes to `port` to `target` ("host:port"), until close()."""

    def __init__(self, port, target):
        host, target_port = target.rsplit(":", 1)
        # In order, which signals are not: the handler of one may interrupt that of the other.
        commands, self.commands = os.pipe()
        self.process = fork(lambda: _Forwarder(port, (host, int(target_port)), commands).run(), os.devnull, {})
        os.close(commands)

    def cut(self):
        """Resets every connection; new ones are refused until mend()."""
        os.write(self.commands, CUT)

    def mend(self):
        os.write(self.commands, MEND)

    def close(self):
        self.process.kill()
        join(self.process, 10)
        os.close(self.commands)


class _Forwarder:
    def __init__(self, port, target, commands):
        self.target, self.commands = target, commands
        self.pairs = {}  # socket -> the other one
        self.cut_off = False
        self.listener = socket.create_server(("localhost", port))
        self.listener.setblocking(False)
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.selector.register(commands, selectors.EVENT_READ)

    def _obey(self):
        self.cut_off = os.read(self.commands, 1) == CUT
        if self.cut_off:
            for s in list(self.pairs):
                self._drop(s)

    def run(self):
        while True:
            for key, _ in self.selector.select():
                if key.fileobj is self.listener:
                    self._accept()
                elif key.fileobj == self.commands:
                    self._obey()
                else:
                    self._forward(key.fileobj)

    def _accept(self):
        try:
            client, _ = self.listener.accept()
        except OSError:  # gone again
            return
        try:
            if self.cut_off:
                raise ConnectionRefusedError
            server = socket.create_connection(self.target, timeout=2)
        except OSError:
            client.close()
            return
        for a, b in ((client, server), (server, client)):
            a.settimeout(10)
            a.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.pairs[a] = b
            self.selector.register(a, selectors.EVENT_READ)

    def _forward(self, s):
        other = self.pairs.get(s)
        if other is None:
            return
        try:
            data = s.recv(1 << 18)
            if data:
                other.sendall(data)
                return
        except OSError:
            pass
        self._drop(s)

    def _drop(self, s):
        other = self.pairs.pop(s, None)
        if other is None:
            return
        self.pairs.pop(other, None)
        for end in (s, other):
            self.selector.unregister(end)
            with contextlib.suppress(OSError):  # a reset, not a polite end
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()
