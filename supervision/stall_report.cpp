#include <bulkhead/runtime/log.hpp>
#include <bulkhead/supervision/stall_report.hpp>

#include <cstddef>
#include <string>

namespace bulkhead::supervision {

void report_stall(const watchdog::stall& s, const runtime::clock& time, ledger& faults) {
  const auto& frames = s.where.frames;
  std::string what = "held for at least " + std::to_string(s.held.count()) + " ms";
  if (s.others != 0) what += " (and " + std::to_string(s.others) + " other times)";
  if (!frames.empty()) what += ", in " + frames.front();
  faults.record({.when = time.wall(),
                 .child = "shard-" + std::to_string(s.shard),
                 .kind = "stall",
                 .what = what,
                 .route = s.where.what,
                 .request = s.where.task,
                 .shard = s.shard,
                 .action = "reported"});
  for (std::size_t i = 0; i < frames.size(); ++i) {
    runtime::log::warn(
        "stall", "shard-" + std::to_string(s.shard) + " #" + std::to_string(i) + ' ' + frames[i]);
  }
}

}  // namespace bulkhead::supervision
