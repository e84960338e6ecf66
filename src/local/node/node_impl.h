// What a node is made of. Internal to node*.cc.
#pragma once

#include "kube/cache.h"
#include "kube/events.h"
#include "local/node/files.h"
#include "local/node/name_server.h"
#include "local/node/node.h"
#include "local/node/node_object.h"
#include "local/node/pod_worker.h"
#include "local/node/service_proxy.h"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace manta::local {

struct PodDocument {
  kube::ObjectMeta meta = {};
  std::shared_ptr<const Json> document = {};
};
Result<PodDocument> project_pod_document(const Json& object);

struct Node::Impl {
  Impl(AsioLoop& l, kube::Api& a, ImageStore& images, Random& r, NodeOptions o)
      : loop(l),
        api(a),
        random(r),
        recorder(l, a, r, "kubelet", o.node_name),
        context{l, a, images, recorder, r, std::move(o), Helpers{l}, {}},
        pods(kube::kPods, project_pod_document,
             {.field_selector = "spec.nodeName=" + context.options.node_name}),
        services(kube::kServices, project_node_service),
        slices(kube::kEndpointSlices, project_node_slice),
        scope(l),
        workers_scope(l) {}

  const NodeOptions& options() const { return context.options; }

  AsioLoop& loop;
  kube::Api& api;
  Random& random;
  kube::EventRecorder recorder;
  NodeContext context;
  MachineFacts machine = {};
  std::string marker = {};
  Fd lock = {};
  std::string node_uid = {};
  std::vector<std::string> warnings = {};
  kube::Cache<PodDocument> pods;
  kube::Cache<NodeServiceView> services;
  kube::Cache<NodeSliceView> slices;
  std::unique_ptr<ServiceProxy> proxy = {};
  std::unique_ptr<NameServer> name_server = {};
  std::map<std::string, std::unique_ptr<PodWorker>> workers = {};  // by uid
  Scope scope, workers_scope;
  bool names_due = false;
  bool stopping = false;

  // node_host.cc: what the machine must have before a Pod runs.
  Result<void> prepare_host();
  void open_way_out();

  // node_registration.cc: its Node and its Lease.
  Task<Result<void>> register_node();
  Task<void> keep_alive(std::stop_token stop);
  Task<void> renew_lease();

  // node.cc
  void pod_changed(const kube::ObjectMeta* before, const kube::ObjectMeta* after);
  void start_worker(std::shared_ptr<const PodSpec> spec);
  Task<void> run_worker(PodWorker& worker);
  Task<void> report_unusable(kube::ObjectKey key, std::string uid, std::string why);
  void services_changed();
  Task<void> remove_abandoned_files();
  void update_names();
  PodWorker* worker(const ContainerTarget& target);
};

}  // namespace manta::local
