// A stall for the operator: an entry of the ledger, and a backtrace in the log. Any thread.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/supervision/ledger.hpp>
#include <bulkhead/supervision/watchdog.hpp>

namespace bulkhead::supervision {

void report_stall(const watchdog::stall& s, const runtime::clock& time, ledger& faults);

}  // namespace bulkhead::supervision
