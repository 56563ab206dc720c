// What a worker takes from itself before it serves: limits of the kernel, privileges, system calls.
//
// In the worker process, on its only thread.
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/supervision/cell_options.hpp>

namespace bulkhead::supervision {

// RLIMIT_AS, RLIMIT_CORE and PR_SET_NO_NEW_PRIVS. The error names the option and what to do.
[[nodiscard]] result<void> apply_limits(const cell_options& o);

// The system call filter: after the handler is made, which may open what it needs.
[[nodiscard]] result<void> apply_syscall_filter(syscall_filter f);

// Whether this build and this kernel can filter: asked at start, before any worker exists.
[[nodiscard]] result<void> can_filter(syscall_filter f);

// Gives the request that begins `limit` of CPU time (RLIMIT_CPU counts the whole process, in whole
// seconds). Nothing when limit is 0.
void begin_cpu_time(std::chrono::seconds limit) noexcept;

}  // namespace bulkhead::supervision
