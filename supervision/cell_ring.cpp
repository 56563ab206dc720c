#include <bulkhead/supervision/cell_ring.hpp>

#include <algorithm>
#include <cstring>

namespace bulkhead::supervision {

namespace {

constexpr std::size_t alignment = alignof(frame_header);
// An empty ring starts over from its front once it has come this far: quiet traffic then touches
// few pages, and stays in the cache.
constexpr std::uint64_t start_over = 8UL * 1024;

constexpr std::size_t padded(std::size_t size) noexcept {
  return (size + alignment - 1) / alignment * alignment;
}

}  // namespace

// -- writer ---------------------------------------------------------------------------------------

ring_writer::ring_writer(ring_positions& shared, std::span<std::byte> bytes) noexcept
    : shared_(shared), bytes_(bytes) {}

std::size_t ring_writer::free_bytes() noexcept {
  const std::uint64_t read = shared_.read.load(std::memory_order_acquire);
  if (read < read_ || read > written_) broken_ = true;
  if (broken_) return 0;
  read_ = read;
  return bytes_.size() - static_cast<std::size_t>(written_ - read_);
}

bool ring_writer::drained() noexcept {
  return free_bytes() == bytes_.size();
}

std::size_t ring_writer::room() noexcept {
  const std::size_t free = free_bytes();
  return free < sizeof(frame_header) ? 0 : free - sizeof(frame_header);
}

void ring_writer::copy_in(const void* from, std::size_t size) noexcept {
  const std::size_t at = static_cast<std::size_t>(written_) & (bytes_.size() - 1);
  const std::size_t first = std::min(size, bytes_.size() - at);
  std::memcpy(bytes_.data() + at, from, first);
  std::memcpy(bytes_.data(), static_cast<const std::byte*>(from) + first, size - first);
  written_ += size;
}

bool ring_writer::write(frame_kind kind, std::uint64_t request,
                        std::initializer_list<std::string_view> content) noexcept {
  std::size_t size = 0;
  for (const std::string_view part : content) size += part.size();
  if (sizeof(frame_header) + padded(size) > free_bytes()) return false;
  const std::uint64_t at = written_ & (bytes_.size() - 1);
  if (read_ == written_ && at > start_over && sizeof(frame_header) + padded(size) <= at) {
    const auto rest = static_cast<std::size_t>(bytes_.size() - at);
    const frame_header skip{.size = static_cast<std::uint32_t>(rest - sizeof(frame_header)),
                            .kind = frame_kind::padding,
                            .request = 0};
    copy_in(&skip, sizeof skip);
    written_ += skip.size;
  }
  const frame_header header{
      .size = static_cast<std::uint32_t>(size), .kind = kind, .request = request};
  copy_in(&header, sizeof header);
  for (const std::string_view part : content) {
    if (!part.empty()) copy_in(part.data(), part.size());
  }
  written_ += padded(size) - size;
  shared_.written.store(written_, std::memory_order_release);
  return true;
}

// -- reader ---------------------------------------------------------------------------------------

ring_reader::ring_reader(ring_positions& shared, std::span<std::byte> bytes) noexcept
    : shared_(shared), bytes_(bytes) {}

bool ring_reader::pending() const noexcept {
  return shared_.written.load(std::memory_order_acquire) != read_;
}

void ring_reader::copy_out(void* to, std::size_t size) noexcept {
  const std::size_t at = static_cast<std::size_t>(read_) & (bytes_.size() - 1);
  const std::size_t first = std::min(size, bytes_.size() - at);
  std::memcpy(to, bytes_.data() + at, first);
  std::memcpy(static_cast<std::byte*>(to) + first, bytes_.data(), size - first);
  read_ += size;
}

ring_reader::outcome ring_reader::read(frame_header& header, std::string& content) {
  for (;;) {
    const std::uint64_t written = shared_.written.load(std::memory_order_acquire);
    if (written == read_) return outcome::nothing;
    const std::uint64_t there = written - read_;
    if (written < read_ || there > bytes_.size() || there < sizeof header) return outcome::nonsense;
    copy_out(&header, sizeof header);
    if (padded(header.size) > there - sizeof header) return outcome::nonsense;
    if (header.kind == frame_kind::padding) {
      read_ += header.size;
    } else {
      content.resize(header.size);
      copy_out(content.data(), header.size);
      read_ += padded(header.size) - header.size;
    }
    shared_.read.store(read_, std::memory_order_release);
    if (header.kind != frame_kind::padding) return outcome::frame;
  }
}

}  // namespace bulkhead::supervision
