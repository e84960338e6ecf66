#include "kube/runtime_gate.h"

namespace manta::kube {

Task<void> FairGate::enter(Queue& queue) {
  OneShot<bool> granted(loop_);
  queue.waiting.push_back(granted);
  list(queue);
  grant();
  co_await granted;
}

void FairGate::leave(Queue& queue) {
  --queue.in_flight;
  --in_flight_;
  list(queue);
  grant();
}

void FairGate::list(Queue& queue) {
  if (queue.listed || queue.waiting.empty() || queue.in_flight >= per_queue_) return;
  queue.listed = true;
  turns_.push_back(&queue);
}

void FairGate::grant() {
  while (in_flight_ < in_all_ && !turns_.empty()) {
    Queue& queue = *turns_.front();
    turns_.pop_front();
    queue.listed = false;
    ++in_flight_;
    ++queue.in_flight;
    queue.waiting.front().set(true);
    queue.waiting.pop_front();
    list(queue);
  }
}

}  // namespace manta::kube
