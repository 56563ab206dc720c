#include <bulkhead/actors/counters.hpp>

#include <initializer_list>
#include <string_view>
#include <utility>

namespace bulkhead::actors {

void counters_snapshot::add(const shard_counters& c) noexcept {
  // Ends before beginnings, so that a racing reader never sees more ends than beginnings.
  const std::uint64_t shard_closed = c.closed.get();
  const std::uint64_t shard_completed = c.completed.get();
  const std::uint64_t shard_trapped = c.trapped.get();
  const std::uint64_t shard_aborted = c.aborted.get();
  const std::uint64_t shard_handled = c.messages_handled.get();
  const std::uint64_t shard_queued = c.messages_queued.get();
  const std::uint64_t shard_refused = c.messages_refused.get();
  const std::uint64_t shard_admitted = c.admitted.get();
  const std::uint64_t shard_started = c.started.get();
  const std::uint64_t shard_sent = c.messages_sent.get();

  admitted += shard_admitted;
  closed += shard_closed;
  open += shard_admitted - shard_closed;
  rejected += c.rejected.get();
  connection_faults += c.connection_faults.get();
  handshakes += c.handshakes.get();
  handshake_failures += c.handshake_failures.get();
  handshake_timeouts += c.handshake_timeouts.get();
  truncated += c.truncated.get();
  malformed += c.malformed.get();
  late += c.late.get();
  started += shard_started;
  completed += shard_completed;
  trapped += shard_trapped;
  aborted += shard_aborted;
  in_flight += shard_started - shard_completed - shard_trapped - shard_aborted;
  messages_sent += shard_sent;
  messages_queued += shard_queued;
  messages_handled += shard_handled;
  messages_refused += shard_refused;
  // A message on its way between two of these readings is none that was lost.
  const std::uint64_t known = shard_queued + shard_handled + shard_refused;
  lost += shard_sent > known ? shard_sent - known : 0;
}

std::string counters_snapshot::to_json() const {
  std::string out = "{";
  for (const auto& [name, value] :
       std::initializer_list<std::pair<std::string_view, std::uint64_t>>{
           {"admitted", admitted},
           {"open", open},
           {"closed", closed},
           {"rejected", rejected},
           {"connection_faults", connection_faults},
           {"handshakes", handshakes},
           {"handshake_failures", handshake_failures},
           {"handshake_timeouts", handshake_timeouts},
           {"truncated", truncated},
           {"malformed", malformed},
           {"late", late},
           {"started", started},
           {"in_flight", in_flight},
           {"completed", completed},
           {"trapped", trapped},
           {"aborted", aborted},
           {"restarted", restarted},
           {"abandoned_threads", abandoned_threads},
           {"stalls", stalls},
           {"messages_sent", messages_sent},
           {"messages_queued", messages_queued},
           {"messages_handled", messages_handled},
           {"messages_refused", messages_refused},
           {"lost", lost}}) {
    if (out.size() > 1) out += ',';
    out.append("\"").append(name).append("\":").append(std::to_string(value));
  }
  return out + "}";
}

}  // namespace bulkhead::actors
