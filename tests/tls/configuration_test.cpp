#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;

namespace {

// The error of loading, checked for the place it names and for secrets.
std::string refusal(const fixture& f, const tls::options& o) {
  const auto loaded = tls::configuration::load(o);
  if (loaded) return "loaded";
  CHECK(loaded.why().category() == error_category::configuration);
  const std::string message = loaded.why().message();
  const std::string key = f.leaf.key_pem();
  CHECK(message.find(key.substr(40, 30)) == std::string::npos);
  CHECK(message.find("PRIVATE KEY-----\n") == std::string::npos);
  return message;
}

bool says(const std::string& text, std::initializer_list<std::string_view> parts) {
  const bool all = std::all_of(parts.begin(), parts.end(), [&](std::string_view part) {
    return text.find(part) != std::string::npos;
  });
  if (!all) MESSAGE(text);
  return all;
}

}  // namespace

TEST_CASE("a certificate file that cannot be used is refused by name, with what to do") {
  const fixture f;
  tls::options o = f.options;
  std::string& file = o.identities[0].certificate;
  file = f.directory.file("absent.pem");
  CHECK(says(refusal(f, o), {"certificate file", file, "No such file", "check the path"}));
  file = f.directory.path().string();
  CHECK(says(refusal(f, o), {file, "not a regular file"}));
  file = f.directory.write("empty.pem", "");
  CHECK(says(refusal(f, o), {file, "is empty"}));
  file = f.directory.write("text.pem", "hello");
  CHECK(says(refusal(f, o), {file, "no PEM certificate", "BEGIN CERTIFICATE"}));
  std::string damaged = f.leaf.certificate_pem();
  damaged.replace(100, 8, "AAAAAAAA");
  damaged.replace(damaged.size() / 2, 4, "!!!!");
  file = f.directory.write("damaged.pem", damaged);
  CHECK(says(refusal(f, o), {file, "certificate 1 is damaged"}));
  file = f.directory.write("second.pem", f.leaf.certificate_pem() + damaged);
  CHECK(says(refusal(f, o), {file, "certificate 2 is damaged"}));
  file.clear();
  CHECK(says(refusal(f, o), {"certificate file", "no path"}));
}

TEST_CASE("a key file that cannot be used is refused by name, with what to do") {
  const fixture f;
  tls::options o = f.options;
  std::string& file = o.identities[0].key;
  file = f.directory.file("absent.key");
  CHECK(says(refusal(f, o), {"key file", file, "No such file"}));
  file = f.directory.write("text.key", f.leaf.certificate_pem());
  CHECK(says(refusal(f, o), {file, "no PEM private key"}));
  file = f.directory.write("cut.key",
                           f.leaf.key_pem().substr(0, 90) + "\n-----END PRIVATE KEY-----\n");
  CHECK(says(refusal(f, o), {file, "damaged"}));
  file = f.directory.write("locked.key", f.leaf.encrypted_key_pem("secret"));
  CHECK(says(refusal(f, o), {file, "is encrypted", "openssl pkey"}));
  CHECK(refusal(f, o).find("secret") == std::string::npos);
  file = f.directory.write("other.key", issue_server(f.authority, "x").key_pem());
  CHECK(says(refusal(f, o), {file, "does not belong", o.identities[0].certificate}));
}

TEST_CASE("a chain in the wrong order is told from a wrong key") {
  const fixture f;
  tls::options o = f.options;
  o.identities[0].certificate =
      f.directory.write("chain.pem", f.authority.certificate_pem() + f.leaf.certificate_pem());
  CHECK(says(refusal(f, o), {"chain.pem", "put the leaf first"}));
}

TEST_CASE("certificate and key may be in one file, with the chain after the leaf") {
  fixture f;
  const std::string all = f.directory.write(
      "all.pem", f.leaf.certificate_pem() + f.authority.certificate_pem() + f.leaf.key_pem());
  f.options = tls::files(all, all);
  pair_of_ends ends(f.context(), {});
  REQUIRE(ends.established());
  CHECK(sk_X509_num(SSL_get_peer_cert_chain(ends.c.native())) == 2);
}

TEST_CASE("a leaf alone is sent alone") {
  const fixture f;
  pair_of_ends ends(f.context(), {});
  CHECK(sk_X509_num(SSL_get_peer_cert_chain(ends.c.native())) == 1);
}

TEST_CASE("options that make no sense are refused before any file is read") {
  const fixture f;
  const auto changed = [&](auto change) {
    tls::options o = f.options;
    change(o);
    return refusal(f, o);
  };
  CHECK(says(changed([](auto& o) { o.identities.clear(); }), {"no identity"}));
  CHECK(says(changed([](auto& o) {
               o.min_version = tls::version::tls1_3;
               o.max_version = tls::version::tls1_2;
             }),
             {"min_version is above max_version"}));
  CHECK(says(changed([](auto& o) { o.clients = tls::client_auth::optional; }), {"client_ca"}));
  CHECK(says(changed([](auto& o) { o.ciphersuites = "TLS_AES_128_GCM_SHA256:TLS_NOPE"; }),
             {"ciphersuites", "\"TLS_NOPE\""}));
  CHECK(says(changed([](auto& o) { o.ciphersuites.clear(); }), {"ciphersuites", "empty"}));
  CHECK(says(changed([](auto& o) { o.cipher_list = "ECDHE+AESGCM:NOPE"; }),
             {"cipher_list", "\"NOPE\""}));
  CHECK(says(changed([](auto& o) { o.groups = "X25519:P-257"; }), {"groups", "\"P-257\""}));
  CHECK(says(changed([](auto& o) { o.alpn = {""}; }), {"alpn"}));
  CHECK(says(changed([](auto& o) { o.tickets = 1000; }), {"tickets"}));
  CHECK(says(changed([](auto& o) { o.ticket_lifetime = std::chrono::hours(24 * 8); }),
             {"ticket_lifetime", "7 days"}));
}

TEST_CASE("a client CA file must hold authorities and nothing else") {
  fixture f;
  f.options.clients = tls::client_auth::required;
  f.options.client_ca = f.directory.file("absent.pem");
  CHECK(says(refusal(f, f.options), {"client CA file", "absent.pem", "No such file"}));
  f.options.client_ca = f.directory.write(
      "leaf.pem", f.client_authority.certificate_pem() + f.leaf.certificate_pem());
  CHECK(says(refusal(f, f.options), {"leaf.pem", "CN=server.test", "no CA certificate"}));
}

TEST_CASE("a key that OpenSSL finds too weak is refused by the name of its file") {
  fixture f;
  credential weak = f.leaf;
  weak.key.reset(EVP_RSA_gen(512), &EVP_PKEY_free);
  REQUIRE(weak.key != nullptr);
  X509_set_pubkey(weak.certificate.get(), weak.key.get());
  X509_sign(weak.certificate.get(), f.authority.key.get(), EVP_sha256());
  f.options = f.write_pair("weak", weak);
  const auto made = tls::context::make(f.load(), f.keys);
  REQUIRE_FALSE(made);
  CHECK(says(made.why().message(), {"weak.pem", "ee key too small"}));
}

TEST_CASE("an expired or future certificate loads, and its description says so") {
  fixture f;
  certificate_request wanted;
  CHECK(says(f.load()->describe().front(), {"CN=server.test, expires 20"}));
  wanted.from_days = -20;
  wanted.until_days = -10;
  f.write_pair("server", issue(wanted, &f.authority));
  CHECK(says(f.load()->describe().front(), {"CN=server.test, EXPIRED 20"}));
  wanted.from_days = 10;
  wanted.until_days = 20;
  f.write_pair("server", issue(wanted, &f.authority));
  CHECK(says(f.load()->describe().front(), {"CN=server.test, NOT VALID BEFORE 20"}));
}

TEST_CASE("the digest is of content: equal for equal files and options, else different") {
  fixture f;
  const std::string first = f.load()->digest();
  CHECK(first.size() == 64);
  tls::options copy = f.write_pair("copy", f.leaf);
  CHECK((*tls::configuration::load(copy))->digest() == first);
  copy.alpn = {"h2"};
  CHECK((*tls::configuration::load(copy))->digest() != first);
  copy = f.options;
  copy.tickets = 2;
  CHECK((*tls::configuration::load(copy))->digest() != first);
  f.directory.write("server.pem", f.leaf.certificate_pem() + f.authority.certificate_pem());
  CHECK(f.load()->digest() != first);
}
