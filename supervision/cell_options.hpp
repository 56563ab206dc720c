// What a route with placement `cell` allows its workers, and how many there are.
//
// Plain data, part of a child_spec. A worker is a process that serves one request at a time; its
// death costs that request.
#pragma once

#include <chrono>
#include <cstdint>

namespace bulkhead::supervision {

// Which system calls a worker may make, once its handler is made (libseccomp).
enum class syscall_filter : std::uint8_t {
  none,
  // No new sockets, no exec, no ptrace, no mounts, no kernel modules or keys: these fail with
  // EPERM.
  standard,
  // Only what computing needs: memory, futexes, clocks, reading and writing open descriptors. Any
  // other call ends the worker with SIGSYS.
  strict,
};

struct cell_options {
  // Workers of each shard that may be busy at once: in all, `workers` times the number of shards.
  std::uint32_t workers = 1;
  // Ready ones beyond that, for the moment when a busy one dies. At least 1.
  std::uint32_t spares = 1;
  // From the moment that a worker has the request: then 503, SIGTERM, and SIGKILL after `grace`. A
  // request that waited so long for a worker gets 503 as well. 0: no deadline, and a handler that
  // hangs keeps its worker.
  std::chrono::milliseconds deadline = std::chrono::seconds(30);
  std::chrono::milliseconds grace = std::chrono::milliseconds(500);
  // Bytes of address space that a worker may add to what it has at its start (RLIMIT_AS): further
  // allocations fail. 0: no limit. Has no effect in builds with sanitizers.
  std::uint64_t address_space = 0;
  // Bytes of resident memory, looked at every 20 ms while a worker is busy; over: killed, and 500.
  // 0: no limit.
  std::uint64_t resident = 0;
  // CPU seconds for one request (RLIMIT_CPU, SIGXCPU); over: 503. 0: no limit.
  std::chrono::seconds cpu{0};
  // After so many requests a worker is replaced. 0: never.
  std::uint64_t max_requests = 0;
  bool no_new_privileges = true;  // PR_SET_NO_NEW_PRIVS
  syscall_filter syscalls = syscall_filter::none;
  // Core files of dead workers, where the system's limit and core_pattern put them.
  bool core_dumps = false;
  // A GET, HEAD, OPTIONS, PUT or DELETE whose worker died before it answered is given to another
  // worker, once. Only for handlers for which asking twice is the same as asking once.
  bool replay = false;
};

}  // namespace bulkhead::supervision
