// The workers of one route on one shard: who serves which request, who replaces the dead.
//
// Made and destroyed on the server's thread, before the shard's loop starts and after it has ended;
// everything else happens on the shard. Each shard has its own workers, so nothing is locked.
#pragma once

#include <bulkhead/runtime/error.hpp>
#include <bulkhead/runtime/shard.hpp>
#include <bulkhead/supervision/cell.hpp>
#include <bulkhead/supervision/cell_zygote.hpp>
#include <bulkhead/supervision/route_supervisor.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace bulkhead::supervision {

// What the pools of one route have, over all shards. Written by shards, read by any thread.
struct cell_figures {
  std::atomic<std::int64_t> workers{0};
  std::atomic<std::int64_t> busy{0};
  std::atomic<std::int64_t> waiting{0};  // requests
  std::atomic<std::uint64_t> forked{0};  // workers so far
};

struct crash_report;

class cell_pool final : public runtime::turn_hook {
 public:
  // Of a worker whose end the zygote did not report.
  static constexpr int unknown_status = -1;

  // Starts the workers and waits until all are ready; the error is the first one's that is not.
  [[nodiscard]] static result<std::unique_ptr<cell_pool>> start(const cell_zygote& zygote,
                                                                std::uint32_t route,
                                                                route_supervisor& supervisor,
                                                                cell_figures& figures,
                                                                unsigned shard);
  ~cell_pool();
  cell_pool(const cell_pool&) = delete;
  cell_pool& operator=(const cell_pool&) = delete;

  // Joins the loop, on its thread, before the first submit().
  void attach(runtime::shard& loop);
  // Takes the request, which is answered later on this shard; false when too many wait already or
  // no worker can be had.
  [[nodiscard]] bool submit(actors::exchange& x);

  // -- turn_hook
  void at_turn_end() noexcept override;
  [[nodiscard]] bool may_sleep() noexcept override;

 private:
  class watched;
  struct member {
    std::unique_ptr<cell> worker;
    std::unique_ptr<watched> death;               // of its pidfd
    std::optional<runtime::steady_time> gone_at;  // the pidfd says so, the zygote not yet
    std::optional<runtime::steady_time> kill_at;  // when SIGTERM was not enough
    runtime::steady_time ordered{};
  };

  cell_pool(const cell_zygote& zygote, runtime::unique_fd channel, runtime::unique_fd bell,
            route_supervisor& supervisor, cell_figures& figures, unsigned shard);

  // What lies behind a request that turns out to be slow is taken back after this long.
  static constexpr std::chrono::milliseconds patience{2};
  // A factory may connect to a database; a worker that is not ready by then never is.
  static constexpr std::chrono::milliseconds start_limit{10'000};
  // How long after its pidfd a death may go without the zygote's word on how it came.
  static constexpr std::chrono::milliseconds report_limit{50};

  // -- life of workers
  [[nodiscard]] result<void> order_worker();
  void replenish() noexcept;
  [[nodiscard]] result<void> await_start();
  void read_reports() noexcept;
  void heard(const zygote_report& r, runtime::unique_fd pidfd);
  void zygote_gone() noexcept;
  void died(std::uint32_t token, int status) noexcept;
  [[nodiscard]] member* find(std::uint32_t token) noexcept;
  void watch_death(member& m);
  void pidfd_ready(std::uint32_t token) noexcept;

  // -- requests
  void feed() noexcept;
  [[nodiscard]] cell* choose() noexcept;
  void give(cell& to, cell_job job);
  void requeue(std::deque<cell_job> jobs) noexcept;
  void turn_away_waiting() noexcept;
  void turn_away_late(runtime::steady_time& next) noexcept;
  void show(std::int64_t workers, std::int64_t busy, std::int64_t waiting) noexcept;
  void read_answers(cell& c);
  void answered(cell& c, cell::answer a);
  void fault(const cell_job* job, const exception_text& what, const crash_report* crash = nullptr);
  void pay(cell_job job, std::uint16_t status);
  void blame(cell& c, std::uint16_t status, const exception_text& what,
             const crash_report* crash = nullptr);

  // -- time
  void arm(runtime::steady_time when) noexcept;
  void scan() noexcept;
  void look_after(member& m, runtime::steady_time now, runtime::steady_time& next);
  [[nodiscard]] bool still_at_it(cell& c);
  void overrun(cell& c);
  void kill_later(cell& c) noexcept;
  void condemn(cell& c, cell_end why, int signal) noexcept;
  void recycle(cell& c) noexcept;
  [[nodiscard]] bool quick() const noexcept;

  const cell_zygote& zygote_;
  runtime::unique_fd channel_;
  runtime::unique_fd bell_;
  route_supervisor& supervisor_;
  cell_figures& figures_;
  const cell_options& options_;
  unsigned shard_;
  runtime::shard* loop_ = nullptr;
  std::unique_ptr<watched> channel_source_;
  std::unique_ptr<watched> bell_source_;
  std::vector<member> members_;
  std::deque<cell_job> waiting_;
  runtime::timer timer_;
  runtime::steady_time armed_for_{};
  std::uint32_t tokens_ = 0;
  double mean_microseconds_ = 1000.0;  // that the handler takes: quick ones share a worker's ring
  bool gone_ = false;                  // the zygote has ended: no more workers
  bool stopping_ = false;
  std::uint64_t unreplaced_ = 0;  // faults whose restart is to come
  // What this pool last added to the figures.
  std::int64_t workers_shown_ = 0;
  std::int64_t busy_shown_ = 0;
  std::int64_t waiting_shown_ = 0;
};

}  // namespace bulkhead::supervision
