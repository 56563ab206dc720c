#include <bulkhead/tls/slabs.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <new>

namespace bulkhead::tls {

namespace {

constexpr std::size_t fine_limit = 1024;            // below: a class every 16 bytes
constexpr unsigned fine_classes = fine_limit / 16;  // above: eight classes a doubling
constexpr std::size_t slab_limit = 64 * 1024;       // larger ones are the C library's
constexpr unsigned classes = fine_classes + 1 + 6 * 8;
constexpr std::uint32_t foreign = classes;  // "class" of what came from malloc()
constexpr std::size_t slab_size = 512 * 1024;
// From this class on (pieces of more than 4 KiB: record buffers), pieces come from malloc() and
// only a few are kept: how many are needed at once is a matter of chance, and slabs would keep the
// record.
constexpr unsigned large = fine_classes + 1 + 2 * 8;
constexpr unsigned large_kept = 8;

// The 8 bytes in front of each content. Pieces begin 8 bytes after a multiple of 16, so that
// contents have the alignment that malloc() promises.
struct header {
  std::uint32_t size;        // as asked for; not kept for `foreign`
  std::uint32_t size_class;  // index, or `foreign`
};
static_assert(sizeof(header) == 8);

// In front of what came from malloc(), and of its header.
struct foreign_size {
  std::size_t bytes;
};

// A free piece: the header stays, the link takes the place of the content.
struct free_piece {
  header h;
  free_piece* next;
};

std::atomic<std::size_t> taken{0};

struct rounded {
  unsigned index;
  std::size_t bytes;
};

// `bytes` includes the header and is at most slab_limit.
rounded round_up(std::size_t bytes) noexcept {
  if (bytes <= fine_limit) {
    const std::size_t n = (bytes + 15) / 16;
    return {static_cast<unsigned>(n), n * 16};
  }
  const auto doubling = static_cast<unsigned>(std::bit_width(bytes - 1)) - 1;  // 10 and up
  const std::size_t step = std::size_t{1} << (doubling - 3);
  const std::size_t up = (bytes + step - 1) / step * step;
  const auto eighth = static_cast<unsigned>((up >> (doubling - 3)) - 8);  // 1 to 8
  return {fine_classes + (doubling - 10) * 8 + eighth, up};
}

// Pieces for whoever needs them: of threads that ended, and what a thread was given beyond its own.
class depot {
 public:
  void give(unsigned index, free_piece* chain) noexcept {
    const std::lock_guard lock(mutex_);
    while (chain != nullptr) {
      free_piece* next = chain->next;
      chain->next = free_[index];
      free_[index] = chain;
      chain = next;
    }
    filled_.store(true, std::memory_order_relaxed);
  }
  free_piece* take(unsigned index) noexcept {
    if (!filled_.load(std::memory_order_relaxed)) return nullptr;
    const std::lock_guard lock(mutex_);
    free_piece* p = free_[index];
    if (p != nullptr) free_[index] = p->next;
    return p;
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> filled_{false};
  std::array<free_piece*, classes> free_{};
};

// Never destroyed: OpenSSL frees until the very end of the process.
depot& left_behind() noexcept {
  alignas(depot) static std::byte room[sizeof(depot)];
  static depot* const made = new (room) depot;
  return *made;
}

class slabs {
 public:
  constexpr slabs() noexcept = default;
  ~slabs() {
    over_ = true;
    for (unsigned i = 0; i < large; ++i) {
      if (free_[i] != nullptr) left_behind().give(i, free_[i]);
    }
    for (unsigned i = large; i < classes; ++i) {
      while (free_piece* p = free_[i]) {
        free_[i] = p->next;
        give_up(p);
      }
    }
  }

  [[nodiscard]] void* take(std::size_t size) noexcept {
    const rounded r = round_up(size + sizeof(header) < sizeof(free_piece) ? sizeof(free_piece)
                                                                          : size + sizeof(header));
    free_piece* p = free_[r.index];
    if (p != nullptr) {
      free_[r.index] = p->next;
      if (r.index >= large) --kept_[r.index - large];
    } else {
      p = left_behind().take(r.index);
      if (p == nullptr) p = r.index >= large ? fetch(r.bytes) : carve(r.bytes);
      if (p == nullptr) return nullptr;
      p->h.size_class = r.index;
    }
    ++out_[r.index];
    p->h.size = static_cast<std::uint32_t>(size);
    return &p->h + 1;
  }

  void give(free_piece* p) noexcept {
    const unsigned index = p->h.size_class;
    if (index >= large) {
      if (over_ || kept_[index - large] == large_kept) return give_up(p);
      ++kept_[index - large];
    } else if (over_ || out_[index] == 0) {
      // OpenSSL's own thread-local state goes after ours; or it is another thread's piece, which
      // would lie here unused while that one took new ones.
      p->next = nullptr;
      return left_behind().give(index, p);
    }
    if (out_[index] != 0) --out_[index];
    p->next = free_[index];
    free_[index] = p;
  }

  [[nodiscard]] bool over() const noexcept { return over_; }

 private:
  free_piece* carve(std::size_t bytes) noexcept {
    if (left_ < bytes) {  // what is left of the old slab is lost: at most one piece's size
      void* slab =
          ::mmap(nullptr, slab_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (slab == MAP_FAILED) return nullptr;
      taken.fetch_add(slab_size, std::memory_order_relaxed);
      at_ = static_cast<std::byte*>(slab) + sizeof(header);
      left_ = slab_size - sizeof(header);
    }
    auto* p = new (at_) free_piece;
    at_ += bytes;
    left_ -= bytes;
    return p;
  }

  // Contents of malloc()'s alignment begin behind a header at a multiple of 16.
  static free_piece* fetch(std::size_t bytes) noexcept {
    auto* base = static_cast<std::byte*>(std::malloc(bytes + sizeof(header)));
    return base == nullptr ? nullptr : new (base + sizeof(header)) free_piece;
  }
  static void give_up(free_piece* p) noexcept {
    std::free(reinterpret_cast<std::byte*>(p) - sizeof(header));  // NOLINT(*-reinterpret-cast)
  }

  std::array<free_piece*, classes> free_{};
  std::array<std::uint64_t, classes> out_{};  // taken here and not yet given back here
  std::array<std::uint8_t, classes - large> kept_{};
  std::byte* at_ = nullptr;
  std::size_t left_ = 0;
  bool over_ = false;
};

thread_local slabs here;

header* header_of(void* content) noexcept {
  return static_cast<header*>(content) - 1;
}

foreign_size* foreign_of(void* content) noexcept {
  return reinterpret_cast<foreign_size*>(header_of(content)) - 1;  // NOLINT(*-reinterpret-cast)
}

void* allocate_foreign(std::size_t size) noexcept {
  constexpr std::size_t front = sizeof(foreign_size) + sizeof(header);
  if (size > std::numeric_limits<std::size_t>::max() - front) return nullptr;
  auto* base = static_cast<std::byte*>(std::malloc(size + front));
  if (base == nullptr) return nullptr;
  new (base) foreign_size{size};
  new (base + sizeof(foreign_size)) header{0, foreign};
  return base + front;
}

std::size_t size_of(void* content) noexcept {
  const header* h = header_of(content);
  return h->size_class == foreign ? foreign_of(content)->bytes : h->size;
}

}  // namespace

void* slab_allocate(std::size_t size) noexcept {
  if (size == 0) return nullptr;
  if (size > slab_limit - sizeof(header) || here.over()) return allocate_foreign(size);
  return here.take(size);
}

void slab_release(void* content) noexcept {
  if (content == nullptr) return;
  header* h = header_of(content);
  if (h->size_class == foreign) {
    std::free(foreign_of(content));
  } else {
    here.give(reinterpret_cast<free_piece*>(h));  // NOLINT(*-reinterpret-cast): header comes first
  }
}

void* slab_resize(void* content, std::size_t size) noexcept {
  if (content == nullptr) return slab_allocate(size);
  if (size == 0) {
    slab_release(content);
    return nullptr;
  }
  const std::size_t had = size_of(content);
  if (size == had) return content;
  void* moved = slab_allocate(size);
  if (moved == nullptr) return nullptr;
  std::memcpy(moved, content, std::min(had, size));
  slab_release(content);
  return moved;
}

std::size_t slab_bytes() noexcept {
  return taken.load(std::memory_order_relaxed);
}

}  // namespace bulkhead::tls
