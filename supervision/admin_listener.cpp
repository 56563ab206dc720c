#include <bulkhead/runtime/endpoint.hpp>
#include <bulkhead/runtime/listener.hpp>
#include <bulkhead/supervision/admin_listener.hpp>

#include <utility>

namespace bulkhead::supervision {

result<std::unique_ptr<admin_listener>> admin_listener::open(const std::string& where,
                                                             const runtime::clock& time,
                                                             const std::string& server_name,
                                                             admin_sources sources) {
  const auto address = runtime::endpoint::parse(where);
  if (!address) return address.why();
  auto bound = runtime::bind_endpoint(*address, 1);
  if (!bound) return bound.why();
  std::unique_ptr<admin_listener> made(new admin_listener);
  made->address_ = bound->where.to_string();
  made->shard_ = std::make_unique<actors::worker_shard>(actors::serving_shard::plan{
      .index = 998,
      .time = &time,
      .settings = {},
      .server_name = server_name,
      .admissions = &made->admissions_,
      .handlers = std::make_unique<admin_dispatcher>(std::move(sources)),
      .tls = nullptr});
  made->admissions_.shards.push_back(made->shard_.get());
  made->shard_->listen(std::move(bound->sockets.front()), /*secure=*/false);
  made->shard_->start();
  return made;
}

}  // namespace bulkhead::supervision
