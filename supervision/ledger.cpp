#include <bulkhead/runtime/log.hpp>
#include <bulkhead/supervision/json.hpp>
#include <bulkhead/supervision/ledger.hpp>

#include <algorithm>
#include <array>
#include <ctime>
#include <utility>

namespace bulkhead::supervision {

namespace {

constexpr std::array texts = {&fault::child, &fault::kind, &fault::what, &fault::route,
                              &fault::action};

std::string iso8601(runtime::wall_time when) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(when);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

}  // namespace

ledger::ledger(std::size_t capacity) : ring_(std::max<std::size_t>(1, capacity)) {
  for (fault& f : ring_) {
    for (const auto text : texts) {
      (f.*text).resize(longest_text);  // touched now, so that it is resident from the start
      (f.*text).clear();
    }
  }
}

void ledger::record(const fault& f) {
  std::string line;
  {
    const std::lock_guard lock(mutex_);
    fault& kept = ring_[total_ % ring_.size()];
    kept.number = ++total_;
    kept.when = f.when;
    kept.request = f.request;
    kept.shard = f.shard;
    for (const auto text : texts) (kept.*text).assign(f.*text, 0, longest_text);
    line = "fault " + std::to_string(kept.number) + " in " + kept.child + ": " + kept.kind + ": " +
           kept.what;
    if (kept.request != 0) {
      line += " (request " + std::to_string(kept.request) + ", " + kept.route + ")";
    }
    line += "; " + kept.action;
  }
  runtime::log::warn("ledger", line);
}

std::vector<fault> ledger::recent() const {
  const std::lock_guard lock(mutex_);
  std::vector<fault> all;
  const std::uint64_t kept = std::min<std::uint64_t>(total_, ring_.size());
  for (std::uint64_t n = total_ - kept; n < total_; ++n) all.push_back(ring_[n % ring_.size()]);
  return all;
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
