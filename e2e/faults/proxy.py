"""A TCP proxy whose connections can be cut: the network between the tasks of a job. A process of its own, so that no
other one has inherited its sockets and a connection that it resets is gone."""
import contextlib
import os
import selectors
import signal
import socket
import struct

from launch import fork, join

CUT, MEND = signal.SIGUSR1, signal.SIGUSR2


class Proxy:
    """Forwards what comes to `port` to `target` ("host:port"), until close()."""

    def __init__(self, port, target):
        host, target_port = target.rsplit(":", 1)
        self.process = fork(lambda: _Forwarder(port, (host, int(target_port))).run(), os.devnull, {})

    def cut(self):
        """Resets every connection; new ones are refused until mend()."""
        os.kill(self.process.pid, CUT)

    def mend(self):
        os.kill(self.process.pid, MEND)

    def close(self):
        self.process.kill()
        join(self.process, 10)


class _Forwarder:
    def __init__(self, port, target):
        self.target = target
        self.pairs = {}  # socket -> the other one
        self.cut_off = False
        self.listener = socket.create_server(("localhost", port))
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        signal.signal(CUT, lambda *_: self._set(True))
        signal.signal(MEND, lambda *_: self._set(False))

    def _set(self, cut_off):
        self.cut_off = cut_off

    def run(self):
        while True:
            for key, _ in self.selector.select(timeout=0.02):
                if key.fileobj is self.listener:
                    self._accept()
                else:
                    self._forward(key.fileobj)
            if self.cut_off:
                for s in list(self.pairs):
                    self._drop(s)

    def _accept(self):
        client, _ = self.listener.accept()
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
