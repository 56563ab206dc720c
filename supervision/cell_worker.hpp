// The worker process of a cell: makes the handler and serves requests from shared memory, one at a
// time, until it is told to end.
#pragma once

#include <bulkhead/supervision/router.hpp>

#include <sys/types.h>

namespace bulkhead::supervision {

struct worker_plan {
  const route* what = nullptr;
  int segment = -1;  // descriptor of the cell_segment
  int bell = -1;     // eventfd of the server's shard
  pid_t parent = 0;  // the zygote
  pid_t server = 0;
};

// In a process just forked, which has one thread. Never returns.
[[noreturn]] void run_worker(const worker_plan& plan);

}  // namespace bulkhead::supervision
