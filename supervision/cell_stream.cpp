#include <bulkhead/supervision/cell_stream.hpp>

namespace bulkhead::supervision {

bool cell_stream::add(std::string_view piece) {
  if (size_ && piece.size() > *size_ - added_) return false;
  added_ += piece.size();
  if (abandoned_) return true;
  buffer_.append(piece);
  if (!piece.empty()) tell();
  return true;
}

void cell_stream::end() noexcept {
  then_ = state::ended;
  tell();
}

// What is here may still be sent: the response is cut behind it.
void cell_stream::fail() noexcept {
  then_ = state::failed;
  tell();
}

void cell_stream::tell() noexcept {
  if (listener_ != nullptr) listener_(context_);
}

http::body_source::state cell_stream::next(std::string_view& bytes) noexcept {
  if (at_ == buffer_.size()) return then_;
  bytes = std::string_view(buffer_).substr(at_);
  return state::ready;
}

void cell_stream::consume(std::size_t n) noexcept {
  at_ += n;
  if (at_ != buffer_.size()) return;
  buffer_.clear();
  at_ = 0;
}

void cell_stream::listen(listener l, void* context) noexcept {
  listener_ = l;
  context_ = context;
  if (l != nullptr) return;
  abandoned_ = true;
  buffer_.clear();
  at_ = 0;
}

}  // namespace bulkhead::supervision
