// Every C++ block of docs/guide.md, in its order, as one program. Arguments: where to listen, where
// the admin address is, a folder with server.pem and server-key.pem (scripts/demo-certificate).
#include <bulkhead/bulkhead.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

using namespace std::chrono_literals;

// -- routes and parameters ------------------------------------------------------------------------

void add_users(bulkhead::router& routes) {
  routes.get("/users/me",
             [](const bulkhead::request&) { return bulkhead::response::text("you\n"); });
  routes.get("/users/:id", [](const bulkhead::request& req) {
    return bulkhead::response::text("user " + std::string{req.param("id")} + "\n");
  });
  routes.get("/files/*path", [](const bulkhead::request& req) {
    return bulkhead::response::text("file " + std::string{req.param("path")} + "\n");
  });
  routes.put("/users/:id", [](const bulkhead::request& req) {
    if (req.field("content-type") != "application/json") {
      return bulkhead::response::problem(415, "send application/json");
    }
    return bulkhead::response::empty(204).field("Location", req.target());
  });
}

// -- coroutine handlers ---------------------------------------------------------------------------

bulkhead::task<std::string> slow_name(std::string_view name) {
  co_await bulkhead::sleep_for(20ms);
  co_return "slow " + std::string{name};
}

bulkhead::task<bulkhead::response> slow(const bulkhead::request& req) {
  std::string name = co_await slow_name(req.param("name"));
  co_return bulkhead::response::text(name + "\n");
}

void add_slow(bulkhead::router& routes) {
  routes.get("/slow/:name", slow);
}

// -- handlers that block --------------------------------------------------------------------------

void add_report(bulkhead::router& routes) {
  routes.get("/report",
             [](const bulkhead::request&) {
               std::this_thread::sleep_for(100ms);  // a database, a file, a computation
               return bulkhead::response::text("done\n");
             },
             {.placement = bulkhead::placement::actor, .instances = 4, .queue = 100});
}

// -- supervised handlers --------------------------------------------------------------------------

// Counts until it has had enough. Its state is rebuilt when it is restarted.
class fragile {
 public:
  bulkhead::response operator()(const bulkhead::request&) {
    if (++calls_ > 3) throw std::runtime_error("worn out");
    return bulkhead::response::text(std::to_string(calls_) + "\n");
  }

 private:
  int calls_ = 0;
};

void add_fragile(bulkhead::router& routes) {
  routes.get("/fragile", bulkhead::factory{[] { return fragile{}; }},
             {.id = "fragile",
              .intensity = {.restarts = 2, .period = 10s},
              .backoff = {.initial = 1s, .factor = 2.0, .cap = 30s, .jitter = 0.2}});
}

// -- the fault ledger and the counters ------------------------------------------------------------

void print_faults(const bulkhead::server& server) {
  for (const auto& fault : server.faults().recent()) {
    std::printf("%llu %s: %s: %s; %s\n", static_cast<unsigned long long>(fault.number),
                fault.child.c_str(), fault.kind.c_str(), fault.what.c_str(), fault.action.c_str());
  }
  const auto c = server.counters();
  std::printf("started %llu, trapped %llu\n", static_cast<unsigned long long>(c.started),
              static_cast<unsigned long long>(c.trapped));
}

// -- readiness ------------------------------------------------------------------------------------

void database_answered(bulkhead::server& server, bool well) {
  if (well) {
    server.readiness().clear("no database");
  } else {
    server.readiness().raise("no database");
  }
}

// -- several identities, client certificates ------------------------------------------------------

bulkhead::tls::options two_names_and_client_certificates() {
  bulkhead::tls::options tls;
  tls.identities = {{"www.pem", "www-key.pem"}, {"api.pem", "api-key.pem"}};
  tls.clients = bulkhead::tls::client_auth::optional;
  tls.client_ca = "client-ca.pem";
  return tls;
}

void add_whoami(bulkhead::router& routes) {
  routes.get("/whoami", [](const bulkhead::request& req) {
    const bulkhead::tls::client_identity* client = req.client();
    if (client == nullptr) return bulkhead::response::problem(403, "no client certificate");
    return bulkhead::response::text(client->subject + "\n");
  });
}

// -- limits, time-outs, Unix socket ---------------------------------------------------------------

bulkhead::server_options behind_a_proxy() {
  bulkhead::server_options options;
  options.plain_listen = {"unix:/run/bulkhead/http.sock"};
  options.connections.limits.body = 64 * 1024;
  options.connections.timeouts.idle = 15s;
  options.capacity = 1000;
  return options;
}

// -- graceful stop --------------------------------------------------------------------------------

void add_stop(bulkhead::router& routes, bulkhead::server*& server) {
  routes.post("/stop", [&server](const bulkhead::request&) {
    server->stop();
    return bulkhead::response::text("stopping\n");
  });
}

int main(int count, char** arguments) {
  if (count != 4) {
    std::fputs("usage: guide ADDRESS ADMIN_ADDRESS CERTIFICATE_FOLDER\n", stderr);
    return 2;
  }
  const std::string folder = arguments[3];
  static_cast<void>(two_names_and_client_certificates());
  static_cast<void>(behind_a_proxy());

  bulkhead::log::start(bulkhead::log::level::info);
  bulkhead::server* running = nullptr;
  bulkhead::router routes;
  add_users(routes);
  add_slow(routes);
  add_report(routes);
  add_fragile(routes);
  add_whoami(routes);
  add_stop(routes, running);
  bulkhead::server server{
      {.listen = {arguments[1]},
       .admin_listen = arguments[2],
       .tls = bulkhead::tls_files(folder + "/server.pem", folder + "/server-key.pem")},
      std::move(routes)};
  running = &server;
  database_answered(server, true);
  const int status = server.run();
  print_faults(server);
  bulkhead::log::stop();
  return status;
}
