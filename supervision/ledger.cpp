#include <bulkhead/runtime/log.hpp>
#include <bulkhead/supervision/json.hpp>
#include <bulkhead/supervision/ledger.hpp>

#include <ctime>
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

}  // namespace

void ledger::record(fault f) {
  std::string line;
  {
    const std::lock_guard lock(mutex_);
    f.number = ++total_;
    line = "fault " + std::to_string(f.number) + " in " + f.child + ": " + f.kind + ": " + f.what;
    if (f.request != 0) line += " (request " + std::to_string(f.request) + ", " + f.route + ")";
    line += "; " + f.action;
    faults_.push_back(std::move(f));
    if (faults_.size() > capacity_) faults_.pop_front();
  }
  runtime::log::warn("ledger", line);
}

std::vector<fault> ledger::recent() const {
  const std::lock_guard lock(mutex_);
  return {faults_.begin(), faults_.end()};
}

std::uint64_t ledger::total() const {
  const std::lock_guard lock(mutex_);
  return total_;
}

std::string ledger::to_json() const {
  std::string out = "{\"total\":" + std::to_string(total()) + ",\"faults\":[";
  bool first = true;
  for (const fault& f : recent()) {
    if (!std::exchange(first, false)) out += ',';
    out += "{\"number\":" + std::to_string(f.number) + ",\"when\":" + json_string(iso8601(f.when)) +
           ",\"child\":" + json_string(f.child) + ",\"kind\":" + json_string(f.kind) +
           ",\"what\":" + json_string(f.what) + ",\"route\":" + json_string(f.route) +
           ",\"request\":" + std::to_string(f.request) + ",\"shard\":" + std::to_string(f.shard) +
           ",\"action\":" + json_string(f.action) + '}';
  }
  return out + "]}";
}

}  // namespace bulkhead::supervision
