// How the ledger reads: as JSON for programs, as a page for people.
#include <bulkhead/supervision/json.hpp>
#include <bulkhead/supervision/ledger.hpp>
#include <bulkhead/supervision/printable.hpp>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <string_view>
#include <utility>

namespace bulkhead::supervision {

namespace {

std::string iso8601(runtime::wall_time when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

// "1 request failed", "2 requests failed".
std::string counted(std::uint64_t n, std::string_view thing) {
  return std::to_string(n) + ' ' + std::string(thing) + (n == 1 ? "" : "s");
}

std::string signal_text(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

std::string cost_text(const fault& f) {
  std::string cost;
  const auto add = [&cost](const std::string& part) { cost += (cost.empty() ? "" : ", ") + part; };
  if (f.requests_failed != 0) add(counted(f.requests_failed, "request") + " failed");
  if (f.sessions_lost != 0) add(counted(f.sessions_lost, "session") + " lost");
  if (f.restart_time.count() != 0) {
    add("restart took " + std::to_string(f.restart_time.count()) + " us");
  }
  return cost;
}

// A line of an entry; nothing when there is nothing to say.
void add_line(std::string& out, std::string_view name, const std::string& value) {
  if (value.empty()) return;
  out.append("  ").append(name).append(10 - name.size(), ' ').append(value).append("\n");
}

void add_detail(std::string& out, std::string_view detail) {
  if (detail.empty()) return;
  out += "  detail\n";
  while (!detail.empty()) {
    const std::size_t end = std::min(detail.find('\n'), detail.size());
    out.append("    ").append(printable(detail.substr(0, end))).append("\n");
    detail.remove_prefix(std::min(end + 1, detail.size()));
  }
}

}  // namespace

std::string ledger::to_json(const fault_query& q) const {
  const std::vector<fault> found = select(q);
  std::string out = "{\"total\":" + std::to_string(total()) + ",\"faults\":[";
  bool first = true;
  for (const fault& f : found) {
    if (!std::exchange(first, false)) out += ',';
    out += "{\"number\":" + std::to_string(f.number) + ",\"when\":" + json_string(iso8601(f.when)) +
           ",\"child\":" + json_string(f.child) + ",\"kind\":" + json_string(f.kind) +
           ",\"what\":" + json_string(f.what) + ",\"route\":" + json_string(f.route) +
           ",\"request\":" + std::to_string(f.request) + ",\"shard\":" + std::to_string(f.shard) +
           ",\"action\":" + json_string(f.action) + ",\"signal\":" + std::to_string(f.signal) +
           ",\"requests_failed\":" + std::to_string(f.requests_failed) +
           ",\"sessions_lost\":" + std::to_string(f.sessions_lost) +
           ",\"restart_us\":" + std::to_string(f.restart_time.count()) +
           ",\"detail\":" + json_string(f.detail) + '}';
  }
  return out + "]}";
}

std::string ledger::to_text(const fault_query& q) const {
  const std::vector<fault> found = select(q);
  std::string out = counted(total(), "fault") + " since the start, " +
                    std::to_string(found.size()) + " shown, oldest first\n";
  for (const fault& f : found) {
    out += "\n#" + std::to_string(f.number) + ' ' + iso8601(f.when) + ' ' + printable(f.child) +
           ": " + printable(f.kind) + '\n';
    if (f.signal != 0) add_line(out, "signal", signal_text(f.signal));
    add_line(out, "what", printable(f.what));
    if (f.request != 0) {
      add_line(out, "request", std::to_string(f.request) + ", " + printable(f.route));
    }
    add_line(out, "shard", std::to_string(f.shard));
    add_line(out, "cost", cost_text(f));
    add_line(out, "action", printable(f.action));
    add_detail(out, f.detail);
  }
  return out;
}

}  // namespace bulkhead::supervision
