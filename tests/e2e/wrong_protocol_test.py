"""What is no HTTPS is answered shortly and closed, and a healthy client sees nothing of it."""
import contextlib
import os
import random
import socket
import ssl
import unittest
import warnings

from certificates import certificate
from client import Client, connect, read_to_end
from harness import PATIENCE, Server, check_balance
from runner import main


def setUpModule():
    certificate("server")


def say(server, data):
    with connect(server) as s:
        with contextlib.suppress(ConnectionResetError, BrokenPipeError):
            s.sendall(data)
        return read_to_end(s)


class WrongProtocol(unittest.TestCase):
    @contextlib.contextmanager
    def beside_a_healthy_client(self, config=""):
        with Server(config=config) as server, Client(server) as healthy:
            self.assertEqual(healthy.get("/small").status, 200)
            yield server
            self.assertEqual(healthy.get("/small").status, 200)
            healthy.close()
            counters = server.quiet()
            self.assertEqual((counters["started"], counters["completed"]), (2, 2))

    def is_alert(self, answer):
        self.assertEqual((len(answer), answer[0], answer[1], answer[5]), (7, 0x15, 3, 2),
                         f"not a fatal alert: {answer!r}")

    def test_plain_http_gets_a_short_400_that_says_why(self):
        with self.beside_a_healthy_client() as server:
            for request in (b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", b"POST / HTTP/1.0\r\n\r\n",
                            b"DELETE /x HTTP/1.1\r\n\r\n", b"HEAD / HTTP/1.1\r\n\r\n"):
                head, body = say(server, request).split(b"\r\n\r\n", 1)
                self.assertTrue(head.startswith(b"HTTP/1.1 400 Bad Request\r\n"), head)
                self.assertIn(b"Content-Type: text/plain", head)
                self.assertIn(b"Connection: close", head)
                self.assertIn(b"Content-Length: %d\r\n" % len(body), head + b"\r\n")
                self.assertIn(b"https://", body)

    def test_plain_http_a_byte_at_a_time_gets_the_same_400(self):
        with self.beside_a_healthy_client() as server, connect(server) as s:
            for byte in b"GET /":
                with contextlib.suppress(ConnectionResetError, BrokenPipeError):
                    s.sendall(bytes([byte]))
            self.assertTrue(read_to_end(s).startswith(b"HTTP/1.1 400 "))

    def test_garbage_gets_an_alert(self):
        with self.beside_a_healthy_client() as server:
            for garbage in (b"\x00" * 64, b"\xff" * 64, b"hello?\r\n", b"\x16\x04\x00\x00\x05xxxxx",
                            b"\x80\x2e\x01\x00\x02", b"SSH-2.0-OpenSSH_9.2\r\n"):
                self.is_alert(say(server, garbage))
            self.assertEqual(server.counters()["handshake_failures"], 6)

    def test_a_broken_client_hello_gets_an_alert(self):
        with self.beside_a_healthy_client() as server:
            for body in (b"\x01\x00\x00\x02\x03\x03", b"\x02\x00\x00\x00", b"\xff" * 40):
                self.is_alert(say(server, b"\x16\x03\x01" + len(body).to_bytes(2, "big") + body))

    def test_a_preface_of_http_2_without_tls_is_refused(self):
        with self.beside_a_healthy_client() as server:
            answer = say(server, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00" * 2)
            self.assertTrue(answer[:1] == b"\x15" or answer.startswith(b"HTTP/1.1 400 "), answer)

    def test_a_preface_of_http_2_within_tls_is_refused(self):
        with self.beside_a_healthy_client_malformed() as server, Client(server) as c:
            c.send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            response = c.response()
            self.assertIn(response.status, (400, 505))
            self.assertEqual(response["connection"], "close")
            self.assertTrue(c.ended())

    @contextlib.contextmanager
    def beside_a_healthy_client_malformed(self):
        with self.beside_a_healthy_client() as server:
            yield server
            self.assertEqual(server.counters()["malformed"], 1)

    def test_random_bytes_disturb_nobody(self):
        seed = int.from_bytes(os.urandom(4), "big")
        chance = random.Random(seed)
        with self.beside_a_healthy_client("[timeouts]\nhandshake_ms = 300\nlinger_ms = 100\n") as s:
            for _ in range(200):
                with connect(s) as c, contextlib.suppress(OSError):
                    c.sendall(chance.choice([b"", b"\x16", b"\x16\x03\x01", b"\x16\x03\x01\x00\x20"])
                              + chance.randbytes(chance.randrange(1, 200)))
            self.assertEqual(check_balance(s.counters())["connection_faults"], 0, f"seed {seed}")

    def test_garbage_after_the_handshake_ends_that_session_only(self):
        with self.beside_a_healthy_client() as server:
            c = Client(server)
            raw = connect_under(c)
            raw.sendall(b"\x00" * 100)
            answer = read_to_end(raw)
            self.assertNotEqual(answer, b"", "no alert")
            raw.close()

    def test_an_expired_protocol_is_refused_with_an_alert(self):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        with self.beside_a_healthy_client() as server:
            with self.assertRaisesRegex(ssl.SSLError, "(?i)version|protocol"):
                Client(server, context)


def connect_under(client):
    """The TCP connection below a TLS client, to say what TLS would not."""
    raw = socket.socket(fileno=client.socket.detach())
    raw.settimeout(PATIENCE)
    return raw


if __name__ == "__main__":
    main()
