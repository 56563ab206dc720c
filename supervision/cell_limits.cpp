#include <bulkhead/supervision/cell_limits.hpp>

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#if BULKHEAD_HAVE_SECCOMP
#include <seccomp.h>
#endif

#include <cerrno>
#include <cstdio>
#include <ctime>
#include <memory>
#include <string>

namespace bulkhead::supervision {

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool sanitized = true;  // shadow memory takes terabytes of address space
#else
constexpr bool sanitized = false;
#endif

error refused(const char* option, const std::string& what) {
  return {error_category::configuration, std::string("cell.") + option + ": " + what};
}

std::uint64_t address_space_now() noexcept {
  unsigned long long pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(f, "%llu", &pages) != 1) pages = 0;  // NOLINT(cert-err34-c): checked
    std::fclose(f);
  }
  return pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

result<void> lower(int what, std::uint64_t value, const char* option) {
  rlimit now{};
  ::getrlimit(static_cast<__rlimit_resource>(what), &now);
  now.rlim_cur = now.rlim_max = value < now.rlim_max ? value : now.rlim_max;
  if (::setrlimit(static_cast<__rlimit_resource>(what), &now) != 0) {
    return refused(option, "setrlimit: " + errno_text(errno) + "; leave the option at its default");
  }
  return {};
}

#if BULKHEAD_HAVE_SECCOMP

// What a handler of HTTP requests has no business doing.
constexpr const char* forbidden[] = {
    // new ways to the outside
    "socket", "socketpair", "connect", "bind", "listen", "accept", "accept4",
    // other programs, other processes
    "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp",
    "setns", "unshare",
    // the machine
    "mount", "umount2", "move_mount", "open_tree", "fsopen", "fsmount", "pivot_root", "chroot",
    "swapon", "swapoff", "reboot", "kexec_load", "kexec_file_load", "init_module", "finit_module",
    "delete_module", "iopl", "ioperm", "settimeofday", "clock_settime", "clock_adjtime", "adjtimex",
    "sethostname", "setdomainname", "acct", "quotactl", "bpf", "perf_event_open", "userfaultfd",
    "io_uring_setup", "add_key", "request_key", "keyctl", "open_by_handle_at", "name_to_handle_at",
    "lookup_dcookie", "syslog", "vhangup",
    // other identities
    "setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups", "setfsuid",
    "setfsgid", "capset"};

constexpr const char* needed[] = {"read",
                                  "readv",
                                  "pread64",
                                  "write",
                                  "writev",
                                  "pwrite64",
                                  "close",
                                  "fstat",
                                  "newfstatat",
                                  "lseek",
                                  "mmap",
                                  "munmap",
                                  "mremap",
                                  "mprotect",
                                  "madvise",
                                  "brk",
                                  "futex",
                                  "clock_gettime",
                                  "clock_getres",
                                  "gettimeofday",
                                  "time",
                                  "clock_nanosleep",
                                  "nanosleep",
                                  "getrandom",
                                  "getpid",
                                  "gettid",
                                  "tgkill",
                                  "rt_sigaction",
                                  "rt_sigprocmask",
                                  "rt_sigreturn",
                                  "sigaltstack",
                                  "sched_yield",
                                  "sched_getaffinity",
                                  "getrlimit",
                                  "setrlimit",
                                  "prlimit64",
                                  "getrusage",
                                  "restart_syscall",
                                  "rseq",
                                  "exit",
                                  "exit_group",
                                  "membarrier"};

using filter_ptr = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

result<filter_ptr> build_filter(syscall_filter f) {
  const bool strict = f == syscall_filter::strict;
  filter_ptr filter(::seccomp_init(strict ? SCMP_ACT_TRAP : SCMP_ACT_ALLOW), &::seccomp_release);
  if (!filter) return refused("syscalls", "libseccomp made no filter");
  const auto add = [&](std::uint32_t action, const char* name) {
    const int number = ::seccomp_syscall_resolve_name(name);
    if (number != __NR_SCMP_ERROR) {  // unknown on this architecture: nothing to forbid or allow
      ::seccomp_rule_add(filter.get(), action, number, 0);
    }
  };
  if (strict) {
    for (const char* name : needed) add(SCMP_ACT_ALLOW, name);
  } else {
    for (const char* name : forbidden) add(SCMP_ACT_ERRNO(EPERM), name);
  }
  return filter;
}

#endif

}  // namespace

result<void> apply_limits(const cell_options& o) {
  if (o.address_space != 0 && !sanitized) {
    if (auto ok = lower(RLIMIT_AS, address_space_now() + o.address_space, "address_space"); !ok) {
      return ok;
    }
  }
  if (!o.core_dumps) {
    if (auto ok = lower(RLIMIT_CORE, 0, "core_dumps"); !ok) return ok;
  }
  if (o.no_new_privileges && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return refused("no_new_privileges",
                   "the kernel refuses: " + errno_text(errno) + "; set the option to false");
  }
  return {};
}

result<void> can_filter(syscall_filter f) {
  if (f == syscall_filter::none) return {};
#if BULKHEAD_HAVE_SECCOMP
  if (::prctl(PR_GET_SECCOMP, 0, 0, 0, 0) < 0) {
    return refused("syscalls",
                   "this kernel has no seccomp; set the option to none, or use another kernel");
  }
  return {};
#else
  return refused("syscalls",
                 "this build has no libseccomp; install libseccomp-dev and build again, or set "
                 "the option to none");
#endif
}

result<void> apply_syscall_filter([[maybe_unused]] syscall_filter f) {
  if (auto ok = can_filter(f); !ok || f == syscall_filter::none) return ok;
#if BULKHEAD_HAVE_SECCOMP
  auto filter = build_filter(f);
  if (!filter) return filter.why();
  if (const int status = ::seccomp_load(filter->get()); status != 0) {
    return refused("syscalls", "the kernel refuses the filter: " + errno_text(-status) +
                                   "; set the option to none");
  }
#endif
  return {};
}

void begin_cpu_time(std::chrono::seconds limit) noexcept {
  if (limit.count() == 0) return;
  timespec used{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  rlimit r{};
  ::getrlimit(RLIMIT_CPU, &r);
  const auto soft = static_cast<rlim_t>(used.tv_sec + 1 + limit.count());
  if (r.rlim_cur == soft) return;
  r.rlim_cur = soft < r.rlim_max ? soft : r.rlim_max;
  ::setrlimit(RLIMIT_CPU, &r);
}

}  // namespace bulkhead::supervision
