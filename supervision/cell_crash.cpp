#include <bulkhead/supervision/cell_crash.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <sys/resource.h>
#include <ucontext.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace bulkhead::supervision {

namespace {

constexpr std::array fatal = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGTRAP};
constexpr std::size_t alternate_bytes = 64UL * 1024;  // backtrace() unwinds on it

crash_record* record = nullptr;
std::uintptr_t stack_low = 0;  // the lowest address that the stack may grow to
std::uintptr_t stack_high = 0;

std::uintptr_t stack_pointer(const void* context) noexcept {
  [[maybe_unused]] const auto* c = static_cast<const ucontext_t*>(context);
#if defined(__x86_64__)
  return static_cast<std::uintptr_t>(c->uc_mcontext.gregs[REG_RSP]);
#elif defined(__aarch64__)
  return static_cast<std::uintptr_t>(c->uc_mcontext.sp);
#else
  return 0;
#endif
}

// A fault near the stack pointer, which stands at the end of the stack's room. A large frame may
// reach some way past the guard.
bool is_stack_overflow(int signal, std::uintptr_t address, std::uintptr_t sp) noexcept {
  constexpr std::uintptr_t reach = 256UL * 1024;
  return signal == SIGSEGV && sp != 0 && address + reach > sp && address < sp + reach &&
         sp < stack_low + reach && sp < stack_high && sp + 16UL * 1024 * 1024 > stack_low;
}

void write_down(int signal, siginfo_t* info, void* context) {
  crash_record& r = *record;
  if (r.stage.load(std::memory_order_relaxed) == 0) {
    r.signal = signal;
    r.code = info->si_code;
    r.address = reinterpret_cast<std::uint64_t>(info->si_addr);  // NOLINT(*-reinterpret-cast)
    r.stack_overflow = is_stack_overflow(signal, r.address, stack_pointer(context)) ? 1 : 0;
    r.stage.store(1, std::memory_order_release);
    std::array<void*, crash_record::most_frames> frames;  // NOLINT(*-member-init)
    const int n = ::backtrace(frames.data(), static_cast<int>(frames.size()));
    for (int i = 0; i < n; ++i) {
      // NOLINTNEXTLINE(*-reinterpret-cast)
      r.frames[static_cast<std::size_t>(i)] =
          reinterpret_cast<std::uint64_t>(frames[static_cast<std::size_t>(i)]);
    }
    r.frame_count = static_cast<std::uint32_t>(std::max(n, 0));
    r.stage.store(2, std::memory_order_release);
  }
  // The action is the default again (SA_RESETHAND). A fault of an instruction happens again on
  // return; a forbidden call, a breakpoint and what somebody sent do not, and are sent again: they
  // are blocked until then.
  if (info->si_code <= 0 || signal == SIGSYS || signal == SIGTRAP) ::raise(signal);
}

std::string demangled(const char* name) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), &std::free);
  return status == 0 ? text.get() : name;
}

std::string hex(std::uint64_t value) {
  std::array<char, 24> text{};
  std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(value));
  return text.data();
}

std::string symbol(std::uint64_t address) {
  Dl_info info{};
  // NOLINTNEXTLINE(*-reinterpret-cast,performance-no-int-to-ptr)
  if (::dladdr(reinterpret_cast<void*>(address), &info) == 0) return hex(address);
  std::string text;
  if (info.dli_sname != nullptr) {
    // NOLINTNEXTLINE(*-reinterpret-cast)
    const auto start = reinterpret_cast<std::uint64_t>(info.dli_saddr);
    text = demangled(info.dli_sname) + " + " + hex(address - start);
  } else if (info.dli_fname != nullptr) {
    const char* slash = std::strrchr(info.dli_fname, '/');
    // NOLINTNEXTLINE(*-reinterpret-cast)
    const auto base = reinterpret_cast<std::uint64_t>(info.dli_fbase);
    text = std::string(slash != nullptr ? slash + 1 : info.dli_fname) + " + " + hex(address - base);
  }
  return text + " [" + hex(address) + "]";
}

}  // namespace

void install_crash_handler(crash_record& into) {
  record = &into;
  pthread_attr_t attributes;
  if (::pthread_getattr_np(::pthread_self(), &attributes) == 0) {
    void* low = nullptr;
    std::size_t size = 0;
    ::pthread_attr_getstack(&attributes, &low, &size);
    ::pthread_attr_destroy(&attributes);
    stack_low = reinterpret_cast<std::uintptr_t>(low);  // NOLINT(*-reinterpret-cast)
    stack_high = stack_low + size;
  }
  std::array<void*, 2> first{};
  ::backtrace(first.data(), 2);  // loads the unwinder now, not in a handler

  static std::array<std::byte, alternate_bytes> alternate;
  stack_t stack{};
  stack.ss_sp = alternate.data();
  stack.ss_size = alternate.size();
  ::sigaltstack(&stack, nullptr);
  struct sigaction action {};
  action.sa_sigaction = &write_down;
  action.sa_flags = static_cast<int>(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
  ::sigemptyset(&action.sa_mask);
  for (const int signal : fatal) ::sigaction(signal, &action, nullptr);
}

std::string signal_name(int signal) {
  const char* name = ::sigabbrev_np(signal);
  return name != nullptr ? "SIG" + std::string(name) : "signal " + std::to_string(signal);
}

crash_report read_crash(const crash_record& from) {
  crash_report report;
  const std::uint32_t stage = from.stage.load(std::memory_order_acquire);
  if (stage == 0) return report;
  const int signal = from.signal;
  if (std::find(fatal.begin(), fatal.end(), signal) == fatal.end()) return report;
  report.signal = signal;
  report.request = from.request;
  report.kind = from.stack_overflow == 1 ? "stack overflow" : signal_name(signal);
  report.what = signal_name(signal);
  if (from.code > 0) report.what += " at " + hex(from.address);
  if (from.stack_overflow == 1) report.what += ", the stack's end";
  if (stage < 2) return report;
  const std::uint32_t count = std::min(from.frame_count, crash_record::most_frames);
  for (std::uint32_t i = 0; i < count; ++i) {
    report.backtrace += "#" + std::to_string(i) + " " + symbol(from.frames[i]) + "\n";
  }
  return report;
}

}  // namespace bulkhead::supervision
