#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;
using status = tls::session::status;

namespace {

struct clients : fixture {
  credential alice = issue_client(client_authority, "alice");
  credential expired = issue_client(client_authority, "late", -2);
  credential stranger_authority = make_authority("Stranger CA");
  credential stranger = issue_client(stranger_authority, "mallory");
  credential server_only = issue_server(client_authority, "server.client.test");
};

client_options with(const credential* certificate, int version) {
  client_options o;
  o.certificate = certificate;
  o.version = version;
  return o;
}

}  // namespace

TEST_CASE("no certificate is asked for without client authentication") {
  const clients f;
  const auto context = f.context();
  for (const int version : both_versions) {
    pair_of_ends ends(context, with(&f.alice, version));
    REQUIRE(ends.established());
    CHECK(ends.s.session.client() == nullptr);
  }
}

TEST_CASE("a valid client certificate is served and becomes an identity") {
  clients f;
  for (const auto mode : {tls::client_auth::optional, tls::client_auth::required}) {
    f.ask_clients(mode);
    const auto context = f.context();
    for (const int version : both_versions) {
      CAPTURE(version);
      pair_of_ends ends(context, with(&f.alice, version));
      REQUIRE(ends.established());
      REQUIRE(ends.s.session.client() != nullptr);
      CHECK(ends.s.session.client()->subject == "CN=alice");
    }
  }
}

TEST_CASE("a client without a certificate is served if it is optional, refused if required") {
  clients f;
  for (const int version : both_versions) {
    CAPTURE(version);
    f.ask_clients(tls::client_auth::optional);
    pair_of_ends served(f.context(), with(nullptr, version));
    CHECK(served.established());
    CHECK(served.s.session.client() == nullptr);

    f.ask_clients(tls::client_auth::required);
    pair_of_ends refused(f.context(), with(nullptr, version));
    CHECK(refused.s.state == status::failed);
    CHECK_FALSE(refused.s.session.established());
    CHECK(refused.s.session.failure() == "TLS handshake: peer did not return a certificate");
    CHECK(refused.c.error == (version == TLS1_3_VERSION ? "tlsv13 alert certificate required"
                                                        : "sslv3 alert handshake failure"));
  }
}

TEST_CASE("a bad client certificate is refused even where none is required, and the log says why") {
  clients f;
  struct row {
    const credential* certificate;
    const char* why;
  };
  const std::array<row, 3> rows = {{{&f.expired, "certificate has expired"},
                                    {&f.stranger, "unable to get local issuer certificate"},
                                    {&f.server_only, "certificate purpose"}}};
  for (const auto mode : {tls::client_auth::optional, tls::client_auth::required}) {
    f.ask_clients(mode);
    const auto context = f.context();
    for (const int version : both_versions) {
      for (const row& r : rows) {
        CAPTURE(version);
        CAPTURE(r.why);
        pair_of_ends ends(context, with(r.certificate, version));
        CHECK(ends.s.state == status::failed);
        CHECK_FALSE(ends.s.session.established());
        CHECK(ends.s.session.client() == nullptr);
        CHECK_FALSE(ends.c.error.empty());
        const bool said = ends.s.session.failure().find(r.why) != std::string::npos;
        CHECK_MESSAGE(said, ends.s.session.failure());
      }
    }
  }
}

TEST_CASE("the client is told which authorities are accepted") {
  clients f;
  f.ask_clients(tls::client_auth::optional);
  pair_of_ends ends(f.context(), {});
  const STACK_OF(X509_NAME)* names = SSL_get0_peer_CA_list(ends.c.native());
  REQUIRE(sk_X509_NAME_num(names) == 1);
  CHECK(X509_NAME_cmp(sk_X509_NAME_value(names, 0),
                      X509_get_subject_name(f.client_authority.certificate.get())) == 0);
}

TEST_CASE("an identity has exactly the fields of the certificate") {
  clients f;
  f.ask_clients(tls::client_auth::required);
  certificate_request wanted;
  wanted.common_name = "alice, the first";
  wanted.organisation = "Ex\xc3\xa4mple";
  wanted.alternative_names =
      "DNS:One.test,email:alice@example.test,URI:spiffe://example.test/alice,DNS:two.test,"
      "IP:192.0.2.1,email:a2@example.test";
  wanted.usage = "clientAuth";
  credential made = issue(wanted, &f.client_authority);
  ASN1_INTEGER_set_uint64(X509_get_serialNumber(made.certificate.get()), 0x0abcdef123);
  X509_sign(made.certificate.get(), f.client_authority.key.get(), EVP_sha256());
  pair_of_ends ends(f.context(), with(&made, 0));
  REQUIRE(ends.established());
  const auto& who = *ends.s.session.client();
  CHECK(who.subject == "CN=alice\\, the first,O=Ex\xc3\xa4mple");
  CHECK(who.issuer == "CN=Client CA");
  CHECK(who.serial == "0ABCDEF123");
  unsigned char print[32];
  X509_digest(made.certificate.get(), EVP_sha256(), print, nullptr);
  std::string hex;
  for (const unsigned char c : print) {
    hex += "0123456789abcdef"[c >> 4U];
    hex += "0123456789abcdef"[c & 15U];
  }
  CHECK(who.sha256 == hex);
  CHECK(who.dns_names == std::vector<std::string>{"One.test", "two.test"});
  CHECK(who.emails == std::vector<std::string>{"alice@example.test", "a2@example.test"});
  CHECK(who.uris == std::vector<std::string>{"spiffe://example.test/alice"});
}

TEST_CASE("an intermediate in the CA file is enough to trust what it issued") {
  clients f;
  certificate_request wanted;
  wanted.common_name = "Department CA";
  wanted.authority = true;
  const credential department = issue(wanted, &f.client_authority);
  const credential bob = issue_client(department, "bob");
  f.ask_clients(tls::client_auth::required, department);
  const auto context = f.context();
  pair_of_ends ends(context, with(&bob, 0));
  CHECK(ends.established());
  pair_of_ends other(context, with(&f.alice, 0));
  CHECK(other.s.state == status::failed);
}
