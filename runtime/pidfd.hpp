// Descriptors that stand for processes (pidfd_open(2), Linux 5.3): readable once the process has
// ended, and never another process's, as a number may be.
#pragma once

#include <bulkhead/runtime/unique_fd.hpp>

#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

namespace bulkhead::runtime {

// By number, since glibc 2.36 declares its own functions without C linkage. Empty with errno set
// when there is no such process or no such call.
[[nodiscard]] inline unique_fd open_pidfd(pid_t pid) noexcept {
  return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0U)));
}

// False with errno set, ESRCH when it has ended.
inline bool signal_pidfd(int pidfd, int signal) noexcept {
  return ::syscall(SYS_pidfd_send_signal, pidfd, signal, nullptr, 0U) == 0;
}

}  // namespace bulkhead::runtime
