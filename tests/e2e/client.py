"""A client that counts nothing and hides nothing: one connection, bytes out, responses in."""
import contextlib
import socket
import ssl
import struct

from harness import PATIENCE, temp


def tls_context(ca="ca", version=None, certificate=None, alpn=None):
    context = ssl.create_default_context(cafile=temp(f"{ca}.pem"))
    if version is not None:
        context.minimum_version = context.maximum_version = version
    if certificate:
        context.load_cert_chain(temp(f"{certificate}.pem"), temp(f"{certificate}-key.pem"))
    if alpn:
        context.set_alpn_protocols(alpn)
    return context


def connect(server, timeout=PATIENCE):
    """A bare TCP connection."""
    s = socket.create_connection(("127.0.0.1", getattr(server, "port", server)), timeout)
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return s


def reset(s):
    """Closes with RST instead of FIN."""
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    if isinstance(s, ssl.SSLSocket):
        s = socket.socket(fileno=s.detach())
    s.close()


def read_to_end(s, limit=1 << 26):
    """Everything up to the peer's end; a reset counts as one."""
    data = bytearray()
    try:
        while len(data) < limit:
            got = s.recv(65536)
            if not got:
                break
            data += got
    except ConnectionResetError:
        pass
    return bytes(data)


class Response:
    def __init__(self, status, headers, body, interim=()):
        self.status, self.headers, self.body, self.interim = status, headers, body, interim

    def __getitem__(self, name):
        return self.headers.get(name.lower())


class Client:
    """One keep-alive connection: TLS, or plain with plain=True."""

    def __init__(self, server, context=None, session=None, plain=False, sock=None):
        self.socket = sock or connect(server)
        if not plain:
            # A TLS session that ends without close_notify raises SSLEOFError.
            try:
                self.socket = (context or tls_context()).wrap_socket(
                    self.socket, server_hostname="localhost", suppress_ragged_eofs=False,
                    session=session)
            except BaseException:
                self.socket.close()
                raise
        self.buffer = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """As a good client: close_notify, then FIN."""
        if isinstance(self.socket, ssl.SSLSocket):
            try:
                self.socket.settimeout(0)
                self.socket.unwrap()
            except (OSError, ValueError):
                pass
        self.socket.close()

    def reset(self):
        reset(self.socket)

    def send(self, data):
        self.socket.sendall(data.encode() if isinstance(data, str) else data)

    def _more(self):
        got = self.socket.recv(65536)
        if not got:
            raise EOFError(f"the connection ended after {self.buffer[:200]!r}")
        self.buffer += got

    def _head(self):
        while b"\r\n\r\n" not in self.buffer:
            self._more()
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        lines = head.decode("latin-1").split("\r\n")
        headers = {}
        for line in lines[1:]:
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        return int(lines[0].split(" ", 2)[1]), headers

    def response(self, head_only=False):
        interim = []
        status, headers = self._head()
        while 100 <= status < 200:
            interim.append(status)
            status, headers = self._head()
        if headers.get("transfer-encoding") == "chunked" and not head_only:
            return Response(status, headers, self._chunks(), interim)
        size = 0 if head_only or status in (204, 304) else int(headers["content-length"])
        while len(self.buffer) < size:
            self._more()
        body, self.buffer = self.buffer[:size], self.buffer[size:]
        return Response(status, headers, body, interim)

    def rest(self):
        """Everything up to the clean end."""
        with contextlib.suppress(EOFError):
            while True:
                self._more()
        taken, self.buffer = self.buffer, b""
        return taken

    def _exactly(self, size):
        while len(self.buffer) < size:
            self._more()
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def _chunks(self):
        body = bytearray()
        while True:
            while b"\r\n" not in self.buffer:
                self._more()
            line, self.buffer = self.buffer.split(b"\r\n", 1)
            piece = self._exactly(int(line, 16))
            if self._exactly(2) != b"\r\n":
                raise ValueError("a chunk without its end")
            if not piece:
                return bytes(body)
            body += piece

    def request(self, method, path, body=None, fields=()):
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *fields]
        if body is not None:
            lines.append(f"Content-Length: {len(body)}")
        self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b""))
        return self.response(head_only=method == "HEAD")

    def get(self, path, *fields):
        return self.request("GET", path, fields=fields)

    def ended(self):
        """True once the server closed cleanly, having said no more."""
        return self.buffer == b"" and self.socket.recv(1) == b""
