#include <bulkhead/actors/caf_compat.hpp>
#include <bulkhead/actors/messages.hpp>
#include <bulkhead/runtime/log.hpp>
#include <bulkhead/runtime/signals.hpp>
#include <bulkhead/supervision/handler_pool.hpp>
#include <bulkhead/supervision/handler_pool_state.hpp>

#include <caf/event_based_actor.hpp>
#include <caf/send.hpp>
#include <caf/stateful_actor.hpp>

#include <exception>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

namespace bulkhead::supervision {

namespace {

struct job {  // to an instance: serve this
  call_ptr call;
};
struct start_instances {};  // to the supervisor: bring the pool to its size

}  // namespace

}  // namespace bulkhead::supervision

BULKHEAD_BEGIN_MESSAGES(bulkhead_supervision, caf::id_block::bulkhead_actors::end);
BULKHEAD_MESSAGE(bulkhead_supervision, bulkhead::supervision::job)
BULKHEAD_MESSAGE(bulkhead_supervision, bulkhead::supervision::start_instances)
BULKHEAD_END_MESSAGES(bulkhead_supervision);

namespace bulkhead::supervision {

namespace {

// The supervisor brings the pool to its size. A late instance may come back when there is none.
void ask_for_more(handler_pool_state& pool) {
  caf::actor supervisor;
  {
    const std::lock_guard lock(pool.mutex);
    supervisor = pool.supervisor_actor;
  }
  if (supervisor) caf::anon_send(supervisor, start_instances{});
}

}  // namespace

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
      call_ptr c = std::move(first.call);
      for (auto todo = step::serve; todo == step::serve;) {
        switch (serve(*c)) {
          case served::well:
            break;
          case served::badly:
            return quit(caf::make_error(caf::sec::runtime_error, std::string("handler fault")));
          case served::late:
            if (pool_->came_back()) ask_for_more(*pool_);
            return quit();
        }
        c.reset();
        todo = pool_->next(caf::actor_cast<caf::actor>(this), c);
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

  enum class served : std::uint8_t {
    well,
    badly,  // a fault: this instance's state is not to be trusted any more
    late,   // past the deadline: it has been answered for, and this instance replaced
  };

  [[nodiscard]] served serve(pooled_call& c) {
    if (c.at() == pooled_call::stage::over) return served::late;
    http::response r;
    auto how = actors::verdict::completed;
    std::exception_ptr fault;
    try {
      r = invoke(*handler_, c.request());
      r.collect();
      pool_->supervisor.succeeded(c.request().id());
    } catch (...) {
      fault = std::current_exception();
      r = http::response::problem(500);
      how = actors::verdict::trapped;
    }
    // What is thrown past the deadline is no second fault.
    if (!c.claim()) {
      runtime::log::info("deadline", "request " + std::to_string(c.request().id()) +
                                         ": its handler came back late; its answer is dropped");
      return served::late;
    }
    if (fault) pool_->supervisor.fault(std::move(fault), place_of(c.request(), c.shard()));
    c.deliver(std::move(r), how);
    return how == actors::verdict::completed ? served::well : served::badly;
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
      call_ptr first;
      {
        // A stop that comes in between must find the instance, or nobody would ever end it.
        const std::lock_guard lock(pool_->mutex);
        if (pool_->stopping) continue;
        instance = pool_->own_threads
                       ? spawn<handler_actor, caf::monitored + caf::detached>(pool_, std::move(h))
                       : spawn<handler_actor, caf::monitored>(pool_, std::move(h));
        ++started_;
        ++pool_->alive;
        first = pool_->next_waiting(instance);
        if (!first) pool_->idle.push_back(instance);
      }
      if (first) caf::anon_send(instance, job{std::move(first)});
    }
  }

  void instance_down(const caf::down_msg& down) {
    pool_->ended_instance(down.source.id());
    fill();
  }

  std::shared_ptr<handler_pool_state> pool_;
  std::uint64_t started_ = 0;
};

handler_pool::handler_pool(actors::actor_runtime& on, route_supervisor& supervisor,
                           handler_factory make, thread_budget& threads)
    : state_(std::make_shared<handler_pool_state>(supervisor, std::move(make), threads,
                                                  supervisor.spec().instances != 0
                                                      ? supervisor.spec().instances
                                                      : on.scheduler_threads())) {
  // A pool whose instances cannot be held up by those of other routes needs a supervisor that
  // cannot be either.
  caf::actor_system& system = on.native_system();
  const runtime::all_signals_blocked for_its_threads;
  state_->supervisor_actor = state_->own_threads
                                 ? system.spawn<handler_supervisor, caf::detached>(state_)
                                 : system.spawn<handler_supervisor>(state_);
  actors::compat::forget_logger();
  ask_for_more(*state_);
}

void handler_pool::register_messages() {
  BULKHEAD_REGISTER_MESSAGES(bulkhead_supervision);
}

handler_pool::~handler_pool() {
  static_cast<void>(stop(runtime::milliseconds(0)));
  std::unique_lock lock(state_->mutex);
  state_->ended.wait(lock, [this] { return !state_->filling; });
}

call_ptr handler_pool::submit(actors::exchange& x, unsigned shard) {
  auto c =
      std::make_shared<pooled_call>(actors::exchange_ref(x), x.owner()->make_reply_port(), shard);
  caf::actor instance;
  bool refill = false;
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->stopping) return nullptr;
    if (!state_->late.empty()) {
      refill = state_->replace_late();
      // One more overrun could not be paid for.
      if (state_->threads.exhausted()) c = nullptr;
    }
    if (c && !state_->idle.empty()) {
      instance = std::move(state_->idle.back());
      state_->idle.pop_back();
      static_cast<void>(c->begin(instance.id()));
    } else if (c && state_->waiting.size() >= state_->supervisor.spec().queue) {
      c = nullptr;
    } else if (c) {
      state_->waiting.push_back(c);
      refill = refill || state_->alive < state_->size;  // after a back-off nobody else starts them
    }
  }
  if (instance) caf::anon_send(instance, job{c});
  if (refill) ask_for_more(*state_);
  return c;
}

pooled_call::stage handler_pool::give_up(pooled_call& c) {
  const auto was = state_->give_up(c);
  if (was != pooled_call::stage::running) return was;
  const auto limit = std::to_string(state_->supervisor.spec().deadline.count());
  state_->supervisor.fault(exception_text{"deadline", "no answer within " + limit + " ms"},
                           place_of(c.request(), c.shard()));
  ask_for_more(*state_);
  return was;
}

bool handler_pool::stop(runtime::milliseconds limit) {
  std::unique_lock lock(state_->mutex);
  state_->stopping = true;
  for (const caf::actor& a : std::exchange(state_->idle, {})) {
    actors::compat::post_exit(a, caf::exit_reason::user_shutdown);
  }
  // Instances and the making of them use the route's supervisor, which goes with the route.
  const bool quiet = state_->ended.wait_for(lock, limit, [this] { return state_->quiet(); });
  // Until then it hears of their ends: a second stop may find them quiet.
  if (quiet && state_->supervisor_actor) {
    actors::compat::post_exit(std::exchange(state_->supervisor_actor, nullptr),
                              caf::exit_reason::user_shutdown);
  }
  return quiet;
}

}  // namespace bulkhead::supervision
