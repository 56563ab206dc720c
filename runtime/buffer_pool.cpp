#include <bulkhead/runtime/buffer_pool.hpp>

namespace bulkhead::runtime {

block buffer_pool::lease() {
  std::unique_ptr<std::byte[]> data;
  if (free_.empty()) {
    data = std::make_unique_for_overwrite<std::byte[]>(block::size);
  } else {
    data = std::move(free_.back());  // the one used last is the one still in the cache
    free_.pop_back();
  }
  ++leased_;
  return block(this, data.release());
}

void buffer_pool::give_back(std::byte* data) noexcept {
  std::unique_ptr<std::byte[]> owned(data);
  --leased_;
  if (free_.size() < keep_) free_.push_back(std::move(owned));  // reserved: does not allocate
}

}  // namespace bulkhead::runtime
