// Requests and response heads as bytes between processes: all of it arrives, and nonsense is
// refused.
#include <bulkhead/http/limits.hpp>
#include <bulkhead/http/message_codec.hpp>
#include <bulkhead/http/request_parser.hpp>

#include <doctest/doctest.h>

#include <random>
#include <string>

namespace bulkhead::http {
namespace {

void parse(std::string_view text, request& into) {
  request_parser p{limits{}};
  for (;;) {
    const auto step = p.parse(text, into);
    text.remove_prefix(step.consumed);
    if (step.state == request_parser::progress::complete) return;
    REQUIRE(step.state != request_parser::progress::failed);
  }
}

request& sample(request& r) {
  parse("POST /a%20b?q=1 HTTP/1.0\r\nHost: x\r\nX-Empty:\r\nContent-Length: 3\r\n\r\nabc", r);
  auto client = std::make_shared<tls::client_identity>();
  client->subject = "CN=alice";
  client->dns_names = {"a.test", "b.test"};
  r.set_origin(77, {}, true, client);
  r.add_param("name", "value");
  r.add_param("empty", "");
  return r;
}

TEST_CASE("every part of a request's head survives the way to another process") {
  request from, to;
  std::string bytes;
  message_codec::encode_head(sample(from), bytes);
  std::uint64_t body = 0;
  REQUIRE(message_codec::decode_head(bytes, to, body));
  bytes.assign(bytes.size(), '?');  // nothing points into what was read
  CHECK(to.method() == method::post);
  CHECK(to.method_name() == "POST");
  CHECK(to.target() == "/a%20b?q=1");
  CHECK(to.path() == "/a b");
  CHECK(to.query() == "q=1");
  CHECK(to.minor_version() == 0);
  CHECK(to.secure());
  CHECK(to.id() == 77);
  CHECK(to.keep_alive() == from.keep_alive());
  REQUIRE(to.field_count() == 3);
  CHECK(to.field("host") == "x");
  CHECK(to.has_field("x-empty"));
  CHECK(to.field("Content-Length") == "3");
  CHECK(to.param("name") == "value");
  CHECK(to.param("empty").empty());
  REQUIRE(to.client() != nullptr);
  CHECK(to.client()->subject == "CN=alice");
  CHECK(to.client()->dns_names.size() == 2);
  CHECK(body == 3);
}

TEST_CASE("a request's head that is cut short anywhere is refused") {
  request from;
  std::string bytes;
  message_codec::encode_head(sample(from), bytes);
  for (std::size_t n = 0; n < bytes.size(); ++n) {
    request to;
    std::uint64_t body = 0;
    CAPTURE(n);
    CHECK_FALSE(message_codec::decode_head(std::string_view(bytes).substr(0, n), to, body));
  }
}

std::string encoded(const response& r) {
  std::string bytes;
  message_codec::encode_head(r, bytes);
  return bytes;
}

TEST_CASE("a response's head survives, and what was invalid stays invalid") {
  const auto whole = message_codec::decode_head(
      encoded(response::text("").status(404).field("A", "1").field("B", "x: y").close()));
  REQUIRE(whole);
  CHECK(whole->status() == 404);
  CHECK(whole->closes());
  CHECK(whole->valid());
  CHECK(whole->field_lines() == "Content-Type: text/plain; charset=utf-8\r\nA: 1\r\nB: x: y\r\n");
  const auto bad = message_codec::decode_head(encoded(response(200).field("Bad Name", "1")));
  REQUIRE(bad);
  CHECK_FALSE(bad->valid());
}

TEST_CASE("a response's head of a stranger cannot smuggle a field that the server owns") {
  std::string bytes = encoded(response(200).field("Xontent-Length", "5"));
  bytes[bytes.find("Xontent")] = 'C';
  const auto r = message_codec::decode_head(bytes);
  REQUIRE(r);
  CHECK_FALSE(r->valid());
}

TEST_CASE("random bytes for a response's head are refused or invalid, and never break anything") {
  std::mt19937 chance(3);  // NOLINT(cert-msc*): the same bytes each time
  const std::string good = encoded(response::json("{}").field("A", "1"));
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = good.substr(0, chance() % (good.size() + 1));
    for (int n = 0; n < 3 && !bytes.empty(); ++n) {
      bytes[chance() % bytes.size()] = static_cast<char>(chance());
    }
    const auto r = message_codec::decode_head(bytes);
    if (r && r->valid()) CHECK(r->field_lines().find('\0') == std::string_view::npos);
  }
}

}  // namespace
}  // namespace bulkhead::http
