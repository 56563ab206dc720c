"""Admission: a bounded number of connections, each refusal told and counted; shards share evenly."""
import contextlib
import ssl
import unittest

from certificates import certificate
from client import Client, connect, read_to_end
from harness import Server, check_balance, eventually
from runner import main

ALERT = bytes.fromhex("15030300020250")  # fatal, internal_error
CONNECTIONS = 400


def setUpModule():
    certificate("server")


class Admission(unittest.TestCase):
    def test_the_eleventh_connection_is_refused_told_and_counted(self):
        with Server("--capacity", "10") as server, contextlib.ExitStack() as held:
            clients = [held.enter_context(Client(server)) for _ in range(10)]
            with connect(server) as s:
                answer = read_to_end(s)
                self.assertEqual((answer[0], len(answer), answer[5]), (0x15, 7, 2), answer.hex())
            with self.assertRaises((ssl.SSLError, ConnectionResetError)):
                Client(server)
            self.assertEqual([c.get("/small").status for c in clients], [200] * 10)
            counters = check_balance(server.counters())
            self.assertEqual((counters["admitted"], counters["open"], counters["rejected"]),
                             (10, 10, 2))

    def test_accepting_resumes_once_others_left(self):
        with Server("--capacity", "10", "--threads", "2") as server:
            with contextlib.ExitStack() as held:
                clients = [held.enter_context(Client(server)) for _ in range(10)]
                with connect(server) as s:
                    self.assertEqual(len(read_to_end(s)), 7)
                for c in clients[:3]:
                    c.close()
                eventually("three have left", lambda: server.counters()["open"] == 7)
                for _ in range(3):
                    self.assertEqual(held.enter_context(Client(server)).get("/small").status, 200)
                with connect(server) as s:
                    self.assertEqual(len(read_to_end(s)), 7)
            counters = server.quiet()
            self.assertEqual((counters["admitted"], counters["rejected"]), (13, 2))

    def test_a_refused_plain_client_gets_503(self):
        with Server("--capacity", "1", "--plain-listen", "127.0.0.1:0", tls=False) as server:
            with Client(server, plain=True) as first:
                self.assertEqual(first.get("/small").status, 200)
                with connect(server) as s:
                    answer = read_to_end(s)
                    self.assertTrue(answer.startswith(b"HTTP/1.1 503 "), answer)
                    self.assertIn(b"Retry-After: 1\r\n", answer)
                self.assertEqual(first.get("/small").status, 200)
            self.assertEqual(server.quiet()["rejected"], 1)

    def test_handshakes_at_once_are_bounded(self):
        config = "[limits]\npending_handshakes = 2\n"
        with Server(config=config) as server, contextlib.ExitStack() as held:
            # Whole ClientHellos, whose clients do not go on.
            for _ in range(2):
                s = held.enter_context(connect(server))
                s.sendall(hello())
                self.assertTrue(s.recv(1))
            with self.assertRaises((ssl.SSLError, ConnectionResetError)):
                Client(server)
            self.assertEqual(server.counters()["rejected"], 1)
            held.close()
            server.quiet()
            with Client(server) as c:
                self.assertEqual(c.get("/small").status, 200)

    def test_two_shards_share_four_hundred_connections_evenly(self):
        with Server("--threads", "2") as server, contextlib.ExitStack() as held:
            clients = [held.enter_context(Client(server)) for _ in range(CONNECTIONS)]
            shards = [s["connections"] for s in server.nodes("shard")]
            print(f"-- connections of each shard: {shards}")
            self.assertEqual((len(shards), sum(shards)), (2, CONNECTIONS))
            self.assertLessEqual(max(shards) - min(shards), 3)
            self.assertEqual({c.get("/small").status for c in clients}, {200})


def hello():
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    tls = context.wrap_bio(incoming, outgoing, server_hostname="localhost")
    with contextlib.suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    return outgoing.read()


if __name__ == "__main__":
    main()
