#include <bulkhead/runtime/log.hpp>
#include <bulkhead/supervision/ledger.hpp>

#include <algorithm>
#include <array>
#include <string_view>

namespace bulkhead::supervision {

namespace {

struct bounded_text {
  std::string fault::*text;
  std::size_t longest;
};
constexpr std::array texts = {
    bounded_text{&fault::child, ledger::longest_text},
    bounded_text{&fault::kind, ledger::longest_text},
    bounded_text{&fault::what, ledger::longest_text},
    bounded_text{&fault::route, ledger::longest_text},
    bounded_text{&fault::action, ledger::longest_text},
    bounded_text{&fault::detail, ledger::longest_detail},
};
constexpr std::string_view other_kinds = "other";

// Touched now, so that it is resident from the start.
void take_memory(std::string& text, std::size_t size) {
  text.resize(size);
  text.clear();
}

}  // namespace

ledger::ledger(std::size_t capacity) : ring_(std::max<std::size_t>(1, capacity)) {
  for (fault& f : ring_) {
    for (const auto& t : texts) take_memory(f.*t.text, t.longest);
  }
  totals_.kinds.resize(most_kinds + 1);
  for (auto& k : totals_.kinds) take_memory(k.kind, longest_text);
}

std::uint64_t ledger::record(const fault& f) {
  std::string line;
  std::uint64_t number = 0;
  {
    const std::lock_guard lock(mutex_);
    fault& kept = ring_[totals_.faults % ring_.size()];
    kept.when = f.when;
    kept.request = f.request;
    kept.shard = f.shard;
    kept.signal = f.signal;
    kept.requests_failed = f.requests_failed;
    kept.sessions_lost = f.sessions_lost;
    kept.restart_time = f.restart_time;
    for (const auto& t : texts) (kept.*t.text).assign(f.*t.text, 0, t.longest);
    count(kept);
    kept.number = number = totals_.faults;
    line = "fault " + std::to_string(kept.number) + " in " + kept.child + ": " + kept.kind + ": " +
           kept.what;
    if (kept.request != 0) {
      line += " (request " + std::to_string(kept.request) + ", " + kept.route + ")";
    }
    line += "; " + kept.action;
  }
  runtime::log::warn("ledger", line);
  return number;
}

// Under the mutex. A free place has no faults yet; the last one is for all kinds without a place.
void ledger::count(const fault& f) {
  ++totals_.faults;
  totals_.requests_failed += f.requests_failed;
  totals_.sessions_lost += f.sessions_lost;
  totals_.restart_time += f.restart_time;
  std::size_t i = f.kind == other_kinds ? most_kinds : 0;
  while (i < most_kinds && totals_.kinds[i].faults != 0 && totals_.kinds[i].kind != f.kind) ++i;
  auto& k = totals_.kinds[i];
  if (k.faults == 0) k.kind.assign(i < most_kinds ? std::string_view(f.kind) : other_kinds);
  ++k.faults;
}

void ledger::restarted(std::uint64_t number, std::chrono::microseconds took) {
  const std::lock_guard lock(mutex_);
  if (number == 0 || number > totals_.faults) return;
  totals_.restart_time += took;
  fault& kept = ring_[(number - 1) % ring_.size()];
  if (kept.number == number) kept.restart_time = took;
}

std::vector<fault> ledger::recent() const {
  return select({});
}

std::vector<fault> ledger::select(const fault_query& q) const {
  const std::lock_guard lock(mutex_);
  std::vector<fault> found;
  const std::uint64_t oldest =
      totals_.faults - std::min<std::uint64_t>(totals_.faults, ring_.size());
  for (std::uint64_t n = totals_.faults; n > oldest && n > q.since; --n) {
    if (found.size() >= q.limit) break;
    const fault& f = ring_[(n - 1) % ring_.size()];
    if (q.child.empty() || f.child == q.child) found.push_back(f);
  }
  std::reverse(found.begin(), found.end());
  return found;
}

std::uint64_t ledger::total() const {
  const std::lock_guard lock(mutex_);
  return totals_.faults;
}

fault_totals ledger::totals() const {
  const std::lock_guard lock(mutex_);
  fault_totals t = totals_;
  std::erase_if(t.kinds, [](const auto& k) { return k.faults == 0; });
  return t;
}

std::size_t ledger::memory() const {
  const std::lock_guard lock(mutex_);
  std::size_t bytes = 0;
  for (const fault& f : ring_) {
    for (const auto& t : texts) bytes += (f.*t.text).capacity();
  }
  for (const auto& k : totals_.kinds) bytes += k.kind.capacity();
  return bytes;
}

}  // namespace bulkhead::supervision
