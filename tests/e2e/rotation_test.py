"""Certificates change under load: nobody fails, new handshakes see the new one."""
import os
import re
import signal
import ssl
import threading
import unittest

from certificates import certificate, install, install_file
from client import Client, connect, tls_context
from harness import Server, eventually, temp, write
from runner import main

CHECK = "[tls]\ncertificate_check_ms = 20\n"  # look at the files every 20 ms
NEVER = "[tls]\ncertificate_check_ms = 600000\n"
NAMES = ("first", "second", "third", "fourth")
KEPT = "keeping the last good configuration"


def setUpModule():
    for name in NAMES:
        certificate(name)


def seen(server, context=None):
    """The subject that a new handshake is shown."""
    with Client(server, context) as c:
        return c.socket.getpeercert()["subject"][0][0][1]


def shows(server, name):
    return eventually(f"new handshakes see {name}", lambda: seen(server) == name)


class Load:
    """Clients that ask until they are stopped; counts what they were answered."""

    def __init__(self, server):
        self.server, self.context = server, tls_context()
        self.over, self.answered, self.failed = threading.Event(), [0, 0], []
        self.threads = [threading.Thread(target=self.keep_alive),
                        threading.Thread(target=self.reconnect)]

    def __enter__(self):
        for t in self.threads:
            t.start()
        self.progress()
        return self

    def __exit__(self, *_):
        self.over.set()
        for t in self.threads:
            t.join()

    def progress(self):
        """Waits until both have been answered again, or one failed."""
        target = [n + 20 for n in self.answered]
        eventually("the load goes on", lambda: self.failed or
                   all(n >= t for n, t in zip(self.answered, target)))

    def attempt(self, client, which):
        status = client.get("/small").status
        if status != 200:
            raise AssertionError(f"status {status}")
        self.answered[which] += 1

    def keep_alive(self):
        try:
            with Client(self.server, self.context) as c:
                while not self.over.is_set():
                    self.attempt(c, 0)
        except Exception as e:  # pylint: disable=broad-except
            self.failed.append(e)

    def reconnect(self):
        while not self.over.is_set():
            try:
                with Client(self.server, self.context) as c:
                    self.attempt(c, 1)
            except Exception as e:  # pylint: disable=broad-except
                self.failed.append(e)


class Rotation(unittest.TestCase):
    def setUp(self):
        install("first", "live")

    def server(self, config=CHECK, *options):
        return Server(*options, certificate="live", config=config)

    def test_three_swaps_under_load_fail_no_request(self):
        with self.server() as server:
            with Load(server) as load:
                for name in NAMES[1:]:
                    install(name, "live")
                    shows(server, name)
                    load.progress()
            self.assertEqual(load.failed, [])
            print(f"-- answered on one connection {load.answered[0]}, on new ones "
                  f"{load.answered[1]}, failed 0, over 3 swaps")
            self.assertEqual(len(re.findall("configuration rotated", server.log())), 3)

    def test_an_open_session_outlives_its_certificate(self):
        with self.server() as server, Client(server) as old:
            self.assertEqual(old.get("/small").status, 200)
            for name in NAMES[1:]:
                install(name, "live")
                shows(server, name)
                self.assertEqual(old.get("/small").status, 200)

    def test_a_swapped_symbolic_link_is_followed(self):
        for name in NAMES[:2]:
            os.makedirs(temp(f"link-{name}"), exist_ok=True)
            install(name, f"link-{name}/live")
        os.symlink(temp("link-first"), temp("current"))
        with Server(config=CHECK, certificate="current/live") as server:
            self.assertEqual(seen(server), "first")
            os.symlink(temp("link-second"), temp("current.new"))
            os.rename(temp("current.new"), temp("current"))
            shows(server, "second")

    def test_a_torn_pair_keeps_the_last_good_one_until_the_key_follows(self):
        with self.server() as server:
            install_file("second.pem", "live.pem")
            server.logged(KEPT)
            self.assertEqual(seen(server), "first")
            install_file("second-key.pem", "live-key.pem")
            shows(server, "second")

    def test_a_pair_that_does_not_match_is_said_once(self):
        with self.server() as server:
            install_file("second.pem", "live.pem")
            said = server.logged(KEPT + ".*").group()
            self.assertIn("live-key.pem", said)
            # Touched again and again: looked at again, not said again.
            for _ in range(5):
                install_file("second.pem", "live.pem")
                self.assertEqual(seen(server), "first")
            server.signal(signal.SIGHUP)
            server.logged("SIGHUP")
            self.assertEqual(seen(server), "first")
            self.assertEqual(len(re.findall(KEPT, server.log())), 1)

    def test_an_unreadable_pair_keeps_the_last_good_one(self):
        with self.server() as server:
            os.remove(temp("live.pem"))
            server.logged(KEPT + r".*live\.pem")
            self.assertEqual(seen(server), "first")
            write(temp("live.pem"), "no certificate\n")
            server.logged(KEPT, count=2)
            self.assertEqual(seen(server), "first")
            install("third", "live")
            shows(server, "third")

    def test_sighup_looks_at_once(self):
        with self.server(NEVER) as server:
            install("second", "live")
            self.assertEqual(seen(server), "first")
            server.signal(signal.SIGHUP)
            shows(server, "second")

    def check_resumption(self, version):
        context = tls_context(version=version)
        with self.server(CHECK, "--threads", "2") as server:
            sessions = []
            for _ in range(4):
                with Client(server, context) as c:
                    self.assertFalse(c.socket.session_reused)
                    self.assertEqual(c.get("/small").status, 200)
                    sessions.append(c.socket.session)
            self.resume(server, context, sessions, "before the rotation")
            install("second", "live")
            shows(server, "second")
            self.resume(server, context, sessions, "after the rotation")
            self.assertEqual(seen(server, tls_context(version=version)), "second")

    def resume(self, server, context, sessions, when):
        """With held connections, so that the two shards must share the new ones."""
        held = []
        try:
            for session in sessions * 2:
                held.append(Client(server, context, session=session))
                self.assertTrue(held[-1].socket.session_reused, when)
                self.assertEqual(held[-1].get("/small").status, 200)
            shards = server.nodes("shard")
            self.assertTrue(all(s["connections"] >= 1 for s in shards), shards)
        finally:
            for c in held:
                c.close()

    def test_tls_1_2_sessions_resume_on_both_shards_and_across_a_rotation(self):
        self.check_resumption(ssl.TLSVersion.TLSv1_2)

    def test_tls_1_3_sessions_resume_on_both_shards_and_across_a_rotation(self):
        self.check_resumption(ssl.TLSVersion.TLSv1_3)

    def test_a_handshake_that_began_before_a_rotation_ends_well(self):
        context = tls_context()
        with self.server() as server:
            incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
            tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
            with self.assertRaises(ssl.SSLWantReadError):
                tls.do_handshake()
            with connect(server) as s:
                s.sendall(outgoing.read())
                incoming.write(s.recv(65536))
                install("second", "live")
                shows(server, "second")
                while True:
                    try:
                        tls.do_handshake()
                        break
                    except ssl.SSLWantReadError:
                        incoming.write(s.recv(65536))
                tls.write(b"GET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
                s.sendall(outgoing.read())
                incoming.write(s.recv(65536))
                self.assertEqual(tls.getpeercert()["subject"][0][0][1], "first")


if __name__ == "__main__":
    main()
