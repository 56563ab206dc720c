#include <bulkhead/supervision/cell_segment.hpp>

#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <utility>

namespace bulkhead::supervision {

namespace {

error refused(const char* call) {
  return {error_category::resource, std::string("shared memory for a cell: ") + call + ": " +
                                        errno_text(errno) +
                                        "; raise the memory or descriptor limit"};
}

}  // namespace

result<cell_segment> cell_segment::create() {
  runtime::unique_fd memory(::memfd_create("bulkhead-cell", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!memory) return refused("memfd_create");
  if (::ftruncate(memory.get(), sizeof(cell_layout)) != 0) return refused("ftruncate");
  // A worker that shrank it would have the server die of SIGBUS.
  if (::fcntl(memory.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return refused("fcntl(F_ADD_SEALS)");
  }
  const int descriptor = memory.get();
  return map(std::move(memory), descriptor);
}

result<cell_segment> cell_segment::open(int descriptor) {
  return map({}, descriptor);
}

result<cell_segment> cell_segment::map(runtime::unique_fd memory, int descriptor) {
  void* at =
      ::mmap(nullptr, sizeof(cell_layout), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (at == MAP_FAILED) return refused("mmap");
  cell_segment s;
  s.memory_ = std::move(memory);
  // New memory is all zero, which is the state that every member begins with.
  s.at_ = static_cast<cell_layout*>(at);
  return s;
}

cell_segment::cell_segment(cell_segment&& other) noexcept
    : memory_(std::move(other.memory_)), at_(std::exchange(other.at_, nullptr)) {}

cell_segment& cell_segment::operator=(cell_segment&& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(at_, other.at_);
  return *this;
}

cell_segment::~cell_segment() {
  if (at_ != nullptr) ::munmap(at_, sizeof(cell_layout));
}

}  // namespace bulkhead::supervision
