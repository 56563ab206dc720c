"""openssl s_client: versions, ALPN, SNI, and a close that says so."""
import re
import socket
import subprocess
import unittest

from certificates import certificate
from harness import PATIENCE, Server, run, temp
from runner import main

CLOSE = b"GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"


def setUpModule():
    certificate("server")


def s_client(server, *options, request=CLOSE):
    """What s_client says; it stays until the server closes, so its end is the server's."""
    client = subprocess.Popen(
        ["openssl", "s_client", "-connect", f"127.0.0.1:{server.port}", "-servername", "localhost",
         "-CAfile", temp("ca.pem"), "-verify_return_error", "-ign_eof", *options],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    output, _ = client.communicate(request, timeout=PATIENCE)
    return client.returncode, output.decode("latin-1")


class SClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server().__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.server.__exit__(None, None, None)

    def served(self, *options, server=None):
        status, said = s_client(server or self.server, *options)
        self.assertEqual(status, 0, said)
        self.assertIn("HTTP/1.1 200 OK", said)
        self.assertIn("Verify return code: 0 (ok)", said)
        return said

    def test_tls_1_2_and_1_3_are_spoken(self):
        self.assertRegex(self.served("-tls1_2"), r"New, TLSv1.2, Cipher is ECDHE-ECDSA-AES")
        self.assertRegex(self.served("-tls1_3"), r"New, TLSv1.3, Cipher is TLS_AES_128_GCM_SHA256")

    def test_the_cheaper_cipher_comes_first_in_both_versions(self):
        self.assertIn("Cipher is ECDHE-ECDSA-AES128-GCM-SHA256", self.served("-tls1_2"))
        self.assertIn("Cipher is TLS_AES_128_GCM_SHA256", self.served("-tls1_3"))

    def test_older_versions_are_refused_by_an_alert(self):
        for version in ("-tls1", "-tls1_1"):
            status, said = s_client(self.server, version, "-cipher", "ALL:@SECLEVEL=0")
            self.assertNotEqual(status, 0)
            self.assertRegex(said, r"alert protocol version")

    def test_a_close_is_announced_by_close_notify(self):
        for version in ("-tls1_2", "-tls1_3"):
            said = self.served(version, "-msg")
            self.assertRegex(said, r"<<< TLS 1\.\d, Alert.*\n.*01 00")
            self.assertNotIn("unexpected eof", said)
            self.assertNotIn("errno", said)

    def test_alpn_chooses_http_1_1(self):
        for offered in ("http/1.1", "h2,http/1.1", "nonsense,http/1.1,h2"):
            for version in ("-tls1_2", "-tls1_3"):
                self.assertIn("ALPN protocol: http/1.1", self.served(version, "-alpn", offered))

    def test_no_alpn_is_no_obstacle(self):
        self.assertIn("No ALPN negotiated", self.served())

    def test_alpn_without_a_common_protocol_is_refused(self):
        for version in ("-tls1_2", "-tls1_3"):
            status, said = s_client(self.server, version, "-alpn", "h2")
            self.assertNotEqual(status, 0)
            self.assertIn("no application protocol", said)

    def test_renegotiation_is_refused(self):
        # "R" on a line of its own asks s_client to renegotiate.
        client = subprocess.Popen(
            ["openssl", "s_client", "-connect", f"127.0.0.1:{self.server.port}", "-tls1_2"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        client.stdin.write(b"R\n")
        client.stdin.flush()
        output = client.communicate(timeout=PATIENCE)[0].decode("latin-1")
        self.assertRegex(output, r"no renegotiation|RENEGOTIATING")
        self.assertNotEqual(client.returncode, 0, output[-300:])

    def test_several_identities_are_chosen_by_name(self):
        certificate("second")
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
            "-nodes", "-keyout", temp("wild-key.pem"), "-out", temp("wild.pem"), "-days", "2",
            "-subj", "/CN=wild", "-addext", "subjectAltName=DNS:*.example.org", status=0)
        config = "".join(f'[[tls.identity]]\ncertificate = "{temp(n)}.pem"\nkey = "{temp(n)}-key.pem"\n'
                         for n in ("server", "wild"))
        with Server("--listen", "127.0.0.1:0", tls=False, config=config) as server:
            for name, wanted in (("a.example.org", "wild"), ("A.EXAMPLE.ORG", "wild"),
                                 ("localhost", "server"), ("example.org", "server"),
                                 ("a.b.example.org", "server"), ("unknown.test", "server")):
                done = run("openssl", "s_client", "-connect", f"127.0.0.1:{server.port}",
                           "-servername", name)
                self.assertEqual(re.search(r"subject=CN = (\w+)", done.stdout)[1], wanted, name)

    def test_a_client_that_says_close_notify_first_is_answered_with_one(self):
        with socket.create_connection(("127.0.0.1", self.server.port), PATIENCE) as probe:
            probe.shutdown(socket.SHUT_WR)
            self.assertEqual(probe.recv(1), b"")
        done = run("openssl", "s_client", "-connect", f"127.0.0.1:{self.server.port}", "-msg")
        self.assertIn(">>> TLS 1.3, Alert", done.stdout)
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    main()
