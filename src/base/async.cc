#include "base/async.h"

namespace manta {

Scope::~Scope() { MANTA_CHECK(running_ == 0); }

void Scope::spawn(std::string_view name, Task<void> task) {
  (void)name;  // for a debugger: the frame that called spawn shows it
  ++running_;
  run(std::move(task));
}

task_detail::Detached Scope::run(Task<void> task) {
  co_await std::move(task);
  // Joiners resume on the loop's next turn, so nothing here touches a Scope that a joiner
  // destroyed.
  if (--running_ == 0)
    for (auto& joiner : std::exchange(joiners_, {})) joiner.set(true);
}

Task<void> Scope::join() {
  while (running_ > 0) {
    OneShot<bool> ended(loop_);
    joiners_.push_back(ended);
    co_await ended;
  }
}

}  // namespace manta
