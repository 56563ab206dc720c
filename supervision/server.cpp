#include <bulkhead/actors/serving_group.hpp>
#include <bulkhead/actors/worker_shard.hpp>
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/runtime/process.hpp>
#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/runtime/signals.hpp>
#include <bulkhead/supervision/admin_listener.hpp>
#include <bulkhead/supervision/bare_handlers.hpp>
#include <bulkhead/supervision/pulse.hpp>
#include <bulkhead/supervision/server.hpp>
#include <bulkhead/supervision/server_metrics.hpp>
#include <bulkhead/supervision/server_tree.hpp>
#include <bulkhead/supervision/stall_report.hpp>
#include <bulkhead/supervision/supervised_dispatcher.hpp>
#include <bulkhead/supervision/watchdog.hpp>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <thread>
#include <utility>

namespace bulkhead::supervision {

namespace {

constexpr std::string_view draining_reason = "draining";
constexpr std::string_view no_threads_reason = "handler threads exhausted";

constexpr std::initializer_list<int> all_signals = {SIGTERM, SIGINT, SIGHUP};

// How long run() waits for handlers on the scheduler after the connections are gone.
constexpr runtime::milliseconds handler_grace = runtime::seconds(5);

// How long after the drain's limit a shard may stay silent before it counts as stuck in a handler.
constexpr runtime::milliseconds stuck_grace = runtime::seconds(2);

result<std::vector<runtime::endpoint>> parse_all(const std::vector<std::string>& texts) {
  std::vector<runtime::endpoint> out;
  for (const std::string& t : texts) {
    auto e = runtime::endpoint::parse(t);
    if (!e) return e.why();
    out.push_back(*e);
  }
  return out;
}

}  // namespace

struct server::state {
  state(server_options o, router r) : options(std::move(o)), routes_given(std::move(r)) {
    not_ready.raise("starting");
  }

  server_options options;
  router routes_given;
  runtime::system_clock time;
  ledger faults;
  supervision::readiness not_ready;
  runtime::wall_time process_start = runtime::process_start();
  runtime::shard control{999, time};
  pulse control_pulse{control, options.liveness_limit};
  std::unique_ptr<runtime::signal_source> signals;
  // In the order in which they may be destroyed, last first: shards, with their workers, before the
  // watchdog that they wake and the handlers that they call, handlers before the actor system that
  // they run on, and the zygote last: it kills the workers that it finds.
  std::unique_ptr<cell_zygote> zygote;
  std::unique_ptr<actors::actor_runtime> actor_runtime;
  std::unique_ptr<route_set> routes;
  std::unique_ptr<watchdog> stalls;
  std::unique_ptr<actors::serving_group> group;
  std::unique_ptr<admin_listener> admin;

  std::atomic<bool> stop_asked{false};
  bool started = false;
  bool draining = false;
  bool left_behind = false;  // a thread never came back from a handler
  std::optional<runtime::timer> give_up;

  result<void> prepare();
  result<void> start();
  result<void> start_admin();
  void start_watchdog();
  void undo_start() noexcept;
  std::unique_ptr<actors::dispatcher> make_dispatcher(unsigned shard);
  void abandoned_threads_changed(bool exhausted);
  void begin_drain();
  actors::counters_snapshot counters() const;
  tree_node tree() const;
  std::string metrics() const;
};

server::server(server_options options, router routes)
    : state_(std::make_unique<state>(std::move(options), std::move(routes))) {}

server::~server() {
  if (state_->left_behind) {  // its thread still uses all of this: lost on purpose
    static_cast<void>(state_.release());
    return;
  }
  state_->not_ready.raise(draining_reason);
  if (state_->admin) state_->admin->stop_and_join();
  if (state_->group) state_->group->stop_and_join();
  if (state_->stalls) state_->stalls->stop();
  if (state_->routes && !state_->routes->stop(runtime::milliseconds(100)) &&
      state_->actor_runtime) {
    state_->actor_runtime->abandon();
    static_cast<void>(state_.release());  // the handler comes back to it
  }
}

result<void> server::prepare() {
  return state_->prepare();
}

result<void> server::state::prepare() {
  const auto& all = routes_given.routes();
  const bool cells =
      options.mode == mode::actor && std::any_of(all.begin(), all.end(), [](const route& r) {
        return r.spec.placement == placement::cell;
      });
  if (!cells || zygote) return {};
  auto made = cell_zygote::start(all);
  if (!made) return made.why();
  zygote = std::move(*made);
  zygote->on_gone = [this] { not_ready.raise("cells unavailable"); };
  return {};
}

result<void> server::start() {
  if (state_->started) return {};
  const auto try_it = [this]() -> result<void> {
    try {
      return state_->start();
    } catch (const std::exception& e) {  // a factory, the machine's memory or descriptors
      return error(error_category::resource, e.what());
    }
  };
  auto ok = try_it();
  state_->started = static_cast<bool>(ok);
  if (!ok) state_->undo_start();
  return ok;
}

// So that start() may be tried again. In the order of destruction: an actor system waits for the
// handler actors of the routes.
void server::state::undo_start() noexcept {
  admin.reset();
  signals.reset();
  if (stalls) stalls->stop();
  group.reset();
  stalls.reset();
  if (routes) static_cast<void>(routes->stop(handler_grace));
  routes.reset();
  actor_runtime.reset();
}

result<void> server::state::start() {
  if (options.listen.empty() && options.plain_listen.empty()) {
    return error(error_category::usage,
                 "nothing to listen on: give at least one address in listen or plain_listen");
  }
  // It stands in every response: what is no field value must not start (RFC 9110 section 5.5).
  for (const char c : options.server_name) {
    if (c < ' ' || c == 0x7f) {
      return error(error_category::configuration,
                   "server_name has a control character; it is sent as the Server field");
    }
  }
  auto secure = parse_all(options.listen);
  if (!secure) return secure.why();
  auto plain = parse_all(options.plain_listen);
  if (!plain) return plain.why();

  if (auto ok = prepare(); !ok) return ok;
  if (options.handle_signals) runtime::block_signals(all_signals);
  const unsigned shards =
      options.threads != 0 ? options.threads : std::max(1U, std::thread::hardware_concurrency());
  const bool actors_on = options.mode == mode::actor;
  if (actors_on) {
    handler_pool::register_messages();
    actor_runtime = std::make_unique<actors::actor_runtime>(options.handler_threads);
  }
  auto set = route_set::make(
      routes_given, time, faults, actor_runtime.get(),
      {.threads = options.abandoned_threads,
       .on_change = [this](bool exhausted) { abandoned_threads_changed(exhausted); }});
  if (!set) return set.why();
  routes = std::move(*set);

  auto opened = actors::serving_group::open(
      {.secure = std::move(*secure),
       .plain = std::move(*plain),
       .tls = options.tls,
       .mode = actors_on ? actors::serving_mode::actor : actors::serving_mode::worker,
       .shards = shards,
       .own_openssl_memory = options.own_openssl_memory,
       .capacity = options.capacity,
       .connections = options.connections,
       .server_name = options.server_name,
       .certificate_check = options.certificate_check,
       .make_dispatcher = [this](unsigned shard) { return make_dispatcher(shard); },
       .on_connection_fault =
           [this](unsigned shard, const std::string& why) {
             faults.record({.when = time.wall(),
                            .child = "connection",
                            .kind = "connection",
                            .what = why,
                            .route = {},
                            .request = 0,
                            .shard = shard,
                            .action = "connection closed",
                            .sessions_lost = 1});
           }},
      control, actor_runtime.get());
  if (!opened) return opened.why();
  group = std::move(*opened);
  // Before the admin address, which shows what it counts.
  if (options.stall_threshold > std::chrono::milliseconds(0)) start_watchdog();
  if (!options.admin_listen.empty()) {
    if (auto ok = start_admin(); !ok) return ok;
  }
  if (options.handle_signals) {
    signals = std::make_unique<runtime::signal_source>(control, all_signals, [this](int signal) {
      if (signal == SIGHUP) {
        runtime::log::info("server", "SIGHUP: reading certificates again");
        group->reload();
      } else {
        runtime::log::info("server", "stopping: signal " + std::to_string(signal));
        begin_drain();
      }
    });
  }
  if (admin) runtime::log::info("server", "admin on " + admin->address());
  group->start();
  not_ready.clear("starting");
  for (const std::string& a : group->addresses()) runtime::log::info("server", "listening on " + a);
  return {};
}

std::unique_ptr<actors::dispatcher> server::state::make_dispatcher(unsigned shard) {
  if (options.mode == mode::actor) {
    return std::make_unique<supervised_dispatcher>(*routes, shard, zygote.get());
  }
  return std::make_unique<actors::worker_dispatcher>(bare_handlers(*routes));
}

void server::state::start_watchdog() {
  stalls = std::make_unique<watchdog>(
      std::chrono::duration_cast<runtime::milliseconds>(options.stall_threshold),
      [this](const watchdog::stall& s) { report_stall(s, time, faults); });
  for (const auto& s : group->shards()) stalls->watch(s->loop().index(), s->loop().heart());
  stalls->start();
}

result<void> server::state::start_admin() {
  auto opened = admin_listener::open(options.admin_listen, time, options.server_name,
                                     {.live = [this] { return control_pulse.beats(); },
                                      .not_ready = [this] { return not_ready.reasons(); },
                                      .counters = [this] { return counters().to_json(); },
                                      .faults = &faults,
                                      .tree = [this] { return tree(); },
                                      .metrics = [this] { return metrics(); }});
  if (!opened) return opened.why();
  admin = std::move(*opened);
  return {};
}

tree_node server::state::tree() const {
  const auto reasons = not_ready.reasons();
  return server_tree({.group = *group,
                      .routes = *routes,
                      .supervised = options.mode == mode::actor,
                      .state = reasons.empty() ? "ready" : reasons.front(),
                      .secure_listeners = options.listen.size()});
}

std::string server::state::metrics() const {
  server_figures f;
  f.counters = counters();
  f.faults = faults.totals();
  f.ledger_capacity = faults.capacity();
  f.not_ready = not_ready.reasons();
  f.process_start = process_start;
  f.mode = options.mode == mode::actor ? "actor" : "worker";
  collect(f, *group, *routes);
  return metrics_page(f);
}

// On a shard's thread, or that of a handler which has come back.
void server::state::abandoned_threads_changed(bool exhausted) {
  if (exhausted) {
    not_ready.raise(no_threads_reason);
    runtime::log::error("server", "not ready: late handlers hold " +
                                      std::to_string(options.abandoned_threads) +
                                      " threads (abandoned_threads)");
  } else {
    not_ready.clear(no_threads_reason);
    runtime::log::info("server", "a late handler has come back: threads may be replaced again");
  }
}

void server::state::begin_drain() {
  if (std::exchange(draining, true)) return;
  not_ready.raise(draining_reason);
  runtime::log::info("server",
                     "stopping: " + std::to_string(counters().open) + " connections are open");
  give_up.emplace([](void* self) noexcept { static_cast<state*>(self)->control.stop(); }, this);
  control.timers().arm(*give_up, control.now() + options.drain_limit + stuck_grace);
  group->drain(std::chrono::duration_cast<runtime::milliseconds>(options.drain_limit),
               [this] { control.stop(); });
}

int server::run() {
  if (auto ok = start(); !ok) {
    std::fprintf(stderr, "bulkhead: %s\n", ok.why().message().c_str());
    const auto category = ok.why().category();
    return category == error_category::internal ? 1 : 2;
  }
  state& s = *state_;
  s.control_pulse.begin();
  if (s.stop_asked) s.control.post([&s] { s.begin_drain(); });
  s.control.run();

  s.give_up.reset();
  if (s.admin) s.admin->stop_and_join();
  if (!s.group->stop_within(stuck_grace)) {
    runtime::log::error("server", "a shard is stuck in an inline handler and is left behind");
    s.left_behind = true;
  }
  if (s.stalls) s.stalls->stop();
  const bool quiet = s.routes->stop(handler_grace);
  if (!quiet) {
    runtime::log::error("server", "a handler on the scheduler did not return and is left behind");
    s.left_behind = true;
    if (s.actor_runtime) s.actor_runtime->abandon();
  }
  s.signals.reset();
  return quiet && !s.left_behind && !s.group->cut_off() ? 0 : 1;
}

void server::stop() noexcept {
  if (state_->stop_asked.exchange(true)) return;
  try {
    state_->control.post([s = state_.get()] { s->begin_drain(); });
  } catch (...) {
    runtime::log::error("server", "out of memory: cannot stop gracefully");
  }
}

actors::counters_snapshot server::state::counters() const {
  actors::counters_snapshot sum;
  if (group) sum = group->counters();
  if (stalls) sum.stalls = stalls->stalls();
  if (routes) {
    sum.restarted = routes->restarts();
    sum.abandoned_threads = routes->abandoned_threads();
  }
  return sum;
}

std::vector<std::string> server::addresses() const {
  return state_->group ? state_->group->addresses() : std::vector<std::string>{};
}

std::string server::admin_address() const {
  return state_->admin ? state_->admin->address() : std::string();
}

actors::counters_snapshot server::counters() const {
  return state_->counters();
}

const ledger& server::faults() const noexcept {
  return state_->faults;
}

bool server::ready() const noexcept {
  return state_->not_ready.ready();
}

supervision::readiness& server::readiness() noexcept {
  return state_->not_ready;
}

}  // namespace bulkhead::supervision
