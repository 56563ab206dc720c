#include <bulkhead/cli/config_file.hpp>
#include <bulkhead/cli/serve.hpp>
#include <bulkhead/fixtures/demo_routes.hpp>
#include <bulkhead/supervision/server.hpp>

#include <CLI/CLI.hpp>

#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <utility>

namespace bulkhead::cli {

serve_command::serve_command(CLI::App& program) {
  app_ = program.add_subcommand("serve", "Serve the demo routes over HTTPS");
  app_->footer(
      "Signals: SIGTERM and SIGINT drain and stop, SIGHUP reads the certificates again.\n"
      "Exit status: 0 clean stop, 1 something had to be cut off, 2 wrong option, configuration or\n"
      "certificate.\n\n"
      "Example:\n  bulkhead serve --listen 127.0.0.1:8443 --cert cert.pem --key key.pem");
  app_->add_option("--listen", listen_,
                   "HTTPS address, repeatable: 127.0.0.1:8443, [::1]:8443, *:443, unix:/path\n"
                   "(default 127.0.0.1:8443 when --cert is given)")
      ->type_name("ADDRESS");
  app_->add_option("--plain-listen", plain_listen_, "HTTP address without TLS, repeatable")
      ->type_name("ADDRESS");
  app_->add_option("--admin-listen", admin_listen_,
                   "Address for /live, /ready, /metrics, /faults, /tree and more; / lists them.\n"
                   "In plain HTTP; it asks nobody who they are: keep it on loopback")
      ->type_name("ADDRESS");
  app_->add_option("--cert", cert_, "PEM file: certificate chain, leaf first")->type_name("FILE");
  app_->add_option("--key", key_, "PEM file: its private key")->type_name("FILE");
  app_->add_option("--client-ca", client_ca_, "PEM file: CAs of client certificates (mTLS)")
      ->type_name("FILE");
  app_->add_option("--client-auth", client_auth_,
                   "none, optional or required (default: required with --client-ca)")
      ->type_name("MODE");
  app_->add_option("--mode", mode_,
                   "actor (default), or worker: the unsupervised twin for benchmarks, which ends\n"
                   "with status 1 at the first handler that throws")
      ->type_name("MODE");
  app_->add_option("--threads", threads_, "Shards (default: one a core)")
      ->type_name("N")
      ->check(CLI::Range(1U, 1024U));
  app_->add_option("--capacity", capacity_,
                   "Connections at once; more are refused and counted (default 10000)")
      ->type_name("N")
      ->check(CLI::Range(1U, 10'000'000U));
  app_->add_option("--config", config_file_, "TOML file; options given here win over it")
      ->type_name("FILE");
  app_->add_option("--log-level", log_level_,
                   "trace, debug, info (default), warn, error or off; on standard error")
      ->type_name("LEVEL");
  app_->add_flag("--test-routes", test_routes_,
                 "Also serve POST /stop, which drains, prints the counters as one JSON line on\n"
                 "standard output and exits");
}

result<serve_settings> serve_command::settle() const {
  serve_settings s;
  if (!config_file_.empty()) {
    if (auto ok = read_config(config_file_, s); !ok) return ok.why();
  }
  supervision::server_options& o = s.server;
  if (!listen_.empty()) o.listen = listen_;
  if (!plain_listen_.empty()) o.plain_listen = plain_listen_;
  if (!admin_listen_.empty()) o.admin_listen = admin_listen_;
  if (threads_ != 0) o.threads = threads_;
  if (capacity_ != 0) o.capacity = capacity_;
  if (test_routes_) s.test_routes = true;

  const auto usage = [](std::string what) { return error(error_category::usage, std::move(what)); };
  if (cert_.empty() != key_.empty()) {
    return usage(cert_.empty() ? "--key needs --cert" : "--cert needs --key");
  }
  if (!cert_.empty()) o.tls.identities = {{cert_, key_}};
  if (!client_ca_.empty()) {
    o.tls.client_ca = client_ca_;
    o.tls.clients = tls::client_auth::required;
  }
  if (!client_auth_.empty()) {
    if (client_auth_ == "none") {
      o.tls.clients = tls::client_auth::none;
    } else if (client_auth_ == "optional") {
      o.tls.clients = tls::client_auth::optional;
    } else if (client_auth_ == "required") {
      o.tls.clients = tls::client_auth::required;
    } else {
      return usage("--client-auth " + client_auth_ + ": use none, optional or required");
    }
  }
  if (!mode_.empty()) {
    if (mode_ == "actor") {
      o.mode = supervision::mode::actor;
    } else if (mode_ == "worker") {
      o.mode = supervision::mode::worker;
    } else {
      return usage("--mode " + mode_ + ": use actor or worker");
    }
  }
  if (!log_level_.empty() && !runtime::log::parse_level(log_level_, s.log_level)) {
    return usage("--log-level " + log_level_ + ": use trace, debug, info, warn, error or off");
  }
  if (o.listen.empty() && o.plain_listen.empty() && !o.tls.identities.empty()) {
    o.listen = {"127.0.0.1:8443"};
  }
  if (o.listen.empty() && o.plain_listen.empty()) {
    return usage("nothing to serve: give --cert and --key (and --listen), or --plain-listen");
  }
  if (!o.listen.empty() && o.tls.identities.empty()) {
    return usage("--listen speaks HTTPS and needs --cert and --key; for HTTP use --plain-listen");
  }
  return s;
}

int serve_command::run() {
  const auto settings = settle();
  if (!settings) {
    std::fprintf(stderr, "bulkhead: %s\n", settings.why().message().c_str());
    return 2;
  }
  // The handler of /stop outlives nothing: the server is made after the routes that name it.
  const auto stop = std::make_shared<std::function<void()>>();
  supervision::router routes;
  fixtures::add_demo_routes(routes,
                            {.test_routes = settings->test_routes, .stop = [stop] { (*stop)(); }});
  supervision::server server(settings->server, std::move(routes));
  *stop = [&server] { server.stop(); };
  if (auto ok = server.prepare(); !ok) {  // before the log's thread starts
    std::fprintf(stderr, "bulkhead: %s\n", ok.why().message().c_str());
    return 2;
  }
  runtime::log::start(settings->log_level);

  const int status = server.run();
  if (settings->test_routes && status != 2) {
    std::puts(server.counters().to_json().c_str());
    std::fflush(stdout);
  }
  runtime::log::stop();
  return status;
}

}  // namespace bulkhead::cli
