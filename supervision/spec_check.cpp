#include <bulkhead/supervision/cell_limits.hpp>
#include <bulkhead/supervision/spec_check.hpp>

#include <set>

namespace bulkhead::supervision {

namespace {

using std::chrono::milliseconds;

// Far beyond any use, and small enough that times and memory cannot overflow.
constexpr std::uint32_t most_restarts = 1'000'000;
constexpr milliseconds longest = std::chrono::hours(24 * 7);
constexpr milliseconds longest_shutdown = std::chrono::hours(24);

error bad(const std::string& who, const std::string& what) {
  return {error_category::configuration, who + ": " + what};
}

std::string given(milliseconds ms) {
  return "; given: " + std::to_string(ms.count()) + " ms";
}

// Written so that a number which is no number is wrong as well.
bool within(double x, double low, double high) noexcept {
  return x >= low && x <= high;
}

result<void> check_intensity(const restart_intensity& i, const std::string& who) {
  if (i.restarts > most_restarts) {
    return bad(who,
               "restart_intensity.restarts must be from 0 to 1000000; given: " +
                   std::to_string(i.restarts) +
                   (i.restarts > 0x7fff'ffff ? ", which is what a negative number becomes" : ""));
  }
  if (i.period <= milliseconds(0) || i.period > longest) {
    return bad(who, "restart_intensity.period must be positive, up to 7 days" + given(i.period));
  }
  return {};
}

result<void> check_backoff(const restart_backoff& b, const std::string& who) {
  if (b.initial <= milliseconds(0) || b.cap < b.initial) {
    return bad(who, "restart_backoff needs 0 < initial <= cap; given: initial " +
                        std::to_string(b.initial.count()) + " ms, cap " +
                        std::to_string(b.cap.count()) + " ms");
  }
  if (b.cap > longest) return bad(who, "restart_backoff.cap must be up to 7 days" + given(b.cap));
  if (!within(b.factor, 1.0, 1'000.0)) {
    return bad(who, "restart_backoff.factor must be at least 1, up to 1000; given: " +
                        std::to_string(b.factor));
  }
  if (!within(b.jitter, 0.0, 1.0)) {
    return bad(who,
               "restart_backoff.jitter must be from 0 to 1; given: " + std::to_string(b.jitter));
  }
  return {};
}

result<void> check_cell(const cell_options& c, const std::string& who) {
  constexpr std::uint32_t most = 1024;
  constexpr auto longest_time = std::chrono::hours(24);
  if (c.workers == 0 || c.workers > most) {
    return bad(who, "cell.workers must be from 1 to 1024; given: " + std::to_string(c.workers));
  }
  if (c.spares == 0 || c.spares > most) {
    return bad(who,
               "cell.spares must be from 1 to 1024, since a death is covered by a worker that "
               "is ready; given: " +
                   std::to_string(c.spares));
  }
  if (c.deadline < std::chrono::milliseconds(0) || c.deadline > longest_time) {
    return bad(who, "cell.deadline must be 0 (none) or up to 24 hours" + given(c.deadline));
  }
  if (c.grace < std::chrono::milliseconds(0) || c.grace > longest_time) {
    return bad(who, "cell.grace must not be negative, up to 24 hours" + given(c.grace));
  }
  if (c.cpu < std::chrono::seconds(0) || c.cpu > longest_time) {
    return bad(who, "cell.cpu must be 0 (no limit) or up to 24 hours" + given(c.cpu));
  }
  if (auto ok = can_filter(c.syscalls); !ok) return bad(who, ok.why().message());
  return {};
}

}  // namespace

result<void> check(const child_spec& s, const std::string& who) {
  if (to_string(s.restart) == "unknown") {
    return bad(who, "restart must be permanent, transient or temporary");
  }
  if (auto ok = check_intensity(s.intensity, who); !ok) return ok;
  if (auto ok = check_backoff(s.backoff, who); !ok) return ok;
  if (s.shutdown < brutal_kill || (s.shutdown > longest_shutdown && s.shutdown != infinity)) {
    return bad(who,
               "shutdown must be brutal_kill, up to 24 hours, or infinity" + given(s.shutdown));
  }
  if (s.deadline < std::chrono::milliseconds(0)) {
    return bad(who, "deadline must not be negative" + given(s.deadline));
  }
  if (s.deadline > std::chrono::milliseconds(0) && s.placement != placement::actor) {
    return bad(who, s.placement == placement::cell
                        ? "deadline is for placement actor; a cell has cell.deadline"
                        : "deadline needs placement actor: nothing can take a shard back from a "
                          "handler");
  }
  if (s.placement != placement::inline_ && s.queue == 0) {
    return bad(who, "queue must be at least 1");
  }
  return s.placement == placement::cell ? check_cell(s.cell, who) : result<void>();
}

result<void> check(const std::string& id, const supervisor_flags& flags,
                   const std::vector<child_spec>& children) {
  const std::string who = "supervisor " + id;
  if (to_string(flags.strategy) == "unknown") {
    return bad(who,
               "strategy must be one_for_one, one_for_all, rest_for_one or simple_one_for_one");
  }
  if (auto ok = check_intensity(flags.intensity, who); !ok) return ok;
  if (flags.strategy == strategy::simple_one_for_one && children.size() != 1) {
    return bad(who, "simple_one_for_one needs exactly one child, its template; given: " +
                        std::to_string(children.size()));
  }
  std::set<std::string> seen;
  for (const child_spec& c : children) {
    if (c.id.empty()) return bad(who, "a child has no id; give each of them a name");
    if (!seen.insert(c.id).second) {
      return bad(who, "two children have the id \"" + c.id + "\"; give them different names");
    }
    if (auto ok = check(c, who + ", child " + c.id); !ok) return ok;
  }
  return {};
}

}  // namespace bulkhead::supervision
