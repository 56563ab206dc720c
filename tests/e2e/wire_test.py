"""Raw bytes over real connections: pipelining, odd splits, order, and how connections end."""
import socket
import unittest

from certificates import certificate
from client import Client
from harness import Server, check_balance
from runner import main

GET = b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n"


def setUpModule():
    certificate("server")


class Wire(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--plain-listen", "127.0.0.1:0", "--threads", "1").__enter__()
        cls.plain_port = int(cls.server.logged(r"listening on \S*:(\d+)$", count=2)[1])

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def each_client(self):
        with Client(self.server) as c:
            yield c
        with Client(self.plain_port, plain=True) as c:
            yield c

    def test_a_pipeline_split_at_odd_places_is_answered_in_order(self):
        chunked = (b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                   b"5;x=y\r\nhello\r\n1\r\n!\r\n0\r\nTrailer: t\r\n\r\n")
        counted = b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc"
        data = GET % b"/hello/a" + chunked + counted + GET % b"/trap/throw" + GET % b"/hello/b"
        wanted = [(200, b"hello a\n"), (200, b"hello!"), (200, b"abc"), (500, None),
                  (200, b"hello b\n")]
        for size in (1, 2, 3, 7, 16, 61, len(data)):
            for c in self.each_client():
                for i in range(0, len(data), size):
                    c.send(data[i:i + size])
                for status, body in wanted:
                    response = c.response()
                    self.assertEqual(response.status, status, f"split every {size}")
                    if body is not None:
                        self.assertEqual(response.body, body)

    def test_more_requests_than_the_window_are_all_answered(self):
        for c in self.each_client():
            c.send((GET % b"/small") * 500)
            self.assertEqual({c.response().status for _ in range(500)}, {200})
            c.send((GET % b"/delay/1") * 100)
            self.assertEqual({c.response().body for _ in range(100)}, {b"1"})

    def test_many_big_answers_in_a_pipeline_are_whole(self):
        for c in self.each_client():
            c.send((GET % b"/big") * 100)
            self.assertEqual([len(c.response().body) for _ in range(100)], [16384] * 100)

    def test_heads_in_a_pipeline_have_no_bodies(self):
        head = b"HEAD /big HTTP/1.1\r\nHost: a\r\n\r\n"
        for c in self.each_client():
            c.send(head + GET % b"/small" + head)
            self.assertEqual(c.response(head_only=True)["content-length"], "16384")
            self.assertEqual(len(c.response().body), 64)
            self.assertEqual(c.response(head_only=True).status, 200)

    def test_connection_close_ends_after_its_answer_and_what_follows_is_not_served(self):
        close = b"GET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n"
        for c in self.each_client():
            before = self.server.counters()["started"]
            c.send(GET % b"/small" + close + GET % b"/small")
            self.assertIsNone(c.response()["connection"])
            self.assertEqual(c.response()["connection"], "close")
            self.assertTrue(c.ended())
            self.assertEqual(self.server.counters()["started"] - before, 2)

    def test_a_bad_request_is_answered_after_the_good_ones_before_it(self):
        for bad, status in ((b"GET /\r\n\r\n", 400), (b"GET / HTTP/1.1\r\n\r\n", 400),
                            (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n", 400),
                            (b"GET / HTTP/1.1\r\nHost: a\r\nX : y\r\n\r\n", 400),
                            (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                             b"Transfer-Encoding: chunked\r\n\r\n", 400),
                            (b"GET /" + b"x" * 9000 + b" HTTP/1.1\r\nHost: a\r\n\r\n", 414),
                            (b"GET / HTTP/1.1\r\nHost: a\r\nX: " + b"y" * 17000 + b"\r\n\r\n", 431),
                            (b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1048577\r\n\r\n", 413),
                            (b"GET / HTTP/3.0\r\nHost: a\r\n\r\n", 505),
                            (b"POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n", 501)):
            for c in self.each_client():
                c.send(GET % b"/delay/20" + bad)
                self.assertEqual(c.response().status, 200)
                response = c.response()
                self.assertEqual((response.status, response["connection"]), (status, "close"),
                                 bad[:60])
                self.assertTrue(c.ended())

    def test_an_unread_body_does_not_destroy_the_answer(self):
        for c in self.each_client():
            c.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 9000000\r\n\r\n" + b"x" * 30000)
            self.assertEqual(c.response().status, 413)
            self.assertTrue(c.ended())

    def test_expect_continue_is_answered_before_the_body(self):
        for c in self.each_client():
            c.send(b"POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n"
                   b"Expect: 100-continue\r\n\r\n")
            while b"\r\n\r\n" not in c.buffer:
                c.buffer += c.socket.recv(1000)
            self.assertEqual(c.buffer, b"HTTP/1.1 100 Continue\r\n\r\n")
            c.send(b"abc")
            response = c.response()
            self.assertEqual((response.interim, response.body), ([100], b"abc"))

    def test_a_half_closed_plain_client_gets_all_its_answers(self):
        with Client(self.plain_port, plain=True) as c:
            c.send((GET % b"/delay/30") * 3)
            c.socket.shutdown(socket.SHUT_WR)
            self.assertEqual([c.response().body for _ in range(3)], [b"30"] * 3)
            self.assertTrue(c.ended())

    def test_http_1_0_closes_unless_asked_to_keep(self):
        for c in self.each_client():
            c.send(b"GET /small HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            self.assertEqual(c.response()["connection"], "keep-alive")
            c.send(b"GET /small HTTP/1.0\r\n\r\n")
            self.assertEqual(c.response()["connection"], "close")
            self.assertTrue(c.ended())

    def test_all_that_balances(self):
        self.assertEqual(check_balance(self.server.quiet())["connection_faults"], 0)


if __name__ == "__main__":
    main()
