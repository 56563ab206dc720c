// The log: structured lines on standard error, written by a thread of its own.
//
// A full queue drops the oldest line and counts it; logging never blocks a shard. Secrets and
// request bodies never come here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace bulkhead::runtime::log {

enum class level : std::uint8_t { trace, debug, info, warn, error, off };

// "trace", "debug", "info", "warn", "error", "off"; false for anything else.
[[nodiscard]] bool parse_level(std::string_view text, level& out) noexcept;

// Starts the writer; `queue` lines are buffered. Until then, and after stop(), lines go nowhere.
void start(level least, std::size_t queue = 8192);
void stop() noexcept;  // writes what is queued
void flush() noexcept;
[[nodiscard]] bool enabled(level l) noexcept;  // any thread, one relaxed load
[[nodiscard]] std::uint64_t dropped() noexcept;

// `component` names a layer or role: "tls", "listener", "supervisor". Any thread. Control
// characters in `line` are escaped, so a peer cannot forge lines.
void write(level l, std::string_view component, std::string_view line) noexcept;

inline void debug(std::string_view component, std::string_view line) noexcept {
  write(level::debug, component, line);
}
inline void info(std::string_view component, std::string_view line) noexcept {
  write(level::info, component, line);
}
inline void warn(std::string_view component, std::string_view line) noexcept {
  write(level::warn, component, line);
}
inline void error(std::string_view component, std::string_view line) noexcept {
  write(level::error, component, line);
}

}  // namespace bulkhead::runtime::log
