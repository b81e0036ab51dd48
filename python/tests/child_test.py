"""Servers as children: they serve, move, end and come back with the process that they are a part of.

    python child_test.py --program build/bin/tensorfleet
"""
import contextlib
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

from testing import PROGRAM, ROOT, await_true, is_running, main

from tensorfleet import _child, _engine, _program


def arguments(port):
    return ["--cluster_spec", "local|127.0.0.1:%d" % port, "--job_name", "local", "--task_index", "0",
            "--bind", "127.0.0.1:%d" % port]


def start(port=0):
    return _child.Child(arguments, port, level="error")


def serves(port):
    with socket.socket() as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


# A process that starts a server, says its number, and then ends as the test wants.
OWNER = textwrap.dedent("""
    import os, signal, sys, time
    sys.path.insert(0, %r)
    from tensorfleet import _child
    def arguments(port):
        return ["--cluster_spec", "local|127.0.0.1:%%d" %% port, "--job_name", "local", "--task_index", "0"]
    child = _child.Child(arguments, level="error")
    print(child.pid, flush=True)
    sys.stdin.readline()
""" % str(ROOT / "python"))


def owner(then):
    return subprocess.Popen([sys.executable, "-c", OWNER + textwrap.dedent(then)], stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)


class AChild(unittest.TestCase):
    def test_serves_at_a_free_port_when_asked_for_port_0(self):
        one, other = start(), start()
        self.addCleanup(one.stop)
        self.addCleanup(other.stop)
        self.assertNotEqual(one.port, other.port)
        self.assertEqual(one.target, "grpc://localhost:%d" % one.port)
        self.assertTrue(serves(one.port) and serves(other.port))

    def test_is_refused_a_port_that_is_taken(self):
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            s.listen()
            with self.assertRaisesRegex(_child.ServerError, "cannot listen") as raised:
                start(s.getsockname()[1])
        self.assertEqual(raised.exception.code, _child.UNAVAILABLE)

    def test_says_what_is_wrong_with_its_cluster(self):
        with self.assertRaisesRegex(_child.ServerError, "'local', task 0: 'nowhere'") as raised:
            _child.Child(lambda port: ["--cluster_spec", "local|nowhere", "--job_name", "local"])
        self.assertEqual(raised.exception.code, _child.INVALID_ARGUMENT)

    def test_leaves_nothing_behind_in_its_owner(self):
        def held():
            return len(os.listdir("/proc/self/fd")), len(_child._children)
        before = held()
        for _ in range(3):
            memory = os.memfd_create("anything")
            child = _child.Child(arguments, level="error", files=[memory])
            child.stop()
        self.assertEqual(held(), before)

    def test_goes_where_its_owner_goes(self):
        child = start()
        self.addCleanup(child.stop)
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            _child.follow_folder()
            self.assertEqual(os.readlink("/proc/%d/cwd" % child.pid), os.path.realpath(folder))
            os.chdir(before)
            _child.follow_folder()

    def test_ends_without_an_error_when_the_job_has_ended(self):
        child = start()
        os.kill(child.pid, signal.SIGTERM)  # as a Drain request
        child.join()
        self.assertFalse(child.is_alive)

    def test_comes_back_at_its_address_after_it_was_killed(self):
        child = start()
        self.addCleanup(child.stop)
        killed = child.pid
        with self.assertLogs("tensorfleet", "WARNING") as logged:
            os.kill(killed, signal.SIGKILL)
            await_true(lambda: child.pid != killed and serves(child.port))
        self.assertIn("was ended by signal 9", logged.output[0])
        self.assertTrue(child.is_alive)

    def test_is_missed_by_who_joined_it(self):
        process = owner("""
            import threading
            threading.Timer(0.3, lambda: os.kill(child.pid, signal.SIGKILL)).start()
            try:
                child.join()
            except _child.ServerError as e:
                sys.exit(7 if "signal 9" in str(e) else 8)
        """)
        process.communicate("\n", timeout=60)
        self.assertEqual(process.returncode, 7)

    def test_that_cannot_live_is_given_up(self):
        process = owner("""
            import logging, socket
            logging.disable()
            def serves():
                with socket.socket() as s:
                    return s.connect_ex(("127.0.0.1", child.port)) == 0
            for _ in range(_child._SHORT_LIVES):
                before = child.pid
                os.kill(before, signal.SIGKILL)
                while child.is_alive and (child.pid == before or not serves()):
                    time.sleep(0.01)
            sys.exit(8 if child.is_alive else 7)
        """)
        process.communicate("\n", timeout=60)
        self.assertEqual(process.returncode, 7)


class AChildEndsWithItsOwner(unittest.TestCase):
    def ends(self, then, how=None):
        process = owner(then)
        child = int(process.stdout.readline())
        self.assertTrue(is_running(child))
        if how is not None:
            process.send_signal(how)
        else:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write("\n")
                process.stdin.flush()
        await_true(lambda: not is_running(child))
        process.stdin.close()
        process.stdout.close()
        process.kill()
        process.wait()

    def test_at_its_end(self):
        self.ends("")

    def test_by_an_exception(self):
        self.ends("raise ValueError()")

    def test_by_exit_without_cleaning_up(self):
        self.ends("os._exit(3)")

    def test_by_abort(self):
        self.ends("os.abort()")

    def test_by_sigterm(self):
        self.ends("", signal.SIGTERM)

    def test_by_ctrl_c(self):
        self.ends("", signal.SIGINT)

    def test_by_sigkill(self):
        self.ends("", signal.SIGKILL)

    def test_by_another_program_in_its_place(self):
        self.ends("os.execv('/bin/sleep', ['sleep', '60'])")

    def test_although_a_forked_process_lives_on(self):
        self.ends("""
            if os.fork() == 0:
                time.sleep(60)
            os.kill(os.getpid(), signal.SIGKILL)
        """)

    def test_in_a_thread_that_has_ended(self):
        process = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
            import sys, threading
            sys.path.insert(0, %r)
            from tensorfleet import _child
            def arguments(port):
                return ["--cluster_spec", "local|127.0.0.1:%%d" %% port, "--job_name", "local", "--task_index", "0"]
            made = []
            t = threading.Thread(target=lambda: made.append(_child.Child(arguments, level="error")))
            t.start(); t.join()
            print(made[0].pid, flush=True)
            sys.stdin.readline()
        """ % str(ROOT / "python"))], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        child = int(process.stdout.readline())
        time.sleep(0)  # the thread is gone; the child is not
        self.assertTrue(is_running(child))
        process.communicate("\n", timeout=60)
        await_true(lambda: not is_running(child))


class AForkedProcess(unittest.TestCase):
    def test_leaves_its_parents_children_alone_and_has_its_own(self):
        target = _engine.target(1, 0)
        pid = os.fork()
        if pid == 0:
            code = 1
            with contextlib.suppress(BaseException):
                own = _engine.target(1, 0)
                code = 0 if own != target and len(_child._children) == 1 else 2
            os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)
        self.assertTrue(serves(int(target.rsplit(":", 1)[1])))


class TheEngine(unittest.TestCase):
    def test_is_one_for_a_process_and_a_number_of_devices(self):
        self.assertEqual(_engine.target(1, 0), _engine.target(1, 0))
        self.assertNotEqual(_engine.target(1, 0), _engine.target(2, 0))

    def test_is_not_asked_for_through_a_proxy(self):
        before = dict(os.environ)
        self.addCleanup(os.environ.update, before)
        os.environ["http_proxy"] = "http://proxy.example.com:3128"
        os.environ["no_proxy"] = "example.com"
        self.addCleanup(os.environ.pop, "no_grpc_proxy", None)
        self.addCleanup(os.environ.pop, "no_proxy", None)
        self.addCleanup(os.environ.pop, "http_proxy", None)
        _engine.target(3, 1)
        self.assertEqual(os.environ["no_grpc_proxy"], "example.com,127.0.0.1")


class TheProgram(unittest.TestCase):
    def setUp(self):
        self.before = os.environ.pop("TENSORFLEET_PROGRAM")
        self.addCleanup(os.environ.__setitem__, "TENSORFLEET_PROGRAM", self.before)

    def test_is_what_the_variable_names(self):
        os.environ["TENSORFLEET_PROGRAM"] = PROGRAM
        self.assertEqual(_program.find(), PROGRAM)

    def test_is_not_looked_for_elsewhere_when_the_variable_is_wrong(self):
        os.environ["TENSORFLEET_PROGRAM"] = "/nowhere/tensorfleet"
        with self.assertRaisesRegex(_program.ProgramNotFound, "TENSORFLEET_PROGRAM is set to '/nowhere/tensorfleet'"):
            _program.find()

    def test_is_found_on_the_path(self):
        with tempfile.TemporaryDirectory() as folder:
            program = pathlib.Path(folder) / "tensorfleet-anything"
            program.write_text("#!/bin/sh\n")
            program.chmod(0o755)
            path = os.environ["PATH"]
            self.addCleanup(os.environ.__setitem__, "PATH", path)
            os.environ["PATH"] = folder + ":" + path
            self.assertEqual(_program.find("tensorfleet-anything"), str(program))

    def test_is_missed_in_words_that_help(self):
        with self.assertRaisesRegex(_program.ProgramNotFound, "'tensorfleet-nothing' was not found.* nor on PATH"):
            _program.find("tensorfleet-nothing")


if __name__ == "__main__":
    main()
