#include <bulkhead/http/message_codec.hpp>
#include <bulkhead/supervision/cell_crash.hpp>
#include <bulkhead/supervision/cell_limits.hpp>
#include <bulkhead/supervision/cell_segment.hpp>
#include <bulkhead/supervision/cell_wire.hpp>
#include <bulkhead/supervision/cell_worker.hpp>
#include <bulkhead/supervision/route_supervisor.hpp>

#include <fcntl.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <new>
#include <stdexcept>
#include <utility>

namespace bulkhead::supervision {

namespace {

constexpr int bell_at = 3;
// How often the ring is looked at before the worker sleeps: about a microsecond. The next request
// of a busy server is there by then, and a sleep with its wake-up costs more.
constexpr int looks = 40;
constexpr int announce_after = 8;

void pause_briefly() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

class worker {
 public:
  worker(const route& what, cell_layout& shared)
      : what_(what),
        shared_(shared),
        requests_(shared.requests, shared.request_bytes),
        responses_(shared.responses, shared.response_bytes) {}

  void make_handler() { handler_ = what_.make(); }

  void serve() {
    send(frame_kind::ready, 0, {});
    for (;;) {
      next();
      if (frame_.kind == frame_kind::quit) return;
      if (frame_.kind == frame_kind::request_head) serve_one();
      if (!handler_) return;  // out of memory: the server has another worker by now
    }
  }

 private:
  void next() {
    for (int i = 0; i < looks && !requests_.pending(); ++i) pause_briefly();
    for (;;) {
      const auto got = requests_.read(frame_, content_);
      if (got == ring_reader::outcome::frame) break;
      if (got == ring_reader::outcome::nonsense) std::abort();
      if (unannounced_ != 0) announce();
      sleep_until(shared_.bell, [this] { return requests_.pending(); });
    }
    wake_server(shared_.bell, waits_for_room, bell_at);
  }

  void serve_one() {
    const std::uint64_t number = frame_.request;
    request_.reset();
    std::uint64_t body_size = 0;
    if (!http::message_codec::decode_head(content_, request_, body_size)) std::abort();
    std::string& body = http::message_codec::body_of(request_);
    while (body.size() < body_size) {
      next();
      if (frame_.kind != frame_kind::body || frame_.request != number) std::abort();
      body.append(content_);
    }
    auto& claimed = shared_.claims[number % cell_layout::most_requests];
    std::uint64_t expected = claim_word(number, claim::waiting);
    if (!claimed.compare_exchange_strong(expected, claim_word(number, claim::begun))) return;
    shared_.crash.request = request_.id();
    begin_cpu_time(what_.spec.cell.cpu);
    const auto begin = std::chrono::steady_clock::now();
    try {
      outcome o = handler_->handle(request_);
      if (auto* task = std::get_if<http::task<http::response>>(&o)) {
        task->start([](void*) noexcept {}, nullptr);
        if (!task->done()) {
          throw std::logic_error(
              "a coroutine suspended under placement cell: there is no shard to resume it on; "
              "use placement inline, or block");
        }
        o = task->take();
      }
      const auto took = std::chrono::steady_clock::now() - begin;
      answer(number, *std::get_if<http::response>(&o),
             std::chrono::duration_cast<std::chrono::microseconds>(took));
    } catch (...) {
      report(number, std::current_exception());
    }
    shared_.crash.request = 0;
  }

  void answer(std::uint64_t number, const http::response& r, std::chrono::microseconds took) {
    head_.clear();
    http::message_codec::encode_head(r, head_);
    const http::body_producer* producer = r.content().producer();
    std::string_view body = r.content().view();
    response_prefix prefix{
        .body_size = producer != nullptr ? response_prefix::unknown_size : body.size(),
        .head_bytes = static_cast<std::uint32_t>(head_.size()),
        .microseconds = static_cast<std::uint32_t>(
            std::min<std::int64_t>(took.count(), std::numeric_limits<std::uint32_t>::max()))};
    // NOLINTNEXTLINE(*-reinterpret-cast)
    const std::string_view fixed(reinterpret_cast<const char*>(&prefix), sizeof prefix);
    const std::string_view first = body.substr(0, body_piece);
    send(frame_kind::response_head, number, {fixed, head_, first});
    for (body.remove_prefix(first.size()); !body.empty();) {
      const std::string_view piece = body.substr(0, body_piece);
      send(frame_kind::body, number, {piece});
      body.remove_prefix(piece.size());
    }
    if (producer == nullptr) return;
    (*producer)([&](std::string_view written) {
      while (!written.empty()) {
        const std::string_view piece = written.substr(0, body_piece);
        send(frame_kind::body, number, {piece});
        announce();  // what comes next may take long
        written.remove_prefix(piece.size());
      }
    });
    send(frame_kind::body_end, number, {});
  }

  // What the handler threw: its state is not to be trusted any more, and is made anew.
  void report(std::uint64_t number, std::exception_ptr why) {
    bool memory = false;
    try {
      std::rethrow_exception(why);
    } catch (const std::bad_alloc&) {
      memory = true;
    } catch (...) {
    }
    exception_text text = describe(std::move(why));
    text.what.resize(std::min<std::size_t>(text.what.size(), 4096));
    const fault_prefix prefix{.type_bytes = static_cast<std::uint32_t>(text.type.size()),
                              .memory = memory ? 1U : 0U};
    // NOLINTNEXTLINE(*-reinterpret-cast)
    const std::string_view fixed(reinterpret_cast<const char*>(&prefix), sizeof prefix);
    handler_.reset();
    send(frame_kind::fault, number, {fixed, text.type, text.what});
    if (!memory) make_handler();
  }

  // Waits for room: the server's reading is our credit.
  void send(frame_kind kind, std::uint64_t number,
            std::initializer_list<std::string_view> content) {
    std::size_t size = 0;
    for (const std::string_view part : content) size += part.size();
    if (size > cell_layout::ring_bytes / 2) {
      throw std::length_error("the response head has " + std::to_string(size) +
                              " bytes; a cell passes 131072");
    }
    while (!responses_.write(kind, number, content)) {
      if (responses_.broken()) std::abort();  // somebody wrote over the memory that we share
      announce();
      sleep_until(shared_.bell, [&] { return responses_.room() > size; });
    }
    // While more requests wait, answers are announced in batches: the next ones take as long as
    // this one did, or the server looks by itself after a moment.
    if (++unannounced_ >= announce_after || !requests_.pending()) announce();
  }

  void announce() noexcept {
    unannounced_ = 0;
    wake_server(shared_.bell, waits_for_frames, bell_at);
  }

  const route& what_;
  cell_layout& shared_;
  ring_reader requests_;
  ring_writer responses_;
  std::shared_ptr<handler> handler_;
  http::request request_;
  frame_header frame_;
  std::string content_;
  std::string head_;
  int unannounced_ = 0;
};

void say_why(cell_layout& shared, const std::string& why) noexcept {
  const std::size_t size = std::min(why.size(), shared.start_error.size() - 1);
  std::memcpy(shared.start_error.data(), why.data(), size);
  shared.start_failed.store(1, std::memory_order_release);
}

pid_t obeyed = 0;

void terminated(int signal, siginfo_t* info, void*) {
  if (info->si_pid != obeyed) return;
  ::signal(signal, SIG_DFL);
  ::raise(signal);
}

// What a terminal or a service manager sends to the whole group is the server's to act on: it
// drains, and its workers end when it says so. So SIGTERM counts only from there.
void reset_signals(pid_t server) noexcept {
  obeyed = server;
  for (const int signal : {SIGCHLD, SIGUSR1, SIGUSR2}) ::signal(signal, SIG_DFL);
  for (const int signal : {SIGINT, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(signal, SIG_IGN);
  struct sigaction action {};
  action.sa_sigaction = &terminated;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  ::sigemptyset(&action.sa_mask);
  ::sigaction(SIGTERM, &action, nullptr);
  sigset_t none;
  ::sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
}

// Leaves standard input (empty), output and error, and the bell: no socket, key or file of the
// server's.
void close_descriptors(int bell) noexcept {
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  if (bell != bell_at) ::dup2(bell, bell_at);
  ::close_range(bell_at + 1, ~0U, 0);
}

}  // namespace

void run_worker(const worker_plan& plan) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != plan.parent) ::_exit(1);  // it died before that
  ::prctl(PR_SET_NAME, "bulkhead-cell");
  reset_signals(plan.server);
  auto segment = cell_segment::open(plan.segment);
  if (!segment) ::_exit(1);
  cell_layout& shared = **segment;
  close_descriptors(plan.bell);
  // exit() in a handler would run what the server registered for its own end.
  ::on_exit([](int status, void*) { ::_exit(status); }, nullptr);
  try {
    const cell_options& o = plan.what->spec.cell;
    install_crash_handler(shared.crash);
    worker w(*plan.what, shared);
    auto ok = apply_limits(o);
    if (ok) {
      w.make_handler();
      ok = apply_syscall_filter(o.syscalls);
    }
    if (!ok) {
      say_why(shared, ok.why().message());
      ::_exit(1);
    }
    w.serve();
    ::_exit(0);
  } catch (...) {
    const exception_text text = describe(std::current_exception());
    say_why(shared, "its factory threw " + text.type + ": " + text.what);
    ::_exit(1);
  }
}

}  // namespace bulkhead::supervision
