#include <bulkhead/http/request.hpp>
#include <bulkhead/http/request_parser.hpp>

#include <doctest/doctest.h>

#include <sys/socket.h>

#include <string>

namespace bulkhead::http {
namespace {

void parse(std::string_view bytes, request& r, const limits& l = {}) {
  request_parser p(l);
  std::size_t at = 0;
  while (at < bytes.size()) {
    const auto s = p.parse(bytes.substr(at), r);
    REQUIRE(s.state != request_parser::progress::failed);
    at += s.consumed;
  }
}

}  // namespace

TEST_CASE("a field is found by its name in any case, and the first of two wins") {
  request r;
  parse("GET / HTTP/1.1\r\nHost: x\r\nX-Two: 1\r\nx-two: 2\r\nX-Tw: 3\r\n\r\n", r);
  CHECK(r.field("x-TWO") == "1");
  CHECK(r.field("X-Tw") == "3");
  CHECK(r.field("X-T").empty());
  CHECK(r.field_count() == 4);
  CHECK(r.field_at(2).name == "x-two");
  CHECK(r.field_at(2).value == "2");
}

TEST_CASE("an empty field is told from no field") {
  request r;
  parse("GET / HTTP/1.1\r\nHost: x\r\nA:\r\n\r\n", r);
  CHECK(r.field("a").empty());
  CHECK(r.has_field("a"));
  CHECK_FALSE(r.has_field("b"));
}

TEST_CASE("a parameter is found by its name until parameters are cleared") {
  request r;
  r.add_param("id", "7");
  r.add_param("path", "a/b");
  CHECK(r.param("id") == "7");
  CHECK(r.param("path") == "a/b");
  CHECK(r.param("ID").empty());
  r.clear_params();
  CHECK(r.param("id").empty());
}

TEST_CASE("a request knows where it came from") {
  request r;
  runtime::peer_address peer;
  peer.family = AF_INET;
  peer.bytes[0] = 127;
  peer.bytes[3] = 1;
  peer.port = 4711;
  auto alice = std::make_shared<tls::client_identity>();
  alice->subject = "CN=alice";
  r.set_origin(42, peer, true, alice);
  CHECK(r.id() == 42);
  CHECK(r.remote() == "127.0.0.1:4711");
  CHECK(r.secure());
  REQUIRE(r.client() != nullptr);
  CHECK(r.client()->subject == "CN=alice");
}

TEST_CASE("a reset request says nothing of the one before, and frees what it held on to") {
  request r;
  parse("POST /a%20b?q HTTP/1.0\r\nHost: x\r\nContent-Length: 1\r\n\r\nz", r);
  auto identity = std::make_shared<const tls::client_identity>();
  const std::weak_ptr<const tls::client_identity> watched = identity;
  r.set_origin(1, {}, true, std::move(identity));
  r.add_param("a", "b");
  r.reset();
  CHECK(watched.expired());
  CHECK(r.method() == method::get);
  CHECK(r.method_name().empty());
  CHECK(r.target().empty());
  CHECK(r.path().empty());
  CHECK(r.query().empty());
  CHECK(r.body().empty());
  CHECK(r.field_count() == 0);
  CHECK(r.param("a").empty());
  CHECK(r.id() == 0);
  CHECK_FALSE(r.secure());
  CHECK(r.client() == nullptr);
  CHECK(r.minor_version() == 1);
  CHECK(r.keep_alive());
}

TEST_CASE("a request that is used again does not allocate again") {
  request r;
  const std::string bytes =
      "POST /a%20b HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n" + std::string(100, 'z');
  parse(bytes, r);
  const char* text = r.target().data();
  const char* path = r.path().data();
  const char* body = r.body().data();
  r.reset();
  parse(bytes, r);
  CHECK(static_cast<const void*>(r.target().data()) == text);
  CHECK(static_cast<const void*>(r.path().data()) == path);
  CHECK(static_cast<const void*>(r.body().data()) == body);
}

TEST_CASE("one huge request does not stay in the memory of a connection") {
  request r;
  const std::string bytes =
      "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\n\r\n" + std::string(200000, 'z');
  parse(bytes, r);
  CHECK(r.memory() > 200000);
  r.reset();
  CHECK(r.memory() < 70000);
}

TEST_CASE("methods have the names of RFC 9110") {
  CHECK(to_string(method::get) == "GET");
  CHECK(to_string(method::delete_) == "DELETE");
  CHECK(to_string(method::patch) == "PATCH");
}

}  // namespace bulkhead::http
