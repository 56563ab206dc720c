#include <bulkhead/tls/configuration_store.hpp>

#include "harness.hpp"

using namespace bulkhead;
using namespace bulkhead::tests;
using namespace std::chrono_literals;
using outcome = tls::configuration_store::reload_outcome;

namespace {

// A store of two shards over files in a directory, on a clock that the test moves.
struct watched : fixture {
  explicit watched(bool watch = true) : watched(tls::options{}, watch) {}
  watched(tls::options o, bool watch) {
    if (!o.identities.empty()) options = o;
    auto opened = tls::configuration_store::open(options, 2, wheel, clock);
    if (!opened) FAIL(opened.why().message());
    store = std::move(*opened);
    if (watch) start();
  }
  void start() {
    store->watch(1s, [this](auto contexts) { published.push_back(std::move(contexts)); });
  }
  // One look of the watcher.
  void tick(runtime::milliseconds by = 1s) {
    clock.advance(by);
    wheel.advance(clock.now());
  }
  // The subject that the next connection on `shard` would be served.
  std::string serves(std::size_t shard = 0) const {
    pair_of_ends ends(store->contexts().at(shard), {});
    return ends.c.server_common_name();
  }
  credential issue_named(const std::string& name) const { return issue_server(authority, name); }

  runtime::virtual_clock clock;
  runtime::timer_wheel wheel{clock.now()};
  std::unique_ptr<tls::configuration_store> store;
  std::vector<std::vector<std::shared_ptr<const tls::context>>> published;
};

}  // namespace

TEST_CASE("a store does not open without a valid configuration") {
  const fixture f;
  runtime::virtual_clock clock;
  runtime::timer_wheel wheel{clock.now()};
  tls::options o = f.options;
  o.identities[0].key = f.directory.write("other.key", issue_server(f.authority, "x").key_pem());
  const auto opened = tls::configuration_store::open(o, 1, wheel, clock);
  REQUIRE_FALSE(opened);
  CHECK(opened.why().message().find("does not belong") != std::string::npos);
}

TEST_CASE("a store opens with a context of its own for each shard") {
  const watched w;
  REQUIRE(w.store->contexts().size() == 2);
  CHECK(w.store->contexts()[0] != w.store->contexts()[1]);
  CHECK(&w.store->contexts()[0]->of() == &w.store->contexts()[1]->of());
  CHECK(w.serves(0) == "server.test");
  CHECK(w.serves(1) == "server.test");
}

TEST_CASE("a pair replaced by rename rotates, and sessions of before stay as they are") {
  watched w;
  pair_of_ends old(w.store->contexts()[0], {});
  const credential next = w.issue_named("next.test");
  w.directory.replace("server.pem", next.certificate_pem());
  w.directory.replace("server.key", next.key_pem());
  w.tick();
  REQUIRE(w.published.size() == 1);
  CHECK(w.published[0].size() == 2);
  CHECK(w.published[0] == w.store->contexts());
  CHECK(w.store->rotations() == 1);
  CHECK(w.serves(0) == "next.test");
  CHECK(w.serves(1) == "next.test");
  old.c.send("still");
  talk(old.c, old.s);
  CHECK(old.s.received == "still");
}

TEST_CASE("a pair rewritten in place rotates") {
  watched w;
  w.write_pair("server", w.issue_named("next.test"));
  w.tick();
  CHECK(w.published.size() == 1);
  CHECK(w.serves() == "next.test");
}

TEST_CASE("a directory link that is swapped rotates, as Kubernetes mounts secrets") {
  const temporary_directory mount;
  const credential authority = make_authority("Server CA");
  const auto version = [&](const std::string& name) {
    std::filesystem::create_directory(mount.path() / name);
    const credential pair = issue_server(authority, name + ".test");
    mount.write(name + "/tls.crt", pair.certificate_pem());
    mount.write(name + "/tls.key", pair.key_pem());
  };
  version("one");
  version("two");
  std::filesystem::create_directory_symlink("one", mount.path() / "..data");
  std::filesystem::create_symlink("..data/tls.crt", mount.path() / "tls.crt");
  std::filesystem::create_symlink("..data/tls.key", mount.path() / "tls.key");
  watched w(tls::files(mount.file("tls.crt"), mount.file("tls.key")), true);
  CHECK(w.serves() == "one.test");
  std::filesystem::create_directory_symlink("two", mount.path() / "..tmp");
  std::filesystem::rename(mount.path() / "..tmp", mount.path() / "..data");
  w.tick();
  CHECK(w.store->rotations() == 1);
  CHECK(w.serves() == "two.test");
}

TEST_CASE("a torn pair keeps the last good one, is reported once, and recovers") {
  watched w;
  const credential next = w.issue_named("next.test");
  w.directory.replace("server.pem", next.certificate_pem());
  for (int i = 0; i < 5; ++i) w.tick();
  CHECK(w.published.empty());
  CHECK(w.store->failed_reloads() == 1);
  CHECK(w.store->last_failure().find("does not belong") != std::string::npos);
  CHECK(w.serves() == "server.test");
  w.directory.replace("server.key", next.key_pem());
  w.tick();
  CHECK(w.published.size() == 1);
  CHECK(w.store->last_failure().empty());
  CHECK(w.serves() == "next.test");
}

TEST_CASE("files that vanish keep the last good pair until they are back") {
  watched w;
  const credential next = w.issue_named("next.test");
  std::filesystem::remove(w.directory.path() / "server.key");
  w.tick();
  CHECK(w.store->failed_reloads() == 1);
  CHECK(w.store->last_failure().find("server.key") != std::string::npos);
  CHECK(w.serves() == "server.test");
  w.write_pair("server", next);
  w.tick();
  CHECK(w.serves() == "next.test");
}

TEST_CASE("unchanged content is no rotation") {
  watched w;
  w.write_pair("server", w.leaf);
  w.directory.replace("server.pem", w.leaf.certificate_pem());
  for (int i = 0; i < 3; ++i) w.tick();
  CHECK(w.published.empty());
  CHECK(w.store->rotations() == 0);
  CHECK(w.store->failed_reloads() == 0);
}

TEST_CASE("reload answers what happened") {
  watched w;
  const credential next = w.issue_named("next.test");
  CHECK(w.store->reload() == outcome::unchanged);
  w.directory.write("server.pem", next.certificate_pem());
  CHECK(w.store->reload() == outcome::kept_last_good);
  CHECK(w.store->reload() == outcome::kept_last_good);
  CHECK(w.store->failed_reloads() == 2);
  w.directory.write("server.key", next.key_pem());
  CHECK(w.store->reload() == outcome::rotated);
  CHECK(w.published.size() == 1);
  CHECK(w.store->reload() == outcome::unchanged);
  CHECK(w.store->rotations() == 1);
}

TEST_CASE("reload works without a watcher, and a watcher does not look before its time") {
  watched w(false);
  w.write_pair("server", w.issue_named("next.test"));
  CHECK(w.store->reload() == outcome::rotated);
  CHECK(w.serves() == "next.test");
  CHECK(w.wheel.armed() == 0);
  w.start();
  w.write_pair("server", w.issue_named("third.test"));
  w.tick(999ms);
  CHECK(w.published.empty());
  w.tick(1ms);
  CHECK(w.published.size() == 1);
}

TEST_CASE("a pair that OpenSSL refuses keeps the last good one") {
  watched w;
  credential weak = w.issue_named("weak.test");
  weak.key.reset(EVP_RSA_gen(512), &EVP_PKEY_free);
  X509_set_pubkey(weak.certificate.get(), weak.key.get());
  X509_sign(weak.certificate.get(), w.authority.key.get(), EVP_sha256());
  w.write_pair("server", weak);
  CHECK(w.store->reload() == outcome::kept_last_good);
  CHECK(w.serves() == "server.test");
}

TEST_CASE("ticket keys rotate when they are due, and resumption survives exactly one rotation") {
  fixture f;
  f.options.ticket_lifetime = std::chrono::hours(1);
  watched w(f.options, true);
  const auto ticket = [&] {
    pair_of_ends ends(w.store->contexts()[0], {});
    return ends.c.ticket();
  }();
  const auto resumes = [&] {
    client_options o;
    o.resume = ticket;
    pair_of_ends ends(w.store->contexts()[1], o);
    REQUIRE(ends.established());
    return ends.c.resumed();
  };
  const auto first = w.store->keys()->snapshot()->front();
  w.tick(59min);
  CHECK(w.store->keys()->snapshot()->front() == first);
  w.tick(1min);
  CHECK(w.store->keys()->snapshot()->front() != first);
  CHECK(resumes());
  w.tick(1h);
  CHECK_FALSE(resumes());
}

TEST_CASE("tickets survive a rotation of the certificate") {
  watched w;
  client_options o;
  {
    pair_of_ends ends(w.store->contexts()[0], {});
    o.resume = ends.c.ticket();
  }
  w.write_pair("server", w.issue_named("next.test"));
  REQUIRE(w.store->reload() == outcome::rotated);
  pair_of_ends ends(w.store->contexts()[1], o);
  CHECK(ends.c.resumed());
}

TEST_CASE("a store that is gone leaves no timer behind") {
  watched w;
  CHECK(w.wheel.armed() == 1);
  const auto contexts = w.store->contexts();
  w.store.reset();
  CHECK(w.wheel.armed() == 0);
  pair_of_ends ends(contexts[0], {});
  CHECK(ends.established());
}
