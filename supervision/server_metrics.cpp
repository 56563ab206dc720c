#include <bulkhead/runtime/log.hpp>
#include <bulkhead/supervision/exposition.hpp>
#include <bulkhead/supervision/server_metrics.hpp>
#include <bulkhead/supervision/server_tree.hpp>
#include <bulkhead/version.hpp>

#include <algorithm>

namespace bulkhead::supervision {

namespace {

std::uint64_t microseconds(std::chrono::nanoseconds t) {
  return static_cast<std::uint64_t>(std::chrono::floor<std::chrono::microseconds>(t).count());
}

void add_process(exposition& out, const server_figures& f) {
  out.gauge("bulkhead_build_info", "Which build this is; always 1.");
  out.sample(1, {{"version", version_string}, {"compiler", __VERSION__}, {"mode", f.mode}});
  out.gauge("process_start_time_seconds", "Start of the process, in seconds since 1970.");
  out.seconds(microseconds(f.process_start.time_since_epoch()));
  out.gauge("bulkhead_ready", "Whether new requests are wanted: 1, or 0 while a reason holds.",
            f.not_ready.empty() ? 1 : 0);
  out.gauge("bulkhead_not_ready", "The reasons why new requests are not wanted, while they hold.");
  for (const std::string& reason : f.not_ready) out.sample(1, {{"reason", reason}});
}

void add_connections(exposition& out, const server_figures& f) {
  const actors::counters_snapshot& c = f.counters;
  out.counter("bulkhead_connections_admitted_total", "Connections taken in.", c.admitted);
  out.counter("bulkhead_connections_closed_total", "Connections that ended.", c.closed);
  out.counter("bulkhead_connections_rejected_total", "Connections refused: no credit was left.",
              c.rejected);
  out.counter("bulkhead_connections_faulted_total", "Connections that a defect of ours ended.",
              c.connection_faults);
  out.gauge("bulkhead_connections", "Connections admitted and not ended, by the counters.", c.open);
  out.gauge("bulkhead_shard_connections", "Connections that a shard has, on their way to it too.");
  for (std::size_t i = 0; i < f.shard_connections.size(); ++i) {
    out.sample(f.shard_connections[i], {{"shard", std::to_string(i)}});
  }
  out.counter("bulkhead_tls_handshakes_total", "TLS handshakes, by how they ended.");
  out.sample(c.handshakes, {{"result", "completed"}});
  out.sample(c.handshake_failures, {{"result", "failed"}});
  out.sample(c.handshake_timeouts, {{"result", "timed_out"}});
  out.counter("bulkhead_tls_truncated_total", "TLS sessions that ended without close_notify.",
              c.truncated);
}

void add_requests(exposition& out, const server_figures& f) {
  const actors::counters_snapshot& c = f.counters;
  out.counter("bulkhead_requests_malformed_total", "Requests refused by the parser.", c.malformed);
  out.counter("bulkhead_requests_late_total", "Requests that did not arrive whole in time.",
              c.late);
  out.counter("bulkhead_requests_started_total",
              "Requests given to a handler or answered in its place.", c.started);
  out.counter("bulkhead_requests_completed_total", "Requests answered to the last byte.",
              c.completed);
  out.counter("bulkhead_requests_trapped_total", "Requests whose handler faulted.", c.trapped);
  out.counter("bulkhead_requests_aborted_total", "Requests that the client or a deadline ended.",
              c.aborted);
  out.gauge("bulkhead_requests_in_flight", "Requests started and not ended.", c.in_flight);
  out.gauge("bulkhead_abandoned_threads", "Threads that late handlers hold.", c.abandoned_threads);
  out.counter("bulkhead_stalls_total", "How often a shard was held up.", c.stalls);
  out.counter("bulkhead_messages_sent_total", "Data messages to mailboxes of connections.",
              c.messages_sent);
  out.counter("bulkhead_messages_handled_total", "Data messages that connections handled.",
              c.messages_handled);
  out.counter("bulkhead_messages_refused_total", "Data messages that found no credit or nobody.",
              c.messages_refused);
  out.gauge("bulkhead_messages_queued", "Data messages in mailboxes.", c.messages_queued);
  out.gauge("bulkhead_messages_lost", "Data messages that are nowhere: 0, or a defect.", c.lost);
}

void add_routes(exposition& out, const server_figures& f) {
  out.counter("bulkhead_handler_restarts_total", "Handler instances made anew after a fault.",
              f.counters.restarted);
  out.counter("bulkhead_route_faults_total", "Faults of a route's handlers.");
  for (const auto& r : f.routes) out.sample(r.faults, {{"route", r.route}, {"child", r.child}});
  out.counter("bulkhead_route_restarts_total", "Restarts of a route's handlers.");
  for (const auto& r : f.routes) out.sample(r.restarts, {{"route", r.route}, {"child", r.child}});
  out.gauge("bulkhead_route_state", "1 for the state that a route is in, 0 for the others.");
  for (const auto& r : f.routes) {
    for (const std::string_view s : route_states) {
      out.sample(s == r.state ? 1 : 0, {{"route", r.route}, {"child", r.child}, {"state", s}});
    }
  }
}

void add_faults(exposition& out, const server_figures& f) {
  out.counter("bulkhead_faults_total", "Faults in the ledger, the forgotten ones too.",
              f.faults.faults);
  out.counter("bulkhead_faults_by_kind_total", "Faults by exception type or other kind.");
  for (const auto& k : f.faults.kinds) out.sample(k.faults, {{"kind", k.kind}});
  out.counter("bulkhead_fault_requests_failed_total", "Requests that faults cost.",
              f.faults.requests_failed);
  out.counter("bulkhead_fault_sessions_lost_total", "Sessions that faults cost.",
              f.faults.sessions_lost);
  out.counter("bulkhead_fault_restart_seconds_total", "Time that restarts took.");
  out.seconds(microseconds(f.faults.restart_time));
  out.gauge("bulkhead_ledger_capacity", "Faults that the ledger remembers.", f.ledger_capacity);
  out.counter("bulkhead_log_lines_dropped_total", "Log lines lost because the queue was full.",
              f.log_lines_dropped);
}

}  // namespace

void collect(server_figures& into, const actors::serving_group& group, const route_set& routes) {
  for (const auto& s : group.shards()) into.shard_connections.push_back(s->open());
  for (const supervised_route& r : routes.routes()) {
    into.routes.push_back(
        {.route = std::string(http::to_string(r.what.method)) + ' ' + r.what.pattern,
         .child = r.what.spec.id,
         .state = std::string(to_string(r.supervisor->state())),
         .faults = r.supervisor->faults(),
         .restarts = r.supervisor->restarts()});
  }
  into.log_lines_dropped = runtime::log::dropped();
}

std::string metrics_page(const server_figures& f) {
  exposition out;
  add_process(out, f);
  add_connections(out, f);
  add_requests(out, f);
  add_routes(out, f);
  add_faults(out, f);
  return out.page();
}

}  // namespace bulkhead::supervision
