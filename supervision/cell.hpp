// A worker process as its shard sees it: what it was sent, what it answers, how it is ended.
//
// On one shard's thread (and on the server's before the shard starts and after it ended). Knows
// nothing of queues, restarts or other workers: see cell_pool.hpp.
#pragma once

#include <bulkhead/actors/exchange.hpp>
#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/runtime/unique_fd.hpp>
#include <bulkhead/supervision/cell_segment.hpp>
#include <bulkhead/supervision/cell_stream.hpp>
#include <bulkhead/supervision/cell_wire.hpp>

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace bulkhead::supervision {

// A request on its way through a pool.
struct cell_job {
  actors::exchange_ref x;
  runtime::steady_time since{};  // it came
  unsigned deaths = 0;           // of workers that had it in their ring without having begun it
  bool replayed = false;         // its worker died with it, and it was given to another

  // Unless its client has left.
  void answer(http::response r, actors::verdict v) const noexcept {
    if (x->owner() != nullptr) x->answer(std::move(r), v);
  }
};

// Why the server ends a worker, or why it ended.
enum class cell_end : std::uint8_t {
  none,      // it lives, or died by itself
  deadline,  // it overran; the request was answered
  resident,  // it took too much memory; the request was answered
  memory,    // an allocation failed in it; the request was answered
  start,     // it was not ready in time
  nonsense,  // it wrote what no worker writes
  recycled,  // it has served enough
  stopped,   // the server stops
};

class cell {
 public:
  cell(std::uint32_t token, cell_segment segment) noexcept;

  // -- life

  enum class state : std::uint8_t { starting, ready, condemned };
  [[nodiscard]] state now() const noexcept { return state_; }
  [[nodiscard]] std::uint32_t token() const noexcept { return token_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] int pidfd() const noexcept { return pidfd_.get(); }
  [[nodiscard]] cell_end end() const noexcept { return end_; }
  void spawned(pid_t pid, runtime::unique_fd pidfd) noexcept;
  void close_pidfd() noexcept { pidfd_.reset(); }
  void ready() noexcept { state_ = state::ready; }
  // From now on it gets nothing more, and what it writes is not read.
  void condemn(cell_end why) noexcept;
  void kill(int signal) const noexcept;
  [[nodiscard]] int segment_descriptor() const noexcept { return segment_.descriptor(); }
  void close_segment_descriptor() noexcept { segment_.close_descriptor(); }
  [[nodiscard]] const cell_layout& shared() const noexcept { return *segment_; }

  // -- requests

  [[nodiscard]] std::size_t outstanding() const noexcept { return sent_.size(); }
  [[nodiscard]] bool busy() const noexcept { return !sent_.empty(); }
  // A request may be added: there is room, and the one before it lies in the ring as a whole.
  [[nodiscard]] bool accepts(std::size_t window) noexcept;
  // Writes the request, or as much of its body as there is room for; false when its head is larger
  // than the ring.
  [[nodiscard]] bool send(cell_job job, runtime::steady_time now);
  // The rest of a body, as room comes.
  void send_more() noexcept;
  // The oldest request that is not answered, and since when the worker has it.
  [[nodiscard]] cell_job& front() noexcept { return sent_.front().job; }
  [[nodiscard]] runtime::steady_time front_since() const noexcept { return front_since_; }
  // The worker says that it has begun the oldest.
  [[nodiscard]] bool front_begun() const noexcept;
  // The oldest has its answer.
  cell_job take_front(runtime::steady_time now) noexcept;
  // Requests that it has not begun, oldest first; they will not be begun any more.
  [[nodiscard]] std::deque<cell_job> take_back_waiting() noexcept;
  // All of them, the oldest first, when it is dead.
  [[nodiscard]] std::deque<cell_job> take_all() noexcept;
  [[nodiscard]] std::uint64_t served() const noexcept { return served_; }
  void ask_to_quit() noexcept;

  // -- answers

  struct answer {
    enum class kind : std::uint8_t {
      nothing,
      ready,
      response,        // all of it
      response_began,  // its content follows through a stream, which it holds
      response_ended,  // that content is complete
      fault,
      nonsense,
    };
    kind what = kind::nothing;
    http::response response = {};
    std::uint32_t microseconds = 0;
    std::string fault_type = {};
    std::string fault_text = {};
    bool memory = false;
  };
  // What the worker has to say next.
  [[nodiscard]] answer read();
  // Whether read() would find something, and may: a stream that is full holds it up.
  [[nodiscard]] bool pending() noexcept { return !held_up() && responses_.pending(); }
  // Part of the oldest request's response was given away.
  [[nodiscard]] bool began() const noexcept { return stream_ != nullptr; }
  // Its client does not take what the worker has: the time that passes is not the handler's.
  [[nodiscard]] bool held_up() noexcept;
  void progressed(runtime::steady_time now) noexcept { front_since_ = now; }
  // The response that has begun is cut.
  void fail_stream() noexcept;
  // The worker is dead: what it left is read to its end.
  void read_to_end() noexcept { dead_ = true; }

  // -- bells

  void wake() noexcept;
  void stay_awake() noexcept;
  // Asks for a ring of the bell; false if there is something to do already.
  [[nodiscard]] bool may_sleep() noexcept;

 private:
  struct sent {
    cell_job job;
    std::uint64_t number = 0;
    std::size_t body_sent = 0;
  };
  [[nodiscard]] answer read_response_head(std::string_view content);
  [[nodiscard]] answer read_content(bool end);
  [[nodiscard]] static answer read_fault(std::string_view content);
  [[nodiscard]] bool body_waits() const noexcept;

  std::uint32_t token_;
  cell_segment segment_;
  ring_writer requests_;
  ring_reader responses_;
  runtime::unique_fd pidfd_;
  pid_t pid_ = 0;
  state state_ = state::starting;
  cell_end end_ = cell_end::none;
  std::deque<sent> sent_;
  std::uint64_t numbers_ = 0;
  std::uint64_t served_ = 0;
  runtime::steady_time front_since_{};
  std::string head_;
  frame_header frame_;
  std::string content_;
  std::shared_ptr<cell_stream> stream_;  // of the response that comes in pieces
  std::uint32_t stream_microseconds_ = 0;
  bool dead_ = false;
};

}  // namespace bulkhead::supervision
