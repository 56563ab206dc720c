#include <bulkhead/tls/name_index.hpp>

#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;

namespace {

struct hosts : fixture {
  hosts() {
    add("a", "a.test", "DNS:a.test");
    add("wild", "wild", "DNS:*.a.test,DNS:*.b.test");
    add("x", "x.b.test", "DNS:X.b.test");
    made = context();
  }
  void add(const std::string& file, const std::string& common_name, const std::string& names) {
    certificate_request wanted;
    wanted.common_name = common_name;
    wanted.alternative_names = names;
    options.identities.push_back(write_pair(file, issue(wanted, &authority)).identities.front());
  }
  // The subject of the certificate that a client gets who asks for `name`.
  std::string served(const std::string& name, int version = 0) {
    client_options o;
    o.server_name = name;
    o.version = version;
    pair_of_ends ends(made, o);
    REQUIRE(ends.established());
    CHECK(ends.s.session.facts().server_name == name);
    return ends.c.server_common_name();
  }
  std::shared_ptr<const tls::context> made;
};

}  // namespace

TEST_CASE("a client gets the certificate of the name that it asks for") {
  hosts h;
  for (const int version : both_versions) {
    CAPTURE(version);
    CHECK(h.served("a.test", version) == "a.test");
    CHECK(h.served("server.test", version) == "server.test");
    CHECK(h.served("y.b.test", version) == "wild");
  }
}

TEST_CASE("an exact name is preferred to a wildcard, whatever the order and the case") {
  hosts h;
  CHECK(h.served("x.b.test") == "x.b.test");
  CHECK(h.served("X.B.TEST") == "x.b.test");
}

TEST_CASE("a wildcard stands for one label only") {
  hosts h;
  CHECK(h.served("one.a.test") == "wild");
  CHECK(h.served("two.one.a.test") == "server.test");
  CHECK(h.served("b.test") == "server.test");
}

TEST_CASE("an unknown name and no name get the first identity") {
  hosts h;
  CHECK(h.served("nowhere.test") == "server.test");
  CHECK(h.served("") == "server.test");
}

TEST_CASE("a name's certificate is served even if its kind of key differs from the default's") {
  fixture f;
  credential rsa = issue_server(f.authority, "rsa.test");
  rsa.key.reset(EVP_RSA_gen(2048), &EVP_PKEY_free);
  X509_set_pubkey(rsa.certificate.get(), rsa.key.get());
  X509_sign(rsa.certificate.get(), f.authority.key.get(), EVP_sha256());
  f.options.identities.push_back(f.write_pair("rsa", rsa).identities.front());
  const auto context = f.context();
  client_options o;
  o.version = TLS1_3_VERSION;
  o.server_name = "rsa.test";
  pair_of_ends named(context, o);
  CHECK(named.c.server_common_name() == "rsa.test");
  o.server_name = "server.test";
  pair_of_ends other(context, o);
  CHECK(other.c.server_common_name() == "server.test");
}

TEST_CASE("names are found without regard to case or to the root's dot") {
  tls::name_index names;
  names.add("a.test", 1);
  names.add("a.test", 2);
  names.add("*.a.test", 3);
  CHECK(names.find("A.Test.") == 1U);
  CHECK(names.find("b.A.test") == 3U);
  CHECK_FALSE(names.find(".a.test").has_value());
  CHECK_FALSE(names.find("test").has_value());
  CHECK_FALSE(names.find("").has_value());
  CHECK_FALSE(names.find("*").has_value());
}
