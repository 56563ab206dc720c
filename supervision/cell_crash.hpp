// What a worker says while it dies of a signal: written in its signal handler, read by the server.
#pragma once

#include <bulkhead/supervision/cell_segment.hpp>

#include <string>

namespace bulkhead::supervision {

// Worker, once, on its only thread: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS and SIGTRAP
// are written down on an alternate stack and then end the process as they would have.
void install_crash_handler(crash_record& into);

// "SIGSEGV", "SIGSEGV (stack overflow)", "signal 42".
[[nodiscard]] std::string signal_name(int signal);

// Server: what a record says, each field copied once and checked, since a dying process wrote it.
struct crash_report {
  int signal = 0;  // 0: there is no record
  std::uint64_t request = 0;
  std::string kind;       // "SIGSEGV", "stack overflow"
  std::string what;       // "SIGSEGV at 0x0"
  std::string backtrace;  // a line a frame: demangled name + offset, or address
};
// The worker was forked from this program's image: its addresses are looked up in ours.
[[nodiscard]] crash_report read_crash(const crash_record& from);

}  // namespace bulkhead::supervision
