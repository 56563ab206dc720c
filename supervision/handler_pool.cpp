#include <bulkhead/actors/caf_compat.hpp>
#include <bulkhead/actors/messages.hpp>
#include <bulkhead/supervision/handler_pool.hpp>
#include <bulkhead/supervision/unavailable.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bulkhead::supervision {

namespace {

// One request in the hands of an instance.
struct job {
  actors::exchange_ref x;
  std::shared_ptr<actors::reply_port> reply;
  unsigned shard = 0;
};
struct start_instances {};  // to the supervisor: bring the pool to its size

}  // namespace

}  // namespace bulkhead::supervision

BULKHEAD_BEGIN_MESSAGES(bulkhead_supervision, caf::id_block::bulkhead_actors::end);
BULKHEAD_MESSAGE(bulkhead_supervision, bulkhead::supervision::job)
BULKHEAD_MESSAGE(bulkhead_supervision, bulkhead::supervision::start_instances)
BULKHEAD_END_MESSAGES(bulkhead_supervision);

namespace bulkhead::supervision {

// Shared by the pool and its actors. The mutex guards what follows it.
struct handler_pool_state {
  handler_pool_state(route_supervisor& s, handler_factory m, std::uint32_t n, std::uint32_t q)
      : supervisor(s), make(std::move(m)), size(n), queue(q) {}

  route_supervisor& supervisor;
  const handler_factory make;
  const std::uint32_t size;
  const std::uint32_t queue;

  std::mutex mutex;
  std::condition_variable ended;
  std::deque<job> waiting;
  std::vector<caf::actor> idle;
  std::uint32_t alive = 0;
  bool filling = false;  // the supervisor actor is making instances
  bool stopping = false;
  caf::actor supervisor_actor;

  // What an instance does next: `serve` fills `out`.
  enum class step : std::uint8_t { serve, idle, quit };
  [[nodiscard]] step next(const caf::actor& instance, job& out) {
    const std::lock_guard lock(mutex);
    if (!waiting.empty()) {
      out = std::move(waiting.front());
      waiting.pop_front();
      return step::serve;
    }
    if (stopping) return step::quit;
    idle.push_back(instance);
    return step::idle;
  }

  // Nobody will serve these before the back-off is over.
  void turn_away_waiting() {
    std::deque<job> left;
    {
      const std::lock_guard lock(mutex);
      left.swap(waiting);
    }
    const auto wait = supervisor.backing_off().value_or(std::chrono::seconds(1));
    for (job& j : left) {
      j.reply->deliver(std::move(j.x), unavailable(wait), actors::verdict::completed);
    }
  }
};

// One instance: the handler's state lives and dies with the actor.
class handler_actor final : public caf::event_based_actor {
 public:
  handler_actor(caf::actor_config& config, std::shared_ptr<handler_pool_state> pool,
                std::shared_ptr<handler> h)
      : caf::event_based_actor(config), pool_(std::move(pool)), handler_(std::move(h)) {
    set_default_handler(caf::drop);  // the default prints each unexpected message (caf.md 4.6)
  }

 protected:
  caf::behavior make_behavior() override {
    return {[this](job& first) {
      using step = handler_pool_state::step;
      job j = std::move(first);
      for (auto todo = step::serve; todo == step::serve;) {
        if (!serve(j)) {
          return quit(caf::make_error(caf::sec::runtime_error, std::string("handler fault")));
        }
        todo = pool_->next(caf::actor_cast<caf::actor>(this), j);
        if (todo == step::quit) quit();
      }
    }};
  }
  void on_exit() override {
    handler_.reset();
    pool_.reset();
  }

 private:
  [[nodiscard]] static http::response invoke(handler& h, const http::request& r) {
    outcome o = h.handle(r);
    if (auto* response = std::get_if<http::response>(&o)) return std::move(*response);
    auto& task = *std::get_if<http::task<http::response>>(&o);
    task.start([](void*) noexcept {}, nullptr);
    if (!task.done()) {
      throw std::logic_error(
          "a coroutine suspended under placement actor: there is no shard to resume it on; use "
          "placement inline, or block");
    }
    return task.take();
  }

  // False after a fault: this instance's state is not to be trusted any more.
  [[nodiscard]] bool serve(job& j) {
    http::response r;
    auto how = actors::verdict::completed;
    try {
      r = invoke(*handler_, j.x->request);
      r.collect();
      pool_->supervisor.succeeded(j.x->request.id());
    } catch (...) {
      const http::request& q = j.x->request;
      pool_->supervisor.fault(std::current_exception(),
                              {.route = std::string(q.method_name()) + ' ' + std::string(q.path()),
                               .request = q.id(),
                               .shard = j.shard});
      r = http::response::problem(500);
      how = actors::verdict::trapped;
    }
    j.reply->deliver(std::move(j.x), std::move(r), how);
    j.reply.reset();
    return how == actors::verdict::completed;
  }

  std::shared_ptr<handler_pool_state> pool_;
  std::shared_ptr<handler> handler_;
};

// one_for_one over the instances of one route.
class handler_supervisor final : public caf::event_based_actor {
 public:
  handler_supervisor(caf::actor_config& config, std::shared_ptr<handler_pool_state> pool)
      : caf::event_based_actor(config), pool_(std::move(pool)) {
    set_default_handler(caf::drop);
    set_down_handler([this](caf::down_msg& down) { instance_down(down); });
  }

 protected:
  caf::behavior make_behavior() override {
    return {[this](start_instances) { fill(); }};
  }
  void on_exit() override { pool_.reset(); }

 private:
  void fill() {
    for (;;) {
      {
        const std::lock_guard lock(pool_->mutex);
        pool_->filling = !pool_->stopping && pool_->alive < pool_->size;
        if (!pool_->filling) return pool_->ended.notify_all();
      }
      if (!pool_->supervisor.may_start()) {
        pool_->turn_away_waiting();
        const std::lock_guard lock(pool_->mutex);
        pool_->filling = false;
        return pool_->ended.notify_all();
      }
      auto h = pool_->supervisor.make_instance(pool_->make, started_ >= pool_->size, 0);
      if (h == nullptr) continue;  // until it works or backs off
      caf::actor instance;
      job j;
      bool busy = false;
      {
        // A stop that comes in between must find the instance, or nobody would ever end it.
        const std::lock_guard lock(pool_->mutex);
        if (pool_->stopping) continue;
        instance = spawn<handler_actor, caf::monitored>(pool_, std::move(h));
        ++started_;
        ++pool_->alive;
        if (!pool_->waiting.empty()) {
          j = std::move(pool_->waiting.front());
          pool_->waiting.pop_front();
          busy = true;
        } else {
          pool_->idle.push_back(instance);
        }
      }
      if (busy) caf::anon_send(instance, std::move(j));
    }
  }

  void instance_down(const caf::down_msg& down) {
    bool over = false;
    {
      const std::lock_guard lock(pool_->mutex);
      --pool_->alive;
      std::erase_if(pool_->idle, [&](const caf::actor& a) { return a.address() == down.source; });
      if (pool_->alive == 0) pool_->ended.notify_all();
      over = pool_->alive == 0 && pool_->stopping;
    }
    if (over) return quit();
    fill();
  }

  std::shared_ptr<handler_pool_state> pool_;
  std::uint64_t started_ = 0;
};

handler_pool::handler_pool(actors::actor_runtime& on, route_supervisor& supervisor,
                           handler_factory make, std::uint32_t instances, std::uint32_t queue)
    : state_(std::make_shared<handler_pool_state>(supervisor, std::move(make), instances, queue)) {
  state_->supervisor_actor = on.native_system().spawn<handler_supervisor>(state_);
  actors::compat::forget_logger();
  caf::anon_send(state_->supervisor_actor, start_instances{});
}

void handler_pool::register_messages() {
  BULKHEAD_REGISTER_MESSAGES(bulkhead_supervision);
}

handler_pool::~handler_pool() {
  static_cast<void>(stop(runtime::milliseconds(0)));
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [this] { return !state_->filling; });
}

bool handler_pool::submit(actors::exchange& x, unsigned shard) {
  job j{actors::exchange_ref(x), x.owner()->make_reply_port(), shard};
  caf::actor instance;
  bool refill = false;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return false;
    if (!state_->idle.empty()) {
      instance = std::move(state_->idle.back());
      state_->idle.pop_back();
    } else {
      if (state_->waiting.size() >= state_->queue) return false;
      state_->waiting.push_back(j);
      refill = state_->alive < state_->size;  // after a back-off nobody else starts them
    }
  }
  if (instance) caf::anon_send(instance, std::move(j));
  if (refill) caf::anon_send(state_->supervisor_actor, start_instances{});
  return true;
}

bool handler_pool::stop(runtime::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  for (const caf::actor& a : std::exchange(state_->idle, {})) {
    actors::compat::post_exit(a, caf::exit_reason::user_shutdown);
  }
  // Instances and the making of them use the route's supervisor, which goes with the route.
  const bool quiet = state_->ended.wait_for(
      lock, limit, [this] { return state_->alive == 0 && !state_->filling; });
  if (quiet && state_->supervisor_actor) {  // otherwise it ends with the last instance
    actors::compat::post_exit(std::exchange(state_->supervisor_actor, nullptr),
                              caf::exit_reason::user_shutdown);
  }
  return quiet;
}

}  // namespace bulkhead::supervision
