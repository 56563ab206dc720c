#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;
using status = tls::session::status;
using context_ptr = std::shared_ptr<const tls::context>;

namespace {

client_options resuming(int version, std::shared_ptr<SSL_SESSION> ticket = nullptr,
                        const credential* certificate = nullptr) {
  client_options o;
  o.version = version;
  o.resume = std::move(ticket);
  o.certificate = certificate;
  return o;
}

// A ticket from a full handshake with `of`.
std::shared_ptr<SSL_SESSION> ticket_from(const context_ptr& of, int version,
                                         const credential* certificate = nullptr) {
  pair_of_ends ends(of, resuming(version, nullptr, certificate));
  REQUIRE(ends.established());
  REQUIRE(ends.c.ticket() != nullptr);
  ends.s.close();
  return ends.c.ticket();
}

std::string bytes(const SSL_SESSION* session) {
  const unsigned char* data = nullptr;
  std::size_t size = 0;
  SSL_SESSION_get0_ticket(session, &data, &size);
  return {reinterpret_cast<const char*>(data), size};
}

bool resumes(const context_ptr& at, int version, std::shared_ptr<SSL_SESSION> ticket) {
  pair_of_ends ends(at, resuming(version, std::move(ticket)));
  REQUIRE(ends.established());
  CHECK(ends.c.resumed() == ends.s.session.facts().resumed);
  return ends.c.resumed();
}

}  // namespace

TEST_CASE("a ticket from one shard resumes on another") {
  const fixture f;
  const auto configuration = f.load();
  const auto one = f.context(configuration), other = f.context(configuration);
  for (const int version : both_versions) {
    CAPTURE(version);
    CHECK(resumes(other, version, ticket_from(one, version)));
  }
}

TEST_CASE("contexts that share no keys do not resume each other's sessions") {
  fixture f;
  const auto one = f.context();
  f.keys = std::make_shared<tls::ticket_key_ring>(runtime::steady_time{});
  const auto other = f.context();
  for (const int version : both_versions)
    CHECK_FALSE(resumes(other, version, ticket_from(one, version)));
}

TEST_CASE("a ticket survives one rotation of the keys and not two") {
  const fixture f;
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    const auto ticket = ticket_from(context, version);
    f.keys->rotate(runtime::steady_time{});
    CHECK(resumes(context, version, ticket));
    f.keys->rotate(runtime::steady_time{});
    CHECK_FALSE(resumes(context, version, ticket));
  }
}

TEST_CASE("TLS 1.3 sends a new ticket with every resumption, TLS 1.2 only for an older key") {
  const fixture f;
  const auto context = f.context();
  const auto renewed = [&](int version, const std::shared_ptr<SSL_SESSION>& ticket) {
    pair_of_ends ends(context, resuming(version, ticket));
    REQUIRE(ends.c.resumed());
    // Not from the client's callback: it is silent in a resumption of TLS 1.2.
    if (version == TLS1_3_VERSION) return ends.c.ticket() != nullptr;
    return bytes(SSL_get_session(ends.c.native())) != bytes(ticket.get());
  };
  const auto new_style = ticket_from(context, TLS1_3_VERSION);
  CHECK(renewed(TLS1_3_VERSION, new_style));
  const auto old_style = ticket_from(context, TLS1_2_VERSION);
  CHECK_FALSE(renewed(TLS1_2_VERSION, old_style));
  f.keys->rotate(runtime::steady_time{});
  CHECK(renewed(TLS1_2_VERSION, old_style));
}

TEST_CASE("as many TLS 1.3 tickets are sent as the options say") {
  fixture f;
  for (const unsigned tickets : {0U, 1U, 3U}) {
    f.options.tickets = tickets;
    pair_of_ends ends(f.context(), resuming(TLS1_3_VERSION));
    CHECK(ends.c.tickets.size() == tickets);
  }
  f.options.tickets = 0;
  pair_of_ends old_style(f.context(), resuming(TLS1_2_VERSION));
  CHECK(old_style.established());
  CHECK(old_style.c.ticket() == nullptr);
}

TEST_CASE("a renewed certificate keeps the tickets of the one before valid") {
  fixture f;
  const auto before = f.context();
  f.write_pair("server", issue_server(f.authority, "server.test"));
  const auto after = f.context();
  REQUIRE(before->of().digest() != after->of().digest());
  REQUIRE(before->of().ticket_fence() == after->of().ticket_fence());
  for (const int version : both_versions)
    CHECK(resumes(after, version, ticket_from(before, version)));
}

TEST_CASE("a client's identity is that of its ticket after a resumption") {
  fixture f;
  f.ask_clients(tls::client_auth::required);
  const credential alice = issue_client(f.client_authority, "alice");
  const auto context = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    const auto ticket = ticket_from(context, version, &alice);
    pair_of_ends ends(context, resuming(version, ticket));
    REQUIRE(ends.established());
    CHECK(ends.c.resumed());
    REQUIRE(ends.s.session.client() != nullptr);
    CHECK(ends.s.session.client()->subject == "CN=alice");
    CHECK(ends.s.session.client()->emails == std::vector<std::string>{"alice@example.test"});
  }
}

TEST_CASE(
    "a ticket from a handshake without client authentication never passes one that needs it") {
  fixture f;
  const auto open = f.context();
  f.ask_clients(tls::client_auth::optional);
  const auto optional = f.context();
  f.ask_clients(tls::client_auth::required);
  const auto required = f.context();
  const credential alice = issue_client(f.client_authority, "alice");
  for (const int version : both_versions) {
    for (const auto& from : {open, optional}) {
      CAPTURE(version);
      const auto ticket = ticket_from(from, version);
      REQUIRE(resumes(from, version, ticket));
      pair_of_ends without(required, resuming(version, ticket));
      CHECK(without.s.state == status::failed);
      CHECK_FALSE(without.s.session.established());
      // Proves that the ticket was not what failed: the same client with a certificate gets in,
      // by a full handshake.
      pair_of_ends with(required, resuming(version, ticket, &alice));
      REQUIRE(with.established());
      CHECK_FALSE(with.c.resumed());
    }
  }
}

TEST_CASE("a ticket of a client that another authority vouched for is not resumed") {
  fixture f;
  const credential alice = issue_client(f.client_authority, "alice");
  f.ask_clients(tls::client_auth::required);
  const auto before = f.context();
  const credential successor = make_authority("Successor CA");
  f.ask_clients(tls::client_auth::required, successor);
  const auto after = f.context();
  for (const int version : both_versions) {
    CAPTURE(version);
    const auto ticket = ticket_from(before, version, &alice);
    pair_of_ends ends(after, resuming(version, ticket, &alice));
    CHECK(ends.s.state == status::failed);
    CHECK_FALSE(ends.s.session.established());
    pair_of_ends same(before, resuming(version, ticket));
    CHECK(same.c.resumed());
  }
}

TEST_CASE("a session that alone requires a certificate refuses tickets from its own context") {
  fixture f;
  f.options.client_ca = f.directory.write("clients.pem", f.client_authority.certificate_pem());
  const auto context = f.context();
  const credential alice = issue_client(f.client_authority, "alice");
  for (const int version : both_versions) {
    CAPTURE(version);
    const auto ticket = ticket_from(context, version);
    client c(resuming(version, ticket));
    server_end s(context);
    s.session.require_client(tls::client_auth::required);
    talk(c, s);
    CHECK(s.state == status::failed);
    client with(resuming(version, ticket, &alice));
    server_end s2(context);
    s2.session.require_client(tls::client_auth::required);
    talk(with, s2);
    CHECK(s2.session.established());
    CHECK_FALSE(with.resumed());
    REQUIRE(s2.session.client() != nullptr);
  }
}

TEST_CASE("the fence follows the policy and nothing else") {
  fixture f;
  const auto fence = [&] { return f.load()->ticket_fence(); };
  const std::string open = fence();
  CHECK(open.size() == 32);
  f.options.alpn = {"h2"};
  f.options.tickets = 2;
  f.options.client_ca = f.directory.write("clients.pem", f.client_authority.certificate_pem());
  CHECK(fence() == open);
  f.ask_clients(tls::client_auth::optional);
  const std::string optional = fence();
  f.ask_clients(tls::client_auth::required);
  const std::string required = fence();
  CHECK(optional != open);
  CHECK(required != open);
  CHECK(required != optional);
  const credential second = make_authority("Second CA");
  const std::string a = f.client_authority.certificate_pem(), b = second.certificate_pem();
  f.directory.write("clients.pem", a + b);
  const std::string both = fence();
  CHECK(both != required);
  f.directory.write("clients.pem", b + "\n" + a + a);
  CHECK(fence() == both);
}
