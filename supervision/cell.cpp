#include <bulkhead/http/message_codec.hpp>
#include <bulkhead/runtime/pidfd.hpp>
#include <bulkhead/supervision/cell.hpp>

#include <algorithm>
#include <cstring>
#include <utility>

namespace bulkhead::supervision {

namespace {

// A response that is larger comes from a worker which has lost its mind, or is not for a cell.
constexpr std::uint64_t largest_response = 64UL * 1024 * 1024;

}  // namespace

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
  segment_->claims[number % cell_layout::most_requests].store(claim::waiting,
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
  return !sent_.empty() &&
         segment_->claims[sent_.front().number % cell_layout::most_requests].load() !=
             claim::waiting;
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
    claim expected = claim::waiting;
    auto& c = segment_->claims[sent_.back().number % cell_layout::most_requests];
    if (!c.compare_exchange_strong(expected, claim::taken_back)) break;
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
    if (frame_.kind == frame_kind::response_head && !partial_) {
      a = read_response_head(content_);
    } else if (frame_.kind == frame_kind::body && partial_) {
      a = read_body();
    } else if (frame_.kind == frame_kind::fault && !partial_) {
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
  if (prefix.head_bytes > content.size() || prefix.body_size > largest_response) {
    return {.what = answer::kind::nonsense};
  }
  auto head = http::message_codec::decode_head(content.substr(0, prefix.head_bytes));
  if (!head) return {.what = answer::kind::nonsense};
  partial_ = std::move(head);
  partial_body_ = content.substr(prefix.head_bytes);
  partial_size_ = prefix.body_size;
  partial_microseconds_ = prefix.microseconds;
  return finish_response();
}

cell::answer cell::read_body() {
  partial_body_ += content_;
  return finish_response();
}

cell::answer cell::finish_response() {
  if (partial_body_.size() > partial_size_) return {.what = answer::kind::nonsense};
  if (partial_body_.size() < partial_size_) return {};
  answer a{.what = answer::kind::response,
           .response = std::move(*partial_),
           .microseconds = partial_microseconds_};
  partial_.reset();
  a.response.content(http::body(std::exchange(partial_body_, {})));
  return a;
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
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return !responses_.pending() && !(room && requests_.room() != 0);
}

}  // namespace bulkhead::supervision
