#include <bulkhead/runtime/signals.hpp>

#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace bulkhead::runtime {

namespace {

sigset_t set_of(std::initializer_list<int> signals) noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  for (const int s : signals) ::sigaddset(&set, s);
  return set;
}

}  // namespace

void block_signals(std::initializer_list<int> signals) {
  const sigset_t set = set_of(signals);
  const int why = ::pthread_sigmask(SIG_BLOCK, &set, nullptr);
  if (why != 0) throw std::system_error(why, std::generic_category(), "pthread_sigmask");
  std::signal(SIGPIPE, SIG_IGN);  // NOLINT(*-err33-c): SIGPIPE can be ignored
}

all_signals_blocked::all_signals_blocked() noexcept {
  sigset_t all;
  ::sigfillset(&all);
  // A fault must reach the thread that committed it.
  for (const int s : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS}) {
    ::sigdelset(&all, s);
  }
  ::pthread_sigmask(SIG_SETMASK, &all, &before_);
}

all_signals_blocked::~all_signals_blocked() {
  ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

signal_source::signal_source(shard& on, std::initializer_list<int> signals,
                             std::function<void(int)> handle)
    : shard_(on), handle_(std::move(handle)) {
  const sigset_t set = set_of(signals);
  fd_.reset(::signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!fd_ || !shard_.watch(fd_.get(), EPOLLIN, *this)) {
    throw std::system_error(errno, std::generic_category(), "signalfd");
  }
}

signal_source::~signal_source() {
  shard_.unwatch(fd_.get());
}

void signal_source::on_ready(std::uint32_t) noexcept {
  std::array<signalfd_siginfo, 8> caught;  // what does not fit is reported at the next turn
  const ssize_t n = ::read(fd_.get(), caught.data(), sizeof caught);
  if (n <= 0) return;
  const auto count = static_cast<std::size_t>(n) / sizeof caught[0];
  for (std::size_t i = 0; i < count; ++i) handle_(static_cast<int>(caught[i].ssi_signo));
}

}  // namespace bulkhead::runtime
