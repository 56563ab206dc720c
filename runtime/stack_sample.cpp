#include <bulkhead/runtime/stack_sample.hpp>
#include <bulkhead/runtime/unique_fd.hpp>

#include <cxxabi.h>
#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>
#include <string_view>

namespace bulkhead::runtime {

namespace {

constexpr std::size_t own_frames = 2;  // the handler and the kernel's return from it

void append(stack_sample& s, std::string_view text) noexcept {
  const std::size_t n = std::min(text.size(), s.what.size() - s.what_size);
  std::copy_n(text.data(), n, s.what.data() + s.what_size);
  s.what_size += n;
}

// On the sampled thread, at any instruction: nothing here allocates or locks.
void answer(int, siginfo_t* info, void*) noexcept {
  if (info->si_code != SI_QUEUE || info->si_pid != ::getpid()) return;
  auto& s = *static_cast<stack_sample*>(info->si_value.sival_ptr);
  if (!s.asked.load(std::memory_order_acquire)) return;
  const int saved = errno;
  s.depth = ::backtrace(s.frames.data(), static_cast<int>(s.frames.size()));
  s.task = 0;
  s.what_size = 0;
  if (const heartbeat::task* t = s.heart->doing(); t != nullptr) {
    s.task = t->id;
    append(s, t->method);
    append(s, " ");
    append(s, t->path);
  }
  s.asked.store(false, std::memory_order_release);
  ::sem_post(&s.answered);
  errno = saved;
}

std::string hex(std::uintptr_t n) {
  char text[32];
  return {text, static_cast<std::size_t>(std::snprintf(text, sizeof text, "+0x%zx", n))};
}

std::string describe_frame(void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  Dl_info found{};
  if (::dladdr(at, &found) == 0 || found.dli_fname == nullptr) return "?" + hex(address);
  const auto offset = [&](const void* from) {
    return hex(address - reinterpret_cast<std::uintptr_t>(from));
  };
  std::string_view file = found.dli_fname;
  file.remove_prefix(file.rfind('/') + 1);
  std::string out = "?";
  if (found.dli_sname != nullptr) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> plain(
        abi::__cxa_demangle(found.dli_sname, nullptr, nullptr, &status), &std::free);
    out = (status == 0 ? plain.get() : found.dli_sname) + offset(found.dli_saddr);
  }
  return out + " (" + std::string(file) + offset(found.dli_fbase) + ')';
}

void change_mask(int how) noexcept {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, sampling_signal());
  ::pthread_sigmask(how, &one, nullptr);
}

bool wait_for(sem_t& s, milliseconds patience) noexcept {
  timespec until{};
  ::clock_gettime(CLOCK_MONOTONIC, &until);
  const auto nanoseconds = until.tv_nsec + patience.count() % 1000 * 1'000'000;
  until.tv_sec += patience.count() / 1000 + nanoseconds / 1'000'000'000;
  until.tv_nsec = nanoseconds % 1'000'000'000;
  int done = 0;
  while ((done = ::sem_clockwait(&s, CLOCK_MONOTONIC, &until)) != 0 && errno == EINTR) {
  }
  return done == 0;
}

}  // namespace

stack_sample::stack_sample() noexcept {
  ::sem_init(&answered, 0, 0);
}

stack_sample::~stack_sample() {
  ::sem_destroy(&answered);
}

may_be_sampled::may_be_sampled(heartbeat& heart) noexcept : heart_(heart) {
  sample_.thread = static_cast<pid_t>(::syscall(SYS_gettid));
  sample_.heart = &heart;
  change_mask(SIG_UNBLOCK);
  const std::lock_guard lock(heart.sample_lock);
  heart.sample = &sample_;
}

may_be_sampled::~may_be_sampled() {
  const std::lock_guard lock(heart_.sample_lock);
  heart_.sample = nullptr;
  change_mask(SIG_BLOCK);  // what is under way is never delivered: the sample goes
}

int sampling_signal() noexcept {
  return SIGRTMAX - 2;
}

bool prepare_stack_samples() noexcept {
  struct sigaction now {};
  if (::sigaction(sampling_signal(), nullptr, &now) != 0) return false;
  if ((now.sa_flags & SA_SIGINFO) != 0) return now.sa_sigaction == &answer;
  if (now.sa_handler != SIG_DFL && now.sa_handler != SIG_IGN) return false;
  void* one = nullptr;
  ::backtrace(&one, 1);  // loads the unwinder, which a signal handler may not
  struct sigaction ours {};
  ours.sa_sigaction = &answer;
  ours.sa_flags = SA_SIGINFO | SA_RESTART;
  return ::sigaction(sampling_signal(), &ours, nullptr) == 0;
}

stack_trace look_at(heartbeat& heart, milliseconds patience) {
  stack_trace out;
  const std::lock_guard lock(heart.sample_lock);
  stack_sample* s = heart.sample;
  // One that was asked and has not answered yet would write while this one is read.
  if (s == nullptr || s->asked.exchange(true)) return out;
  while (::sem_trywait(&s->answered) == 0) {  // an answer that came too late
  }
  siginfo_t how{};
  how.si_code = SI_QUEUE;
  how.si_pid = ::getpid();
  how.si_uid = ::getuid();
  how.si_value.sival_ptr = s;
  if (::syscall(SYS_rt_tgsigqueueinfo, how.si_pid, s->thread, sampling_signal(), &how) != 0) {
    s->asked = false;
    return out;
  }
  if (!wait_for(s->answered, patience) || s->asked.load(std::memory_order_acquire)) return out;
  out.task = s->task;
  out.what.assign(s->what.data(), s->what_size);
  const std::span<void*> all(s->frames.data(), static_cast<std::size_t>(std::max(0, s->depth)));
  for (void* f : all.subspan(std::min(own_frames, all.size()))) {
    out.frames.push_back(describe_frame(f));
  }
  return out;
}

std::chrono::nanoseconds waited_for_processor(heartbeat& heart) {
  const std::lock_guard lock(heart.sample_lock);
  if (heart.sample == nullptr) return {};
  const std::string path = "/proc/self/task/" + std::to_string(heart.sample->thread) + "/schedstat";
  const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char text[96];
  const ssize_t n = file ? ::read(file.get(), text, sizeof text - 1) : 0;
  if (n <= 0) return {};
  text[n] = 0;
  char* second = nullptr;  // "on the processor, waiting for it, turns"
  static_cast<void>(std::strtoull(text, &second, 10));
  return std::chrono::nanoseconds(std::strtoll(second, nullptr, 10));
}

}  // namespace bulkhead::runtime
