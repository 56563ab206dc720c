#include <bulkhead/http/message_codec.hpp>
#include <bulkhead/runtime/pidfd.hpp>
#include <bulkhead/supervision/cell.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace bulkhead::supervision {

cell::cell(std::uint32_t token, cell_segment segment) noexcept
    : token_(token),
      segment_(std::move(segment)),
      requests_(segment_->requests, segment_->request_bytes),
      responses_(segment_->responses, segment_->response_bytes) {}

// -- life -----------------------------------------------------------------------------------------

void cell::spawned(pid_t pid, runtime::unique_fd pidfd) noexcept {
  pid_ = pid;
  pidfd_ = std::move(pidfd);
}

void cell::condemn(cell_end why) noexcept {
  if (state_ == state::condemned) return;
  state_ = state::condemned;
  end_ = why;
}

void cell::kill(int signal) const noexcept {
  if (pidfd_) runtime::signal_pidfd(pidfd_.get(), signal);
}

void cell::ask_to_quit() noexcept {
  static_cast<void>(requests_.write(frame_kind::quit, 0, {}));
  wake();
}

// -- requests -------------------------------------------------------------------------------------

bool cell::body_waits() const noexcept {
  return !sent_.empty() && sent_.back().body_sent < sent_.back().job.x->request.body().size();
}

bool cell::accepts(std::size_t window) noexcept {
  return state_ == state::ready && sent_.size() < window && !body_waits() &&
         (sent_.empty() || requests_.room() > cell_layout::ring_bytes / 2);
}

bool cell::send(cell_job job, runtime::steady_time now) {
  const http::request& r = job.x->request;
  head_.clear();
  http::message_codec::encode_head(r, head_);
  const std::uint64_t number = ++numbers_;
  segment_->claims[number % cell_layout::most_requests].store(claim_word(number, claim::waiting),
                                                              std::memory_order_relaxed);
  if (!requests_.write(frame_kind::request_head, number, {head_})) return false;
  if (sent_.empty()) front_since_ = now;
  sent_.push_back({std::move(job), number, 0});
  send_more();
  return true;
}

void cell::send_more() noexcept {
  while (body_waits()) {
    sent& last = sent_.back();
    const std::string_view rest = last.job.x->request.body().substr(last.body_sent);
    const std::size_t n = std::min({rest.size(), body_piece, requests_.room()});
    if (n == 0 || !requests_.write(frame_kind::body, last.number, {rest.substr(0, n)})) return;
    last.body_sent += n;
  }
}

bool cell::front_begun() const noexcept {
  if (sent_.empty()) return false;
  const std::uint64_t number = sent_.front().number;
  return segment_->claims[number % cell_layout::most_requests].load() !=
         claim_word(number, claim::waiting);
}

cell_job cell::take_front(runtime::steady_time now) noexcept {
  cell_job job = std::move(sent_.front().job);
  sent_.pop_front();
  front_since_ = now;
  ++served_;
  return job;
}

// A request whose body is on its way stays: the worker would wait for the rest.
std::deque<cell_job> cell::take_back_waiting() noexcept {
  std::deque<cell_job> back;
  while (sent_.size() > 1 && !body_waits()) {
    const std::uint64_t number = sent_.back().number;
    std::uint64_t expected = claim_word(number, claim::waiting);
    auto& c = segment_->claims[number % cell_layout::most_requests];
    if (!c.compare_exchange_strong(expected, claim_word(number, claim::taken_back))) break;
    back.push_front(std::move(sent_.back().job));
    sent_.pop_back();
  }
  return back;
}

std::deque<cell_job> cell::take_all() noexcept {
  std::deque<cell_job> all;
  for (sent& s : sent_) all.push_back(std::move(s.job));
  sent_.clear();
  return all;
}

// -- answers --------------------------------------------------------------------------------------

cell::answer cell::read() {
  for (;;) {
    if (held_up()) return {};
    switch (responses_.read(frame_, content_)) {
      case ring_reader::outcome::nothing:
        return {};
      case ring_reader::outcome::nonsense:
        return {.what = answer::kind::nonsense};
      case ring_reader::outcome::frame:
        break;
    }
    if (frame_.kind == frame_kind::ready && state_ == state::starting) {
      return {.what = answer::kind::ready};
    }
    // One request at a time, in order: any other number is nonsense.
    if (sent_.empty() || frame_.request != sent_.front().number) {
      return {.what = answer::kind::nonsense};
    }
    answer a{.what = answer::kind::nonsense};
    if (frame_.kind == frame_kind::response_head && !stream_) {
      a = read_response_head(content_);
    } else if (frame_.kind == frame_kind::body && stream_) {
      a = read_content(/*end=*/false);
    } else if (frame_.kind == frame_kind::body_end && stream_) {
      a = read_content(/*end=*/true);
    } else if (frame_.kind == frame_kind::fault) {
      a = read_fault(content_);
    }
    if (a.what != answer::kind::nothing) return a;
  }
}

cell::answer cell::read_response_head(std::string_view content) {
  response_prefix prefix;
  if (content.size() < sizeof prefix) return {.what = answer::kind::nonsense};
  std::memcpy(&prefix, content.data(), sizeof prefix);
  content.remove_prefix(sizeof prefix);
  if (prefix.head_bytes > content.size()) return {.what = answer::kind::nonsense};
  auto head = http::message_codec::decode_head(content.substr(0, prefix.head_bytes));
  if (!head) return {.what = answer::kind::nonsense};
  content.remove_prefix(prefix.head_bytes);
  answer a{.what = answer::kind::response,
           .response = std::move(*head),
           .microseconds = prefix.microseconds};
  if (content.size() == prefix.body_size) {
    a.response.content(http::body(std::string(content)));
    return a;
  }
  const bool known = prefix.body_size != response_prefix::unknown_size;
  auto stream =
      std::make_shared<cell_stream>(known ? std::optional(prefix.body_size) : std::nullopt);
  if (!stream->add(content)) return {.what = answer::kind::nonsense};
  stream_ = std::move(stream);
  stream_microseconds_ = prefix.microseconds;
  a.what = answer::kind::response_began;
  a.response.content(http::body(std::shared_ptr<http::body_source>(stream_)));
  return a;
}

// The rest of a response: to its stream, until that has all.
cell::answer cell::read_content(bool end) {
  if (end ? stream_->size().has_value() : !stream_->add(content_)) {
    return {.what = answer::kind::nonsense};
  }
  if (!end && !stream_->complete()) return {};
  std::exchange(stream_, nullptr)->end();
  return {
      .what = answer::kind::response_ended, .response = {}, .microseconds = stream_microseconds_};
}

bool cell::held_up() noexcept {
  // HEAD, or a response that was replaced: nobody takes it.
  if (stream_ && stream_.use_count() == 1) stream_->listen(nullptr, nullptr);
  return stream_ && stream_->full() && !dead_;
}

void cell::fail_stream() noexcept {
  if (stream_) std::exchange(stream_, nullptr)->fail();
}

cell::answer cell::read_fault(std::string_view content) {
  fault_prefix prefix;
  if (content.size() < sizeof prefix) return {.what = answer::kind::nonsense};
  std::memcpy(&prefix, content.data(), sizeof prefix);
  content.remove_prefix(sizeof prefix);
  if (prefix.type_bytes > content.size()) return {.what = answer::kind::nonsense};
  return {.what = answer::kind::fault,
          .response = {},
          .fault_type = std::string(content.substr(0, prefix.type_bytes)),
          .fault_text = std::string(content.substr(prefix.type_bytes)),
          .memory = prefix.memory != 0};
}

// -- bells ----------------------------------------------------------------------------------------

void cell::wake() noexcept {
  wake_worker(segment_->bell);
}

void cell::stay_awake() noexcept {
  segment_->bell.server_waits.store(0, std::memory_order_relaxed);
}

bool cell::may_sleep() noexcept {
  const bool room = body_waits();
  segment_->bell.server_waits.store(waits_for_frames | (room ? waits_for_room : 0),
                                    std::memory_order_seq_cst);
  full_fence();
  return !pending() && !(room && requests_.room() != 0);
}

}  // namespace bulkhead::supervision
