#include <bulkhead/runtime/log.hpp>
#include <bulkhead/runtime/signals.hpp>

#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <pthread.h>

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>

namespace bulkhead::runtime::log {

namespace {

constexpr std::array<std::string_view, 6> names = {"trace", "debug", "info",
                                                   "warn",  "error", "off"};

struct writer {
  std::shared_ptr<spdlog::details::thread_pool> pool;
  std::shared_ptr<spdlog::async_logger> lines;
};

// The one global of the program. Lines may come from any thread at any time, also while the
// program ends, so it is never destroyed; stop() is what ends the writer.
struct state {
  std::atomic<level> least{level::off};
  std::shared_mutex lock;  // shared: use the writer; exclusive: replace it
  writer* current = nullptr;
  std::atomic<std::uint64_t> dropped_before{0};  // by writers that were stopped
};

state& global() noexcept {
  alignas(state) static std::array<std::byte, sizeof(state)> storage;
  static state* const it = new (storage.data()) state;
  return *it;
}

// A forked child has no writer thread and may have inherited a held lock.
void forget_in_child() noexcept {
  new (&global()) state;
}

spdlog::level::level_enum to_spdlog(level l) noexcept {
  return static_cast<spdlog::level::level_enum>(l == level::off ? int{SPDLOG_LEVEL_OFF}
                                                                : static_cast<int>(l));
}

void append_escaped(spdlog::memory_buf_t& out, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  const auto special = [](unsigned char c) { return c < 0x20 || c == 0x7f; };
  std::size_t plain = 0;  // start of what needs no escape
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    // U+0080 to U+009F: terminals obey these too.
    const bool c1 = c >= 0x80 && c < 0xa0 && i > 0 && text[i - 1] == '\xc2';
    if (!special(c) && !c1) continue;
    out.append(text.data() + plain, text.data() + i);
    plain = i + 1;
    const char* escape = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : nullptr;
    if (escape != nullptr) {
      out.append(escape, escape + 2);
    } else {
      const std::array<char, 4> code = {'\\', 'x', hex[c >> 4U], hex[c & 15U]};
      out.append(code.data(), code.data() + code.size());
    }
  }
  out.append(text.data() + plain, text.data() + text.size());
}

void append(spdlog::memory_buf_t& out, std::string_view text) {
  out.append(text.data(), text.data() + text.size());
}

}  // namespace

bool parse_level(std::string_view text, level& out) noexcept {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (text != names[i]) continue;
    out = static_cast<level>(i);
    return true;
  }
  return false;
}

void start(level least, std::size_t queue) {
  static const int at_fork = ::pthread_atfork(nullptr, nullptr, &forget_in_child);
  (void)at_fork;
  state& s = global();
  const std::unique_lock hold(s.lock);
  if (s.current == nullptr) {
    auto fresh = std::make_unique<writer>();
    const all_signals_blocked for_the_writer;
    fresh->pool = std::make_shared<spdlog::details::thread_pool>(queue > 0 ? queue : 1, 1);
    auto sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
    fresh->lines = std::make_shared<spdlog::async_logger>(
        "bulkhead", std::move(sink), fresh->pool, spdlog::async_overflow_policy::overrun_oldest);
    fresh->lines->set_level(spdlog::level::trace);  // `least` decides
    fresh->lines->set_formatter(std::make_unique<spdlog::pattern_formatter>(
        "%Y-%m-%dT%H:%M:%S.%eZ %v", spdlog::pattern_time_type::utc));
    s.current = fresh.release();
  }
  s.least.store(least, std::memory_order_relaxed);
}

void stop() noexcept {
  state& s = global();
  std::unique_ptr<writer> ending;
  {
    const std::unique_lock hold(s.lock);
    s.least.store(level::off, std::memory_order_relaxed);
    ending.reset(std::exchange(s.current, nullptr));
  }
  if (ending == nullptr) return;
  // Nobody writes any more, so the count is final. The pool's end waits until the queue is written;
  // only then go the logger and its sink, which the writer's thread used.
  s.dropped_before.fetch_add(ending->pool->overrun_counter(), std::memory_order_relaxed);
  ending->pool.reset();
}

void flush() noexcept {
  state& s = global();
  const std::shared_lock hold(s.lock);
  if (s.current != nullptr) s.current->lines->flush();
}

bool enabled(level l) noexcept {
  const level least = global().least.load(std::memory_order_relaxed);
  return l >= least && l != level::off;
}

std::uint64_t dropped() noexcept {
  state& s = global();
  const std::shared_lock hold(s.lock);
  const std::uint64_t before = s.dropped_before.load(std::memory_order_relaxed);
  return s.current == nullptr ? before : before + s.current->pool->overrun_counter();
}

void write(level l, std::string_view component, std::string_view line) noexcept {
  if (!enabled(l)) return;
  try {
    spdlog::memory_buf_t text;
    append(text, names[static_cast<std::size_t>(l)]);
    append(text, " ");
    append_escaped(text, component);
    append(text, ": ");
    append_escaped(text, line);
    state& s = global();
    const std::shared_lock hold(s.lock);
    if (s.current == nullptr) return;
    s.current->lines->log(to_spdlog(l), spdlog::string_view_t(text.data(), text.size()));
  } catch (...) {  // out of memory: a lost line is not worth a process
  }
}

}  // namespace bulkhead::runtime::log
