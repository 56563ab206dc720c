// The promise of docs/tls.md: what is done to one session changes nothing for another.
#include <functional>

#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;

namespace {

// Everything that can be told about a session from its two ends.
struct observed {
  std::string protocol, cipher, group, alpn, client, served, echoed;
  bool established = false;
  bool operator==(const observed&) const = default;
};

observed observe(server_end& s, const client_options& o) {
  client c(o);
  talk(c, s);
  const auto facts = s.session.facts();
  observed seen{facts.protocol, facts.cipher, facts.group, facts.alpn, {}, {}, {}, {}};
  seen.established = c.connected() && s.session.established();
  seen.served = c.server_common_name();
  if (const auto& who = s.session.client(); who != nullptr) seen.client = who->subject;
  if (!seen.established) return seen;
  c.send("ping");
  talk(c, s);
  c.give(s.encrypt(s.received));
  c.step();
  seen.echoed = c.received;
  return seen;
}

struct change {
  const char* name;
  std::function<void(std::unique_ptr<server_end>&)> make;
};

const std::vector<change> changes = {
    {"restrict_versions to 1.2",
     [](auto& s) { s->session.restrict_versions(tls::version::tls1_2, tls::version::tls1_2); }},
    {"restrict_versions to 1.3",
     [](auto& s) { s->session.restrict_versions(tls::version::tls1_3, tls::version::tls1_3); }},
    {"require_client", [](auto& s) { s->session.require_client(tls::client_auth::required); }},
    {"require_client and fail it",
     [](auto& s) {
       s->session.require_client(tls::client_auth::required);
       client c;
       talk(c, *s);
       REQUIRE(s->state == tls::session::status::failed);
     }},
    {"ask for no client",
     [](auto& s) {
       s->session.require_client(tls::client_auth::none);
       client c;
       talk(c, *s);
       REQUIRE(s->session.established());
       CHECK(s->session.client() == nullptr);
     }},
    {"fail a handshake with garbage",
     [](auto& s) {
       s->deliver(std::string("\x16\x03\x01\x00\x05garba", 10));
       REQUIRE(s->state == tls::session::status::failed);
     }},
    {"fail a handshake with a version",
     [](auto& s) {
       s->session.restrict_versions(tls::version::tls1_3, tls::version::tls1_3);
       client_options o;
       o.version = TLS1_2_VERSION;
       client c(o);
       talk(c, *s);
       REQUIRE(s->state == tls::session::status::failed);
     }},
    {"free the session in the middle of its handshake",
     [](auto& s) {
       client c;
       c.step();
       s->deliver(c.take());
       s.reset();
     }},
    {"close the session",
     [](auto& s) {
       client c;
       talk(c, *s);
       s->close();
       s.reset();
     }},
};

}  // namespace

TEST_CASE("a private change of one session shows in no sibling, older or newer") {
  fixture f;
  f.ask_clients(tls::client_auth::optional);
  const credential alice = issue_client(f.client_authority, "alice");
  const auto context = f.context();
  for (const int version : both_versions) {
    for (const credential* certificate : {static_cast<const credential*>(nullptr), &alice}) {
      client_options o;
      o.version = version;
      o.certificate = certificate;
      o.alpn = {"http/1.1"};
      server_end untouched(context);
      const observed expected = observe(untouched, o);
      REQUIRE(expected.established);
      REQUIRE(expected.echoed == "ping");
      REQUIRE(expected.client == (certificate != nullptr ? "CN=alice" : ""));
      for (const change& one : changes) {
        CAPTURE(version);
        CAPTURE(one.name);
        server_end before(context);
        server_end halfway(context);
        client early(o);
        early.step();
        halfway.deliver(early.take());
        auto changed = std::make_unique<server_end>(context);
        one.make(changed);
        server_end after(context);
        CHECK(observe(before, o) == expected);
        CHECK(observe(after, o) == expected);
        early.give(halfway.take());
        talk(early, halfway);
        CHECK(halfway.session.established());
      }
    }
  }
}

TEST_CASE("a restricted session has the versions that it was restricted to") {
  const fixture f;
  const auto context = f.context();
  for (const auto& [version, name] :
       {std::pair{tls::version::tls1_2, "TLSv1.2"}, std::pair{tls::version::tls1_3, "TLSv1.3"}}) {
    server_end s(context);
    s.session.restrict_versions(version, version);
    client c;
    talk(c, s);
    CHECK(s.session.facts().protocol == name);
  }
}

TEST_CASE("sessions outlive their context's other owners and the files it was read from") {
  std::unique_ptr<server_end> unstarted, running;
  client c;
  {
    const fixture f;
    const auto context = f.context();
    unstarted = std::make_unique<server_end>(context);
    running = std::make_unique<server_end>(context);
    talk(c, *running);
  }
  c.send("ping");
  talk(c, *running);
  CHECK(running->received == "ping");
  CHECK(observe(*unstarted, {}).echoed == "ping");
}
