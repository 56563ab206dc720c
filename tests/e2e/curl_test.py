"""curl, as people use it."""
import json
import re
import unittest

from certificates import certificate
from harness import TEMP, Server, run, temp, write
from runner import main

BODY = bytes(range(256)) * 300


def setUpModule():
    certificate("server")


class Curl(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server("--threads", "2").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def curl(self, *arguments, base=None, stdin=b"", status=0):
        """Answers (head, body); paths among the arguments become URLs."""
        base = base or f"https://localhost:{self.server.port}"
        arguments = [base + a if a.startswith("/") and not a.startswith(TEMP) else a
                     for a in arguments]
        write(temp("head"), "")
        done = run("curl", "-sS", "--http1.1", "--cacert", temp("ca.pem"), "-D", temp("head"),
                   *arguments, stdin=stdin, status=status)
        with open(temp("head"), encoding="latin-1") as f:
            return f.read(), done.stdout

    def test_get_shows_status_type_length_date_and_server(self):
        head, body = self.curl("/small")
        self.assertTrue(head.startswith("HTTP/1.1 200 OK"), head)
        self.assertEqual(len(body), 64)
        self.assertIn("Content-Length: 64", head)
        self.assertIn("Content-Type: text/plain; charset=utf-8", head)
        self.assertIn("Server: Bulkhead", head)
        self.assertRegex(head, r"Date: \w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT")

    def test_the_front_page_is_html_for_people(self):
        head, body = self.curl("/")
        self.assertIn("text/html", head)
        self.assertIn("<html", body)

    def test_big_is_whole(self):
        self.assertEqual(self.curl("/big")[1], "x" * 16384)

    def test_head_has_the_length_and_no_body(self):
        head, body = self.curl("-I", "/big")
        self.assertIn("Content-Length: 16384", head)
        self.assertEqual(body.split(), head.split())

    def test_parameters_are_decoded(self):
        self.assertEqual(self.curl("/hello/w%C3%B6rld%20x")[1], "hello w\u00f6rld x\n")

    def echo(self, *arguments, body=BODY):
        write(temp("sent"), "")
        with open(temp("sent"), "wb") as f:
            f.write(body)
        head, _ = self.curl(*arguments, "-o", temp("got"), "/echo", stdin=body)
        with open(temp("got"), "rb") as f:
            self.assertEqual(f.read(), body)
        return head

    def test_post_echoes(self):
        self.echo("--data-binary", f"@{temp('sent')}")

    def test_an_empty_post_echoes_nothing(self):
        self.echo("--data-binary", "", body=b"")

    def test_a_chunked_upload_echoes(self):
        self.echo("-X", "POST", "-T", "-", "-H", "Expect:")

    def test_a_chunked_upload_with_expect_echoes(self):
        head = self.echo("-X", "POST", "-T", "-", "-H", "Expect: 100-continue",
                         "--expect100-timeout", "30")
        self.assertTrue(head.startswith("HTTP/1.1 100 Continue"), head)

    def test_the_largest_body_echoes_and_one_byte_more_is_413(self):
        self.echo("--data-binary", f"@{temp('sent')}", body=b"x" * (1024 * 1024))
        with open(temp("sent"), "wb") as f:
            f.write(b"x" * (1024 * 1024 + 1))
        # curl waits for 100 (Continue), gets 413 at once and sends nothing.
        head, sent = self.curl("-H", "Expect: 100-continue", "--expect100-timeout", "30",
                               "--data-binary", f"@{temp('sent')}", "-w", "%{size_upload}",
                               "-o", temp("got"), "/echo")
        self.assertTrue(head.startswith("HTTP/1.1 413 "), head)
        self.assertEqual(sent, "0")

    def test_a_chunked_upload_that_grows_too_large_is_413(self):
        head, _ = self.curl("-X", "POST", "-T", "-", "-H", "Expect:", "-o", temp("got"), "/echo",
                            stdin=b"x" * (1024 * 1024 + 1), status=None)
        self.assertTrue(head.startswith("HTTP/1.1 413 "), head)

    def test_http_1_0_is_served_and_closed(self):
        head, body = self.curl("--http1.0", "/small")
        self.assertTrue(head.startswith("HTTP/1.1 200"), head)
        self.assertIn("Connection: close", head)
        self.assertEqual(len(body), 64)

    def test_http_1_0_with_keep_alive_is_kept(self):
        out = ["-o", temp("a"), "/small", "-o", temp("b"), "/small"]
        head, counts = self.curl("--http1.0", "-H", "Connection: keep-alive", "-w",
                                 "%{num_connects} ", *out)
        self.assertEqual(counts.split(), ["1", "0"], head)
        self.assertIn("Connection: keep-alive", head)

    def test_keep_alive_uses_one_connection_for_all(self):
        urls = [x for path in ("/small", "/big", "/trap/throw", "/trap/actor", "/none", "/small")
                for x in ("-o", temp("out"), path)]
        _, told = self.curl("-w", "%{http_code}:%{num_connects} ", *urls)
        self.assertEqual(told.split(), ["200:1", "200:0", "500:0", "500:0", "404:0", "200:0"])

    def test_a_fault_is_problem_json_without_its_text(self):
        head, body = self.curl("/trap/throw")
        self.assertIn("Content-Type: application/problem+json", head)
        self.assertEqual(json.loads(body)["status"], 500)
        self.assertNotIn("purpose", body)

    def test_unknown_paths_wrong_methods_and_options(self):
        head, body = self.curl("/nowhere")
        self.assertTrue(head.startswith("HTTP/1.1 404 "), head)
        self.assertEqual(json.loads(body)["status"], 404)
        head, _ = self.curl("-X", "DELETE", "/echo")
        self.assertTrue(head.startswith("HTTP/1.1 405 "), head)
        self.assertRegex(head, r"Allow: .*POST")
        head, body = self.curl("-X", "OPTIONS", "/small")
        self.assertTrue(head.startswith("HTTP/1.1 204 "), head)
        self.assertEqual(set(re.search(r"Allow: (.*?)\s*$", head, re.M)[1].split(", ")),
                         {"GET", "HEAD", "OPTIONS"})
        self.assertEqual(body, "")
        head, _ = self.curl("-X", "OPTIONS", "--request-target", "*", "/")
        self.assertTrue(head.startswith("HTTP/1.1 2"), head)

    def test_ipv6(self):
        with Server(listen="[::1]:0") as server:
            self.assertIn("listening on [::1]:", server.log())
            self.curl("/small", base=f"https://[::1]:{server.port}")

    def test_every_address_with_a_star(self):
        with Server(listen="*:0") as server:
            for host in ("127.0.0.1", "[::1]"):
                self.curl("/small", base=f"https://{host}:{server.port}")

    def test_a_plain_listener(self):
        with Server("--plain-listen", "127.0.0.1:0", tls=False) as server:
            head, _ = self.curl("/small", base=f"http://127.0.0.1:{server.port}")
            self.assertTrue(head.startswith("HTTP/1.1 200"), head)

    def test_a_plain_listener_on_a_unix_socket(self):
        for threads in ("1", "2"):
            path = temp(f"plain-{threads}")
            with Server("--plain-listen", f"unix:{path}", "--threads", threads, tls=False):
                for _ in range(8):
                    head, body = self.curl("--unix-socket", path, "/small", base="http://localhost")
                    self.assertEqual((head[:12], len(body)), ("HTTP/1.1 200", 64))

    def test_several_listeners_at_once(self):
        with Server("--listen", "127.0.0.1:0", "--plain-listen", "127.0.0.1:0") as server:
            server.logged("listening on", count=3)
            ports = re.findall(r"listening on 127\.0\.0\.1:(\d+)", server.log())
            self.assertEqual(len(set(ports)), 3)
            for scheme, port in zip(("https", "https", "http"), ports):
                self.curl("/small", base=f"{scheme}://127.0.0.1:{port}")

    def test_tls_on_a_unix_socket(self):
        path = temp("tls-socket")
        with Server(listen=f"unix:{path}"):
            self.curl("--unix-socket", path, "/small", base="https://localhost")


if __name__ == "__main__":
    main()
