// A transport without a socket, for tests: what the owner sends is recorded, what the test
// delivers arrives. One thread, no sleeps.
#pragma once

#include <bulkhead/runtime/transport.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace bulkhead::runtime {

// The test's end of the wire. Outlives the transport.
class memory_wire {
 public:
  // The owner's end; `events` hears what deliver() and end() say.
  [[nodiscard]] transport_ptr open(transport_events& events);

  // Held back while the owner pauses; arrives when it resumes: from inside resume_receiving(), but
  // never from inside another callback.
  void deliver(std::string_view bytes);
  void end(receive_end how);

  // How many bytes send() takes before the peer "stops reading"; default: no limit.
  void set_window(std::size_t bytes) noexcept { window_ = bytes; }
  // The peer reads `bytes` more, first of what is stuck: on_sent() follows when all of it is out.
  void open_window(std::size_t bytes);

  [[nodiscard]] const std::string& sent() const noexcept { return sent_; }
  [[nodiscard]] std::string take_sent() { return std::exchange(sent_, {}); }
  [[nodiscard]] std::size_t sends() const noexcept { return sends_; }  // send() calls
  [[nodiscard]] bool finished() const noexcept { return finished_; }   // shutdown_send() or closed
  [[nodiscard]] bool closed() const noexcept { return end_ == nullptr && opened_; }
  [[nodiscard]] bool aborted() const noexcept { return aborted_; }
  [[nodiscard]] bool paused() const noexcept { return paused_; }

 private:
  class end_point;
  void pass_on();  // to the owner, what is held for it

  end_point* end_ = nullptr;
  std::string sent_, held_;
  std::size_t window_ = static_cast<std::size_t>(-1);
  std::size_t sends_ = 0;
  bool opened_ = false, finished_ = false, aborted_ = false, paused_ = false;
  bool fin_held_ = false, fin_said_ = false, reset_ = false, passing_ = false;
};

}  // namespace bulkhead::runtime
