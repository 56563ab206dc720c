#include <bulkhead/actors/output.hpp>

#include <utility>

namespace bulkhead::actors {

void turn_output::add(http::body content) {
  const std::string_view bytes = content.view();
  if (bytes.size() <= small_body) {
    text_.append(bytes);
    return;
  }
  // The records of a large body start where its first one, shared with the text before it, ends:
  // then head and body need no more records together than they must, and the rest is not copied.
  const std::size_t last = large_.empty() ? 0 : large_.back().text_end;
  const std::size_t in_record = (text_.size() - last) % record;
  const std::size_t odd = bytes.size() % record;
  const std::size_t copied = in_record + odd <= record ? odd : 0;
  text_.append(bytes.substr(0, copied));
  if (copied == bytes.size()) return;
  large_bytes_ += bytes.size() - copied;
  large_.push_back({text_.size(), std::move(content), copied});
}

void turn_output::clear() noexcept {
  text_.clear();
  large_.clear();
  large_bytes_ = text_at_ = piece_at_ = 0;
}

void backlog::take_rest(turn_output& output) {
  auto text_until = [&](std::size_t end) {
    if (output.text_at_ >= end) return;
    pieces_.push_back({http::body(output.text_.substr(output.text_at_, end - output.text_at_)), 0});
    output.text_at_ = end;
  };
  for (; output.piece_at_ < output.large_.size(); ++output.piece_at_) {
    auto& p = output.large_[output.piece_at_];
    text_until(p.text_end);
    pieces_.push_back({std::move(p.content), p.offset});
  }
  text_until(output.text_.size());
  output.clear();
}

}  // namespace bulkhead::actors
