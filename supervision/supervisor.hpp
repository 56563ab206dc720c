// One supervisor: starts its children in order, restarts those that end, and stops them in reverse.
//
// A pure engine: no threads, no CAF, no sockets. Time comes in with each event, orders go out
// through supervisor_orders, timers are next_due() and tick(). One thread at a time. Its words and
// rules are OTP's (OTP Design Principles, "Supervisor Behaviour"); what differs is said here:
// beyond its own intensity a child backs off, where OTP knows only the supervisor's limit.
#pragma once

#include <bulkhead/runtime/clock.hpp>
#include <bulkhead/supervision/child_spec.hpp>
#include <bulkhead/supervision/restart_window.hpp>
#include <bulkhead/supervision/supervisor_flags.hpp>

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace bulkhead::supervision {

// Names a child to its supervisor: its place in the start order, from 0. With simple_one_for_one
// the children count on, and a number is not used again before the supervisor is.
using child_number = std::uint64_t;

// How a child ended. A transient child is started again after a fault only.
enum class exit_reason : std::uint8_t {
  normal,    // its work is done
  shutdown,  // because it was asked to
  fault,     // anything else, also when it could not be started
};

enum class child_state : std::uint8_t {
  down,      // ended, or not started yet; may be waiting to be started again
  starting,  // start_child() was ordered
  running,
  stopping,  // stop_child() was ordered; killed when its shutdown time is over
  killing,   // kill_child() was ordered
};

// Carries out what a supervisor decides. Each call comes from inside a call of the supervisor, and
// may answer at once with an event.
class supervisor_orders {
 public:
  // Answered by child_started(), or by child_exited() when it could not be started.
  virtual void start_child(child_number c) noexcept = 0;
  // Answered by child_exited(). A child that is just being started may be stopped as well.
  virtual void stop_child(child_number c) noexcept = 0;
  // Answered by child_exited(), always: whoever cannot kill (a thread) leaves it behind and says
  // that it has exited, or a stop would never end.
  virtual void kill_child(child_number c) noexcept = 0;

  // Of the supervisor itself. Started: each child was, or (one_for_one) could not be and is tried
  // again. Ended: `shutdown` after stop() or kill(); `fault`: it had exceeded its intensity. No
  // child is left then.
  virtual void supervisor_started() noexcept = 0;
  virtual void supervisor_ended(exit_reason how) noexcept = 0;

 protected:
  ~supervisor_orders() = default;
};

class supervisor {
 public:
  // Flags and specs as check() wants them. `chance` gives numbers in [0, 1), for jitter.
  supervisor(supervisor_flags flags, std::vector<child_spec> children, supervisor_orders& orders,
             std::function<double()> chance);
  supervisor(const supervisor&) = delete;
  supervisor& operator=(const supervisor&) = delete;

  // -- the supervisor's own life; each does nothing when it makes no sense

  // Starts the children in order, each when the one before has answered. What went wrong before an
  // earlier end is forgotten.
  void start(runtime::steady_time now);
  // Stops them in reverse order, each when the one after it has ended, with its own shutdown time;
  // simple_one_for_one asks all at once, since its children may be many (as OTP does).
  void stop(runtime::steady_time now);
  // Kills them all at once.
  void kill(runtime::steady_time now);

  // -- events; what was not asked for, or comes late, is ignored

  void child_started(child_number c, runtime::steady_time now);
  void child_exited(child_number c, exit_reason how, runtime::steady_time now);
  // When to call tick(); nothing while no time matters. May change with every call.
  [[nodiscard]] std::optional<runtime::steady_time> next_due() const;
  void tick(runtime::steady_time now);

  // -- simple_one_for_one

  // A child from the template; nothing when the supervisor does not run.
  std::optional<child_number> start_child(runtime::steady_time now);
  // Stops that child for good; false when there is none.
  bool terminate_child(child_number c, runtime::steady_time now);

  // -- questions

  // Started and not told to end; also while all of its children wait to be started again.
  [[nodiscard]] bool running() const noexcept { return phase_ == phase::running; }
  // Not started, or ended with all of its children.
  [[nodiscard]] bool ended() const noexcept { return phase_ == phase::ended; }

  struct child_info {
    child_number number = 0;
    std::string id = {};
    child_state state = child_state::down;
    std::uint64_t starts = 0;                             // since the supervisor was started
    std::optional<runtime::steady_time> restart_at = {};  // while it backs off
  };
  [[nodiscard]] std::vector<child_info> which_children() const;

 private:
  struct child {
    const child_spec* spec;
    restart_window window;
    child_state state = child_state::down;
    bool wanted = true;   // when down: to be started when its turn has come
    bool doomed = false;  // to be stopped; its end is no fault then
    bool first = false;   // of the first round, and has not answered yet
    std::uint64_t starts = 0;
    // When down: not started before. When stopping: killed then.
    std::optional<runtime::steady_time> due = {};
  };
  enum class phase : std::uint8_t { ended, running, stopping, failing };

  [[nodiscard]] bool dynamic() const noexcept {
    return flags_.strategy == strategy::simple_one_for_one;
  }
  [[nodiscard]] child* find(child_number c);
  void add(child_number c, const child_spec& spec, bool first);
  void set_due(child_number c, child& of, std::optional<runtime::steady_time> when);
  void answered(child& c) noexcept;

  void ended_by_itself(child_number n, child& c, exit_reason how);
  void take_along(child_number n);
  void end_all(phase how);
  void forget(child_number n);

  template <class Body>
  void giving_orders(Body body);
  void proceed();
  [[nodiscard]] bool step();
  [[nodiscard]] bool stop_next();
  [[nodiscard]] std::optional<child_number> next_to_start();
  void order_start(child_number n, child& c);
  void order_stop(child_number n, child& c);
  void order_kill(child_number n, child& c);

  const supervisor_flags flags_;
  const std::vector<child_spec> specs_;
  supervisor_orders& orders_;
  const std::function<double()> chance_;

  phase phase_ = phase::ended;
  bool announced_ = false;  // that it has started
  bool busy_ = false;       // an order is being given: its answer must not give the next one
  runtime::steady_time now_{};
  restart_window restarts_;
  std::map<child_number, child> children_;
  std::set<std::pair<runtime::steady_time, child_number>> timers_;
  std::size_t alive_ = 0;    // not down
  std::size_t pending_ = 0;  // first ones without an answer
  // simple_one_for_one, so that an event does not look at every child: whose turn has come.
  child_number next_number_ = 0;
  std::deque<child_number> to_start_;
  std::vector<child_number> to_stop_;  // the last one first
};

}  // namespace bulkhead::supervision
