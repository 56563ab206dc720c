#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;

TEST_CASE("the server's most preferred common protocol is chosen") {
  fixture f;
  f.options.alpn = {"http/1.1", "http/1.0"};
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    client_options o;
    o.version = version;
    o.alpn = {"h2", "http/1.0", "http/1.1"};
    pair_of_ends ends(context, o);
    REQUIRE(ends.established());
    CHECK(ends.c.alpn() == "http/1.1");
    CHECK(ends.s.session.alpn() == "http/1.1");
    CHECK(ends.s.session.facts().alpn == "http/1.1");
  }
}

TEST_CASE("a client that offers no protocol is served without one") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  REQUIRE(ends.established());
  CHECK(ends.s.session.alpn().empty());
}

TEST_CASE("no common protocol is a fatal no_application_protocol") {
  const fixture f;
  client_options o;
  o.alpn = {"h2"};
  pair_of_ends ends(f.context(), o);
  CHECK_FALSE(ends.established());
  CHECK(ends.s.state == tls::session::status::failed);
  CHECK(ends.c.error == "tlsv1 alert no application protocol");
}

TEST_CASE("a server without protocols ignores what a client offers") {
  fixture f;
  f.options.alpn.clear();
  client_options o;
  o.alpn = {"h2"};
  pair_of_ends ends(f.context(), o);
  CHECK(ends.established());
  CHECK(ends.c.alpn().empty());
}
