#include <bulkhead/tls/incoming.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace bulkhead::tls {

namespace {

constexpr std::size_t header = 5;
// What TLS 1.2 lets encryption add (RFC 5246 section 6.2.3); OpenSSL enforces TLS 1.3's 256.
constexpr std::size_t longest = 16384 + 2048;

unsigned octet(std::span<const std::byte> bytes, std::size_t i) {
  return std::to_integer<unsigned>(bytes[i]);
}

// Precondition: a whole header.
std::size_t body_size(std::span<const std::byte> bytes) {
  return octet(bytes, 3) << 8U | octet(bytes, 4);
}

// False as soon as the bytes cannot become a record.
bool plausible(std::span<const std::byte> bytes) {
  if (!bytes.empty() && (octet(bytes, 0) < 20 || octet(bytes, 0) > 23)) return false;
  if (bytes.size() > 1 && octet(bytes, 1) != 3) return false;
  return bytes.size() < header || body_size(bytes) <= longest;
}

// The size of the first record, header included; 0 while that is unknown.
std::size_t record_size(std::span<const std::byte> bytes) {
  return bytes.size() < header ? 0 : header + body_size(bytes);
}

bool complete(std::span<const std::byte> bytes) {
  return bytes.size() >= header && bytes.size() >= record_size(bytes);
}

}  // namespace

void incoming::feed(std::span<const std::byte> bytes) {
  fed_ = bytes;
  if (kept_size_ != 0) top_up();
}

// Completes the record that `kept_` ends with.
void incoming::top_up() {
  auto tail = kept();
  while (!tail.empty() && plausible(tail) && complete(tail)) tail = tail.subspan(record_size(tail));
  if (tail.empty()) return;
  std::size_t have = tail.size();
  const auto take = [&](std::size_t wanted) {
    const std::size_t n = std::min(wanted, fed_.size());
    keep(fed_.first(n), kept_size_ + n);
    fed_ = fed_.subspan(n);
    have += n;
    tail = kept().last(have);
  };
  if (have < header) take(header - have);
  if (!plausible(tail)) return take(fed_.size());
  if (have >= header) take(record_size(tail) - have);
}

void incoming::end_feed() {
  if (fed_.empty()) return;
  keep(fed_, kept_size_ + fed_.size());
  fed_ = {};
}

void incoming::keep(std::span<const std::byte> bytes, std::size_t reserve) {
  if (bytes.empty()) return;
  if (kept_begin_ != 0) {
    std::memmove(kept_.get(), kept_.get() + kept_begin_, kept_size_);
    kept_begin_ = 0;
  }
  void* grown = std::realloc(kept_.get(), reserve);
  if (grown == nullptr) throw std::bad_alloc();
  static_cast<void>(kept_.release());
  kept_.reset(static_cast<std::byte*>(grown));
  kept_capacity_ = static_cast<std::uint32_t>(reserve);
  std::memcpy(kept_.get() + kept_size_, bytes.data(), bytes.size());
  kept_size_ += static_cast<std::uint32_t>(bytes.size());
}

std::span<const std::byte> incoming::next() const noexcept {
  const auto bytes = front();
  if (!plausible(bytes)) return bytes;
  if (!complete(bytes)) return {};
  const std::size_t first = record_size(bytes);
  if (octet(bytes, 0) != 20) return bytes.first(first);
  const auto rest = bytes.subspan(first);
  return bytes.first(plausible(rest) && complete(rest) ? first + record_size(rest) : first);
}

bool incoming::malformed() const noexcept {
  return !plausible(front());
}

void incoming::consume(std::size_t bytes) noexcept {
  if (kept_size_ == 0) {
    fed_ = fed_.subspan(bytes);
    return;
  }
  kept_begin_ += static_cast<std::uint32_t>(bytes);
  kept_size_ -= static_cast<std::uint32_t>(bytes);
  if (kept_size_ == 0) {
    kept_.reset();
    kept_begin_ = kept_capacity_ = 0;
  }
}

void incoming::clear() noexcept {
  kept_.reset();
  kept_begin_ = kept_size_ = kept_capacity_ = 0;
  fed_ = {};
}

}  // namespace bulkhead::tls
